"""Responses that could not be scored: a step names the most frequent reason and its remedy."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.alarms import Alarms
from rewardkit.trainer.batch import PromptRow, ScoredRollout
from rewardkit.trainer.config.root import RewardConfig
from rewardkit.trainer.steps.failures import REMEDIES, alarm_texts, warn_of_failures
from rewardkit.types import STATUSES, Score, Status, failure
from tests.trainer.steps.test_advantages import run_of


def responses(*scores: Score) -> list[ScoredRollout]:
    return [ScoredRollout(PromptRow("mine/words", "p", "", {}, [1]), "x", score) for score in scores]


def raised(status: Status, why: str) -> Score:
    return failure(status, why, scorer="words@1")


def test_a_warning_names_the_most_frequent_exception_once_and_every_status_has_a_remedy() -> None:
    run = run_of()
    said: list[str] = []
    run.logger = SimpleNamespace(warn=said.append)
    errors = [raised("error", f"ValueError: cannot read {n} characters") for n in range(5)]
    step = responses(*errors, raised("timeout", "late"), Score(0.0, correct=False, detail="no answer"))
    lines = warn_of_failures(run, step, "step 1")
    assert lines[0] == "5 of 7: error, words@1 on mine/words: ValueError: cannot read 0 characters"
    assert lines[1].startswith("1 of 7: timeout") and len(lines) == 2, "a wrong answer is no failure"
    assert len(said) == 1 and "step 1" in said[0] and lines[0] in said[0] and "on_exception" in said[0]
    warn_of_failures(run, step, "step 2")
    assert len(said) == 1, "the same reason again"
    warn_of_failures(run, responses(raised("invalid", "no ground truth")), "step 3")
    assert len(said) == 2 and "no ground truth" in said[1] and "rewardkit check" in said[1]
    assert not warn_of_failures(run, responses(Score(1.0, correct=True)), "step 4")
    assert set(REMEDIES) == set(STATUSES) - {"ok"}


def test_alarms_name_the_failure_its_remedy_and_what_becomes_of_the_responses() -> None:
    failed = ["5 of 8: error, words@1 on mine/words: ValueError: no {brace}"]
    for config, handling in (
        (RewardConfig(), "masked"),
        (
            RewardConfig(on_error="value", error_value=-1),
            "reward.on_error=value trains them with the score -1",
        ),
    ):
        alarms = Alarms(run_of().config.trainer)
        alarms.texts = alarm_texts(failed, [], config)
        line = alarms.look({"ledger/failed": 5 / 8})["failures"]
        assert failed[0] in line and handling in line
        assert "on_exception" in line and "reward.timeout_s" in line


def test_an_alarm_of_equal_rewards_names_why_responses_are_not_right() -> None:
    alarms = Alarms(run_of().config.trainer)
    why = "7 of 8: the reward raised KeyError: 'answer'; on_exception is 0"
    alarms.texts = alarm_texts([], [why], RewardConfig())
    *_, begun = [alarms.look({"ledger/equal": 1.0}) for _ in range(3)]
    assert why in begun["equal_rewards"]
