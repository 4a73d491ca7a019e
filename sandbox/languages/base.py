"""Defines a language for the sandbox by its toolchain and the commands that build and run a program.

Outside the jail, a toolchain is only queried. Model-written programs are processed only in the jail.
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

from rewardkit.sandbox.apart.declaration import ApartSources
from rewardkit.sandbox.outcome import Limits, SandboxUnavailable

_ASK_TIMEOUT_S = 120.0


class LanguageUnavailable(SandboxUnavailable):
    """Raised if programs in this language cannot be run. The message says what to install or change."""


@dataclass(frozen=True, slots=True)
class LanguageCommand:
    """One command to execute in the jail, either a build step or the run itself."""

    argv: tuple[str, ...] = ()
    """Command line, starting with an absolute path. If empty, the result of the build is executed."""
    file: str = ""
    """Name of the input (the source, or the output of the previous step) in the working directory. If empty,
    the input itself is executed."""
    output: str = ""
    """Output file of a build step. `*.class` means all class files, packed into a zip file."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Additional files in the working directory, as pairs of name and content."""
    env: tuple[tuple[str, str], ...] = ()
    profile: Literal["native", "managed", "shell"] = "native"
    """Kind of limits to apply to a run, which is a key of `jail.limits.PROFILES`. `managed` is for runtimes
    with their own memory management. `shell` is for commands that start processes, and requires a level with
    namespaces. Build steps have limits of their own."""
    script: str = ""
    """Python source to run in the warm interpreter instead of a command."""
    tools: bool = True
    """True if the command may read the toolchain's files, in addition to the files that every program may
    read."""
    assertions: tuple[str, ...] = ()
    """Arguments to insert after the first item of `argv` to enable the program's own assertions."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Installation of one language on this machine."""

    version: str
    readable: tuple[str, ...]
    """Absolute paths that programs and build steps may read, in addition to the shared libraries."""
    run: Callable[[str, Limits], LanguageCommand]
    """Function that returns the command to run a program, given its source and its limits."""
    build: Callable[[str], Sequence[Sequence[LanguageCommand]]] = lambda source: ()
    """Function that returns alternative lists of build steps for a program, given its source. If one list
    fails, the next is tried. If there are no lists, the source itself is run."""


@dataclass(frozen=True, slots=True)
class Language:
    """Definition of one language. `discover` is called once per process."""

    name: str
    title: str
    aliases: tuple[str, ...]
    """Other names for the language in code fences, datasets or SandboxFusion, in lower case."""
    discover: Callable[[], Toolchain]
    """Function that returns the toolchain, or raises LanguageUnavailable with a remedy."""
    hello: str
    """Program that prints 42 when given `hello_input`, to prove that the toolchain works."""
    cpu_factor: float = 1.0
    """Factor by which to multiply a test's CPU time limit, because such limits are usually meant for C++."""
    startup_s: float = 0.0
    """CPU time in seconds that an empty program takes. It is added to the limit."""
    hello_input: str = "41\n"
    is_compiled: bool = False
    """True if programs are built before they are run."""
    processes: int = 0
    """Number of additional processes that a program may start, for languages whose programs need them."""
    answers: bool = True
    """True if responses may be written in this language. False if the language is only for `/run_code`
    requests, usually to run a program together with its tests."""
    apart: Callable[[str, str, str], ApartSources] | None = None
    """Function that takes a program, the declaration of its function and the tests, and returns the sources
    of a program that answers calls and of tests that make them. None if tests can only use standard input."""
    mark: str = ""
    """Pattern for text that occurs only in programs in this language. It identifies the language of code
    blocks that do not name one. If it is empty, such blocks are never assumed to be in this language."""

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
    """Return True if this user cannot access a folder, for example because it is in another user's home."""
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
    """Return a temporary folder that only this user can write to. Later calls return the same folder.

    If another user has created that folder or can write to it, a new folder is used instead, because programs
    are linked with its content. Other users can read the folder, because the jail's user has to read it.
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
    """Return the folders outside `folder` that contain targets of symbolic links in `folder`."""
    links = (path for path in Path(folder).rglob("*") if path.is_symlink())
    targets = {os.path.realpath(path) for path in links}
    return tuple(sorted({os.path.dirname(t) for t in targets if not t.startswith(folder + os.sep)}))
