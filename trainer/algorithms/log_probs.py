"""Log-probabilities of chosen tokens and entropies, from logits. The losses are in `losses.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

Entropy = Literal["no", "value", "value and squares", "loss"]
"""Use of entropies: not computed, as figures only (also with sums of squared probabilities beside them), or
as part of a loss."""

RULED_OUT = torch.finfo(torch.float32).min
"""Value in place of the log p of -inf of a token that is ruled out: its p log p is 0 then, and not NaN."""


class _ChosenLogProbs(torch.autograd.Function):
    """log_softmax at one place of each row and, without a gradient, figures of each row.

    A vocabulary makes each tensor of the logits' size large, and memory that is new to the process costs more
    than the arithmetic: this makes two such tensors on the way and none in backward; autograd's own way makes
    six and three.
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
    """Return entropies, (...), or entropies and sums of squared probabilities, (..., 2); changes `log_p`."""
    entropy = -torch.einsum("...v,...v->...", p, log_p.clamp_(min=RULED_OUT))
    if asked == "value":
        return entropy
    return torch.stack([entropy, torch.linalg.vector_norm(p, dim=-1).square()], dim=-1)


def token_log_probs(logits: Tensor, tokens: Tensor, entropy: Entropy) -> tuple[Tensor, Tensor | None]:
    """Return log p(token) and, if asked for, the entropy of each next-token distribution in nats.

    Args:
        logits: (..., V).
        tokens: (...).

    Returns:
        both (...), float32; with `value and squares` the second (..., 2): entropies, sums of squared
        probabilities.
    """
    logits = logits.float()
    log_probs, figures = _ChosenLogProbs.apply(logits, tokens, entropy)  # type: ignore[no-untyped-call]
    if entropy == "no":
        return log_probs, None
    return log_probs, _entropy(logits) if entropy == "loss" else figures


def log_probs_at(
    logits: Tensor, tokens: Tensor, temperature: float, entropy: Entropy
) -> tuple[Tensor, Tensor | None]:
    """Return `token_log_probs` of the distribution at `temperature`."""
    logits = logits.float() if temperature == 1.0 else logits.float() / temperature
    return token_log_probs(logits, tokens, entropy)


def _fusible(
    logits: Tensor, tokens: Tensor, temperature: float, entropy: Entropy
) -> tuple[Tensor, Tensor | None]:
    """Do what `log_probs_at` does, in operations of torch's alone, for a compiler to make few kernels of."""
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
    """Return `log_probs_at` compiled, for any number of tokens. It takes seconds when it is first called."""
    compiled: Callable[..., tuple[Tensor, Tensor | None]] = torch.compile(_fusible, dynamic=True)
    return compiled


def _entropy(logits: Tensor) -> Tensor:
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p.clamp(min=RULED_OUT)).sum(-1)
