"""Executes another program (a compiler, runtime or compiled program) in the jailed child as a plan describes.

The plan and all names in it come from the driver. The program and its files may be hostile. Another jailed
child collects the compiler's output, so that the server never reads it.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import stat
from dataclasses import dataclass, field

REQUEST = 3
RESULTS = 4
CLASSES = "*.class"
"""Value of `output` for all class files in the working directory and below, packed into a zip file."""

_MOST_FILES = 4096
_NOT_EXECUTABLE = 126
"""Exit status of a program that the kernel cannot execute, as in a shell."""


@dataclass(frozen=True)
class ExecutionPlan:
    """A command to execute, with its files and environment. Runs of Python programs use only the files."""

    files: dict[str, str]
    """Files to write into the working directory, as base64 content by relative path."""
    fetch: list[str]
    """Paths of files in the working directory to send back."""
    argv: list[str] = field(default_factory=list)
    """Command line, starting with an absolute path. If empty, the run's program itself is executed."""
    env: dict[str, str] = field(default_factory=dict)
    file: str = ""
    """Name for the run's program in the working directory. If empty, the program itself is executed."""
    output: str = ""
    """Output file of a build, which is sent back unchanged, or CLASSES."""


def read_plan() -> ExecutionPlan:
    """Read the plan from its descriptor, and close the descriptor."""
    plan = ExecutionPlan(**json.loads(os.pread(REQUEST, os.fstat(REQUEST).st_size, 0)))
    os.close(REQUEST)
    return plan


def place_files(plan: ExecutionPlan, program: int) -> None:
    """Write the program and the plan's files into the working directory, and let every user write to them."""
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


def run(plan: ExecutionPlan, program: int, entered: int, *, own_group: bool) -> int:
    """Replace this process with the program. If that fails, return an exit status.

    If the program's own file cannot be executed, for example because of its interpreter line, the program has
    failed. If a runtime cannot be executed, the sandbox has failed, and `entered` is incremented a second
    time to report this.

    Args:
        plan: The command.
        program: Descriptor of the program.
        entered: Counter of `child.Jail`.
        own_group: True to start a new process group, so that the signals that a script sends to its own group
            do not reach the sandbox.
    """
    own = not plan.file
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python ignores these signals, and without this call the program would ignore them too.
        signal.signal(number, signal.SIG_DFL)
    if own_group:
        os.setsid()
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
    """Write the requested files or, if none are requested, the compiler's output to `results`.

    At most `most` bytes of requested files are written. If the compiler has left no output, nothing is
    written.
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
    import zipfile  # only this kind of run needs zipfile

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
