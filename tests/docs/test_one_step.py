"""The page that walks through one step: few files, which are there and hold what it names."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "one_step.md"


def test_one_step_is_ten_files_at_most_which_hold_what_the_page_names() -> None:
    rows = re.findall(r"^\| \d+ \| \[(.+?)\]\(\.\./(.+?)\) \| (.+?) \|", PAGE.read_text(), re.M)
    assert 5 < len(rows) <= 10
    for shown, path, names in rows:
        text = (ROOT / path).read_text()
        assert shown == path
        for name in re.findall(r"`(?:\w+\.)?(\w+)`", names):
            assert re.search(rf"^\s*(def|class) {name}\b", text, re.M), f"{path} has no {name}"
