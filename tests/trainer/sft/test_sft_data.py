"""Which tokens of a row are trained on, and what is said of rows that cannot be used."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("torch")

from transformers import AutoTokenizer, GenerationConfig

from rewardkit.errors import InputError
from rewardkit.trainer.config.workers import ModelConfig
from rewardkit.trainer.data import ALONE
from rewardkit.trainer.sft.build import SFT, rehearse
from rewardkit.trainer.sft.config import SftConfig, SftDataConfig
from rewardkit.trainer.sft.data import SftRow, load_rows
from tests.trainer.sft.templates import GLM, GPT_OSS, MARKED, QWEN3, R1

DATA = SftDataConfig(train_files="x")
USER, ASSISTANT = "user", "assistant"


def turns(*said: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in said]


TALK = turns((USER, "1+2"), (ASSISTANT, "3"), (USER, "and 4"), (ASSISTANT, "7"))


def load(
    tokenizer: Any, folder: Path, rows: list[dict[str, Any]], end: str = "<|end|>", **changes: Any
) -> list[SftRow]:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ends = [tokenizer.convert_tokens_to_ids(end)]
    return load_rows(str(path), tokenizer, replace(DATA, **changes), -1, ALONE, ends)


def trained(tokenizer: Any, row: SftRow) -> str:
    """The text of the trained tokens, with ` ... ` for the others between them."""
    found = zip(row.response_ids, row.trained, strict=True)
    parts = groupby(found, key=lambda pair: pair[1])
    return "".join(tokenizer.decode([i for i, _ in part]) if said else " ... " for said, part in parts)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"messages": TALK}, "3<|end|> ... 7<|end|>"),
        ({"prompt": TALK[:3], "completion": TALK[3:]}, "7<|end|>"),
        ({"prompt": TALK[:1], "response": TALK[1:]}, "3<|end|> ... 7<|end|>"),
        ({"prompt": "1+2", "response": "3"}, "3<|end|>"),
        ({"question": "1+2", "answer": "3"}, "3<|end|>"),
        ({"prompt": TALK[:1], "extra_info": {"answer": "3"}}, "3<|end|>"),
    ],
)
@pytest.mark.parametrize("template", ["plain", "marked"])
def test_the_assistant_s_turns_and_their_ends_are_trained(
    row: dict[str, Any],
    expected: str,
    template: str,
    tokenizer: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if template == "marked":
        monkeypatch.setattr(tokenizer, "chat_template", MARKED)
    (found,) = load(tokenizer, tmp_path, [row])
    assert trained(tokenizer, found) == expected
    assert tokenizer.decode(found.token_ids).endswith("<|assistant|>")


def test_columns_are_named_by_verl_s_keys_too(tokenizer: Any, tmp_path: Path) -> None:
    row = {"extra_info": {"question": "1+2", "answer": "3"}, "messages": TALK}
    named = {"prompt_key": "extra_info", "response_key": "extra_info"}
    keys = {"prompt_dict_keys": ["question"], "response_dict_keys": ["answer"]}
    dotted = {"prompt_key": "extra_info.question", "response_key": "extra_info.answer"}
    (one,) = load(tokenizer, tmp_path, [row], **named, **keys)
    (other,) = load(tokenizer, tmp_path, [row], **dotted)
    assert one == other and trained(tokenizer, one) == "3<|end|>"
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "rows.parquet")
    assert load_rows(str(tmp_path / "rows.parquet"), tokenizer, replace(DATA, **dotted), -1, ALONE) == [one]


def test_a_long_row_is_an_error_cut_or_left_out(
    tokenizer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"prompt": "1", "response": "3 " * 20}, {"prompt": "1 " * 20, "response": "3"}]
    with pytest.raises(InputError, match=r"row 0: .* \d+ tokens, .*data.max_length is 12; raise"):
        load(tokenizer, tmp_path, rows, max_length=12)
    (kept,) = load(tokenizer, tmp_path, rows, max_length=12, truncation="right")
    assert len(kept.token_ids) + len(kept.response_ids) == 12
    said = capsys.readouterr().err
    assert "1 of 2 rows" in said and "<|end|>" in said
    assert "data.max_length=12 cuts every row" in said and "the chat template" not in said
    both = load(tokenizer, tmp_path, rows, max_length=12, truncation="left")
    assert [trained(tokenizer, row)[-7:] for row in both] == ["<|end|>"] * 2


def test_validation_that_is_left_without_a_row_is_refused(model_folder: Path, tmp_path: Path) -> None:
    for name, prompt in (("train", "1+2"), ("val", "1+2" * 50)):
        row = json.dumps({"prompt": prompt, "response": "3"}) + "\n"
        (tmp_path / f"{name}.jsonl").write_text(row)
    files = {f"{name}_files": str(tmp_path / f"{name}.jsonl") for name in ("train", "val")}
    data = replace(DATA, **files, max_length=20, truncation="right", train_batch_size=1)
    with pytest.raises(InputError, match=r"data.val_files has no row"):
        rehearse(SftConfig(data=data, model=ModelConfig(str(model_folder))), SFT)


def test_a_token_of_the_generation_config_ends_a_response_too(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    shutil.copytree(model_folder, model)
    told = json.loads((model / "tokenizer_config.json").read_text()) | {"eos_token": "<|assistant|>"}
    (model / "tokenizer_config.json").write_text(json.dumps(told))
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1+2", "response": "3"}\n')
    data = replace(DATA, train_files=str(tmp_path / "rows.jsonl"), train_batch_size=1)
    for ends, warned in ((AutoTokenizer.from_pretrained(model_folder).eos_token_id, False), (None, True)):
        GenerationConfig(eos_token_id=ends).save_pretrained(model)
        rehearse(SftConfig(data=data, model=ModelConfig(str(model))), SFT)
        assert ("<|assistant|>" in capsys.readouterr().err) == warned


@pytest.mark.parametrize(
    ("row", "changes", "line"),
    [
        ({"text": "a"}, {}, " prompt and response"),
        (
            {"a": "b"},
            {"prompt_key": "x", "response_key": "y"},
            " x and y; ",
        ),
        ({"a": "b"}, {"prompt_key": "x"}, "must be set together"),
        ({"messages": "hi"}, {}, "row 0: messages .* found 'hi'"),
        ({"messages": [{"content": "hi"}]}, {}, "row 0: message 0 .* role"),
        ({"messages": TALK[:1]}, {}, "row 0: .* assistant message"),
        ({"prompt": "a", "response": None}, {}, "row 0: response is empty"),
        (
            {"prompt": "a", "response": 4},
            {},
            "row 0: response .* found int",
        ),
        ({"messages": TALK, "tools": "{"}, {}, "row 0: tools .* JSON"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(
    row: dict[str, Any], changes: dict[str, Any], line: str, tokenizer: Any, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=line) as error:
        load(tokenizer, tmp_path, [row], **changes)
    assert "\n" not in str(error.value)


def test_all_rows_that_cannot_be_used_are_counted_at_once(tokenizer: Any, tmp_path: Path) -> None:
    rows = [{"messages": TALK}, {"messages": "hi"}, {"messages": TALK[:1]}]
    with pytest.raises(
        InputError,
        match=r"row 1: messages .* \(1 more of the 3 ",
    ):
        load(tokenizer, tmp_path, rows)


@pytest.mark.parametrize(
    ("template", "line"),
    [
        (None, "; set data.chat_template"),
        ("{{ raise_exception('no users') }}", "row: no users"),
        (R1, "turn 1: the chat template begins an answer with '<think>\\n'"),
    ],
)
def test_a_template_that_does_not_fit_is_an_error_in_one_line(
    template: str | None, line: str, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizer, "chat_template", template)
    with pytest.raises(InputError) as error:
        load(tokenizer, tmp_path, [{"messages": TALK}])
    assert line in str(error.value) and "\n" not in str(error.value)


def whole(tokenizer: Any, row: SftRow) -> str:
    """The text of a row, with what is trained in brackets."""
    ids = [*row.token_ids, *row.response_ids]
    said = [False] * len(row.token_ids) + row.trained
    parts = groupby(zip(ids, said, strict=True), key=lambda pair: pair[1])
    return "".join(
        f"[{text}]" if trained else text
        for trained, part in parts
        for text in [tokenizer.decode([i for i, _ in part])]
    )


THOUGHT_TALK = turns(
    (USER, "1+2"),
    (ASSISTANT, "<think>\na\n</think>\n\n3"),
    (USER, "and 4"),
    (ASSISTANT, "<think>\nb\n</think>\n\n7"),
)
CHANNELS = [
    *turns((USER, "1+2")),
    {"role": ASSISTANT, "content": "3", "thinking": "a"},
    *turns((USER, "and 4")),
    {"role": ASSISTANT, "content": "7", "thinking": "b"},
]


@pytest.mark.parametrize(
    ("template", "talk", "expected"),
    [
        (
            QWEN3,
            THOUGHT_TALK,
            [
                "<|user|>1+2<|assistant|>[<think>\na\n</think>\n\n3<|end|>]",
                "<|user|>1+2<|assistant|>3<|end|><|user|>and 4<|assistant|>[<think>\nb\n</think>\n\n7<|end|>]",
            ],
        ),
        (
            QWEN3,
            TALK,
            [
                "<|user|>1+2<|assistant|>[<think>\n\n</think>\n\n3<|end|>]",
                "<|user|>1+2<|assistant|>3<|end|><|user|>and 4<|assistant|>[<think>\n\n</think>\n\n7<|end|>]",
            ],
        ),
        (
            GLM,
            THOUGHT_TALK,
            [
                "<|user|>1+2<|assistant|>[<think>a</think>3<|user|>]",
                "<|user|>1+2<|assistant|><think></think>3<|user|>and 4<|assistant|>[<think>b</think>7<|user|>]",
            ],
        ),
        (
            R1,
            THOUGHT_TALK,
            [
                "<|user|>1+2<|assistant|><think>\n[a\n</think>\n\n3<|end|>]",
                "<|user|>1+2<|assistant|>3<|end|><|user|>and 4<|assistant|><think>\n[b\n</think>\n\n7<|end|>]",
            ],
        ),
        (
            GPT_OSS,
            CHANNELS,
            [
                "<|user|>1+2<|assistant|>[:analysis:a<|end|><|assistant|>:final:3<|end|>]",
                "<|user|>1+2<|assistant|>:final:3<|end|><|user|>and 4<|assistant|>"
                "[:analysis:b<|end|><|assistant|>:final:7<|end|>]",
            ],
        ),
    ],
    ids=["qwen3", "qwen3 without thoughts", "glm", "r1", "gpt-oss"],
)
def test_each_answer_is_trained_as_the_model_would_generate_it(
    template: str,
    talk: list[dict[str, str]],
    expected: list[str],
    tokenizer: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Templates that drop the thoughts of earlier turns, as those of these model families do."""
    monkeypatch.setattr(tokenizer, "chat_template", template)
    end = "<|user|>" if template is GLM else "<|end|>"  # GLM's models stop at the sign of the next message
    found = load(tokenizer, tmp_path, [{"messages": talk}], end)
    assert [whole(tokenizer, row) for row in found] == expected
    assert "1 of 1 rows are divided into 2" in capsys.readouterr().err


def test_answers_that_render_alike_share_a_row(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Qwen3 keeps thoughts after the last question, so that an answer after a tool call changes nothing."""
    monkeypatch.setattr(tokenizer, "chat_template", QWEN3)
    calls = turns((USER, "1+2"), (ASSISTANT, "look"), ("tool", "3"), (ASSISTANT, "3"))
    (found,) = load(tokenizer, tmp_path, [{"messages": calls}])
    empty = "<think>\n\n</think>\n\n"
    assert trained(tokenizer, found) == f"{empty}look<|end|> ... {empty}3<|end|>"
