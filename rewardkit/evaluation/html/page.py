"""The shell of both pages: one HTML file with its style, its data and its scripts, which loads nothing.

Responses are hostile: no text of theirs is markup here or in a script, and the page's policy runs no other
script and loads nothing.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from rewardkit.assets import asset
from rewardkit.files.publishing import published

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
) -> None:
    """Write the page `name` to `out`, whole or not at all.

    Args:
        name: of its body, style and script, beside this file.
        parts: markup for the body, by the name of its place there.
        about: a little data that its script reads at once.
        packed: blocks of data from `pack`, by the id of their element.
        with_maths: whether there may be formulas, which take 150 kB of script.

    Raises:
        InputError: the folder cannot be written.
    """
    blocks = (f'<script type="text/plain" id="{key}">{block}</script>\n' for key, block in packed.items())
    text = _file("page.html").format(
        policy=POLICY,
        title=escape(title),
        style=_file("page.css") + _file(f"{name}.css"),
        body=_file(f"{name}.html").format_map(parts),
        about=json.dumps(about).replace("<", "\\u003c"),
        blocks="".join(blocks),
        temml=asset("temml.min.js") if with_maths else "",
        maths=asset("maths.js"),
        script=_file("page.js") + _file(f"{name}.js"),
    )
    with published(out) as file:
        file.write(text.encode("utf-8", "replace"))


def pack(value: Any) -> str:
    """Return JSON, gzipped, in base64: text that can stand in a script element as it is."""
    raw = json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str).encode()
    return base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode()


def cards(facts: Iterable[tuple[str, str, str]]) -> str:
    """Return the figures at the top of a page; of each its name, the figure, and a note."""
    items = (
        f'<div class="card"><span>{escape(name)}</span><b>{escape(value)}</b>'
        f"<small>{escape(note)}</small></div>"
        for name, value, note in facts
    )
    return f'<div class="cards">{"".join(items)}</div>'


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
