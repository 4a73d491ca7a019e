"""`benchmarks/gpu.py` with a tiny model, on the CPU through the same code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]


NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)])
def test_the_gpu_benchmark_measures_every_phase_of_a_tiny_model(device: str) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "gpu.py"), "--tiny", "--device", device]
    done = subprocess.run(
        [*command, "--steps", "2", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ours = json.loads(done.stdout.splitlines()[-1])["rewardkit"]
    assert {"gen", "update_actor", "update_weights"} <= ours["phases"].keys()
    assert ours["s_per_step"] * ours["tokens_per_s"] == pytest.approx(ours["tokens"])
    assert ours["tokens"] > 4 * 2 * 8, "all responses run to their length, and prompts are counted"
    if device == "cpu":
        assert ours["mfu"] is None and ours["memory_gb"] is None, "a CPU has no known peak"
