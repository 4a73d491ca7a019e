"""Settings that have no effect are refused, and TRL's and OpenRLHF's names are understood."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.allowed import check_values
from rewardkit.trainer.config.load import load_settings
from rewardkit.trainer.pairs.checks import REFUSED
from rewardkit.trainer.pairs.config import DPO, RM
from rewardkit.trainer.run.rules import check_rules

NEEDED = ["data.train_files=x", "model.path=y"]


@pytest.mark.parametrize(
    "words",
    [
        ["dpo.loss_type=ipo", "dpo.label_smoothing=0.1"],
        ["dpo.loss_type=simpo", "dpo.reference_model_path=z"],
        ["dpo.loss_type=kto", "dpo.sft_coef=1"],
        ["dpo.loss_type=robust", "dpo.label_smoothing=0.5"],
        ["dpo.loss_type=dpo"],
    ],
)
def test_a_setting_that_would_have_no_effect_is_refused(words: list[str]) -> None:
    config = load_settings(DPO, None, [*NEEDED, *words])
    with pytest.raises(ConfigError, match=r"dpo\."):
        check_values(config)
        check_rules(config, REFUSED)


def test_names_of_trl_and_openrlhf_are_understood() -> None:
    given = ["beta=0.2", "loss_type=ipo", "learning_rate=1e-5", "nll_loss_coef=0.5", "max_len=7"]
    config = load_settings(DPO, None, [*NEEDED, *given])
    assert (config.dpo.beta, config.dpo.loss_type, config.dpo.sft_coef) == (0.2, "ipo", 0.5)
    assert (config.optim.lr, config.data.max_length) == (1e-5, 7)
    centred = load_settings(RM, None, [*NEEDED, "center_rewards_coefficient=0.01"])
    assert centred.rm.center_rewards_coefficient == 0.01
    with pytest.raises(ConfigError, match="beta"):
        load_settings(RM, None, [*NEEDED, "beta=0.1"])
