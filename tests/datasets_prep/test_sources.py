"""Reading raw data: every format gives the same records, and bad input is one clear line."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.datasets_prep import bfcl
from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.sources import Hub, Record, open_hub, open_raw
from rewardkit.errors import InputError, MissingDependencyError

RECORDS = [
    {"question": "What is 1+1?\nSay it.", "answer": 'It is "2",\u2028\n#### 2'},
    {"question": "Was ist 2·2?", "answer": "#### 4"},
]


def read(raw: Path, split: str = "train", *, skip: bool = False) -> list[Record]:
    return list(open_raw(raw).splits[split](BadRows(skip=skip)))


def write_jsonl(path: Path, text: str | None = None) -> Path:
    lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines if text is None else text)
    return path


def write_csv(path: Path, delimiter: str = ",") -> None:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["question", "answer"], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(RECORDS)


WRITERS: dict[str, Callable[[Path], object]] = {
    "train.jsonl": write_jsonl,
    "train-00000-of-00001.parquet": lambda p: pq.write_table(pa.Table.from_pylist(RECORDS), p),
    "train.csv": write_csv,
    "train.json": lambda p: p.write_text(json.dumps(RECORDS, indent=2)),
    "math_train.json": write_jsonl,
    "bom.train.jsonl": lambda p: p.write_bytes(b"\xef\xbb\xbf" + write_jsonl(p).read_bytes()),
    "train.jsonl.gz": lambda p: p.write_bytes(gzip.compress(write_jsonl(p).read_bytes())),
    "train.tsv": lambda p: write_csv(p, "\t"),
    "train.feather": lambda p: pa.feather.write_feather(pa.Table.from_pylist(RECORDS), str(p)),
    "train.jsonl.zst": lambda p: p.write_bytes(
        pa.compress(write_jsonl(p).read_bytes(), "zstd", asbytes=True)
    ),
    "train.json.gz": lambda p: p.write_bytes(gzip.compress(json.dumps(RECORDS).encode())),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_records(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    found = read(tmp_path)
    assert [record.values for record in found] == RECORDS
    assert [(record.where, record.index) for record in found] == [(f"{name} row 0", 0), (f"{name} row 1", 1)]


def test_a_zip_is_read_like_a_folder(tmp_path: Path) -> None:
    for name in ("train.jsonl", "test.jsonl"):
        write_jsonl(tmp_path / "set" / name)
    path = shutil.make_archive(str(tmp_path / "set"), "zip", tmp_path / "set")
    source = open_raw(path)
    assert {split: len(list(read(BadRows()))) for split, read in source.splits.items()} == {
        "train": 2,
        "test": 2,
    }


def test_a_glob_names_the_files(tmp_path: Path) -> None:
    for name in ("train-0.jsonl", "train-1.jsonl", "test.jsonl", "other.jsonl"):
        write_jsonl(tmp_path / "data" / name)
    source = open_raw(str(tmp_path / "data" / "t*.jsonl"))
    assert {split: len(list(read(BadRows()))) for split, read in source.splits.items()} == {
        "train": 4,
        "test": 2,
    }


def test_a_url_is_read_by_its_driver_and_recorded() -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://set/train.jsonl", "w") as file:
        file.write("".join(json.dumps(record) + "\n" for record in RECORDS))
    source = open_raw("memory://set")
    assert [record.values for record in source.splits["train"](BadRows())] == RECORDS
    assert source.provenance == {"files": ["memory:///set/train.jsonl"]}


def test_splits_are_found_by_file_and_folder_name(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "main" / "train-00001-of-00002.jsonl")
    write_jsonl(tmp_path / "main" / "train-00000-of-00002.jsonl")
    write_jsonl(tmp_path / "main" / "test.jsonl")
    write_jsonl(tmp_path / "test" / "algebra" / "1.jsonl")
    write_jsonl(tmp_path / "socratic" / "train.jsonl")
    write_jsonl(tmp_path / "train_socratic.jsonl")
    write_jsonl(tmp_path / ".cache" / "train.jsonl")
    write_jsonl(tmp_path / "example_model_solutions.jsonl")
    (tmp_path / "train.txt").write_text("not data")
    source = open_raw(tmp_path, SplitLayout(ignore=("socratic",)))
    assert list(source.splits) == ["train", "test"]
    assert source.unread == (
        "socratic/train.jsonl ('socratic' is another part of the set)",
        "train.txt (not one of .parquet, .arrow, .feather, .jsonl, .ndjson, .csv, .tsv, .json)",
        "train_socratic.jsonl ('socratic' is another part of the set)",
        "example_model_solutions.jsonl (the file name has no split)",
    )
    train = list(source.splits["train"](BadRows()))
    assert [record.index for record in train] == [0, 1, 2, 3]
    assert train[2].where == "main/train-00001-of-00002.jsonl row 0"
    names = [file["name"] for file in source.provenance["files"]]  # type: ignore[attr-defined]
    assert names == [
        "main/train-00000-of-00002.jsonl",
        "main/train-00001-of-00002.jsonl",
        "main/test.jsonl",
        "test/algebra/1.jsonl",
    ]


def test_a_folder_that_datasets_saved_is_read(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    table = pa.Table.from_pylist(RECORDS)
    with pa.ipc.new_stream(str(tmp_path / "train" / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table)
    for name in ("dataset_info.json", "state.json"):
        (tmp_path / "train" / name).write_text("{}")
    (tmp_path / "dataset_dict.json").write_text("{}")
    assert [record.values for record in read(tmp_path)] == RECORDS
    assert "train/state.json (describes data)" in open_raw(tmp_path).unread


def test_of_several_forms_the_preferred_one_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "full" / "train.jsonl")
    write_jsonl(tmp_path / "sanitized" / "train.jsonl")
    source = open_raw(tmp_path, SplitLayout(prefer=("full/",)))
    assert len(list(source.splits["train"](BadRows()))) == 2
    assert source.unread == ("sanitized/train.jsonl (another form of the dataset)",)


def test_a_file_whose_name_has_no_split_is_train(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "gsm8k.jsonl")
    assert list(open_raw(path).splits) == ["train"]


def test_one_object_in_a_json_file_is_one_record(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "1.json").write_text(json.dumps(RECORDS[0], indent=2))
    (tmp_path / "train" / "2.json").write_text(json.dumps(RECORDS[1]))
    found = read(tmp_path)
    assert [record.values for record in found] == RECORDS
    assert [record.index for record in found] == [0, 1]


GOOD_LINE = '{"question": "q", "answer": "a"}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.jsonl", b"", "train.jsonl has no rows"),
        ("train.jsonl", GOOD_LINE.encode() + b"{oops\n", "train.jsonl row 1: the row "),
        (
            "train.jsonl",
            b'{"a":' + b"[" * 100_000,
            "nested too deeply",
        ),
        ("train.json", b"[" * 100_000, "train.json is not JSON .*recursion"),
        ("train.json", b"[1]", "train.json must contain a JSON "),
        ("train.csv", b'question,answer\n"a,b\n', "train.csv, line 2: a quote "),
        (
            "train.csv",
            b"question,answer\na,b,c\n",
            "train.csv, line 2: the row has 3 ",
        ),
        ("train.jsonl.gz", gzip.compress(GOOD_LINE.encode(), mtime=0)[:-9], "train.jsonl.gz.*ended before"),
        ("train.parquet", b"", "train.parquet is not "),
    ],
)
def test_a_broken_file_is_one_clear_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path)
    assert "\n" not in str(caught.value)


@given(content=st.binary(max_size=200), name=st.sampled_from(["jsonl", "json", "csv", "parquet", "jsonl.gz"]))
def test_no_bytes_whatsoever_raise_anything_but_input_errors(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    path = tmp_path_factory.mktemp("raw") / f"train.{name}"
    path.write_bytes(content)
    try:
        assert all(isinstance(record.values, dict) for record in read(path))
    except InputError as error:
        assert "\n" not in str(error)


def test_bad_lines_can_be_skipped_and_are_counted(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "train.jsonl", GOOD_LINE + "{oops\n" + GOOD_LINE)
    bad = BadRows(skip=True)
    found = list(open_raw(path).splits["train"](bad))
    assert [record.index for record in found] == [0, 2]
    assert bad.dropped == 1
    assert bad.first[0].startswith("train.jsonl row 1: ")


def test_a_path_without_data_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file: .*nowhere"):
        open_raw(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no train or test file"):
        open_raw(tmp_path)
    (tmp_path / "train.xlsx").write_text("")
    with pytest.raises(InputError, match=r".parquet, .arrow"):
        open_raw(tmp_path / "train.xlsx")
    write_jsonl(tmp_path / "train.jsonl")
    write_csv(tmp_path / "train.csv")
    with pytest.raises(InputError, match=r"'train' .*: train.csv, train.jsonl"):
        open_raw(tmp_path)


def fake_hub(monkeypatch: pytest.MonkeyPatch, load: Callable[..., Any]) -> None:
    datasets = ModuleType("datasets")
    datasets.load_dataset = load  # type: ignore[attr-defined]
    hub = ModuleType("huggingface_hub")
    hub.HfApi = lambda: SimpleNamespace(
        dataset_info=lambda name, revision: SimpleNamespace(sha=f"sha-of-{name}")
    )  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", datasets)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)


def test_the_hub_is_read_at_the_revision_that_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def load(
        name: str, config: str, *, split: str, streaming: bool, revision: str
    ) -> Iterator[dict[str, str]]:
        calls.append((name, config, split, streaming, revision))
        return iter(RECORDS)

    fake_hub(monkeypatch, load)
    source = open_hub(Hub("org/set", "main", ("train", "test"), "main/*.parquet"))
    assert [record.values for record in source.splits["test"](BadRows())] == RECORDS
    assert calls[1] == ("org/set", "main", "test", True, "sha-of-org/set")
    assert source.provenance == {"hub": "org/set", "config": "main", "revision": "sha-of-org/set"}


def test_a_set_that_comes_as_a_script_is_read_in_the_parquet_form_of_the_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[object] = []

    def load(
        kind: str, *, data_files: dict[str, str], split: str, streaming: bool
    ) -> Iterator[dict[str, str]]:
        calls.append((kind, data_files, split, streaming))
        return iter(RECORDS)

    fake_hub(monkeypatch, load)
    source = open_hub(Hub("org/set", "all", ("train",), "train.jsonl", script=True), revision="abc")
    assert len(list(source.splits["train"](BadRows()))) == 2
    files = {"train": "hf://datasets/org/set@sha-of-org/set/all/train/*.parquet"}
    assert calls == [("parquet", files, "train", True)]


def test_a_validation_split_of_the_hub_takes_the_place_of_a_test_without_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_hub(monkeypatch, lambda *_, **__: iter(RECORDS))
    layout = SplitLayout({"train": "train", "validation": "validation"}, validation_is_test=True)
    source = open_hub(Hub("org/set", None, ("train", "validation"), "files"), layout)
    assert list(source.splits) == ["train", "test"]


def test_a_set_whose_files_do_not_load_says_which_to_fetch() -> None:
    remedy = r"download all its json files from https://huggingface.co/datasets/gorilla-llm/.* --raw"
    with pytest.raises(InputError, match=f"cannot fetch .*: {remedy}"):
        bfcl.prepare(Path("out"))


def test_without_the_hub_one_line_says_what_to_download(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> Any:
        raise ConnectionError("no route\nto host")

    def breaks_off(*_: object, **__: object) -> Iterator[dict[str, str]]:
        yield RECORDS[0]
        raise ConnectionError("reset")

    remedy = r"download main/\*.parquet from https://huggingface.co/datasets/org/set and pass .* --raw"
    fake_hub(monkeypatch, unreachable)
    with pytest.raises(InputError, match=rf"cannot fetch org/set \(ConnectionError\): {remedy}") as caught:
        open_hub(Hub("org/set", "main", ("train",), "main/*.parquet"))
    assert "\n" not in str(caught.value)
    fake_hub(monkeypatch, breaks_off)
    source = open_hub(Hub("org/set", "main", ("train",), "main/*.parquet"))
    with pytest.raises(InputError, match=rf"org/set train .*\(ConnectionError\): {remedy}"):
        list(source.splits["train"](BadRows()))
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependencyError, match=rf"datasets: .*rewardkit\[hub\]', or {remedy}"):
        open_hub(Hub("org/set", "main", ("train",), "main/*.parquet"))
