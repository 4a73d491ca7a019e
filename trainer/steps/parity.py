"""Do the rollout engine and the policy agree? Measured at every step, so that no engine stays stale unseen.

A trainer whose rollouts come from old weights still learns a little, and nothing else shows it.
"""

from __future__ import annotations

import torch

from rewardkit.errors import ParityError
from rewardkit.trainer.batch import Batch, make_batch
from rewardkit.trainer.config.workers import ActorRolloutRefConfig
from rewardkit.trainer.rollout.base import Sampling, row_seed
from rewardkit.trainer.training_run import TrainingRun

N_PROBES = 4
"""Prompts in a probe, in each process."""
PROBE = 2
"""First part of the key of a probe's seed; training's is 0, validation's 1."""
FLOAT32_LIMITS = (1e-7, 1e-5)
HALF_LIMITS = (1e-2, 0.2)
"""k3 above which to warn, and to stop. Equal weights were measured at 3e-9 in float32 and 4e-3 in bfloat16
on a model of 135M parameters; one step of training moves a policy by 1e-4 and more, and output heads that
stayed behind by whole nats."""


def draw_probe(run: TrainingRun, batch: Batch) -> Batch:
    """Return responses of the engine whose log-probabilities must be the policy's own: mostly `batch`.

    Under greedy, top_k or top_p sampling they are those of another distribution: a few are drawn without.
    Where the policy's are not computed for the whole batch anyway, a few of it will do.
    """
    config = run.config.actor_rollout_ref.rollout
    restricted = not Sampling(config.n, config.do_sample, 1.0, config.top_k, config.top_p).unrestricted
    usable = config.calculate_log_probs and not restricted
    if usable and run.needs_old_log_probs:
        return batch
    few = batch.select(slice(0, N_PROBES * config.n, config.n))
    if usable:
        return few
    ids, mask = (few[name][:, : few.prompt_width] for name in ("input_ids", "attention_mask"))
    seeds = [row_seed(PROBE, config.seed, run.world.rank, i) for i in range(len(few))]
    drawn = run.rollout.generate(ids, mask, Sampling(temperature=config.temperature), seeds)
    probe = make_batch(few.rows, ids, mask, drawn.responses, drawn.response_mask)
    assert drawn.rollout_log_probs is not None
    probe["rollout_log_probs"] = drawn.rollout_log_probs
    return probe


def check_parity(run: TrainingRun, probe: Batch, step: int) -> dict[str, float]:
    """Compare the engine's log-probabilities with the policy's, before the policy changes.

    Returns:
        `training/rollout_actor_kl`, the k3 estimate of KL(rollout || actor), and
        `training/rollout_actor_diff_max`, the largest absolute difference of two log-probabilities.

    Raises:
        ParityError: in every process, where one of them is above `rollout.parity_error`.
    """
    world = run.world
    config = run.config.actor_rollout_ref
    mine = probe["old_log_probs"] if "old_log_probs" in probe.tensors else run.actor.log_probs(probe)
    kept = probe["response_mask"].bool()
    drift = (mine - probe["rollout_log_probs"])[kept].double()
    k3 = drift.expm1() - drift
    total, count = world.sum(torch.stack([k3.sum(), k3.new_tensor(float(len(k3)))])).tolist()
    # The worst process decides: among many, one stale engine would hardly move the mean.
    extremes = torch.stack([k3.mean(), drift.abs().max()]) if len(k3) else k3.new_zeros(2)
    worst, largest = world.max(extremes.nan_to_num(nan=torch.inf)).tolist()
    warn, error = limits(config)
    if worst > error:
        raise ParityError(
            f"step {step}: the rollout engine does not have the policy's weights: training/rollout_actor_kl="
            f"{worst:.2g} is above {error:g}; a weight sync was missed or came through in part (for noisy "
            "kernels raise actor_rollout_ref.rollout.parity_error)"
        )
    if worst > warn and world.is_main:
        run.logger.say(f"step {step}: training/rollout_actor_kl = {worst:.2g} is above {warn:g}")
    return {
        "training/rollout_actor_kl": total / max(count, 1.0),
        "training/rollout_actor_diff_max": largest,
    }


def limits(config: ActorRolloutRefConfig) -> tuple[float, float]:
    """Return the k3 above which to warn and above which to stop; None in the config follows the dtype."""
    exact = {config.rollout.dtype, config.actor.fsdp_config.dtype} == {"float32"}
    warn, error = FLOAT32_LIMITS if exact else HALF_LIMITS
    rollout = config.rollout
    return (
        warn if rollout.parity_warn is None else rollout.parity_warn,
        error if rollout.parity_error is None else rollout.parity_error,
    )
