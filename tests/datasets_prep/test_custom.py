"""`prep custom`: anybody's file by a mapping of its columns."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.cli import run
from rewardkit.datasets_prep import custom
from rewardkit.datasets_prep.common.schema import SCHEMA
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.custom.extractors import last_number, parse
from rewardkit.errors import InputError
from rewardkit.registry import REGISTRY
from tests.datasets_prep.provenance import read_provenance
from tests.datasets_prep.test_sources import fake_hub

ROWS: list[dict[str, Any]] = [
    {"question": "Half of 7?", "answer": "7/2\n#### 3.5", "id": 1},
    {"question": "How far below zero?", "answer": "5 below.\n#### -5", "id": 2},
    {"question": "2024-05-01", "answer": "#### 1,234", "id": 3},
]


def write_jsonl(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_csv(path: Path) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["question", "answer", "id"])
        writer.writeheader()
        writer.writerows(ROWS)


WRITERS: dict[str, Callable[[Path], object]] = {
    "my.jsonl.gz": lambda p: p.write_bytes(gzip.compress(write_jsonl(p).read_bytes())),
    "my.csv": write_csv,
    "my.json": lambda p: p.write_text(json.dumps(ROWS)),
    "my.parquet": lambda p: pq.write_table(pa.Table.from_pylist(ROWS), p),
}


def made(path: Path, **options: Any) -> list[dict[str, Any]]:
    settings = {k: options.pop(k) for k in list(options) if k in PrepSettings.__dataclass_fields__}
    out = path.parent / "out"
    custom.prepare(out, PrepSettings(raw=path, **settings), **{"reward": "math", **options})
    rows: list[dict[str, Any]] = pq.read_table(out / "train.parquet").to_pylist()
    return rows


def test_a_question_that_is_no_text_is_a_bad_row(tmp_path: Path) -> None:
    """The text of its JSON was the prompt, `["Half of 9?"]`."""
    odd = [
        {"question": one, "answer": "#### 4.5", "id": 4} for one in (["Half of 9?"], {"text": "Half of 9?"})
    ]
    path = write_jsonl(tmp_path / "my.jsonl", [*ROWS, *odd])
    with pytest.raises(InputError, match=r"row 3.*question"):
        made(path)
    assert len(made(path, skip_bad=True)) == 3


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    rows = made(tmp_path / name, map=("ground_truth=answer|after('####')|last_number",), answer_key="answer")
    assert pq.read_schema(tmp_path / "out" / "train.parquet").equals(SCHEMA)
    assert [row["ground_truth"] for row in rows] == ["3.5", "-5", "1234"]
    assert [row["prompt"] for row in rows] == [[{"role": "user", "content": r["question"]}] for r in ROWS]
    assert rows[2] == {
        "data_source": "math",
        "prompt": [{"role": "user", "content": "2024-05-01"}],
        "ability": "custom",
        "ground_truth": "1234",
        "reward_model": {"style": "rule", "ground_truth": "1234"},
        "agent_name": "single_turn_agent",
        "extra_info": {
            "split": "train",
            "index": 2,
            "question": "2024-05-01",
            "answer": "#### 1,234",
            "metadata": "{}",
        },
    }


def test_the_command_line_and_yaml_say_the_same(tmp_path: Path) -> None:
    raw = write_jsonl(tmp_path / "my.jsonl")
    template = tmp_path / "template.txt"
    template.write_text("Solve: {question}\nPut \\boxed{x} around it. {instruction}\n")
    words = ["--raw", str(raw), "--no-verify", "--template", str(template), "--instruction", "Go."]
    said = ["--data-source", "my/set", "--reward", "math", "--prompt-key", "question", "--keep", "id"]
    said += ["--map", "ground_truth=answer|last_number"]
    assert run(["prep", "custom", *words, *said, "--out", str(tmp_path / "a")]) == 0
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(
        "data_source: my/set\nreward: math\nprompt_key: question\nkeep: [id]\n"
        "map: {ground_truth: answer|last_number}\n"
    )
    assert run(["prep", "custom", *words, "--mapping", str(mapping), "--out", str(tmp_path / "b")]) == 0
    for name in ("train.parquet", "rewards.yaml"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    row = pq.read_table(tmp_path / "a" / "train.parquet").to_pylist()[0]
    assert row["prompt"][0]["content"] == "Solve: Half of 7?\nPut \\boxed{x} around it. Go."
    assert json.loads(row["extra_info"]["metadata"]) == {"id": 1}
    assert row["extra_info"]["answer"] == "The answer is \\boxed{3.5}."
    REGISTRY.resolve("my/set")


def test_a_new_name_is_scored_by_the_reward_that_is_named(tmp_path: Path) -> None:
    raw = write_jsonl(tmp_path / "my.jsonl")
    out = str(tmp_path / "out")
    words = ["--raw", str(raw), "--out", out, "--answer-key", "answer", "--verify", "fail"]
    said = ["--data-source", "brand/new", "--reward", "math", "--map", "ground_truth=answer|last_number"]
    assert run(["prep", "custom", *words, *said]) == 0
    rewards = (tmp_path / "out" / "rewards.yaml").read_text()
    assert rewards == "data_sources:\n- brand/new\nreward: math\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": None}, "--reward NAME, --data-source NAME, or both"),
        (
            {"prompt_key": "qestion"},
            "'qestion'; columns: question, answer, id; ",
        ),
        ({"map": ("ground_truth=answer|last_numbr",)}, "'last_numbr'.*did you mean last_number"),
        ({"map": ("ground_truth=answer|after('=')",)}, "row 0: answer.*does not match .*skip-bad"),
        ({"data_source": "openai/gsm8k"}, "'openai/gsm8k' already has the reward gsm8k"),
    ],
)
def test_a_mapping_that_does_not_fit_is_one_line(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    raw = write_jsonl(tmp_path / "my.jsonl")
    with pytest.raises(InputError, match=message) as caught:
        made(raw, **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


_TURNS = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"prompt": "Hi", "chosen": _TURNS, "rejected": _TURNS},
            "preferences.*--prompt-key prompt --answer-key chosen",
        ),
        ({"target": 98, "nums": [44, 19, 35]}, "Countdown's.*prep reasoning_gym --task countdown"),
        (
            {"title": "A", "description": "Add.", "generator": "g", "validator": "v", "checker": "c"},
            "CodeContests.*without tests.*--config 1x",
        ),
    ],
)
def test_rows_that_no_mapping_helps_say_what_to_do(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        made(write_jsonl(tmp_path / "my.jsonl", [row]))
    assert "\n" not in str(caught.value)


def test_what_the_refusal_of_preferences_says_can_be_done(tmp_path: Path) -> None:
    raw = write_jsonl(tmp_path / "my.jsonl", [{"chosen": _TURNS, "rejected": _TURNS}])
    said = {
        "prompt_key": "chosen",
        "answer_key": "chosen",
        "reward": "exact",
    }
    (row,) = made(raw, **said)
    assert row["prompt"] == _TURNS[:1]


def test_bad_rows_are_named_by_line_or_skipped(tmp_path: Path) -> None:
    raw = tmp_path / "my.jsonl"
    good = json.dumps(ROWS[0])
    lines = [good, "{oops", json.dumps({"question": " ", "answer": "1"}), json.dumps({"answer": "1"}), good]
    raw.write_text("\n".join([*lines, "", json.dumps({"question": "q", "answer": 42.0})]) + "\n")
    with pytest.raises(InputError, match=r"my.jsonl row 1: .* JSON"):
        made(raw)
    out = tmp_path / "out"
    prepared = custom.prepare(out, PrepSettings(raw=raw, skip_bad=True), reward="math", keep=("id",))
    rows = pq.read_table(out / "train.parquet").to_pylist()
    assert [row["extra_info"]["index"] for row in rows] == [0, 4, 6]
    assert rows[2]["ground_truth"] == "42"
    assert json.loads(rows[2]["extra_info"]["metadata"]) == {"id": None}
    assert prepared.dropped == 3
    assert [line.rpartition("' ")[0] for line in prepared.first_dropped[1:]] == [
        "my.jsonl row 2: 'question",
        "my.jsonl row 3: 'question",
    ]


def test_a_key_that_stands_twice_is_a_bad_row(tmp_path: Path) -> None:
    raw = tmp_path / "train.jsonl"
    raw.write_text('{"question": "q", "answer": "1"}\n{"question": "p", "answer": "1", "answer": "2"}\n')
    with pytest.raises(InputError, match=r"train.jsonl row 1: duplicate key 'answer' "):
        made(raw)


def test_what_became_of_a_file_that_names_no_split_is_said(tmp_path: Path) -> None:
    rows = [{"question": "q", "answer": "1"}, {"question": "q", "answer": "2"}]
    raw = write_jsonl(tmp_path / "mmlu_stem.jsonl", rows)
    prepared = custom.prepare(tmp_path / "out", PrepSettings(raw=raw), reward="math")
    assert prepared.notes == (
        "the name of mmlu_stem.jsonl has no split; using train (--split-name sets another)",
        "rows with the question of an earlier row: 1; --dedup drops such rows",
    )


def test_rows_beyond_the_first_block_keep_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewardkit.files.formats.CHUNK_ROWS", 7)
    rows = [{"question": f"q{i}", "answer": str(i) if i % 7 else i} for i in range(50)]
    (tmp_path / "raw").mkdir()
    write_jsonl(tmp_path / "raw" / "train-0.jsonl", rows[:30])
    write_jsonl(tmp_path / "raw" / "train-1.jsonl", rows[30:])
    found = made(tmp_path / "raw")
    assert [row["ground_truth"] for row in found] == [str(i) for i in range(50)]
    assert [row["extra_info"]["index"] for row in found] == list(range(50))


def test_a_chat_is_taken_as_the_prompt_with_the_system_message_asked_for(tmp_path: Path) -> None:
    chat = [
        {"role": "system", "content": "Old."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "1+1?"},
    ]
    raw = write_jsonl(tmp_path / "my.jsonl", [{"prompt": chat, "answer": {"value": 2}}])
    (row,) = made(raw, system="New.", map=("ground_truth=answer.value",))
    assert [m["content"] for m in row["prompt"]] == ["New.", "Hi", "Hello", "1+1?"]
    assert (row["extra_info"]["question"], row["ground_truth"]) == ("1+1?", "2")


def test_a_set_of_the_hub_is_mapped_as_a_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_hub(monkeypatch, lambda *_, **__: ROWS)
    out = tmp_path / "out"
    custom.prepare(out, hub="org/set", reward="math", map=("ground_truth=answer|last_number",))
    rows = pq.read_table(out / "train.parquet").to_pylist()
    assert [row["ground_truth"] for row in rows] == ["3.5", "-5", "1234"]
    assert read_provenance(out / "train.parquet")["source"] == {
        "hub": "org/set",
        "config": None,
        "revision": "sha-of-org/set",
    }


def test_a_ground_truth_that_is_no_answer_is_no_reference(tmp_path: Path) -> None:
    tests = json.dumps({"inputs": ["1"], "outputs": ["2"]})
    raw = write_jsonl(tmp_path / "my.jsonl", [{"question": "Double it.", "answer": tests}])
    (row,) = made(raw, reward="code")
    assert (row["ground_truth"], row["extra_info"]["answer"]) == (tests, "")


@pytest.mark.parametrize(
    ("expression", "text", "found"),
    [
        ("a|last_number", "costs $1,234.50 or -3", "-3"),
        ("a|after('####')", "x #### y\n#### z ", "z"),
        ('a|after("|")', "a|b", "b"),
        ("a|boxed", r"so \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        ("a|letter", "I think (C). Final: B", "B"),
        ("a|json('b.0.c')", '{"b": [{"c": 4.0}]}', "4"),
        ("a|json('b')", "no json", None),
        ("a|after('=')|last_number", "n = 4 apples", "4"),
    ],
)
def test_extractors_find_what_they_name(expression: str, text: str, found: str | None) -> None:
    assert parse(expression).values([text, None]) == [found, None]


@given(st.lists(st.sampled_from([" ", "-", ".", ",", "x", "(", "1", "23", "456", "$", "\n"]), max_size=60))
def test_the_last_number_does_not_depend_on_how_long_the_text_is(parts: list[str]) -> None:
    text = "".join(parts)
    assert last_number(text) == last_number("word " * 30 + "\n" + text)
    assert last_number(text) == last_number(text + " in all")


CHAT = [{"from": "human", "value": "2 + 3?"}, {"from": "assistant", "ground_truth": {"value": "5"}}]


def test_a_file_of_chats_alone_is_read_by_place_or_as_chats(tmp_path: Path) -> None:
    (tmp_path / "my.json").write_text(json.dumps([CHAT]))
    for prompt_key in ("conversations.0.value", "conversations"):
        (row,) = made(
            tmp_path / "my.json", prompt_key=prompt_key, answer_key="conversations.1.ground_truth.value"
        )
        assert row["prompt"] == [{"role": "user", "content": "2 + 3?"}]
        assert row["ground_truth"] == "5"


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_the_answer_at_the_end_of_a_chat_is_no_prompt(tmp_path: Path, suffix: str) -> None:
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2 + 3?"},
        {"role": "assistant", "content": "It is 5."},
    ]
    rows = [{"messages": chat, "answer": "5"}]
    path = tmp_path / f"my.{suffix}"
    pq.write_table(pa.Table.from_pylist(rows), path) if suffix == "parquet" else write_jsonl(path, rows)
    (row,) = made(path, prompt_key="messages", answer_key="answer")
    assert row["prompt"] == chat[:2]
    assert row["extra_info"]["question"] == "2 + 3?"


def test_of_several_solutions_the_first_is_the_answer(tmp_path: Path) -> None:
    rows = [{"question": "Echo.", "solutions": ["```python\nprint(input())\n```", "no"], "tests": TESTS}]
    for column in ("solutions", "solutions.0"):
        path = write_jsonl(tmp_path / "my.jsonl", rows)
        (row,) = made(path, reward="code", answer_key="tests", map=(f"answer={column}",))
        assert row["extra_info"]["answer"] == "```python\nprint(input())\n```"


TESTS = '[{"input": "1", "output": "1"}]'


def test_tests_that_the_reward_cannot_read_are_bad_rows(tmp_path: Path) -> None:
    rows = [{"question": "Fix it.", "patch": "diff --git a/x b/x"}, {"question": "Echo.", "patch": TESTS}]
    path = write_jsonl(tmp_path / "my.jsonl", rows)
    with pytest.raises(InputError, match=r"my\.jsonl.* 0: .*tests: .*neither JSON nor Python"):
        made(path, reward="code", answer_key="patch")
    assert len(made(path, reward="code", answer_key="patch", skip_bad=True)) == 1


def test_json_steps_read_python_literals(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "my.jsonl", [{"question": "2 + 3?", "info": "{'ground_truth': '5'}"}])
    (row,) = made(path, map=("ground_truth=info|json('ground_truth')",))
    assert row["ground_truth"] == "5"
