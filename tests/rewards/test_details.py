"""Every wrong response says why: what was expected, what was there, and how to read it otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

OPTIONS = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}
ROWS: list[tuple[str, str, dict[str, Any]]] = [
    ("gsm8k", "72", {}),
    ("number", "72", {}),
    ("math", "\\frac{1}{2}", {}),
    ("math_dapo", "34", {}),
    ("geometry3k", "34", {}),
    ("choice", "B", OPTIONS),
    ("qa", "Paris", {}),
    ("exact", "Paris", {}),
    ("contains", "Paris", {}),
    ("regex", "Paris|Lyon", {}),
    ("json", '{"a": 1}', {}),
    ("tool_call", '[{"name": "f", "arguments": {}}]', {}),
    ("think_format", "", {}),
]
RESPONSES = (
    "",
    "no idea",
    "So it is 5 or 6.",
    "Answer: 41",
    "\\boxed{x^2+}",
    "#### 3",
    "<answer>Nice</answer>",
    "C",
)


@pytest.mark.parametrize(("source", "truth", "info"), ROWS, ids=[source for source, _, _ in ROWS])
def test_a_wrong_response_says_why_in_a_few_words(source: str, truth: str, info: dict[str, Any]) -> None:
    samples = [Sample(source, response, truth, "?", info) for response in RESPONSES]
    with Scorer(workers=1) as scorer:
        scores = scorer.score_batch(samples)
    wrong = [score for score in scores if score.status == "ok" and score.score <= 0.1]
    assert wrong
    for score in wrong:
        assert score.detail and len(score.detail.split()) >= 3 and "\n" not in score.detail, score


def test_the_detail_names_the_option_that_would_read_the_answer() -> None:
    with Scorer(workers=1, options={"math": {"preset": "strict"}}) as scorer:
        gsm8k = scorer.score(Sample("gsm8k", "9-8=1\nSo 1.", "1"))
        strict = scorer.score(Sample("math", "So it is 7.", "7"))
    assert gsm8k.detail == 'no "#### NUMBER"; the last number is 1, which method=flexible reads'
    assert strict.detail and "preset=default reads" in strict.detail
