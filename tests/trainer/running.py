"""Runs modules as programs of their own, as a user's shell would, but forked: see `fork_server.py`."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
RUN = "REWARDKIT_TESTS_RUN"
"""In the environment of all processes of one run of the tests: what tells it from others."""

_lease: list[socket.socket] = []
"""The connection that keeps the server running for as long as this process may ask it for programs."""


class Program:
    """A running `python -m module words...`, with what `subprocess.Popen` has. It ends when it is forgotten."""

    def __init__(
        self,
        module: str,
        *words: object,
        folder: Path = ROOT,
        environment: Mapping[str, str] | None = None,
        anew: bool = False,
    ) -> None:
        """Start it.

        Args:
            folder: where it runs; modules are looked for there first.
            environment: instead of ours.
            anew: to import this project's packages from `folder`, not as the server has them.
        """
        self.out, self.err = (tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2))  # noqa: SIM115
        self._code: int | None = None
        if not _lease:
            _lease.append(_connect())
        self._connection = _connect()
        request = {
            "module": module,
            "words": list(map(str, words)),
            "folder": str(folder),
            "environment": _clean(os.environ if environment is None else environment),
            "anew": anew,
        }
        streams = [self.out.fileno(), self.err.fileno()]
        socket.send_fds(self._connection, [json.dumps(request).encode()], streams)
        self.pid = self._heard()

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._code if self._ended_within(0) else None

    def wait(self, timeout: float) -> int:
        """The exit code, minus the signal if killed.

        Raises:
            TimeoutError: it takes longer; it is killed.
        """
        if not self._ended_within(timeout):
            self.send_signal(signal.SIGKILL)
            raise TimeoutError(f"still running after {timeout} s: {_read(self.err)}")
        assert self._code is not None
        return self._code

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Wait for its end; what it printed, and what it said on its standard error."""
        self.wait(timeout)
        return _read(self.out), _read(self.err)

    def send_signal(self, sig: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # the process that forked it has reaped it
                os.kill(self.pid, sig)

    def _ended_within(self, seconds: float | None) -> bool:
        if self._code is None and select.select([self._connection], [], [], seconds)[0]:
            self._code = self._heard()
        return self._code is not None

    def _heard(self) -> int:
        number = self._connection.recv(64)
        assert number, "the process that forks programs has ended: its standard error says why"
        return int(number)


def write_forking_command(folder: Path) -> None:
    """Write a `rewardkit` for shells, which runs as a `Program`, but for a server: that one is sent signals."""
    if not _lease:
        _lease.append(_connect())
    command = folder / "rewardkit"
    command.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = serve ] && exec {sys.executable} -m rewardkit "$@"\n'
        f'PYTHONPATH="{ROOT}:$PYTHONPATH" exec {sys.executable} -m tests.trainer.running rewardkit "$@"\n'
    )
    command.chmod(0o755)


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Less what a cluster of Ray in this process has set: Ray reads it once, which the server has done."""
    return {name: value for name, value in environment.items() if name != "RAY_AUTH_MODE"}


def run_module(
    module: str, *words: object, timeout: float, environment: Mapping[str, str] | None = None
) -> str:
    """Run a program, which must end well; return what it said on its standard error."""
    program = Program(module, *words, environment=environment)
    _, said = program.communicate(timeout)
    assert program.poll() == 0, said
    return said


def _read(stream: IO[str]) -> str:
    stream.seek(0)
    return stream.read()


def _connect() -> socket.socket:
    """A connection to the session's server, which is started by whichever process asks first."""
    address = f"\0rewardkit-tests-{os.environ[RUN]}"
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(address)
            return connection
        except ConnectionRefusedError:  # there is none, or it does not listen yet
            connection.close()
            _start_server(address)


def _start_server(address: str) -> None:
    """Start the server, unless another process has just done so."""
    places = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        try:
            listener.bind(address)
        except OSError as refused:
            if refused.errno == errno.EADDRINUSE:
                return
            raise
        listener.listen(64)
        subprocess.run(
            [sys.executable, "-m", "tests.trainer.fork_server", str(listener.fileno())],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": places},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,
            check=True,
        )


if __name__ == "__main__":
    running = Program(*sys.argv[1:], folder=Path.cwd())
    printed, said = running.communicate(timeout=900)
    sys.stdout.write(printed)
    sys.stderr.write(said)
    sys.exit(running.poll())
