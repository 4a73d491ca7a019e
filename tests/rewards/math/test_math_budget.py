"""What one answer may cost: whatever is nested in whatever, the work is bounded, and no response is a failure.

Work is counted as calls of functions, Python's and C's, which no machine's speed and none of our own accounts
has a part in.
"""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewardkit.rewards.math.reading.prepared import clear_caches
from tests.rewards.math import inline
from tests.rewards.math.math_inputs import CONSTRUCTORS, nested

MOST_CALLS = 600_000
"""About 100 ms. Without a budget, many of these inputs would take this a thousand times."""


class _TooMuch(BaseException):
    """Not an Exception, so that nothing under test catches it."""


def calls_of_comparing(ground_truth: str, answer: str) -> int:
    """Compare two answers and return how many calls that took."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if count > 2 * MOST_CALLS:
            sys.setprofile(None)
            raise _TooMuch

    clear_caches()
    sys.setprofile(on_event)
    try:
        inline.compare(ground_truth, answer)
    except _TooMuch:
        pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("depth", [12, 40])
@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_no_constructor_within_itself_costs_more_than_the_budget(constructor: str, depth: int) -> None:
    ground_truth, answer = (nested([constructor], depth, leaf, 3_000) for leaf in ("x", "y+1"))
    assert calls_of_comparing(ground_truth, answer) <= MOST_CALLS


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(CONSTRUCTORS), min_size=2, max_size=3),
    st.integers(4, 16),
    st.sampled_from(["x", "7", "\\pi", "1,234"]),
    st.sampled_from(["y", "2", "x+1", "3.5"]),
)
@example(["H, H", "x < H < y", "(A) H"], 13, "x", "x+1")  # hundreds of small trees, each walked many times
def test_constructors_within_one_another_cost_no_more(
    constructors: list[str], depth: int, one: str, other: str
) -> None:
    ground_truth, answer = (nested(constructors, depth, leaf, 4_000) for leaf in (one, other))
    assert calls_of_comparing(ground_truth, answer) <= MOST_CALLS


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(CONSTRUCTORS), min_size=1, max_size=4), st.integers(2, 400))
def test_no_nesting_makes_a_response_a_failure(constructors: list[str], depth: int) -> None:
    answer = nested(constructors, depth, "72")
    for response in (f"\\boxed{{{answer}}}", f"Answer: {answer}", answer):
        found = inline.score(response, "73")
        assert (found.status, found.score) == ("ok", 0.0)


@pytest.mark.parametrize(
    "unit",
    [
        "(A) ",
        "B. ",
        "\n",
        "- ",
        "1,",
        "{",
        "}",
        "$",
        "\\boxed{",
        "answer ",
        "not ",
        "=5 ",
        "|",
        "\\{",
        "a b ",
    ],
)
def test_no_repetition_makes_a_response_a_failure_or_costs_much(unit: str) -> None:
    text = unit * (3_900 // len(unit))
    assert calls_of_comparing("72", text) <= MOST_CALLS
    assert inline.score(text, "72").status == "ok"


def test_alternatives_and_parts_of_one_answer_share_the_budget() -> None:
    hard = nested(["\\sum_{k=1}^{9} H"], 9, "k")
    truths = "[" + ", ".join(f'"{k}"' for k in range(50)) + "]"
    boxes = ", ".join(f"\\boxed{{{hard}+{k}}}" for k in range(20))
    count = 0

    def on_event(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        found = inline.score(boxes, truths)
    finally:
        sys.setprofile(None)
    assert (found.status, found.score) == ("ok", 0.0)
    assert count <= 2 * MOST_CALLS


def test_powers_of_numeric_matrices_are_worked_out() -> None:
    power = "\\begin{pmatrix} 1 & 1 \\\\ 1 & 0 \\end{pmatrix}^{12}"
    assert inline.compare("\\begin{pmatrix} 233 & 144 \\\\ 144 & 89 \\end{pmatrix}", power).equal
    assert not inline.compare("\\begin{pmatrix} 233 & 144 \\\\ 144 & 88 \\end{pmatrix}", power).equal
