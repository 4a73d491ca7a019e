"""A truth that falls while the score rises is told with its step; noise and sound runs are not."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rewardkit.evaluation.overoptimization import (
    GROUPS,
    POINTS,
    SCORE,
    STEP,
    Point,
    TruthCurve,
    TruthCurves,
    group_truths,
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
    """Return the steps at which a fall is known, with the step before at which the truth was highest."""
    curve, found = TruthCurve(), {}
    for step, (score, truth) in zip(STEPS, measured, strict=False):
        curve.add(point(step, score, truth))
        if fall := curve.fall():
            found[step] = fall.since
    return found


def test_the_measured_runs_are_told_apart():
    assert told(STRONG_KL) == {}
    found = told(WEAK_KL)
    assert min(found) == 20 and found[20] == found[30] == 10
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
            assert fall.since < 310 and fall.truth_now < 0.5 <= fall.truth_before
    assert 300 < first < 380
    assert len(curve.points) <= POINTS


def same_prompts(rng: random.Random, curve: TruthCurve, step: int, easiness: float, own: list[float]) -> None:
    """Add a measurement on prompts of different difficulty, on which the policy's answers rarely change."""
    values = [[float(rng.gauss(easiness, 0.2) > difficulty)] for difficulty in own]
    (one,) = points_in(step, truth_metrics("rule", values) | {SCORE: float(step)}).values()
    curve.add(replace(one, groups=group_truths(values)))


@pytest.mark.parametrize("steps", [(0.0,) * 20, (-0.5, -0.2, 0.0, 0.1, *[0.15] * 16)])
def test_noise_on_the_same_prompts_is_rarely_a_fall(steps: Sequence[float]):
    alarms = 0
    for seed in range(12):
        rng, curve = random.Random(seed), TruthCurve()
        own = [rng.gauss(0, 1) for _ in range(256)]
        found = []
        for step, easiness in enumerate(steps):
            same_prompts(rng, curve, step, easiness, own)
            found.append(curve.fall())
        alarms += any(fall is not None and fall.size >= 0.1 for fall in found)
    assert not alarms


def test_a_fall_on_the_same_prompts_is_seen_earlier():
    rng = random.Random(3)
    own = [rng.gauss(0, 1) for _ in range(256)]
    paired, seen = TruthCurve(), {}
    for step, easiness in enumerate((0.0, 0.1, 0.2, 0.2, 0.1, 0.0, -0.1, -0.15, -0.15)):
        same_prompts(rng, paired, step, easiness, own)
        others = TruthCurve([replace(one, groups=()) for one in paired.points])
        for name, curve in (("same", paired), ("others", others)):
            if (fall := curve.fall()) and name not in seen:
                seen[name] = step
                assert 2 <= fall.since < step
    assert seen["same"] <= 6 and "others" not in seen


def test_groups_of_prompts_have_a_value_even_where_nothing_could_be_scored():
    assert group_truths([]) == group_truths([[], []]) == ()
    assert group_truths([[1.0, 0.0], [], [1.0]]) == (0.5, 0.75, 1.0)
    assert len(group_truths([[float(i % 3 == 0)] for i in range(1_000)])) == GROUPS


def test_a_drop_that_is_equal_for_all_prompts_is_significant():
    curve = TruthCurve()
    for step, truth in enumerate((0.5, 0.5, 0.25, 0.25)):
        curve.add(Point(step, float(step), truth, 0.01, 64, groups=(truth,) * 64))
    fall = curve.fall()
    assert fall is not None and fall.since == 1


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
        ({STEP: float(step), SCORE: score, **truth_metrics("rule", values)}, group_truths(values))
        for step, (score, truth) in zip(STEPS, WEAK_KL, strict=True)
        for values in [[[float(i < round(256 * truth))] for i in range(256)]]
    ]
    for i, (metrics, groups) in enumerate(steps):
        for curves in (whole, first) if i < 3 else (whole,):
            curves.groups = {"rule": groups}
            curves.add(metrics)
    resumed = TruthCurves()
    resumed.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for metrics, groups in steps[3:]:
        resumed.groups = {"rule": groups}
        resumed.add(metrics)
    assert resumed.metrics() == whole.metrics() and resumed.fallen == whole.fallen == "rule"
    assert whole.metrics()["overoptimization/since"] == 10
