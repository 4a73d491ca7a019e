"""Settings for reward models and preference optimisation, which extend the settings for SFT.

`verl/pairs.json` contains TRL's and OpenRLHF's names, and `checks.py` contains checks across settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rewardkit.trainer.config.allowed import ABOVE_0, FINITE, NOT_NEGATIVE, Interval, NamesOf, allowed
from rewardkit.trainer.config.root import StageConfig
from rewardkit.trainer.config.schema import Schema
from rewardkit.trainer.sft.config import GivenConfig, RowsConfig, SftOptimConfig
from rewardkit.trainer.verl.translation import VerlNames


@dataclass
class PairDataConfig(RowsConfig):
    prompt_key: str | None = None
    """Column with prompts (strings or lists of messages). Null uses the column `prompt` if there is one, and
    otherwise the messages before the answers."""
    chosen_key: str = "chosen"
    """Column with the better answer: a string, or a list of messages that ends with the answer."""
    rejected_key: str = "rejected"
    """Column with the other answer."""
    margin_key: str | None = None
    """Column with the margin, by which the score of the better answer should be higher. Null uses the column
    `margin` if there is one."""
    completion_key: str = "completion"
    """Column with the answer, for losses that need no pairs (`kto`)."""
    label_key: str = "label"
    """Column that is true for good answers, for losses that need no pairs (`kto`)."""
    truncation: str = allowed("error", ("error", "skip"))
    """Treatment of rows with an answer that, with its prompt, is longer than `max_length`. `error` stops the
    run, and `skip` skips the row. Answers are never truncated."""


@dataclass
class RmLossConfig:
    center_rewards_coefficient: float = allowed(0.0, NOT_NEGATIVE)
    """Weight of (chosen + rejected)^2 in the loss, which keeps the mean score near 0."""


@dataclass
class DpoLossConfig:
    loss_type: str = allowed("sigmoid", NamesOf("rewardkit.trainer.pairs.losses:PREFERENCE_LOSSES"))
    """Loss: `sigmoid` (DPO), `cdpo`, `robust`, `ipo`, `ipo_sum`, `hinge`, `sigmoid_norm`, `apo_zero`,
    `apo_down`, `bco_pair`, `nca_pair`, `sppo_hard`, `simpo` or `kto`. See docs/preference_losses.md."""
    beta: float = allowed(0.1, ABOVE_0)
    """Scale of the implicit rewards. The lower it is, the further the policy may move from the reference."""
    label_smoothing: float = allowed(0.0, Interval(0, 0.5, open_high=True))
    """Probability that a pair is labelled wrongly, for `cdpo` and `robust`."""
    simpo_gamma: float = allowed(0.5, FINITE)
    """Margin between the rewards, for `simpo`."""
    desirable_weight: float = allowed(1.0, NOT_NEGATIVE)
    """Weight of good answers, for `kto`."""
    undesirable_weight: float = allowed(1.0, NOT_NEGATIVE)
    """Weight of bad answers, for `kto`."""
    sft_coef: float = allowed(0.0, NOT_NEGATIVE)
    """Weight of the SFT loss on the chosen answers, which is added to the loss."""
    reference_model_path: str | None = None
    """Folder or hub name of the reference model. Null uses the model as it is before training."""


@dataclass
class RmConfig(GivenConfig):
    data: PairDataConfig = field(default_factory=PairDataConfig)
    optim: SftOptimConfig = field(default_factory=lambda: SftOptimConfig(lr=9e-6))
    trainer: StageConfig = field(default_factory=lambda: StageConfig(total_epochs=1, experiment_name="rm"))
    rm: RmLossConfig = field(default_factory=RmLossConfig)


@dataclass
class DpoConfig(GivenConfig):
    data: PairDataConfig = field(default_factory=PairDataConfig)
    optim: SftOptimConfig = field(default_factory=lambda: SftOptimConfig(lr=1e-6))
    trainer: StageConfig = field(default_factory=lambda: StageConfig(total_epochs=1, experiment_name="dpo"))
    dpo: DpoLossConfig = field(default_factory=DpoLossConfig)


RM = Schema(RmConfig, Path(__file__).parent / "rm_recipes", VerlNames.read("pairs", ""))
DPO = Schema(DpoConfig, Path(__file__).parent / "dpo_recipes", VerlNames.read("pairs", ""))
