"""The pages of the documentation: which there are, the commands that they show, and their files of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rewardkit.cli import COMMANDS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
READERS = (
    "verl",
    "trl",
    "openrlhf",
    "other_trainers",
    "evaluate_models",
    "one_gpu",
    "build_agents",
    "operate",
)
"""The pages that begin with a reader, in the order of the navigation."""
CONSOLE = re.compile(r"```console\n(.*?)```", re.S)


def commands(text: str) -> Iterator[str]:
    """The command lines of rewardkit in a text: after `$`, or indented, with what `\\` goes on with.

    Those in ```console blocks are left out, since most of them show errors.
    """
    for line in _joined(CONSOLE.sub("", text)).splitlines():
        found = re.match(r"(?:\$ | {4}(?:\$ )?)?(rewardkit (?!\.).*)", line)
        if found and found[1].split()[1] in COMMANDS:
            yield found[1].removesuffix(" &")


def shown(text: str) -> Iterator[tuple[str, str]]:
    """What a page shows in ```console blocks: each line that is typed, and what it prints or ends in."""
    for block in CONSOLE.findall(text):
        for part in re.split(r"^(?=\$ |>>> )", block, flags=re.M)[1:]:
            typed, _, printed = part.partition("\n")
            yield typed, printed


def script(page: Path) -> str:
    """The ```bash blocks of a page as one script."""
    return "".join(re.findall(r"```bash\n(.*?)```", page.read_text(), re.S))


def first_commands(page: Path) -> list[str]:
    """The first block of commands of a page, to be typed in a shell; none where a page has none."""
    for block in _joined(CONSOLE.sub("", page.read_text())).split("\n\n"):
        typed = re.findall(r"^(?: {4}|\$ )((?:rewardkit|python) .*)", block, re.M)
        if typed:
            return typed
    return []


def in_reading_order() -> list[Path]:
    """The pages in the order in which somebody meets their links who begins with the README."""
    found = [README]
    for page in found:
        links = re.findall(r"\(((?:docs/)?\w+\.md)(?:#[\w-]+)?\)", page.read_text())
        linked = dict.fromkeys(page.parent / link for link in links)
        found += [
            path for path in linked if path in PAGES and path not in found
        ]  # the site generates some pages
    return found


def write_code(page: Path, folder: Path) -> None:
    """Write the files of code that a page shows, under the names in their first lines."""
    for name, code in re.findall(
        r"```(?:python|yaml)\n# (\S+\.(?:py|yaml))\n(.*?)```", page.read_text(), re.S
    ):
        (folder / name).write_text(code)


def _joined(text: str) -> str:
    return re.sub(r"\\\n\s*", " ", text)
