"""KL penalty relative to the reference policy, with estimators per token and a coefficient controller.

The estimators are from Schulman (http://joschu.net/blog/kl-approx.html), for tokens sampled from the policy.
k1 and k3 are unbiased, k3 is never negative, and k2 is biased but has low variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


def k1(log_probs: Tensor, ref_log_probs: Tensor) -> Tensor:
    """Return log p/q for the policy p and the reference q."""
    return log_probs - ref_log_probs


def absolute(log_probs: Tensor, ref_log_probs: Tensor) -> Tensor:
    """Return |log p/q|."""
    return (log_probs - ref_log_probs).abs()


def k2(log_probs: Tensor, ref_log_probs: Tensor) -> Tensor:
    """Return (log p/q)^2 / 2."""
    return 0.5 * (log_probs - ref_log_probs).square()


def k3(log_probs: Tensor, ref_log_probs: Tensor) -> Tensor:
    """Return q/p - 1 - log q/p, with the log-ratio clamped to +-20 and the result to +-10 (as in verl)."""
    log_ratio = (ref_log_probs - log_probs).clamp(-20, 20)
    return (log_ratio.expm1() - log_ratio).clamp(-10, 10)


Penalty = Callable[[Tensor, Tensor], Tensor]


def straight_through(penalty: Penalty) -> Penalty:
    """Return `penalty` with the gradient of k2, whose expectation is the gradient of the KL."""

    def estimate(log_probs: Tensor, ref_log_probs: Tensor) -> Tensor:
        through = k2(log_probs, ref_log_probs)
        return penalty(log_probs, ref_log_probs).detach() + (through - through.detach())

    return estimate


_ESTIMATORS = {"kl": k1, "k1": k1, "abs": absolute, "mse": k2, "k2": k2, "low_var_kl": k3, "k3": k3}

PENALTIES: dict[str, Penalty] = _ESTIMATORS | {f"{n}+": straight_through(f) for n, f in _ESTIMATORS.items()}
"""Penalties by their names in `algorithm.kl_penalty` and `kl_loss_type`. Names that end in `+` select the
straight-through gradient."""


@dataclass
class KlController:
    """Coefficient of the KL penalty, which is fixed or adapts to a target KL.

    The adaptive rule is from Ziegler et al. 2019 (arXiv:1909.08593, section 2.2).
    """

    coef: float
    target: float | None = None
    """Target for the mean KL per token, or None for a fixed coefficient."""
    horizon: int = 10000

    def update(self, kl: float, n_samples: int) -> None:
        """Adapt the coefficient after `n_samples` responses with a mean KL of `kl` per token."""
        if self.target is not None:
            error = min(max(kl / self.target - 1, -0.2), 0.2)
            self.coef *= 1 + error * n_samples / self.horizon

    def state_dict(self) -> dict[str, float]:
        """Return the state to store in a checkpoint."""
        return {"coef": self.coef}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Restore the coefficient from a checkpoint. The config determines the target and the horizon."""
        self.coef = state["coef"]
