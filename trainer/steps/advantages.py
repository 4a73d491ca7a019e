"""Computes rewards, advantages, returns and other inputs of the actor loss from the scores in a step.

The other inputs are importance weights and selected tokens, which need the whole batch. `algorithms/`
contains the formulas, and this module applies them to the batches in all processes, as configured.
"""

from __future__ import annotations

from collections import Counter

import torch

from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.estimation import Experience
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.algorithms.objective import StepTokens
from rewardkit.trainer.algorithms.reductions import masked_row_means
from rewardkit.trainer.batch import Batch, last_tokens, whole_lengths
from rewardkit.trainer.config.root import corrects_rollouts, loss_mode
from rewardkit.trainer.logging.metrics import summarize
from rewardkit.trainer.steps.correction import correct_rollout, leave_out_rejected
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.trainer.workers.actor import loss_options
from rewardkit.trainer.workers.distillation import teacher_distance


def compute_advantages(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """Set `token_level_rewards`, `advantages`, `returns` and other inputs of the loss. Return their metrics.

    The batch must contain `token_level_scores`, `scored`, `groups` and, if the algorithm uses them,
    `old_log_probs`, `ref_log_prob`, `values` and `reward_baselines`. The batches in all processes must form a
    whole step. Members of a group may be in different processes.
    """
    metrics = correct_rollout(run, batch) if corrects_rollouts(run.config) else {}
    metrics |= leave_out_lone(run, batch)
    metrics |= shape_overlong(run, batch)
    metrics |= penalize(run, batch)
    estimator = ESTIMATORS[run.config.algorithm.adv_estimator]
    batch["advantages"], batch["returns"] = estimator.estimate(_experience(run, batch))
    metrics |= mask_truncated(run, batch)
    metrics |= add_distillation(run, batch)
    if run.config.algorithm.rollout_correction.rollout_rs:
        leave_out_rejected(batch)
    choose_tokens(run, batch)
    return metrics


def _experience(run: TrainingRun, batch: Batch) -> Experience:
    algorithm = run.config.algorithm
    return Experience(
        rewards=batch["token_level_rewards"],
        mask=batch["response_mask"],
        scored=batch["scored"],
        groups=batch["groups"],
        values=batch.tensors.get("values"),
        baselines=batch.tensors.get("reward_baselines"),
        log_probs=batch.tensors.get("old_log_probs"),
        squares=batch.tensors.get("sum_pi_squared"),
        weights=batch.tensors.get("rollout_is_weights"),
        parts=batch.tensors.get("score_parts"),
        part_weights=tuple(algorithm.gdpo_reward_weights or [1.0] * len(algorithm.gdpo_reward_keys or ())),
        gamma=algorithm.gamma,
        lam=algorithm.lam,
        norm_by_std=algorithm.norm_adv_by_std_in_grpo,
        reduce=run.world.sum,
        gather=run.world.gather,
        rank=run.world.rank,
        **_turns(run, batch),
    )


def _turns(run: TrainingRun, batch: Batch) -> dict[str, torch.Tensor]:
    """Return the tensors for comparing episodes turn by turn, or {} if this is not configured."""
    if run.config.algorithm.turn_advantages == "summed" or "turns" not in batch.tensors:
        return {}
    return {"turns": batch["turns"], "of_trajectory": batch["trajectory_scores"]}


def leave_out_lone(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """If the estimator compares responses, exclude responses whose group has no other scored response.

    Their advantage would be their raw score. With `rollout.n=1`, which only distillation without task rewards
    allows, no response is excluded.
    """
    estimator = ESTIMATORS[run.config.algorithm.adv_estimator]
    if not estimator.groups or run.config.actor_rollout_ref.rollout.n == 1:
        return {}
    scored = batch["scored"].bool()
    sizes = Counter(g for share in run.world.gather(batch["groups"][scored].tolist()) for g in share)
    alone = torch.tensor([sizes[g] == 1 for g in batch["groups"].tolist()], device=scored.device) & scored
    batch["scored"] = scored & ~alone
    batch["response_mask"] = batch["response_mask"] * ~alone.unsqueeze(1)
    number = float(run.world.sum(alone.sum()))
    return {"training/left_alone_in_group": number} if number else {}


def add_distillation(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """If distillation is a reward, subtract the distance between policy and teacher from the advantages.

    With every estimator, a token is responsible only for its own distance (discount 0). Distances are not
    whitened.
    """
    asked = run.config.distillation
    if not asked.rewards_tokens:
        return {}
    mask = batch["response_mask"].bool()
    log_ratio = torch.where(mask, batch["old_log_probs"] - batch["teacher_log_prob"], 0.0)
    distance = teacher_distance(asked.distillation_loss, log_ratio)
    task = batch["advantages"] if asked.distillation_loss.use_task_rewards else torch.zeros_like(distance)
    batch["advantages"] = torch.where(mask, task - asked.coef * distance, 0.0)
    means = summarize({"kl": log_ratio[mask], "loss": distance[mask]}, run.world)
    return {f"distillation/{name}": means.get(f"{name}/mean", 0.0) for name in ("kl", "loss")}


def mask_truncated(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """Exclude truncated responses from the loss, if configured. Truncated responses still affect advantages.

    A response whose last possible token is an end-of-sequence token is not truncated. For episodes, the batch
    contains `truncated`.
    """
    if not run.config.algorithm.mask_truncated_completions:
        return {}
    truncated = batch.tensors.get("truncated")
    if truncated is None:
        responses = batch["responses"]
        ends = torch.isin(responses[:, -1], torch.tensor(run.eos_ids, device=responses.device))
        truncated = (whole_lengths(batch) == responses.shape[1]) & ~ends
    batch["response_mask"] = batch["response_mask"] * ~truncated.unsqueeze(1)
    return {"response/masked_truncated": float(run.world.sum(truncated.sum()))}


def shape_overlong(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """Subtract DAPO's soft overlong punishment (Yu et al. 2025, arXiv:2503.14476, eq. 13) from the scores."""
    buffer = run.config.reward_model.overlong_buffer
    if not buffer.enable:
        return {}
    mask = batch["response_mask"]
    scored = batch["scored"]
    over = whole_lengths(batch) - (batch["responses"].shape[1] - buffer.len)
    punishment = (over.clamp(min=0) / buffer.len) * buffer.penalty_factor
    last = last_tokens(mask).unsqueeze(1)
    taken_off = (punishment * scored).to(mask.dtype).unsqueeze(1)
    for name in {"token_level_scores", "trajectory_scores"} & set(batch.tensors):
        batch[name] = batch[name].scatter_add(1, last, -taken_off)
    if not buffer.log:
        return {}
    values = {"overlong_reward": -punishment[scored], "overlong": (punishment[scored] > 0).float()}
    means = summarize(values, run.world)
    return {f"reward/{name}": means[f"{name}/mean"] for name in values}


def penalize(run: TrainingRun, batch: Batch) -> dict[str, float]:
    """Set `token_level_rewards` to the scores, minus the KL from the reference if configured."""
    batch["token_level_rewards"] = batch["token_level_scores"]
    if not run.config.algorithm.use_kl_in_reward:
        return {}
    mask = batch["response_mask"]
    penalty = PENALTIES[run.config.algorithm.kl_penalty]
    kl = torch.where(mask.bool(), penalty(batch["old_log_probs"], batch["ref_log_prob"]), 0.0)
    coef = run.kl.coef
    batch["token_level_rewards"] = batch["token_level_scores"] - coef * kl
    per_response = summarize({"kl": masked_row_means(kl, mask)[batch["scored"]]}, run.world)
    if not per_response:
        return {}  # No response is left if each scored response is alone in its group.
    run.kl.update(per_response["kl/mean"], len(batch) * run.world.size)
    return {"actor/reward_kl_penalty": per_response["kl/mean"], "actor/reward_kl_penalty_coeff": coef}


def choose_tokens(run: TrainingRun, batch: Batch) -> None:
    """If the policy loss treats some tokens differently, set `chosen` to a mask of these tokens."""
    actor = run.config.actor_rollout_ref.actor
    choose = POLICY_LOSSES[loss_mode(run.config)].choose
    if choose is None:
        return
    tokens = StepTokens(
        log_probs=batch["old_log_probs"],
        advantages=batch["advantages"],
        mask=batch["response_mask"],
        seeds=batch["seeds"],
        reduce=run.world.sum,
        gather=run.world.gather,
    )
    batch["chosen"] = choose(tokens, loss_options(actor))
