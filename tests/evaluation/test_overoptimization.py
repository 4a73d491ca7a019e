"""A truth that falls while the score rises is told with its step; noise and sound runs are not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from rewardkit.evaluation.overoptimization import (
    POINTS,
    SCORE,
    STEP,
    Point,
    TruthCurve,
    TruthCurves,
    points_in,
    truth_metrics,
)

# PPO on a reward model of arithmetic (docs/reward_models.md): the score and the true accuracy by step.
STEPS = (5, 10, 15, 20, 30, 60)
WEAK_KL = ((-0.31, 0.457), (2.56, 0.484), (3.00, 0.422), (3.03, 0.207), (3.12, 0.207), (3.07, 0.320))
STRONG_KL = ((-0.34, 0.465), (2.66, 0.555), (2.99, 0.582), (2.99, 0.590), (3.10, 0.688))
BETTER_MODEL = ((0.1, 0.445), (2.0, 0.488), (2.5, 0.355), (2.9, 0.289))
PROMPTS = 256


def point(step: int, score: float, truth: float, prompts: int = PROMPTS) -> Point:
    return Point(step, score, truth, truth * (1 - truth), prompts)


def told(measured: Sequence[tuple[float, float]]) -> dict[int, int]:
    """Return the steps at which a fall is known, with the last step before the fall."""
    curve, found = TruthCurve(), {}
    for step, (score, truth) in zip(STEPS, measured, strict=False):
        curve.add(point(step, score, truth))
        if fall := curve.fall():
            found[step] = fall.since
    return found


def test_the_measured_runs_are_told_apart():
    assert told(STRONG_KL) == {}
    found = told(WEAK_KL)
    assert min(found) == 20 and found[20] == found[30] == 15
    assert told(BETTER_MODEL) == {20: 10}


def test_a_score_that_falls_too_is_no_overoptimisation():
    assert told([(-score, truth) for score, truth in WEAK_KL]) == {}


def drawn(rng: random.Random, accuracy: float, prompts: int) -> float:
    return sum(rng.random() < accuracy for _ in range(prompts)) / prompts


@pytest.mark.parametrize("prompts", [32, 256])
def test_noise_of_sound_runs_is_rarely_a_fall(prompts: int):
    alarms = 0
    for seed in range(60):
        rng = random.Random(seed)
        curve = TruthCurve()
        for step in range(20):
            rising = 0.5 if seed % 2 else 0.7 - 0.5 * 0.8**step
            curve.add(point(step, float(step), drawn(rng, rising, prompts), prompts))
            fall = curve.fall()
            if fall is not None and fall.size >= 0.25:
                alarms += 1
                break
    assert alarms <= 2


def test_falls_of_any_length_of_run_are_found_with_little_memory():
    rng = random.Random(1)
    curve, first = TruthCurve(), 0
    for step in range(1, 401):
        truth = 0.5 if step <= 300 else 0.5 - 0.003 * (step - 300)
        curve.add(point(step, step / 100, drawn(rng, truth, 64), 64))
        fall = curve.fall()
        if fall is not None and fall.size >= 0.25 and not first:
            first = step
            assert 290 <= fall.since < step
    assert 300 < first < 380
    assert len(curve.points) <= POINTS


def test_a_step_that_is_measured_again_counts_once():
    curve = TruthCurve()
    for step in (1, 2, 3, 2, 3):
        curve.add(point(step, 1.0, 0.5))
    assert [one.step for one in curve.points] == [1, 2, 3]


def test_metrics_of_a_step_become_points():
    metrics = truth_metrics("held/out", [[1.0, 0.0], [1.0], [0.0], []])
    assert points_in(7, metrics) == {}  # no score
    assert points_in(7, metrics | {SCORE: 2.0}) == {"held/out": Point(7, 2.0, 0.5, 0.25, 3.0)}
    assert truth_metrics("held/out", [[1.0, 1.0]]) == {}  # one prompt has no spread


def test_curves_go_on_after_a_resume():
    whole, first = TruthCurves(), TruthCurves()
    steps = [
        {STEP: float(step), SCORE: score, **truth_metrics("rule", [[1.0]] * right + [[0.0]] * (256 - right))}
        for step, (score, truth) in zip(STEPS, WEAK_KL, strict=True)
        for right in [round(256 * truth)]
    ]
    for i, metrics in enumerate(steps):
        whole.add(metrics)
        if i < 3:
            first.add(metrics)
    resumed = TruthCurves()
    resumed.load_state_dict(first.state_dict())
    for metrics in steps[3:]:
        resumed.add(metrics)
    assert resumed.metrics() == whole.metrics() and resumed.fallen == whole.fallen == "rule"
    assert whole.metrics()["overoptimization/since"] == 15
