"""Programs in other languages, by bubblewrap: cold, one `bwrap` per run, for what is not Python.

Holds by namespaces and rlimits alone (no seccomp or Landlock), so it is weaker than `warm` and several
times dearer. The program's files are what the host has under /usr; nothing else of it is visible.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from rewardkit.sandbox.outcome import DEFAULT_LIMITS, Limits, Outcome, SandboxUnavailable, Status

_VISIBLE = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "/tmp"}


def run_command(
    command: Sequence[str],
    files: Mapping[str, bytes],
    stdin: bytes = b"",
    limits: Limits = DEFAULT_LIMITS,
) -> Outcome:
    """Run a command in a jail of its own and return what came of it.

    CPU time is limited for each process (`limits.cpu_s`, rounded up to a second), elapsed time for all.
    The CPU time and memory in the outcome are those of bubblewrap and what it waited for: a lower bound.

    Args:
        command: Program and arguments, as seen inside; the working directory is /tmp.
        files: Put into /tmp before the start, by name.
        stdin: All of its standard input.
        limits: What it may use; `processes` counts all that it has at a time.

    Raises:
        SandboxUnavailable: bubblewrap is not installed, or this host does not let it work.
    """
    bwrap, prlimit = shutil.which("bwrap"), shutil.which("prlimit")
    if bwrap is None or prlimit is None:
        raise SandboxUnavailable("bwrap and prlimit are not both here; install bubblewrap and util-linux")
    descriptors = [_memory(content) for content in files.values()]
    given, out, err, told = _memory(stdin), _memory(), _memory(), _memory()
    arguments = [
        bwrap,
        "--json-status-fd",
        str(told),
        *_jail(files, descriptors),
        "--",
        prlimit,
        *_rlimits(limits),
        "--",
        *command,
    ]
    start = time.monotonic()
    try:
        process = subprocess.Popen(
            arguments,
            stdin=given,
            stdout=out,
            stderr=err,
            env=_ENVIRONMENT,
            pass_fds=[*descriptors, told],
            start_new_session=True,
        )
        late = _wait(process.pid, limits.wall)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout, stderr = (os.pread(fd, limits.output_bytes, 0) for fd in (out, err))
        started = b"exit-code" in os.pread(told, 65536, 0)  # which only bwrap itself can write
        flooded = any(os.fstat(fd).st_size > limits.output_bytes for fd in (out, err))
    finally:
        for fd in (*descriptors, given, out, err, told):
            os.close(fd)
    if not started and not late:
        raise SandboxUnavailable(f"bubblewrap does not work here: {stderr[:300].decode(errors='replace')}")
    code = process.returncode if process.returncode <= 128 else 128 - process.returncode
    cpu = usage.ru_utime + usage.ru_stime
    return Outcome(
        "output_limit" if flooded else _status(code, late),
        stdout,
        stderr,
        None if late else code,
        cpu_s=cpu,
        wall_s=time.monotonic() - start,
        peak_memory=usage.ru_maxrss << 10,
        detail="bubblewrap: namespaces and rlimits",
    )


def _jail(files: Mapping[str, bytes], descriptors: Sequence[int]) -> list[str]:
    arguments = ["--unshare-all", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev"]
    for path in _VISIBLE:
        arguments += ["--ro-bind-try", path, path]
    arguments += ["--size", str(64 << 20), "--tmpfs", "/tmp", "--chdir", "/tmp", "--cap-drop", "ALL"]
    for name, fd in zip(files, descriptors, strict=True):
        arguments += ["--file", str(fd), f"/tmp/{os.path.basename(name)}"]
    return arguments


def _rlimits(limits: Limits) -> list[str]:
    return [
        f"--cpu={int(limits.cpu_s) + 1}:{int(limits.cpu_s) + 2}",
        f"--as={limits.memory_mb << 20}",
        f"--fsize={limits.output_bytes + 1}",
        f"--nproc={limits.processes + limits.threads + 4}",
        "--core=0",
        "--nofile=128",
    ]


def _memory(content: bytes = b"") -> int:
    fd = os.memfd_create("run", os.MFD_CLOEXEC)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _wait(pid: int, wall_s: float) -> bool:
    """Wait for the end of a process, or kill it when its time is up; return whether it was."""
    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    late = not poll.poll(wall_s * 1000)
    if late:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)  # the first process of its namespace dies with it
    os.close(pidfd)
    return late


def _status(code: int, late: bool) -> Status:
    if late:
        return "wall_timeout"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):  # the limit; the kernel's second one if that was ignored
        return "cpu_timeout"
    if code == -signal.SIGXFSZ:
        return "output_limit"
    return "ok" if code == 0 else "runtime_error"
