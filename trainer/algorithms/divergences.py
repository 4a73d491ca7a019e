"""Divergences between the next-token distributions of the policy p and a teacher q, for distillation.

`kl.py` contains the estimates that need only the sampled token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.log_probs import RULED_OUT

LEAST_REST = 1e-6
"""Lower bound for the probability of all tokens outside of the teacher's top k, so that its log is finite."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Divergence of the distributions at a token."""

    compute: Callable[[Tensor, Tensor, float], Tensor]
    """Function that takes log p and log q, both (N, V) or (N, k), and `jsd_beta`. It returns one value per
    token, (N,). The gradient passes through log p."""
    top: bool = False
    """True if the function takes log p and log q of only the teacher's k most likely tokens."""


def kl(log_a: Tensor, log_b: Tensor) -> Tensor:
    """Return KL(a || b) over the last dimension, (N, V) -> (N,). Excluded tokens have log a = -inf."""
    return (log_a.exp() * (log_a.clamp(min=RULED_OUT) - log_b.clamp(min=RULED_OUT))).sum(-1)


def jensen_shannon(log_p: Tensor, log_q: Tensor, beta: float) -> Tensor:
    """Return beta KL(q || m) + (1 - beta) KL(p || m), where m = (1 - beta) p + beta q (arXiv:2306.13649)."""
    log_p, log_q = log_p.clamp(min=RULED_OUT), log_q.clamp(min=RULED_OUT)
    weights = log_p.new_tensor([1 - beta, beta]).log()
    mixture = torch.logaddexp(log_p + weights[0], log_q + weights[1])
    return beta * kl(log_q, mixture) + (1 - beta) * kl(log_p, mixture)


def top_kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return the terms of KL(q || p) of the teacher's top k, without negative sums (as in verl)."""
    return kl(log_q, log_p).clamp(min=0.0)


def top_kl_with_tail(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return KL(q || p) between the teacher's top k and a further element for all other tokens."""
    rest_p, rest_q = (torch.log((1 - x.exp().sum(-1)).clamp(min=LEAST_REST)) for x in (log_p, log_q))
    return kl(log_q, log_p) + rest_q.exp() * (rest_q - rest_p)


DIVERGENCES = {
    "forward_kl": Divergence(lambda log_p, log_q, _: kl(log_q, log_p)),
    "reverse_kl": Divergence(lambda log_p, log_q, _: kl(log_p, log_q)),
    "jsd": Divergence(jensen_shannon),
    "forward_kl_topk": Divergence(lambda log_p, log_q, _: top_kl(log_p, log_q), top=True),
    "forward_kl_topk_tail": Divergence(lambda log_p, log_q, _: top_kl_with_tail(log_p, log_q), top=True),
}
"""Divergences by their names in `distillation_loss.loss_mode`."""

DISTANCES = (*PENALTIES, *DIVERGENCES)
"""All values of `distillation_loss.loss_mode`."""
