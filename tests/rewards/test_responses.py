"""Whole responses: those of `tests/data/responses`, which we wrote, and real ones where they are at hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.registry import REGISTRY
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score
from tests.conftest import REFERENCE_DATA
from tests.rewards.scramble import has_frame, scrambled

OWN = Path(__file__).parent.parent / "data" / "responses"
REAL = REFERENCE_DATA / "responses"
REWARDS = ("gsm8k", "choice", "qa", "math")


def runner(name: str, **options: Any) -> RewardRunner:
    reward = REGISTRY.by_name(name)
    assert reward is not None
    return RewardRunner(reward, reward.make_options(options))


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"no {path}")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def sample(row: dict[str, Any], response: str) -> Sample:
    truth = row["ground_truth"]
    truth = truth if isinstance(truth, str) else json.dumps(truth, ensure_ascii=False)
    return Sample(row["data_source"], response, truth, row["prompt"], row.get("extra_info") or {})


# Ours.


@pytest.mark.parametrize("name", REWARDS)
def test_responses_that_we_wrote_are_scored_as_the_rules_say(name: str) -> None:
    run = runner(name)
    for row in rows(OWN, name):
        found = run.run_one(sample(row, row["response"]))
        assert (found.status, bool(found.correct)) == ("ok", row["correct"]), (row, found)


@pytest.mark.parametrize("name", ["math", "gsm8k", "number"])
def test_story_sentences_with_the_right_value_in_a_frame_all_pay(name: str) -> None:
    runners = {
        "####": runner(name),
        "\\boxed": runner(name, **({"method": "flexible"} if name == "gsm8k" else {})),
    }
    for row in rows(OWN, "stories"):
        run = runners["####" if "####" in row["sentence"] else "\\boxed"]
        found = run.run_one(Sample(name, row["sentence"], row["ground_truth"]))
        assert (found.status, found.score) == ("ok", 1.0), (row, found)


# Changing any word outside of the frames changes no score.


def pairs(folder: Path, name: str) -> Iterator[tuple[Score, Score, str, str]]:
    """The scores of each response that holds a frame, as it is and in other letters."""
    run = runner(name)
    for seed, row in enumerate(rows(folder, "gsm8k" if name == "number" else name)):
        response = row["response"]
        if response.lstrip().startswith("{") or not has_frame(response):
            continue
        other = scrambled(response, seed, formulas=name == "math")
        yield run.run_one(sample(row, response)), run.run_one(sample(row, other)), response, other


@pytest.mark.parametrize("folder", [OWN, REAL], ids=["ours", "real"])
@pytest.mark.parametrize("name", ["gsm8k", "choice", "qa", "number", "math"])
def test_other_letters_in_the_prose_change_no_score(name: str, folder: Path) -> None:
    compared = 0
    for found, other, response, text in pairs(folder, name):
        assert (found.status, found.score, found.extracted) == (other.status, other.score, other.extracted), (
            response[-600:],
            text[-600:],
        )
        compared += 1
    assert compared >= 15


# Real responses of real models.


@pytest.mark.parametrize(
    ("name", "least"), [("gsm8k", 0.999), ("choice", 0.98), ("math", 0.95), ("qa", 0.84)]
)
def test_scores_of_real_responses_agree_with_the_labels_of_their_sources(name: str, least: float) -> None:
    """Labels are witnesses: some sources take the first letter they meet. gsm8k: rows with a `####` line."""
    run = runner(name)
    agree = labelled = 0
    for row in rows(REAL, name):
        if row["label"] is None or (name == "gsm8k" and "####" not in row["response"]):
            continue
        labelled += 1
        agree += bool(run.run_one(sample(row, row["response"])).correct) == row["label"]
    assert agree >= least * labelled, f"{agree} of {labelled}"
