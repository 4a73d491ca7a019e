"""PPO for language models: the algorithm, from prompts to updated weights.

Every process runs this same loop on its share of the prompts. What is built before it is in `setup.py`,
the mathematics in `algorithms/`, the models at work in `workers/`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.trainer.batch import Row
from rewardkit.trainer.checkpoint import save_actor
from rewardkit.trainer.credit import assign_credit
from rewardkit.trainer.generation import generate, sync_weights
from rewardkit.trainer.metrics import Clock, batch_metrics
from rewardkit.trainer.parity import check_parity, draw_probe
from rewardkit.trainer.rewards import decode, judge, place_scores
from rewardkit.trainer.rollout.base import Sampling, row_seed
from rewardkit.trainer.setup import Parts
from rewardkit.trainer.validation import respond, validation_metrics


def train(parts: Parts) -> None:
    """Run PPO to the end: `parts.total_steps` steps of rollout, rewards, advantages and updates."""
    config, world = parts.config, parts.world
    sync_weights(parts)
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
        probe = draw_probe(parts, batch)
        parts.rollout.release()
    with clock("reward"):
        texts = decode(parts.tokenizer, batch["responses"], batch["response_mask"])
        scores = judge(parts.rewards, batch.rows, texts, world)
        metrics = place_scores(batch, scores, world, config.reward.on_error)

    # 2. What the policy, the reference and the critic say to each token.
    with clock("old_log_prob"):
        batch["old_log_probs"], batch["entropys"] = parts.actor.log_probs(batch)
        metrics |= check_parity(parts, probe, step)
    if parts.reference is not None:
        with clock("ref"):
            batch["ref_log_prob"], _ = parts.reference.log_probs(batch)
    with clock("values"):
        batch["values"] = parts.critic.values(batch)

    # 3. Rewards with their KL penalty, advantages and returns.
    with clock("adv"):
        metrics |= assign_credit(parts, batch)
    metrics |= batch_metrics(batch, world)

    # 4. The critic learns, then the actor, and the rollout engine gets the new weights.
    with clock("update_critic"):
        metrics |= _named("critic", parts.critic.update(batch, step, row_seed(seed, step)))
    if step > config.trainer.critic_warmup:
        with clock("update_actor"):
            metrics |= _named("actor", parts.actor.update(batch, step, row_seed(seed, step)))
    with clock("update_weights"):
        sync_weights(parts)
    return metrics


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
            sampling=Sampling(
                given.n, given.do_sample, given.temperature, given.top_k, given.top_p, log_probs=False
            ),
            prompt_length=parts.config.actor_rollout_ref.rollout.prompt_length,
            seed=parts.config.actor_rollout_ref.rollout.seed,
        )
        return validation_metrics(judged, given.n, parts.world)


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _named(worker: str, metrics: dict[str, float]) -> dict[str, float]:
    return {f"{worker}/{name}": value for name, value in metrics.items()}


def _performance(metrics: dict[str, float], clock: Clock) -> dict[str, float]:
    tokens, seconds = metrics["perf/total_num_tokens"], clock.seconds["step"]
    return {**clock.metrics(), "perf/time_per_step": seconds, "perf/throughput": tokens / seconds}
