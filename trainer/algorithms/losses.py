"""Log-probabilities and entropy from logits, and the critic's loss. The actor's are in `policy_losses.py`.

Every loss and statistic is this piece's share of the whole mini-batch's (all micro-batches, all processes):
add the pieces up, and you have the whole. No split of the work can change it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import Totals, aggregate, masked_sum

Stats = dict[str, Tensor]


class _ChosenLogProbs(torch.autograd.Function):
    """log_softmax at one place of each row, whose backward makes the gradient in one tensor.

    Autograd's own makes three of that size on the way, and a vocabulary makes each of them large.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tokens: Tensor) -> Tensor:
        total = logits.logsumexp(-1, keepdim=True)
        ctx.save_for_backward(logits, tokens, total)
        return (logits.gather(-1, tokens.unsqueeze(-1)) - total).squeeze(-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        logits, tokens, total = ctx.saved_tensors
        grad = grads[0].unsqueeze(-1)
        minus_softmax = (logits - total).exp_().mul_(-grad)
        return minus_softmax.scatter_add_(-1, tokens.unsqueeze(-1), grad), None


def token_log_probs(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return log p(token) in float32, (B, T, V) and (B, T) -> (B, T)."""
    log_probs: Tensor = _ChosenLogProbs.apply(logits.float(), tokens)  # type: ignore[no-untyped-call]
    return log_probs


def token_entropy(logits: Tensor) -> Tensor:
    """Return the entropy of each next-token distribution in nats, (B, T, V) -> (B, T)."""
    log_p = logits.float().log_softmax(-1)
    # A token that is ruled out has p log p = 0 and a logit of -inf.
    return -(log_p.exp() * log_p.clamp(min=torch.finfo(log_p.dtype).min)).sum(-1)


def value_loss(
    values: Tensor,
    old_values: Tensor,
    returns: Tensor,
    mask: Tensor,
    totals: Totals,
    *,
    clip_range: float,
    aggregation: str = "token-mean",
    horizon: int = 1,
) -> tuple[Tensor, Stats]:
    """Half the squared error, with the value kept within `clip_range` of the old one (PPO2, as in verl).

    Args:
        values, old_values, returns, mask: (B, T).
        totals: the denominators of the whole mini-batch.
        aggregation, horizon: see `reductions.aggregate`.

    Returns:
        the loss and `vf_loss`, `vf_clipfrac`, `vpred_mean`.
    """
    kept, zero = mask.bool(), torch.zeros_like(values)
    values, old_values, returns = (torch.where(kept, v, zero) for v in (values, old_values, returns))
    clipped = torch.clamp(values, old_values - clip_range, old_values + clip_range)
    error, clipped_error = (values - returns).square(), (clipped - returns).square()
    loss = 0.5 * aggregate(torch.maximum(error, clipped_error), mask, totals, aggregation, horizon)
    with torch.no_grad():
        stats = {
            "vf_loss": loss.detach(),
            "vf_clipfrac": masked_sum((clipped_error > error).to(values.dtype), mask) / totals.tokens,
            "vpred_mean": masked_sum(values, mask) / totals.tokens,
        }
    return loss, stats
