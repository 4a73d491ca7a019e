"""Losses and their gradients are those of TRL's trainers, for 200 ragged batches of each loss in float64.

TRL's trainers get a model that returns given log-probabilities or scores, which are the leaves of the gradients.
"""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl", reason="the oracle is TRL: pip install trl")

from rewardkit.trainer.pairs.config import DpoLossConfig, RmLossConfig
from rewardkit.trainer.pairs.losses import PairTerms, bradley_terry, preference_loss

CASES = 200
BOUND = 1e-10
AS_IN_TRL = {
    "sigmoid": {},
    "robust": {"label_smoothing": 0.2},
    "ipo": {},
    "hinge": {},
    "sigmoid_norm": {},
    "apo_zero": {},
    "apo_down": {},
    "bco_pair": {},
    "nca_pair": {},
    "sppo_hard": {},
}


class Ragged:
    """Log-probabilities of the tokens in pairs of answers of different lengths, and their reference."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)

        def number(low: int, high: int) -> int:
            return int(torch.randint(low, high, (1,), generator=generator))

        self.pairs = number(1, 7)
        self.prompt, longest = number(1, 5), number(1, 12)
        lengths = torch.randint(1, longest + 1, (2 * self.pairs,), generator=generator)
        answer = torch.arange(longest) < lengths[:, None]
        self.mask = torch.cat([torch.zeros(2 * self.pairs, self.prompt), answer], dim=1).long()
        self.lengths = lengths.double()
        shape = (2 * self.pairs, self.prompt + longest - 1)
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        self.leaf = (3.0 * values).requires_grad_()
        self.log_probs = self.leaf * self.mask[:, 1:]
        reference = torch.randn(2 * self.pairs, generator=generator, dtype=torch.float64)
        self.reference = self.log_probs.detach().sum(dim=1) + 5.0 * reference
        self.beta = float(torch.rand(1, generator=generator, dtype=torch.float64)) + 0.05
        self.good = torch.rand(self.pairs, generator=generator) < 0.5
        self.margins = torch.rand(self.pairs, generator=generator, dtype=torch.float64)

    def terms(self) -> PairTerms:
        values = self.log_probs.sum(dim=1)
        return PairTerms(
            *values.chunk(2), *self.reference.chunk(2), *self.lengths.chunk(2), self.margins, self.good
        )


class Given(torch.nn.Module):
    """Model that returns the same values for any input."""

    def __init__(self, log_probs: Any) -> None:
        super().__init__()
        self.log_probs = log_probs

    def forward(self, **inputs: Any) -> SimpleNamespace:
        found = self.log_probs.pop(0) if isinstance(self.log_probs, list) else self.log_probs
        zeros = torch.zeros_like(found)
        more = {"entropy": zeros, "mean_logits": zeros, "is_top1": zeros.bool()}
        return SimpleNamespace(log_probs=found, logits=found, **more)


def trainer(kind: Any, model: Any, **attributes: Any) -> Any:
    """A trainer of TRL with no more than its losses need."""
    made = kind.__new__(kind)
    same = lambda value: value  # noqa: E731
    made.accelerator = SimpleNamespace(device="cpu", gather=same, gather_for_metrics=same)
    made.model = model
    made.args = SimpleNamespace(max_length=None, center_rewards_coefficient=None)
    made.aux_loss_enabled = False
    made._metrics = {"train": defaultdict(list), "eval": defaultdict(list)}
    made._total_train_tokens = 0
    made._tp_size = 1
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def compare(ours: Any, theirs: Any, leaf: Any) -> None:
    gradients = [torch.autograd.grad(loss, leaf, retain_graph=True)[0] for loss in (ours, theirs)]
    assert float((ours - theirs).detach().abs()) < BOUND * max(1.0, float(theirs.detach().abs()))
    torch.testing.assert_close(*gradients, rtol=BOUND, atol=BOUND)


@pytest.mark.parametrize("name", AS_IN_TRL)
@pytest.mark.parametrize("sft_coef", [0.0, 0.3])
def test_losses_on_pairs_are_trl_s(name: str, sft_coef: float) -> None:
    from trl import DPOTrainer

    for seed in range(CASES):
        case = Ragged(seed)
        options = DpoLossConfig(loss_type=name, beta=case.beta, sft_coef=sft_coef, **AS_IN_TRL[name])
        reference = case.reference.chunk(2)
        inputs = {"input_ids": case.mask, "attention_mask": case.mask, "completion_mask": case.mask}
        theirs = trainer(
            DPOTrainer,
            Given(case.log_probs),
            loss_types=[name, "sft"],
            loss_weights=[1.0, sft_coef],
            beta=case.beta,
            label_smoothing=options.label_smoothing,
            f_divergence_type="reverse_kl",
            precompute_ref_logps=True,
            ld_alpha=None,
            use_weighting=False,
        ).compute_loss(
            Given(case.log_probs),
            inputs | {"ref_chosen_logps": reference[0], "ref_rejected_logps": reference[1]},
        )
        compare(preference_loss(case.terms(), options).mean(), theirs, case.leaf)


def test_the_loss_on_labelled_answers_is_trl_s() -> None:
    from trl import KTOTrainer

    for seed in range(CASES):
        case = Ragged(seed)
        weights = {"desirable_weight": 1.5, "undesirable_weight": 0.7}
        options = DpoLossConfig(loss_type="kto", beta=case.beta, **weights)
        own, others = case.log_probs.chunk(2)
        masks = case.mask.chunk(2)
        reference = case.reference.chunk(2)
        inputs = {"label": case.good, "ref_logps": reference[0], "ref_KL_logps": reference[1]}
        for prefix, mask in zip(("", "KL_"), masks, strict=True):
            inputs |= {f"{prefix}{part}": mask for part in ("input_ids", "attention_mask", "completion_mask")}
        model = Given([others, own])
        theirs = trainer(
            KTOTrainer,
            model,
            loss_type="kto",
            calculate_KL=True,
            precompute_ref_logps=True,
            beta=case.beta,
            **weights,
        ).compute_loss(model, inputs)
        compare(preference_loss(case.terms(), options).mean(), theirs, case.leaf)


def test_simpo_is_trl_s() -> None:
    from trl.experimental.cpo import CPOTrainer

    for seed in range(CASES):
        case = Ragged(seed)
        options = DpoLossConfig(loss_type="simpo", beta=case.beta, simpo_gamma=0.7)
        means = case.log_probs.sum(dim=1) / case.lengths
        theirs, _, _ = trainer(
            CPOTrainer,
            None,
            loss_type="simpo",
            beta=case.beta,
            simpo_gamma=0.7,
            label_smoothing=0.0,
            alpha=0.0,
        ).cpo_loss(*means.chunk(2))
        compare(preference_loss(case.terms(), options).mean(), theirs.mean(), case.leaf)


@pytest.mark.parametrize("margins", [False, True])
@pytest.mark.parametrize("centring", [None, 0.01])
def test_the_loss_of_reward_models_is_trl_s(margins: bool, centring: float | None) -> None:
    from trl import RewardTrainer

    for seed in range(CASES):
        case = Ragged(seed)
        terms = case.terms()
        scores = torch.cat([terms.chosen, terms.rejected]).detach().requires_grad_()
        chosen, rejected = scores.chunk(2)
        zeros = torch.zeros_like(chosen)
        ours = PairTerms(
            chosen,
            rejected,
            zeros,
            zeros,
            terms.chosen_tokens,
            terms.rejected_tokens,
            margins=case.margins if margins else zeros,
            good=case.good,
        )
        oracle = trainer(RewardTrainer, Given(scores.unsqueeze(1)))
        oracle.args.center_rewards_coefficient = centring
        inputs = {"input_ids": case.mask, "attention_mask": case.mask}
        theirs = oracle.compute_loss(oracle.model, inputs | ({"margin": case.margins} if margins else {}))
        compare(bradley_terry(ours, RmLossConfig(centring or 0.0)).mean(), theirs, scores)
