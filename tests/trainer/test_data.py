"""Reading, tokenising and ordering of prompts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier, current_thread
from typing import Any, ClassVar

import pytest

pytest.importorskip("torch")
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from rewardkit.errors import InputError
from rewardkit.trainer.config.root import DataConfig
from rewardkit.trainer.data import PromptLoader, load_rows, read_rows
from rewardkit.trainer.distributed import World

DATA = DataConfig(train_files="-", max_prompt_length=200)


def write(path: Path, **columns: list[Any]) -> Path:
    table = {"data_source": ["gsm8k"], "prompt": ["How many?"], "ground_truth": ["1"], **columns}
    pq.write_table(pa.table(table), path / "rows.parquet")
    return path / "rows.parquet"


def test_rows_carry_the_prompt_after_the_chat_template(parquet: Path, tokenizer: Any) -> None:
    rows = load_rows(str(parquet), tokenizer, DATA)
    text = tokenizer.decode(rows[0].token_ids)
    assert text == "<|user|>Tom has 1 apples and buys 1 more. How many now?<|assistant|>"
    assert (rows[0].ground_truth, rows[3].extra_info) == ("3", {"index": 3})


def test_a_string_prompt_is_one_user_message(tmp_path: Path, tokenizer: Any) -> None:
    (row,) = load_rows(str(write(tmp_path)), tokenizer, DATA)
    assert tokenizer.decode(row.token_ids) == "<|user|>How many?<|assistant|>"
    assert row.prompt == "How many?", "rewards see it as any other entrance gives it to them"


class Threads(World):
    """A process that is a thread: what all of them gather is put together as they meet."""

    meeting: ClassVar[Barrier] = Barrier(3)
    items: ClassVar[dict[int, Any]] = {}

    def gather(self, item: Any) -> list[Any]:
        self.meeting.wait(60)
        self.items[self.rank] = item
        self.meeting.wait(60)
        return [self.items[rank] for rank in range(self.size)]


def test_processes_tokenise_a_share_each_and_all_have_all(parquet: Path, tokenizer: Any) -> None:
    done: dict[str, list[int]] = {}

    def ids_of(raw: dict[str, Any]) -> list[int]:
        done.setdefault(current_thread().name, []).append(raw["extra_info"]["index"])
        return [raw["extra_info"]["index"]] * (250 if raw["extra_info"]["index"] == 4 else 3)

    def load(config: DataConfig) -> list[Any]:
        def one(rank: int) -> Any:
            try:
                world = Threads(rank, 3, torch.device("cpu"))
                return list(load_rows(str(parquet), tokenizer, config, tokenise=ids_of, world=world))
            except InputError as error:
                return str(error)

        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(one, range(3)))

    found = load(replace(DATA, filter_overlong_prompts=True))
    assert found[0] == found[1] == found[2]
    assert [row.token_ids[0] for row in found[0]] == [i for i in range(24) if i != 4]
    assert sorted(map(len, done.values())) == [8, 8, 8]
    errors = load(DATA)
    assert errors[0] == errors[1] == errors[2]
    assert "row 4: the prompt has 250" in errors[0]


def test_rows_of_several_files_are_made_of_columns_as_they_are_asked_for(
    tmp_path: Path, tokenizer: Any
) -> None:
    files = []
    for name, sources, prompts in (
        ("a", ["x", "y", "x"], ["One?", "How many is that in all, then?", "Two?"]),
        ("b", ["x", "z"], ["Three?", "Four?"]),
    ):
        (folder := tmp_path / name).mkdir()
        columns = {"data_source": sources, "prompt": prompts, "ground_truth": ["1"] * len(sources)}
        files.append(str(write(folder, **columns)))
    config = replace(DATA, max_prompt_length=14, filter_overlong_prompts=True)
    rows = load_rows(files, tokenizer, config, max_samples=4)
    assert [row.prompt for row in rows] == ["One?", "Two?", "Three?"]
    assert (rows[-1], rows[1:]) == (rows[2], [rows[1], rows[2]])
    assert rows.data_sources == {"x"}, "no reward is opened for what is left out"
    assert rows.largest_id == max(i for row in rows for i in row.token_ids)


@pytest.mark.parametrize("column", ["data_source", "prompt", "ground_truth"])
def test_an_empty_value_is_named_with_its_row(tmp_path: Path, column: str) -> None:
    path = write(tmp_path, **{column: pa.array([None], pa.string())})
    with pytest.raises(InputError, match=f"row 0: {column} is empty"):
        read_rows(path, "prompt")


@pytest.mark.parametrize("truth", [float("nan"), ""])
def test_a_ground_truth_of_nothing_is_refused(tmp_path: Path, truth: Any) -> None:
    with pytest.raises(InputError, match="row 0: ground_truth is empty"):
        read_rows(write(tmp_path, ground_truth=[truth]), "prompt")


def test_a_ground_truth_of_0_is_a_ground_truth(tmp_path: Path) -> None:
    assert read_rows(write(tmp_path, ground_truth=[0]), "prompt")[0]["ground_truth"] == "0"


def test_rows_with_images_are_refused_and_empty_columns_of_images_are_not(tmp_path: Path) -> None:
    images = pa.list_(pa.struct([("bytes", pa.binary())]))
    assert read_rows(write(tmp_path, images=pa.array([None], images), videos=[[]]), "prompt")
    twice = {"data_source": ["gsm8k"] * 2, "prompt": ["How many?"] * 2, "ground_truth": ["1"] * 2}
    path = write(tmp_path, **twice, images=pa.array([[], [{"bytes": b"png"}]], images))
    with pytest.raises(InputError, match="row 1: column 'images' "):
        read_rows(path, "prompt")


def test_rows_are_the_same_in_every_format(tmp_path: Path, parquet: Path) -> None:
    rows = pq.read_table(parquet).to_pylist()
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    with pa.ipc.new_file(tmp_path / "rows.arrow", pq.read_schema(parquet)) as file:
        file.write_table(pq.read_table(parquet))
    for suffix in ("jsonl", "json", "arrow"):
        assert read_rows(tmp_path / f"rows.{suffix}", "prompt") == read_rows(parquet, "prompt")


def test_a_line_that_is_no_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"data_source": "x", "prompt": "q", "answer": "1"}\n{oops\n')
    with pytest.raises(InputError, match=r"rows\.jsonl, row 1: .*JSON"):
        read_rows(tmp_path / "rows.jsonl", "prompt")


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, data_source=[], prompt=[], ground_truth=[])
    with pytest.raises(InputError, match="has no rows"):
        read_rows(path, "prompt")


def test_overlong_prompts_are_refused_left_out_or_cut(parquet: Path, tokenizer: Any) -> None:
    whole = load_rows(str(parquet), tokenizer, DATA)
    short = replace(DATA, max_prompt_length=10)
    with pytest.raises(InputError, match=r"row 0: .* \d+ tokens, .*data.max_prompt_length is 10"):
        load_rows(str(parquet), tokenizer, short)
    assert not load_rows(str(parquet), tokenizer, replace(short, filter_overlong_prompts=True))
    left = load_rows(str(parquet), tokenizer, replace(short, truncation="left"))
    right = load_rows(str(parquet), tokenizer, replace(short, truncation="right"))
    assert left[0].token_ids == whole[0].token_ids[-10:]
    assert right[0].token_ids == whole[0].token_ids[:10]


def test_each_epoch_is_another_order_and_the_seed_decides_it(parquet: Path, tokenizer: Any) -> None:
    rows = load_rows(str(parquet), tokenizer, DATA)

    def order(seed: int, shuffle: bool = True) -> list[list[int]]:
        loader = PromptLoader(rows, 5, shuffle=shuffle, seed=seed)
        return [[row.extra_info["index"] for row in batch] for batch in (loader.take() for _ in range(8))]

    assert order(1) == order(1) != order(2)
    first, second = order(1)[:4], order(1)[4:]
    assert first != second
    assert len({i for batch in first for i in batch}) == 20, "no prompt twice in an epoch"
    assert order(1, shuffle=False)[0] == [0, 1, 2, 3, 4]


def test_the_digest_of_a_file_is_that_of_its_rows_and_their_order(
    parquet: Path, tokenizer: Any, tmp_path: Path
) -> None:
    table = pq.read_table(parquet)

    def digest_of(changed: pa.Table, samples: int = -1, **written: Any) -> str:
        path = tmp_path / "changed.parquet"
        pq.write_table(changed, path, **written)
        ((name, found),) = load_rows(str(path), tokenizer, DATA, samples).digests
        assert name == str(path)
        return found

    same = digest_of(table)
    assert digest_of(table, compression="none", row_group_size=5) == same
    assert digest_of(table.replace_schema_metadata({"made": "later"})) == same
    assert digest_of(table.take([1, 0, *range(2, len(table))])) != same
    sources = pa.array(["math", *table["data_source"].to_pylist()[1:]])
    changed = table.set_column(table.schema.get_field_index("data_source"), "data_source", sources)
    assert digest_of(changed) != same
    other_end = table.slice(0, len(table) - 1)
    assert digest_of(other_end, 5) == digest_of(table, 5)


def test_fewer_prompts_than_a_batch_is_an_error(parquet: Path, tokenizer: Any) -> None:
    rows = load_rows(str(parquet), tokenizer, DATA)
    with pytest.raises(InputError, match=r"train_batch_size=64, .* 24 rows"):
        PromptLoader(rows, 64, shuffle=True, seed=0)


def test_no_row_at_all_is_not_a_batch_too_large() -> None:
    with pytest.raises(InputError, match=r"data.train_files has no row"):
        PromptLoader([], 64, shuffle=True, seed=0)


def test_prompts_that_are_left_out_are_counted_aloud(parquet: Path, tokenizer: Any) -> None:
    said: list[str] = []
    config = replace(DATA, max_prompt_length=10, filter_overlong_prompts=True)
    assert not load_rows(str(parquet), tokenizer, config, max_samples=5, say=said.append)
    assert said == [
        f"{parquet}: skipped 5 of 5 prompts, which are longer than data.max_prompt_length=10 "
        "(data.filter_overlong_prompts)"
    ]
    load_rows(str(parquet), tokenizer, DATA, say=said.append)
    assert len(said) == 1
