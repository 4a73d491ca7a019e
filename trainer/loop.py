"""The PPO algorithm for language models, from prompts to updated weights.

Every process runs the same loop on its share of the prompts. `run/build.py` builds the parts of the run,
`algorithms/` contains the mathematics, and `workers/` runs and updates the models. `stepping.py` handles
validation, checkpoints and logging for all stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.root import masks_late
from rewardkit.trainer.logging.console import CRITIC_ONLY
from rewardkit.trainer.logging.metrics import Clock, batch_metrics
from rewardkit.trainer.logging.utilization import peak_flops, utilization
from rewardkit.trainer.models.sharding import language_model
from rewardkit.trainer.rollout.base import row_seed
from rewardkit.trainer.stepping import take_steps, validate_alone
from rewardkit.trainer.steps.advantages import compute_advantages
from rewardkit.trainer.steps.branches import with_branches
from rewardkit.trainer.steps.correction import leave_out_old, staleness_metrics
from rewardkit.trainer.steps.dumps import record
from rewardkit.trainer.steps.dynamic import sample_dynamically
from rewardkit.trainer.steps.generation import (
    GreedyResponses,
    begin,
    next_batch,
    place_baselines,
    publish,
    start_greedy,
    sync_weights,
)
from rewardkit.trainer.steps.parity import check_parity, draw_probe
from rewardkit.trainer.steps.scoring import PendingScores, collect_scores
from rewardkit.trainer.steps.signal import outcome_metrics, signal_metrics
from rewardkit.trainer.steps.validation import validate
from rewardkit.trainer.training_run import TrainingRun


@dataclass(frozen=True)
class Drawn:
    """Result of the generation phase of a step."""

    batch: Batch
    pending: Sequence[PendingScores] | None
    """Scores to wait for, or None if the batch already contains them, because dynamic sampling selected the
    prompts by score."""
    greedy: GreedyResponses | None
    probe: Batch | None
    """Rows for comparing the rollout engine with the policy, if they have the same weights; see
    `steps/parity.py`."""
    metrics: dict[str, float]


def train(run: TrainingRun) -> None:
    """Run PPO up to step `run.total_steps`, from the start or from a checkpoint."""
    step = run.checkpoints.restore()
    config = run.config.trainer
    sync_weights(run, step)
    if config.val_only or (config.val_before_train and step == 0):
        validate_alone(run, step, validate)
    if config.val_only:
        return
    begin(run, step)
    take_steps(run, step, ppo_step, validate)


def ppo_step(run: TrainingRun, step: int, clock: Clock) -> dict[str, float]:
    """Run one training step with the next prompts and return its metrics."""
    drawn = generate_responses(run, step, clock)
    metrics = drawn.metrics
    metrics |= evaluate_tokens(run, drawn, step, clock)
    metrics |= assign_rewards(run, drawn, step, clock)
    metrics |= batch_metrics(drawn.batch, run.world)
    learned = with_branches(run, drawn.batch)
    if masks_late(run.config):
        metrics |= leave_out_old(run, learned, step)
    metrics |= update_models(run, learned, step, clock)
    metrics |= _utilization(run, drawn.batch, clock)
    with clock("update_weights"):
        publish(run, step)
    return metrics


def generate_responses(run: TrainingRun, step: int, clock: Clock) -> Drawn:
    """Run phase 1: get the policy's responses.

    The responses may have been generated during earlier steps (`feed.py`). Each response is scored as soon as
    it is complete, in parallel with phase 2.
    """
    pending: Sequence[PendingScores] | None = None
    metrics: dict[str, float] = {}
    if run.config.algorithm.filter_groups.enable:
        batch, metrics = sample_dynamically(run, step, clock)
    else:
        with clock("gen"):
            batch, pending = next_batch(run, step)
    metrics["training/epoch"] = float(run.feed.epoch)
    if run.feed.background:
        metrics |= run.feed.metrics | staleness_metrics(batch, step, run.world)
    with clock("gen"):
        probe = draw_probe(run, batch) if run.synced == step - 1 else None
    greedy: GreedyResponses | None = None
    if ESTIMATORS[run.config.algorithm.adv_estimator].greedy:
        with clock("gen_max"):
            greedy = start_greedy(run, batch)
    run.rollout.release()
    return Drawn(batch, pending, greedy, probe, metrics)


def evaluate_tokens(run: TrainingRun, drawn: Drawn, step: int, clock: Clock) -> dict[str, float]:
    """Run phase 2: compute log-probabilities of policy, reference and teacher, and the critic's values."""
    batch = drawn.batch
    with clock("old_log_prob"):
        if ESTIMATORS[run.config.algorithm.adv_estimator].squares:
            found = run.actor.log_probs_entropies_and_squares(batch)
            batch["old_log_probs"], batch["entropys"], batch["sum_pi_squared"] = found
        elif run.needs_old_log_probs:
            batch["old_log_probs"], batch["entropys"] = run.actor.log_probs_and_entropies(batch)
        metrics = {} if drawn.probe is None else check_parity(run, drawn.probe, step)
    if run.reference is not None:
        with clock("ref"):
            batch["ref_log_prob"] = run.reference.log_probs(batch)
    if run.teacher is not None:
        with clock("teacher"):
            run.teacher.evaluate(batch)
    if run.critic is not None:
        with clock("values"):
            batch["values"] = run.critic.values(batch)
    return metrics


def assign_rewards(run: TrainingRun, drawn: Drawn, step: int, clock: Clock) -> dict[str, float]:
    """Run phase 3: compute scores, rewards with the KL penalty, advantages and returns."""
    metrics: dict[str, float] = {}
    with clock("reward"):  # measures the time spent waiting for scores
        if drawn.pending is not None:
            scored, found = collect_scores(run, drawn.batch, drawn.pending)
            metrics |= found | record(run, scored, step) | outcome_metrics(run, drawn.batch, scored)
        if drawn.greedy is not None:
            metrics |= place_baselines(run, drawn.batch, drawn.greedy)
    with clock("adv"):
        metrics |= compute_advantages(run, drawn.batch)
        metrics |= signal_metrics(run, drawn.batch)
    return metrics


def update_models(run: TrainingRun, batch: Batch, step: int, clock: Clock) -> dict[str, float]:
    """Run phase 4: update the critic, then the actor, and move the reference if it is due."""
    metrics: dict[str, float] = {}
    seed = row_seed(run.config.data.seed, step)
    if run.critic is not None:
        with clock("update_critic"):
            metrics |= _named("critic", run.critic.update(batch, step, seed))
    if run.critic is None or step > run.config.trainer.critic_warmup:
        with clock("update_actor"):
            metrics |= _named("actor", run.actor.update(batch, step, seed))
    else:
        metrics[CRITIC_ONLY] = 1.0
    given = run.config.actor_rollout_ref.ref
    if run.reference is not None and given.sync_steps and step % given.sync_steps == 0:
        with clock("update_ref"):
            run.reference.follow(run.actor.model, given.sync_alpha)
    return metrics


def _utilization(run: TrainingRun, batch: Batch, clock: Clock) -> dict[str, float]:
    lengths = batch["attention_mask"].sum(dim=1)
    config, actor = run.config, run.actor
    epochs = config.actor_rollout_ref.actor.ppo_epochs
    models: dict[str, tuple[Any, int, Tensor]] = {
        "actor": (language_model(actor.model), epochs, lengths[actor.live(batch)])
    }
    if (critic := run.critic) is not None:
        models["critic"] = (critic.model.body, config.critic.ppo_epochs, lengths[critic.live(batch)])
    return utilization(models, clock.seconds, peak_flops(run.world.device))


def _named(worker: str, metrics: dict[str, float]) -> dict[str, float]:
    return {f"{worker}/{name}": value for name, value in metrics.items()}
