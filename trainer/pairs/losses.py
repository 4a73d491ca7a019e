"""Losses on preferences, as functions of whole answers' scores or log-probabilities.

A loss function returns one value per pair, and the loss of a batch is their mean over all processes. The
derivatives of this mean by the log-probabilities are the weights with which each answer is then trained on
its own (`loop.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, relu

from rewardkit.trainer.pairs.config import DpoLossConfig, RmLossConfig


@dataclass(frozen=True, slots=True)
class PairTerms:
    """Pairs in a batch, each tensor (N,) float64. A loss on labelled answers finds them in `chosen`."""

    chosen: Tensor
    """Scores of the better answers, or their log-probabilities, each summed over the answer's tokens."""
    rejected: Tensor
    """The same of the other answers or, for labelled answers, of an answer to another prompt."""
    reference_chosen: Tensor
    """Log-probabilities of the better answers by the reference, or zeros."""
    reference_rejected: Tensor
    chosen_tokens: Tensor
    """Number of tokens in each of the better answers, including the end token."""
    rejected_tokens: Tensor
    margins: Tensor
    """Margin that each pair asks for, or zeros."""
    good: Tensor
    """bool: True for labelled answers that are good."""

    @property
    def chosen_gain(self) -> Tensor:
        """Log-ratios of the policy to the reference for the better answers."""
        return self.chosen - self.reference_chosen

    @property
    def rejected_gain(self) -> Tensor:
        """Log-ratios of the policy to the reference for the other answers."""
        return self.rejected - self.reference_rejected

    @property
    def gain(self) -> Tensor:
        """Difference of the log-ratios."""
        return self.chosen_gain - self.rejected_gain

    @property
    def mean_gain(self) -> Tensor:
        """Difference of the mean log-ratios per token."""
        return self.chosen_gain / self.chosen_tokens - self.rejected_gain / self.rejected_tokens


@dataclass(frozen=True, slots=True)
class PreferenceLoss:
    """Loss for preference optimisation and its requirements."""

    per_pair: Callable[[PairTerms, DpoLossConfig], Tensor]
    reference: bool = True
    """True if the loss compares the policy with a reference."""
    smooths: bool = False
    """True if the loss uses `label_smoothing`."""
    labelled: bool = False
    """True if the rows are single answers with labels."""


def bradley_terry(terms: PairTerms, options: RmLossConfig) -> Tensor:
    """Return the loss of a reward model (Bradley and Terry 1952) with margins and centring.

    Margins: Touvron et al. 2023 (arXiv:2307.09288). Centring: Eisenstein et al. 2023 (arXiv:2312.09244).
    """
    centred = options.center_rewards_coefficient * (terms.chosen + terms.rejected).square()
    return -logsigmoid(terms.chosen - terms.rejected - terms.margins) + centred


def sigmoid(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the DPO loss (Rafailov et al. 2023, arXiv:2305.18290)."""
    return -logsigmoid(options.beta * terms.gain)


def cdpo(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the conservative DPO loss (Mitchell 2023), which assumes that some labels are wrong."""
    e = options.label_smoothing
    logits = options.beta * terms.gain
    return -(1 - e) * logsigmoid(logits) - e * logsigmoid(-logits)


def robust(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the robust DPO loss (Chowdhury et al. 2024, arXiv:2403.00409), unbiased under wrong labels."""
    e = options.label_smoothing
    logits = options.beta * terms.gain
    return (-(1 - e) * logsigmoid(logits) + e * logsigmoid(-logits)) / (1 - 2 * e)


def ipo(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the IPO loss (Azar et al. 2023, arXiv:2310.12036) on means per token, as in TRL."""
    return (terms.mean_gain - 1 / (2 * options.beta)).square()


def ipo_sum(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the IPO loss on sums over tokens, as in the paper and OpenRLHF."""
    return (terms.gain - 1 / (2 * options.beta)).square()


def hinge(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the hinge loss (SLiC-HF, Zhao et al. 2023, arXiv:2305.10425)."""
    return relu(1 - options.beta * terms.gain)


def sigmoid_norm(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the DPO loss on means per token (Tulu 3, Lambert et al. 2024, arXiv:2411.15124)."""
    return -logsigmoid(options.beta * terms.mean_gain)


def apo_zero(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the APO-zero loss (D'Oosterlinck et al. 2024, arXiv:2408.06266)."""
    beta = options.beta
    return torch.sigmoid(-beta * terms.chosen_gain) + torch.sigmoid(beta * terms.rejected_gain)


def apo_down(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the APO-down loss (arXiv:2408.06266), which lowers both answers, the other one more."""
    return torch.sigmoid(options.beta * terms.chosen_gain) + torch.sigmoid(-options.beta * terms.gain)


def bco_pair(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the BCO loss (Jung et al. 2024, arXiv:2404.04656) on pairs, without its running mean."""
    return -logsigmoid(options.beta * terms.chosen_gain) - logsigmoid(-options.beta * terms.rejected_gain)


def nca_pair(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the NCA loss (Chen et al. 2024, arXiv:2402.05369) on pairs."""
    chosen, rejected = options.beta * terms.chosen_gain, options.beta * terms.rejected_gain
    return -logsigmoid(chosen) - 0.5 * logsigmoid(-chosen) - 0.5 * logsigmoid(-rejected)


def sppo_hard(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the SPPO loss (Wu et al. 2024, arXiv:2405.00675) with certain preferences."""
    wanted = 1 / (2 * options.beta)
    return (terms.chosen_gain - wanted).square() + (terms.rejected_gain + wanted).square()


def simpo(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the SimPO loss (Meng et al. 2024, arXiv:2405.14734), which needs no reference."""
    means = terms.chosen / terms.chosen_tokens - terms.rejected / terms.rejected_tokens
    return -logsigmoid(options.beta * means - options.simpo_gamma)


def kto(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the KTO loss (Ethayarajh et al. 2024, arXiv:2402.01306).

    The estimate of the KL is from answers to other prompts in the whole batch, and has no gradient.
    """
    beyond = options.beta * (terms.chosen_gain - kl_estimate(terms))
    good = options.desirable_weight * torch.sigmoid(-beyond)
    return torch.where(terms.good, good, options.undesirable_weight * torch.sigmoid(beyond))


def kl_estimate(terms: PairTerms) -> Tensor:
    """Return KTO's estimate of the KL of the policy from the reference, a constant."""
    return terms.rejected_gain.detach().mean().clamp(min=0)


PREFERENCE_LOSSES: dict[str, PreferenceLoss] = {
    "sigmoid": PreferenceLoss(sigmoid),
    "cdpo": PreferenceLoss(cdpo, smooths=True),
    "robust": PreferenceLoss(robust, smooths=True),
    "ipo": PreferenceLoss(ipo),
    "ipo_sum": PreferenceLoss(ipo_sum),
    "hinge": PreferenceLoss(hinge),
    "sigmoid_norm": PreferenceLoss(sigmoid_norm),
    "apo_zero": PreferenceLoss(apo_zero),
    "apo_down": PreferenceLoss(apo_down),
    "bco_pair": PreferenceLoss(bco_pair),
    "nca_pair": PreferenceLoss(nca_pair),
    "sppo_hard": PreferenceLoss(sppo_hard),
    "simpo": PreferenceLoss(simpo, reference=False),
    "kto": PreferenceLoss(kto, labelled=True),
}
"""Losses by their names in `dpo.loss_type`."""


def preference_loss(terms: PairTerms, options: DpoLossConfig) -> Tensor:
    """Return the loss of each pair that `options` selects, with the SFT loss on the chosen answers."""
    losses = PREFERENCE_LOSSES[options.loss_type].per_pair(terms, options)
    if options.sft_coef:
        losses = losses - options.sft_coef * terms.chosen.sum() / terms.chosen_tokens.sum()
    return losses


def implicit_rewards(terms: PairTerms, options: DpoLossConfig) -> tuple[Tensor, Tensor]:
    """Return the implicit rewards of both answers, which are the policy's own scores."""
    if PREFERENCE_LOSSES[options.loss_type].reference:
        return options.beta * terms.chosen_gain, options.beta * terms.rejected_gain
    return (
        options.beta * terms.chosen / terms.chosen_tokens,
        options.beta * terms.rejected / terms.rejected_tokens,
    )
