"""Episodes on vLLM, ours beside verl 0.9.1's agent loop: same engine, model, task, tool, rows and sampling.

    pip install --no-deps --target PEER verl==0.9.1 ray==2.60.0 tensordict==0.15.3 hydra-core==1.3.8 \\
        omegaconf==2.3.0 antlr4-python3-runtime==4.9.3 codetiming msgpack orjson pyvers
    python benchmarks/agents_verl.py --verl PEER [--prompts 32] [--rounds 6]

The task and the warmed-up model are those of `agents_tiny.py`. verl's servers are Ray actors on GPUs, so its
`AgentLoopWorker` (its `tool_agent` loops, its padded batch) runs here without Ray, in one process with the
engine: `rewardkit` and `verl` ask the one that our trainer opens; `verl, AsyncLLM` asks vLLM's AsyncLLM, a
process of its own, as verl's server does. Each in a fresh process, one after the other, a thread each; the
first round, with its warm-up, is left out. Tokens are those of prompts and episodes; nothing is scored.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

N = 8
PROMPT, RESPONSE = 16, 48
TURNS = 3
ROLLOUT = "actor_rollout_ref.rollout"
TOOLS = {
    "tools": [
        {
            "class_name": "agents_verl_tool.Calculator",
            "config": {"type": "native"},
            "tool_schema": {
                "type": "function",
                "function": {
                    "name": "calculator",
                    "description": "Calculate an arithmetic expression.",
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "expression": {"type": "string", "description": "Such as (12 * 34) % 97."}
                        },
                        "required": ["expression"],
                    },
                },
            },
        }
    ]
}
Found = dict[str, float]
"""Of one round: seconds of the wall and of this process, episodes, tokens, drawn tokens, calls."""


class OneEngine:
    """Our trainer's vLLM engine, with the model's weights."""

    def __init__(self, folder: Path) -> None:
        """Open it; the process group exists."""
        from rewardkit.trainer.config.load import load_config
        from rewardkit.trainer.distributed import open_world
        from rewardkit.trainer.models.load import load_causal_lm, load_tokenizer
        from rewardkit.trainer.run.build import open_rollout

        self.config = load_config(
            None,
            [
                f"data.train_files={folder / 'calculator' / 'train.parquet'}",
                f"data.max_prompt_length={PROMPT}",
                f"data.max_response_length={RESPONSE}",
                f"actor_rollout_ref.model.path={folder / 'model'}",
                f"{ROLLOUT}.name=vllm",
                f"{ROLLOUT}.dtype=float32",
                f"{ROLLOUT}.multi_turn.tool_config_path=calculator",
                f"{ROLLOUT}.multi_turn.max_assistant_turns={TURNS}",
            ],
        )
        import torch

        self._world = open_world("cpu")
        world = self._world.__enter__()
        path = str(folder / "model")
        self.tokenizer = load_tokenizer(path)
        model = load_causal_lm(path, torch.float32)
        self.rollout = open_rollout(self.config.actor_rollout_ref, world, model, self.tokenizer)
        self.rollout.sync_weights(model.named_parameters())

    def close(self) -> None:
        """End it."""
        self.rollout.close()
        self._world.__exit__(None, None, None)


def timed(play: Callable[[], Any], figures: Callable[[Any], Found]) -> Found:
    """Return what a round came to, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = play()
    spent = {"seconds": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    return spent | figures(result)


def play_ours(folder: Path, prompts: int, rounds: int) -> list[Found]:
    """Play episodes as a step of our trainer does, as far as their batch."""
    import torch

    from rewardkit.trainer.agents import open_agents, prompt_reader, with_tokenizer
    from rewardkit.trainer.data import load_rows
    from rewardkit.trainer.rollout.base import Sampling, row_seed
    from rewardkit.trainer.steps.episodes import as_batch, play_rows

    engine = OneEngine(folder)
    config = engine.config
    tokenizer = engine.tokenizer
    setting = with_tokenizer(open_agents(config), config, tokenizer, [tokenizer.eos_token_id])
    read = {"tokenise": prompt_reader(setting)}
    rows = load_rows(config.data.train_files, tokenizer, config.data, prompts * rounds, **read)
    lengths = {"prompt_length": PROMPT, "response_length": RESPONSE, "pad_id": tokenizer.pad_token_id}

    def play(number: int) -> Any:
        chosen = [row for row in rows[number * prompts :][:prompts] for _ in range(N)]
        seeds = [row_seed(0, number, place) for place in range(len(chosen))]
        played, _ = play_rows(engine.rollout, setting, chosen, Sampling(), seeds)
        return played, as_batch(chosen, played, **lengths, device=torch.device("cpu"))

    def figures(result: Any) -> Found:
        played, batch = result
        return {
            "episodes": len(played),
            "tokens": int(batch["attention_mask"].sum()),
            "drawn": int(batch["response_mask"].sum()),
            "calls": sum(len(turn.statuses) for one in played for turn in one.turns),
        }

    found = [timed(lambda number=number: play(number), figures) for number in range(rounds)]  # type: ignore[misc]
    engine.close()
    return found


def verl_worker(folder: Path, client: Any) -> Any:
    """Return verl's AgentLoopWorker, whose loops ask `client`."""
    import verl
    from hydra import compose, initialize_config_dir
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

    (folder / "tools.yaml").write_text(json.dumps(TOOLS), encoding="utf-8")
    given = [
        f"data.max_prompt_length={PROMPT}",
        f"data.max_response_length={RESPONSE}",
        f"actor_rollout_ref.model.path={folder / 'model'}",
        f"{ROLLOUT}.name=vllm",
        f"{ROLLOUT}.calculate_log_probs=true",
        f"{ROLLOUT}.multi_turn.tool_config_path={folder / 'tools.yaml'}",
        f"{ROLLOUT}.multi_turn.max_assistant_turns={TURNS}",
    ]
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
        config = compose("ppo_trainer", overrides=given)
    # It would warn at every episode that it has no tokenizer rules of its own for a Llama.
    logging.getLogger("verl.utils.tokenizer.continuous_token_wiring").setLevel(logging.ERROR)
    return AgentLoopWorker(config, client)


def verl_batch(rows: Sequence[dict[str, Any]]) -> Any:
    """Return rows, n times each, as verl's trainer hands them to a worker."""
    import numpy as np
    from verl.protocol import DataProto

    repeated = [row for row in rows for _ in range(N)]
    columns = {
        "raw_prompt": [row["prompt"] for row in repeated],
        "agent_name": [row["agent_name"] for row in repeated],
        "extra_info": [row["extra_info"] for row in repeated],
        "index": [row["extra_info"]["index"] for row in repeated],
    }
    arrays = {name: np.empty(len(repeated), dtype=object) for name in columns}
    for name, values in columns.items():
        for place, value in enumerate(values):
            arrays[name][place] = value
    return DataProto(non_tensor_batch=arrays, meta_info={})


def verl_figures(batch: Any) -> Found:
    """Return what a round of verl's came to."""
    return {
        "episodes": len(batch),
        "tokens": int(batch.batch["attention_mask"].sum()),
        "drawn": int(batch.batch["response_mask"].sum()),
        "calls": sum(len(rewards) for rewards in batch.non_tensor_batch["tool_rewards"]),
    }


def verl_rows(folder: Path, prompts: int, rounds: int) -> list[list[dict[str, Any]]]:
    """Return the rows of each round."""
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "calculator" / "train.parquet").slice(0, prompts * rounds).to_pylist()
    return [rows[number * prompts :][:prompts] for number in range(rounds)]


def room(prompt_ids: Sequence[int]) -> int:
    """Return the tokens that verl's server lets a turn have."""
    return max(1, min(RESPONSE, PROMPT + RESPONSE - len(prompt_ids)))


def play_verl(folder: Path, prompts: int, rounds: int) -> list[Found]:
    """Play episodes with verl's worker on our engine; it asks by the way that our episodes ask."""
    from verl.workers.rollout.replica import TokenOutput

    from rewardkit.trainer.rollout.base import Sampling

    class Client:
        """Stands where verl's client of its servers stands."""

        def __init__(self) -> None:
            self.model: Any = None
            self._seeds = count()

        async def generate(self, request_id: str, *, prompt_ids: list[int], **_: Any) -> Any:
            """Return a turn."""
            reply = await self.model.generate(prompt_ids, seed=next(self._seeds), max_tokens=room(prompt_ids))
            return TokenOutput(token_ids=list(reply.token_ids), log_probs=list(reply.log_probs))

    client = Client()
    engine = OneEngine(folder)
    worker = verl_worker(folder, client)

    async def play(model: Any, batch: Any) -> Any:
        client.model = model
        return await worker.generate_sequences(batch)

    found = []
    for rows in verl_rows(folder, prompts, rounds):
        given = verl_batch(rows)
        found.append(
            timed(lambda given=given: engine.rollout.converse(play, [given], Sampling())[0], verl_figures)  # type: ignore[misc]
        )
    engine.close()
    return found


def play_verl_async(folder: Path, prompts: int, rounds: int) -> list[Found]:
    """Play episodes with verl's worker on vLLM's AsyncLLM, asked as verl's server asks it."""
    from uuid import uuid4

    from verl.workers.rollout.replica import TokenOutput
    from vllm import AsyncEngineArgs, SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM

    class Client:
        """Stands where verl's client and server stand, without the Ray call between them."""

        def __init__(self, engine: Any) -> None:
            self._engine = engine

        async def generate(
            self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
        ) -> Any:
            """Return a turn."""
            given = {**sampling_params, "logprobs": 0 if sampling_params["logprobs"] else None}
            parameters = SamplingParams(max_tokens=room(prompt_ids), **given)
            prompt = {"prompt_token_ids": prompt_ids}
            final: Any = None
            async for said in self._engine.generate(prompt, parameters, request_id=uuid4().hex):
                final = said
            output = final.outputs[0]
            chosen = [of[i].logprob for i, of in zip(output.token_ids, output.logprobs, strict=True)]
            return TokenOutput(token_ids=list(output.token_ids), log_probs=chosen)

    arguments = AsyncEngineArgs(
        model=str(folder / "model"),
        dtype="float32",
        max_model_len=PROMPT + RESPONSE,
        max_num_seqs=256,
        enforce_eager=True,
        kv_cache_memory_bytes=256 << 20,
        disable_log_stats=True,
        logprobs_mode="processed_logprobs",
    )

    async def play() -> list[Found]:
        engine = AsyncLLM.from_engine_args(arguments)
        worker = verl_worker(folder, Client(engine))
        found = []
        for rows in verl_rows(folder, prompts, rounds):
            given = verl_batch(rows)
            wall, cpu = time.perf_counter(), time.process_time()
            batch = await worker.generate_sequences(given)
            spent = {"seconds": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
            found.append(spent | verl_figures(batch))
        engine.shutdown()
        return found

    return asyncio.run(play())


SIDES = {"rewardkit": play_ours, "verl": play_verl, "verl, AsyncLLM": play_verl_async}


def run_side(name: str, folder: Path, verl: Path, prompts: int, rounds: int) -> list[Found]:
    """Play one side in a process of its own, which alone sees verl."""
    given = json.dumps([name, str(folder), prompts, rounds])
    command = [sys.executable, str(Path(__file__).resolve()), "--play", given]
    multiprocessing = "1" if name == "verl, AsyncLLM" else "0"
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": multiprocessing,
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "TORCHDYNAMO_DISABLE": "1",  # in AsyncLLM's process too: compiling takes longer than it saves
    }
    if name != "rewardkit":
        paths = [os.environ.get("PYTHONPATH", ""), str(verl.resolve())]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: list[Found] = json.loads(done.stdout.splitlines()[-1])
    return found


def print_table(runs: dict[str, list[Found]]) -> None:
    """Print a line for each side, without its first round."""
    print(
        f"{'loop':<16}{'s/round':>9}{'cpu-s':>8}{'episodes/s':>12}{'tokens/s':>10}{'drawn/s':>9}{'calls':>7}"
    )
    for name, rounds in runs.items():
        later = rounds[1:] or rounds
        total = {key: sum(one[key] for one in later) for key in later[0]}
        seconds = total["seconds"]
        print(
            f"{name:<16}{seconds / len(later):>9.2f}{total['cpu_s'] / len(later):>8.2f}"
            f"{total['episodes'] / seconds:>12.1f}{total['tokens'] / seconds:>10.0f}"
            f"{total['drawn'] / seconds:>9.0f}{total['calls'] / total['episodes']:>7.2f}"
        )


def main() -> int:
    """Play all sides and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--verl", type=Path, help="the folder that verl has been installed into")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--model", type=Path, help="a folder that agents_tiny.make_start has written")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--play", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.play:
        import torch

        torch.set_num_threads(1)
        name, folder, prompts, rounds = json.loads(args.play)
        print(json.dumps(SIDES[name](Path(folder), prompts, rounds)))
        return 0
    if args.verl is None or not (args.verl / "verl").is_dir():
        parser.error("name a folder that verl has been installed into with --verl")
    from agents_tiny import prepare_start

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare_start("calculator", folder, args.model)
        print_table(
            {name: run_side(name, folder, args.verl, args.prompts, args.rounds) for name in args.sides}
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
