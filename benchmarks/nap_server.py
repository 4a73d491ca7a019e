"""A reward server that is as fast as it is told: its one reward sleeps. What is asked of it is not here."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

REWARD = """
import time
from rewardkit import reward

@reward("bench/nap", timeout_s=30)
def nap(sample):
    time.sleep(float(sample.ground_truth))
    return 1.0
"""
"""The ground truth is how long a sample takes, in seconds."""


@contextmanager
def nap_server(scorers: int) -> Iterator[tuple[int, int]]:
    """Run a server with so many scoring processes; yield its port and its process id."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as reward:
        reward.write(REWARD)
        reward.flush()
        serve = ["serve", "--port", "0", "--no-sandbox", "--scorers", str(scorers), "--reward", reward.name]
        server = subprocess.Popen(
            [sys.executable, "-m", "rewardkit", *serve], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            found = re.search(r"http://\S+:(\d+)", server.stderr.readline())
            assert found is not None, "the server did not start"
            yield int(found[1]), server.pid
        finally:
            server.terminate()
            server.wait()
