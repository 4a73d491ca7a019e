"""What the tests share names files that are there."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import UNMEASURED, unmeasured


def test_every_file_that_is_unmeasured_is_there() -> None:
    folder = Path(__file__).parent
    assert [name for name in UNMEASURED if not (folder / name).is_file()] == []


def test_looking_away_does_not_wrap_the_way_out_of_a_process_once_more() -> None:
    """Under coverage, which wraps it at each start: forked children failed with a recursion too deep."""
    before = os._exit
    for _ in range(3):
        with unmeasured():
            pass
    assert os._exit is before
