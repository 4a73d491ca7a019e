"""Draws the map of the folders in docs/design.md: the order of imports, and each file's first sentence.

python docs/map.py      (writes the map between its two marks)
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "design.md"
BEGIN, END = "<!-- made by docs/map.py -->\n\n```text\n", "```\n\n<!-- end of the map -->"
_LONGEST = 96


def drawn() -> str:
    """Return the map: a line for each file and folder of the package, from the lowest layer up."""
    lines = [f"{name:<22}{sentence}" for name, sentence in _rooms()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _rooms() -> list[tuple[str, str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["name"] == "Imports go down only")
    names = [name.strip().split(".")[1] for layer in reversed(layers) for name in layer.split("|")]
    found = []
    for name in dict.fromkeys(names):
        path = ROOT / "rewardkit" / name
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        found.append((f"{name}/" if path.is_dir() else f"{name}.py", _sentence(file)))
    return [*found, ("rewardkit_extras/", _sentence(ROOT / "extras" / "__init__.py"))]


def _sentence(file: Path) -> str:
    """Return the first sentence of a module's docstring, as much as stands in a line."""
    text = " ".join((ast.get_docstring(ast.parse(file.read_text())) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=[^.])\.(?= |$)", text, maxsplit=1)[0]
    return sentence if len(sentence) <= _LONGEST else sentence[:_LONGEST].rpartition(" ")[0] + " …"


def main() -> None:
    """Write the map into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + drawn() + END + after)


if __name__ == "__main__":
    main()
