"""Shared parts of all supervisors of child processes: starting one, its pipes, its end, and dying with a
parent.

Standard library only, and our errors. Who feeds the processes, watches their deadlines and replaces them is
each supervisor's own business. The inside of the sandbox's jail has its own, since it can import nothing of
ours.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from rewardkit.errors import InputError

PR_SET_PDEATHSIG = 1
PR_GET_CHILD_SUBREAPER = 37

LOAD_TIMEOUT = "REWARDKIT_LOAD_TIMEOUT_S"
"""Environment variable: how many seconds importing a reward may take, in place of 120."""

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from rewardkit.processes import run_child; run_child(sys.argv[2], int(sys.argv[3]))"
)


def start_python(
    target: str,
    *,
    stderr: int | None = None,
    descriptors: tuple[int, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a Python process in a session of its own that runs a function and has our module search path.

    Its standard input and output are pipes, unbuffered on our side.

    Args:
        target: `module:function`; its argument is our process id.
        stderr: as for `Popen`; None: ours.
        descriptors: file descriptors that it inherits, under the same numbers.
        environment: what it finds in its environment beside ours.

    Raises:
        OSError: no process can be started.
    """
    path = [entry or os.getcwd() for entry in sys.path]
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, json.dumps(path), target, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        start_new_session=True,
        pass_fds=descriptors,
        env=None if environment is None else {**os.environ, **environment},
    )


def run_child(target: str, parent: int) -> None:
    """Run as the child process of `start_python`."""
    module, _, function = target.partition(":")
    with large_imports():
        imported = importlib.import_module(module)
    getattr(imported, function)(parent)


def load_timeout_s() -> float:
    """Return how long importing a reward may take.

    Raises:
        InputError: the environment says what is no finite number above 0.
    """
    given = os.environ.get(LOAD_TIMEOUT, "120")
    with contextlib.suppress(ValueError):
        if 0.0 < (seconds := float(given)) < math.inf:
            return seconds
    raise InputError(f"{LOAD_TIMEOUT}={given}: expected a number of seconds above 0")


def die_with_parent(parent: int, sig: signal.Signals = signal.SIGKILL) -> bool:
    """Have the kernel send this process a signal when the thread that started it ends (Linux).

    Returns:
        False when the parent is not `parent` any more: it died before the call, and no signal will come.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, sig)
    return os.getppid() == parent


def adopts_orphans() -> bool:
    """True where orphans of this process's descendants become its children, to be reaped by it."""
    if os.getpid() == 1:
        return True
    if sys.platform != "linux":
        return False
    answer = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return bool(answer.value)


def take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes to the parent for the caller: what else is printed in this process goes to stderr."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests, answers


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of `start_python` with its process group, and close its pipes. Reaps nothing."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    close_pipes(process)


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close our ends of a process's standard streams."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


@contextlib.contextmanager
def unsearched_imports() -> Iterator[None]:
    """Import without looking for garbage meanwhile.

    No later search goes through what there is afterwards either, nor does the interpreter's last one. So
    `rewardkit score --help` takes 0.60 CPU seconds, 0.77 without, and 0.85 where nothing is frozen; a server
    starts in 1.0 to 1.2, without in 1.4 to 1.7 (26 November 2026, two busy cores).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


@contextlib.contextmanager
def large_imports() -> Iterator[None]:
    """Import libraries as large as transformers as `unsearched_imports` does.

    What a trainer imports takes 9.4 CPU seconds so, 11.8 without (measured as above).
    The interpreter's last search goes through them: then libraries that look for leaks find none.
    """
    with unsearched_imports():
        try:
            yield
        finally:
            atexit.register(gc.unfreeze)
