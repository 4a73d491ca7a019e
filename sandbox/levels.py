"""Finds the isolation levels that work on this host, by attempting escapes rather than asking the kernel.

`auto` is the strongest level at which every escape fails. If no level works, SandboxUnavailable gives the
reason for each level and says what an administrator can do.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rewardkit.sandbox.outcome import IsolationLevel, Limits, Outcome, SandboxUnavailable
from rewardkit.sandbox.worker import Job, Worker, WorkerDied

LevelChoice = Literal["auto", "warm", "guard", "none"]
SECURE: tuple[IsolationLevel, ...] = ("warm", "guard")
"""Levels that `auto` tries, from the strongest to the weakest."""

_LIMITS = Limits(cpu_s=2.0, wall_s=4.0, memory_mb=256, output_bytes=1 << 18)
_SECRET = "a canary"
_REMEDY = (
    "Level warm needs user namespaces (sysctl user.max_user_namespaces > 0, and no AppArmor or container "
    "rule against them) or CAP_SYS_ADMIN; both levels need Landlock (Linux 5.13, `lsm=...,landlock`) and "
    "seccomp. allow_unsafe=True with level='none' runs without isolation"
)


@dataclass(frozen=True)
class Escape:
    """Program that attempts to break out of the sandbox, and prints ESCAPED if it succeeds."""

    name: str
    program: str
    limits: Limits = _LIMITS
    held: Callable[[Outcome], bool] = lambda outcome: b"ESCAPED" not in outcome.stdout + outcome.stderr
    """Function that returns True if the sandbox withstood the attempt, as observed from outside."""


@dataclass(frozen=True)
class Finding:
    """Result of one escape attempt."""

    escape: str
    held: bool
    seen: str


def _attempt(body: str, *, after: str = "print('ESCAPED')") -> str:
    lines = "\n".join("    " + line for line in f"{body}\n{after}".split("\n"))
    return f"import os, sys\ntry:\n{lines}\nexcept OSError as error:\n    print(error)\n"


def escapes(secret: str, port: int) -> tuple[Escape, ...]:
    """Return the escape attempts, some of which target the caller's canary file and listening port."""
    pid = os.getpid()

    def intact(_: Outcome) -> bool:
        return Path(secret).read_text() == _SECRET and os.stat(secret).st_mode & 0o777 == 0o600

    return (
        Escape("runs a program at all", "print(6 * 7)", held=lambda o: o.ok and o.stdout == b"42\n"),
        Escape("read a file of the host", _attempt(f"open({secret!r}).read()")),
        Escape("read /etc/passwd", _attempt("open('/etc/passwd').read()")),
        Escape("change a file of the host", _attempt(f"open({secret!r}, 'a').write('x')"), held=intact),
        Escape("truncate a file of the host", _attempt(f"os.truncate({secret!r}, 0)"), held=intact),
        Escape("change a file's mode", _attempt(f"os.chmod({secret!r}, 0o777)"), held=intact),
        Escape("write beside the modules", _attempt("open(os.path.dirname(os.__file__) + '/x.py', 'w')")),
        Escape("read the environment of the driver", _attempt(f"open('/proc/{pid}/environ').read()")),
        Escape("inherit an environment", "import os\nprint('ESCAPED' if os.environ else '')"),
        Escape(
            "inherit a descriptor",
            "import os\nfor fd in range(3, 4096):\n"
            "    try: os.fstat(fd); print('ESCAPED', fd)\n    except OSError: pass",
        ),
        Escape("open a socket", _attempt(f"import socket\nsocket.create_connection(('', {port}), 1)")),
        Escape("signal the driver", _attempt(f"os.kill({pid}, 0)")),
        Escape("signal everything", _attempt("os.kill(-1, 0)")),
        Escape("trace a process", _raw_call(101, 117, 16, "os.getppid()", 0, 0)),
        Escape("make namespaces", _raw_call(272, 97, 0x10000000)),
        Escape("mount", _raw_call(165, 40, 0, 0, 0, 0, 0)),
        Escape("start a process", _attempt("os.fork()")),
        Escape("execute a program", _attempt("os.execv('/bin/true', ['true'])")),
        Escape("become root", _attempt("os.setresuid(0, 0, 0)")),
        Escape(
            "raise a limit",
            "import resource as r\ntry: r.setrlimit(r.RLIMIT_AS, (-1, -1)); print('ESCAPED')\n"
            "except (ValueError, OSError): pass",
        ),
        Escape("take memory", "x = bytearray(1 << 30)\nprint('ESCAPED')", held=lambda o: not o.ok),
        Escape("flood the output", "while True: print('x' * 99)", held=lambda o: o.status == "output_limit"),
        Escape(
            "loop",
            "while True: pass",
            Limits(cpu_s=0.02, wall_s=4.0),
            held=lambda o: o.status == "cpu_timeout",
        ),
        Escape(
            "sleep",
            "import time\ntime.sleep(60)",
            Limits(cpu_s=1.0, wall_s=0.2),
            held=lambda o: o.status == "wall_timeout",
        ),
        Escape(
            "start 500 threads",
            "import threading, time\nthreading.stack_size(32768)\n"
            "for _ in range(500): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n"
            "time.sleep(0.3)\nprint('ESCAPED')",
            held=lambda o: not o.ok,
        ),
    )  # fmt: skip


def _raw_call(x86: int, arm: int, *arguments: object) -> str:
    """Return a program that makes a system call. The sandbox must reject the call before it takes effect."""
    values = ", ".join(f"ctypes.c_long({a})" for a in arguments)
    return (
        "import ctypes, errno, os, platform\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"number = {arm} if platform.machine() == 'aarch64' else {x86}\n"
        f"result = libc.syscall(ctypes.c_long(number), {values})\n"
        "print('ESCAPED' if result >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS) else '')\n"
    )


def prove(level: IsolationLevel) -> list[Finding]:
    """Start a worker at `level` and run every escape in it.

    The first program is harmless. If it cannot run, no escape is tried.

    Raises:
        SandboxUnavailable: The worker does not start.
    """
    with _canaries() as (secret, port):
        try:
            with contextlib.closing(Worker(level)) as worker:
                first, *others = escapes(secret, port)
                found = [_try(worker, first)]
                return [*found, *(_try(worker, escape) for escape in others)] if found[0].held else found
        except WorkerDied as error:
            raise SandboxUnavailable(f"level {level}: {error}") from None


def _try(worker: Worker, escape: Escape) -> Finding:
    outcome = worker.run(Job(escape.program.encode(), limits=escape.limits))
    seen = outcome.status if outcome.detail is None else f"{outcome.status}: {outcome.detail}"
    return Finding(escape.name, outcome.status != "sandbox_error" and escape.held(outcome), seen)


@contextmanager
def _canaries() -> Iterator[tuple[str, int]]:
    """Yield the path of a file and a listening port. The driver can access both, but runs must not."""
    with tempfile.NamedTemporaryFile("w", prefix="sandbox-canary-") as file, socket.socket() as listener:
        file.write(_SECRET)
        file.flush()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield file.name, listener.getsockname()[1]


@functools.cache
def why_not(level: IsolationLevel) -> str | None:
    """Return the reason why `level` does not work on this host, or None if it works.

    The result is cached per process.
    """
    try:
        failed = [f for f in prove(level) if not f.held]
    except (SandboxUnavailable, OSError) as error:
        return str(error)
    if failed:
        return f"level {level} failed escape tests: " + ", ".join(f"{f.escape} ({f.seen})" for f in failed)
    return None


def choose(level: LevelChoice = "auto", *, allow_unsafe: bool = False) -> IsolationLevel:
    """Return `level` itself or, for `auto`, the strongest level in `SECURE` that works on this host.

    Raises:
        SandboxUnavailable: The level (for `auto`, every level in `SECURE`) does not work on this host, or it
            is `none` without `allow_unsafe`.
    """
    if level == "none":
        if not allow_unsafe:
            raise SandboxUnavailable(
                "level 'none' runs programs without isolation; pass allow_unsafe=True to accept that"
            )
        return "none"
    wanted: tuple[IsolationLevel, ...] = SECURE if level == "auto" else (level,)
    reasons = []
    for candidate in wanted:
        reason = why_not(candidate)
        if reason is None:
            return candidate
        reasons.append(reason)
    raise SandboxUnavailable(f"no isolation level works on this machine. {'; '.join(reasons)}. {_REMEDY}")
