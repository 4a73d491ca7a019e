"""The chain from pairs to a policy: the stages read one dialect, and a reward model has one score everywhere."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModelForSequenceClassification, AutoTokenizer

from rewardkit.cli import run
from rewardkit.demo.model import make_model
from rewardkit.registry import Registry
from rewardkit.rewards.model import ModelOptions, score
from rewardkit.trainer.checkpoint.export import write_weights
from rewardkit.trainer.config.root import DataConfig
from rewardkit.trainer.data import ALONE, load_rows
from rewardkit.trainer.models.heads import ValueModel
from rewardkit.trainer.pairs.config import PairDataConfig
from rewardkit.trainer.pairs.data import load_dpo_rows, load_rm_rows
from rewardkit.trainer.sft.config import SftDataConfig
from rewardkit.trainer.sft.data import load_rows as load_sft_rows
from rewardkit.types import Sample
from tests.rewards.model.conftest import by_vllm
from tests.server.serving import serve


def dialogue(i: int) -> dict[str, str]:
    before = "\n\nHuman: Hi!\n\nAssistant: Hello." if i % 2 else ""
    chosen = f" It is {i}."
    return {
        "prompt": f"{before}\n\nHuman: Which number is {i}?\n\nAssistant:",
        "response": chosen,
        "chosen": chosen,
        "rejected": " No." * (1 + i % 3),
    }


def test_prompts_and_answers_have_the_same_tokens_in_every_stage(tokenizer: Any, tmp_path: Path) -> None:
    raw = tmp_path / "train.jsonl"
    raw.write_text("".join(f"{json.dumps(dialogue(i))}\n" for i in range(6)))
    command = ["prep", "full_hh_rlhf", "--raw", str(raw), "--out", str(tmp_path / "hh"), "--chosen-only"]
    assert run(command) == 0
    files = {form: str(tmp_path / "hh" / form / "train.parquet") for form in ("sft", "rm", "rl")}
    most = 256
    prompts = [row.token_ids for row in load_rows(files["rl"], tokenizer, DataConfig(max_prompt_length=most))]
    held_out = 3  # every fourth prompt tests the reward model
    pairs = load_rm_rows(files["rm"], tokenizer, PairDataConfig(max_length=most), -1, ALONE)
    both = [[[*one.token_ids, *one.response_ids] for one in (pair.chosen, pair.rejected)] for pair in pairs]
    kept = [ids for i, ids in enumerate(prompts) if i != held_out]
    assert len(both) == len(kept) == 5
    for ids, sides in zip(kept, both, strict=True):
        assert all(side[: len(ids)] == ids for side in sides)
        assert all(side[-1] == tokenizer.eos_token_id for side in sides)
    chosen = load_dpo_rows(files["rm"], tokenizer, PairDataConfig(max_length=most), -1, ALONE, labelled=False)
    assert [row.chosen.token_ids for row in chosen] == kept
    taught = load_sft_rows(files["sft"], tokenizer, SftDataConfig(max_length=most), -1, ALONE)
    assert [row.token_ids for row in taught] == prompts
    answers = [[*row.token_ids, *row.response_ids] for i, row in enumerate(taught) if i != held_out]
    assert answers == [sides[0] for sides in both]


@pytest.fixture
def reward_model(tokenizer: Any, tmp_path: Path) -> Path:
    """The folder that `rewardkit rm` writes, of a model with random weights."""
    model: Any = make_model(tokenizer, seed=0)
    value = ValueModel(model.model, model.config.hidden_size)
    with torch.no_grad():
        torch.nn.init.normal_(value.head.weight)
    model.config.num_labels = 1
    write_weights(value.state_dict(), model.config, tmp_path / "rm", torch.float32, scores=True)
    tokenizer.save_pretrained(tmp_path / "rm")
    return tmp_path / "rm"


@pytest.mark.slow
def test_a_reward_model_has_one_score_in_rewardkit_transformers_and_vllm(
    reward_model: Path, tmp_path: Path, registry: Registry
) -> None:
    asked = [
        Sample("my/chat", f"It is {'so ' * (5 * i)}{i}.", "-", f"Which number is {i}?") for i in range(4)
    ]
    ours = [one.score for one in score(asked, ModelOptions(str(reward_model)))]
    assert len({round(one, 3) for one in ours}) == len(asked)
    assert ours == pytest.approx(of_transformers(reward_model, asked), abs=1e-5)
    rows = [
        {"data_source": one.data_source, "prompt": one.prompt, "response": one.response, "ground_truth": "-"}
        for one in asked
    ]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    out = tmp_path / "out.parquet"
    given = ["--reward-model", str(reward_model), "--for", "my/chat"]
    assert run(["score", str(tmp_path / "in.jsonl"), "--out", str(out), *given]) == 0
    assert pq.read_table(out)["score"].to_pylist() == pytest.approx(ours, abs=1e-5)
    with serve("--no-sandbox", *given) as server:
        patient = {"X-Timeout-S": "600"}
        served = httpx.post(f"{server.url}/score", json=rows, headers=patient, timeout=600).json()
    assert [one["score"] for one in served] == pytest.approx(ours, abs=1e-5)
    if find_spec("vllm"):
        assert [one.score for one in by_vllm(reward_model, asked)] == pytest.approx(ours, abs=1e-5)


def of_transformers(folder: Path, asked: list[Sample]) -> list[float]:
    """What transformers alone makes of one padded batch, by the padding token of the folder."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    turns = [
        [{"role": "user", "content": one.prompt}, {"role": "assistant", "content": one.response}]
        for one in asked
    ]
    batch = tokenizer.apply_chat_template(turns, padding=True, return_tensors="pt", return_dict=True)
    with torch.no_grad():
        found: list[float] = model(**batch).logits[:, 0].tolist()
    return found
