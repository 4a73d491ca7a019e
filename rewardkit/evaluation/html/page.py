"""Writer of self-contained pages. Each page is one HTML file with its styles, data and scripts.

Responses are untrusted, so their text never becomes markup. The page's content security policy allows only
inline scripts and styles, and blocks all requests.
"""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from rewardkit.assets import asset
from rewardkit.files.publishing import published
from rewardkit.version import __version__

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:"
)


def write_page(
    out: Path,
    name: str,
    title: str,
    parts: Mapping[str, str],
    about: Mapping[str, Any],
    packed: Mapping[str, str],
    *,
    with_maths: bool = True,
    with_scripts: bool = True,
) -> None:
    """Write the page `name` to `out`, atomically.

    Args:
        out: File to write.
        name: Name of the page's HTML, CSS and JavaScript files in this package.
        title: Title of the page.
        parts: Markup that replaces each placeholder in the body, by name of the placeholder.
        about: Small amounts of data that the script reads when the page opens.
        packed: Blocks of data from `pack`, by id of the element.
        with_maths: True to include the script for formulas, which adds 150 kB.
        with_scripts: False for a page of plain markup, which needs neither data nor scripts.

    Raises:
        InputError: The page cannot be written.
    """
    blocks = (f'<script type="text/plain" id="{key}">{block}</script>\n' for key, block in packed.items())
    text = _file("page.html").format(
        policy=POLICY,
        title=escape(title),
        style=_file("page.css") + _file(f"{name}.css"),
        body=_file(f"{name}.html").format_map(parts),
        about=json.dumps(about).replace("<", "\\u003c"),
        blocks="".join(blocks),
        temml=asset("temml.min.js") if with_maths and with_scripts else "",
        maths=asset("maths.js") if with_scripts else "",
        script=_file("page.js") + _file(f"{name}.js") if with_scripts else "",
    )
    with published(out) as file:
        file.write(text.encode("utf-8", "replace"))


def pack(value: Any) -> str:
    """Return a value as JSON, compressed with gzip and encoded in base64, for use in a script element."""
    raw = json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str).encode()
    return base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode()


def cards(facts: Iterable[tuple[str, str, str]]) -> str:
    """Return the markup for the cards at the top of a page, each with a name, a figure and a note."""
    items = (
        f'<div class="card"><span>{escape(name)}</span><b>{escape(value)}</b>'
        f"<small>{escape(note)}</small></div>"
        for name, value, note in facts
    )
    return f'<div class="cards">{"".join(items)}</div>'


def facts_list(facts: Iterable[tuple[str, str]]) -> str:
    """Return the markup for the facts about a page, with the current time and rewardkit's version added."""
    now = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    every = [*facts, ("written", f"{now} by rewardkit {__version__}")]
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in every)
    return f'<dl class="facts">{items}</dl>'


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
