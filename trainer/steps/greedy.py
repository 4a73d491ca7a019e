"""ReMax's baseline: the score of the greedy response to each prompt (Li et al. 2024, arXiv:2310.10505)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.steps.generation import play
from rewardkit.trainer.steps.scoring import PendingScores, collect_scores, start_scoring
from rewardkit.trainer.training_run import TrainingRun


@dataclass(frozen=True)
class GreedyResponses:
    """One greedy response to each prompt of a batch, and its scores while they are being computed."""

    batch: Batch
    pending: PendingScores


def start_greedy(run: TrainingRun, batch: Batch) -> GreedyResponses:
    """Draw the greedy response to each prompt and start scoring it."""
    n = run.config.actor_rollout_ref.rollout.n
    ids, mask = (batch[name][::n, : batch.prompt_width] for name in ("input_ids", "attention_mask"))
    rows = batch.rows[::n]
    sampling = Sampling(do_sample=False, log_probs=False)
    pending = start_scoring(run, rows)
    if run.agents is not None:
        return GreedyResponses(play(run, rows, sampling, [0] * len(rows), pending), pending)
    drawn = run.rollout.generate(ids, mask, sampling, [0] * len(ids), pending.take)
    responses = {"responses": drawn.responses, "response_mask": drawn.response_mask.float()}
    return GreedyResponses(Batch(responses, rows), pending)


def place_baselines(run: TrainingRun, batch: Batch, greedy: GreedyResponses) -> dict[str, float]:
    """Set `reward_baselines`, (B,): the score of the greedy response to each row's prompt.

    A prompt whose greedy response could not be scored has no baseline: its responses are left out.

    Returns:
        `reward_baseline/mean` and, as for the responses themselves, `reward_baseline/failed/<status>`.
    """
    n = run.config.actor_rollout_ref.rollout.n
    _, found = collect_scores(run, greedy.batch, greedy.pending)
    scored = greedy.batch["scored"].repeat_interleave(n)
    baselines = greedy.batch["token_level_scores"].sum(dim=1)
    batch["reward_baselines"] = baselines.repeat_interleave(n)
    batch["scored"] = batch["scored"] & scored
    batch["response_mask"] = batch["response_mask"] * scored.unsqueeze(1)
    sums = torch.stack([baselines.sum(), greedy.batch["scored"].sum()])
    total, number = run.world.sum(sums).tolist()
    renamed = {k.replace("reward/", "reward_baseline/"): v for k, v in found.items()}
    return {"reward_baseline/mean": total / number, **renamed}
