"""Adds branches of episodes, which are histories that a program has rewritten, as rows to a batch.

An episode's advantage is computed once, from its score within its group, regardless of the number of
branches. The tokens that the policy generated in each branch get this advantage. A branch is added to the
mini-batch of its episode, so that the number of optimizer steps does not change. Rows without a gradient are
added to make mini-batches equally large in all processes.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from rewardkit.trainer.agents import why_last_alone
from rewardkit.trainer.batch import Batch, join
from rewardkit.trainer.config.root import Config, corrects_rollouts
from rewardkit.trainer.rollout.base import row_seed
from rewardkit.trainer.steps.advantages import choose_tokens
from rewardkit.trainer.steps.correction import correct_rollout, leave_out_rejected
from rewardkit.trainer.steps.episodes import histories_as_batch
from rewardkit.trainer.training_run import TrainingRun


def with_branches(run: TrainingRun, batch: Batch) -> Batch:
    """Return a step's batch, which must contain advantages, with an additional row for each branch.

    The result contains `is_branch`, (B,) bool, which is False only for the episodes' own rows. If no process
    has branches, the batch is returned unchanged. All processes must call this function.
    """
    if run.agents is None or why_last_alone(run.config) is not None:
        return batch
    owners = [i for i, row in enumerate(batch.rows) for _ in row.branches]
    if not any(run.world.gather(len(owners))):
        return batch
    minis = _mini_batches(run.config)
    size = len(batch) // minis
    most = max(run.world.gather(max(sum(i // size == k for i in owners) for k in range(minis))))
    places = [[n for n, i in enumerate(owners) if i // size == k] for k in range(minis)]
    filled = [n for of_mini in places for n in [*of_mini, *[-1] * (most - len(of_mini))]]
    whole = join([_shared(batch, further := _further(run, batch, owners, filled)), _shared(further, batch)])
    whole["is_branch"] = torch.arange(len(whole), device=run.world.device) >= len(batch)
    choose_tokens(run, whole)
    starts = torch.arange(minis).unsqueeze(1)
    own = starts * size + torch.arange(size)
    added = len(batch) + starts * most + torch.arange(most)
    return whole.select(torch.cat([own, added], dim=1).flatten().to(run.world.device))


def _mini_batches(config: Config) -> int:
    return max(config.data.train_batch_size // config.actor_rollout_ref.actor.ppo_mini_batch_size, 1)


def _shared(batch: Batch, other: Batch) -> Batch:
    """Return `batch` with only the tensors that both batches contain."""
    return Batch({name: batch[name] for name in batch.tensors if name in other.tensors}, batch.rows)


def _further(run: TrainingRun, batch: Batch, owners: list[int], filled: list[int]) -> Batch:
    """Return rows for the branches, with all tensors that the update needs.

    Args:
        owners: Index of the row in `batch` that contains each branch's episode.
        filled: Index of the branch in each row, or -1 for a copy of an episode that is not trained on.
    """
    histories = [history for row in batch.rows for history in row.branches]
    rows = [
        replace(batch.rows[i], token_ids=one.prompt_ids) for i, one in zip(owners, histories, strict=True)
    ]
    rollout, pad_id = run.config.actor_rollout_ref.rollout, run.tokenizer.pad_token_id
    made = histories_as_batch(rows, histories, rollout.prompt_length, rollout.response_length, pad_id)
    made = made.to(run.world.device)
    owner = torch.tensor(owners, dtype=torch.int64, device=run.world.device)
    for name in ("groups", "scored"):
        made[name] = batch[name][owner]
    seeds = [row_seed(int(batch["seeds"][i]), n) for n, i in enumerate(owners)]
    made["seeds"] = torch.tensor(seeds, dtype=torch.int64, device=run.world.device)
    made["response_mask"] = made["response_mask"] * _kept(run, batch)[owner].unsqueeze(1)
    advantages = _of_episodes(batch["advantages"])[owner].unsqueeze(1)
    empty = _shared(batch.select(slice(0, 1)), made)
    empty["response_mask"] = torch.zeros_like(empty["response_mask"])
    padded = join([_shared(made, empty), empty])
    chosen = padded.select(torch.tensor(filled, device=run.world.device) % len(padded))
    _evaluate(run, chosen)
    if corrects_rollouts(run.config):
        correct_rollout(run, chosen)
    whole = torch.cat([advantages, advantages.new_zeros((1, 1))])
    of_row = whole[torch.tensor(filled, device=run.world.device) % len(padded)]
    chosen["advantages"] = of_row * chosen["response_mask"]
    chosen["returns"] = chosen["advantages"]
    if run.config.algorithm.rollout_correction.rollout_rs:
        leave_out_rejected(chosen)
    return chosen


def _evaluate(run: TrainingRun, batch: Batch) -> None:
    """Compute log-probabilities under the policy, reference and teacher, as the training loop does."""
    if run.needs_old_log_probs:
        batch["old_log_probs"], batch["entropys"] = run.actor.log_probs_and_entropies(batch)
    if run.reference is not None:
        batch["ref_log_prob"] = run.reference.log_probs(batch)
    if run.teacher is not None:
        run.teacher.evaluate(batch)


def _kept(run: TrainingRun, batch: Batch) -> Tensor:
    """Return a mask of the episodes that are trained on, (B,)."""
    kept = batch["scored"].bool()
    if run.config.algorithm.mask_truncated_completions:
        kept = kept & ~batch["truncated"]
    return kept


def _of_episodes(advantages: Tensor) -> Tensor:
    """Return the advantage that all of an episode's tokens from the policy share, (B, T) -> (B,)."""
    return advantages.gather(1, advantages.abs().argmax(dim=1, keepdim=True)).squeeze(1)
