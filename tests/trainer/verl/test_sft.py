"""verl's SFT configurations of every release: their defaults, their names, and the files where they lie."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")

from omegaconf import OmegaConf

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.load import load_settings, read_layers
from rewardkit.trainer.config.schema import leaves
from rewardkit.trainer.sft.config import SETTINGS, SftConfig
from rewardkit.trainer.verl.hydra import compose
from rewardkit.verl_keys import DEFAULTS
from tests.test_verl_files import files, needs_corpus

GIVEN = ["data.train_files=x", "model.path=y"]
TABLE = json.loads((DEFAULTS / "sft.json").read_text("utf-8"))["defaults"]


def test_every_default_that_verl_had_is_taken_without_a_word() -> None:
    known = dict(leaves(SftConfig()))
    for key, values in TABLE.items():
        for value, _ in values:
            tree: dict[str, Any] = {}
            *sections, name = key.split(".")
            inside = tree
            for section in sections:
                inside = inside.setdefault(section, {})
            inside[name] = value
            found = SETTINGS.translate(tree, "verl", 1)
            assert found.notes == [] and set(found.values) <= set(known), (key, value)


def test_every_key_is_ours_or_a_change_of_it_is_named() -> None:
    known = dict(leaves(SftConfig()))
    unsaid = []
    for key in TABLE:
        if key in known or SETTINGS.verl.keys.ours(key) in known:
            continue
        try:
            line = " ".join(SETTINGS.verl.keys.notes([key], {key: "changed"}, "x"))
        except ConfigError as error:
            line = str(error)
        unsaid += [key] if "there is no such setting" in line else []
    assert unsaid == []


@pytest.mark.parametrize(
    ("verl", "ours"),
    [
        (["model.partial_pretrain=z"], ["model.path=z"]),
        (["model.fsdp_config.cpu_offload=true"], ["engine.param_offload=true"]),
        (["model.fsdp_config.model_dtype=bf16"], ["engine.model_dtype=bf16"]),
        (["optim.warmup_steps_ratio=0.3", "optim.lr_scheduler=constant"],
         ["optim.lr_warmup_steps_ratio=0.3", "optim.lr_scheduler_type=constant"]),
        (["ulysses_sequence_parallel_size=2", "use_remove_padding=true"],
         ["engine.ulysses_sequence_parallel_size=2"]),
        (["data.micro_batch_size=16", "trainer.seed=7"], ["data.micro_batch_size_per_gpu=8", "data.seed=7"]),
        (["data.multiturn.messages_key=m"], ["data.messages_key=m"]),
        (["model.custom_chat_template=x.jinja"], ["data.chat_template=x.jinja"]),
        (["+data.prompt_dict_keys=['question']"], ["data.prompt_dict_keys=[question]"]),
    ],
)  # fmt: skip
def test_older_names_mean_the_same(verl: list[str], ours: list[str]) -> None:
    two = [*GIVEN, "trainer.n_gpus_per_node=2"]
    given = [
        word for word in two if not any("partial_pretrain" in v for v in verl) or "model.path" not in word
    ]
    assert load_settings(SETTINGS, None, [*given, *verl]) == load_settings(SETTINGS, None, [*two, *ours])
    assert read_layers(None, [*given, *verl], SETTINGS).notes == []


@needs_corpus
def test_the_files_of_every_release_train() -> None:
    found = files("sft_trainer")
    for path in found:
        given: Any = OmegaConf.to_container(compose(path))
        layer = SETTINGS.translate(given, str(path), 1)
        assert layer.notes == [], path
    assert len(found) >= 10
