"""Defines an advantage estimator, and how one that compares responses gets those of other processes.

The estimators themselves are in `advantages.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import Reduce

GroupEstimator = Callable[[Tensor, Tensor, Tensor, bool], Tensor]
"""(scores (N,), groups (N,) int64, lengths (N,), normalise by the group's std) -> advantages (N,)."""


@dataclass(frozen=True, slots=True)
class Experience:
    """One process's share of a step, as an estimator sees it: B responses of up to T tokens."""

    rewards: Tensor
    """(B, T)."""
    mask: Tensor
    """(B, T), 1 where the token is the policy's own; 0 for all of a response that was not scored."""
    scored: Tensor
    """(B,) bool: the reward's status was `ok`. The others are in no statistic."""
    groups: Tensor
    """(B,) int64: responses to the same prompt have the same number, in all processes."""
    values: Tensor | None
    """(B, T), where there is a critic."""
    baselines: Tensor | None
    """(B,), ReMax: the score of the greedy response to the same prompt."""
    gamma: float
    lam: float
    norm_by_std: bool
    """GRPO divides by the group's standard deviation; Dr.GRPO does not."""
    reduce: Reduce
    gather: Callable[[Any], list[Any]]
    """Returns every process's item, in the same order everywhere."""
    rank: int
    log_probs: Tensor | None = None
    """(B, T), of the policy that acted, where they are known."""
    squares: Tensor | None = None
    """(B, T), the sum of the squared probabilities of all tokens that could have been chosen."""
    weights: Tensor | None = None
    """(B, T), importance weights against the rollout engine, where there are some."""
    parts: Tensor | None = None
    """(B, K), GDPO: the parts of the scores that are compared apart."""
    part_weights: tuple[float, ...] = ()
    """Their K weights."""
    turns: Tensor | None = None
    """(B, T) int64: which turn a token belongs to, from 1; 0 where it is none of the policy's. Given where
    responses are compared turn by turn; None: as wholes."""
    of_trajectory: Tensor | None = None
    """(B, T), with `turns`: what of `rewards` is for the response as a whole, and for no turn."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """An advantage estimator, and what it needs."""

    estimate: Callable[[Experience], tuple[Tensor, Tensor]]
    """Returns advantages and returns, (B, T), 0 where masked."""
    critic: bool = False
    """It reads `Experience.values`: a critic is trained beside the policy."""
    groups: bool = False
    """It compares the responses to one prompt: there must be two or more."""
    squares: bool = False
    """It reads `Experience.log_probs` and `Experience.squares`."""
    parts: bool = False
    """It reads `Experience.parts`, and not `Experience.rewards`."""
    greedy: bool = False
    """It reads `Experience.baselines`: the greedy response to each prompt is drawn and scored too."""
    by_turns: bool = False
    """It can compare the turns of responses one by one."""


def in_groups(estimator: GroupEstimator, *, by_turns: bool = False) -> Estimator:
    """Return the estimator of a process's share that puts `estimator` to the responses of all.

    Scores are the sums of a response's rewards; see `_of_turns` for those of turns.
    """

    def estimate(given: Experience) -> tuple[Tensor, Tensor]:
        # Sums of float32 in float64 are exact: equal scores have advantages of exactly 0, not of rounding,
        # and rows without a gradient are known by that (`PolicyLoss.live`).
        rewards = where_kept(given.mask, given.rewards).double()
        if given.turns is None:
            advantages = compared(estimator, given, rewards.sum(dim=1, keepdim=True)).expand_as(given.rewards)
        else:
            advantages = _of_turns(estimator, given, rewards, given.turns)
        per_token = where_kept(given.mask, advantages)
        return per_token, per_token

    return Estimator(estimate, groups=True, by_turns=by_turns)


def compared(estimator: GroupEstimator, given: Experience, scores: Tensor) -> Tensor:
    """Put `estimator` to each column of scores, (B, K), of all processes; return this one's advantages."""
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
    """Return per token, (B, T), the sum of the advantages of its turn and of all that came after it.

    The k-th turns of a group are compared with each other, and what is for whole trajectories with its like.
    A response that has no k-th turn counts there with 0, and gets its advantage: left out, the number of
    terms would depend on the response's own stopping, and the gradient would be biased (docs/algorithms.md).
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
    """Return `values` where `mask` is not 0, and 0 elsewhere; (B, T)."""
    return torch.where(mask.bool(), values, torch.zeros_like(values))
