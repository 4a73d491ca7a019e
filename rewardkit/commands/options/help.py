"""Help texts of all commands. They explain common options, list other options by group, and show examples."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import click

from rewardkit.commands.options.mistaken import refuse_mistaken, refuse_pasted, refuse_second_config

WIDTH = 100
"""Maximum width of help texts, if the terminal is wide enough."""

GROUPS = {
    "prompts": "suite raw prep split system template",
    "responses": "top_p top_k seed stop log_probs sampling_params",
    "model": "engine api_key_env concurrency retries max_prompt_tokens max_model_len dtype "
    "tensor_parallel_size gpu_memory_utilization max_num_seqs trust_remote_code price_in price_out",
    "episodes": "agent agent_file env tools interactions calls max_assistant_turns max_user_turns "
    "max_turn_tokens max_parallel_calls max_tool_response_length tool_seconds episode_seconds",
    "columns": "data_source_key response_key ground_truth_key prompt_key chosen_key rejected_key "
    "join_file on prefix",
    "rewards": "reward_files reward_model judge_file sources composition_files option_words "
    "options_file timeout_s",
    "gates": "limit_words fail_on junit markdown",
    "run": "bad_rows workers address restart config config_path config_name",
}
"""Names of parameters by group. Parameters that are in no group are explained in full."""


class GroupedCommand(click.Command):
    """Command whose `--help` fits on a screen. `--help-all` explains the options in groups."""

    def __init__(
        self,
        *arguments: Any,
        shown: tuple[str, ...] = (),
        groups: Mapping[str, str] = GROUPS,
        more: str = "",
        **rest: Any,
    ) -> None:
        """Create a command with grouped options.

        Args:
            arguments: Positional arguments of `click.Command`.
            shown: Parameters in groups that are also shown in full.
            groups: Names of parameters by group.
            more: End of the description, which only `--help-all` shows.
            rest: Keyword arguments of `click.Command`.
        """
        super().__init__(*arguments, **rest)
        self.context_settings = {"max_content_width": WIDTH, **self.context_settings}
        self._groups = tuple(groups)
        self._more = more
        self._grouped = {
            name: group for group, names in groups.items() for name in names.split() if name not in shown
        }
        for one in self.params:
            if one.metavar is None and isinstance(one.type, click.IntRange | click.FloatRange):
                one.metavar = "N"  # instead of INTEGER RANGE
        if more or any(one.name in self._grouped for one in self.params):
            everything = click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_everything,
                help="Show help for all options and exit.",
            )
            self.params.append(everything)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and reject values that are mistakes in any command."""
        words = list(args)
        if any(one.name == "overrides" for one in self.params):
            refuse_pasted(f"rewardkit {ctx.info_name}", words)
        left = super().parse_args(ctx, args)
        values, _, order = self.make_parser(ctx).parse_args(words)
        refuse_mistaken(ctx, values)
        refuse_second_config(order)
        return left

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description. If all options are shown, include the part that only `--help-all` shows."""
        super().format_help_text(ctx, formatter)
        if self._more and ctx.meta.get(__name__):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(self._more)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their groups."""
        groups: dict[str, list[click.Parameter]] = {}
        for one in self.get_params(ctx):
            if isinstance(one, click.Option):
                groups.setdefault(self._grouped.get(one.name or "", ""), []).append(one)
        with formatter.section("Options"):
            formatter.write_dl(_records(groups.pop("", []), ctx))
        found = [(group, groups[group]) for group in self._groups if group in groups]
        if ctx.meta.get(__name__):
            for group, options in found:
                with formatter.section(group.capitalize()):
                    formatter.write_dl(_records(options, ctx))
        elif found:
            with formatter.section("More options (explained by --help-all)"):
                for group, options in found:
                    names = [max(one.opts, key=len) for one in options]
                    formatter.write(named_lines(group, names, formatter))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(self.epilog, formatter)


def write_examples(epilog: str | None, formatter: click.HelpFormatter) -> None:
    """Write `Example: COMMAND` or `Examples: COMMAND;  COMMAND`, so that users can copy each command."""
    title, _, commands = (epilog or "").partition(": ")
    with formatter.section(title):
        for one in commands.split(";  "):
            # Lines are not broken within quotes, because a shell would treat the line break as part of the
            # text.
            whole = re.sub(r"'[^']*'", lambda quoted: quoted[0].replace(" ", "\xa0"), one.strip())
            lines = textwrap.wrap(whole, formatter.width - 8, break_long_words=False, break_on_hyphens=False)
            formatter.write("  " + " \\\n      ".join(lines).replace("\xa0", " ") + "\n")


def _records(options: list[click.Parameter], ctx: click.Context) -> list[tuple[str, str]]:
    return [record for one in options if (record := one.get_help_record(ctx)) is not None]


def named_lines(group: str, names: Iterable[str], formatter: click.HelpFormatter) -> str:
    """Return the names in a group in lines that are not broken at hyphens."""
    indent = " " * formatter.current_indent
    head = f"{indent}{group:<11}"
    return (
        textwrap.fill(
            ", ".join(names),
            formatter.width,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_on_hyphens=False,
        )
        + "\n"
    )


def _show_everything(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[__name__] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
