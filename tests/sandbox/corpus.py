"""Runs a corpus of attacks at one level with canaries around it; a script, so that any uid can run it.

    python corpus.py LEVEL < ATTACKS.jsonl      prints one JSON object: attack id -> what was not held

Each attack is a line `{id, code, ok, mode, ...}`: `ok` lists the endings that count as held (`exit`, `signal`
or a status), `want_stdout` what must arrive, `mode` `pair` (a second program after it) or `call`.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from rewardkit.sandbox.jail import values
from rewardkit.sandbox.outcome import IsolationLevel, Limits, Outcome, SandboxUnavailable
from rewardkit.sandbox.worker import Job, Worker

SECRET = "EXPECTED-OUTPUT-HIDE-me"
LIMITS = Limits(cpu_s=0.15, wall_s=60.0, memory_mb=320, output_bytes=1 << 20)
"""Wall time is far off: how an attack ends must not depend on what else the machine does."""
SHORT_WALL_S = 0.5
"""For those that only wait, and may be ended by it."""


class Canaries:
    """What an attack could hurt: a file, a listening port, a process, the clock, the host's name."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        """Put a file into `folder` and listen on `port`, or where that is taken on another."""
        self.file = folder / "canary"
        self.file.write_text(SECRET)
        self.mode = self.file.stat().st_mode
        try:
            self.listeners = [socket.create_server(("127.0.0.1", port))]
        except OSError:
            self.listeners = [socket.create_server(("127.0.0.1", 0))]
        self.port: int = self.listeners[0].getsockname()[1]
        with contextlib.suppress(OSError):  # another test run has it: then it is that one's canary
            self.listeners.append(socket.create_server(("127.0.0.1", 47123)))
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0canary-{os.getpid()}")
        abstract.listen()
        self.listeners.append(abstract)
        for listener in self.listeners:
            listener.setblocking(False)
        self.process = subprocess.Popen(["sleep", "1000"])
        self.clock = time.time() - time.monotonic()
        self.host = os.uname().nodename

    def hurt(self) -> list[str]:
        """Name every canary that is not as it was."""
        found = []
        if self.file.read_text() != SECRET or sorted(os.listdir(self.file.parent)) != ["canary"]:
            found.append("file")
        elif self.file.stat().st_mode != self.mode:
            found.append("the file's mode")
        if self.process.poll() is not None:
            found.append("process")
        if abs(time.time() - time.monotonic() - self.clock) > 5:
            found.append("clock")
        if os.uname().nodename != self.host:
            found.append("host name")
        for listener in self.listeners:
            try:
                listener.accept()
                found.append("listener")
            except BlockingIOError:
                pass
        return found

    def close(self) -> None:
        for listener in self.listeners:
            listener.close()
        self.process.kill()
        self.process.wait()


def ending(outcome: Outcome) -> set[str]:
    """The names by which a corpus may call how this run ended."""
    names = {str(outcome.status)}
    if outcome.exit_code is not None and outcome.status not in (
        "cpu_timeout",
        "wall_timeout",
        "sandbox_error",
    ):
        names.add("signal" if outcome.exit_code < 0 else "exit")
    return names


def run_attack(worker: Worker, idle: set[int], attack: dict[str, Any], canaries: Canaries) -> list[str]:
    """Run one attack; return what was not held."""
    limits = Limits(
        LIMITS.cpu_s,
        SHORT_WALL_S if "wall_timeout" in attack["ok"] else LIMITS.wall_s,
        LIMITS.memory_mb,
        LIMITS.output_bytes,
        8 if attack.get("allow_fork") else 0,
    )
    try:
        outcome = worker.run(job_of(attack, limits))
    except SandboxUnavailable:
        return [] if attack.get("allow_fork") else ["refused"]
    wrong = [*canaries.hurt()]
    outcomes = [outcome]
    if attack.get("mode") == "pair":
        outcomes.append(worker.run(Job(attack["code2"].encode(), limits=limits)))
    for one in outcomes:
        said = one.stdout + one.stderr.replace(b"print('PWNED", b"")
        if b"PWNED" in said:
            wrong.append(f"PWNED: {said[-300:]!r}")
        if SECRET.encode() in said:
            wrong.append("leaked")
    if not ending(outcome) & set(attack["ok"]):
        wrong.append(f"ended as {outcome.status} {outcome.exit_code}: {outcome.stderr[-300:]!r}")
    if "want_stdout" in attack and outcome.stdout != attack["want_stdout"].encode():
        wrong.append(f"printed {outcome.stdout[:100]!r}")
    if "want_stdout_bytes" in attack and outcome.stdout.hex() != attack["want_stdout_bytes"]:
        wrong.append(f"printed {outcome.stdout.hex()[:100]}")
    if attack.get("mode") == "call" and passed(outcome, attack["expect"]):
        wrong.append("its answers pass")
    if survivors := descendants(worker.pid) - idle:
        wrong.append(f"left processes {survivors}")
    after = worker.run(Job(b"import os\nprint(6 * 7, os.environ)"))
    if after.stdout != b"42 environ({})\n":
        wrong.append(f"the next run: {after}")
    return wrong


def job_of(attack: dict[str, Any], limits: Limits) -> Job:
    if attack.get("mode") != "call":
        return Job(attack["code"].encode(), limits=limits)
    request = {"function": attack["fn"], "cases": [values.encode(case) for case in attack["args"]]}
    return Job(attack["code"].encode(), limits=limits, mode="call", request=json.dumps(request).encode())


def passed(outcome: Outcome, expected: list[Any]) -> bool:
    lines = outcome.results.splitlines()
    return len(lines) == len(expected) and all(
        json.loads(line).get("value") == value for line, value in zip(lines, expected, strict=True)
    )


def descendants(pid: int) -> set[int]:
    """Every process below `pid`, by /proc."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(
                    Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    found = {pid}
    while more := {p for p, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def run(level: IsolationLevel, attacks: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Run all attacks at `level`; return what was not held, by id."""
    os.environ["REWARDKIT_CANARY"] = SECRET
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with closing(Worker(level)) as worker, closing(Canaries(Path(folder))) as canaries:
            idle = descendants(worker.pid)
            results = {attack["id"]: run_attack(worker, idle, attack, canaries) for attack in attacks}
    return {name: wrong for name, wrong in results.items() if wrong}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], [json.loads(line) for line in sys.stdin])))  # type: ignore[arg-type]
