from __future__ import annotations

import math
import random

import pytest

from rewardkit.evaluation.pairs import pair_figures


def test_ties_are_neither_right_nor_wrong():
    found = pair_figures([2.0, 1.0, 0.0, 5.0], [1.0, 1.0, 3.0, 5.0])
    assert (found.pairs, found.failed, found.ties, found.right) == (4, 0, 2, 1)
    assert found.accuracy is not None and (found.accuracy.mean, found.accuracy.n) == (0.5, 2)
    assert (found.strict_accuracy, found.tie_rate) == (0.25, 0.5)


@pytest.mark.parametrize("missing", [None, math.nan, math.inf])
def test_an_answer_without_a_score_counts_apart(missing: float | None):
    found = pair_figures([2.0, missing, 1.0], [1.0, 0.0, missing])
    assert (found.pairs, found.failed, found.judged, found.right) == (3, 2, 1, 1)
    assert found.strict_accuracy == 1.0 and found.margin is not None and found.margin.mean == 1.0
    assert (found.chosen_mean, found.rejected_mean, found.score_mean, found.score_std) == (2, 1, 1.5, 0.5)


@pytest.mark.parametrize("scores", [[], [None, None], [3.0, 3.0]])
def test_figures_without_decided_pairs_are_absent(scores: list[float | None]):
    found = pair_figures(scores, scores)
    assert found.accuracy is None and found.ece is None and found.bins == ()
    assert found.loss == (pytest.approx(math.log(2)) if found.judged else None)


def test_swapping_the_answers_negates_the_margin_and_keeps_the_confidences():
    rng = random.Random(3)
    chosen, rejected = ([rng.gauss(0, 2) for _ in range(50)] for _ in range(2))
    one, other = pair_figures(chosen, rejected), pair_figures(rejected, chosen)
    assert one.margin is not None and other.margin is not None and one.margin.mean == -other.margin.mean
    assert one.right == 50 - other.right
    assert [b.confidence for b in one.bins] == [b.confidence for b in other.bins]
    shifted = pair_figures([c + 8 for c in chosen], [r + 8 for r in rejected])
    assert shifted.loss == pytest.approx(one.loss) and shifted.ece == pytest.approx(one.ece)


def test_scores_that_claim_what_is_true_have_no_calibration_error():
    rng = random.Random(0)
    margins = [rng.uniform(0, 3) for _ in range(5_000)]
    true = [m if rng.random() < 1 / (1 + math.exp(-m)) else -m for m in margins]
    calibrated = pair_figures(true, [0.0] * len(true))
    assert calibrated.ece is not None and calibrated.ece < 0.03
    sure = pair_figures([8 * m for m in true], [0.0] * len(true))
    assert sure.accuracy == calibrated.accuracy
    assert sure.ece is not None and sure.ece > 0.1
    assert sum(one.pairs for one in sure.bins) == len(true)


def test_the_loss_is_finite_for_any_finite_scores():
    found = pair_figures([-800.0, 1e6], [0.0, -1e6])
    assert found.loss == 400.0 and found.ece == 0.5
    assert [(one.low, one.high, one.confidence) for one in found.bins] == [(0.95, 1.0, 1.0)]


def test_pairs_of_one_prompt_widen_the_interval():
    chosen, rejected = [1.0, 1.0, 0.0, 0.0] * 10, [0.0, 0.0, 1.0, 1.0] * 10
    apart = pair_figures(chosen, rejected).accuracy
    shared = pair_figures(chosen, rejected, [i // 2 for i in range(40)]).accuracy
    assert apart is not None and shared is not None and apart.mean == shared.mean
    assert apart.standard_error is not None and shared.standard_error is not None
    assert shared.standard_error > 1.3 * apart.standard_error
