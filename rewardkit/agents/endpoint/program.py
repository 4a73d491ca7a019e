"""External program that plays an episode.

The program is a command that is started for each episode, or a coroutine function in a file. The program is
the user's own code, runs with the permissions of this process, and accesses the model through `server.py`.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardkit.agents.encoding import plain_text
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.executing import describe
from rewardkit.errors import ConfigError, InputError, did_you_mean
from rewardkit.user_files import import_python_file
from rewardkit.users_code import running, told

MODEL = "policy"
"""Model name that programs send if their client requires one."""
_STDERR_BYTES = 8000
_STDOUT_BYTES = 1 << 20
"""Number of bytes kept from the end of the program's standard error, and from that of its standard output."""
_OF_A_TRACEBACK = (" ", "\t", "Traceback (most recent call last)")
"""Beginnings of traceback lines that show where an error occurred. They do not show which error occurred."""


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """Result of a program that has ended."""

    failed: str | None = None
    """Reason for the program's failure in one line, or None if the program succeeded."""
    answer: str | None = None
    """Last line of standard output, or return value of the function. None if this is not the answer."""
    stderr: str = ""
    """Last lines of standard error, joined into one line."""


@dataclass(frozen=True, slots=True)
class HarnessProgram:
    """Settings of the agent `external`."""

    command: Sequence[str] = ()
    """Command line as a list of words. The program receives the row as JSON on its standard input.
    OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL, ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY are set in its
    environment."""
    function: str = ""
    """Alternative to `command`, in the form `FILE.py:name`. The coroutine function takes the base URL and the
    row, and runs in this process."""
    timeout_s: float = 600.0
    """Time limit for an episode in seconds. The program's process group is killed after this time."""
    max_branches: int = 16
    """Maximum number of branches that the program may create by rewriting its history. Each branch is a
    training sample."""
    answer: str = "turn"
    """Source of the answer that the reward scores, if the program does not report one. With `turn`, it is the
    last turn of the model that the program received and did not continue. With `stdout`, it is the last line
    of the program's standard output, or the return value of the function."""

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
        if self.answer not in ("turn", "stdout"):
            raise ConfigError(f"`answer` must be turn or stdout; found {self.answer!r:.40}")
        if self.function:
            load_function(self.function)

    async def run(self, base_url: str, row: EpisodeRow) -> ProgramEnd:
        """Run the program until it exits."""
        given = {"prompt": list(row.messages), "data_source": row.data_source, "extra_info": row.extra_info}
        plain = json.loads(json.dumps(given, default=_plain))
        if self.function:
            end = await _run_function(load_function(self.function), base_url, plain)
        else:
            end = await _run_command(list(self.command), base_url, plain)
        return end if self.answer == "stdout" else replace(end, answer=None)


@functools.cache
def load_function(spec: str) -> Callable[[str, Any], Coroutine[Any, Any, Any]]:
    """Import the coroutine function at `FILE.py:name`, and return it.

    Raises:
        ConfigError: The function does not exist or is not a coroutine function.
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
) -> ProgramEnd:
    try:
        with running(function.__name__):
            found = await function(base_url, row)
    except Exception as error:
        return ProgramEnd(f"the program failed: {told('the program', error)}")
    return ProgramEnd(answer="" if found is None else plain_text(found))


async def _run_command(command: Sequence[str], base_url: str, row: Any) -> ProgramEnd:
    out, errors = _Output(_STDOUT_BYTES), _Output(_STDERR_BYTES)
    try:
        with tempfile.TemporaryFile() as given:
            given.write(json.dumps(row).encode())
            given.seek(0)
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=given,
                stdout=out.writing,
                stderr=errors.writing,
                start_new_session=True,
                env={**os.environ, **_environment(base_url)},
            )
        code = await _ended(process)
    except OSError as error:
        return ProgramEnd(f"cannot start the program: {describe(error)}")
    finally:
        written, said = out.close(), errors.close()
    lines = [line for line in plain_text(written).splitlines() if line.strip()]
    stderr = _shown(plain_text(said))
    end = ProgramEnd(None, lines[-1].strip() if lines else "", stderr)
    if code == 0:
        return end
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return replace(end, failed=f"the program {how}{behind(stderr)}")


def behind(stderr: str) -> str:
    """Return the end of standard error as the last part of an error message, or an empty string for none."""
    return f": ...{stderr}" if stderr else ""


def _shown(stderr: str) -> str:
    """Return the end of a program's standard error in one line, without the lines of tracebacks."""
    lines = [line for line in stderr.splitlines() if line.strip() and not line.startswith(_OF_A_TRACEBACK)]
    return " ".join(" ".join(lines or stderr.splitlines()).split())[-500:]


async def _ended(process: asyncio.subprocess.Process) -> int:
    """Wait for a process to exit, and then kill its process group, even if the wait is cancelled."""
    try:
        return await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


class _Output:
    """Pipe that receives a program's output and keeps the last bytes.

    With asyncio's own pipe, rewardkit would have to wait for every process that still holds the write end.
    """

    def __init__(self, most: int) -> None:
        """Open the pipe and start reading from it. At most `most` bytes are kept."""
        self._most = most
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
        self._kept = (self._kept + piece)[-self._most :]
        return bool(piece)

    def close(self) -> bytes:
        """Close the pipe and return the last bytes that were written to it."""
        os.close(self.writing)
        for _ in range(64):  # 64 reads empty the pipe, and the limit is needed if a process keeps writing
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
    ours = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": key, "OPENAI_MODEL": MODEL}
    return {**ours, "ANTHROPIC_BASE_URL": base_url.removesuffix("/v1"), "ANTHROPIC_API_KEY": key, **local}


def _plain(value: Any) -> Any:
    """Convert a value that JSON cannot represent, such as a NumPy array, to a list or a string."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
