"""The process that forks programs for tests outlives whoever asks it."""

from __future__ import annotations

import select

import pytest

pytest.importorskip("torch")

from tests.trainer.running import Program


@pytest.mark.slow
def test_who_leaves_before_it_hears_of_the_end_takes_no_other_with_it() -> None:
    left = Program("tests.closeness")
    other = Program("tests.trainer.running", "tests.closeness")
    assert select.select([left._connection], [], [], 60)[0], "the end of its program is to be heard"
    del left
    assert other.wait(60) == 0
    assert Program("tests.closeness").wait(60) == 0
