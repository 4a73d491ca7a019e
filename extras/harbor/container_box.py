"""Box for Harbor tasks with an image of their own. It runs commands in a container of Podman or Docker.

The container's main program waits for the end of its standard input, which is a pipe from this process. If
this process ends, even by SIGKILL, the main program therefore ends too. The kernel then kills all other
programs in the container, and the container tool removes the container.

The container tools are started without a shell. Commands are sent to bash in the container through a pipe. As
an argument, a command would be limited in length and visible to other users of this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import io
import os
import shlex
import shutil
import signal
import tarfile
import uuid
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardkit.errors import InputError
from rewardkit.sandbox.outcome import OutcomeStatus
from rewardkit_extras.harbor.box import BoxError, Ran
from rewardkit_extras.harbor.task import HarborTask

TOOL = "REWARDKIT_CONTAINER_TOOL"
"""Environment variable with the name or path of the container tool."""
_TOOLS = ("podman", "docker")
"""Container tools in order of preference. Podman needs no daemon, so it works if the command exists."""
_LABEL = "rewardkit=harbor"
_READY = "rewardkit-container-ready"
_WAIT = f"echo {_READY}; read -r _"
_RUN = (
    "{ echo 500 > /proc/self/oom_score_adj; } 2> /dev/null;"  # The main program must not be killed first.
    'IFS= read -rd "" command; eval "$command" < /dev/null'
)
_CALL_S = 60.0
"""Time limit in seconds for a call of the container tool that runs no command of the task."""
_STOP_S = 10.0
_OUTPUT = 4 << 20
"""Number of bytes of each output that are kept."""
_PROCESSES = 1024


def container_tool() -> str:
    """Return the path of the container tool.

    Raises:
        InputError: There is no container tool.
    """
    named = os.environ.get(TOOL)
    for name in (named,) if named else _TOOLS:
        if (path := shutil.which(name)) is not None:
            return path
    given = f"{TOOL}={named} is not a command; name" if named else "install"
    raise InputError(f"a Harbor task with its own image needs a container tool; {given} podman or docker")


async def image_of(task: HarborTask) -> str:
    """Return the ID of a task's image, after building or pulling the image if it does not exist yet.

    Raises:
        BoxError: The image cannot be built or pulled.
    """
    tool, folder = container_tool(), task.folder / "environment"
    name = task.image or f"rewardkit-harbor:{_digest(folder)}"
    make = ["pull", name] if task.image else ["build", "-t", name, "--label", _LABEL, str(folder)]
    async with _locked(task.folder):  # Other episodes of this task wait for the image.
        if (found := await _image_id(tool, name)) is None:
            _check(await _call([tool, "ps", "-q"], _CALL_S), f"cannot use {tool}")
            done = await _call([tool, *make], task.build_s)
            _check(done, f"cannot {make[0]} the image of the Harbor task {task.folder}", task.build_s)
            found = await _image_id(tool, name)
    if found is None:
        raise BoxError(f"{tool} {make[0]} succeeded, but the image {name} does not exist")
    return found


class ContainerBox:
    """Container for one attempt at a task."""

    def __init__(self, task: HarborTask, *, network: bool) -> None:
        """Choose the container tool, without starting it.

        Args:
            task: Task.
            network: Whether commands have network access.

        Raises:
            InputError: There is no container tool.
        """
        self._task = task
        self._tool = container_tool()
        self._network = network
        self._name = f"rewardkit-{uuid.uuid4().hex[:16]}"
        self._main: Process | None = None

    async def start(self) -> None:
        """Start a container from the task's image."""
        memory = f"{self._task.memory_mb or 2048}m"
        limits = ["--memory", memory, "--memory-swap", memory, "--pids-limit", str(_PROCESSES)]
        limits += ["--cpus", f"{self._task.cpus or 1:g}", *([] if self._network else ["--network", "none"])]
        whole = [self._tool, "run", "--rm", "-i", "--name", self._name, "--label", _LABEL, *limits]
        image = await image_of(self._task)
        self._main = await _started([*whole, image, "bash", "-c", _WAIT], stdin=PIPE)
        said: bytes | None = b"it did not start in time"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CALL_S):
                said = await _until_ready(self._main)
        if said is not None:
            await self.stop()
            raise BoxError(f"{self._tool} cannot start a container of {self._task.folder}: {_reason(said)}")

    async def exec(
        self, command: str, cpu_s: float, wall_s: float | None = None, user: str | None = None
    ) -> Ran:
        """Run a command. The limit on CPU time is also the limit on elapsed time. See `Box.exec`.

        A command that exceeds the limit is killed with all other programs in the container except the main
        program, because Docker and Podman cannot kill a single command.
        """
        where = ["-w", self._task.workdir] if self._task.workdir else []
        who = ["-u", user] if user else []
        exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in self._task.env.items())
        text = (exports + command).encode("utf-8", "replace")
        call = [self._tool, "exec", "-i", *where, *who, self._name, "bash", "-c", _RUN]
        done = await _call(call, wall_s or cpu_s, text)
        status: OutcomeStatus = "runtime_error" if done.code else "ok"
        if done.code is None:
            status = "wall_timeout"
            killed = await self._as_root("kill -9 -1")
            _check(killed, "cannot kill the programs in the container")
        elif done.code:
            await self._require_running(done)
        return Ran((done.stdout + done.stderr).decode("utf-8", "replace"), status, done.code)

    async def put(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Replace a folder, in which all users may create files."""
        name = shlex.quote(folder)
        done = await self._as_root(f"rm -rf {name} && mkdir -p {name} && chmod 1777 {name}")
        _check(done, f"cannot create {folder} in the container")
        if files:
            call = [self._tool, "cp", "-", f"{self._name}:{folder}"]
            _check(await _call(call, _CALL_S, _packed(files)), f"cannot write to {folder} in the container")

    async def get(self, path: str) -> bytes | None:
        """Return a file."""
        done = await _call([self._tool, "cp", f"{self._name}:{path}", "-"], _CALL_S)
        if done.code:
            await self._require_running(done)
            return None
        return _unpacked(done.stdout, path)

    async def stop(self) -> None:
        """End the main program. Remove the container if it still exists afterwards."""
        main, self._main = self._main, None
        if main is None:
            return
        assert main.stdin is not None
        main.stdin.close()
        try:
            async with asyncio.timeout(_STOP_S):
                await main.wait()
        except TimeoutError:
            await _call([self._tool, "rm", "-f", self._name], _CALL_S)
        finally:
            await _killed(main)

    async def _as_root(self, command: str) -> _Done:
        return await _call([self._tool, "exec", "-u", "0", self._name, "bash", "-c", command], _CALL_S)

    async def _require_running(self, failed: _Done) -> None:
        """Raise BoxError if the container has ended, because this is the reason why a call failed."""
        call = [self._tool, "container", "inspect", "-f", "{{.State.Running}}", self._name]
        done = await _call(call, _CALL_S)
        if done.stdout.strip() != b"true":
            raise BoxError(f"the container ended during the episode: {_reason(failed.stderr)}")


@dataclass(frozen=True, slots=True)
class _Done:
    """Result of a call. The exit code is None if the call exceeded its time limit."""

    code: int | None
    stdout: bytes
    stderr: bytes


async def _call(command: Sequence[str], seconds: float, stdin: bytes = b"") -> _Done:
    """Run a program and return its result. At the time limit or on cancellation, the program is killed."""
    process = await _started(command, stdin=PIPE if stdin else DEVNULL)
    out, errors = bytearray(), bytearray()
    assert process.stdout is not None and process.stderr is not None
    code = None
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(
                _fed(process, stdin), _kept(process.stdout, out), _kept(process.stderr, errors)
            )
            code = await process.wait()
    except TimeoutError:
        pass
    finally:
        await _killed(process)
    return _Done(code, bytes(out), bytes(errors))


async def _started(command: Sequence[str], stdin: int) -> Process:
    """Start a program in a session of its own, so that Ctrl-C in the terminal does not reach it.

    Raises:
        BoxError: The program cannot be started.
    """
    try:
        return await asyncio.create_subprocess_exec(
            *command, stdin=stdin, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except OSError as error:
        raise BoxError(f"cannot start {command[0]}: {error}") from None


async def _fed(process: Process, text: bytes) -> None:
    if process.stdin is not None:
        with contextlib.suppress(ConnectionError):
            process.stdin.write(text)
            await process.stdin.drain()
        process.stdin.close()


async def _kept(stream: asyncio.StreamReader, kept: bytearray) -> None:
    """Read a stream to its end, and keep its beginning."""
    while piece := await stream.read(65536):
        kept += piece[: _OUTPUT - len(kept)]


async def _killed(process: Process) -> None:
    """Kill a running program and its descendants. Podman's build steps have their own process groups."""
    if process.returncode is None:
        for pid in _with_descendants(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await process.wait()


def _with_descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:  # The loop appends to this list.
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, path.read_text().split())
    return found


async def _until_ready(process: Process) -> bytes | None:
    """Wait for the container's main program. If it ends, return its standard error."""
    assert process.stdout is not None and process.stderr is not None
    while line := await process.stdout.readline():
        if _READY.encode() in line:
            return None
    return await process.stderr.read()


async def _image_id(tool: str, name: str) -> str | None:
    done = await _call([tool, "image", "inspect", "-f", "{{.Id}}", name], _CALL_S)
    return None if done.code else done.stdout.decode().strip() or None


@contextlib.asynccontextmanager
async def _locked(folder: Path) -> AsyncIterator[None]:
    """Lock a folder for the block.

    Other tasks, threads and processes that lock the same folder have to wait.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            await asyncio.sleep(0.1)
        yield
    finally:
        os.close(descriptor)


def _check(done: _Done, what: str, seconds: float = _CALL_S) -> None:
    """Raise BoxError with the reason if a call has failed."""
    if done.code is None:
        raise BoxError(f"{what}: it took longer than {seconds:g} s")
    if done.code:
        raise BoxError(f"{what}: {_reason(done.stderr)}")


def _reason(stderr: bytes) -> str:
    """Return the last line of an output that mentions an error, or else the last line."""
    lines = [" ".join(line.split()) for line in stderr.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line] or ["no reason given"]
    return next((line for line in reversed(lines) if "error" in line.lower()), lines[-1])[:500]


def _digest(folder: Path) -> str:
    """Return a checksum of the files from which an image is built."""
    made = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        made.update(f"{path.relative_to(folder)} {path.stat().st_mode:o} {content}\n".encode())
    return made.hexdigest()[:32]


def _packed(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _unpacked(archive: bytes, path: str) -> bytes | None:
    """Return the only file in an archive, or None if it contains another kind of entry.

    Raises:
        BoxError: The archive is incomplete, because the file is too large.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
            entry = opened.next()
            if entry is None or entry.type not in tarfile.REGULAR_TYPES:
                return None
            if entry.size >= len(archive):
                raise BoxError(f"{path} in the container is larger than {_OUTPUT >> 20} MB")
            file = opened.extractfile(entry)
            return None if file is None else file.read()
    except tarfile.TarError as error:
        raise BoxError(f"cannot read {path} in the container: {error}") from None
