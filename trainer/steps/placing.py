"""How scores and rewards of turns get into a batch: on the last token of what each is for, failures masked.

The scores come from `rewards.py`; advantages are made of them in `advantages.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from rewardkit.errors import ScoringError
from rewardkit.trainer.batch import Batch, last_tokens
from rewardkit.trainer.config.root import RewardConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import summarize
from rewardkit.types import STATUSES, Score


def place_scores(
    batch: Batch, scores: Sequence[Score], world: World, config: RewardConfig
) -> dict[str, float]:
    """Put each score on the last token of the policy's in its response; mask what could not be scored.

    Sets `token_level_scores` and `scored`. A response with a status other than `ok` gets
    `reward.error_value` where `reward.on_error` is `value`, and else has its `response_mask` cleared; so has
    an episode in which the policy has no token. Rewards of turns: see `place_turn_rewards`.

    Returns:
        over all processes, `reward/failed/<status>` for the statuses that occurred, and the time that the
        rewards took: `timing_s/reward_scoring` for all responses together, `timing_s/reward_slowest` for one.

    Raises:
        ScoringError: a sample failed and `on_error` is `raise`, or all of them failed.
    """
    _refuse_failures(scores, world, config.on_error)
    turns, metrics = place_turn_rewards(batch, world, config)
    mask = batch["response_mask"]
    values = [float(s.score) if s.ok else config.error_value for s in scores]
    placed = torch.zeros_like(mask)
    weight = {"trajectory": 1.0, "turn": 0.0, "mixed": config.trajectory_weight}[config.mode]
    placed[torch.arange(len(batch), device=mask.device), last_tokens(mask)] = weight * torch.tensor(
        values, device=mask.device
    )
    kept = torch.tensor([s.ok or config.on_error == "value" for s in scores], device=mask.device)
    kept = kept & mask.bool().any(dim=1)
    batch["token_level_scores"] = placed * kept.unsqueeze(1)
    batch["response_mask"] = mask * kept.unsqueeze(1)
    batch["scored"] = kept
    if turns is not None:
        batch["trajectory_scores"] = batch["token_level_scores"]
        batch["token_level_scores"] = batch["token_level_scores"] + turns * kept.unsqueeze(1)
    return metrics | _scoring_metrics(scores, world)


def place_turn_rewards(
    batch: Batch, world: World, config: RewardConfig
) -> tuple[Tensor | None, dict[str, float]]:
    """Return the weighed rewards of turns, (B, T), each on the last token of its turn; None without turns.

    A turn whose reward could not be had gets `reward.error_value` where `reward.on_error` is `value`; else
    its tokens leave the loss (`response_mask` is cleared there), and the rest of the episode stays.

    Returns also:
        `reward/turns/mean`, `max` and `min` of the rewards, and `reward/turns_failed`, if any.

    Raises:
        ScoringError: a turn failed and `on_error` is `raise`.
    """
    if "turns" not in batch.tensors:
        return None, {}
    if config.mode == "trajectory":
        return torch.zeros_like(batch["response_mask"]), {}
    given = batch["turn_rewards"]
    failed = given.isnan()
    number = int(world.sum(failed.sum()))
    if number and config.on_error == "raise":
        raise ScoringError(
            f"the rewards of {number} turns could not be had; reward.on_error=mask leaves them out"
        )
    if config.on_error == "mask":
        turns = batch["turns"]
        width = int(turns.max()) + 1 if turns.numel() else 1
        of_turn = given.new_zeros((len(given), width)).scatter_add(1, turns, failed.to(given.dtype))
        batch["response_mask"] = batch["response_mask"] * (of_turn.gather(1, turns) == 0)
    values = given.nan_to_num(nan=config.error_value if config.on_error == "value" else 0.0)
    ends = _turn_ends(batch["turns"]) & ~failed
    metrics = summarize({"reward/turns": values[ends]}, world)
    weight = config.turn_weight if config.mode == "mixed" else 1.0
    return weight * values, metrics | ({"reward/turns_failed": float(number)} if number else {})


def _turn_ends(turns: Tensor) -> Tensor:
    """Return where turns end, (B, T) bool; there is an observation between one turn and the next."""
    after = torch.cat([turns[:, 1:], torch.zeros_like(turns[:, :1])], dim=1)
    return (turns > 0) & (after != turns)


def _scoring_metrics(scores: Sequence[Score], world: World) -> dict[str, float]:
    counts = Counter(s.status for s in scores)
    seconds = [s.seconds for s in scores]
    sums = torch.tensor([*(float(counts[s]) for s in STATUSES), sum(seconds)], dtype=torch.float64)
    *totals, scoring_s = world.sum(sums).tolist()
    slowest = world.max(torch.tensor(max(seconds, default=0.0), dtype=torch.float64)).item()
    failed = {f"reward/failed/{s}": n for s, n in zip(STATUSES, totals, strict=True) if n and s != "ok"}
    return failed | {"timing_s/reward_scoring": scoring_s, "timing_s/reward_slowest": slowest}


def _refuse_failures(scores: Sequence[Score], world: World, on_error: str) -> None:
    failed = next((s for s in scores if not s.ok), None)
    summary = (sum(s.ok for s in scores), len(scores), failed)
    everywhere = world.gather(summary)
    first = next((f for _, _, f in everywhere if f is not None), None)
    n_ok, n = (sum(summary[i] for summary in everywhere) for i in (0, 1))
    if first is None or (on_error != "raise" and n_ok):
        return
    why = f"{first.scorer or 'the reward'} gave status '{first.status}': {first.detail}"
    if n_ok:
        raise ScoringError(
            f"{n - n_ok} of {n} responses could not be scored; {why}; reward.on_error=mask leaves them out"
        )
    raise ScoringError(f"none of the {n} responses could be scored; {why}")
