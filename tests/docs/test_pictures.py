"""The pictures of README and docs are drawn by a script, from the pages as they are today."""

from __future__ import annotations

import importlib.util
import re
import struct
from pathlib import Path

import pytest

from tests.browsing import CHROMIUM
from tests.docs.pages import PAGES, ROOT

PICTURES = ROOT / "docs/pictures"


@pytest.mark.slow
def test_every_picture_that_a_page_shows_is_drawn_by_the_script(tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium here; on Debian: apt-get install chromium")
    spec = importlib.util.spec_from_file_location("draw", PICTURES / "draw.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.draw(tmp_path)
    drawn = {path.name: _size(path) for path in tmp_path.iterdir()}
    assert drawn == {path.name: _size(path) for path in PICTURES.glob("*.png")}
    shown = {
        Path(name).name
        for page in PAGES
        for name in re.findall(r"!\[[^]]*\]\((\S*pictures/\S+\.png)\)", page.read_text())
    }
    assert shown <= set(drawn)  # pages need not show all
    assert {name for name in drawn if not name.endswith("_390.png")} == {
        f"{name}.png" for name in ("audit", "report", "run", "server", "view")
    }
    assert {drawn[name][0] for name in drawn if name.endswith("_390.png")} == {
        390
    }  # the script refuses wider pages
    assert all(path.stat().st_size > 5_000 for path in tmp_path.iterdir()), "an empty page is smaller"
    assert sum(path.stat().st_size for path in PICTURES.glob("*.png")) < 1_000_000


def _size(png: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    return width, height
