"""Files that ship with the package.

`temml.min.js`: Temml 0.13.5 (temml.org, MIT, see temml.LICENSE), LaTeX to MathML in the browser, so that our
pages need no network; `maths.js` finds the maths in a text for it. `responses.jsonl`: four responses to each
of 20 word problems of our own, to try out.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def asset(name: str) -> str:
    """Return the text of one of these files."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def asset_path(name: str) -> Path:
    """Return where such a file stands; there may be none of that name."""
    return Path(__file__).parent / name
