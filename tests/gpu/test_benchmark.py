"""`benchmarks/gpu.py` with a tiny model, on the CPU through the same code."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
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


def test_the_peak_is_the_most_that_nvidia_smi_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "said"
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f"#!/bin/sh\necho 512\necho 2048\necho '[N/A]'\necho 1024\ntouch {said}\nexec sleep 60\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    memory = importlib.import_module("gpu").DeviceMemory("cuda")
    with memory:
        deadline = time.monotonic() + 30
        while not said.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert memory.peak_gb == 2.0
    assert importlib.import_module("gpu").DeviceMemory("cpu").__enter__().peak_gb is None


@pytest.mark.slow
def test_a_part_of_all_checks_writes_its_results_and_its_end_without_a_gpu_too(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "gpu_once.py"), "--device", "cpu"]
    command += ["--out", str(tmp_path), "--only", "update", "one_gpu_async"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=500, stdout=subprocess.DEVNULL)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    same, again, half, done, without = lines
    assert same["cosine"] == pytest.approx(1.0) == again["cosine"], "the same device twice"
    assert 0.9 < half["cosine"] < 1.0 and len(half["lowest"]) == 5
    assert (done["end"], without["end"]) == ("done", "skipped")
