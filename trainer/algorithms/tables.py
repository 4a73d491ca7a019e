"""What can be asked for by name, each with what it needs: one row per estimator and per policy loss.

An estimator or a loss of your own: its functions in a file beside this one, and a row here
(docs/extending.md).
"""

from __future__ import annotations

from rewardkit.trainer.algorithms import (
    advantages,
    losses,
)
from rewardkit.trainer.algorithms.covariance import choose_by_lot, choose_largest
from rewardkit.trainer.algorithms.estimation import Estimator, in_groups
from rewardkit.trainer.algorithms.objective import PolicyLoss
from rewardkit.trainer.algorithms.token_baseline import OTB

ESTIMATORS: dict[str, Estimator] = {
    "gae": Estimator(advantages.estimate_gae, critic=True),
    "grpo": in_groups(advantages.grpo, by_turns=True),
    "gdpo": Estimator(advantages.estimate_gdpo, groups=True, parts=True),
    "grpo_passk": in_groups(advantages.grpo_passk),
    "rloo": in_groups(advantages.rloo, by_turns=True),
    "opo": in_groups(advantages.opo, by_turns=True),
    "gpg": in_groups(advantages.gpg),
    "reinforce_plus_plus": Estimator(advantages.estimate_reinforce_plus_plus),
    "reinforce_plus_plus_baseline": Estimator(
        advantages.estimate_reinforce_plus_plus_baseline, groups=True, by_turns=True
    ),
    "remax": Estimator(advantages.estimate_remax, greedy=True),
    "optimal_token_baseline": OTB,
    "tir_optimal_token_baseline": OTB,
}
"""By the names of `algorithm.adv_estimator`."""

POLICY_LOSSES: dict[str, PolicyLoss] = {
    "vanilla": PolicyLoss(losses.vanilla),
    "gspo": PolicyLoss(losses.gspo),
    "cispo": PolicyLoss(losses.cispo),
    "sapo": PolicyLoss(losses.sapo, aggregation="seq-mean-token-mean"),
    "gpg": PolicyLoss(losses.gpg),
    "geo_mean": PolicyLoss(losses.geo_mean, aggregation="seq-mean-token-mean", one_weight_per_sequence=True),
    "clip_cov": PolicyLoss(losses.clip_cov, choose=choose_by_lot),
    "kl_cov": PolicyLoss(losses.kl_cov, choose=choose_largest),
}
"""By the names of `actor.policy_loss.loss_mode`."""
