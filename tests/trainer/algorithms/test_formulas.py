"""The mathematics against numbers worked out by hand."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.algorithms.advantages import gae
from rewardkit.trainer.algorithms.kl import PENALTIES, KlController, k1, k3
from rewardkit.trainer.algorithms.log_probs import Entropy, _fusible, log_probs_at, token_log_probs
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES, value_loss
from rewardkit.trainer.algorithms.objective import PolicyOptions, policy_loss
from rewardkit.trainer.algorithms.reductions import count, masked_whiten
from tests.closeness import assert_same

NAN = math.nan


def here(values: torch.Tensor) -> torch.Tensor:
    return values


def test_gae_is_the_closed_form_on_ragged_rows_and_interior_masks() -> None:
    rewards = torch.tensor([[0, 0, 1.0], [0, NAN, 1.0], [0, 1.0, NAN], [2.0, NAN, NAN], [NAN, NAN, NAN]])
    values = torch.tensor([[0.5, 0.6, 0.7], [0.5, NAN, 0.7], [0.5, 0.6, NAN], [0.5, NAN, NAN], [NAN] * 3])
    mask = torch.tensor([[1, 1, 1], [1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    advantages, returns = gae(rewards, values, mask, gamma=0.99, lam=0.95)
    # Row 0: 0.3; 0.99*0.7-0.6 + 0.9405*0.3; 0.99*0.6-0.5 + 0.9405*0.37515. Row 1 skips its middle token.
    expected = torch.tensor(
        [[0.446828575, 0.37515, 0.3], [0.47515, 0, 0.3], [0.4702, 0.4, 0], [1.5, 0, 0], [0, 0, 0]]
    )
    torch.testing.assert_close(advantages, expected)
    torch.testing.assert_close(returns, torch.where(mask.bool(), expected + values, 0.0))


def test_whitening_has_mean_0_and_unbiased_variance_1() -> None:
    values = torch.tensor([[1.0, 2.0, NAN], [3.0, 4.0, NAN]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 0]])
    white = masked_whiten(values, mask, here)
    # Mean 2.5, variance 5/3 (divided by n - 1).
    expected = torch.tensor([[-1.1618950, -0.3872983, 0], [0.3872983, 1.1618950, 0]])
    torch.testing.assert_close(white, expected)


def test_kl_estimators_by_exact_enumeration() -> None:
    logits = torch.tensor([0.3, -1.0, 0.8, 0.0, -0.4], dtype=torch.float64, requires_grad=True)
    q = torch.tensor([0.1, 0.3, 0.2, 0.25, 0.15], dtype=torch.float64)
    log_p, log_q = logits.log_softmax(-1), q.log()
    p = log_p.exp().detach()
    exact = float((p * (log_p.detach() - log_q)).sum())
    assert float((p * k1(log_p.detach(), log_q)).sum()) == pytest.approx(exact)
    assert float((p * k3(log_p.detach(), log_q)).sum()) == pytest.approx(exact)
    assert bool((k3(log_p, log_q) >= 0).all())
    (true_gradient,) = torch.autograd.grad(
        (logits.softmax(-1) * (logits.log_softmax(-1) - log_q)).sum(), logits
    )
    (of_k1,) = torch.autograd.grad((p * k1(logits.log_softmax(-1), log_q)).sum(), logits)
    torch.testing.assert_close(of_k1, torch.zeros_like(of_k1))
    for name in ("k2", "k1+", "abs+", "k3+"):  # by the straight-through gradient as by k2's own
        estimate = PENALTIES[name](logits.log_softmax(-1), log_q)
        (gradient,) = torch.autograd.grad((p * estimate).sum(), logits)
        torch.testing.assert_close(gradient, true_gradient)
    (of_k3,) = torch.autograd.grad((p * k3(logits.log_softmax(-1), log_q)).sum(), logits)
    assert float((of_k3 - true_gradient).abs().max()) > 0.01, "k3's gradient is not the KL's"


def test_k3_does_not_overflow() -> None:
    assert float(k3(torch.tensor(-500.0), torch.tensor(0.0))) == 10.0


def test_the_fixed_controller_stays() -> None:
    controller = KlController(coef=0.2)
    controller.update(5.0, n_samples=100)
    assert controller.coef == 0.2


def test_the_controller_s_state_goes_into_a_checkpoint_and_back() -> None:
    controller = KlController(coef=0.2, target=0.1)
    controller.update(5.0, n_samples=100)
    resumed = KlController(coef=0.2, target=0.1)
    resumed.load_state_dict(controller.state_dict())
    assert resumed == controller


RATIOS = torch.tensor([[1.5, 0.5, 0.5, 5.0, NAN]], dtype=torch.float64)
ADVANTAGES = torch.tensor([[1.0, 1.0, -1.0, -1.0, NAN]], dtype=torch.float64)
MASK = torch.tensor([[1, 1, 1, 1, 0]])


def test_the_policy_loss_clips_both_ways_and_twice() -> None:
    loss, stats = policy_loss(
        RATIOS.log(),
        torch.zeros(1, 5),
        ADVANTAGES,
        MASK,
        count(MASK, here),
        loss=POLICY_LOSSES["vanilla"],
        options=PolicyOptions(),
    )
    assert float(loss) == pytest.approx((-1.2 - 0.5 + 0.8 + 3.0) / 4)
    assert float(stats["pg_clipfrac"]) == 0.5
    assert float(stats["pg_clipfrac_lower"]) == 0.25
    assert float(stats["trained_rows/approx_kl"]) == pytest.approx(-math.log(1.5 * 0.5 * 0.5 * 5.0) / 4)


def test_the_value_loss_takes_the_worse_of_clipped_and_unclipped() -> None:
    loss, stats = value_loss(
        torch.tensor([[1.0, 0.1, NAN]]),
        torch.tensor([[0.2, 1.0, NAN]]),
        torch.tensor([[0.0, 0.0, NAN]]),
        torch.tensor([[1, 1, 0]]),
        count(torch.tensor([[1, 1, 0]]), here),
        clip_range=0.5,
    )
    assert float(loss) == pytest.approx(0.5 * (1.0 + 0.25) / 2)
    assert float(stats["vf_clipfrac"]) == 0.5
    assert float(stats["vpred_mean"]) == pytest.approx(0.55)


@pytest.mark.parametrize("entropy", ["value", "loss"])
def test_entropy_and_log_probs_from_logits(entropy: Entropy) -> None:
    logits = torch.tensor([[[0.0, 0.0, 0.0, 0.0], [math.log(3), 0.0, -math.inf, -math.inf]]])
    quarter = 0.25 * math.log(4) + 0.75 * math.log(4 / 3)
    chosen, entropies = token_log_probs(logits, torch.tensor([[2, 0]]), entropy)
    torch.testing.assert_close(entropies, torch.tensor([[math.log(4), quarter]]))
    torch.testing.assert_close(chosen, torch.tensor([[-math.log(4), math.log(0.75)]]))


@pytest.mark.parametrize("entropy", ["no", "value", "value and squares", "loss"])
def test_what_a_compiler_is_given_is_the_same_formula(entropy: Entropy) -> None:
    logits = torch.randn(15, 7, generator=torch.Generator().manual_seed(0))
    logits[0, 1] = -torch.inf
    tokens = torch.arange(15) % 6 + (torch.arange(15) == 1)

    def score(compute: Any) -> list[Any]:
        leaf = logits.clone().requires_grad_()
        log_probs, figures = compute(leaf, tokens, 0.7, entropy)
        (log_probs.sum() + (figures.sum() if entropy == "loss" else 0.0)).backward()
        found = [log_probs.detach(), leaf.grad]
        return found if figures is None else [*found, figures.detach()]

    for found, wanted in zip(score(_fusible), score(log_probs_at), strict=True):
        assert_same(found, wanted)


@pytest.mark.parametrize("entropy", ["no", "value"])
def test_the_gradient_of_a_log_prob_is_that_of_log_softmax_also_beside_tokens_ruled_out(
    entropy: Entropy,
) -> None:
    logits = torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(0))
    logits[0, 0, 1] = -torch.inf
    tokens, weights = torch.arange(15).view(3, 5) % 7, torch.linspace(-1, 1, 15).view(3, 5)
    found, expected = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    (token_log_probs(found, tokens, entropy)[0] * weights).sum().backward()  # type: ignore[no-untyped-call]
    reference = expected.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    (reference * weights).sum().backward()
    assert_same(found.grad, expected.grad)
