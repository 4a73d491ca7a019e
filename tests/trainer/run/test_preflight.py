"""What preflight says of memory and rewards before any weight is loaded."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
torch = pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit import host_memory
from rewardkit.cli import run
from rewardkit.errors import ConfigError, InputError, OptionsError
from rewardkit.registry import REGISTRY
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.models.load import load_causal_lm
from rewardkit.trainer.rollout.engines import ENGINES, check_model, fall_back
from rewardkit.trainer.run import memory
from rewardkit.trainer.run.memory import GIB, estimate, read_shape
from rewardkit.trainer.run.preflight import check
from rewardkit.trainer.run.process import read_and_check
from tests.hub import hub


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    for name in ("_exact", "_rewards"):
        monkeypatch.setattr(REGISTRY, name, dict(getattr(REGISTRY, name)))


@pytest.fixture
def big_model(tmp_path: Path) -> Path:
    """The config and the header of a model of 1,000,000,000 parameters, without its weights."""
    folder = tmp_path / "big"
    folder.mkdir()
    config = {
        "vocab_size": 1000,
        "hidden_size": 100,
        "num_hidden_layers": 10,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
    }
    (folder / "config.json").write_text(json.dumps(config))
    header = json.dumps({"w": {"dtype": "F32", "shape": [1000, 1000, 1000], "data_offsets": [0, 0]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return folder


def words(parquet: Path, model: Path, tmp_path: Path, *more: str) -> list[str]:
    return [
        f"data.train_files={parquet}",
        "data.train_batch_size=8",
        "data.max_prompt_length=10",
        "data.max_response_length=10",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.rollout.name=hf",
        "actor_rollout_ref.rollout.n=2",
        "algorithm.use_kl_in_reward=true",
        "trainer.device=cpu",
        "trainer.val_before_train=false",
        f"trainer.default_local_dir={tmp_path}/out",
        *more,
    ]


def settings(parquet: Path, model: Path, tmp_path: Path, *more: str) -> Any:
    return load_config(None, words(parquet, model, tmp_path, *more))


def test_the_shape_read_from_headers_is_the_model_s(model_folder: Path) -> None:
    model: Any = load_causal_lm(str(model_folder))
    shape = read_shape(str(model_folder))
    assert shape is not None
    assert shape.parameters == sum(p.numel() for p in model.parameters())
    assert (shape.layers, shape.vocabulary) == (model.config.num_hidden_layers, model.config.vocab_size)


def test_the_estimate_by_hand(parquet: Path, big_model: Path, tmp_path: Path) -> None:
    found = estimate(settings(parquet, big_model, tmp_path, "trainer.n_gpus_per_node=2"))
    assert found is not None
    layer = 2 * 80 * (14 * 100 + 3 * 128 + 6 * 400)  # bfloat16, 80 tokens
    tied = 3 * 2 * 1000 * 100  # both gradients of the one weight, and their sum
    assert tied > layer - 4 * 1000 * 100 / 2
    assert found == {
        "actor": 12e9 / 2,
        "critic": 12e9 / 2,
        "reference": 4e9 / 2,
        "rollout": 2e9,
        # The end of an update, which takes more than its beginning and than generation.
        "gradients": 4e9 / 2,
        "activations": tied,
        # Embedding, head and two of ten layers, in bfloat16.
        "gathered": 2 * (2e5 + 2 * (1e9 - 2e5) / 10),
    }


def test_the_worst_moment_of_a_small_model_is_where_its_logits_are(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    words = ["algorithm.adv_estimator=grpo", "actor_rollout_ref.actor.fsdp_config.dtype=float32"]
    long = ["data.max_response_length=2000", "actor_rollout_ref.rollout.micro_batch_size=1"]
    found = estimate(settings(parquet, model_folder, tmp_path, *words, *long))
    shape = read_shape(str(model_folder))
    assert found is not None
    assert shape is not None
    assert "gradients" not in found, "none are there when backward begins"
    tokens = 8 * 2010
    layer = 4 * tokens * (14 * shape.hidden + 3 * shape.kv_width + 6 * shape.intermediate)
    kept = 4 * tokens * shape.layers * shape.hidden + layer
    assert found["activations"] == kept + 3 * 4 * 8 * 2000 * shape.vocabulary
    micro = ["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4"]
    halved = estimate(settings(parquet, model_folder, tmp_path, *words, *long, *micro))
    assert halved is not None
    assert halved["activations"] == found["activations"] / 2
    assert halved["gradients"] == 4 * shape.parameters, "of the first micro-batch, while the second computes"


def test_the_cache_is_that_of_the_responses_generated_at_once(
    parquet: Path, big_model: Path, tmp_path: Path
) -> None:
    shape = read_shape(str(big_model))
    assert shape is not None
    for words, responses in ([], 16), (["actor_rollout_ref.rollout.micro_batch_size=2"], 2):
        found = ENGINES["hf"].memory(settings(parquet, big_model, tmp_path, *words), shape, 1)
        # 20 tokens in bfloat16, 10 layers of 2 heads of 32, keys and values
        assert found == {"rollout": 2e9, "cache": 2.0 * responses * 20 * 10 * 2 * 2 * 32}


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ([], "set actor_rollout_ref.ref.fsdp_config.param_offload=true"),
        (["algorithm.use_kl_in_reward=false"], "lower actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"),
        (
            ["actor_rollout_ref.actor.fsdp_config.no_sync=true", "trainer.n_gpus_per_node=2"],
            "set actor_rollout_ref.actor.fsdp_config.no_sync=false",
        ),
    ],
)
def test_what_to_change_is_about_the_part_that_takes_most(
    words: list[str],
    advice: str,
    parquet: Path,
    model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = settings(parquet, model_folder, tmp_path, *words)
    needs = estimate(config)
    assert needs is not None
    certain = sum(v for name, v in needs.items() if name not in ("cache", "activations"))
    monkeypatch.setattr(memory, "device_bytes", lambda config: int(certain) + 1)
    assert f", {advice}" in memory.report(config)


def test_weights_that_cannot_fit_are_refused(
    parquet: Path, big_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "device_bytes", lambda config: 24 * GIB)
    with pytest.raises(ConfigError, match=r" 24 GiB.* without activations"):
        check(settings(parquet, big_model, tmp_path))
    check(settings(parquet, big_model, tmp_path, "trainer.n_gpus_per_node=4"))


def test_responses_whose_tokens_alone_do_not_fit_are_refused(
    parquet: Path, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "device_bytes", lambda config: 24 * GIB)
    long = "+actor_rollout_ref.model.override_config.max_position_embeddings=1_000_000_000"
    check(settings(parquet, model_folder, tmp_path, long, "data.max_response_length=100_000"))
    for more in (
        "data.max_response_length=100_000_000",
        "actor_rollout_ref.rollout.response_length=100_000_000",
    ):
        with pytest.raises(ConfigError, match=" 100,000,010 tokens"):
            check(settings(parquet, model_folder, tmp_path, long, more))
    monkeypatch.setattr(memory, "device_bytes", lambda config: None)  # nobody knows what there is
    check(settings(parquet, model_folder, tmp_path, long, "data.max_response_length=100_000_000"))


def test_one_line_says_what_is_needed_and_what_there_is(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    (line,) = check(settings(parquet, model_folder, tmp_path))
    assert line.startswith("memory per process, roughly:")
    assert "GiB (actor 0." in line


def test_a_teacher_is_counted_and_one_that_is_not_here_yet_is_not_guessed(
    parquet: Path, big_model: Path, model_folder: Path, tmp_path: Path
) -> None:
    key = "distillation.teacher_models.teacher_model.model_path"
    distilled = ["distillation.enabled=true", f"{key}={big_model}"]
    alone = estimate(settings(parquet, model_folder, tmp_path))
    found = estimate(settings(parquet, model_folder, tmp_path, *distilled))
    assert alone is not None and found is not None
    assert found == alone | {"teacher": 4e9}
    offloaded = [*distilled, "actor_rollout_ref.ref.fsdp_config.param_offload=true"]
    without = estimate(settings(parquet, model_folder, tmp_path, *offloaded))
    assert without is not None
    assert "teacher" not in without
    assert estimate(settings(parquet, model_folder, tmp_path, distilled[0], f"{key}=org/there")) is None


def test_the_memory_of_a_container_is_that_of_its_limit(
    parquet: Path, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (limit := tmp_path / "memory.max").write_text(f"{6 * GIB}\n")
    (used := tmp_path / "memory.current").write_text(f"{GIB}\n")
    monkeypatch.setattr(host_memory, "CGROUPS", ((str(limit), str(used)),))
    config = settings(parquet, model_folder, tmp_path, "trainer.n_gpus_per_node=2")
    assert memory.device_bytes(config) == 3 * GIB
    assert host_memory.available_bytes() <= 5 * GIB
    limit.write_text("max\n")
    whole = memory.device_bytes(config)
    assert whole is not None and whole != 3 * GIB


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_one_line_in_every_stage(
    parquet: Path, model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ppo = words(parquet, model_folder, tmp_path, "trainer.device=cuda")
    sft = [f"data.train_files={parquet}", f"model.path={model_folder}", "trainer.device=cuda"]
    for command in (["train", *ppo], ["train", "--explain", *ppo], ["sft", *sft]):
        assert run(command) == ConfigError.exit_code
        assert capsys.readouterr().err.count("trainer.device=cuda, but torch finds no GPU") == 1


def test_of_a_model_that_is_still_on_the_hub_nothing_is_estimated(
    parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub(monkeypatch) as asked:
        (line,) = check(settings(parquet, Path("someone/has-it"), tmp_path))
    assert "not estimated" in line
    assert len(asked) == 1, "the critic is the same model"


def test_a_process_of_many_repeats_neither_line_nor_trial(
    parquet: Path,
    model_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    (tmp_path / "mine.py").write_text(BROKEN)
    given = words(parquet, model_folder, tmp_path, f"custom_reward_function.path={tmp_path}/mine.py")
    read_and_check(None, given)
    assert capsys.readouterr().err == ""


BROKEN = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    raise ValueError("no score today")
"""


def test_a_reward_that_cannot_score_is_found_before_training(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(BROKEN)
    with pytest.raises(ConfigError, match=": error, ValueError: no score"):
        check(settings(parquet, model_folder, tmp_path, f"custom_reward_function.path={tmp_path}/mine.py"))


def test_a_reference_answer_scored_as_wrong_is_said(model_folder: Path, tmp_path: Path) -> None:
    row = {"data_source": "gsm8k", "prompt": "2+2?", "ground_truth": "4", "extra_info": {"answer": "#### 5"}}
    pq.write_table(pa.Table.from_pylist([row] * 8), tmp_path / "train.parquet")
    notes = check(settings(tmp_path / "train.parquet", model_folder, tmp_path))
    assert any("reference answer of 'gsm8k'" in note for note in notes)


def test_an_option_that_is_for_evaluation_alone_is_warned_of(model_folder: Path, tmp_path: Path) -> None:
    row = {"data_source": "gsm8k", "prompt": "2+2?", "ground_truth": "4", "extra_info": {"answer": "#### 4"}}
    pq.write_table(pa.Table.from_pylist([row] * 8), tmp_path / "train.parquet")
    given = (tmp_path / "train.parquet", model_folder, tmp_path)
    said = "the reward of 'gsm8k' is for evaluation, not for training: method=flexible"
    assert any(
        note.startswith(said) for note in check(settings(*given, "reward.options.gsm8k.method=flexible"))
    )
    assert not any(note.startswith(said) for note in check(settings(*given)))


def test_a_source_that_only_a_composition_has_passes_and_is_scored_by_it(
    model_folder: Path, tmp_path: Path
) -> None:
    made = tmp_path / "rewards.yaml"
    made.write_text("data_sources: [only/composed]\ngate: {reward: gsm8k, then: [think_format]}\n")
    row = {"data_source": "only/composed", "prompt": "2+2?", "ground_truth": "4"}
    rows = [{**row, "extra_info": {"answer": "#### 4"}}] * 8
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    given = settings(tmp_path / "train.parquet", model_folder, tmp_path, f"reward.compositions={made}")
    assert not any("only/composed" in note for note in check(given))
    assert REGISTRY.resolve("only/composed").name == "rewards"


def train_file(folder: Path, **changed: Any) -> Path:
    row = {"data_source": "gsm8k", "prompt": "2+2?", "ground_truth": "4", "agent_name": "single_turn_agent"}
    rows = [*([row] * 7), {**row, **changed}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
    return folder / "train.parquet"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["reward.compositions=unused.yaml"], "the reward 'unused'"),
        (["reward.options.math.preset=strict"], r"reward.options.math: no row uses"),
        (["reward.url=http://127.0.0.1:9", "reward.compositions=fits.yaml"], "only for local rewards"),
        (["custom_reward_function.reward_kwargs.top=3"], "reward_kwargs has no effect"),
        (
            ["custom_reward_function.path=own.py", "reward.compositions=fits.yaml"],
            "reward.compositions has no effect",
        ),
    ],
)
def test_rewards_that_no_row_uses_are_refused(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("unused.yaml").write_text("data_sources: [nothing/here]\nsum: [gsm8k]\n")
    Path("fits.yaml").write_text("data_sources: [gsm8k]\nsum: [gsm8k]\n")
    Path("own.py").write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info): return 1.0\n"
    )
    with pytest.raises((ConfigError, OptionsError), match=message):
        check(settings(train_file(tmp_path), model_folder, tmp_path, *given))


def test_an_agent_that_there_is_not_is_refused_with_its_row(model_folder: Path, tmp_path: Path) -> None:
    path = train_file(tmp_path, agent_name="tool_agnet")
    with pytest.raises(InputError, match=r"train.parquet, row 7: .*'tool_agnet'.*tool_agent"):
        check(settings(path, model_folder, tmp_path))


def test_a_ground_truth_that_its_reward_cannot_use_is_said(model_folder: Path, tmp_path: Path) -> None:
    notes = check(settings(train_file(tmp_path, ground_truth="four"), model_folder, tmp_path))
    assert any("row 7: the ground truth 'four' " in note for note in notes)


def test_the_worst_hole_of_a_composition_is_said(model_folder: Path, tmp_path: Path) -> None:
    made = tmp_path / "rewards.yaml"
    made.write_text("data_sources: [gsm8k]\nsum: [gsm8k, think_format]\n")
    rows = [{"data_source": "gsm8k", "prompt": f"{i}+{i}?", "ground_truth": str(2 * i)} for i in range(24)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    given = (tmp_path / "train.parquet", model_folder, tmp_path)
    assert not any("has a hole" in note for note in check(settings(*given)))
    notes = check(settings(*given, f"reward.compositions={made}"))
    assert any(note.startswith("the reward of 'gsm8k' has a hole") for note in notes)


def test_a_run_does_not_begin_where_a_reward_is_not_that_of_its_lock(
    model_folder: Path, tmp_path: Path
) -> None:
    parquet, lock = train_file(tmp_path), tmp_path / "a.lock"
    assert run(["lock", str(parquet), "--lock", str(lock)]) == 0
    check(settings(parquet, model_folder, tmp_path, f"reward.lock={lock}"))
    other = (f"reward.lock={lock}", "reward.options.gsm8k.format_score=0.5")
    with pytest.raises(ConfigError, match=r"format_score: .* 0\.5.*rewardkit lock.*unset reward\.lock"):
        check(settings(parquet, model_folder, tmp_path, *other))


@pytest.mark.parametrize("key", ["critic.model.path", "reward_model.model.path"])
def test_a_mistyped_model_is_refused_with_its_key(
    key: str, parquet: Path, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = words(parquet, model_folder, tmp_path, "reward_model.enable=true")
    given.append(f"reward_model.model.path={model_folder}")
    with pytest.raises(ConfigError, match=f"^{re.escape(key)}: .*: typo;"):
        check(load_config(None, [*given, f"{key}=typo"]))


def test_a_mistyped_model_is_refused_before_the_hub_is_asked(
    parquet: Path, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model_folder.parent)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    typo = model_folder.name + "l"
    for path, message in {
        typo: f"no such model folder: {typo}; did you mean {model_folder.name}?",
        f"./{typo}": f"no such model folder: ./{typo}; did you mean {model_folder.name}?",
        "gtp2-xyz": "no such model folder: gtp2-xyz; models on the hub are named owner/name",
        "who/knows": "neither a folder nor in the hub's cache",
    }.items():
        given = words(parquet, model_folder, tmp_path, f"actor_rollout_ref.model.path={path}")
        with pytest.raises(ConfigError, match=re.escape(message)):
            check(load_config(None, given))


@pytest.mark.slow
def test_a_reward_that_looks_at_groups_needs_more_than_one_response_to_a_prompt(
    model_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "ranked.parquet"
    prompt = [{"role": "user", "content": "6 * 12?"}]
    row = {"data_source": "rank", "prompt": prompt, "ground_truth": "72", "extra_info": {"index": 0}}
    pq.write_table(pa.Table.from_pylist([row] * 8), file)
    alone = (
        "the reward of 'rank' looks at all responses to a prompt at once, but was given only one response; "
    )

    def found(*more: str) -> list[str]:
        return check(settings(file, model_folder, tmp_path, *more))

    assert not [line for line in found() if line.startswith(alone)]
    with pytest.raises(ConfigError, match=f"{alone}set actor_rollout_ref.rollout.n above 1"):
        found("actor_rollout_ref.rollout.n=1")
    with pytest.raises(ConfigError, match=f"{alone}algorithm.adv_estimator=remax scores the greedy"):
        found("algorithm.adv_estimator=remax")
    said = found(f"data.val_files={file}")
    assert [line for line in said if line.startswith(f"{alone}in validation the score has no meaning")]


VLLM = "actor_rollout_ref.rollout.name=vllm"


@pytest.fixture
def narrow_heads(big_model: Path) -> Path:
    """A model whose heads vLLM's attention on a CPU does not know."""
    config = json.loads((big_model / "config.json").read_text())
    (big_model / "config.json").write_text(json.dumps(config | {"head_dim": 16}))
    return big_model


def test_an_engine_that_cannot_generate_with_the_model_says_so_in_one_line(
    parquet: Path, narrow_heads: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"32, .* this model has 16; set .*name=hf") as refused:
        check_model(settings(parquet, narrow_heads, tmp_path, VLLM))
    assert "\n" not in str(refused.value)
    check_model(settings(parquet, narrow_heads, tmp_path))


def test_an_engine_that_nobody_asked_for_gives_way_to_transformers(
    parquet: Path, narrow_heads: Path, big_model: Path, tmp_path: Path
) -> None:
    config = settings(parquet, narrow_heads, tmp_path, VLLM)
    (line,) = fall_back(config)
    assert config.actor_rollout_ref.rollout.name == "hf"
    assert "vllm cannot generate " in line
    assert fall_back(config) == []


def test_a_run_has_a_position_for_every_token(parquet: Path, big_model: Path, tmp_path: Path) -> None:
    described = json.loads((big_model / "config.json").read_text())
    for stated, refused in (
        ({"max_position_embeddings": 19}, True),
        ({"max_position_embeddings": 20}, False),
        ({"max_position_embeddings": 10, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}, False),
        ({}, False),
    ):
        (big_model / "config.json").write_text(json.dumps(described | stated))
        config = settings(parquet, big_model, tmp_path)
        if refused:
            with pytest.raises(ConfigError, match=r" 20 tokens,.* 19 positions"):
                check_model(config)
        else:
            check_model(config)


def test_vllm_on_a_cpu_is_estimated_with_a_cache_for_a_step_s_requests(
    parquet: Path, big_model: Path, tmp_path: Path
) -> None:
    found = estimate(settings(parquet, big_model, tmp_path, VLLM))
    assert found is not None
    assert found["rollout"] == 2e9
    # 8 prompts of 2 responses, each in one block, and an empty one; 128 tokens in bfloat16, 10 layers of 2 heads.
    assert found["KV cache"] == 2.0 * (8 * 2 + 1) * 128 * 10 * 2 * 2 * 32
