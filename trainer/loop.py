"""PPO for language models: the algorithm, from prompts to updated weights.

Every process runs this same loop on its share of the prompts. What is built before it is in `setup.py`,
the mathematics in `algorithms/`, the models at work in `workers/`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rewardkit.trainer.algorithms.advantages import gae
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.reductions import masked_row_means, masked_whiten
from rewardkit.trainer.batch import Batch, Row, make_batch, pad_prompts
from rewardkit.trainer.checkpoint import save_actor
from rewardkit.trainer.metrics import Clock, batch_metrics, summarize
from rewardkit.trainer.models import full_tensors
from rewardkit.trainer.rewards import decode, judge, place_scores
from rewardkit.trainer.rollout.base import Sampling, row_seed
from rewardkit.trainer.setup import Parts
from rewardkit.trainer.validation import respond, validation_metrics

TRAINING = 0
"""First part of the key of a training response's seed; validation's is 1."""


def train(parts: Parts) -> None:
    """Run PPO to the end: `parts.total_steps` steps of rollout, rewards, advantages and updates."""
    config, world = parts.config, parts.world
    parts.rollout.sync_weights(full_tensors(parts.actor.model))
    if config.trainer.val_before_train:
        clock = Clock(world.device)
        parts.logger.log({"training/global_step": 0.0, **validate(parts, clock), **clock.metrics()}, 0)
    for step, prompts in enumerate(parts.loader.batches(parts.total_steps), start=1):
        clock, last = Clock(world.device), step == parts.total_steps
        metrics = {"training/global_step": float(step), "training/epoch": float(parts.loader.epoch_of(step))}
        with clock("step"):
            metrics |= ppo_step(parts, prompts, step, clock)
            if parts.val_rows and (last or _due(step, config.trainer.test_freq)):
                metrics |= validate(parts, clock)
        if last or _due(step, config.trainer.save_freq):
            with clock("save_checkpoint"):
                folder = parts.folder / f"global_step_{step}" / "actor"
                save_actor(parts.actor.model, parts.model_config, parts.tokenizer, folder, world)
        parts.logger.log(metrics | _performance(metrics, clock), step)


def ppo_step(parts: Parts, prompts: Sequence[Row], step: int, clock: Clock) -> dict[str, float]:
    """Take one step with these prompts (those of all processes) and return its metrics."""
    config, world, seed = parts.config, parts.world, parts.config.data.seed

    # 1. The policy acts, and its responses are judged.
    with clock("gen"):
        batch = generate(parts, prompts, step)
    with clock("reward"):
        texts = decode(parts.tokenizer, batch["responses"], batch["response_mask"])
        scores = judge(parts.rewards, batch.rows, texts, world)
        metrics = place_scores(batch, scores, world, config.reward.on_error)

    # 2. What the policy, the reference and the critic say to each token.
    with clock("old_log_prob"):
        batch["old_log_probs"], batch["entropys"] = parts.actor.log_probs(batch)
    if parts.reference is not None:
        with clock("ref"):
            batch["ref_log_prob"], _ = parts.reference.log_probs(batch)
    with clock("values"):
        batch["values"] = parts.critic.values(batch)

    # 3. Rewards with their KL penalty, advantages and returns.
    with clock("adv"):
        metrics |= penalize(parts, batch)
        advantages, batch["returns"] = gae(
            batch["token_level_rewards"],
            batch["values"],
            batch["response_mask"],
            gamma=config.algorithm.gamma,
            lam=config.algorithm.lam,
        )
        batch["advantages"] = masked_whiten(advantages, batch["response_mask"], world.sum)
    metrics |= batch_metrics(batch, world)

    # 4. The critic learns, then the actor, and the rollout engine gets the new weights.
    with clock("update_critic"):
        metrics |= _named("critic", parts.critic.update(batch, step, row_seed(seed, step)))
    if step > config.trainer.critic_warmup:
        with clock("update_actor"):
            metrics |= _named("actor", parts.actor.update(batch, step, row_seed(seed, step)))
        with clock("update_weights"):
            parts.rollout.sync_weights(full_tensors(parts.actor.model))
    return metrics


def generate(parts: Parts, prompts: Sequence[Row], step: int) -> Batch:
    """Return the batch of this process: `rollout.n` responses to each prompt of its share."""
    rollout, world = parts.config.actor_rollout_ref.rollout, parts.world
    sampling = Sampling(rollout.n, rollout.do_sample, rollout.temperature, rollout.top_k, rollout.top_p)
    numbered = world.shard(list(enumerate(prompts)))
    ids, mask = pad_prompts([row for _, row in numbered], rollout.prompt_length, parts.tokenizer.pad_token_id)
    ids, mask = ids.to(world.device), mask.to(world.device)
    seeds = [
        row_seed(TRAINING, parts.config.data.seed, step, i, j) for i, _ in numbered for j in range(rollout.n)
    ]
    drawn = parts.rollout.generate(ids, mask, sampling, seeds)
    batch = make_batch(
        [row for _, row in numbered for _ in range(rollout.n)],
        ids.repeat_interleave(rollout.n, dim=0),
        mask.repeat_interleave(rollout.n, dim=0),
        drawn.responses,
        drawn.response_mask,
    )
    batch["rollout_log_probs"] = drawn.rollout_log_probs
    return batch


def penalize(parts: Parts, batch: Batch) -> dict[str, float]:
    """Set `token_level_rewards`: the scores, less the KL from the reference where that is asked for."""
    batch["token_level_rewards"] = batch["token_level_scores"]
    if parts.reference is None:
        return {}
    mask = batch["response_mask"]
    penalty = PENALTIES[parts.config.algorithm.kl_penalty]
    kl = torch.where(mask.bool(), penalty(batch["old_log_probs"], batch["ref_log_prob"]), 0.0)
    coef = parts.kl.coef
    batch["token_level_rewards"] = batch["token_level_scores"] - coef * kl
    per_response = summarize({"kl": masked_row_means(kl, mask)[batch["judged"]]}, parts.world)
    parts.kl.update(per_response["kl/mean"], len(batch) * parts.world.size)
    return {"actor/reward_kl_penalty": per_response["kl/mean"], "actor/reward_kl_penalty_coeff": coef}


def validate(parts: Parts, clock: Clock) -> dict[str, float]:
    """Return the metrics of the policy on the validation prompts."""
    given = parts.config.actor_rollout_ref.rollout.val_kwargs
    with clock("testing"):
        judged = respond(
            parts.val_rows,
            parts.rollout,
            parts.rewards,
            parts.tokenizer,
            parts.world,
            sampling=Sampling(given.n, given.do_sample, given.temperature, given.top_k, given.top_p),
            prompt_length=parts.config.actor_rollout_ref.rollout.prompt_length,
            seed=parts.config.data.seed,
        )
        return validation_metrics(judged, given.n, parts.world)


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _named(worker: str, metrics: dict[str, float]) -> dict[str, float]:
    return {f"{worker}/{name}": value for name, value in metrics.items()}


def _performance(metrics: dict[str, float], clock: Clock) -> dict[str, float]:
    tokens, seconds = metrics["perf/total_num_tokens"], clock.seconds["step"]
    return {**clock.metrics(), "perf/time_per_step": seconds, "perf/throughput": tokens / seconds}
