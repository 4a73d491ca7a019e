"""Types for advantage estimators, and the comparison of responses across processes.

The estimators are in `advantages.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import Reduce

GroupEstimator = Callable[[Tensor, Tensor, Tensor, bool], Tensor]
"""Function that takes scores, (N,), groups, (N,) int64, lengths, (N,), and True to divide by the group's
standard deviation. Returns advantages, (N,)."""


@dataclass(frozen=True, slots=True)
class Experience:
    """One process's share of a step, with B responses of up to T tokens."""

    rewards: Tensor
    """(B, T): reward for each token."""
    mask: Tensor
    """(B, T): 1 on tokens from the policy, except in responses that were not scored, and 0 elsewhere."""
    scored: Tensor
    """(B,) bool: True if the reward's status is `ok`. Statistics exclude all other responses."""
    groups: Tensor
    """(B,) int64: number of the response's prompt. All processes use the same numbers."""
    values: Tensor | None
    """(B, T): values from the critic, or None without a critic."""
    baselines: Tensor | None
    """(B,): score of the greedy response to the same prompt for ReMax, or None for other estimators."""
    gamma: float
    lam: float
    norm_by_std: bool
    """True for GRPO, which divides by the group's standard deviation, and False for Dr.GRPO."""
    reduce: Reduce
    gather: Callable[[Any], list[Any]]
    """Function that returns the items from all processes, in the same order in every process."""
    rank: int
    log_probs: Tensor | None = None
    """(B, T): log-probabilities under the policy that generated the responses, if computed."""
    squares: Tensor | None = None
    """(B, T): sum of the squared probabilities of all tokens in the vocabulary, if computed."""
    weights: Tensor | None = None
    """(B, T): importance weights relative to the rollout engine, if used."""
    parts: Tensor | None = None
    """(B, K): parts of the scores, which GDPO compares separately."""
    part_weights: tuple[float, ...] = ()
    """Weights of the K parts."""
    turns: Tensor | None = None
    """(B, T) int64: number of each token's turn, from 1, or 0 on tokens that are not from the policy. None if
    responses are compared as a whole instead of turn by turn."""
    of_trajectory: Tensor | None = None
    """(B, T): part of `rewards` that is for the whole response instead of a turn. Set if `turns` is set."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """Advantage estimator and its requirements."""

    estimate: Callable[[Experience], tuple[Tensor, Tensor]]
    """Function that returns advantages and returns, (B, T), 0 where masked."""
    critic: bool = False
    """True if the estimator reads `Experience.values`, so that a critic is trained with the policy."""
    groups: bool = False
    """True if the estimator compares responses to the same prompt, so that each prompt needs at least two."""
    squares: bool = False
    """True if the estimator reads `Experience.log_probs` and `Experience.squares`."""
    parts: bool = False
    """True if the estimator reads `Experience.parts` instead of `Experience.rewards`."""
    greedy: bool = False
    """True if the estimator reads `Experience.baselines`, the scores of greedy responses."""
    by_turns: bool = False
    """True if the estimator can compare responses turn by turn."""


def in_groups(estimator: GroupEstimator, *, by_turns: bool = False) -> Estimator:
    """Return an estimator that applies `estimator` to the responses from all processes.

    A response's score is the sum of its rewards. `_of_turns` describes the scores of turns.
    """

    def estimate(given: Experience) -> tuple[Tensor, Tensor]:
        # float64 sums of float32 rewards are exact, so equal scores have advantages of exactly 0.
        # `PolicyLoss.live` recognises rows without a gradient by these zeros.
        rewards = where_kept(given.mask, given.rewards).double()
        if given.turns is None:
            advantages = compared(estimator, given, rewards.sum(dim=1, keepdim=True)).expand_as(given.rewards)
        else:
            advantages = _of_turns(estimator, given, rewards, given.turns)
        per_token = where_kept(given.mask, advantages)
        return per_token, per_token

    return Estimator(estimate, groups=True, by_turns=by_turns)


def compared(estimator: GroupEstimator, given: Experience, scores: Tensor) -> Tensor:
    """Apply `estimator` to each column of scores, (B, K), from all processes. Return advantages, (B, K)."""
    scored = given.scored.bool()
    number = given.mask.bool().sum(dim=1, keepdim=True)
    mine = torch.cat([given.groups.unsqueeze(1).double(), number.double(), scores], dim=1)[scored].cpu()
    shares = given.gather(mine)
    start = sum(len(share) for share in shares[: given.rank])
    groups, lengths, *columns = torch.cat(shares).unbind(dim=1)
    advantages = given.rewards.new_zeros(scores.shape)
    for k, column in enumerate(columns):
        of_all = estimator(column, groups.long(), lengths, given.norm_by_std)
        advantages[scored, k] = of_all[start : start + len(mine)].to(advantages)
    return advantages


def _of_turns(estimator: GroupEstimator, given: Experience, rewards: Tensor, turns: Tensor) -> Tensor:
    """Return for each token, (B, T), the sum of the advantages of its turn and all later turns.

    The k-th turns in a group are compared with each other, and so are the scores of whole trajectories. A
    response without a k-th turn is included with a score of 0 and gets the resulting advantage. If the
    response were omitted, the number of terms would depend on when the response stops, and the gradient would
    be biased (docs/algorithms.md).
    """
    assert given.of_trajectory is not None
    whole = where_kept(given.mask, given.of_trajectory).double()
    most = max(given.gather(int(turns.max()) if turns.numel() else 0))
    by_turn = rewards.new_zeros((len(rewards), most + 1)).scatter_add(1, turns, rewards - whole)[:, 1:]
    columns = torch.cat([by_turn, whole.sum(dim=1, keepdim=True)], dim=1)
    advantages = compared(estimator, given, columns)
    from_here_on = advantages.flip(1).cumsum(dim=1).flip(1)
    return from_here_on.gather(1, (turns - 1).clamp(min=0))


def where_kept(mask: Tensor, values: Tensor) -> Tensor:
    """Return `values` where `mask` is not 0, and 0 elsewhere, (B, T)."""
    return torch.where(mask.bool(), values, torch.zeros_like(values))
