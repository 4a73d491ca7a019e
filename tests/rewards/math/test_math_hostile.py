"""Hostile inputs: everything that hangs or breaks other graders is answered at once, in every setting."""

from __future__ import annotations

import threading
import time

import pytest

from rewardkit import faults
from rewardkit.rewards.math import compare
from tests.rewards.math import inline
from tests.rewards.math.math_inputs import pathological

EQUAL = {
    "1 MB of prose",
    "200 KB of maths",
    "null bytes and surrogates",
    "power 5000, split",
    "trinomial power",
    "nested radicals",
}


def outcomes() -> list[tuple[str, bool]]:
    return [(name, inline.compare(gold, answer).equal) for name, gold, answer in pathological()]


def test_every_hostile_input_is_scored_right_and_promptly_in_a_thread_too() -> None:
    start = time.process_time()
    found = outcomes()
    assert time.process_time() - start < 30  # far more than it takes, far less than one explosion
    assert {name for name, equal in found if equal} <= EQUAL
    assert {"power 5000, split", "trinomial power", "nested radicals"} <= {
        name for name, equal in found if equal
    }
    elsewhere: list[list[tuple[str, bool]]] = []
    thread = threading.Thread(target=lambda: elsewhere.append(outcomes()))
    thread.start()
    thread.join()
    assert elsewhere == [found]


def test_no_hostile_response_is_paid_or_breaks_the_reward() -> None:
    for name, gold, answer in pathological():
        found = inline.score(f"so \\boxed{{{answer}}}", gold)
        assert found.status == "ok"
        assert found.score == 0.0 or name in EQUAL
        assert len(repr(found)) < 2_000


@pytest.mark.parametrize("sign", ["!", " !", "\\%", "^\\circ", "'"])
@pytest.mark.parametrize("head", ["72", "x", "2^3", "\\sqrt{2}", "(a)"])
def test_many_signs_behind_a_value_exhaust_no_stack(
    head: str, sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "COUNTS", type(faults.COUNTS)())
    assert not compare("34", head + sign * 2_000).equal
    assert not faults.COUNTS
