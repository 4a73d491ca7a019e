"""An error of ours on a response is no status of it: it is wrong, counted, and logged once with the input."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

import rewardkit.rewards  # noqa: F401  (registers the rewards)
from rewardkit import faults
from rewardkit.registry import REGISTRY, Reward
from rewardkit.rewards.math import compare
from rewardkit.rewards.math.comparing import equality
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score


class Unforeseen(Exception):
    """Of no type that anything names."""


def test_no_exception_of_any_type_leaves_a_tier(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> bool:
        raise Unforeseen

    monkeypatch.setattr(equality, "equal", broken)
    monkeypatch.setattr(faults, "COUNTS", type(faults.COUNTS)())
    with caplog.at_level(logging.ERROR):
        found = [compare("x+1", answer) for answer in ("x+2", "x+3")]
    assert [verdict.outcome for verdict in found] == ["undecided", "undecided"]
    assert list(faults.COUNTS.values()) == [2]
    (record,) = caplog.records
    assert record.getMessage().startswith("a comparison raised Unforeseen on 'x+1 <- x+2'\n")


def reward(raises_on: str) -> Reward:
    found = REGISTRY.by_name("number")
    assert found is not None

    def score(sample: Sample, options: object) -> Score:
        if raises_on in sample.response:
            raise Unforeseen
        return Score(1.0, correct=True)

    return replace(found, target=lambda: score)


def run(broken: Reward, response: str) -> Score:
    return RewardRunner(broken, broken.make_options({})).run([Sample("number", response, "7")])[0]


def test_a_response_that_breaks_a_reward_of_ours_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = reward(raises_on="boom")
    assert run(broken, "boom").status == "error"  # declared in this file: a user's
    monkeypatch.setattr(broken.target, "__module__", "rewardkit.rewards.declarations")
    found = run(broken, "boom")
    assert (found.status, found.score, found.correct) == ("ok", 0.0, False)
    assert "Unforeseen" in (found.detail or "")
    assert run(broken, "7").score == 1.0


def test_a_row_that_breaks_a_reward_of_ours_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = reward(raises_on="")
    monkeypatch.setattr(broken.target, "__module__", "rewardkit.rewards.declarations")
    assert run(broken, "7").status == "error"


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("\\frac{\\ln 3}{2}", "\\coth^{-1}(2)"),
        ("\\ln(2+\\sqrt{3})", "\\sech^{-1}\\frac12"),
        ("\\ln\\frac{1+\\sqrt{5}}{2}", "\\text{arccsch}(2)"),
        ("\\sech^{-1}x", "\\cosh^{-1}\\frac1x"),
        ("\\frac{\\pi}{3}", "\\sec^{-1}2"),
    ],
)
def test_inverse_hyperbolic_functions_have_their_values(gold: str, answer: str) -> None:
    assert compare(gold, answer).equal
    assert not compare(gold, f"{answer}+1").equal


def descend(depth: int) -> int:
    return 1 + descend(depth + 1)


def test_a_fault_with_a_thousand_frames_is_one_message_of_bounded_length(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(faults, "COUNTS", type(faults.COUNTS)())
    for _ in range(3):
        try:
            descend(0)
        except RecursionError as error:
            faults.note("a comparison", error, "x" * 10_000)
    assert list(faults.COUNTS.values()) == [3]
    (record,) = caplog.records
    message = record.getMessage()
    assert "a comparison raised RecursionError on 'xxx" in message
    assert message.count("\n") < 100
    assert len(message) < 10_000
