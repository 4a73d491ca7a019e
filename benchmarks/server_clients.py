"""Runs every trainer's client against one server: 400 samples each, right and wrong, with and without a
token.

    python benchmarks/server_clients.py [--sources FOLDER] [--samples 400]

A client is the trainer's own code if it is available: from an installed package (verifiers, openreward,
openenv-core, TRL) or from a clone below FOLDER (OpenRLHF, slime, LLaMA-Factory, ROLL, verl), of which only
the function or class that requests rewards is used. The others are written after the protocol (`wires`). The
table says which is which. Every reward is compared with the right one; any difference fails the run.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import importlib.util
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pyarrow as pa
import pyarrow.parquet as pq
import requests
from wires import END, TEMPLATE, WIRES, Ask, Row, Server

from rewardkit.datasets_prep.common.schema import SCHEMA, chat
from rewardkit.datasets_prep.common.schema import Row as PreparedRow

TOKEN = "bench-token"
CONCURRENT = 16

AskAll = Callable[[Server, list[Row]], list[float]]
"""Scores rows as a client does, and returns the rewards as the client reads them."""


def row_of(i: int) -> Row:
    """Return a row; rows are alternately right and wrong, and GSM8K gives a tenth for the format."""
    right = i % 2 == 0
    response = f"It is {i} and one.\n#### {i + 1 if right else i + 7}"
    return Row("gsm8k", "train", i, f"What is {i} + 1?", str(i + 1), response, 1.0 if right else 0.1)


def concurrently(ask: Callable[[Server, Row], Awaitable[float]]) -> AskAll:
    """Return a client that scores all rows with a coroutine, some at a time."""

    async def run(server: Server, rows: list[Row]) -> list[float]:
        room = asyncio.Semaphore(CONCURRENT)

        async def one(row: Row) -> float:
            async with room:
                return float(await ask(server, row))

        return await asyncio.gather(*(one(row) for row in rows))

    return lambda server, rows: asyncio.run(run(server, rows))


def in_threads(ask: Ask) -> AskAll:
    """Return a client that scores all rows with a function, some at a time."""

    def run(server: Server, rows: list[Row]) -> list[float]:
        with ThreadPoolExecutor(CONCURRENT) as pool:
            return list(pool.map(lambda row: float(ask(server, row)), rows))

    return run


# --- clients from their trainers' sources ---


def taken(path: Path, names: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return some definitions of a module, without executing the rest of it and its imports."""
    tree = ast.parse(path.read_text())
    wanted = [
        node
        for node in tree.body
        if getattr(node, "name", None) in names
        or (isinstance(node, ast.AnnAssign) and getattr(node.target, "id", None) in names)
    ]
    assert len(wanted) == len(names), f"{path} has not all of {names}"
    future = ast.parse("from __future__ import annotations").body
    module = ast.Module([*future, *wanted], type_ignores=[])
    namespace = {"__name__": path.stem, **given}
    exec(compile(module, str(path), "exec"), namespace)
    return namespace


def openrlhf(clone: Path) -> AskAll:
    """Return `SingleTurnAgentExecutor._fetch_rewards_via_http` as a client."""
    given = {
        "asyncio": asyncio,
        "aiohttp": aiohttp,
        "logger": logging.getLogger(),
        "AgentExecutorBase": object,
    }
    executor = taken(clone / "openrlhf/utils/agent.py", ["SingleTurnAgentExecutor"], given)

    async def ask(server: Server, row: Row) -> float:
        client = executor["SingleTurnAgentExecutor"](f"{server.with_token}/openrlhf/{row.data_source}")
        prompt = TEMPLATE.format(row.question)
        query = prompt + row.response + END
        (answer,) = await client._fetch_rewards_via_http([query], [prompt], [row.ground_truth])
        return float(answer["rewards"][0])

    return concurrently(ask)


def slime(clone: Path) -> AskAll:
    """Return `remote_rm`, with its shared session, as a client."""
    import random

    names = ["_shared_session", "_get_shared_session", "remote_rm"]
    given = {"asyncio": asyncio, "aiohttp": aiohttp, "random": random, "logger": logging.getLogger()}
    hub = taken(clone / "slime/rollout/rm_hub/__init__.py", names, given)

    async def ask(server: Server, row: Row) -> float:
        args = SimpleNamespace(rm_url=f"{server.with_token}/slime/{row.data_source}")
        sample = SimpleNamespace(prompt=row.question, response=row.response, label=row.ground_truth)
        return float(await hub["remote_rm"](args, sample))

    def in_a_loop_of_its_own(server: Server, rows: list[Row]) -> list[float]:
        hub["_shared_session"] = None  # it belongs to the previous event loop
        return concurrently(ask)(server, rows)

    return in_a_loop_of_its_own


def llama_factory(clone: Path) -> AskAll:
    """Return `get_rewards_from_server` as a client, with one mini-batch at a time."""
    import json

    import torch

    given = {"json": json, "requests": requests, "torch": torch}
    utils = taken(clone / "src/llamafactory/train/ppo/ppo_utils.py", ["get_rewards_from_server"], given)

    def run(server: Server, rows: list[Row]) -> list[float]:
        texts = [TEMPLATE.format(row.question) + row.response + END for row in rows]
        url = f"{server.with_token}/llama_factory"
        batches = [utils["get_rewards_from_server"](url, texts[i : i + 8]) for i in range(0, len(texts), 8)]
        return [round(float(reward), 6) for batch in batches for reward in batch]  # float32 in transit

    return run


def roll(clone: Path) -> AskAll:
    """Return `RewardSystemHandler.get_reward` as a client."""
    import time
    from datetime import datetime

    given = {"time": time, "requests": requests, "datetime": datetime, "logger": logging.getLogger()}
    path = clone / "roll/pipeline/rlvr/rewards/remote_reward_system_worker.py"
    worker = taken(path, ["RewardSystemHandler"], given)

    def ask(server: Server, row: Row) -> float:
        config = {
            "submit_url": f"{server.url}/roll/submit/{row.data_source}",
            "get_result_url": f"{server.url}/roll/result",
            "xrl_authorization": server.token or "none",
        }
        handler = worker["RewardSystemHandler"](config, {})
        reward_info = {"ground_truth": row.ground_truth}
        score, dimensions = handler.get_reward(row.question, row.response, reward_info, str(row.index), "0")
        assert dimensions == {"format": {"score": 1.0, "debug_info": {}}}, dimensions
        return float(score)

    return in_threads(ask)


def verl(clone: Path) -> AskAll:
    """Return `RewardLoopWorker.compute_score_disrm`, without the chat template, for vLLM and SGLang."""
    path = clone / "verl/experimental/reward_loop/reward_loop.py"
    tree = ast.parse(path.read_text())
    (worker,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "RewardLoopWorker"]
    methods = [n for n in worker.body if getattr(n, "name", "") in ("_post_request", "compute_score_disrm")]
    namespace: dict[str, Any] = {"asyncio": asyncio, "aiohttp": aiohttp, "logger": logging.getLogger()}
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module([*future, *methods], type_ignores=[]), str(path), "exec"), namespace)

    async def ask(server: Server, row: Row) -> float:
        engine = "sglang" if row.index % 4 > 1 else "vllm"
        model = SimpleNamespace(
            rollout=SimpleNamespace(name=engine), model=SimpleNamespace(path=row.data_source)
        )

        class Worker:
            _post_request = namespace["_post_request"]
            compute_score_disrm = namespace["compute_score_disrm"]
            reward_router_address = server.with_token.removeprefix("http://")
            config = SimpleNamespace(reward_model=model)

            async def _preprocess_reward_inputs(self, data: str) -> str:
                return data

        text = TEMPLATE.format(row.question) + row.response + END
        return float((await Worker().compute_score_disrm(text))["reward_score"])

    return concurrently(ask)


# --- clients from packages ---


def verifiers() -> AskAll:
    """Return verifiers' `NeMoGymTask.nemo_gym` as a client, on a trace of one turn."""
    from verifiers.v1.tasksets.nemo_gym.taskset import NeMoGymData, NeMoGymTask, NeMoGymTaskConfig
    from verifiers.v1.tasksets.nemo_gym.toolset import NeMoGymState
    from verifiers.v1.types import AssistantMessage

    async def ask(server: Server, row: Row) -> float:
        config = NeMoGymTaskConfig(resources_url=server.with_token)
        sent = {
            "data_source": row.data_source,
            "ground_truth": row.ground_truth,
            "responses_create_params": {"input": [{"role": "user", "content": row.question}]},
        }
        task = NeMoGymTask(NeMoGymData(name="row", prompt=row.question, row=sent, idx=row.index), config)
        node = SimpleNamespace(message=AssistantMessage(content=row.response), sampled=True, timestamp=0.0)
        trace: Any = SimpleNamespace(
            id="trace",
            state=NeMoGymState(),
            branches=[SimpleNamespace(nodes=[node])],
            info={},
            record_metric=lambda name, value: None,
        )
        await task.setup(trace, None)  # type: ignore[arg-type]
        return float(await task.nemo_gym(trace))

    return concurrently(ask)


def openreward() -> AskAll:
    """Return openreward's client, with a session for each task."""
    from openreward import OpenReward

    def run(server: Server, rows: list[Row]) -> list[float]:
        client = OpenReward(api_key=server.token or "none")
        environment = client.environments.get(server.tasks, base_url=server.url)
        tasks = environment.list_tasks(split="train")

        def one(row: Row) -> float:
            with environment.session(task=tasks[row.index]) as session:
                return float(session.call_tool("submit", {"response": row.response}).reward)

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(one, rows))

    return run


def trl() -> AskAll:
    """Return TRL's adapter of the Open Reward Standard, an environment_factory for `GRPOTrainer`."""
    from trl.experimental.openreward import OpenRewardSpec

    def run(server: Server, rows: list[Row]) -> list[float]:
        for name in ("OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):  # else it calls api.HOST
            os.environ[name] = server.url
        spec = OpenRewardSpec(
            server.url, env_name=server.tasks, indices=[row.index for row in rows], api_key=server.token
        )
        assert spec.train_dataset["task_index"] == [row.index for row in rows]

        def one(row: Row) -> float:
            environment = spec.environment_factory()
            prompt = environment.reset(task_index=row.index)
            assert row.question in prompt, prompt
            environment.submit(response=row.response)
            (reward,) = spec.reward_funcs(environments=[environment])
            environment._close()
            return float(reward)

        try:
            with ThreadPoolExecutor(4) as pool:
                return list(pool.map(one, rows))
        finally:
            del os.environ["OPENREWARD_API_URL"], os.environ["OPENREWARD_SESSION_URL"]

    return run


def openenv() -> AskAll:
    """Return OpenEnv's client, with an episode for each row, over one WebSocket."""
    from openenv.core import GenericEnvClient

    def run(server: Server, rows: list[Row]) -> list[float]:
        with GenericEnvClient(base_url=server.with_token).sync() as client:
            found = []
            for row in rows:
                client.reset(split=row.split, index=row.index)
                result = client.step({"response": row.response})
                assert result.done, result
                found.append(float(result.reward))
            return found

    return run


FROM_SOURCES = {
    "OpenRLHF": openrlhf,
    "slime": slime,
    "LLaMA-Factory": llama_factory,
    "ROLL": roll,
    "verl": verl,
}
FROM_PACKAGES = {
    "verifiers": ("NeMo-Gym: verifiers", verifiers),
    "openreward": ("Open Reward Standard: openreward", openreward),
    "trl": ("Open Reward Standard: TRL", trl),
    "openenv": ("OpenEnv", openenv),
}


def clients(sources: Path | None) -> dict[str, tuple[str, AskAll]]:
    """Return the origin of the code and the client, by name."""
    found: dict[str, tuple[str, AskAll]] = {name: ("retyped", in_threads(ask)) for name, ask in WIRES.items()}
    for name, make in FROM_SOURCES.items():
        if sources is not None and (sources / name).is_dir():
            found[name] = ("its own code", make(sources / name))
    for package, (name, make_from_package) in FROM_PACKAGES.items():
        if importlib.util.find_spec(package) is not None:
            try:
                found[name] = ("its own package", make_from_package())
            except ImportError as error:
                print(f"{package} is installed and does not load: {error}", flush=True)
    return found


def differences(rewards: list[float], rows: list[Row]) -> list[str]:
    """Return messages for rewards that differ from the right one."""
    if len(rewards) != len(rows):
        return [f"{len(rewards)} rewards for {len(rows)} rows"]
    pairs = zip(rewards, rows, strict=True)
    return [f"row {row.index}: {reward}, not {row.score}" for reward, row in pairs if reward != row.score]


def measure(port: int, token: str | None, n: int, sources: Path | None) -> int:
    """Run all clients against one server; print a line for each and return how many were not exact."""
    server = Server(f"http://127.0.0.1:{port}", token)
    rows = [row_of(i) for i in range(n)]
    failed = 0
    for name, (whose, ask_all) in clients(sources).items():
        try:
            wrong = differences(ask_all(server, rows), rows)
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"[:300]]
        failed += bool(wrong)
        said = f"{n} of {n} exact" if not wrong else f"{len(wrong)} wrong, first: {wrong[0]}"
        print(f"{'token' if token else 'no token':8} {name:32} {whose:15} {said}", flush=True)
    return failed


def main() -> None:
    """Start a server without a token and one with a token, and run every client against both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sources", type=Path, help="folder of clones of trainers")
    parser.add_argument("--samples", type=int, default=400)
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.parquet"
        rows = [row_of(i) for i in range(args.samples)]
        records = [
            PreparedRow("gsm8k", chat(row.question), "math", row.ground_truth, "train", row.index, "", "")
            for row in rows
        ]
        pq.write_table(pa.Table.from_pylist([r.as_record() for r in records], schema=SCHEMA), file)
        for token in (None, TOKEN):
            environment = {**os.environ, **({"REWARDKIT_TOKEN": token} if token else {})}
            options = ["--port", "0", "--no-sandbox", "--gold", str(file), "--tasks", f"tasks={file}"]
            command = [sys.executable, "-m", "rewardkit", "serve", *options]
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
            assert process.stderr is not None
            try:
                while (found := re.search(r"http://\S+:(\d+)", process.stderr.readline())) is None:
                    pass
                failed += measure(int(found[1]), token, args.samples, args.sources)
            finally:
                process.terminate()
                process.wait()
    sys.exit(f"{failed} clients were not exact" if failed else 0)


if __name__ == "__main__":
    main()
