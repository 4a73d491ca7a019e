"""What a language is to the sandbox: a toolchain found on this machine, the commands that build a program
with it, and the one that runs it. Nothing is run here but the toolchain's own questions about itself.
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
    """Programs in this language cannot be run here; the message says what to install or change."""


@dataclass(frozen=True, slots=True)
class LanguageCommand:
    """One program that the jail executes: a step of a build, or the run itself."""

    argv: tuple[str, ...] = ()
    """The first is an absolute path. Empty: what is executed is what the build has made."""
    file: str = ""
    """The name under which it finds its input (the source, or what the step before made) in its working
    directory. Empty: the input is what is executed."""
    output: str = ""
    """Of a step: the file that it leaves; `*.class`: all class files, as a zip file."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Further files that it finds there: name, content."""
    env: tuple[tuple[str, str], ...] = ()
    profile: Literal["native", "managed", "shell"] = "native"
    """`native`: memory is limited as address space. `managed`: for runtimes that reserve far more than they
    use, as what is in use. `shell`: starts processes; only at levels with namespaces."""
    extra_mb: int = 0
    """What the runtime itself needs, beyond the program's memory."""
    stack_mb: int | None = None
    """Limit of the stack. None: the program's memory."""
    script: str = ""
    """Python that runs in the warm interpreter, in place of all that."""
    tools: bool = True
    """It sees the toolchain's files. False: only what a Python program sees."""
    assertions: tuple[str, ...] = ()
    """Words put behind the first of `argv` where the program's own assertions are to count."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One language on this machine."""

    version: str
    readable: tuple[str, ...]
    """Absolute paths that it reads, beyond the shared libraries."""
    run: Callable[[str, Limits], LanguageCommand]
    """The command that runs a program, given its source and its limits."""
    build: Callable[[str], Sequence[Sequence[LanguageCommand]]] = lambda source: ()
    """The steps that make the program from its source; more than one list of steps: the next is tried where
    one fails. None at all: the source itself is run."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language. `discover` is asked once in a process."""

    name: str
    title: str
    aliases: tuple[str, ...]
    """What else a fence, a data set or SandboxFusion calls it; lower case."""
    discover: Callable[[], Toolchain]
    """Return the toolchain. Raises LanguageUnavailable with the remedy."""
    hello: str
    """A program that prints 42 when it is given `hello_input`: with it the toolchain is proved."""
    cpu_factor: float = 1.0
    """How much more CPU time a test may take than its limit says, which is meant for C++."""
    startup_s: float = 0.0
    """CPU time of an empty program, which is added."""
    hello_input: str = "41\n"
    is_compiled: bool = False
    """A program is built before it is run."""
    processes: int = 0
    """How many processes a program may start; some have to."""
    answers: bool = True
    """A response may be written in it. False: only a request to `/run_code` names it, mostly to run a program
    with its tests."""
    mark: str = ""
    """Pattern of text that only programs in this language contain, for blocks of code without a language.
    Empty: such a block is never in it."""

    def scaled(self, cpu_s: float) -> float:
        """Return the CPU time that a test with the limit `cpu_s` may take in this language."""
        return cpu_s * self.cpu_factor + self.startup_s


def program(name: str, remedy: str) -> str:
    """Return the real path of a program on PATH.

    Raises:
        LanguageUnavailable: there is none.
    """
    found = shutil.which(name)
    if found is None:
        closed = [folder for folder in dict.fromkeys(os.get_exec_path()) if _is_closed(folder)][:3]
        why = f", and this user cannot read {', '.join(closed)}" if closed else ""
        raise LanguageUnavailable(f"'{name}' is not on PATH{why}; {remedy}")
    return os.path.realpath(found)


def _is_closed(folder: str) -> bool:
    """Whether a folder, as one in another user's home, may hold programs that this user cannot reach."""
    try:
        os.stat(os.path.join(folder, "."))
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def ask(*command: str, folder: str | None = None, env: dict[str, str] | None = None) -> str:
    """Run a toolchain's own program and return what it says on stdout, or, where that is nothing, on stderr.

    A warning on stderr is not a part of the path or version that was asked for.

    Raises:
        LanguageUnavailable: it fails.
    """
    environment = {**os.environ, "LC_ALL": "C", **(env or {})}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_TIMEOUT_S, cwd=folder, env=environment,
            umask=0o022,  # what it leaves in its caches the jail's user has to read
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise LanguageUnavailable(f"'{command[0]}' cannot be run: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise LanguageUnavailable(f"'{' '.join(command[:3])}' failed: {said[-1][:200]}")
    return done.stdout or done.stderr


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for what a toolchain is asked to make, to see how it does it."""
    return tempfile.TemporaryDirectory(prefix="sandbox-toolchain-")


def can_hold(folder: str) -> bool:
    """Whether files can be made in a folder, which is made if it is not there."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def private_folder(name: str) -> str:
    """Return a folder among the temporary ones that only this user can write to, the same at every call.

    One that somebody else has put there, or can write to, is not used, as programs are linked with what is in
    it. Others can read it: the jail's user has to.
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
    """Return the folders outside of `folder` that links in it lead to."""
    links = (path for path in Path(folder).rglob("*") if path.is_symlink())
    targets = {os.path.realpath(path) for path in links}
    return tuple(sorted({os.path.dirname(t) for t in targets if not t.startswith(folder + os.sep)}))
