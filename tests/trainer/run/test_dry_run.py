"""A dry run refuses what training would refuse, in the same one line: settings, models, adapters, data."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
torch = pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")

import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.torch import load_file, save_file

from rewardkit.errors import ConfigError, OptionsError, RewardkitError
from rewardkit.trainer.checkpoint.save import NEEDED
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.load import load_causal_lm
from rewardkit.trainer.models.lora import gather_adapter, write_adapter
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.run.build import open_run, rehearse
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from rewardkit.trainer.run.preflight import check

MODEL = "actor_rollout_ref.model"
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
CRITIC = "algorithm.adv_estimator=gae"


def words(parquet: Path, model: Path, tmp_path: Path, *more: str) -> list[str]:
    return [
        f"data.train_files={parquet}",
        "data.train_batch_size=4",
        "data.max_prompt_length=64",
        "data.max_response_length=8",
        f"{MODEL}.path={model}",
        f"{ACTOR}.ppo_mini_batch_size=2",
        f"{ROLLOUT}.name=hf",
        f"{ROLLOUT}.n=2",
        "algorithm.adv_estimator=grpo",
        "reward.num_workers=1",
        "trainer.device=cpu",
        "trainer.val_before_train=false",
        f"trainer.default_local_dir={tmp_path}/out",
        *more,
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("data.seed=99999999999999999999", "data.seed must be from -2147483648 to 2147483647"),
        (f"{ROLLOUT}.temperature=.inf", "above 0, found inf"),
        (f"{ROLLOUT}.top_p=2", "above 0 and at most 1"),
        (f"{ROLLOUT}.val_kwargs.top_k=-5", "val_kwargs.top_k must be -1 or more"),
        (f"{ACTOR}.optim.lr=.nan", "0 or more, found nan"),
        (f"{ACTOR}.optim.betas=[0.9,1.5]", "0 and below 1"),
        ("critic.optim.min_lr_ratio=-1", "critic.optim.min_lr_ratio must be from 0 to 1"),
        (f"{ACTOR}.clip_ratio=-0.2", "clip_ratio must be 0 or more"),
        (f"{ACTOR}.clip_ratio_c=0.5", "clip_ratio_c must be above 1"),
        (f"{ACTOR}.entropy_coeff=.nan", "entropy_coeff must be a finite number"),
        ("algorithm.gamma=2", "algorithm.gamma must be from 0 to 1"),
        (f"{MODEL}.lora_rank=-4", "lora_rank must be 0 or more"),
        ("reward_model.batch_tokens=0", "reward_model.batch_tokens must be above 0"),
        ("trainer.profile_steps=[true]", "a list of whole numbers"),
    ],
)
def test_a_number_out_of_its_bounds_is_refused_with_them(given: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        run_checks(SETTINGS, load_config(None, words(tmp_path / "t.parquet", tmp_path, tmp_path, given)))
    assert said in str(refused.value)
    assert given.partition("=")[0].rpartition(".")[2] in str(refused.value)


def test_numbers_at_their_bounds_are_taken(tmp_path: Path) -> None:
    at_bounds = [
        "algorithm.gamma=1",
        "algorithm.lam=0",
        f"{ROLLOUT}.top_p=1",
        f"{ROLLOUT}.top_k=-1",
        f"{ACTOR}.optim.lr=0",
        f"{ACTOR}.grad_clip=.inf",
        "data.seed=-1",
    ]
    run_checks(SETTINGS, load_config(None, words(tmp_path / "t.parquet", tmp_path, tmp_path, *at_bounds)))


def change_config(folder: Path, **changed: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changed))


def cut_off(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def nothing(folder: Path) -> None:
    """As it is."""


Change = Callable[[Path], object]

MODELS: list[tuple[str, Change, list[str], str]] = [
    (
        "attention of a package that is not here",
        nothing,
        [f"{MODEL}.override_config.attn_implementation=flash_attention_2"],
        f"{MODEL}: override_config.attn_implementation=flash_attention_2: ",
    ),
    (
        "attention that a CPU cannot learn by",
        nothing,
        [f"{MODEL}.override_config.attn_implementation=flex_attention"],
        f"{MODEL}: override_config.attn_implementation=flex_attention cannot train on a CPU",
    ),
    (
        "attention that is a number",
        nothing,
        [f"{MODEL}.override_config.attn_implementation=3"],
        f"{MODEL}: override_config.attn_implementation must be a name, found 3",
    ),
    (
        "the critic's attention",
        nothing,
        [CRITIC, "critic.model.override_config.attn_implementation=zzz"],
        "critic.model: override_config.attn_implementation=zzz: ",
    ),
    (
        "no such class to wrap, where nothing is sharded",
        nothing,
        [
            f"{ACTOR}.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap=[NoSuch]",
            f"{ACTOR}.fsdp_config.dtype=float32",
            f"{MODEL}.enable_gradient_checkpointing=false",
        ],
        f"{MODEL}: LlamaForCausalLM has no layer of class NoSuch",
    ),
    (
        "no such class to wrap in the reference",
        nothing,
        [
            f"{ACTOR}.use_kl_loss=true",
            "actor_rollout_ref.ref.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap=[NoSuch]",
        ],
        f"{MODEL}: LlamaForCausalLM has no layer of class NoSuch",
    ),
    (
        "no layer to adapt",
        nothing,
        [f"{MODEL}.lora_rank=4", f"{MODEL}.target_modules=[zz_proj]"],
        f"{MODEL}: target_modules=['zz_proj']: ",
    ),
    (
        "an embedding to adapt",
        nothing,
        [f"{MODEL}.lora_rank=4", f"{MODEL}.target_modules=[embed_tokens]"],
        f"{MODEL}: target_modules includes model.embed_tokens, which is not a linear layer",
    ),
    (
        "a number to adapt",
        nothing,
        [f"{MODEL}.lora_rank=4", f"{MODEL}.target_modules=3"],
        f"{MODEL}: target_modules must be all-linear, a list of names, or a regex; found 3",
    ),
    (
        "all layers excluded",
        nothing,
        [f"{MODEL}.lora_rank=4", f"{MODEL}.exclude_modules=.*"],
        f"{MODEL}: target_modules=all-linear: All modules were excluded",
    ),
    (
        "a config that does not go together",
        nothing,
        [f"{MODEL}.override_config.num_attention_heads=3"],
        f"{MODEL}: the weights in MODEL do not match the config: model.layers.0.self_attn.o_proj.weight has",
    ),
    (
        "an activation that there is not",
        nothing,
        [f"{MODEL}.override_config.hidden_act=nosuch"],
        f"{MODEL}: cannot build a model from",
    ),
    (
        "weights of fewer layers",
        nothing,
        [f"{MODEL}.override_config.num_hidden_layers=5"],
        f"{MODEL}: the weight files of MODEL have no model.layers.",
    ),
    (
        "a type of model that there is not",
        lambda folder: change_config(folder, model_type="nosuch"),
        [],
        f"{MODEL}: cannot load a model from",
    ),
    (
        "no weights",
        lambda folder: (folder / "model.safetensors").unlink(),
        [],
        f"{MODEL}: MODEL has no weights",
    ),
    (
        "weights that are cut off",
        cut_off,
        [],
        f"{MODEL}: MODEL/model.safetensors is truncated or not a safetensors file: ",
    ),
    (
        "the critic's weights",
        lambda folder: (folder / "model.safetensors").unlink(),
        [CRITIC, f"{MODEL}.path=GOOD", "critic.model.path=MODEL"],
        "critic.model: MODEL has no weights",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "more", "said"), [m[1:] for m in MODELS], ids=[m[0] for m in MODELS])
def test_a_model_that_could_not_be_trained_is_refused_as_training_does(
    change: Change,
    more: list[str],
    said: str,
    model_folder: Path,
    parquet: Path,
    tmp_path: Path,
    world: World,
) -> None:
    model = tmp_path / "model"
    shutil.copytree(model_folder, model)
    change(model)
    given = words(parquet, model, tmp_path, *more)
    given = [w.replace("=GOOD", f"={model_folder}").replace("=MODEL", f"={model}") for w in given]
    assert_refused_alike(load_config(None, given), said.replace("MODEL", str(model)), world)


def assert_refused_alike(config: Any, said: str, world: World) -> None:
    """A dry run and a run end in the same line, which begins as said."""
    with pytest.raises(RewardkitError) as dry:
        rehearse(config)
    with pytest.raises(RewardkitError) as real, open_run(config, world):
        pass
    assert str(dry.value).startswith(said), str(dry.value)
    assert str(real.value) == str(dry.value)
    assert "\n" not in str(dry.value)


def test_validation_that_is_left_without_a_row_is_refused(
    model_folder: Path, parquet: Path, tmp_path: Path, world: World
) -> None:
    table = pq.read_table(parquet)
    long = [[{"role": "user", "content": "long " * 100}]] * len(table)
    column = pa.array(long, table.schema.field("prompt").type)
    pq.write_table(
        table.set_column(table.schema.get_field_index("prompt"), "prompt", column), tmp_path / "long.parquet"
    )
    more = (f"data.val_files={tmp_path}/long.parquet", "data.filter_overlong_prompts=true")
    given = words(parquet, model_folder, tmp_path, *more)
    assert_refused_alike(load_config(None, given), "data.val_files has no row that can be used", world)


@pytest.fixture
def adapter(model_folder: Path, tmp_path: Path, world: World) -> Path:
    model = load_causal_lm(str(model_folder))
    adapted = prepare(model, ModelConfig("-", lora_rank=4), world.device, FsdpConfig())
    write_adapter(*gather_adapter(adapted), tmp_path / "adapter")
    return tmp_path / "adapter"


def narrower(folder: Path) -> None:
    tensors = load_file(folder / "adapter_model.safetensors")
    cut = {name: tensor[:, :3].contiguous() for name, tensor in tensors.items()}
    save_file(cut, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def of_another_kind(folder: Path) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(config | {"peft_type": "IA3"}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (narrower, "the adapter in ADAPTER does not fit this model: "),
        (of_another_kind, "the adapter in ADAPTER has the type IA3; expected LORA"),
        (lambda folder: (folder / "adapter_config.json").write_text("{no"), "lora_adapter_path=ADAPTER: "),
        (
            lambda folder: (folder / "adapter_model.safetensors").unlink(),
            "cannot read ADAPTER/adapter_model.safetensors: No such file",
        ),
        (lambda folder: shutil.rmtree(folder), "lora_adapter_path=ADAPTER contains no adapter: "),
    ],
)
def test_an_adapter_that_could_not_be_trained_is_refused_as_training_does(
    change: Change, said: str, adapter: Path, model_folder: Path, parquet: Path, tmp_path: Path, world: World
) -> None:
    change(adapter)
    config = load_config(None, words(parquet, model_folder, tmp_path, f"{MODEL}.lora_adapter_path={adapter}"))
    assert_refused_alike(config, f"{MODEL}: {said.replace('ADAPTER', str(adapter))}", world)


def test_a_critic_of_another_tokenizer_is_refused(
    model_folder: Path, parquet: Path, tmp_path: Path, world: World
) -> None:
    small = tmp_path / "small"
    shutil.copytree(model_folder, small)
    tensors = load_file(small / "model.safetensors")
    tensors["model.embed_tokens.weight"] = tensors["model.embed_tokens.weight"][:50].contiguous()
    save_file(tensors, small / "model.safetensors", metadata={"format": "pt"})
    change_config(small, vocab_size=50)
    config = load_config(None, words(parquet, model_folder, tmp_path, CRITIC, f"critic.model.path={small}"))
    assert_refused_alike(
        config, f"critic.model: {small} has embeddings for 50 tokens, but the tokenizer", world
    )


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ([{"content": "x"}], "message 0 of the prompt has no role"),
        (
            [{"role": "user", "content": [{"type": "image", "text": None}]}],
            "message 0 of the prompt: content must be text or a list of text parts",
        ),
    ],
)
def test_a_prompt_that_no_template_takes_is_refused_with_its_row(
    prompt: Any, said: str, model_folder: Path, tmp_path: Path, world: World
) -> None:
    good = {"data_source": "gsm8k", "prompt": [{"role": "user", "content": "x"}], "ground_truth": "4"}
    table = pa.Table.from_pylist([{**good, "prompt": prompt}] * 8)
    pq.write_table(table, tmp_path / "d.parquet")
    config = load_config(None, words(tmp_path / "d.parquet", model_folder, tmp_path))
    assert_refused_alike(config, f"{tmp_path}/d.parquet, row 0: {said}", world)


def test_parts_of_text_are_one_text(model_folder: Path, tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Tom has "}, {"type": "text", "text": "3 apples."}]
    row = {"data_source": "gsm8k", "prompt": [{"role": "user", "content": parts}], "ground_truth": "4"}
    pq.write_table(pa.Table.from_pylist([row] * 8), tmp_path / "d.parquet")
    rehearse(load_config(None, words(tmp_path / "d.parquet", model_folder, tmp_path)))


def test_a_template_that_fails_is_said_with_the_row(
    model_folder: Path, parquet: Path, tmp_path: Path, world: World
) -> None:
    model = tmp_path / "model"
    shutil.copytree(model_folder, model)
    (model / "chat_template.jinja").write_text("{{ raise_exception('no users here') }}")
    config = load_config(None, words(parquet, model, tmp_path))
    assert_refused_alike(
        config, f"{parquet}, row 0: the chat template cannot render this prompt: no users here", world
    )


def test_names_of_layers_that_the_model_has_not_are_said(
    model_folder: Path, parquet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = [f"{MODEL}.lora_rank=4", f"{MODEL}.target_modules=[q_proj,qkv_proj]"]
    rehearse(load_config(None, words(parquet, model_folder, tmp_path, *more)))
    assert f"{MODEL}.target_modules: the model has no layer qkv_proj" in capsys.readouterr().err


def test_a_dry_run_loads_no_weight(
    model_folder: Path, parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loaded(*_: object) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr("rewardkit.trainer.models.load._load", loaded)
    monkeypatch.setattr("rewardkit.trainer.models.shards.load", loaded)
    rehearse(load_config(None, words(parquet, model_folder, tmp_path, CRITIC)))
    assert not (tmp_path / "out").exists()


@pytest.fixture
def trained(model_folder: Path, parquet: Path, tmp_path: Path, world: World) -> list[str]:
    """The settings of a run whose folder has a checkpoint."""
    given = words(parquet, model_folder, tmp_path, "trainer.total_training_steps=1", "trainer.logger=[jsonl]")
    with open_run(load_config(None, given), world) as run:
        run.checkpoints.save(1, {"training/global_step": 1.0}, last=True)
    return given


def test_a_checkpoint_that_a_run_cannot_go_on_from_is_refused_as_training_does(
    trained: list[str], model_folder: Path, tmp_path: Path, world: World
) -> None:
    rehearse(load_config(None, trained))
    checkpoint = tmp_path / "out" / "global_step_1"
    config = load_config(None, [*trained, CRITIC])
    assert_refused_alike(
        config, f"{checkpoint} contains no critic, which this algorithm.adv_estimator needs", world
    )

    config = load_config(None, [*trained, f"{MODEL}.lora_rank=4"])
    assert_refused_alike(config, f"{checkpoint}/actor is a checkpoint of a different model: ", world)

    config = load_config(None, [*trained, "data.train_max_samples=5"])
    assert_refused_alike(config, "the checkpoint was saved with 24 training rows", world)

    (checkpoint / "trainer.json").write_text("{}")
    config = load_config(None, trained)
    assert_refused_alike(
        config,
        f"{checkpoint}/trainer.json has no {', '.join(sorted(NEEDED))}",
        world,
    )

    (checkpoint / "trainer.json").write_text("{cut")
    assert_refused_alike(config, f"cannot read {checkpoint}/trainer.json: ", world)


def test_a_reward_model_that_would_not_load_is_refused_as_training_does(
    model_folder: Path, parquet: Path, tmp_path: Path, world: World
) -> None:
    model = tmp_path / "rm"
    shutil.copytree(model_folder, model)
    more = ["reward_model.enable=true", f"reward_model.model.path={model}"]
    config = load_config(None, words(parquet, model_folder, tmp_path, *more))
    key = "reward_model.model.path"
    with pytest.raises(ConfigError, match=f"{key}: {model} has no score head"):
        check(config)
    (model / "model.safetensors").unlink()
    assert_refused_alike(config, f"{key}: {model} has no weights", world)


def test_values_of_the_wrong_type_are_one_line(
    model_folder: Path, parquet: Path, tmp_path: Path, world: World
) -> None:
    with pytest.raises(ConfigError, match=r"^trainer.logger .* found 3$"):
        run_checks(SETTINGS, load_config(None, words(parquet, model_folder, tmp_path, "trainer.logger=3")))
    with pytest.raises(OptionsError, match=r"gsm8k .* found 3$"):
        check(load_config(None, words(parquet, model_folder, tmp_path, "reward.options.gsm8k=3")))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("data.seed=${data.nosuch}", "data.seed: Interpolation key 'data.nosuch' not found"),
        ("data.seed=${data.seed}", "data.seed: "),
        ("data.prompt_key='prompt", "data.prompt_key: .*YAML"),
    ],
)
def test_a_value_that_cannot_be_read_is_one_line(given: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        load_config(None, words(tmp_path / "t.parquet", tmp_path, tmp_path, given))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["default_local_dir", "validation_data_dir"])
def test_a_folder_that_cannot_be_made_is_refused(
    name: str, model_folder: Path, parquet: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    given = words(parquet, model_folder, tmp_path, f"trainer.{name}={tmp_path}/file/x")
    with pytest.raises(ConfigError, match=f"^trainer.{name}={tmp_path}/file/x "):
        check(load_config(None, given))
