"""A reward model as a role of the run: it scores everything, or what no rule scores, beside the trainer."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import pyarrow as pa
import pyarrow.parquet as pq
from transformers import LlamaConfig, LlamaForSequenceClassification

from rewardkit.errors import RewardkitError
from rewardkit.registry import REGISTRY
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.preflight import check


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    for name in ("_exact", "_rewards"):
        monkeypatch.setattr(REGISTRY, name, dict(getattr(REGISTRY, name)))


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


@pytest.mark.unmeasured
@pytest.mark.slow
@pytest.mark.parametrize("scores", ["all", pytest.param("rest", marks=pytest.mark.unmeasured)])
def test_a_reward_model_scores_everything_or_what_no_rule_scores(
    scores: str, world: World, classifier: Path, model_folder: Path, tmp_path: Path
) -> None:
    asked = [
        "reward_model.enable=True",
        f"reward_model.model.path={classifier}",
        f"reward_model.scores={scores}",
    ]
    config = load_config("tiny-cpu", settings(tmp_path, model_folder, *asked))
    (note,) = check(config)
    assert "reward model" in note, "its memory is in the estimate"
    with open_run(config, world) as run:
        train(run)
    rows = [json.loads(line) for line in (tmp_path / "rollouts" / "1.jsonl").read_text().splitlines()]
    by_source = {row["data_source"]: row["scorer"] for row in rows}
    assert by_source["my/chat"] == "reward_model@1"
    assert (by_source["rewardkit/arithmetic"] == "reward_model@1") == (scores == "all")
    assert all(row["status"] == "ok" for row in rows)
    assert len({row["score"] for row in rows if row["data_source"] == "my/chat"}) > 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], r"needs reward_model\.model\.path"),
        (["reward_model.model.path=/nowhere"], "/nowhere"),
        (["reward_model.model.path=m", "reward.url=http://x"], "exclude each other"),
        (["reward_model.model.path=MODEL"], "is no reward model"),
    ],
)
def test_a_reward_model_that_cannot_be_is_refused_before_training(
    more: list[str], message: str, model_folder: Path, tmp_path: Path
) -> None:
    words = [word.replace("MODEL", str(model_folder)) for word in more]
    given = settings(tmp_path, model_folder, "reward_model.enable=True", *words)
    with pytest.raises(RewardkitError, match=message):
        check(load_config("tiny-cpu", given))
