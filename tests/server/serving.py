"""A real server process for tests, and what `/proc` says of it and of its children."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

ADDRESS = re.compile(r"https?://\S+:\d+")

REWARDS = '''
import os, time
from rewardkit import reward

@reward("test/nap", timeout_s=30)
def nap(sample):
    """Takes the seconds in the ground truth; notes in the file named by the response that it ran."""
    if sample.response:
        with open(sample.response, "a") as notes:
            notes.write(f"{os.getpid()}\\n")
    time.sleep(float(sample.ground_truth))
    return 1.0

@reward("test/hang", timeout_s=3)
def hang(sample):
    while True: pass

@reward("test/spin", timeout_s=60)
def spin(sample):
    """Never ends, and says at once in the file named by the response that it has begun."""
    open(sample.response, "w").write(str(os.getpid()))
    while True: pass
'''


class Serving:
    """A running `rewardkit serve`, and what it said up to and with its address."""

    def __init__(self, process: subprocess.Popen[str], said: str) -> None:
        self.process = process
        self.said = said
        self.url = ADDRESS.findall(said)[0]
        self.port = int(self.url.rpartition(":")[2])

    def stop(self) -> int:
        """Ask it to stop; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@contextlib.contextmanager
def serve(*options: str) -> Iterator[Serving]:
    """Run a server on a free port; kill what is left of it in the end."""
    command = [sys.executable, "-m", "rewardkit", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        said = ""
        for line in process.stderr:  # it may warn first; never read a living process to its end
            said += line
            if ADDRESS.search(line):
                break
        assert ADDRESS.search(said), said
        yield Serving(process, said)
    finally:
        if process.poll() is None:
            for pid in [*descendants(process.pid), process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
        process.stderr.close()


@contextlib.contextmanager
def serving(tmp_path: Path, *options: str) -> Iterator[Serving]:
    """Run a server with the rewards above, once it answers."""
    rewards = tmp_path / "rewards.py"
    rewards.write_text(REWARDS)
    with serve("--no-sandbox", "--reward", str(rewards), *options) as server:
        if server.url.startswith("http:"):
            urllib.request.urlopen(f"{server.url}/healthz").close()  # it listens before it is up
        yield server


def descendants(pid: int) -> list[int]:
    """Process ids of all living and dead children of a process, and theirs."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, new = [], [pid]
    while new:
        new = [child for parent in new for child in parents.get(parent, [])]
        found += new
    return found


def state(pid: int) -> str:
    """The letter of a process in `/proc`: `Z` for a zombie; `""` when it is no more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something to become true, and fail when it does not."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)
