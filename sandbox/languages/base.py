"""Definition of a language for the sandbox: its toolchain, and the commands that build and run a program.

On the host, only queries of the toolchain are run.
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
    """Raised if programs in this language cannot be run. The message says what to install or change."""


@dataclass(frozen=True, slots=True)
class LanguageCommand:
    """One command for the jail to execute: a step of a build, or the run itself."""

    argv: tuple[str, ...] = ()
    """Command line, starting with an absolute path. If empty, the result of the build is executed."""
    file: str = ""
    """Name of the input (the source, or the output of the previous step) in the working directory. If empty,
    the input itself is executed."""
    output: str = ""
    """Output file of a build step. `*.class` stands for all class files, as a zip file."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Additional files in the working directory, as pairs of name and content."""
    env: tuple[tuple[str, str], ...] = ()
    profile: Literal["native", "managed", "shell"] = "native"
    """Kind of limits. `native`: memory is limited as address space. `managed`: memory in use is limited, for
    runtimes that reserve far more than they use. `shell`: the command starts processes, which requires a
    level with namespaces."""
    extra_mb: int = 0
    """Memory that the runtime itself needs, in addition to the program's, in MiB."""
    stack_mb: int | None = None
    """Stack limit in MiB. None means the program's memory limit."""
    script: str = ""
    """Python source to run in the warm interpreter instead of a command."""
    tools: bool = True
    """True if the command may read the toolchain's files, in addition to those for any program."""
    assertions: tuple[str, ...] = ()
    """Words to insert after the first item of `argv` to enable the program's own assertions."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Installation of one language on this machine."""

    version: str
    readable: tuple[str, ...]
    """Absolute paths that programs and build steps read, in addition to the shared libraries."""
    run: Callable[[str, Limits], LanguageCommand]
    """Function that returns the command to run a program, given its source and its limits."""
    build: Callable[[str], Sequence[Sequence[LanguageCommand]]] = lambda source: ()
    """Function that returns lists of steps to build a program from its source. If one list fails, the next is
    tried. Without any list, the source itself is run."""


@dataclass(frozen=True, slots=True)
class Language:
    """Definition of one language. `discover` is called once per process."""

    name: str
    title: str
    aliases: tuple[str, ...]
    """Other names, in lower case, that are used in code fences, datasets or SandboxFusion."""
    discover: Callable[[], Toolchain]
    """Function that returns the toolchain, or raises LanguageUnavailable with a remedy."""
    hello: str
    """Program that prints 42 when given `hello_input`. It proves that the toolchain works."""
    cpu_factor: float = 1.0
    """Factor for the CPU time limit of a test, since such limits are meant for C++."""
    startup_s: float = 0.0
    """CPU time of an empty program in seconds, which is added to the limit."""
    hello_input: str = "41\n"
    is_compiled: bool = False
    """True if programs are built before they are run."""
    processes: int = 0
    """Maximum number of additional processes of a program, for languages whose programs need them."""
    answers: bool = True
    """True if responses may be written in this language. False if it is only for `/run_code` requests, mostly
    to run a program together with its tests."""
    mark: str = ""
    """Pattern of text that occurs only in programs of this language, to recognise unmarked code blocks. If
    empty, no unmarked block is considered to be in this language."""

    def scaled(self, cpu_s: float) -> float:
        """Return the CPU time allowed in this language for a test with the limit `cpu_s`."""
        return cpu_s * self.cpu_factor + self.startup_s


def program(name: str, remedy: str) -> str:
    """Return the real path of a program on PATH.

    Raises:
        LanguageUnavailable: The program is not on PATH.
    """
    found = shutil.which(name)
    if found is None:
        closed = [folder for folder in dict.fromkeys(os.get_exec_path()) if _is_closed(folder)][:3]
        why = f", and this user cannot read {', '.join(closed)}" if closed else ""
        raise LanguageUnavailable(f"'{name}' is not on PATH{why}; {remedy}")
    return os.path.realpath(found)


def _is_closed(folder: str) -> bool:
    """Return True if this user cannot access a folder, such as a folder in another user's home."""
    try:
        os.stat(os.path.join(folder, "."))
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def ask(*command: str, folder: str | None = None, env: dict[str, str] | None = None) -> str:
    """Run a program of a toolchain and return its stdout or, if that is empty, its stderr.

    Warnings on stderr are ignored, because they are not part of the requested path or version.

    Raises:
        LanguageUnavailable: The program fails.
    """
    environment = {**os.environ, "LC_ALL": "C", **(env or {})}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_TIMEOUT_S, cwd=folder, env=environment,
            umask=0o022,  # the jail's user must be able to read the caches of the toolchain
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
    """Return True if files can be created in a folder. The folder is created if it is missing."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def private_folder(name: str) -> str:
    """Return a temporary folder that only this user can write to. It is the same folder at every call.

    A folder that another user has created or can write to is not used, because programs are linked with its
    content. Other users can read the folder, since the jail's user must be able to.
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
    """Return the folders outside `folder` that contain the targets of links in it."""
    links = (path for path in Path(folder).rglob("*") if path.is_symlink())
    targets = {os.path.realpath(path) for path in links}
    return tuple(sorted({os.path.dirname(t) for t in targets if not t.startswith(folder + os.sep)}))
