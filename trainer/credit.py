"""From scores to `token_level_rewards`, advantages and returns, as the config asks; and what else the actor's
loss needs from the whole batch: importance weights and chosen tokens.

The formulas are in `algorithms/`; here they meet the batch, the config and the other processes.
"""

from __future__ import annotations

import torch

from rewardkit.trainer.algorithms.advantages import ESTIMATORS, Experience
from rewardkit.trainer.algorithms.correction import rollout_weights
from rewardkit.trainer.algorithms.covariance import covariance, largest
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.reductions import masked_row_means
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config import BY_COVARIANCE
from rewardkit.trainer.metrics import summarize
from rewardkit.trainer.setup import Parts


def assign_credit(parts: Parts, batch: Batch) -> dict[str, float]:
    """Set `token_level_rewards`, `advantages`, `returns` and what the loss needs; return their metrics.

    Needs `token_level_scores`, `judged`, `groups`; `old_log_probs`, `ref_log_prob`, `values` and
    `reward_baselines` where the algorithm uses them. The rows must be those of a whole step; members of a
    group may be in different processes.
    """
    algorithm = parts.config.algorithm
    metrics = shape_overlong(parts, batch) | penalize(parts, batch)
    experience = Experience(
        rewards=batch["token_level_rewards"],
        mask=batch["response_mask"],
        judged=batch["judged"],
        groups=batch["groups"],
        values=batch.tensors.get("values"),
        baselines=batch.tensors.get("reward_baselines"),
        gamma=algorithm.gamma,
        lam=algorithm.lam,
        norm_by_std=algorithm.norm_adv_by_std_in_grpo,
        reduce=parts.world.sum,
        gather=parts.world.gather,
        rank=parts.world.rank,
    )
    batch["advantages"], batch["returns"] = ESTIMATORS[algorithm.adv_estimator](experience)
    if algorithm.mask_truncated_completions:
        truncated = _lengths(batch) == batch["responses"].shape[1]
        batch["response_mask"] = batch["response_mask"] * ~truncated.unsqueeze(1)
        metrics["response/masked_truncated"] = float(parts.world.sum(truncated.sum()))
    choose_tokens(parts, batch)
    return metrics | correct_rollout(parts, batch)


def shape_overlong(parts: Parts, batch: Batch) -> dict[str, float]:
    """Take DAPO's soft punishment (Yu et al. 2025, arXiv:2503.14476, eq. 13) off `token_level_scores`."""
    buffer, mask = parts.config.reward_model.overlong_buffer, batch["response_mask"]
    if not buffer.enable:
        return {}
    lengths, width = _lengths(batch), batch["responses"].shape[1]
    punishment = ((lengths - (width - buffer.len)).clamp(min=0) / buffer.len) * buffer.penalty_factor
    last = mask.cumsum(dim=1).argmax(dim=1, keepdim=True)
    judged = batch["judged"]
    taken_off = (punishment * judged).to(mask.dtype).unsqueeze(1)
    batch["token_level_scores"] = batch["token_level_scores"].scatter_add(1, last, -taken_off)
    if not buffer.log:
        return {}
    values = {"overlong_reward": -punishment[judged], "overlong": (punishment[judged] > 0).float()}
    means = summarize(values, parts.world)
    return {f"reward/{name}": means[f"{name}/mean"] for name in values}


def penalize(parts: Parts, batch: Batch) -> dict[str, float]:
    """Set `token_level_rewards`: the scores, less the KL from the reference where that is asked for."""
    batch["token_level_rewards"] = batch["token_level_scores"]
    if not parts.config.algorithm.use_kl_in_reward:
        return {}
    mask = batch["response_mask"]
    penalty = PENALTIES[parts.config.algorithm.kl_penalty]
    kl = torch.where(mask.bool(), penalty(batch["old_log_probs"], batch["ref_log_prob"]), 0.0)
    coef = parts.kl.coef
    batch["token_level_rewards"] = batch["token_level_scores"] - coef * kl
    per_response = summarize({"kl": masked_row_means(kl, mask)[batch["judged"]]}, parts.world)
    parts.kl.update(per_response["kl/mean"], len(batch) * parts.world.size)
    return {"actor/reward_kl_penalty": per_response["kl/mean"], "actor/reward_kl_penalty_coeff": coef}


def correct_rollout(parts: Parts, batch: Batch) -> dict[str, float]:
    """Set `rollout_is_weights` where they are asked for, and return their metrics."""
    asked, mask = parts.config.algorithm.rollout_correction, batch["response_mask"]
    if asked.rollout_is is None:
        return {}
    raw = rollout_weights(batch["old_log_probs"], batch["rollout_log_probs"], mask, asked.rollout_is)
    batch["rollout_is_weights"] = weights = raw.clamp(max=asked.rollout_is_threshold)
    kept = mask.bool()
    values = {"is": weights[kept], "squares": weights[kept].square(), "high": (raw > weights)[kept].float()}
    found = summarize(values, parts.world)
    metrics = {name: found[f"is/{name}"] for name in ("mean", "max", "min")}
    metrics["eff_sample_size"] = found["is/mean"] ** 2 / found["squares/mean"]
    metrics["ratio_fraction_high"] = found["high/mean"]
    return {f"rollout_corr/rollout_is_{name}": value for name, value in metrics.items()}


def choose_tokens(parts: Parts, batch: Batch) -> None:
    """Set `chosen`, the tokens that the losses clip_cov and kl_cov treat apart."""
    options, world = parts.config.actor_rollout_ref.actor.policy_loss, parts.world
    if options.loss_mode not in BY_COVARIANCE:
        return
    mask, kept = batch["response_mask"], batch["response_mask"].bool()
    cov = covariance(batch["old_log_probs"], batch["advantages"], mask, world.sum)
    if options.loss_mode == "kl_cov":
        keys, candidates, share = cov, kept, options.kl_cov_ratio
    else:  # any of those within the bounds, by lot
        keys, share = _draws(batch), options.clip_cov_ratio
        candidates = kept & (cov > options.clip_cov_lb) & (cov < options.clip_cov_ub)
    number = max(1, int(share * int(world.sum(kept.sum()))))
    batch["chosen"] = largest(keys, candidates, number, world.gather)


def _lengths(batch: Batch) -> torch.Tensor:
    """Return the length of each response, (B,), a tool's tokens and what was not judged included."""
    return batch["attention_mask"][:, -batch["responses"].shape[1] :].sum(dim=1)


def _draws(batch: Batch) -> torch.Tensor:
    """Return (B, T) uniform numbers, those of a response from its own seed alone."""
    generator = torch.Generator()
    rows = [
        torch.rand(batch["responses"].shape[1], generator=generator.manual_seed(seed), dtype=torch.float64)
        for seed in batch["seeds"].tolist()
    ]
    return torch.stack(rows).to(batch["responses"].device)
