"""From prompts to a batch of responses, and from the actor's weights to the engine that draws them."""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.trainer.batch import Batch, Row, make_batch, pad_prompts
from rewardkit.trainer.models import DTYPES, full_tensors
from rewardkit.trainer.rollout.base import Sampling, row_seed
from rewardkit.trainer.setup import Parts

TRAINING = 0
"""First part of the key of a training response's seed; validation's is 1."""


def generate(parts: Parts, prompts: Sequence[Row], step: int) -> Batch:
    """Return the batch of this process: `rollout.n` responses to each prompt of its share."""
    rollout, world = parts.config.actor_rollout_ref.rollout, parts.world
    sampling = Sampling(
        rollout.n,
        rollout.do_sample,
        rollout.temperature,
        rollout.top_k,
        rollout.top_p,
        rollout.calculate_log_probs,
    )
    numbered = world.shard(list(enumerate(prompts)))
    ids, mask = pad_prompts([row for _, row in numbered], rollout.prompt_length, parts.tokenizer.pad_token_id)
    ids, mask = ids.to(world.device), mask.to(world.device)
    seeds = [row_seed(TRAINING, rollout.seed, step, i, j) for i, _ in numbered for j in range(rollout.n)]
    drawn = parts.rollout.generate(ids, mask, sampling, seeds)
    batch = make_batch(
        [row for _, row in numbered for _ in range(rollout.n)],
        ids.repeat_interleave(rollout.n, dim=0),
        mask.repeat_interleave(rollout.n, dim=0),
        drawn.responses,
        drawn.response_mask,
    )
    if drawn.rollout_log_probs is not None:
        batch["rollout_log_probs"] = drawn.rollout_log_probs
    return batch


def sync_weights(parts: Parts) -> None:
    """Give the rollout engine the actor's weights, tensor by tensor, in the engine's type."""
    dtype = DTYPES[parts.config.actor_rollout_ref.rollout.dtype]
    parts.rollout.sync_weights(full_tensors(parts.actor.model, dtype))
