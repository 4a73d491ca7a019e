"""Properties of the losses that need no oracle, and formulas that TRL does not have."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.pairs.config import DpoLossConfig, RmLossConfig
from rewardkit.trainer.pairs.losses import (
    PREFERENCE_LOSSES,
    PairTerms,
    bradley_terry,
    implicit_rewards,
    kl_estimate,
    preference_loss,
)

PAIRED = [name for name, loss in PREFERENCE_LOSSES.items() if not loss.labelled]


def terms(*rows: tuple[float, float, float, float, int, int]) -> PairTerms:
    """Pairs of two log-probabilities, two of the reference, and two lengths."""
    columns = torch.tensor(rows, dtype=torch.float64).unbind(1)
    nothing = torch.zeros(len(rows), dtype=torch.float64)
    return PairTerms(*columns, nothing, torch.ones(len(rows), dtype=torch.bool))


SOME = terms((-3.0, -4.0, -3.5, -3.0, 2, 5), (-9.0, -2.0, -7.0, -2.5, 7, 1))


def swapped(given: PairTerms) -> PairTerms:
    return replace(
        given,
        chosen=given.rejected,
        rejected=given.chosen,
        reference_chosen=given.reference_rejected,
        reference_rejected=given.reference_chosen,
        chosen_tokens=given.rejected_tokens,
        rejected_tokens=given.chosen_tokens,
    )


@pytest.mark.parametrize("name", ["sigmoid", "cdpo", "sigmoid_norm"])
def test_a_policy_that_is_the_reference_has_the_loss_log_2(name: str) -> None:
    same = replace(SOME, reference_chosen=SOME.chosen, reference_rejected=SOME.rejected)
    losses = preference_loss(same, DpoLossConfig(loss_type=name, label_smoothing=0.1))
    assert losses.tolist() == [math.log(2)] * 2


@pytest.mark.parametrize("name", PAIRED)
def test_swapped_sides_negate_the_margin_of_the_implicit_rewards(name: str) -> None:
    options = DpoLossConfig(loss_type=name)
    chosen, rejected = implicit_rewards(SOME, options)
    other = implicit_rewards(swapped(SOME), options)
    assert torch.equal(chosen - rejected, other[1] - other[0])


def test_a_constant_added_to_all_scores_changes_the_loss_only_with_centring() -> None:
    more = replace(SOME, chosen=SOME.chosen + 8.0, rejected=SOME.rejected + 8.0)
    assert torch.equal(bradley_terry(SOME, RmLossConfig()), bradley_terry(more, RmLossConfig()))
    centred = RmLossConfig(center_rewards_coefficient=0.1)
    difference = bradley_terry(more, centred) - bradley_terry(SOME, centred)
    sums = SOME.chosen + SOME.rejected
    torch.testing.assert_close(difference, 0.1 * ((sums + 16.0).square() - sums.square()))


def test_a_margin_shifts_the_difference_that_the_loss_asks_for() -> None:
    asked = replace(SOME, margins=torch.tensor([2.0, 0.0], dtype=torch.float64))
    found = bradley_terry(asked, RmLossConfig())
    assert found.tolist() == pytest.approx([math.log1p(math.exp(1.0)), math.log1p(math.exp(7.0))])


def test_scores_that_are_far_apart_have_a_finite_loss_and_gradient() -> None:
    scores = torch.tensor([-800.0, 800.0], dtype=torch.float64, requires_grad=True)
    far = replace(SOME, chosen=scores, rejected=-scores)
    losses = bradley_terry(far, RmLossConfig())
    (gradient,) = torch.autograd.grad(losses.sum(), scores)
    assert losses.tolist() == [1600.0, 0.0]
    assert gradient.tolist() == [-2.0, 0.0]


def test_conservative_and_robust_losses_average_and_correct_wrong_labels() -> None:
    e = 0.2
    plain = preference_loss(SOME, DpoLossConfig())
    wrong = preference_loss(swapped(SOME), DpoLossConfig())
    conservative = preference_loss(SOME, DpoLossConfig(loss_type="cdpo", label_smoothing=e))
    torch.testing.assert_close(conservative, (1 - e) * plain + e * wrong)
    robust = DpoLossConfig(loss_type="robust", label_smoothing=e)
    noisy = (1 - e) * preference_loss(SOME, robust) + e * preference_loss(swapped(SOME), robust)
    torch.testing.assert_close(noisy, plain)


def test_ipo_on_sums_has_its_minimum_at_the_margin_that_beta_sets() -> None:
    best = terms((5.0, 0.0, 0.0, 0.0, 3, 4))
    assert preference_loss(best, DpoLossConfig(loss_type="ipo_sum", beta=0.1)).item() == pytest.approx(0.0)


def test_the_kl_of_labelled_answers_is_that_of_the_whole_batch_and_never_negative() -> None:
    assert kl_estimate(SOME).item() == 0.0
    up = replace(SOME, rejected=SOME.rejected + 4.0)
    assert kl_estimate(up).item() == pytest.approx((3.0 + 4.5) / 2)


def test_losses_that_no_longer_look_at_the_reference_say_so() -> None:
    moved = replace(SOME, reference_chosen=SOME.chosen * 3)
    for name, loss in PREFERENCE_LOSSES.items():
        options = DpoLossConfig(loss_type=name)
        same = torch.equal(loss.per_pair(SOME, options), loss.per_pair(moved, options))
        assert same is not loss.reference, name
