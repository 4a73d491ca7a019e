"""In the jailed child: becomes another program (a compiler, a runtime, what a compiler made), as planned.

The plan is the driver's, and so are the names in it; the program, and all that it leaves, are hostile. What
a compiler leaves is collected by another jailed child, so that the server never reads it.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import stat
from dataclasses import dataclass, field

from . import seccomp

REQUEST = 3
RESULTS = 4
CLASSES = "*.class"
"""As an output: all class files in the working directory and below, as a zip file."""

_MOST_FILES = 4096
_NOT_EXECUTABLE = 126
"""Exit status of a program that the kernel cannot execute: what a shell answers."""

PROFILES = {"native": seccomp.NATIVE, "managed": seccomp.MANAGED, "shell": seccomp.SHELL}


@dataclass(frozen=True)
class ExecutionPlan:
    """What is executed, and with what around it. Of a Python program's run only its files are planned."""

    files: dict[str, str]
    """Files in the working directory, base64, by their relative paths."""
    fetch: list[str]
    """Paths of the files there that are handed back."""
    argv: list[str] = field(default_factory=list)
    """The first is an absolute path; or empty, and then the run's program itself is executed."""
    env: dict[str, str] = field(default_factory=dict)
    file: str = ""
    """Name of the run's program in the working directory; empty: it is executed itself."""
    output: str = ""
    """The file of a build that is handed back as it is, or CLASSES."""
    profile: str = ""
    data: int = 0
    """Bytes of memory that a `managed` run may map for writing."""
    stack: int = 0
    """Bytes; -1: as much as its memory."""


def read_plan() -> ExecutionPlan:
    """Read the plan from its descriptor, which is then closed."""
    plan = ExecutionPlan(**json.loads(os.pread(REQUEST, os.fstat(REQUEST).st_size, 0)))
    os.close(REQUEST)
    return plan


def place_files(plan: ExecutionPlan, program: int) -> None:
    """Put the program and what else it is planned to find into the working directory, for it to change."""
    usual = os.umask(0)
    for name, content in plan.files.items():
        _put(name, base64.b64decode(content))
    if plan.file:
        _put(plan.file, os.pread(program, os.fstat(program).st_size, 0))
    os.umask(usual)


def _put(name: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    fd = os.open(name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o666)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.close(fd)


def run(plan: ExecutionPlan, program: int, entered: int) -> int:
    """Become the program. Returns only if the kernel refuses: the exit status to end with.

    That the program's own file cannot be executed is the program's doing (an odd interpreter in its header);
    that a runtime cannot is ours, and a second mark on `entered` says so.
    """
    own = not plan.file
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and that would be inherited
    if plan.profile == "shell":
        os.setsid()  # so that a signal to its group reaches nothing of ours
    os.closerange(REQUEST, RESULTS + 2)
    try:
        if own:
            os.execve(program, plan.argv or ["main"], plan.env)
        os.execve(plan.argv[0], plan.argv, plan.env)
    except OSError as error:
        os.write(2, f"sandbox: cannot execute {plan.argv[:1]}: {error.strerror}\n".encode())
    if not own:
        os.eventfd_write(entered, 1)
    return _NOT_EXECUTABLE


def collect(plan: ExecutionPlan, results: int, most: int) -> None:
    """Write what a compiler left to `results`, or the files that are to be fetched, at most `most` bytes.

    Nothing is written if there is nothing of that name.
    """
    if plan.fetch:
        _collect_files(plan.fetch, results, most)
        return
    if plan.output == CLASSES:
        _collect_classes(results)
        return
    fd = _open_regular(plan.output)
    while fd is not None and (piece := os.read(fd, 1 << 20)):
        os.write(results, piece)


def _collect_files(names: list[str], results: int, most: int) -> None:
    found: dict[str, str | None] = {}
    room = most - sum(len(name) + 16 for name in names)
    for name in names:
        if (fd := _open_regular(name)) is None:
            continue
        fits = os.fstat(fd).st_size * 4 // 3 + 4 < room
        found[name] = base64.b64encode(os.read(fd, room)).decode() if fits else None
        room -= len(found[name] or "")
        os.close(fd)
    os.write(results, json.dumps(found).encode())


def _open_regular(path: str) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    return fd if stat.S_ISREG(os.fstat(fd).st_mode) else None


def _collect_classes(results: int) -> None:
    import zipfile  # only here: no other run has a use for it

    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(".")
        for name in names
        if name.endswith(".class")
    ]
    if not found:
        return
    with open(results, "wb", closefd=False) as file, zipfile.ZipFile(file, "w") as archive:
        for path in sorted(found)[:_MOST_FILES]:
            if (fd := _open_regular(path)) is not None:
                with open(fd, "rb") as content:
                    archive.writestr(zipfile.ZipInfo(os.path.normpath(path)), content.read())
