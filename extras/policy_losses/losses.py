"""Policy losses per token: Clip-Cov, KL-Cov, DRO, LUSPO and VESPO."""

from __future__ import annotations

import math

import torch

from rewardkit.trainer.algorithms.losses import clip_surrogates
from rewardkit.trainer.algorithms.objective import PerToken, PolicyLoss, PolicyOptions, Terms
from rewardkit.trainer.algorithms.reductions import masked_row_means
from rewardkit_extras.policy_losses.covariance import choose_by_lot, choose_largest


def clip_cov(terms: Terms, options: PolicyOptions) -> PerToken:
    """Compute the Clip-Cov loss (Cui et al. 2025, arXiv:2505.22617).

    This is the PPO loss without the chosen tokens, whose updates would reduce the entropy most. A chosen
    token with a clipped ratio keeps its loss, because the clipped loss has no gradient anyway.
    """
    unclipped, clipped = clip_surrogates(terms.ratio, terms.advantages, options)
    left_out = terms.chosen & (clipped <= unclipped)
    loss = torch.maximum(unclipped, clipped).masked_fill(left_out, 0)
    return loss, {"pg_clipfrac": left_out}


def kl_cov(terms: Terms, options: PolicyOptions) -> PerToken:
    """Compute the KL-Cov loss (Cui et al. 2025): no clipping, but a |log-ratio| penalty on chosen tokens."""
    penalty = options.ppo_kl_coef * terms.log_ratio.abs()
    loss = -terms.advantages * terms.ratio + torch.where(terms.chosen, penalty, torch.zeros_like(penalty))
    return loss, {}


def dro(terms: Terms, options: PolicyOptions) -> PerToken:
    """Compute the DRO loss (arXiv:2405.19107, as in verl): no clipping, but a squared log-ratio penalty."""
    assert options.dro_beta is not None
    return 0.5 * options.dro_beta * terms.log_ratio.square() - terms.advantages * terms.log_probs, {}


def luspo(terms: Terms, options: PolicyOptions) -> PerToken:
    """Compute the LUSPO loss (arXiv:2602.05261), which is PPO with the geometric mean of a response's ratios.

    Longer responses have more weight.
    """
    ratio = masked_row_means(terms.log_ratio, terms.mask).exp().unsqueeze(1)
    unclipped, clipped = clip_surrogates(ratio, terms.advantages, options)
    return torch.maximum(unclipped, clipped), {"pg_clipfrac": clipped > unclipped}


def vespo(terms: Terms, options: PolicyOptions) -> PerToken:
    """Compute the VESPO loss (arXiv:2602.10693).

    This is the REINFORCE loss, weighted by a smooth function of the whole response's ratio. The function is 1
    at a ratio of 1 and decreases on both sides.
    """
    log_w = (terms.log_ratio.detach().clamp(-20, 20) * terms.mask).sum(dim=1, keepdim=True)
    log_w = log_w.clamp(math.log(1e-8), 20)
    positive = terms.advantages >= 0
    k = torch.where(positive, options.vespo_k_pos, options.vespo_k_neg)
    falling = torch.where(positive, options.vespo_lambda_pos, options.vespo_lambda_neg)
    weight = (falling + k * log_w - falling * log_w.exp()).exp().to(terms.log_probs.dtype)
    return -weight * terms.advantages * terms.log_probs, {}


CLIP_COV = PolicyLoss(clip_cov, choose=choose_by_lot)
DRO = PolicyLoss(dro, at_zero="all")
LUSPO = PolicyLoss(luspo, aggregation="seq-mean-token-sum")
VESPO = PolicyLoss(vespo)
KL_COV = PolicyLoss(kl_cov, choose=choose_largest, at_zero="chosen")
