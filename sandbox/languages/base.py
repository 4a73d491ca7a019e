"""Definition of a language for the sandbox: a toolchain on this machine, the commands that build a program,
and the command that runs it. Runs nothing except the toolchain's own queries.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rewardkit.sandbox.outcome import Limits, SandboxUnavailable

_ASK_TIMEOUT_S = 120.0


class LanguageUnavailable(SandboxUnavailable):
    """Raised if programs in this language cannot be run here; the message says what to install or change."""


@dataclass(frozen=True, slots=True)
class LanguageCommand:
    """One program that the jail executes: a step of a build, or the run itself."""

    argv: tuple[str, ...] = ()
    """Command line. Its first item is an absolute path. Empty: the result of the build is executed."""
    file: str = ""
    """Name of its input (the source, or the previous step's output) in its working directory. Empty: the
    input is executed."""
    output: str = ""
    """Output file of a build step; `*.class`: all class files, as a zip file."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Further files in the working directory: name, content."""
    env: tuple[tuple[str, str], ...] = ()
    profile: Literal["native", "managed", "shell"] = "native"
    """`native`: memory is limited as address space. `managed`: memory in use is limited, for runtimes that
    reserve far more than they use. `shell`: starts processes; only at levels with namespaces."""
    extra_mb: int = 0
    """Memory of the runtime itself, in addition to the program's, in MiB."""
    stack_mb: int | None = None
    """Limit of the stack, in MiB. None: the program's memory."""
    script: str = ""
    """Python source that runs in the warm interpreter instead of a command."""
    tools: bool = True
    """True if it can read the toolchain's files. False: only those that a Python program can read."""
    assertions: tuple[str, ...] = ()
    """Words inserted after the first of `argv` to enable the program's own assertions."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One language on this machine."""

    version: str
    readable: tuple[str, ...]
    """Absolute paths that it reads, besides the shared libraries."""
    run: Callable[[str, Limits], LanguageCommand]
    """Returns the command that runs a program, given its source and its limits."""
    build: Callable[[str], Sequence[Sequence[LanguageCommand]]] = lambda source: ()
    """Returns lists of steps that build the program from its source; the next list is tried if one fails.
    Empty: the source itself is run."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language. `discover` is called once in a process."""

    name: str
    title: str
    aliases: tuple[str, ...]
    """Other names used by fences, datasets or SandboxFusion, in lower case."""
    discover: Callable[[], Toolchain]
    """Returns the toolchain. Raises LanguageUnavailable with a remedy."""
    hello: str
    """Program that prints 42 when given `hello_input`, which proves that the toolchain works."""
    cpu_factor: float = 1.0
    """Factor for the CPU time limit of a test, which is meant for C++."""
    startup_s: float = 0.0
    """CPU time of an empty program, which is added, in seconds."""
    hello_input: str = "41\n"
    is_compiled: bool = False
    """True if a program is built before it is run."""
    processes: int = 0
    """Maximum number of processes of a program; some programs need several."""
    answers: bool = True
    """True if responses may be written in it. False: it is only for `/run_code` requests, mostly to run a
    program with its tests."""
    mark: str = ""
    """Pattern of text that only programs in this language contain, to recognise unmarked code blocks. Empty:
    an unmarked block is never in this language."""

    def scaled(self, cpu_s: float) -> float:
        """Return the CPU time that a test with the limit `cpu_s` may take in this language."""
        return cpu_s * self.cpu_factor + self.startup_s


def program(name: str, remedy: str) -> str:
    """Return the real path of a program on PATH.

    Raises:
        LanguageUnavailable: there is no such program.
    """
    found = shutil.which(name)
    if found is None:
        closed = [folder for folder in dict.fromkeys(os.get_exec_path()) if _is_closed(folder)][:3]
        why = f", and this user cannot read {', '.join(closed)}" if closed else ""
        raise LanguageUnavailable(f"'{name}' is not on PATH{why}; {remedy}")
    return os.path.realpath(found)


def _is_closed(folder: str) -> bool:
    """Return whether a folder, such as one in another user's home, is not accessible to this user."""
    try:
        os.stat(os.path.join(folder, "."))
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def ask(*command: str, folder: str | None = None, env: dict[str, str] | None = None) -> str:
    """Run a program of a toolchain and return its stdout or, if that is empty, its stderr.

    A warning on stderr is not a part of the requested path or version.

    Raises:
        LanguageUnavailable: the program fails.
    """
    environment = {**os.environ, "LC_ALL": "C", **(env or {})}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_TIMEOUT_S, cwd=folder, env=environment,
            umask=0o022,  # the jail's user must be able to read its caches
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise LanguageUnavailable(f"'{command[0]}' cannot be run: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise LanguageUnavailable(f"'{' '.join(command[:3])}' failed: {said[-1][:200]}")
    return done.stdout or done.stderr


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder for trial runs of a toolchain."""
    return tempfile.TemporaryDirectory(prefix="sandbox-toolchain-")


def can_hold(folder: str) -> bool:
    """Return whether files can be created in a folder, which is made if it is missing."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def private_folder(name: str) -> str:
    """Return a temporary folder that only this user can write to, the same at every call.

    A folder that somebody else has created, or can write to, is not used, because programs are linked with
    its content. The folder is readable for others: the jail's user needs that.
    """
    path = os.path.join(tempfile.gettempdir(), f"rewardkit-{name}-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(path)
        os.chmod(path, 0o755)
    found = os.lstat(path)
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    if is_ours:
        return path
    path = tempfile.mkdtemp(prefix=f"rewardkit-{name}-")
    os.chmod(path, 0o755)
    return path


def linked_folders(folder: str) -> tuple[str, ...]:
    """Return the folders outside of `folder` to which links in it lead."""
    links = (path for path in Path(folder).rglob("*") if path.is_symlink())
    targets = {os.path.realpath(path) for path in links}
    return tuple(sorted({os.path.dirname(t) for t in targets if not t.startswith(folder + os.sep)}))
