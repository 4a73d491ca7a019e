"""What `rewardkit check` passes, `rewardkit train` takes; what `train` refuses for its rows, `check` reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.cli import run
from rewardkit.errors import RewardkitError
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.run.preflight import check

Row = dict[str, Any]
ASKED = [{"role": "user", "content": "2 + 3? Put the answer after ####."}]
MODEL = {"style": "rule", "ground_truth": "5"}
VERL: Row = {
    "data_source": "openai/gsm8k",
    "prompt": ASKED,
    "ability": "math",
    "reward_model": MODEL,
    "extra_info": {"split": "train", "index": 0, "answer": "#### 5", "question": "2 + 3?"},
}
OURS: Row = {**VERL, "ground_truth": "5", "agent_name": "single_turn_agent"}
PARTS = [{"type": "text", "text": "2 + 3?"}]
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
ROWS: dict[str, Row | list[Row]] = {
    "verl": VERL,
    "rewardkit": OURS,
    "text": {"data_source": "gsm8k", "prompt": "2 + 3?", "ground_truth": "5"},
    "parts": {"data_source": "gsm8k", "prompt": [{"role": "user", "content": PARTS}], "answer": 5},
    "searchr1": {
        **VERL,
        "data_source": "searchR1_nq",
        "reward_model": {"style": "rule", "ground_truth": {"target": ["5"]}},
        "extra_info": {"index": 1},
    },
    "two sources": [OURS, {**OURS, "data_source": "math"}],
    "an image": {**OURS, "images": [PIXEL]},
    "no images": {**OURS, "images": []},
    "a part that is no text": {
        **OURS,
        "prompt": [{"role": "user", "content": [{"type": "image", "image": "a.png"}]}],
    },
    "no role": {**OURS, "prompt": [{"content": "2 + 3?"}]},
    "nothing asked": {**OURS, "prompt": []},
    "no source": [OURS, {**OURS, "data_source": None}],
    "no answer": [OURS, {**OURS, "ground_truth": None, "reward_model": {"ground_truth": None}}],
    "an unknown source": {**OURS, "data_source": "openai/gsm9k"},
    "an unknown agent": {**OURS, "agent_name": "single_turn"},
    "a prompt elsewhere": {"data_source": "gsm8k", "question": "2 + 3?", "ground_truth": "5"},
    "alpaca": {"instruction": "Add.", "input": "2, 3", "output": "5"},
    "sharegpt": {"conversations": [{"from": "human", "value": "2 + 3?"}, {"from": "gpt", "value": "5"}]},
    "gsm8k": {"question": "2 + 3?", "answer": "It is 5.\n#### 5"},
    "mmlu": {"question": "2 + 3?", "subject": "algebra", "choices": ["4", "5"], "answer": 1},
    "squad": {"id": "a", "title": "T", "context": "C", "question": "Q?", "answers": {"text": ["5"]}},
    "math": {"problem": "2 + 3?", "level": "Level 1", "type": "Algebra", "solution": "\\boxed{5}"},
    "humaneval": {"task_id": "H/0", "prompt": "def f():", "canonical_solution": "x", "test": "t"},
    "trl prompts": {"prompt": ASKED},
    "trl grpo": {"prompt": ASKED, "ground_truth": "5"},
    "trl conversations": {"messages": [*ASKED, {"role": "assistant", "content": "5"}]},
    "trl completions": {"prompt": ASKED, "completion": [{"role": "assistant", "content": "5"}]},
    "trl preferences": {"prompt": "2 + 3?", "chosen": "5", "rejected": "4"},
    "lines of two types": [OURS, {**OURS, "prompt": "2 + 3?"}],
}
TAKEN = {"verl", "rewardkit", "text", "parts", "searchr1", "two sources", "no images"}
FOR_OTHERS = {
    "an image": "vision-language",
    "trl conversations": "it has the form for `rewardkit sft`",
    "trl completions": "it has the form for `rewardkit sft`",
    "trl preferences": "it has the form for TRL's RewardTrainer",
}
"""Rows that `check` passes since another trainer takes them, and its warning."""


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "json"])
@pytest.mark.parametrize("name", ROWS)
def test_check_says_of_a_file_what_train_says(
    name: str, suffix: str, tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ROWS[name]
    path = written(tmp_path / f"train.{suffix}", found if isinstance(found, list) else [found])
    refused = why_refused(path, model_folder, tmp_path)
    assert (refused is None) == (name in TAKEN), refused
    code = run(["check", str(path)])
    said = capsys.readouterr()
    assert (code == 0) == (refused is None or name in FOR_OTHERS), said.out + said.err
    if name in FOR_OTHERS:
        assert run(["check", str(path), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["findings"]
        assert any(FOR_OTHERS[name] in one["what"] and "`rewardkit train`" in one["what"] for one in found)


def test_check_of_raw_gsm8k_names_the_command_that_makes_it_fit(
    tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path / "train.jsonl", [ROWS["gsm8k"]])
    assert run(["check", "train.jsonl", "--json"]) == 1
    (what,) = [
        one["what"] for one in json.loads(capsys.readouterr().out)["findings"] if one["level"] == "error"
    ]
    command = what.split("`")[3]
    assert command == "rewardkit prep gsm8k --raw train.jsonl"
    assert run(command.split()[1:]) == 0
    assert run(["check", "data/gsm8k/train.parquet"]) == 0
    assert why_refused(tmp_path / "data/gsm8k/train.parquet", model_folder, tmp_path) is None
    assert why_refused(path, model_folder, tmp_path) is not None


def test_another_column_of_prompts_is_named_for_both_commands(
    tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "train.jsonl", [ROWS["a prompt elsewhere"]])
    assert run(["check", str(path)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "set data.prompt_key=question there" in said and "pass --prompt-key question here" in said
    assert run(["check", str(path), "--prompt-key", "question"]) == 0
    assert why_refused(path, model_folder, tmp_path, "data.prompt_key=question") is None


def written(path: Path, rows: list[Any]) -> Path:
    if path.suffix == ".parquet":
        try:
            pq.write_table(pa.Table.from_pylist(rows), path)
        except pa.ArrowException:
            pytest.skip("no table has such rows")
    else:
        lines = map(json.dumps, rows)
        path.write_text("\n".join(lines) if path.suffix == ".jsonl" else f"[{','.join(lines)}]")
    return path


def why_refused(path: Path, model: Path, tmp_path: Path, *more: str) -> str | None:
    """Why training does not begin with a file; None: it does."""
    words = [
        f"data.train_files={path}",
        "data.train_batch_size=8",
        "data.max_prompt_length=64",
        "data.max_response_length=64",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "trainer.val_before_train=false",
        "trainer.n_gpus_per_node=1",
        f"trainer.default_local_dir={tmp_path}/out",
        *more,
    ]
    try:
        check(load_config(None, words))
    except RewardkitError as error:
        assert "\n" not in str(error)
        return str(error)
    return None
