"""HH-RLHF in its three forms: what verl trains on, as chats where a chat is wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.datasets_prep.common.schema import SCHEMA
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.full_hh_rlhf import prepare
from rewardkit.errors import InputError
from rewardkit.messages import dialogue_turns
from tests.datasets_prep.provenance import read_provenance

ASKED = "\n\nHuman: Hi\n\nAssistant: Hello.\n\nHuman: How do I {}?\n\nAssistant:"


def pair(i: int) -> dict[str, str]:
    chosen = f" Like this: {i}."
    return {"prompt": ASKED.format(i), "response": chosen, "chosen": chosen, "rejected": " No."}


def raw(folder: Path, **splits: list[dict[str, Any]]) -> Path:
    """The published layout: data/SPLIT-00000-of-00001-HASH.parquet."""
    (folder / "data").mkdir(exist_ok=True)
    for split, records in splits.items():
        table = pa.Table.from_pylist(records)
        pq.write_table(table, folder / "data" / f"{split}-00000-of-00001-8349d0765e6718df.parquet")
    return folder / "data"


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_the_three_forms_are_what_each_stage_reads(tmp_path: Path) -> None:
    data = raw(tmp_path, train=[pair(i) for i in range(3)], test=[pair(9)])
    made = prepare(tmp_path / "out", PrepSettings(raw=data))
    assert {name: file.rows for name, file in made.files.items()} == {
        "sft/train": 6,
        "sft/test": 2,
        "rm/train": 3,
        "rm/test": 1,
        "rl/train": 3,
        "rl/test": 1,
    }
    prompt = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "How do I 0?"},
    ]
    sft = read(tmp_path / "out" / "sft" / "train.parquet")
    assert sft[:2] == [{"prompt": prompt, "response": said} for said in ("Like this: 0.", "No.")]
    rm = read(tmp_path / "out" / "rm" / "train.parquet")
    assert rm[0] == {
        "prompt": prompt,
        "chosen": [{"role": "assistant", "content": "Like this: 0."}],
        "rejected": [{"role": "assistant", "content": "No."}],
    }
    assert pq.read_schema(tmp_path / "out" / "rl" / "train.parquet").equals(SCHEMA)
    row = read(tmp_path / "out" / "rl" / "train.parquet")[0]
    assert (row["data_source"], row["ability"]) == ("Dahoas/full-hh-rlhf", "alignment")
    assert row["reward_model"] == {"style": "model", "ground_truth": "Like this: 0."}
    assert row["prompt"] == prompt
    assert not any("--dedup" in note for note in made.notes)
    provenance = read_provenance(tmp_path / "out" / "rl" / "train.parquet")
    assert provenance["dataset"] == "full_hh_rlhf"
    assert provenance["arguments"] == {"chosen_only": False, "limit": None}


def test_without_a_test_split_a_quarter_of_the_prompts_tests_the_reward_model(tmp_path: Path) -> None:
    records = [pair(i // 2) for i in range(16)]  # each prompt twice
    prepare(tmp_path / "out", PrepSettings(raw=raw(tmp_path, train=records)), split="rm")
    train, test = (
        {row["prompt"][-1]["content"] for row in read(tmp_path / "out" / "rm" / f"{split}.parquet")}
        for split in ("train", "test")
    )
    assert (len(train), len(test)) == (6, 2)
    assert not train & test
    assert not (tmp_path / "out" / "sft").exists()


def test_a_system_message_is_in_all_three_forms(tmp_path: Path) -> None:
    data = raw(tmp_path, train=[pair(0), pair(1)], test=[pair(2)])
    prepare(tmp_path / "out", PrepSettings(raw=data, limit=1, system="Be kind."), chosen_only=True)
    prompts = [read(tmp_path / "out" / form / "train.parquet") for form in ("sft", "rm", "rl")]
    assert [len(rows) for rows in prompts] == [1, 1, 1]
    first = prompts[0][0]["prompt"]
    assert first[0] == {"role": "system", "content": "Be kind."}
    assert all(rows[0]["prompt"] == first for rows in prompts)


def test_a_pair_without_a_difference_is_left_out(tmp_path: Path) -> None:
    same = {**pair(1), "rejected": "Like this: 1. "}
    data = raw(tmp_path, train=[pair(0), same], test=[pair(2)])
    made = prepare(tmp_path / "out", PrepSettings(raw=data))
    assert [made.files[f"{form}/train"].rows for form in ("sft", "rm", "rl")] == [2, 1, 1]
    assert any("skipped rows: 1 (chosen and rejected are the same)" in note for note in made.notes)
    made = prepare(tmp_path / "verls", PrepSettings(raw=data, like="verl"))
    assert [made.files[f"{form}/train"].rows for form in ("sft", "rm", "rl")] == [4, 2, 2]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({**pair(0), "chosen": " "}, "'chosen' is empty"),
        (
            {**pair(0), "prompt": "Hello\n\nHuman: hi"},
            "'prompt' is not a dialogue: ",
        ),
    ],
)
def test_a_pair_that_cannot_be_used_stops_or_is_counted(
    record: dict[str, Any], why: str, tmp_path: Path
) -> None:
    records = [*(pair(i) for i in range(4)), record]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    with pytest.raises(InputError, match=why):
        prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "train.jsonl"))
    made = prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "train.jsonl", skip_bad=True))
    assert made.files["rl/train"].rows == 4
    assert (made.dropped, len(made.first_dropped)) == (1, 1)
    assert (
        prepare(
            tmp_path / "rm", PrepSettings(raw=tmp_path / "train.jsonl", skip_bad=True), split="rm"
        ).dropped
        == 1
    )


@pytest.mark.parametrize(
    ("chosen", "rejected", "why"),
    [
        ("Human: a", "Human: a", "no assistant turn"),
        ("\n\nHuman: a\n\nAssistant: b", "\n\nHuman: c\n\nAssistant: b", "before the last answer"),
        (
            "x\n\nHuman: a\n\nAssistant: b",
            "x\n\nHuman: a\n\nAssistant: c",
            "'chosen', up to ",
        ),
    ],
)
def test_a_row_without_a_prompt_is_refused_by_the_columns_that_it_has(
    chosen: str, rejected: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "train.jsonl").write_text(json.dumps({"chosen": chosen, "rejected": rejected}) + "\n")
    with pytest.raises(InputError, match=why) as caught:
        prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "train.jsonl"))
    assert "'prompt'" not in str(caught.value)


def test_a_dialogue_becomes_turns() -> None:
    assert dialogue_turns("Just a question") == ({"role": "user", "content": "Just a question"},)
    joined = dialogue_turns("Human: a\n\nHuman: b\n\nAssistant:\n\nHuman: c\n\nAssistant:")
    assert joined == ({"role": "user", "content": "a\n\nb\n\nc"},)


def test_the_command_names_the_forms_and_verifies_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = raw(tmp_path, train=[pair(i) for i in range(4)])
    command = ["prep", "full_hh_rlhf", "--raw", str(data), "--out", str(tmp_path / "out")]
    assert run([*command, "--split", "rml"]) == 2
    assert "all, sft, rm, rl; " in capsys.readouterr().err
    assert run(command) == 0
    assert "rm/test" in capsys.readouterr().out
    assert run([*command, "--verify", "--force"]) == 2
    assert "no solutions to verify" in capsys.readouterr().err
