"""The last `<answer>` of a text, as every reward reads it."""

from __future__ import annotations

import pytest

from rewardkit.rewards.reading.answer_tag import final_answer, last_answer


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("<answer>1</answer>", "1"),
        ("<answer>1</answer> or <answer> 2 </answer> so", " 2 "),
        ("<answer>1 <answer>2</answer>", "2"),
        ("<answer>1</answer></answer>", "1</answer>"),
        ("<answer>1</answer> <answer>2", "1"),
        ("1</answer>", None),
        ("</answer><answer>", None),
        ("", None),
    ],
)
def test_the_last_closed_answer_counts(text: str, inner: str | None) -> None:
    found = last_answer(text)
    assert (found.inner if found else None) == inner
    if found:
        assert text[found.start : found.end] == f"<answer>{inner}</answer>"


def test_earlier_answers_are_found_before_an_offset() -> None:
    text = "<answer>1</answer> or <answer>2</answer>"
    last = last_answer(text)
    assert last is not None
    first = last_answer(text, last.start)
    assert first is not None and (first.inner, first.start) == ("1", 0)
    assert last_answer(text, first.start) is None


def test_a_final_answer_has_nothing_behind_it() -> None:
    assert final_answer("<answer>1</answer>.") is None
    found = final_answer("so <answer>1</answer>")
    assert found is not None and found.inner == "1"
