"""Percentages where a question counts, and what is counted where it asks for a percentage."""

from __future__ import annotations

import json

import pytest

from rewardkit.rewards import gsm8k, math, qa
from rewardkit.rewards.gsm8k import Gsm8kOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.types import Sample

PASSED = "How many students passed?"
SHARE = "What percentage of students passed?"


def _answers(said: str, truth: str, question: str) -> bool:
    return bool(qa.score(Sample("qa", said, json.dumps([truth]), question), QaOptions()).correct)


@pytest.mark.parametrize(
    "said", ["36 %", "36%", "36 percent", "The answer is 36%.", "36% of students passed."]
)
def test_a_percentage_counts_nothing(said: str) -> None:
    assert not _answers(said, "36", PASSED)
    assert not math.score(Sample("math", said, "36", PASSED)).correct
    assert not math.score(Sample("math", "\\boxed{36\\%}", "36", PASSED)).correct
    assert not gsm8k.score(Sample("gsm8k", "#### 36%", "36", PASSED), Gsm8kOptions()).correct


@pytest.mark.parametrize("said", ["36 students", "36 students passed.", "The answer is 36 students."])
def test_a_count_is_no_percentage(said: str) -> None:
    assert not _answers(said, "36", SHARE)


def test_what_is_asked_for_is_paid() -> None:
    assert _answers("36 students", "36", PASSED) and _answers("36%", "36", SHARE)
    assert math.score(Sample("math", "\\boxed{36\\%}", "36", SHARE)).correct
    assert math.score(Sample("math", "\\boxed{36\\%}", "36")).correct
    assert gsm8k.score(Sample("gsm8k", "#### 36%", "36", "How many percent passed?"), Gsm8kOptions()).correct
    assert gsm8k.score(Sample("gsm8k", "#### 36 students", "36", PASSED), Gsm8kOptions()).correct
