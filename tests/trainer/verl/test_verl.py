"""verl's command lines: each key means the same, or is taken with a line, or is refused for a true reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import pytest

pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")

from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.trainer.config import load, workers
from rewardkit.trainer.config.load import config_notes, load_config
from rewardkit.trainer.config.root import Config, logger_names
from rewardkit.trainer.rollout import vllm
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from tests.conftest import REFERENCE_DATA

GIVEN = ["data.train_files=x", "data.val_files=x", "actor_rollout_ref.model.path=y", "critic.model.path=y"]
FOUNDING = [
    "data.train_batch_size=16",
    "data.max_prompt_length=512",
    "data.max_response_length=256",
    "actor_rollout_ref.actor.optim.lr=1e-6",
    "actor_rollout_ref.actor.ppo_mini_batch_size=4",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8",
    "actor_rollout_ref.rollout.tensor_model_parallel_size=1",
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.4",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4",
    "critic.optim.lr=1e-5",
    "critic.ppo_micro_batch_size_per_gpu=4",
    "algorithm.kl_ctrl.kl_coef=0.001",
    "trainer.logger=console",
    "trainer.val_before_train=False",
    "trainer.n_gpus_per_node=1",
    "trainer.nnodes=1",
    "trainer.save_freq=10",
    "trainer.test_freq=10",
    "trainer.total_epochs=3",
]
HF = "actor_rollout_ref.rollout.name=hf"
SCRIPTS = REFERENCE_DATA / "verl_scripts.jsonl"


@pytest.fixture(params=[True, False], ids=["vllm", "no vllm"])
def vllm_is_there(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    for module in (load, workers, vllm):
        monkeypatch.setattr(module, "find_spec", lambda name: object() if request.param else None)
    load.read_defaults.cache_clear()
    yield bool(request.param)
    load.read_defaults.cache_clear()


def test_the_founding_command_runs_with_vllm_where_it_is_and_transformers_elsewhere(
    vllm_is_there: bool,
) -> None:
    config = load_config(None, [*FOUNDING, *GIVEN])
    assert config.actor_rollout_ref.rollout.name == ("vllm" if vllm_is_there else "hf")
    assert config.actor_rollout_ref.rollout.gpu_memory_utilization == 0.4
    assert config.actor_rollout_ref.actor.optim.lr == 1e-6
    assert (config.trainer.val_before_train, config.trainer.total_epochs) == (False, 3)
    assert logger_names(config) == ["console"]
    lines = [*config_notes(None, [*FOUNDING, *GIVEN]), *run_checks(SETTINGS, config)]
    if vllm_is_there:
        assert lines == []
    else:
        chosen, ignored = lines
        assert "rollout.name=hf: transformers generates" in chosen
        assert ignored.endswith("no effect: gpu_memory_utilization")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verl", "ours"),
    [
        ("critic.model.fsdp_config.param_offload=true", "critic.fsdp_config.param_offload=true"),
        (
            "reward_model.reward_kwargs.overlong_buffer_cfg.len=7",
            "reward_model.overlong_buffer.len=7",
        ),
        (
            "+reward.custom_reward_function.reward_kwargs.max_chars=12",
            "+custom_reward_function.reward_kwargs.max_chars=12",
        ),
        ("actor_rollout_ref.rollout.load_format=safetensors", "actor_rollout_ref.rollout.load_format=auto"),
        (
            "actor_rollout_ref.actor.ppo_micro_batch_size=64",
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
        ),
        (
            "actor_rollout_ref.ref.log_prob_micro_batch_size=8",
            "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=1",
        ),
        ("actor_rollout_ref.actor.fsdp_config.strategy=fsdp", "actor_rollout_ref.actor.strategy=fsdp"),
        ("trainer.remove_previous_ckpt_in_save=true", "trainer.max_ckpt_to_keep=1"),
        ("actor_rollout_ref.actor.policy_loss.tau_pos=2", "actor_rollout_ref.actor.tau_pos=2"),
        (
            "actor_rollout_ref.actor.use_torch_compile=false",
            "actor_rollout_ref.actor.fsdp_config.use_torch_compile=false",
        ),
    ],
)
def test_another_name_means_the_same(verl: str, ours: str) -> None:
    sixteen = ["trainer.n_gpus_per_node=8", "trainer.nnodes=2", "actor_rollout_ref.rollout.name=hf"]
    assert load_config(None, [*GIVEN, *sixteen, verl]) == load_config(None, [*GIVEN, *sixteen, ours])
    assert config_notes(None, [*GIVEN, *sixteen, verl]) == []


@cache
def without() -> Config:
    """What is loaded where nothing else is said."""
    return load_config(None, [*GIVEN, HF])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("critic.use_torch_compile=True", "log probabilities"),
        ("actor_rollout_ref.actor.use_kl_loss=", "is empty"),
        ("ray_kwargs.ray_init.num_cpus=4", "trainer.launcher=ray"),
        ("actor_rollout_ref.rollout.engine_kwargs.sglang.attention_backend=fa3", "for another engine"),
        ("actor_rollout_ref.rollout.data_parallel_size=1", None),
        ("actor_rollout_ref.rollout.data_parallel_size=4", "has its own engine"),
        ("actor_rollout_ref.actor.fsdp_config.wrap_policy.min_num_params=9", "sharded as a unit"),
        ("reward_model.reward_manager=prime", None),
        ("model_engine=fsdp", None),
        ("actor_rollout_ref.model.lora.merge=True", "rollout.lora_sync"),
        ("data.image_key=pictures", "pictures are read from the columns"),
        ("reward.reward_model.rollout.name=vllm", "reward_model.backend"),
        ("data.sampler.class_name=RandomCurriculumSampler", None),
    ],
)
def test_what_changes_no_result_is_taken_and_said(word: str, line: str | None) -> None:
    assert load_config(None, [*GIVEN, HF, word]) == without()
    notes = config_notes(None, [*GIVEN, HF, word])
    assert notes == [] if line is None else line in notes[0] and len(notes) == 1


def test_a_section_that_is_switched_off_may_hold_anything() -> None:
    off = [
        "data.image_key=null",
        "distillation.enabled=False",
        "distillation.teacher_key=task",
        "actor_rollout_ref.model.tiled_mlp.enabled=False",
        "actor_rollout_ref.model.tiled_mlp.num_shards=4",
        "actor_rollout_ref.rollout.prometheus.enable=False",
        "actor_rollout_ref.rollout.prometheus.port=9090",
    ]
    assert load_config(None, [*GIVEN, *off]) == load_config(None, GIVEN)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("actor_rollout_ref.rollout.name=sglang", "set actor_rollout_ref.rollout.name=vllm"),
        ("trainer.device=npu", "set trainer.device=cuda"),
        ("model_engine=veomni", "only with FSDP2"),
        ("actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2", "only with FSDP2"),
        (
            "actor_rollout_ref.rollout.multi_turn.max_tokens_per_turn=3",
            "the supported settings",
        ),
        ("critic.model.optim.lr=1", "critic.optim.lr"),
        ("actor_rollout_ref.rollout.logprobs_mode=raw_logprobs", "are sampled from"),
        ("actor_rollout_ref.rollout.skip_rollout=True", "generated by the policy"),
    ],
)
def test_what_is_refused_names_the_one_thing_to_change(word: str, message: str) -> None:
    with pytest.raises(ConfigError) as found:
        run_checks(SETTINGS, load_config(None, [*GIVEN, HF, word]))
    assert message in str(found.value)
    assert "\n" not in str(found.value)


def scripts() -> list[dict[str, object]]:
    if not SCRIPTS.is_file():
        return []
    return [json.loads(line) for line in SCRIPTS.read_text(encoding="utf-8").splitlines()]


ELSEWHERE = {"actor_rollout_ref.rollout.name=sglang", "trainer.device=npu"}


def why_refused(words: list[str]) -> str:
    """What is asked for, in the one line about an engine or a device that there is not."""
    with pytest.raises(ConfigError) as found:
        run_checks(SETTINGS, load_config(None, words))
    line = str(found.value)
    assert "\n" not in line
    return line[line.index("set ") :].partition(",")[0]


REFUSED = {
    "qwen3_4b_dapo_multiturn": "data must be in parquet files",
    "run_minicpmo2_6": "data must be in parquet files",
    "pfppo": "algorithm.use_pf_ppo",
    "run_with_rollout_corr": "there is nothing to compare",
}
"""Scripts on FSDP that are refused whatever the data is, and why."""


@pytest.mark.slow
@pytest.mark.skipif(not scripts(), reason="the words of verl's scripts are not on this machine")
@pytest.mark.parametrize(
    "script", scripts(), ids=lambda script: str(script["script"]).removeprefix("examples/")
)
def test_verl_s_scripts_pass_or_say_what_to_change(
    script: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of each script as it is, with data and model given; preflight's checks that read no file."""
    for module in (load, workers, vllm):
        monkeypatch.setattr(module, "find_spec", lambda name: object())
    words = [*script["words"], *GIVEN]  # type: ignore[misc]
    given = " ".join(script["words"])  # type: ignore[arg-type]
    if ELSEWHERE & set(words):
        if "data.custom_cls" not in given:
            assert why_refused(words) in (
                "set actor_rollout_ref.rollout.name=vllm",
                "set trainer.device=cuda",
            )
        words = [word for word in words if word not in ELSEWHERE]
    expected = next((why for name, why in REFUSED.items() if name in str(script["script"])), None)
    try:
        run_checks(SETTINGS, load_config(None, words))
    except RewardkitError as error:
        assert expected is not None, str(error)
        assert expected in str(error)
    else:
        assert expected is None


def test_a_setting_given_by_our_name_and_by_verls_with_other_values_says_which_holds() -> None:
    both = ["trainer.v1.trainer_mode=separate_async", "trainer.mode=sync"]
    (line,) = config_notes(None, [*GIVEN, HF, *both])
    assert "trainer.mode twice: sync is used" in line
    assert load_config(None, [*GIVEN, HF, *both]).trainer.mode == "sync"
    assert config_notes(None, [*GIVEN, HF, both[0], "trainer.mode=async"]) == []


@pytest.mark.parametrize(
    ("path", "switch"),
    [
        ("reward_model.model.path", "reward_model.enable=true"),
        ("distillation.teacher_models.teacher_model.model_path", "distillation.enabled=true"),
    ],
)
def test_a_model_whose_switch_is_off_is_said_to_do_nothing(path: str, switch: str) -> None:
    lines = run_checks(SETTINGS, load_config(None, [*GIVEN, HF, f"{path}=m"]))
    assert any(path in line and switch in line for line in lines)
