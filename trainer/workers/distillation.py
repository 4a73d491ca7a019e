"""Distances between the policy's and a teacher's distributions, and the stored outputs of the teacher.

For top-k distances, the log-probabilities of the teacher's most likely tokens are stored. Log-probabilities
of the whole vocabulary would need too much memory. Instead, the last hidden states are stored, from which the
teacher's output layer computes the distributions of a few tokens at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.divergences import DIVERGENCES
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.config.root import DistillationLossConfig
from rewardkit.trainer.workers.forward import TokenFigures

Head = Callable[[Tensor], Tensor]
"""Output layer: a function from hidden states, (N, H), to logits, (N, V)."""

TOP_IDS = "teacher_top_ids"
TOP_LOG_PROBS = "teacher_top_log_probs"
STATES = "teacher_states"


def teacher_distance(given: DistillationLossConfig, log_ratio: Tensor) -> Tensor:
    """Return the policy's distance from the teacher for each token, given log p_policy - log p_teacher."""
    return clamped(given, PENALTIES[given.loss_mode](log_ratio, torch.zeros_like(log_ratio)))


def clamped(given: DistillationLossConfig, distance: Tensor) -> Tensor:
    """Return distances, clamped if `loss_max_clamp` is set."""
    limit = given.loss_max_clamp
    return distance if limit is None else distance.clamp(-limit, limit)


def compares_distributions(given: DistillationLossConfig) -> bool:
    """Return True if the distance is a divergence of distributions instead of an estimate at one token."""
    return given.loss_mode in DIVERGENCES


def compares_vocabulary(given: DistillationLossConfig) -> bool:
    """Return True if the distance is a divergence over the whole vocabulary."""
    return compares_distributions(given) and not DIVERGENCES[given.loss_mode].top


def stored_figures(given: DistillationLossConfig, vocabulary: int) -> TokenFigures:
    """Return the figures to compute from the teacher's logits.

    Args:
        vocabulary: Size of the policy's vocabulary. Both models may have more logits than tokens.
    """
    if compares_vocabulary(given):
        return TokenFigures(lambda states, logits, read: states)
    return TokenFigures(partial(_top, given.topk, vocabulary))


def _top(k: int, vocabulary: int, states: Tensor, logits: Tensor, read: Mapping[str, Tensor]) -> Tensor:
    """Return log-probabilities and ids of the top k tokens, (N, 2 k). Ids are exact in float32."""
    logits = logits[:, :vocabulary]
    top, ids = logits.topk(min(k, logits.shape[1]))
    return torch.cat([top - logits.logsumexp(-1, keepdim=True), ids.to(top.dtype)], dim=-1)


def stored_tensors(given: DistillationLossConfig, figures: Tensor) -> dict[str, Tensor]:
    """Return the tensors of the batch that contain the teacher's figures, by name."""
    if compares_vocabulary(given):
        return {STATES: figures}
    log_probs, ids = figures.chunk(2, dim=-1)
    return {TOP_LOG_PROBS: log_probs.contiguous(), TOP_IDS: ids.to(torch.int32)}


def distance_figures(given: DistillationLossConfig, head: Head | None, temperature: float) -> TokenFigures:
    """Return the figures of the policy's loss, (N, 3).

    The figures are the distance, and the probabilities of the compared tokens under policy and teacher.

    Args:
        head: Output layer of the teacher, if the whole vocabulary is compared.
    """
    if head is not None:
        return TokenFigures(partial(_over_vocabulary, given, head, temperature), (STATES,))
    return TokenFigures(partial(_over_top, given), (TOP_IDS, TOP_LOG_PROBS))


def _over_vocabulary(
    given: DistillationLossConfig,
    head: Head,
    temperature: float,
    states: Tensor,
    logits: Tensor,
    read: Mapping[str, Tensor],
) -> Tensor:
    with torch.no_grad():
        theirs = head(read[STATES]).float() / temperature
        size = min(logits.shape[1], theirs.shape[1])
        log_q = theirs[:, :size].log_softmax(-1)
    log_p = logits[:, :size].log_softmax(-1)
    distance = DIVERGENCES[given.loss_mode].compute(log_p, log_q, given.jsd_beta)
    ones = torch.ones_like(distance)
    return torch.stack([clamped(given, distance), ones, ones], dim=-1)


def _over_top(
    given: DistillationLossConfig, states: Tensor, logits: Tensor, read: Mapping[str, Tensor]
) -> Tensor:
    log_p = logits.gather(-1, read[TOP_IDS].long()) - logits.logsumexp(-1, keepdim=True)
    log_q = read[TOP_LOG_PROBS]
    masses = [t.detach().exp().sum(-1) for t in (log_p, log_q)]
    if (least := given.log_prob_min_clamp) is not None:
        log_p, log_q = log_p.clamp(min=least), log_q.clamp(min=least)
    distance = DIVERGENCES[given.loss_mode].compute(log_p, log_q, given.jsd_beta)
    return torch.stack([clamped(given, distance), *masses], dim=-1)
