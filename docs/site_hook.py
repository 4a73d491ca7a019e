"""What mkdocs adds to docs/: README as the front page, the files that pages link to, the reference that is
made from the code, and each page as Markdown with a list of them in llms.txt. The order of the pages is in
mkdocs.yml."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.testing import CliRunner

import rewardkit.rewards  # noqa: F401  (registers the rewards)
from rewardkit import errors
from rewardkit.cli import COMMANDS, cli
from rewardkit.registry import REGISTRY
from rewardkit.version import __version__

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from rewardkit.trainer.config.explain import ConfigSetting

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<=\]\()[^)#\s]+")
NAMED = re.compile(r"\[[\w/]+\.md\](?=\(([^)#\s]+)\))")
"""A link to a page by its file's name, which the site does not show."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show the version that the pages describe at the foot of every page."""
    config.copyright = f"rewardkit {__version__}"
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add README, what pages link to outside of docs/, and the generated pages."""
    from mkdocs.structure.files import File

    for path in _linked_files():
        if DOCS not in path.parents:
            files.append(File.generated(config, _place(path).as_posix(), abs_src_path=str(path)))
    for name, text in GENERATED.items():
        files.append(File.generated(config, name, content=text()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at where the site has the files, and keep the result for `on_post_build`."""
    path = page.file.abs_src_path  # None for a generated page
    MARKDOWN[page.file.src_uri] = markdown if path is None else _with_links_of_the_site(markdown, Path(path))
    return MARKDOWN[page.file.src_uri]


MARKDOWN: dict[str, str] = {}
"""The pages of the site as Markdown, by their paths in the site."""


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write each page as Markdown to its own path, where links between pages hold, and llms.txt."""
    site = Path(config.site_dir)
    for name, text in MARKDOWN.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    (site / "llms.txt").write_text(
        llms_txt(config.site_name, config.site_description or "", config.nav or [])
    )


def llms_txt(title: str, summary: str, nav: list[Any]) -> str:
    """Return the list of all pages for language models: https://llmstxt.org."""
    lines = [f"# {title}", "", f"> {summary}"]
    for part in nav:
        for heading, pages in part.items():
            lines += ["", f"## {heading}", ""]
            lines += [
                f"- [{name}]({path}): {_summary(MARKDOWN[path])}" for name, path in _entries(heading, pages)
            ]
    return "\n".join(lines) + "\n"


def _entries(title: str, pages: Any) -> Iterator[tuple[str, str]]:
    """Yield the title and the path of each page in a part of the navigation."""
    if isinstance(pages, str):
        yield title, pages
        return
    for one in pages:
        for name, inner in one.items():
            yield from _entries(name, inner)


def _summary(markdown: str) -> str:
    """Return the first sentence of a page that is neither a heading nor part of a list, a table or code."""
    blocks = re.sub(r"(?ms)^```.*?^```", "", markdown).split("\n\n")
    prose = next((block for block in blocks if re.match(r"[A-Z`\[]\S* ", block)), "")
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    return re.split(r"(?<=[.:]) (?=[A-Z`])", plain)[0].rstrip(":")


def _with_links_of_the_site(markdown: str, path: Path) -> str:
    """Return a page with links to where the site has the files, instead of the repository."""

    def moved(link: re.Match[str]) -> str:
        target = _target(path, link[0])
        return os.path.relpath(_place(target), _place(path).parent) if target else link[0]

    def titled(link: re.Match[str]) -> str:
        target = _target(path, link[1])
        return f"[{_title(target)}]" if target else link[0]

    return LINK.sub(moved, NAMED.sub(titled, markdown))


def _title(page: Path) -> str:
    return page.read_text().partition("\n")[0].removeprefix("# ")


def _linked_files() -> list[Path]:
    """README, the pages of docs/, and every file that can be reached from them by links."""
    found = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
    for page in found:  # grows
        if page.suffix == ".md":
            targets = (_target(page, link) for link in LINK.findall(page.read_text()))
            found += dict.fromkeys(target for target in targets if target and target not in found)
    return found


def _target(page: Path, link: str) -> Path | None:
    """The file of the repository that a page's link names; of a folder its README."""
    target = Path(os.path.normpath(page.parent / link))
    if target.is_dir():
        target /= "README.md"
    return target if ROOT in target.parents and target.is_file() else None


def _place(path: Path) -> Path:
    """Where the site has a file of the repository."""
    if path == ROOT / "README.md":
        return Path("index.md")
    return path.relative_to(DOCS if DOCS in path.parents else ROOT)


def commands() -> str:
    """The help of every command, with all options."""
    context = click.Context(cli)
    pages = ["# Commands", COMMANDS_INTRO, _help("")]
    for name in COMMANDS:
        pages += [f"## rewardkit {name}", _help(name)]
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            example = command.list_commands(context)[0]
            pages.append(
                f"`rewardkit {name} NAME --help-all` shows the options of each, for example of `{example}`:"
            )
            pages.append(_help(f"{name} {example}"))
    return "\n\n".join(pages)


COMMANDS_INTRO = """\
This page shows the help of every command, with all options.

To complete commands, options and settings of the trainer with the tab key in bash, run
`eval "$(_REWARDKIT_COMPLETE=bash_source rewardkit)"`. For other shells, replace `bash` with `zsh` or
`fish`."""


def _help(name: str) -> str:
    """What `rewardkit NAME --help-all` prints, or `--help` where that has all options, in a fence."""
    runner = CliRunner()
    for option in ("--help-all", "--help"):
        shown = runner.invoke(cli, [*name.split(), option], prog_name="rewardkit", terminal_width=84)
        if shown.exit_code == 0:
            return f"```text\n{shown.output.rstrip()}\n```"
    raise RuntimeError(shown.output)


def settings() -> str:
    """Return all settings of the training commands, by section. Each has a heading with its full name."""
    from rewardkit.trainer.config.explain import explain
    from rewardkit.trainer.config.schema import PPO
    from rewardkit.trainer.pairs.config import DPO, RM
    from rewardkit.trainer.sft.config import SETTINGS as SFT

    lines = ["# Settings of the trainer", "", SETTINGS_INTRO]
    for command, schema in (("train", PPO), ("sft", SFT), ("rm", RM), ("dpo", DPO)):
        lines.append(f"\n## rewardkit {command}")
        sections: dict[str, list[ConfigSetting]] = {}
        for setting in explain(None, (), schema):
            sections.setdefault(setting.key.rpartition(".")[0], []).append(setting)
        for section, found in sections.items():
            lines += [f"\n### {section}", *(_described(command, one) for one in found)]
    return "\n".join(lines)


SETTINGS_INTRO = """\
This page lists every setting of the commands that train, with its meaning, type and default. Pass a setting
as `KEY=VALUE` on the command line, or write it to the YAML file that `--config` names. `rewardkit train
--explain` prints the values of your own run. The address of a setting is its name, such as
`#trainer.save_freq`, or `#sft.trainer.save_freq` for a setting of another command."""


def _described(command: str, setting: ConfigSetting) -> str:
    anchor = setting.key if command == "train" else f"{command}.{setting.key}"
    kind = f"{setting.kind} ({setting.allowed})" if setting.allowed else setting.kind
    facts = [f"- type: {kind}", f"- default: {_default(setting)}", f"- example: `{example(setting)}`"]
    return "\n".join([f"\n#### {setting.key} {{ #{anchor} }}\n", f"{setting.meaning}\n", *facts])


def _default(setting: ConfigSetting) -> str:
    if setting.origin != "default":
        return setting.origin.replace(" ", " `", 1) + "`"
    return "must be set" if setting.value == "???" else f"`{json.dumps(setting.value)}`"


def example(setting: ConfigSetting) -> str:
    """Return an assignment of a setting, from a page if there is one, or else not of the default."""
    key, value, kind = setting.key, setting.value, setting.kind.partition(",")[0]
    others = [one for one in setting.allowed.split(", ") if kind == "text" and one not in ("", "None", value)]
    if kind == "true or false":
        others = ["false" if value else "true"]
    shown = _assigned().get(key, "")
    if re.fullmatch(WRITTEN.get(kind, "(?!)"), shown) and (shown in others or not others):
        return f"{key}={shown}"
    if others:
        return f"{key}={others[0]}"
    if value not in (None, "", "???", [], {}):
        shown = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        return f"{key}={shown}".replace('"', "")
    return f"{key}{INVENTED[kind]}"


WRITTEN = {
    "whole number": r"-?\d+",
    "number": r"-?[\d.]+(e-?\d+)?",
    "true or false": "true|false",
    "text": r"[\w./:-]+",
    "text or list": r"[\w./:-]+",
    "list of text": r"\[.+\]",
}
"""Patterns of values in examples, by type."""
INVENTED = {
    "whole number": "=8",
    "number": "=0.1",
    "text": "=NAME",
    "text or list": "=NAME",
    "list of text": "=[FIRST,SECOND]",
    "list of numbers": "=[0.5,0.5]",
    "list of whole numbers": "=[1,2]",
    "mapping": ".NAME=VALUE",
}
"""What follows the key in an example for a setting without a default, by type."""


@cache
def _assigned() -> dict[str, str]:
    """Return the values that pages assign to settings, by key: the first of each."""
    found: dict[str, str] = {}
    for page in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]:
        for key, value in re.findall(
            r"(?<![\w.])(\w+(?:\.\w+)+)=(\[[\w,./-]+\]|[\w/.:-]*\w)", page.read_text()
        ):
            found.setdefault(key, value)
    return found


def options() -> str:
    """Every reward with its data sources, where it runs, and its options."""
    lines = ["# Options of the rewards", "", OPTIONS_INTRO]
    for reward in sorted(REGISTRY, key=lambda reward: reward.name):
        names = (*reward.data_sources, *reward.aliases)
        lines += [f"\n## {reward.name}\n", reward.summary + ".\n"]
        running = reward.running
        lines += [f"- version: `{reward.scorer}`", f"- runs: {running.runs}, {running.timeout_s:g} s at most"]
        lines += [f"- data sources: {', '.join(f'`{name}`' for name in names)}"]
        if defaults := reward.describe_options():
            docs = reward.option_docs()
            lines += ["\n| option | default | meaning |", "|---|---|---|"]
            lines += [_row(f"`{name}`", f"`{value}`", docs.get(name, "")) for name, value in defaults.items()]
    return "\n".join(lines)


OPTIONS_INTRO = """\
This page lists the rewards with their data sources and options. Pass an option as `--option
SOURCE:NAME=VALUE`, or in training as `reward.options.SOURCE.NAME=VALUE`."""


def messages() -> str:
    """Return the errors with their exit codes, and the alarms of training, each with what to do."""
    from rewardkit.trainer.alarms import RULES
    from rewardkit.trainer.config.root import AlarmsConfig

    lines = ["# Errors and alarms", "", MESSAGES_INTRO, "", "## Errors"]
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and errors.RewardkitError in kind.mro()[1:]:
            meaning, _, remedy = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")
            lines += [f"\n### {name} {{ #{name} }}\n", " ".join(meaning.split())]
            lines += [f"\n- what to do: {' '.join(remedy.split())}", f"- exit code: {kind.exit_code}"]
    lines += ["", "## Alarms of training", "", ALARMS_INTRO]
    for rule in RULES:
        side = "at most" if rule.below else "at least"
        names = " or ".join(f"`{name}`" for name in rule.metrics)
        limit = getattr(AlarmsConfig(), rule.name)
        steps = f"for {rule.steps} steps" if rule.steps > 1 else "in one step"
        lines += [
            f"\n### {rule.name} {{ #{rule.name} }}\n",
            f"- condition: {names} is {side} {limit:g} {steps}",
        ]
        lines += [f"- setting: [`trainer.alarms.{rule.name}`](settings.md#trainer.alarms.{rule.name})"]
        lines += [f"- what to do: {rule.what_to_do}."]
    return "\n".join(lines)


MESSAGES_INTRO = """\
This page lists the errors of rewardkit and the alarms of training, with their remedies. A command prints an
error as one line that begins with `error:` and ends with the exit code given here. In Python, it raises the
exception of this name. `rewardkit --debug COMMAND` also shows the traceback. Further exit codes are 130 for
an interrupted command and 2 for a wrong option. [Statuses](statuses.md) explains the failures of single
scores, and [troubleshooting](troubleshooting.md) begins with the symptom."""
ALARMS_INTRO = """\
An alarm says that a run is not learning its task. [Watch a run](watching.md#alarms) explains how to change
or disable alarms."""


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


GENERATED = {"commands.md": commands, "settings.md": settings, "options.md": options, "messages.md": messages}
"""The pages that are made from the code, by name."""
