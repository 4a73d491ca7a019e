"""A run whose processes are killed, in any phase, and started again ends exactly as one that never stopped.

They share the actor's rows (ulysses), and not the critic's.
"""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.state_dict_loader import load
from transformers import AutoConfig

from rewardkit.trainer.checkpoint.export import saved_tensors
from rewardkit.trainer.checkpoint.find import read_facts
from tests.closeness import assert_same, near, rounding, terms_of
from tests.trainer.conftest import write_parquet
from tests.trainer.running import run_module

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),
]  # a minute or two where the machine has nothing else to do


LEARNING_RATES = {"actor": 2e-4, "critic": 1e-3}
"""Of the recipe."""


@pytest.fixture(scope="module")
def runs(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_parquet(folder)
    shutil.copytree(model_folder, folder / "model")
    run_module("tests.trainer.checkpoint.crash_runs", folder, timeout=1_700)
    return folder


def tensors(folder: Path) -> dict[str, Any]:
    """Weights and optimizer states of a checkpoint."""
    found = {}
    for part in ("actor", "critic"):
        state = {
            key: torch.empty(entry.size, dtype=entry.properties.dtype)
            for key, entry in saved_tensors(folder / part).items()
        }
        load(state, storage_reader=FileSystemReader(folder / part), no_dist=True)
        found |= {f"{part}.{key}": tensor for key, tensor in state.items()}
    return found


def log(folder: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in m.items() if not k.startswith(("timing", "perf"))} for m in lines]


def codes(folder: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = json.loads((folder / "codes.json").read_text())
    return found


def test_a_run_killed_in_every_phase_ends_bit_for_bit_as_one_that_was_not(runs: Path) -> None:
    for phase, rank in (("rollout", 1), ("reward", 1), ("update", 0), ("save", 1), ("tracker", 0)):
        assert codes(runs)[phase][rank] == -signal.SIGKILL, phase
    assert codes(runs)["whole"] == codes(runs)["end"] == [0, 0]
    whole, killed = (tensors(runs / name / "global_step_5") for name in ("whole", "killed"))
    assert whole.keys() == killed.keys()
    assert any(key.startswith("actor.optimizer.") for key in whole)
    assert [key for key in whole if not torch.equal(whole[key], killed[key])] == []
    facts, again = (read_facts(runs / name / "global_step_5") for name in ("whole", "killed"))
    for name in ("step", "loader", "kl_coef"):
        assert facts[name] == again[name], name
    first = read_facts(runs / "killed" / "global_step_1")
    assert len(first["random"]) == 2
    assert first["random"] == again["random"], "each process has its own states back, and training draws none"
    assert log(runs / "whole") == log(runs / "killed")
    assert [m["training/epoch"] for m in log(runs / "killed")] == [0, 0, 0, 1, 1]
    assert list((runs / "killed").glob(".global_step_*")) == [], "what the killed saves left is gone"


def test_the_weights_moved_and_the_optimizer_s_states_are_those_it_had(runs: Path) -> None:
    first, last = (tensors(runs / "killed" / f"global_step_{n}") for n in (1, 5))
    assert not any(key.startswith("actor.optimizer.") for key in first), "the critic was warming up"
    assert all((first[key] != last[key]).any() for key in first if key.startswith("actor.model."))


def test_a_checkpoint_of_two_processes_goes_on_in_one(runs: Path) -> None:
    assert codes(runs)["fewer"] == [0]
    one, two = log(runs / "fewer"), log(runs / "whole")[3:]
    assert [m["training/global_step"] for m in one] == [4, 5]
    assert one[0] == two[0], "step 4 was logged by the checkpoint"
    # There and back through the model, and summed over the tokens of a mini-batch.
    terms = 2 * terms_of(AutoConfig.from_pretrained(runs / "model"), 46) + 8 * 6
    assert one[1] == near(two[1], terms, dtype=torch.float32)
    whole, fewer = (tensors(runs / name / "global_step_5") for name in ("whole", "fewer"))
    assert whole.keys() == fewer.keys()
    for key, wanted in whole.items():
        if ".optimizer." in key:
            assert_same(fewer[key], wanted, terms, torch.float32, key)
            continue
        part, name = key.split(".model.", 1)
        size = whole[f"{part}.optimizer.{name}.exp_avg_sq"].sqrt()
        # Adam moves a weight by lr * m / sqrt(v), twice here: off by what its gradient is, over its size.
        off = 2 * LEARNING_RATES[part] * rounding(terms, float(size.max()), torch.float32) / size
        off = off.where(size > 0, 0.0) + rounding(1, 1.0, torch.float32)
        assert bool(((fewer[key] - wanted).abs() <= off).all()), key
