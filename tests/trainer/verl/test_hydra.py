"""Files with a `defaults` list, and Hydra's options: the same configuration as Hydra makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")


from rewardkit.cli import run as cli
from rewardkit.errors import ConfigError
from rewardkit.trainer.config.load import config_notes, load_config
from rewardkit.verl_keys import config_file

GIVEN = ["data.train_files=x", "actor_rollout_ref.model.path=y"]

MINE = """
hydra:
  searchpath:
    - file://not/here
defaults:
  - ppo_trainer
  - learner@actor_rollout_ref.actor: ${kind}_actor
  - kind: slow
  - override kind: quick
  - optional nowhere: at_all
  - _self_
data:
  train_batch_size: 64
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "mine.yaml": MINE,
        "kind/quick.yaml": "# @package _global_\nalgorithm: {gamma: 0.5}\n",
        "kind/slow.yaml": "# @package _global_\nalgorithm: {gamma: 0.9}\n",
        "learner/quick_actor.yaml": "defaults:\n  - ../rate@optim: high\n  - base\nshuffle: true\n",
        "learner/base.yaml": "ppo_epochs: 3\nshuffle: false\n",
        "rate/high.yaml": "lr: 1e-3\n",
    }
    for name, text in files.items():
        path = tmp_path / "config" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "config"


def test_files_are_composed_and_changed_by_the_command_line(folder: Path) -> None:
    config = load_config(folder / "mine.yaml", [*GIVEN, "data.train_batch_size=32"])
    actor = config.actor_rollout_ref.actor
    assert (actor.optim.lr, actor.ppo_epochs, actor.shuffle) == (1e-3, 3, True)
    assert (config.data.train_batch_size, config.algorithm.gamma) == (32, 0.5)
    assert config.data.max_prompt_length == 512, "of ppo_trainer, whose defaults are ours"
    notes = [line for line in config_notes(folder / "mine.yaml", GIVEN) if "vLLM" not in line]
    assert notes == []


def test_hydra_s_options_name_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", f"--config-path={folder}", "--config-name=mine", "--explain", "--json", *GIVEN]
    cli(words)
    settings = {one["key"]: one for one in json.loads(capsys.readouterr().out)}
    assert settings["data.train_batch_size"]["value"] == 64
    assert config_file(None, "ppo_trainer.yaml", "ppo_trainer") is None
    assert cli(["train", "-cp", str(folder), "-cn", "ppo_megatron_trainer"]) == 2
    line = capsys.readouterr().err
    assert "ppo_megatron_trainer.yaml" in line
    assert "only verl's config ppo_trainer" in line


def test_a_file_that_the_defaults_name_and_nobody_has_is_said(folder: Path) -> None:
    (folder / "mine.yaml").write_text("defaults: [ppo_megatron_trainer]")
    with pytest.raises(ConfigError, match=r"mine\.yaml: `defaults` names 'ppo_megatron_trainer'"):
        load_config(folder / "mine.yaml", GIVEN)
