"""What a process does to itself before it trains."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")

FAULTS = """
import resource, torch
from rewardkit.trainer.distributed import keep_freed_memory

def faults_of_a_large_tensor():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**25)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

fresh = [faults_of_a_large_tensor() for _ in range(6)]
keep_freed_memory()
kept = [faults_of_a_large_tensor() for _ in range(6)]
print(fresh[-1], kept[-1])
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc's malloc that is set")
def test_memory_that_was_freed_is_used_again_rather_than_asked_for_anew() -> None:
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    fresh, kept = map(int, done.stdout.split())
    assert kept < fresh / 10
