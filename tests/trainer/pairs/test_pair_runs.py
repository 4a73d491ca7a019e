"""Runs of both stages: killed and started again, in two processes, with an adapter; and what they export."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import math
import shutil
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from rewardkit.cli import run as cli
from rewardkit.evaluation.pairs import pair_figures
from rewardkit.rewards.model.classifier import TransformersClassifier
from rewardkit.rewards.model.options import ModelOptions
from tests.trainer.conftest import QUESTIONS
from tests.trainer.pairs.pair_runs import STEPS
from tests.trainer.running import run_module

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]
BOUND = 1e-6
QUANTISED = pytest.param(
    "quantised",
    marks=pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="pip install bitsandbytes"),
)
STAGES = ("rm", "dpo")
PAIRS = [
    {"prompt": question, "chosen": f"{'so ' * (i % 5)}{i}", "rejected": f"{i % 7} or{' or' * (i % 3)} {i}"}
    for i, question in enumerate(QUESTIONS)
]


@pytest.fixture(scope="module")
def runs(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in PAIRS))
    shutil.copytree(model_folder, folder / "model")
    run_module("tests.trainer.pairs.pair_runs", folder, timeout=1_700)
    return folder


def log(run: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith(("timing", "perf"))} for line in lines]


def saved(run: Path) -> Path:
    return run / f"global_step_{STEPS}/actor/huggingface"


def weights(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = load_file(saved(run) / "model.safetensors")
    return found


def scores(folder: Path) -> list[list[float]]:
    """Scores of both answers of the validation pairs by `rewardkit score`."""
    classifier = TransformersClassifier(ModelOptions(path=str(folder)))
    rows = [[row[side] for side in ("chosen", "rejected")] for row in PAIRS[:5]]
    ids = [
        classifier.encoder.encode(row["prompt"], answer).ids
        for row, answers in zip(PAIRS[:5], rows, strict=True)
        for answer in answers
    ]
    found = [float(logits[0]) for logits in classifier.logits(ids)]
    return [found[0::2], found[1::2]]


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_was_killed_ends_to_the_bit_as_one_that_never_stopped(runs: Path, stage: str) -> None:
    codes = json.loads((runs / "codes.json").read_text())
    assert codes.pop(f"{stage}_killed") == [-signal.SIGKILL]
    assert all(code == 0 for name, found in codes.items() if name.startswith(stage) for code in found)
    whole, killed = weights(runs / f"{stage}_whole"), weights(runs / f"{stage}_killed")
    assert all(torch.equal(whole[name], killed[name]) for name in whole)
    assert log(runs / f"{stage}_killed") == log(runs / f"{stage}_whole")


@pytest.mark.parametrize("stage", STAGES)
def test_two_processes_have_the_losses_and_the_figures_of_one(runs: Path, stage: str) -> None:
    for ours, theirs in zip(log(runs / f"{stage}_two"), log(runs / f"{stage}_whole"), strict=True):
        # As long as the policy is the reference, only rounding decides which reward is higher.
        by_rounding = abs(theirs.get("rewards/margins", 1)) < BOUND
        noise = {"rewards/accuracies", "rewards/ties"} if by_rounding else set()
        for name, value in theirs.items():
            if name.startswith(("train/", "rewards/", "val/", "logps/")) and name not in noise:
                assert ours[name] == pytest.approx(value, rel=5 * BOUND, abs=5 * BOUND), name


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", ["whole", "lora", QUANTISED])
def test_the_first_loss_is_log_2_and_the_following_are_lower(runs: Path, stage: str, kind: str) -> None:
    steps = [line for line in log(runs / f"{stage}_{kind}") if "train/loss" in line]
    assert steps[0]["train/loss"] == pytest.approx(math.log(2), abs=BOUND)
    assert steps[0]["rewards/margins"] == pytest.approx(0.0, abs=BOUND)
    assert steps[-1]["train/loss"] < steps[0]["train/loss"]
    assert steps[-1]["val/margin"] > 0


@pytest.mark.parametrize("kind", ["whole", "lora", QUANTISED])
def test_an_exported_reward_model_has_the_scores_of_training(runs: Path, kind: str, tmp_path: Path) -> None:
    run = runs / f"rm_{kind}"
    assert cli(["export", str(run), str(tmp_path / "out")]) == 0
    assert "pipeline_tag: text-classification\n" in (tmp_path / "out" / "README.md").read_text()
    last = log(run)[-1]
    for folder in (saved(run), tmp_path / "out"):
        figures = pair_figures(*scores(folder))
        assert figures.margin is not None
        assert figures.margin.mean == pytest.approx(last["val/margin"], abs=1e-5)
        assert figures.score_mean == pytest.approx(last["val/reward_mean"], abs=1e-5)
        assert figures.score_std == pytest.approx(last["val/reward_std"], abs=1e-5)
        card = json.loads((folder / "reward_model.json").read_text())
        assert card["mean"] == last["val/reward_mean"]
        assert card["heldout_accuracy"] == last["val/accuracy"]
        config = json.loads((folder / "config.json").read_text())
        assert config["architectures"] == ["LlamaForSequenceClassification"]
        assert config["pad_token_id"] != AutoTokenizer.from_pretrained(folder).eos_token_id


def test_the_adapter_of_a_reward_model_has_its_head_and_gives_its_scores(runs: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    run = runs / "rm_lora"
    base = AutoModelForSequenceClassification.from_pretrained(runs / "model", num_labels=1)
    adapter = saved(run).with_name("lora_adapter")
    peft.PeftModel.from_pretrained(base, adapter).merge_and_unload().save_pretrained(tmp_path / "merged")
    AutoTokenizer.from_pretrained(saved(run)).save_pretrained(tmp_path / "merged")
    for ours, theirs in zip(scores(tmp_path / "merged"), scores(saved(run)), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)
