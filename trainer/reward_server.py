"""Runs the server for a run's reward model. The main process starts the server, and all processes use it.

The server program is `rewardkit serve --reward-model`. Requests are sent by `rewards.py`.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from rewardkit.errors import RewardkitError
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.distributed import World, free_port
from rewardkit.trainer.rewards import RewardServer, model_options, model_sources
from rewardkit.trainer.rollout.serving import (
    ServerError,
    ServerProcess,
    call,
    child_environment,
    start_program,
)

START_S = 900.0
"""Time limit in seconds for starting the server. Loading a large model takes minutes."""
LOOK_S = 0.5
"""Seconds between checks of the server's state."""
PAUSE_S = 15.0
"""Minimum seconds between two starts, to avoid a tight loop if the server cannot start."""


@contextmanager
def reward_server(config: Config, data_sources: Sequence[str], world: World) -> Iterator[RewardServer | None]:
    """Run the reward model's server during the block, unless `reward_model.url` names a running server.

    All processes must call this function. It yields the server's address, or None if no server is needed.

    Raises:
        RewardkitError: The server does not start. All processes raise this error.
    """
    given = config.reward_model
    scored = model_sources(config, data_sources)
    if given.url or not scored:
        yield RewardServer(given.url, os.environ.get("REWARDKIT_TOKEN")) if given.url else None
        return
    started: list[ModelServer] = []

    def start(_: int) -> RewardServer:
        started.append(ModelServer(config, scored))
        return started[0].address

    try:
        yield world.spread(start, 1)[0]
    finally:
        for server in started:
            server.stop()


class ModelServer:
    """Server for the reward model: a child process that is restarted at the same address if it dies."""

    def __init__(self, config: Config, data_sources: Sequence[str]) -> None:
        """Start the server and wait until the model is loaded.

        Raises:
            RewardkitError: The server exits or is not ready in time. If it exits, the message contains its
                last output.
        """
        several = config.trainer.nnodes > 1
        port = free_port()
        host = os.environ.get("MASTER_ADDR", "127.0.0.1") if several else "127.0.0.1"
        self.address = RewardServer(f"http://{host}:{port}", secrets.token_hex(16))
        self._words = [
            *("-m", "rewardkit", "serve", "--no-sandbox", "--scorers", "1"),
            *("--host", "0.0.0.0" if several else host, "--port", str(port)),
            *_words_of_model(config, data_sources),
        ]
        self._environment = child_environment() | _devices(config)
        self._environment["REWARDKIT_TOKEN"] = str(self.address.token)
        self._begun = time.monotonic()
        self._process = self._start()
        self._await(self._process)
        self._ended = threading.Event()
        # The kernel kills a child when the thread that started it exits, so this thread outlives the server.
        self._keeper = threading.Thread(target=self._keep, name="reward server", daemon=True)
        self._keeper.start()

    def _start(self) -> ServerProcess:
        self._begun = time.monotonic()
        return start_program(self.address.url, self._words, self._environment)

    def _await(self, process: ServerProcess) -> None:
        while (reason := self._why_not_ready()) is not None:
            late = time.monotonic() > self._begun + START_S
            if process.ended or late or _is_final(reason):
                why = f"is not ready after {START_S:g} s" if late else "did not start"
                said = process.last_lines() if process.ended else []
                process.stop()
                raise RewardkitError("\n".join([f"the server of the reward model {why}: {reason}", *said]))
            time.sleep(LOOK_S)

    def _why_not_ready(self) -> str | None:
        try:
            call(f"{self.address.url}/readyz", limit_s=5.0)
        except ServerError as error:
            return str(error)
        return None

    def _keep(self) -> None:
        while not self._ended.wait(LOOK_S):
            if self._process.ended and time.monotonic() > self._begun + PAUSE_S:
                print("warning: the server of the reward model died; restarting it", file=sys.stderr)
                self._process.stop()
                self._process = self._start()

    def stop(self) -> None:
        """Stop the server."""
        self._ended.set()
        self._keeper.join()
        self._process.stop()


def _is_final(reason: str) -> bool:
    """Return True if the server reports that its preparation failed, not just that it is unfinished."""
    return " answered 503: " in reason and "not done yet" not in reason


def _words_of_model(config: Config, data_sources: Sequence[str]) -> list[str]:
    path = str(config.reward_model.model.path)
    name = Path(path).resolve().name if Path(path).is_dir() else path  # as in `register_reward_model`
    options = {option: value for option, value in model_options(config).items() if value != ""}
    if _on_cpu(config):
        options["device"] = "cpu"
    words = ["--reward-model", path]
    for source in data_sources:
        words += ["--for", source]
    for option, value in options.items():
        words += ["--option", f"{name}:{option}={value}"]
    return words


def _on_cpu(config: Config) -> bool:
    return config.trainer.device == "cpu" or not torch.cuda.is_available()


def _devices(config: Config) -> dict[str, str]:
    """Return environment variables that assign a GPU to the server. The result is empty on a CPU.

    The server gets the first GPU that neither training nor rollout servers use, or else the GPU of process 0.
    """
    if _on_cpu(config):
        return {}
    rollout = config.actor_rollout_ref.rollout
    served = rollout.servers * rollout.tensor_model_parallel_size if rollout.name == "vllm_server" else 0
    taken = config.trainer.n_gpus_per_node + served
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    known = given.split(",") if given else list(map(str, range(torch.cuda.device_count())))
    return {"CUDA_VISIBLE_DEVICES": known[taken] if taken < len(known) else known[0]}
