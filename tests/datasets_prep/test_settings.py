"""The flags that every set has: what they do to the rows, to the files, and to what is recorded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from rewardkit.cli import run
from rewardkit.datasets_prep import arithmetic, full_hh_rlhf, gsm8k, math
from rewardkit.datasets_prep.common.agents import TOOLS
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import sha256sums
from rewardkit.datasets_prep.problem_answer import RECIPES
from rewardkit.errors import InputError
from tests.datasets_prep.provenance import read_provenance


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    for split, numbers in (("train", range(40)), ("test", range(40, 45))):
        lines = (json.dumps({"question": f"What is {n}+1?", "answer": f"#### {n + 1}"}) for n in numbers)
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def made(raw: Path, **settings: Any) -> dict[str, list[dict[str, Any]]]:
    out = raw.parent / "out"
    prepared = gsm8k.prepare(out, PrepSettings(raw=raw, **settings))
    return {split: pq.read_table(file.path).to_pylist() for split, file in prepared.files.items()}


def indices(rows: list[dict[str, Any]]) -> list[int]:
    return [row["extra_info"]["index"] for row in rows]


def content(row: dict[str, Any]) -> list[str]:
    return [message["content"] for message in row["prompt"]]


def test_one_file_can_be_given_the_name_of_its_split(raw: Path, tmp_path: Path) -> None:
    prepared = gsm8k.prepare(tmp_path / "one", PrepSettings(raw=raw / "train.jsonl", split_name="test"))
    assert list(prepared.files) == ["test"]
    (split,) = set(pq.read_table(tmp_path / "one")["extra_info"].combine_chunks().field("split").to_pylist())
    assert split == "test"
    with pytest.raises(InputError, match="found train, test"):
        made(raw, split_name="test")


def test_a_template_and_a_system_message_go_around_the_question(raw: Path, tmp_path: Path) -> None:
    template = tmp_path / "template.txt"
    template.write_text("Q: {question}\n{instruction} Use \\boxed{x}.\n")
    (row,) = made(raw, template=template, system="Be brief.", instruction="Go.", limit=1)["train"]
    assert content(row) == ["Be brief.", "Q: What is 0+1?\nGo. Use \\boxed{x}."]
    recorded = read_provenance(tmp_path / "out" / "train.parquet")["arguments"]
    assert recorded == {
        "instruction": "Go.",
        "limit": 1,
        "system": "Be brief.",
        "template": "Q: {question}\n{instruction} Use \\boxed{x}.",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [("no field", "has no field.*{question}"), ("{qestion}", r"field \{qestion\}")],
)
def test_a_template_that_cannot_be_filled_is_refused(
    raw: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "template.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        made(raw, template=tmp_path / "template.txt")


def test_the_seed_alone_decides_the_order_and_the_limit_comes_after(raw: Path) -> None:
    whole = indices(made(raw, shuffle=True)["train"])
    assert sorted(whole) == list(range(40))
    assert whole != list(range(40))
    assert indices(made(raw, shuffle=True, limit=7)["train"]) == whole[:7]
    assert indices(made(raw, shuffle=True, seed=1)["train"]) != whole


@pytest.mark.parametrize("size", [8, 0.2])
def test_a_validation_split_is_taken_out_of_train_alone(raw: Path, size: float) -> None:
    rows = made(raw, val_size=size)
    assert list(rows) == ["train", "test", "val"]
    assert [len(rows[split]) for split in rows] == [32, 5, 8]
    assert sorted(indices(rows["train"]) + indices(rows["val"])) == list(range(40))
    assert indices(rows["train"]) == sorted(indices(rows["train"]))
    assert {row["extra_info"]["split"] for row in rows["val"]} == {"val"}
    assert indices(made(raw, val_size=size)["val"]) == indices(rows["val"])


def test_prompts_that_are_too_long_for_a_model_are_left_out_and_counted(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    from rewardkit.demo.model import make_tokenizer

    tokenizer = make_tokenizer(["What is 1+1?", "#### 2"], vocab_size=300)
    tokenizer.save_pretrained(tmp_path / "model")
    long = {"question": "Why? " * 40, "answer": "#### 1"}
    with open(raw / "train.jsonl", "a") as file:
        file.write(json.dumps(long) + "\n")
    words = ["--raw", str(raw), "--out", str(tmp_path / "out"), "--instruction", "", "--no-verify"]
    words += ["--max-prompt-tokens", "60", "--tokenizer", str(tmp_path / "model")]
    assert run(["prep", "gsm8k", *words]) == 0
    assert "train: skipped rows: 1 (prompts of more than 60 tokens)" in capsys.readouterr().out
    for row in pq.read_table(tmp_path / "out" / "train.parquet").to_pylist():
        text = tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True)
        assert len(tokenizer(text, add_special_tokens=False)["input_ids"]) <= 60


def test_agents_and_interactions_get_the_columns_that_loaders_ask_for(raw: Path) -> None:
    row = made(raw, agent="tool_agent", interaction="gsm8k", limit=1)["train"][0]
    info = row["extra_info"]
    assert row["agent_name"] == "tool_agent"
    assert info["need_tools_kwargs"] is True
    assert info["tools_kwargs"]["calc_gsm8k_reward"]["create_kwargs"]["ground_truth"] == "1"
    # verl asks every tool of a row for `.get(name, {}).get("create_kwargs")`: none may be null.
    assert all(info["tools_kwargs"][tool]["create_kwargs"] is not None for tool in TOOLS)
    assert info["interaction_kwargs"] == {
        "name": "gsm8k",
        "query": row["prompt"][-1]["content"],
        "ground_truth": "1",
    }
    assert made(raw, interaction="gsm8k", limit=1)["train"][0]["agent_name"] == "tool_agent"


def test_sets_with_different_tools_concatenate(raw: Path, tmp_path: Path) -> None:
    dapo = tmp_path / "dapo.jsonl"
    dapo.write_text(json.dumps({"prompt": "Find 1+1.", "solution": "2"}) + "\n")
    gsm8k.prepare(tmp_path / "a", PrepSettings(raw=raw, agent="tool_agent"))
    RECIPES["dapo-math"].prepare(tmp_path / "b", PrepSettings(raw=dapo, agent="tool_agent"))
    tables = [pq.read_table(tmp_path / name / "train.parquet") for name in "ab"]
    assert pa.concat_tables(tables).num_rows == 41
    datasets = pytest.importorskip("datasets")
    files = [str(tmp_path / name / "train.parquet") for name in "ab"]
    together = datasets.load_dataset(
        "parquet", data_files=files, split="train", cache_dir=str(tmp_path / "c")
    )
    kwargs = together[40]["extra_info"]["tools_kwargs"]
    assert kwargs["code_interpreter"]["create_kwargs"]["ground_truth"] == "2"
    assert kwargs["calc_gsm8k_reward"]["create_kwargs"]["ground_truth"] == ""


def test_several_processes_make_the_same_file(raw: Path, tmp_path: Path) -> None:
    with open(raw / "train.jsonl", "a") as file:
        file.write('{"question": "bad", "answer": "none"}\n{"question": "Why?", "answer": "#### 7"}\n')
    alone = gsm8k.prepare(tmp_path / "a", PrepSettings(raw=raw, skip_bad=True))
    several = gsm8k.prepare(tmp_path / "b", PrepSettings(raw=raw, skip_bad=True, num_proc=2))
    assert (alone.dropped, alone.first_dropped) == (several.dropped, several.first_dropped)
    for split in ("train", "test"):
        one, other = ((tmp_path / name / f"{split}.parquet").read_bytes() for name in "ab")
        assert one == other


def test_shards_are_read_as_one_split(raw: Path, tmp_path: Path) -> None:
    words = ["--raw", str(raw), "--out", str(tmp_path / "out"), "--shard-rows", "15"]
    assert run(["prep", "gsm8k", *words]) == 0
    assert len(list((tmp_path / "out" / "train").iterdir())) == 3
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == {"train": 40, "test": 5}


def test_a_card_describes_the_files_for_the_hub(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    gsm8k.prepare(out, PrepSettings(raw=raw, card=True))
    text = (out / "README.md").read_text()
    head = yaml.safe_load(text.split("---")[1])
    assert head["license"] == "mit"
    assert head["configs"][0]["data_files"] == [
        {"split": "train", "path": ["train.parquet"]},
        {"split": "test", "path": ["test.parquet"]},
    ]
    assert "| train | 40 | train.parquet |" in text


def test_a_card_does_not_outlive_the_files_that_it_describes(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    gsm8k.prepare(out, PrepSettings(raw=raw, card=True))
    gsm8k.prepare(out, PrepSettings(raw=raw, limit=2))
    assert sorted(path.name for path in out.iterdir()) == ["test.parquet", "train.parquet"]
    (out / "README.md").write_text("# My own")
    gsm8k.prepare(out, PrepSettings(raw=raw))
    assert (out / "README.md").read_text() == "# My own"


def test_many_raw_files_are_recorded_by_one_digest_and_listed_in_the_card(tmp_path: Path) -> None:
    problem = {"problem": "?", "level": "Level 1", "type": "Algebra", "solution": "$\\boxed{1}$"}
    folder = tmp_path / "MATH" / "test" / "algebra"
    folder.mkdir(parents=True)
    for n in range(30):
        (folder / f"{n}.json").write_text(json.dumps({**problem, "problem": f"1^{n}?"}))
    math.prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "MATH", card=True))
    source = read_provenance(tmp_path / "out" / "test.parquet")["source"]
    assert set(source) == {"files", "sha256_of_list"}  # type: ignore[call-overload]
    listed = tmp_path / "out" / "raw_files.sha256"
    subprocess.run(["sha256sum", "--check", "--quiet", str(listed)], cwd=tmp_path / "MATH", check=True)
    assert sha256sums([("a", "b")]) == "b  a\n"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limit": 0}, "limit .* 1, not 0"),
        ({"val_size": 1.5}, "val_size .* not 1.5"),
        ({"val_size": 40}, "val_size 40 puts 40 of 40 rows"),
        ({"max_prompt_tokens": 5}, "max_prompt_tokens and tokenizer "),
    ],
)
def test_settings_that_mean_nothing_are_refused(raw: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(raw, **settings)
    assert not (raw.parent / "out").exists()


def test_a_setting_that_a_set_does_not_know_is_refused_not_ignored(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="full_hh_rlhf has no option --agent"):
        full_hh_rlhf.prepare(tmp_path / "out", PrepSettings(agent="tool_agent"))
    with pytest.raises(InputError, match="arithmetic has no option --split-name"):
        arithmetic.prepare(tmp_path / "out", PrepSettings(split_name="test"))


def test_sets_that_are_made_know_the_same_settings(tmp_path: Path) -> None:
    settings = PrepSettings(system="Be brief.", instruction="Go.", val_size=4, shuffle=True)
    prepared = arithmetic.prepare(tmp_path / "out", settings, n_train=10, n_test=3)
    assert {split: file.rows for split, file in prepared.files.items()} == {"train": 6, "test": 3, "val": 4}
    row = pq.read_table(tmp_path / "out" / "val.parquet").to_pylist()[0]
    assert content(row)[0] == "Be brief."
    assert content(row)[1].endswith(" Go.")
