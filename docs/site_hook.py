"""What mkdocs adds to docs/: README as the front page, the files that pages link to, and the
reference that is made from the code. The order of the pages is in mkdocs.yml."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.testing import CliRunner

import rewardkit.rewards  # noqa: F401  (registers the rewards)
from rewardkit.cli import COMMANDS, cli
from rewardkit.registry import REGISTRY

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
    """Point links at where the site has the files; the pages link to where they are in the repository."""
    if page.file.abs_src_path is None:  # generated
        return markdown
    path = Path(page.file.abs_src_path)

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
    pages = ["# Commands", _help("")]
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


def _help(name: str) -> str:
    """What `rewardkit NAME --help-all` prints, or `--help` where that has all options, in a fence."""
    runner = CliRunner()
    for option in ("--help-all", "--help"):
        shown = runner.invoke(cli, [*name.split(), option], prog_name="rewardkit", terminal_width=84)
        if shown.exit_code == 0:
            return f"```text\n{shown.output.rstrip()}\n```"
    raise RuntimeError(shown.output)


def settings() -> str:
    """Return all settings of the training commands, by section, with anchors."""
    from rewardkit.trainer.config.explain import explain
    from rewardkit.trainer.config.schema import PPO
    from rewardkit.trainer.pairs.config import DPO, RM
    from rewardkit.trainer.sft.config import SETTINGS as SFT

    lines = ["# Settings of the trainer"]
    for command, schema in (("train", PPO), ("sft", SFT), ("rm", RM), ("dpo", DPO)):
        lines.append(f"\n## rewardkit {command}")
        sections: dict[str, list[ConfigSetting]] = {}
        for setting in explain(None, (), schema):
            sections.setdefault(setting.key.rpartition(".")[0], []).append(setting)
        for section, found in sections.items():
            lines += [f"\n### {section}\n", "| setting | default | allowed | meaning |", "|---|---|---|---|"]
            lines += [_row(_anchored(command, s.key), _default(s), s.allowed, s.meaning) for s in found]
    return "\n".join(lines)


def _anchored(command: str, key: str) -> str:
    """Return the full name of a setting with an anchor: `#trainer.rest_s`, of SFT `#sft.trainer.rest_s`."""
    anchor = key if command == "train" else f"{command}.{key}"
    return f'<span id="{anchor}"></span>`{key}`'


def _default(setting: ConfigSetting) -> str:
    if setting.origin != "default":
        return setting.origin.replace(" ", " `", 1) + "`"
    return "must be set" if setting.value == "???" else f"`{json.dumps(setting.value)}`"


def options() -> str:
    """Every reward with its data sources, where it runs, and its options."""
    lines = ["# Options of the rewards"]
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


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


GENERATED = {"commands.md": commands, "settings.md": settings, "options.md": options}
"""The pages that are made from the code, by name."""
