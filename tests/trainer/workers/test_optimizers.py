"""Optimizers that a setting names: their arguments, their groups, their state in a checkpoint and in host memory."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")
pytest.importorskip("transformers", reason="the trainer needs transformers: pip install 'rewardkit[train]'")

from rewardkit.cli import run
from rewardkit.errors import ConfigError
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import OptimConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.models.sharding import full_tensors
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from rewardkit.trainer.workers.optimizers import make_optimizer

KEY = "actor_rollout_ref.actor.optim"
TESTED = [
    "AdamW",
    "Adam",
    "NAdam",
    "Adafactor",
    "SGD;override_optimizer_config={momentum: 0.9}",
    "AdamW;override_optimizer_config={amsgrad: true, eps: 1e-6}",
    "AdamW;no_weight_decay=[norm,embed];weight_decay=0.1;lr_scheduler_type=wsd",
]
Settings = Callable[..., Config]


@pytest.fixture
def settings(model_folder: Path, parquet: Path) -> Settings:
    def make(out: Path, *more: str) -> Config:
        return load_config(
            "tiny-cpu",
            [
                f"data.train_files={parquet}",
                "data.train_batch_size=4",
                "data.max_response_length=4",
                f"actor_rollout_ref.model.path={model_folder}",
                "actor_rollout_ref.actor.ppo_mini_batch_size=4",
                "actor_rollout_ref.actor.entropy_coeff=0.1",  # an untrained model never earns a reward
                "trainer.total_training_steps=3",
                "trainer.save_freq=1",
                "trainer.val_before_train=false",
                "trainer.test_freq=-1",
                "trainer.logger=[jsonl]",
                f"trainer.default_local_dir={out}",
                *more,
            ],
        )

    return make


def words_of(case: str) -> list[str]:
    name, *more = case.split(";")
    return [f"{KEY}.optimizer={name}", *(f"{KEY}.{word}" for word in more)]


def trained(config: Config, world: World) -> dict[str, Any]:
    with open_run(config, world) as opened:
        train(opened)
        return {name: tensor.clone() for name, tensor in full_tensors(opened.actor.model)}


@pytest.mark.parametrize("case", TESTED)
def test_a_resumed_run_ends_as_one_that_went_on(
    case: str, settings: Settings, world: World, tmp_path: Path
) -> None:
    words = [*words_of(case), f"{KEY}.lr=1e-2"]
    whole = trained(settings(tmp_path / "whole", *words), world)
    trained(
        settings(tmp_path / "run", *words, f"{KEY}.total_training_steps=3", "trainer.total_training_steps=2"),
        world,
    )
    resumed = trained(settings(tmp_path / "run", *words, f"{KEY}.total_training_steps=3"), world)
    assert all(torch.equal(resumed[name], tensor) for name, tensor in whole.items())


@pytest.mark.parametrize("case", TESTED[:4])
def test_a_state_in_host_memory_changes_nothing(
    case: str, settings: Settings, world: World, tmp_path: Path
) -> None:
    words = [*words_of(case), f"{KEY}.lr=1e-2"]
    offloaded = "actor_rollout_ref.actor.fsdp_config.optimizer_offload=true"
    there, here = (
        trained(settings(tmp_path / name, *words, *more), world)
        for name, more in (("there", [offloaded]), ("here", []))
    )
    assert all(torch.equal(there[name], tensor) for name, tensor in here.items())


def test_parameters_named_in_no_weight_decay_do_not_shrink(model: Any) -> None:
    config = OptimConfig(lr=0.1, weight_decay=0.5, no_weight_decay=["norm", "embed"])
    optimizer = make_optimizer(model.named_parameters(), config)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    kept = {name for name, parameter in model.named_parameters() if torch.equal(parameter, before[name])}
    assert kept == {name for name in before if "norm" in name or "embed" in name}


def test_muon_trains_matrices_and_says_so_of_others() -> None:
    config = OptimConfig(lr=0.1, optimizer="Muon")
    matrix = torch.nn.Parameter(torch.randn(4, 4))
    optimizer = make_optimizer([("w", matrix)], config)
    before = matrix.detach().clone()
    matrix.grad = torch.randn(4, 4)
    optimizer.step()
    assert not torch.equal(matrix, before)
    with pytest.raises(ConfigError, match=r"optim\.optimizer=Muon: .*2D"):
        make_optimizer([("b", torch.nn.Parameter(torch.zeros(4)))], config)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["optimizer=AdamX"], "AdamX is not an optimizer in torch.optim"),
        (["optimizer=Optimizer", "optimizer_impl=json"], "is not an optimizer in json"),
        (["optimizer_impl=no_such_module"], "optimizer_impl=no_such_module cannot be imported"),
        (["override_optimizer_config={epz: 1e-6}"], "did you mean eps"),
        (["lr_scheduler_type=lineal"], "linear"),
    ],
)
def test_what_an_optimizer_does_not_know_is_refused_before_a_model_is_loaded(
    words: list[str], said: str, settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as found:
        run_checks(SETTINGS, settings(tmp_path, *(f"{KEY}.{word}" for word in words)))
    assert said in str(found.value)


def test_sft_takes_the_same_optimizers(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "train.jsonl").write_text(json.dumps({"prompt": "1+1=", "response": "2"}) + "\n")
    words = [f"data.train_files={file}", f"model.path={model_folder}", "optim.optimizer=AdamX"]
    assert run(["sft", *words]) == ConfigError.exit_code
    assert "optim.optimizer=AdamX" in capsys.readouterr().err
