"""Applies the rollout correction to a step by weighting tokens and by excluding tokens from the loss."""

from __future__ import annotations

import torch

from rewardkit.trainer.algorithms.correction import (
    bounded,
    divergence,
    read_bounds,
    read_rejections,
    rollout_weights,
    within,
)
from rewardkit.trainer.algorithms.reductions import masked_row_means
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.root import bypasses
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import summarize
from rewardkit.trainer.training_run import TrainingRun


def correct_rollout(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """Set `rollout_is_weights` and `within_bounds`, if configured, and return their metrics.

    In bypass mode, `old_log_probs` are set to the engine's log-probabilities. The PPO ratio is then relative
    to the engine, and needs no weights.
    """
    asked, bypassed = run.config.algorithm.rollout_correction, bypasses(run.config)
    metrics: dict[str, float] = {}
    if asked.rollout_rs:
        metrics = _find_rejected(run, batch)
    if asked.rollout_is is not None:
        weights, of_weights = _rollout_weights(run, batch)
        metrics |= of_weights
        if not (bypassed and asked.loss_type == "ppo_clip"):
            batch["rollout_is_weights"] = weights
    if bypassed:
        batch["old_log_probs"] = batch["rollout_log_probs"]
    return metrics


def staleness_metrics(batch: Batch, step: int, world: World) -> dict[str, float]:
    """Return the age of the weights that generated the policy's tokens, relative to the trained weights.

    Returns:
        `staleness/mean` and `staleness/max`, in steps, and `staleness/stale_share`, the share of tokens from
        older weights. All three values are computed over the tokens in all processes.
    """
    steps = (step - 1 - batch["weight_versions"])[batch["response_mask"].bool()].float()
    found = summarize({"steps": steps, "stale": (steps > 0).float()}, world)
    return {
        "staleness/mean": found["steps/mean"],
        "staleness/max": found["steps/max"],
        "staleness/stale_share": found["stale/mean"],
    }


def leave_out_old(run: TrainingRun, batch: Batch, step: int) -> dict[str, float]:
    """Set the advantages of tokens older than `max_staleness` to 0, and return the share of these tokens.

    The tokens still count in the denominators of the loss.
    """
    old = step - 1 - batch["weight_versions"] > run.config.trainer.max_staleness
    batch["advantages"] = torch.where(old, 0.0, batch["advantages"])
    found = summarize({"old": old[batch["response_mask"].bool()].float()}, run.world)
    return {"feed/masked_tokens": found.get("old/mean", 0.0)}


def _rollout_weights(run: TrainingRun, batch: Batch) -> tuple[torch.Tensor, dict[str, float]]:
    asked = run.config.algorithm.rollout_correction
    mask = batch["response_mask"]
    level = str(asked.rollout_is)
    raw = rollout_weights(batch["old_log_probs"], batch["rollout_log_probs"], mask, level)
    low, high = read_bounds(asked.rollout_is_threshold)
    weights = bounded(raw, low, high)
    kept = mask.bool()
    values = {"is": weights[kept], "squares": weights[kept].square(), "high": (raw > high)[kept].float()}
    if low:
        values["low"] = (raw < low)[kept].float()
    found = summarize(values, run.world)
    metrics = {name: found[f"is/{name}"] for name in ("mean", "max", "min")}
    metrics["eff_sample_size"] = found["is/mean"] ** 2 / max(found["squares/mean"], 1e-30)
    metrics |= {f"ratio_fraction_{end}": found[f"{end}/mean"] for end in ("high", "low") if end in values}
    if asked.rollout_is_batch_normalize:
        # A sequence's weight is repeated for each token, but the mean is over sequences, as in verl.
        units = weights[kept] if level == "token" else masked_row_means(weights, mask)[kept.any(dim=1)]
        factor = summarize({"mean": units}, run.world)["mean/mean"]
        weights = weights / factor
        metrics["batch_norm_factor"] = factor
    return weights, {f"rollout_corr/rollout_is_{name}": value for name, value in metrics.items()}


def _find_rejected(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """Set `within_bounds` and return metrics.

    The bounds compare the engine with the policy before the step's updates.
    """
    asked = run.config.algorithm.rollout_correction
    rejections = read_rejections(str(asked.rollout_rs), asked.rollout_rs_threshold)
    mask = batch["response_mask"]
    given = (batch["old_log_probs"], batch["rollout_log_probs"], mask)
    divergences = [divergence(*given, one) for one in rejections]
    batch["within_bounds"] = within(divergences, rejections, mask)
    kept = mask.bool()
    values = {}
    for one, found in zip(rejections, divergences, strict=True):
        values[one.name] = found[kept] if one.level == "token" else found[kept.any(dim=1)].squeeze(1)
        values[f"{one.name}_masked_fraction"] = (~within([found], [one], mask))[kept].float()
    values["masked_fraction"] = (~batch["within_bounds"])[kept].float()
    seen = summarize(values, run.world)
    metrics = {name.replace("/", "_"): v for name, v in seen.items() if "masked_fraction" not in name}
    metrics |= {name: seen[f"{name}/mean"] for name in values if name.endswith("masked_fraction") and seen}
    return {f"rollout_corr/rollout_rs_{name}": value for name, value in metrics.items()}


def leave_out_rejected(batch: Batch) -> None:
    """Remove out-of-bounds tokens from the loss, after they have contributed to the advantages."""
    batch["response_mask"] = batch["response_mask"] * batch["within_bounds"]
