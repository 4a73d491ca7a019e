"""Measures the gain and cost of not waiting for rollouts: `trainer.mode` of sync, one_step_off and async.

    export PYTHONPATH=.
    python benchmarks/rollout_modes.py speed [--steps 8] [--token-ms 40] [--json FILE] [KEY=VALUE ...]
    python benchmarks/rollout_modes.py tools [--steps 4] [--rounds 2] [--tool-s 30] [KEY=VALUE ...]
    python benchmarks/rollout_modes.py learning [--seeds 0 1 2] [--steps 20] [--json FILE] [KEY=VALUE ...]

`speed`: our trainer trains a tiny model; the servers are stand-ins whose tokens take time but no CPU, like
those of other GPUs. The relative lengths of the responses are those of 1,210 real ones to problems of MATH
(ZeroEval, simple-evals-ru, BIG-Bench-Hard, TheoremQA; in characters: median 1,085, 99th percentile 8,930):
half have at most 8 of 64 tokens, one in a hundred has all.

`tools`: the same servers, and a model of SmolLM2-135M's shape (random weights) that learns on the CPU.
Episodes of three turns of up to 16 tokens wait twice for a tool that sleeps; the waits have the same relative
lengths as those responses, at most `--tool-s`. All modes run in each round.

`learning`: arithmetic on a vLLM server shared by all runs; accuracy on held-out problems at the end.
"""

from __future__ import annotations

import argparse
import bisect
import json
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from rich.console import Console
from rich.table import Table
from transformers import AutoConfig, LlamaConfig, LlamaForCausalLM

from rewardkit.commands.demo import N_TEST, N_TRAIN
from rewardkit.datasets_prep import arithmetic
from rewardkit.demo.model import make_tokenizer, save
from rewardkit.demo.run_demo import make_start
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.rollout.served import IN_PROCESS_ONLY
from rewardkit.trainer.rollout.serving import await_servers, start_server
from rewardkit.trainer.rollout.vllm import engine_arguments
from rewardkit.trainer.run.process import train_here
from tests.trainer.rollout.stub_server import Answered, Stub

MODES: dict[str, list[str]] = {
    "sync": [],
    "one_step_off": ["trainer.mode=one_step_off"],
    "strict, 1": ["trainer.mode=async", "trainer.max_staleness=1", "trainer.order=strict"],
    "strict, 2": ["trainer.mode=async", "trainer.max_staleness=2", "trainer.order=strict"],
    "strict, 4": ["trainer.mode=async", "trainer.max_staleness=4", "trainer.order=strict"],
    "ready, 4": ["trainer.mode=async"],
    "ready, 8": ["trainer.mode=async", "trainer.max_staleness=8"],
}
SHARES = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1]
CHARACTERS = [1, 159, 318, 547, 721, 897, 1085, 1306, 1617, 2029, 2783, 3408, 6475, 8930, 38344]
"""Quantiles of the lengths of the real responses, in characters."""
MOST_TOKENS = 64
PER_TOKEN = CHARACTERS[-2] / MOST_TOKENS
TIS = "algorithm.rollout_correction.rollout_is=token"
AGENT = """
import asyncio
import random

from benchmarks.rollout_modes import MOST_TOKENS, length_of
from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent


@agent("waits", tools="none")
async def waits(episode: Episode) -> None:
    for _ in range(2):
        reply = await episode.generate(max_tokens=16)
        seed = random.Random(reply.text + episode.ground_truth).getrandbits(32)
        await asyncio.sleep(TOOL_S * length_of(seed) / MOST_TOKENS)
        await episode.append([{"role": "user", "content": "1"}])
    await episode.generate(max_tokens=16)
"""
SHAPE_135M = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
UNTAUGHT = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return float(sum(map(ord, solution_str)) % 2)
"""


def length_of(seed: int) -> int:
    """Return the number of tokens of a response by its seed, so that all modes get the same."""
    share = random.Random(seed).random()
    i = max(1, bisect.bisect_left(SHARES, share))
    part = (share - SHARES[i - 1]) / (SHARES[i] - SHARES[i - 1])
    characters = CHARACTERS[i - 1] + part * (CHARACTERS[i] - CHARACTERS[i - 1])
    return min(MOST_TOKENS, max(1, round(characters / PER_TOKEN)))


class SleepingServer(Stub):
    """A server of meaningless tokens, each in its time; they stop while weights are loaded, as vLLM's do."""

    def __init__(self, token_s: float) -> None:
        """Set the seconds for each token of a response, independent of the number of responses."""
        self._token_s = token_s
        self._open = threading.Event()
        self._open.set()
        super().__init__()

    def turn(self, request: Answered) -> Answered:
        asked = request["sampling_params"]
        draw = random.Random(asked["seed"])
        n = min(length_of(asked["seed"]), asked["max_tokens"])
        spans: list[dict[str, Any]] = []
        for i in range(n):
            time.sleep(self._token_s)
            self._open.wait()
            if not spans or spans[-1]["version"] != self.version:
                spans.append({"version": self.version, "start": i, "end": i})
            spans[-1]["end"] = i + 1
        ids = [draw.randrange(5, 100) for _ in range(n - 1)] + asked["stop_token_ids"][:1]
        content = [{"token_id": i, "logprob": -4.0} for i in ids]
        choice = {"token_ids": ids, "finish_reason": "stop", "weight_versions": spans}
        return {"choices": [{**choice, "logprobs": {"content": content}}]}

    def control(self, path: str, body: Answered) -> Answered:
        if path == "/pause":
            self._open.clear()
        if path == "/resume":
            self._open.set()
        return super().control(path, body)


def common(data: Path, model: Path, out: Path, urls: Sequence[str], steps: int) -> list[str]:
    """Return the settings of all runs: GRPO, 256 responses per step."""
    return [
        f"data.train_files={data / 'train.parquet'}",
        f"data.val_files={data / 'test.parquet'}",
        "data.train_batch_size=32",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.rollout.name=vllm_server",
        f"actor_rollout_ref.rollout.urls={list(urls)}",
        "actor_rollout_ref.rollout.n=8",
        "actor_rollout_ref.actor.ppo_mini_batch_size=8",
        "actor_rollout_ref.actor.optim.lr=1e-4",
        "algorithm.adv_estimator=grpo",
        "algorithm.use_kl_in_reward=false",
        f"trainer.total_training_steps={steps}",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
    ]


def log_of(words: Sequence[str], out: Path) -> list[dict[str, float]]:
    """Train in this process; return the log."""
    train_here(load_config("tiny-cpu", list(words)))
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@contextmanager
def start(seed: int = 0) -> Iterator[tuple[Path, Path, Path]]:
    """Make data and a warmed-up model; yield a folder, that of the data, and that of the model."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, model = folder / "data", folder / "model"
        arithmetic.prepare(data, n_train=N_TRAIN, n_test=N_TEST, level="tiny", seed=seed)
        config = load_config("tiny-cpu", common(data, model, folder / "start", [], 1))
        make_start(config, model, seed, Console(quiet=True))
        yield folder, data, model


def unlearned(folder: Path, mode: Sequence[str]) -> list[str]:
    """Return the settings of runs on servers with meaningless tokens."""
    (folder / "reward.py").write_text(UNTAUGHT)
    return [
        f"custom_reward_function.path={folder / 'reward.py'}",
        "actor_rollout_ref.rollout.max_num_seqs=2048",
        "actor_rollout_ref.rollout.parity_error=1e30",
        "actor_rollout_ref.rollout.parity_warn=1e30",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.alarm=off",
        TIS,
        *mode,
    ]


def timed(name: str, words: Sequence[str], out: Path) -> dict[str, Any]:
    """Train, and return means over all steps except the first, without the end of the run."""
    began = time.perf_counter()
    steps = log_of(words, out)[1:]
    whole = time.perf_counter() - began

    def mean(key: str) -> float:
        return sum(step[key] for step in steps) / len(steps)

    return {
        "mode": name,
        "s/step": mean("timing_s/step") - steps[-1].get("timing_s/testing", 0.0) / len(steps),
        "waiting for responses": mean("timing_s/gen"),
        "whole run": whole,
        "staleness": steps[-1].get("staleness/mean", 0.0),
    }


def speed(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the seconds per step in each mode, from the second step on."""
    found = []
    with start() as (folder, data, model):
        for name, mode in MODES.items():
            server = SleepingServer(given.token_ms / 1000)
            out = folder / name.replace(", ", "_")
            words = [
                *common(data, model, out, [server.url], given.steps),
                f"data.max_response_length={MOST_TOKENS}",
                *unlearned(folder, mode),
                *given.settings,
            ]
            found.append(timed(name, words, out))
            server.close()
    for row in found:
        row["times sync"] = found[0]["s/step"] / row["s/step"]
    return found


@contextmanager
def start_135m(tool_s: float) -> Iterator[tuple[Path, Path, Path]]:
    """Prepare as `start`, with a model of 135 million random weights, and episodes that wait for a tool."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, model = folder / "data", folder / "model"
        arithmetic.prepare(data, n_train=N_TRAIN, n_test=N_TEST, level="tiny", seed=0)
        for file in ("train.parquet", "test.parquet"):
            table = pq.read_table(data / file)
            place = table.schema.get_field_index("agent_name")
            table = table.set_column(place, "agent_name", pa.array(["waits"] * len(table)))
            pq.write_table(table, data / file)
        texts = pq.read_table(data / "train.parquet")["extra_info"].to_pylist()
        tokenizer = make_tokenizer(f"{t['question']}\n{t['answer']}" for t in texts)
        torch.manual_seed(0)
        save(LlamaForCausalLM(LlamaConfig(**SHAPE_135M)), tokenizer, model)
        (folder / "waiting.py").write_text(AGENT.replace("TOOL_S", str(tool_s)))
        (folder / "agents.yaml").write_text(f"- name: waits\n  _target_: {folder / 'waiting.py'}:waits\n")
        yield folder, data, model


def tools(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the seconds per step of synchronous and asynchronous runs in each round."""
    found = []
    with start_135m(given.tool_s) as (folder, data, model):
        for turn in range(given.rounds):
            of_round = []
            for name in ("sync", "strict, 1", "strict, 2"):
                server = SleepingServer(given.token_ms / 1000)
                out = folder / f"{turn}_{name.replace(', ', '_')}"
                words = [
                    *common(data, model, out, [server.url], given.steps),
                    "data.train_batch_size=2",
                    "actor_rollout_ref.actor.ppo_mini_batch_size=2",
                    "actor_rollout_ref.rollout.n=2",
                    "data.max_response_length=64",
                    f"actor_rollout_ref.rollout.agent.agent_loop_config_path={folder / 'agents.yaml'}",
                    *unlearned(folder, MODES[name]),
                    *given.settings,
                ]
                of_round.append({"round": turn + 1, **timed(name, words, out)})
                server.close()
                shutil.rmtree(out)
            for row in of_round:
                row["times sync"] = of_round[0]["s/step"] / row["s/step"]
                Console(stderr=True).print(row)
            found += of_round
    return found


def learning(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the accuracy on the held-out problems, for each mode and seed."""
    runs = {
        "sync": [],
        "strict, 1": MODES["strict, 1"],
        "strict, 2": MODES["strict, 2"],
        "strict, 2, no correction": [*MODES["strict, 2"], "algorithm.rollout_correction.bypass_mode=false"],
    }
    found = []
    for seed in given.seeds:
        with start(seed) as (folder, data, model), ExitStack() as stack:
            config = load_config("tiny-cpu", common(data, model, folder, [], 1))
            rollout = config.actor_rollout_ref.rollout
            described = AutoConfig.from_pretrained(model)
            arguments = engine_arguments(rollout, described, on_cpu=True, sharing=1)
            switches = {name: value for name, value in arguments.items() if name not in IN_PROCESS_ONLY}
            server = start_server(str(model), switches, rollout, 0, on_cpu=True)
            stack.callback(server.stop)
            await_servers([server])
            for name, mode in runs.items():
                out = folder / name.replace(", ", "_").replace(" ", "_")
                words = [*common(data, model, out, [server.url], given.steps), f"data.seed={seed}"]
                log = log_of([*words, *mode, *given.settings], out)
                curve = [
                    v for step in log for k, v in step.items() if k.endswith("/acc/mean@1") and v is not None
                ]
                clipped = [step["actor/pg_clipfrac"] for step in log[1:]]
                found.append(
                    {
                        "mode": name,
                        "seed": seed,
                        "before": curve[0],
                        "after": curve[-1],
                        "staleness": log[-1].get("staleness/mean", 0.0),
                        "clipped": max(clipped),
                    }
                )
                Console(stderr=True).print(found[-1])
    return found


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("speed", "tools", "learning"))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--token-ms", type=float, default=40.0)
    parser.add_argument("--tool-s", type=float, default=30.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--json", type=Path)
    parser.add_argument("settings", nargs="*", help="settings for all runs")
    given = parser.parse_args()
    given.steps = given.steps or {"speed": 8, "tools": 4, "learning": 20}[given.what]
    torch.set_num_threads(1)
    found = {"speed": speed, "tools": tools, "learning": learning}[given.what](given)
    table = Table(*found[0])
    for row in found:
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
