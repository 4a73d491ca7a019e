"""Checks the settings for training on preferences before a model is loaded."""

from __future__ import annotations

from rewardkit.errors import ConfigError
from rewardkit.model_folders import why_no_model
from rewardkit.trainer.pairs.config import DpoConfig
from rewardkit.trainer.pairs.losses import PREFERENCE_LOSSES, PreferenceLoss
from rewardkit.trainer.run.checks import Check
from rewardkit.trainer.run.rules import Rule, check_rules
from rewardkit.trainer.sft.checks import CHECKS


def _loss(config: DpoConfig) -> PreferenceLoss:
    return PREFERENCE_LOSSES[config.dpo.loss_type]


REFUSED: tuple[Rule, ...] = (
    (
        lambda c: c.dpo.label_smoothing and not _loss(c).smooths,
        "dpo.label_smoothing has no effect with dpo.loss_type={c.dpo.loss_type}; set dpo.loss_type=cdpo or "
        "robust, or unset label_smoothing",
    ),
    (
        lambda c: c.dpo.reference_model_path and not _loss(c).reference,
        "dpo.loss_type={c.dpo.loss_type} uses no reference; unset dpo.reference_model_path",
    ),
    (
        lambda c: c.dpo.sft_coef and _loss(c).labelled,
        "dpo.loss_type={c.dpo.loss_type} has no chosen answers, on which dpo.sft_coef would train; unset it",
    ),
)


def _check_reference(config: DpoConfig) -> None:
    path = config.dpo.reference_model_path
    if path is not None and (reason := why_no_model(path)):
        raise ConfigError(f"dpo.reference_model_path: {reason}")


DPO_CHECKS: tuple[tuple[str, Check], ...] = (
    *CHECKS,
    ("losses", lambda c: check_rules(c, REFUSED)),
    ("reference", _check_reference),
)
"""Checks to run, in order, before the tokenizer, rows and model are loaded."""
