"""The help of commands with many options: what most need in full, the others by their names in groups."""

from __future__ import annotations

import textwrap
from typing import Any

import click

WIDTH = 100
"""Columns that a line of help may have where the terminal has them."""

GROUPS = {
    "responses": "n temperature top_p top_k max_tokens seed stop log_probs template",
    "model": "engine url api_key_env concurrency retries max_prompt_tokens max_model_len dtype "
    "tensor_parallel_size gpu_memory_utilization max_num_seqs trust_remote_code address price_in price_out",
    "episodes": "agent agent_file tools interactions calls max_assistant_turns max_user_turns "
    "max_turn_tokens max_parallel_calls max_tool_response_length tool_seconds episode_seconds",
    "columns": "data_source data_source_key response_key ground_truth_key prompt_key join_file on prefix",
    "rewards": "reward_files reward_model judge_file sources composition_files option_words options_file "
    "timeout_s",
    "run": "bad_rows workers resume restart force",
    "verl": "config config_path config_name",
}
"""Names of parameters by group. Those in none are shown in full."""


class GroupedCommand(click.Command):
    """A command whose `--help` fits a screen; `--help-all` shows every option in full."""

    def __init__(self, *arguments: Any, shown: tuple[str, ...] = (), **rest: Any) -> None:
        """Make the command; `shown` are parameters of groups that are to be shown in full as well."""
        super().__init__(*arguments, **rest)
        self.context_settings = {"max_content_width": WIDTH, **self.context_settings}
        self._grouped = {
            name: group for group, names in GROUPS.items() for name in names.split() if name not in shown
        }
        everything = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_everything,
            help="Show all options.",
        )
        self.params.append(everything)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their groups."""
        groups: dict[str, list[click.Parameter]] = {}
        for one in self.get_params(ctx):
            if isinstance(one, click.Option):
                groups.setdefault(self._grouped.get(one.name or "", ""), []).append(one)
        with formatter.section("Options"):
            formatter.write_dl(_records(groups.pop("", []), ctx))
        found = [(group, groups[group]) for group in GROUPS if group in groups]
        if ctx.meta.get(__name__):
            for group, options in found:
                with formatter.section(group.capitalize()):
                    formatter.write_dl(_records(options, ctx))
        else:
            with formatter.section("More options"):
                for group, options in found:
                    formatter.write(_names(group, options, formatter))


def _records(options: list[click.Parameter], ctx: click.Context) -> list[tuple[str, str]]:
    return [record for one in options if (record := one.get_help_record(ctx)) is not None]


def _names(group: str, options: list[click.Parameter], formatter: click.HelpFormatter) -> str:
    """The names of a group, none of them broken at its hyphens."""
    names = ", ".join(max(one.opts, key=len) for one in options)
    indent = " " * formatter.current_indent
    head = f"{indent}{group:<11}"
    return (
        textwrap.fill(
            names,
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
