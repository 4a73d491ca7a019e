"""Runs of SFT: killed and started again, in two processes, in other pieces, with an adapter."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import shutil
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file

from rewardkit.cli import run as cli
from tests.trainer.conftest import QUESTIONS
from tests.trainer.running import run_module

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]
BOUND = 1e-6


@pytest.fixture(scope="module")
def runs(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    rows = [{"question": q, "answer": f"{'so ' * (i % 5)}{i}"} for i, q in enumerate(QUESTIONS)]
    (folder / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    shutil.copytree(model_folder, folder / "model")
    run_module("tests.trainer.sft.sft_runs", folder, timeout=1_700)
    return folder


def log(run: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith(("timing", "perf"))} for line in lines]


def weights(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = load_file(run / "global_step_5/actor/huggingface/model.safetensors")
    return found


def test_a_run_that_was_killed_ends_to_the_bit_as_one_that_never_stopped(runs: Path) -> None:
    codes = json.loads((runs / "codes.json").read_text())
    assert codes["killed"] == [-signal.SIGKILL]
    ended = [code for name, found in codes.items() if name != "killed" for code in found]
    assert ended == [0] * (7 + (find_spec("bitsandbytes") is not None))
    whole, killed = weights(runs / "whole"), weights(runs / "killed")
    assert all(torch.equal(whole[name], killed[name]) for name in whole)
    assert log(runs / "killed") == log(runs / "whole")


def test_no_split_over_processes_or_forwards_changes_the_losses(runs: Path) -> None:
    whole = log(runs / "whole")
    for other in ("two", "split"):
        for ours, theirs in zip(log(runs / other), whole, strict=True):
            for name in {"train/loss", "val/loss", "train/grad_norm"} & theirs.keys():
                assert ours[name] == pytest.approx(theirs[name], rel=BOUND, abs=BOUND), (other, name)
        # AdamW's first steps are the sign of a gradient, rounding and all: what is compared is how far most moved.
        for name, tensor in weights(runs / other).items():
            assert float((tensor - weights(runs / "whole")[name]).abs().mean()) < BOUND, (other, name)


def test_it_learns_says_so_and_can_be_exported(runs: Path, tmp_path: Path) -> None:
    lines = log(runs / "whole")
    assert lines[-1]["val/loss"] < 0.9 * lines[0]["val/loss"]
    assert lines[-1]["training/epoch"] == 1.0
    assert "held out" in (runs / "whole" / "metrics.html").read_text()


@pytest.mark.parametrize("kind", ["lora", "quantised"])
def test_an_adapter_learns_and_is_exported_merged(runs: Path, kind: str, tmp_path: Path) -> None:
    if kind == "quantised":
        pytest.importorskip("bitsandbytes", reason="pip install bitsandbytes")
    assert cli(["export", str(runs / kind), str(tmp_path / "out")]) == 0
    exported, saved = load_file(tmp_path / "out" / "model.safetensors"), weights(runs / kind)
    assert all(torch.equal(tensor, saved[name]) for name, tensor in exported.items())
    lines = log(runs / kind)
    assert lines[-1]["val/loss"] < lines[0]["val/loss"]


def test_a_run_whose_updates_are_all_skipped_raises_an_alarm(runs: Path) -> None:
    lines = log(runs / "diverged")
    assert [line.get("train/skipped_updates") for line in lines if "train/loss" in line] == [None, 1, 1, 1, 1]
    assert lines[-1]["alarm/skipped_updates"] == 1.0
    assert "weights that are not finite" in (runs / "diverged/metrics.html").read_text()
