"""A reward model as a role of the run: one server for all processes, whose death costs no score."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from statistics import fmean
from time import sleep
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import pyarrow as pa
import pyarrow.parquet as pq
from transformers import LlamaConfig, LlamaForSequenceClassification

from rewardkit.digests import path_digest
from rewardkit.errors import RewardkitError
from rewardkit.identity.run_folders import read_identities
from rewardkit.rewards.model import ModelOptions, score
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.run.preflight import check
from rewardkit.types import Sample
from tests.living import descendants, until
from tests.trainer.running import Program


@pytest.fixture
def classifier(tokenizer: Any, tmp_path: Path) -> Path:
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_labels=1,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForSequenceClassification(config)
    torch.nn.init.normal_(model.score.weight)
    model.save_pretrained(tmp_path / "rm")
    tokenizer.save_pretrained(tmp_path / "rm")
    return tmp_path / "rm"


def settings(tmp_path: Path, model: Path, *more: str) -> list[str]:
    rows = [
        {
            "data_source": source,
            "prompt": [{"role": "user", "content": f"Tom has {i}. How many?"}],
            "ground_truth": str(i),
        }
        for i, source in enumerate(["rewardkit/arithmetic", "my/chat"] * 4)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    return [
        f"data.train_files={tmp_path}/train.parquet",
        "data.train_batch_size=8",
        "data.max_response_length=4",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "trainer.total_training_steps=1",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.logger=[jsonl]",
        "reward.num_workers=1",
        f"trainer.rollout_data_dir={tmp_path}/rollouts",
        f"trainer.default_local_dir={tmp_path}/out",
        *more,
    ]


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


@pytest.mark.slow
def test_a_server_killed_while_it_scores_for_two_processes_costs_no_score(
    classifier: Path, model_folder: Path, tmp_path: Path
) -> None:
    """It is stopped, so that both processes wait for answers, and then killed; scores are those made here."""
    asked = [
        "reward_model.enable=True",
        f"reward_model.model.path={classifier}",
        "reward_model.scores=rest",
        "trainer.n_gpus_per_node=2",
        "trainer.total_training_steps=2",
        f"data.val_files={tmp_path}/train.parquet",
        "trainer.test_freq=2",
    ]
    words = settings(tmp_path, model_folder, *asked)
    program = Program("tests.trainer.forked_launch", "--config", "tiny-cpu", *words)
    first = tmp_path / "rollouts" / "1.jsonl"
    until(lambda: first.exists() or program.poll() is not None, 600)
    server = next(one for one in descendants(program.pid) if "--reward-model" in command_of(one))
    os.kill(server, signal.SIGSTOP)
    sleep(3)
    os.kill(server, signal.SIGKILL)
    _, said = program.communicate(timeout=600)
    assert program.poll() == 0 and "the reward model died" in said, said
    dumps = [first.with_name(f"{step}.jsonl") for step in (1, 2)]
    rows = [json.loads(line) for dump in dumps for line in dump.read_text().splitlines()]
    assert {row["status"] for row in rows} == {"ok"}
    theirs = [row for row in rows if row["data_source"] == "my/chat"]
    digest = path_digest(classifier)
    assert {row["scorer"] for row in theirs} == {f"rm@{digest.removeprefix('sha256:')[:8]}"}
    assert read_identities(tmp_path / "out")["my/chat"]["options"]["path"] == f"rm {digest}"
    assert all(row["scorer"].startswith("gsm8k@") for row in rows if row not in theirs)
    options = ModelOptions(path=str(classifier), device="cpu")
    samples = [Sample("my/chat", row["response"], row["ground_truth"], row["prompt"]) for row in theirs]
    here = [one.score for one in score(samples, options)]
    assert [row["score"] for row in theirs] == pytest.approx(here, abs=1e-4) and len(set(here)) > 2
    *_, last = map(json.loads, (tmp_path / "out" / "metrics.jsonl").read_text().splitlines())
    assert last["overoptimization/score"] == pytest.approx(
        fmean(one["score"] for one in theirs[4:]), abs=1e-4
    )
    truths = [name for name in last if name.startswith("overoptimization/") and name.endswith("/truth")]
    assert truths == ["overoptimization/rewardkit/arithmetic/truth"], "the model's own validation is none"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], r"requires reward_model\.model\.path"),
        (["reward_model.model.path=/nowhere"], "/nowhere"),
        (["reward_model.model.path=m", "reward.url=http://x"], "cannot be combined"),
        (["reward_model.model.path=MODEL"], "has no score head"),
    ],
)
def test_a_reward_model_that_cannot_be_is_refused_before_training(
    more: list[str], message: str, model_folder: Path, tmp_path: Path
) -> None:
    words = [word.replace("MODEL", str(model_folder)) for word in more]
    given = settings(tmp_path, model_folder, "reward_model.enable=True", *words)
    with pytest.raises(RewardkitError, match=message):
        check(load_config("tiny-cpu", given))
