"""Computes log-probabilities of given tokens, and entropies, from logits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

Entropy = Literal["no", "value", "value and squares", "loss"]
"""Use of entropies, which are not computed, returned as values (with or without sums of squared
probabilities), or part of a loss."""

RULED_OUT = torch.finfo(torch.float32).min
"""Value that replaces log p = -inf for excluded tokens, so that p log p is 0 instead of NaN."""


class _ChosenLogProbs(torch.autograd.Function):
    """Autograd function for log_softmax at one index in each row, and for values per row without a gradient.

    Tensors as large as the logits take much memory, and their allocation costs more than the arithmetic. This
    function allocates two tensors of this size in the forward pass and none in the backward pass. Without it,
    autograd would allocate six and three.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tokens: Tensor, asked: Entropy) -> tuple[Tensor, Tensor]:
        log_p = logits.log_softmax(-1)
        chosen = log_p.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        wanted = asked.startswith("value")
        p = log_p.exp() if wanted else log_p.exp_() if ctx.needs_input_grad[0] else log_p
        figures = _figures(p, log_p, asked) if wanted else torch.empty(0)
        ctx.save_for_backward(p, tokens)
        ctx.mark_non_differentiable(figures)
        return chosen, figures

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        p, tokens = ctx.saved_tensors
        grad = grads[0].unsqueeze(-1)
        return p.mul_(-grad).scatter_add_(-1, tokens.unsqueeze(-1), grad), None, None


def _figures(p: Tensor, log_p: Tensor, asked: Entropy) -> Tensor:
    """Return entropies, (...), or entropies and sums of squared probabilities, (..., 2).

    The function changes `log_p` in place.
    """
    entropy = -torch.einsum("...v,...v->...", p, log_p.clamp_(min=RULED_OUT))
    if asked == "value":
        return entropy
    return torch.stack([entropy, torch.linalg.vector_norm(p, dim=-1).square()], dim=-1)


def token_log_probs(logits: Tensor, tokens: Tensor, entropy: Entropy) -> tuple[Tensor, Tensor | None]:
    """Return log p(token) and, if requested, the entropy of each next-token distribution in nats.

    Args:
        logits: Logits for the next token, (..., V).
        tokens: Tokens to score, (...).

    Returns:
        Two float32 tensors, each (...). With `value and squares`, the second tensor is (..., 2) and contains
        entropies and sums of squared probabilities.
    """
    logits = logits.float()
    log_probs, figures = _ChosenLogProbs.apply(logits, tokens, entropy)  # type: ignore[no-untyped-call]
    if entropy == "no":
        return log_probs, None
    return log_probs, _entropy(logits) if entropy == "loss" else figures


def log_probs_at(
    logits: Tensor, tokens: Tensor, temperature: float, entropy: Entropy
) -> tuple[Tensor, Tensor | None]:
    """Return `token_log_probs` for the distribution at `temperature`."""
    logits = logits.float() if temperature == 1.0 else logits.float() / temperature
    return token_log_probs(logits, tokens, entropy)


def _fusible(
    logits: Tensor, tokens: Tensor, temperature: float, entropy: Entropy
) -> tuple[Tensor, Tensor | None]:
    """Compute `log_probs_at` with plain torch operations, which a compiler can fuse into a few kernels."""
    log_p = (logits.float() / temperature).log_softmax(-1)
    chosen = log_p.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    if entropy == "no":
        return chosen, None
    log_p = log_p if entropy == "loss" else log_p.detach()
    p = log_p.exp()
    figures = -(p * log_p.clamp(min=RULED_OUT)).sum(-1)
    if entropy == "value and squares":
        return chosen, torch.stack([figures, p.square().sum(-1)], dim=-1)
    return chosen, figures


@cache
def compiled_log_probs() -> Callable[..., tuple[Tensor, Tensor | None]]:
    """Return a compiled `log_probs_at` for any number of tokens, whose first call takes seconds."""
    compiled: Callable[..., tuple[Tensor, Tensor | None]] = torch.compile(_fusible, dynamic=True)
    return compiled


def _entropy(logits: Tensor) -> Tensor:
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p.clamp(min=RULED_OUT)).sum(-1)
