"""The trainer on two CUDA devices: NCCL, FSDP2, an engine split in two. Skipped without them."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if torch.cuda.device_count() < 2:
    pytest.skip("needs two CUDA devices", allow_module_level=True)

from tests.gpu.settings import save_model, settings

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
SPLIT = ["actor_rollout_ref.rollout.tensor_model_parallel_size=2"]
OFFLOAD = ["actor_rollout_ref.actor.fsdp_config.param_offload=true"]
SHARE = ["actor_rollout_ref.actor.ulysses_sequence_parallel_size=2"]


def run(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.parametrize("more", [[], SHARE], ids=["sharded", "sequence-parallel"])
def test_two_gpus_train_as_one_does(more: list[str]) -> None:
    """In float32: losses, gradient norms, entropies, over FSDP2 and NCCL; it fails beyond 1e-4."""
    run("-m", "tests.trainer.fsdp_parity", "--steps", "3", "trainer.device=cuda", *more)


@pytest.mark.parametrize(
    ("engine", "more"),
    [("hf", []), ("hf", OFFLOAD), ("vllm", []), ("vllm", SPLIT)],
    ids=["hf", "hf-offload", "vllm", "vllm-split"],
)
def test_engine_and_policy_agree_over_two_gpus_in_bfloat16(
    engine: str, more: list[str], tmp_path: Path
) -> None:
    if engine == "vllm" and find_spec("vllm") is None:
        pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm]'")
    words = settings(engine, save_model(tmp_path / "model"), tmp_path / "out", *more)
    run("-m", "rewardkit.trainer.run.main", "--config", "tiny-cpu", *words, "trainer.n_gpus_per_node=2")
    log = (tmp_path / "out" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [json.loads(line) for line in log]
    assert len(steps) == 4
    assert all(metrics["training/rollout_actor_kl"] < 1e-2 for metrics in steps)
