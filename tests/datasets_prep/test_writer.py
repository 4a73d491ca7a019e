"""The Row contract and the writer: what is published is whole, streamed, and the same bytes every time."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rewardkit.datasets_prep.common.schema import BATCH_ROWS, SCHEMA, Row, chat, to_batches, validate
from rewardkit.datasets_prep.common.writer import OnWritten, Writing, WrittenFile
from rewardkit.datasets_prep.common.writer import write_splits as write_batches
from rewardkit.errors import InputError
from tests.datasets_prep.provenance import read_provenance


def make_row(index: int = 0, **changes: object) -> Row:
    row = Row(
        data_source="openai/gsm8k",
        prompt=chat(f"How much is {index} + 1?"),
        ability="math",
        ground_truth=str(index + 1),
        split="train",
        index=index,
        question=f"How much is {index} + 1?",
        answer=f"#### {index + 1}",
        metadata={"level": "Level 1"},
    )
    return replace(row, **changes)  # type: ignore[arg-type]


def rows(n: int) -> Iterator[Row]:
    return (make_row(i) for i in range(n))


def write_splits(
    out: Path,
    splits: Mapping[str, Iterable[Row]],
    provenance: dict[str, object],
    progress: OnWritten | None = None,
    shard_rows: int | None = None,
) -> dict[str, WrittenFile]:
    batches = [(split, to_batches(found)) for split, found in splits.items()]
    return write_batches(out, lambda _: batches, Writing(provenance, shard_rows, progress))


def test_a_file_holds_the_rows_in_the_one_schema(tmp_path: Path) -> None:
    write_splits(tmp_path, {"train": rows(3)}, {"seed": 7})
    table = pq.read_table(tmp_path / "train.parquet")
    assert table.schema.equals(SCHEMA)
    assert table.to_pylist()[2] == {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": "How much is 2 + 1?"}],
        "ability": "math",
        "ground_truth": "3",
        "reward_model": {"style": "rule", "ground_truth": "3"},
        "agent_name": "single_turn_agent",
        "extra_info": {
            "split": "train",
            "index": 2,
            "question": "How much is 2 + 1?",
            "answer": "#### 3",
            "metadata": '{"level": "Level 1"}',
        },
    }
    assert read_provenance(tmp_path / "train.parquet") == {"seed": 7}
    assert pq.ParquetFile(tmp_path / "train.parquet").metadata.row_group(0).column(0).compression == "ZSTD"


def test_rows_are_streamed_in_row_groups(tmp_path: Path) -> None:
    written: list[int] = [0]
    most_held = 0
    n = 2 * BATCH_ROWS + 10

    def watched() -> Iterator[Row]:
        nonlocal most_held
        for drawn, row in enumerate(rows(n), start=1):
            most_held = max(most_held, drawn - written[-1])
            yield row

    write_splits(tmp_path / "out", {"train": watched()}, {}, lambda _, done: written.append(done))
    assert written == [0, BATCH_ROWS, 2 * BATCH_ROWS, n]
    assert most_held <= 2 * BATCH_ROWS
    assert pq.ParquetFile(tmp_path / "out" / "train.parquet").num_row_groups == 3


def test_shards_hold_the_rows_in_order_and_replace_the_one_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_splits(out, {"train": rows(3), "test": rows(2)}, {})
    made = write_splits(out, {"train": rows(BATCH_ROWS + 5)}, {}, shard_rows=2000)
    names = [f"0000{i}-of-00003.parquet" for i in range(3)]
    assert sorted(path.name for path in (out / "train").iterdir()) == names
    assert (made["train"].path, made["train"].rows) == (out / "train", BATCH_ROWS + 5)
    assert sorted(path.name for path in out.iterdir()) == ["test.parquet", "train"]
    indices = pq.read_table(out / "train")["extra_info"].combine_chunks().field("index").to_pylist()
    assert indices == list(range(BATCH_ROWS + 5))
    write_splits(out, {"train": rows(3)}, {})
    assert sorted(path.name for path in out.iterdir()) == ["test.parquet", "train.parquet"]


def test_rows_of_megabytes_make_smaller_row_groups(tmp_path: Path) -> None:
    big = "7" * 10_000_000
    write_splits(tmp_path, {"train": (make_row(i, ground_truth=big) for i in range(5))}, {})
    metadata = pq.read_metadata(tmp_path / "train.parquet")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [2, 2, 1]


def test_an_error_leaves_the_earlier_files_as_they_were(tmp_path: Path) -> None:
    write_splits(tmp_path, {"train": rows(3), "test": rows(3)}, {})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def failing() -> Iterator[Row]:
        yield from rows(BATCH_ROWS + 1)
        raise InputError("row 4097 is bad")

    splits = {"train": rows(9), "test": failing()}
    with pytest.raises(InputError, match="row 4097 is bad"):
        write_splits(tmp_path, splits, {})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_mount_is_written_from_within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == tmp_path)
    write_splits(tmp_path, {"train": rows(3)}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["train.parquet"]


def test_an_error_leaves_no_new_folder_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="split 'test' "):
        write_splits(tmp_path / "new" / "deeper", {"train": rows(2), "test": rows(0)}, {})
    assert list(tmp_path.iterdir()) == []


_WRITE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.datasets_prep.test_writer import rows, write_splits
n = int(sys.argv[3])
print("ready", flush=True)
try:
    write_splits(Path(sys.argv[1]), {"train": rows(n), "test": rows(1)}, {})
except Exception as error:
    print(type(error).__name__, error)
"""


def start_writer(out: Path, n: int, **options: object) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[2])
    arguments = [sys.executable, "-c", _WRITE, str(out), root, str(n)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=root, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.slow
def test_a_killed_run_publishes_nothing_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_splits(out, {"train": rows(3), "test": rows(3)}, {})
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    partial = tmp_path / ".out.prep" / "new" / "train.parquet"
    with start_writer(out, 100_000_000) as writer:
        while not (partial.exists() and partial.stat().st_size > 100_000):
            assert writer.poll() is None
            time.sleep(0.01)
        with pytest.raises(InputError, match="another run "):
            write_splits(out, {"train": rows(3)}, {})
        assert partial.exists()
        writer.send_signal(signal.SIGKILL)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    write_splits(out, {"test": rows(4)}, {})
    assert sorted(path.name for path in out.iterdir()) == ["test.parquet", "train.parquet"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    with start_writer(tmp_path / "out", 50_000, preexec_fn=limit) as writer:
        said = writer.communicate()[0].splitlines()
    assert said[0] == "ready"
    assert said[1].startswith(f"InputError cannot write to {tmp_path / 'out'}: ")
    assert len(said) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file.*: Not a directory") as caught:
        write_splits(tmp_path / "file" / "out", {"train": rows(1)}, {})
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"):
        write_splits(tmp_path, {"train": rows(1)}, {})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ground_truth": 3}, "ground_truth must be a string"),
        ({"question": " \n"}, "question is empty"),
        ({"prompt": ()}, "at least one message"),
        (
            {"prompt": ({"role": "usr", "content": "x"},)},
            "system, user, assistant",
        ),
        ({"answer": "\ud800"}, "answer is not valid Unicode"),
    ],
)
def test_a_row_that_breaks_the_contract_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate(make_row(**changes))
