"""PPO for language models: the algorithm, from prompts to updated weights.

Every process runs this same loop on its share of the prompts. What is built before it is in `setup.py`,
the mathematics in `algorithms/`, the models at work in `workers/`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.trainer.batch import Row
from rewardkit.trainer.config import needs_old_log_probs
from rewardkit.trainer.credit import assign_credit
from rewardkit.trainer.dumps import dump
from rewardkit.trainer.generation import (
    begin_greedy,
    finish_greedy,
    generate,
    sample_dynamically,
    sync_weights,
)
from rewardkit.trainer.judging import finish_judging
from rewardkit.trainer.metrics import Clock, batch_metrics
from rewardkit.trainer.parity import check_parity, draw_probe
from rewardkit.trainer.profile import profiled
from rewardkit.trainer.rollout.base import row_seed
from rewardkit.trainer.setup import Parts
from rewardkit.trainer.validation import validate


def train(parts: Parts) -> None:
    """Run PPO to step `parts.total_steps`, from the start or from a checkpoint."""
    config, world, checkpoints = parts.config, parts.world, parts.checkpoints
    step = checkpoints.restore(parts)
    sync_weights(parts)
    if config.trainer.val_only or (config.trainer.val_before_train and step == 0):
        clock = Clock(world.device)
        with clock("testing"):
            metrics = {"training/global_step": float(step), **validate(parts, step)}
        parts.logger.log(metrics | clock.metrics(), step)
    if config.trainer.val_only:
        return
    while step < parts.total_steps:
        step += 1
        checkpoints.check()
        clock, last, prompts = Clock(world.device), step == parts.total_steps, parts.loader.take()
        metrics = {"training/global_step": float(step), "training/epoch": float(parts.loader.epoch)}
        with clock("step"), profiled(parts, step):
            metrics |= ppo_step(parts, prompts, step, clock)
            if parts.val_rows and (last or _due(step, config.trainer.test_freq)):
                with clock("testing"):
                    metrics |= validate(parts, step)
        if last or _due(step, config.trainer.save_freq):
            with clock("save_checkpoint"):
                checkpoints.save(parts, step, metrics, last=last)
        parts.logger.log(metrics | _performance(metrics, clock), step)
    checkpoints.finish()


def ppo_step(parts: Parts, prompts: Sequence[Row], step: int, clock: Clock) -> dict[str, float]:
    """Take one step with these prompts (those of all processes) and return its metrics."""
    config, world, seed = parts.config, parts.world, parts.config.data.seed

    # 1. The policy acts. Each response is judged from when it ends, beside all of 2.
    judging, metrics, greedy = None, dict[str, float](), None
    if config.algorithm.filter_groups.enable:
        batch, metrics = sample_dynamically(parts, prompts, step, clock)
    else:
        with clock("gen"):
            batch, judging = generate(parts, prompts, step)
    with clock("gen"):
        probe = draw_probe(parts, batch)
    if config.algorithm.adv_estimator == "remax":
        with clock("gen_max"):
            greedy = begin_greedy(parts, batch)
    parts.rollout.release()

    # 2. What the policy, the reference and the critic say to each token.
    with clock("old_log_prob"):
        if needs_old_log_probs(config):
            batch["old_log_probs"], batch["entropys"] = parts.actor.log_probs(batch)
        metrics |= check_parity(parts, probe, step)
    if parts.reference is not None:
        with clock("ref"):
            batch["ref_log_prob"], _ = parts.reference.log_probs(batch)
    if parts.critic is not None:
        with clock("values"):
            batch["values"] = parts.critic.values(batch)

    # 3. Rewards with their KL penalty, advantages and returns.
    if judging is not None:
        with clock("reward"):  # what of the judging is still to wait for
            judged, found = finish_judging(parts, batch, judging)
            dump(parts, config.trainer.rollout_data_dir, judged, config.actor_rollout_ref.rollout.n, step)
        metrics |= found
    if greedy is not None:
        with clock("reward"):
            metrics |= finish_greedy(parts, batch, greedy)
    with clock("adv"):
        metrics |= assign_credit(parts, batch)
    metrics |= batch_metrics(batch, world)

    # 4. The critic learns, then the actor, and the rollout engine gets the new weights.
    if parts.critic is not None:
        with clock("update_critic"):
            metrics |= _named("critic", parts.critic.update(batch, step, row_seed(seed, step)))
    if parts.critic is None or step > config.trainer.critic_warmup:
        with clock("update_actor"):
            metrics |= _named("actor", parts.actor.update(batch, step, row_seed(seed, step)))
    with clock("update_weights"):
        sync_weights(parts)
    return metrics


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _named(worker: str, metrics: dict[str, float]) -> dict[str, float]:
    return {f"{worker}/{name}": value for name, value in metrics.items()}


def _performance(metrics: dict[str, float], clock: Clock) -> dict[str, float]:
    tokens, seconds = metrics["perf/total_num_tokens"], clock.seconds["step"]
    return {**clock.metrics(), "perf/time_per_step": seconds, "perf/throughput": tokens / seconds}
