"""From scores to `token_level_rewards`, advantages and returns, as the config asks.

The formulas are in `algorithms/`; here they meet the batch, the config and the other processes.
"""

from __future__ import annotations

import torch

from rewardkit.trainer.algorithms.advantages import gae
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.reductions import masked_row_means, masked_whiten
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.metrics import summarize
from rewardkit.trainer.setup import Parts


def assign_credit(parts: Parts, batch: Batch) -> dict[str, float]:
    """Set `token_level_rewards`, `advantages` and `returns`; return the metrics of the KL penalty."""
    metrics = penalize(parts, batch)
    advantages, batch["returns"] = gae(
        batch["token_level_rewards"],
        batch["values"],
        batch["response_mask"],
        gamma=parts.config.algorithm.gamma,
        lam=parts.config.algorithm.lam,
    )
    batch["advantages"] = masked_whiten(advantages, batch["response_mask"], parts.world.sum)
    return metrics


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
