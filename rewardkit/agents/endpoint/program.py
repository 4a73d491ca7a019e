"""The program that plays an episode: a command, started for each episode, or a coroutine function of a file.

It is the user's own, and runs with our rights. What it says to the model goes through `server.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.executing import describe
from rewardkit.errors import ConfigError, InputError, did_you_mean
from rewardkit.user_files import import_python_file
from rewardkit.users_code import running, told

MODEL = "policy"
"""The name of the model, where a program wants one."""
_STDERR_BYTES = 2000
"""The end of its standard error that is kept."""


@dataclass(frozen=True, slots=True)
class HarnessProgram:
    """Settings of the agent `external`."""

    command: Sequence[str] = ()
    """Words; it finds the row as JSON on its standard input, and OPENAI_BASE_URL, OPENAI_API_KEY and
    OPENAI_MODEL in its environment."""
    function: str = ""
    """Instead: `FILE.py:name`, a coroutine function of base URL and row, which runs in our process."""
    timeout_s: float = 600.0
    """Time for an episode; then the program is killed, with its process group."""
    max_branches: int = 16
    """Number of times that the program may rewrite its history. Each branch is a sample in training."""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.function):
            raise ConfigError("set exactly one of `command` (a list of words) and `function` (FILE.py:name)")
        words = self.command
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise ConfigError(
                f"`command` must be a list of strings, such as [python, agent.py]; found {words!r:.60}"
            )
        if words and shutil.which(words[0]) is None:
            raise ConfigError(f"`command`: the program '{words[0]}' does not exist or cannot be run")
        for name, value, kind in (
            ("timeout_s", self.timeout_s, float),
            ("max_branches", self.max_branches, int),
        ):
            if isinstance(value, bool) or not isinstance(value, int | kind) or value <= 0:
                what = "a whole number" if kind is int else "a number"
                raise ConfigError(f"`{name}` must be {what} above 0; found {value!r:.40}")
        if self.function:
            load_function(self.function)

    async def run(self, base_url: str, row: EpisodeRow) -> str | None:
        """Run the program to its end; return why it failed, in one line, or None."""
        given = {"prompt": list(row.messages), "data_source": row.data_source, "extra_info": row.extra_info}
        plain = json.loads(json.dumps(given, default=_plain))
        if self.function:
            return await _run_function(load_function(self.function), base_url, plain)
        return await _run_command(list(self.command), base_url, plain)


@functools.cache
def load_function(spec: str) -> Callable[[str, Any], Coroutine[Any, Any, Any]]:
    """Return the coroutine function of `FILE.py:name`.

    Raises:
        ConfigError: there is none, or it is none.
    """
    path, _, name = spec.partition(":")
    try:
        module = import_python_file(Path(path))
    except InputError as error:
        raise ConfigError(str(error)) from None
    function: Any = getattr(module, name, None)
    if not inspect.iscoroutinefunction(function):
        names = [key for key, one in vars(module).items() if inspect.iscoroutinefunction(one)]
        hint = did_you_mean(name, names) or f"; the file has {', '.join(names) or 'no coroutine function'}"
        raise ConfigError(f"{path} has no coroutine function '{name}'{hint}")
    found: Callable[[str, Any], Coroutine[Any, Any, Any]] = function
    return found


async def _run_function(
    function: Callable[[str, Any], Awaitable[Any]], base_url: str, row: Any
) -> str | None:
    try:
        with running(function.__name__):
            await function(base_url, row)
    except Exception as error:
        return f"the program failed: {told('the program', error)}"
    return None


async def _run_command(command: Sequence[str], base_url: str, row: Any) -> str | None:
    end = _ErrorOutput()
    try:
        with tempfile.TemporaryFile() as given:
            given.write(json.dumps(row).encode())
            given.seek(0)
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=given,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=end.writing,
                start_new_session=True,
                env={**os.environ, **_environment(base_url)},
            )
        code = await _ended(process)
    except OSError as error:
        return f"cannot start the program: {describe(error)}"
    finally:
        written = end.close()
    if code == 0:
        return None
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    text = " ".join(written.decode("utf-8", "replace").split())
    return f"the program {how}{': ...' if text else ''}{text[-500:]}"


async def _ended(process: asyncio.subprocess.Process) -> int:
    """Wait for a process, and kill it with its group; where it has ended, what it has left behind."""
    try:
        return await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


class _ErrorOutput:
    """A pipe whose last bytes are kept. asyncio's own keeps us waiting for all that hold its other side."""

    def __init__(self) -> None:
        """Keep what comes from now on."""
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)
        self._kept = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.reading, self._take)

    def _take(self) -> bool:
        try:
            piece = os.read(self.reading, 65536)
        except BlockingIOError:
            return False
        if not piece:
            self._loop.remove_reader(self.reading)
        self._kept = (self._kept + piece)[-_STDERR_BYTES:]
        return bool(piece)

    def close(self) -> bytes:
        """Return the end of what has come."""
        os.close(self.writing)
        for _ in range(64):  # what a pipe holds; somebody may write on and on
            if not self._take():
                break
        self._loop.remove_reader(self.reading)
        os.close(self.reading)
        return self._kept


def _environment(base_url: str) -> Mapping[str, str]:
    local = {
        name: ",".join(filter(None, (os.environ.get(name), "127.0.0.1"))) for name in ("NO_PROXY", "no_proxy")
    }
    key = base_url.rsplit("/", 2)[-2]
    return {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": key, "OPENAI_MODEL": MODEL, **local}


def _plain(value: Any) -> Any:
    """Turn a value that JSON has no form of, as a row read from a table may hold it, into one that it has."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
