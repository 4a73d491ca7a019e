"""Files that ship with the package.

`temml.min.js` is Temml 0.13.5 (temml.org, MIT, see temml.LICENSE), which converts LaTeX to MathML in the
browser, so that our pages need no network. `maths.js` finds the maths in a text for Temml. `responses.jsonl`
contains four responses to each of 20 of our own word problems, for trying out rewardkit.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def asset(name: str) -> str:
    """Return the text of a file that ships with the package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def asset_path(name: str) -> Path:
    """Return the path of a file that ships with the package. The file may not exist."""
    return Path(__file__).parent / name
