"""What the tests share names files that are there."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import LONGEST, UNMEASURED


def test_every_file_that_is_run_first_or_unmeasured_is_there() -> None:
    folder = Path(__file__).parent
    assert [name for name in (*LONGEST, *UNMEASURED) if not (folder / name).is_file()] == []
