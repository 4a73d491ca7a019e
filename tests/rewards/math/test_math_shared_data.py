"""Bars on the labelled cases and on MATH itself, where the raw data stands beside the repository."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewardkit.rewards.math import MathOptions, compare, extract, score
from rewardkit.types import Sample
from tests.conftest import REFERENCE_DATA as DATA

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no raw data at {DATA}")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def test_the_labelled_cases_are_scored_as_labelled_with_no_false_positive() -> None:
    core = [r for r in rows("math_cases/cases.jsonl") if not r["disputed"]]
    right = false_positives = 0
    for row in core:
        if row["kind"] == "answer":
            verdict = compare(row["gold"], row["pred"]).equal
        else:
            verdict = bool(score(Sample("math", row["pred"], row["gold"])).correct)
        right += verdict == row["expected"]
        false_positives += verdict and not row["expected"]
    assert false_positives == 0
    assert right / len(core) >= 0.985


def test_every_math_solution_scores_one_and_every_gold_equals_itself() -> None:
    for row in rows("math/test.jsonl"):
        gold = extract(row["solution"], MathOptions(methods=("boxed",))).answer
        assert gold is not None
        assert score(Sample("math", row["solution"], gold)).score == 1.0, gold
        assert compare(gold, gold).equal, gold


def test_every_aime_solution_scores_one() -> None:
    for row in rows("aime24/test.jsonl"):
        assert score(Sample("aime", row["solution"], str(row["answer"]))).score == 1.0
