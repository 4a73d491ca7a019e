"""The mathematics against verl's and OpenRLHF's own numbers (made by `make_goldens.py`), to 1e-6.

Every masked position of our inputs holds NaN: what the peers computed from numbers there must not differ.
"""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.algorithms.advantages import ESTIMATORS, discounted_returns, gae
from rewardkit.trainer.algorithms.correction import rollout_weights
from rewardkit.trainer.algorithms.estimation import Experience
from rewardkit.trainer.algorithms.kl import PENALTIES, KlController
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES, value_loss
from rewardkit.trainer.algorithms.objective import PolicyOptions, policy_loss
from rewardkit.trainer.algorithms.reductions import AGGREGATIONS, aggregate, count, masked_whiten
from rewardkit_extras.policy_losses.covariance import covariance, largest
from tests.trainer.algorithms.test_losses import PEERS

FOLDER = Path(__file__).parent / "goldens"
GAMMA, LAM, HORIZON = 0.99, 0.95, 10


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return found


VERL, OPENRLHF = load("verl.json"), load("openrlhf.json")
GIVEN = {name: torch.tensor(value, dtype=torch.float64) for name, value in load("inputs.json").items()}


def keys(kind: str) -> list[str]:
    return [key for key in VERL if key.startswith(kind + "/")]


def here(value: Any) -> Any:
    return value


def alone(value: Any) -> list[Any]:
    return [value]


def dirty(name: str, mask: Any) -> Any:
    """An input with NaN wherever the mask is 0."""
    return torch.where(mask.bool(), GIVEN[name], torch.nan)


def same(found: Any, expected: Any) -> None:
    expected = torch.as_tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-6)


def experience(mask: Any, groups: str = "groups", norm_by_std: bool = True) -> Experience:
    return Experience(
        rewards=torch.where(mask.bool(), GIVEN["rewards"], 0.0),
        mask=mask,
        scored=torch.ones(len(mask), dtype=torch.bool),
        groups=GIVEN[groups].long(),
        values=dirty("values", mask),
        baselines=GIVEN["baselines"],
        log_probs=dirty("old_log_probs", mask),
        squares=dirty("sum_pi_squared", mask),
        gamma=GAMMA,
        lam=LAM,
        norm_by_std=norm_by_std,
        reduce=here,
        gather=alone,
        rank=0,
    )


@pytest.mark.parametrize("key", keys("advantages"))
def test_advantages_and_returns_are_verl_s(key: str) -> None:
    _, name, *grouping, mask_name = key.split("/")
    mask = GIVEN[mask_name]
    given = experience(mask, grouping[0] if grouping else "groups", not name.endswith("_no_std"))
    advantages, returns = ESTIMATORS[name.removesuffix("_no_std")].estimate(given)
    same(advantages, VERL[key]["advantages"])
    same(returns, VERL[key]["returns"])


def test_every_estimator_loss_and_aggregation_has_a_golden_number() -> None:
    golden = {key.split("/")[1].removesuffix("_no_std") for key in keys("advantages")}
    assert golden == set(ESTIMATORS) - {"gdpo"}  # which a later verl has: its numbers are in test_gdpo.py
    later = [case[0] for case in PEERS.values()], [case[2] for case in PEERS.values()]
    assert {key.split("/")[1] for key in keys("policy")}.union(later[0]) == set(POLICY_LOSSES)
    assert {key.split("/")[1] for key in keys("aggregate")}.union(later[1]) == set(AGGREGATIONS)
    assert {key.split("/")[1] for key in keys("kl")} >= set(PENALTIES) - {"mse+", "k1+", "k2+"}


def test_gae_and_returns_are_openrlhf_s_where_no_mask_is_within_a_response() -> None:
    mask = GIVEN["ragged"]
    rewards = torch.where(mask.bool(), GIVEN["rewards"], 0.0)
    advantages, returns = gae(rewards, dirty("values", mask), mask, gamma=GAMMA, lam=LAM)
    same(advantages, OPENRLHF["gae"]["advantages"])
    same(returns, OPENRLHF["gae"]["returns"])
    same(discounted_returns(rewards, mask, GAMMA), OPENRLHF["cumulative_returns"])


@pytest.mark.parametrize("key", keys("aggregate"))
def test_aggregation_is_verl_s(key: str) -> None:
    _, mode, mask_name = key.split("/")
    mask = GIVEN[mask_name]
    same(aggregate(dirty("advantages", mask), mask, count(mask, here), mode, HORIZON), VERL[key])


def importance(mask: Any, level: str) -> Any:
    names = ("old_log_probs", "rollout_log_probs")
    return rollout_weights(*(dirty(name, mask) for name in names), mask, level).clamp(max=2.0)


def chosen_tokens(name: str, log_probs: Any, mask: Any) -> Any:
    """With the options of the recipe, under the policy of the loss (as in verl)."""
    cov = covariance(log_probs.detach(), dirty("advantages", mask), mask, here)
    if name == "kl_cov":
        return largest(cov, mask, int(0.2 * mask.sum()), alone)
    return mask.bool() & (cov > 0.1) & (cov < 5.0)  # a share of 1 is all of the candidates


@pytest.mark.slow
@pytest.mark.parametrize("key", keys("policy"))
def test_policy_losses_and_their_gradients_are_verl_s(key: str) -> None:
    _, name, mode, variant, mask_name = key.split("/")
    mask, expected = GIVEN[mask_name], VERL[key]
    log_probs = dirty("log_probs", mask).requires_grad_()
    weights = importance(mask, "token")
    loss, stats = policy_loss(
        log_probs,
        dirty("old_log_probs", mask),
        dirty("advantages", mask),
        mask,
        count(mask, here),
        loss=POLICY_LOSSES[name],
        options=PolicyOptions(clip_low=0.2, clip_high=0.28, dro_beta=0.5),
        aggregation=mode,
        horizon=HORIZON,
        weights=weights if variant == "weighted" else None,
        chosen=chosen_tokens(name, log_probs, mask) if name.endswith("_cov") else None,
    )
    same(loss, expected["loss"])
    (gradient,) = torch.autograd.grad(loss, log_probs)
    same(gradient, expected["gradient"])
    for stat in ("pg_clipfrac", "pg_clipfrac_lower"):
        if stat in expected:
            same(stats[stat], expected[stat])
    if "ppo_kl" in expected and name != "kl_cov":  # there verl reports |log-ratio|
        same(stats["trained_rows/approx_kl"], expected["ppo_kl"])


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean"])
def test_policy_and_value_loss_are_openrlhf_s(mode: str) -> None:
    mask = GIVEN["ragged"]
    names = ("log_probs", "old_log_probs", "advantages")
    loss, _ = policy_loss(
        *(dirty(name, mask) for name in names),
        mask,
        count(mask, here),
        loss=POLICY_LOSSES["vanilla"],
        options=PolicyOptions(clip_low=0.2, clip_high=0.28, clip_c=1e9),  # it has no dual clip
        aggregation=mode,
    )
    same(loss, OPENRLHF[f"policy/{mode}"])
    names = ("vpreds", "values", "returns")
    loss, _ = value_loss(
        *(dirty(name, mask) for name in names), mask, count(mask, here), clip_range=0.5, aggregation=mode
    )
    same(loss, OPENRLHF[f"value/{mode}"])


@pytest.mark.parametrize("key", keys("value"))
def test_the_value_loss_is_verl_s(key: str) -> None:
    _, mode, mask_name = key.split("/")
    mask = GIVEN[mask_name]
    inputs = (dirty(name, mask) for name in ("vpreds", "values", "returns"))
    loss, stats = value_loss(
        *inputs, mask, count(mask, here), clip_range=0.5, aggregation=mode, horizon=HORIZON
    )
    same(loss, VERL[key]["loss"])
    same(stats["vf_clipfrac"], VERL[key]["vf_clipfrac"])


@pytest.mark.parametrize("key", keys("kl"))
def test_kl_estimates_and_their_gradients_are_verl_s(key: str) -> None:
    log_probs = GIVEN["log_probs"].clone().requires_grad_()
    kl = PENALTIES[key.split("/")[1]](log_probs, GIVEN["ref_log_prob"])
    same(kl, VERL[key]["value"])
    (gradient,) = torch.autograd.grad(kl.sum(), log_probs)
    same(gradient, VERL[key]["gradient"])


@pytest.mark.parametrize("name", ["k1", "k2", "k3"])
def test_kl_estimates_are_openrlhf_s(name: str) -> None:
    """It computes in float32, and its k3 had no upper bound at that commit: ours is verl's, 10."""
    expected = torch.tensor(OPENRLHF[f"kl/{name}"], dtype=torch.float64)
    expected = expected.clamp(max=10) if name == "k3" else expected
    found = PENALTIES[name](GIVEN["log_probs"], GIVEN["ref_log_prob"])
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_the_adaptive_controller_is_verl_s() -> None:
    controller = KlController(coef=0.2, target=0.1, horizon=1000)
    for kl, expected in zip([0.3, 0.09, 0.0, 0.1, 0.11], VERL["kl_controller"], strict=True):
        controller.update(kl, n_samples=64)
        assert controller.coef == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("key", keys("rollout_is"))
def test_importance_weights_are_verl_s(key: str) -> None:
    _, level, mask_name = key.split("/")
    mask = GIVEN[mask_name]
    same(importance(mask, level), VERL[key])


def test_whitening_is_verl_s_not_openrlhf_s() -> None:
    """Bessel's correction and 1e-8 under the root: 1.0121 times smaller than with n at 42 tokens."""
    mask = torch.ones(6, 7, dtype=torch.float64)
    white = masked_whiten(GIVEN["values"][:, :7], mask, here)
    assert float(white.var()) == pytest.approx(1.0, abs=1e-6)
    assert float(white.var(correction=0)) == pytest.approx(41 / 42, abs=1e-6)
