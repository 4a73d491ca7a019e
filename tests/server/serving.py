"""A real server process for tests."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.living import descendants

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

@reward("test/hang", timeout_s=1)
def hang(sample):
    time.sleep(3_600)

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
        return self.process.wait()

    def workers(self) -> list[int]:
        """The server processes, where a supervisor has started them."""
        found = []
        for child in descendants(self.process.pid):
            with contextlib.suppress(OSError):
                if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
                    found.append(child)
        return found

    def received(self) -> int:
        """How many samples have come in so far: those scored and those in flight."""
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:
            text = answer.read().decode()
        series = r"^rewardkit_samples_(?:total\{.*\}|in_flight) (\S+)$"
        return round(sum(float(value) for value in re.findall(series, text, re.MULTILINE)))


@contextlib.contextmanager
def serve(
    *options: str, before: Sequence[str] = (), own_group: bool = False, files: tuple[int, int] | None = None
) -> Iterator[Serving]:
    """Run a server on a free port; kill what is left of it in the end.

    Args:
        options: of `rewardkit serve`.
        before: a command that runs it, `unshare --pid --fork` say.
        own_group: make it a process group, which a test may send signals to.
        files: its soft and hard limits of open files.
    """
    command = [*before, sys.executable, "-m", "rewardkit", "serve", "--port", "0", *options]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=own_group,
        preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)) if files else None,
    )
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
def serving(
    tmp_path: Path,
    *options: str,
    before: Sequence[str] = (),
    own_group: bool = False,
    files: tuple[int, int] | None = None,
) -> Iterator[Serving]:
    """Run a server with the rewards above, once it answers."""
    rewards = tmp_path / "rewards.py"
    rewards.write_text(REWARDS)
    with serve(
        "--no-sandbox",
        "--reward",
        str(rewards),
        *options,
        before=before,
        own_group=own_group,
        files=files,
    ) as server:
        if server.url.startswith("http:"):
            urllib.request.urlopen(f"{server.url}/healthz").close()  # it listens before it is up
        yield server
