"""Any file of responses, of any kind that is known, is read as the samples that it holds, with their rows."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Sample
from rewardkit.errors import InputError
from rewardkit.offline import ReadOptions, SampleBatch, read_join, read_samples
from rewardkit.rows import RowNames
from tests.logs import written as logs
from tests.logs.written import RIGHT, WRONG

Rows = list[dict[str, Any]]
GSM8K = ReadOptions(data_source="gsm8k")


def write(path: Path, rows: Rows) -> Path:
    """Write rows in the format that the name says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".arrow", ".feather"):
        table = pa.Table.from_pylist(rows)
        kind = pa.ipc.new_file if path.suffix == ".feather" else pa.ipc.new_stream
        with kind(str(path), table.schema) as sink:
            sink.write_table(table, max_chunksize=100)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
        if path.suffix == ".zst":
            with pa.CompressedOutputStream(str(path), "zstd") as file:
                file.write(lines.encode())
    return path


def read(path: Path | str, options: ReadOptions = GSM8K) -> SampleBatch:
    (batch,) = read_samples([path], options)
    return batch


def responses(batch: SampleBatch) -> list[str]:
    return [sample.response for i, sample in enumerate(batch.samples) if i not in batch.bad]


PLAIN: Rows = [{"data_source": "gsm8k", "response": text, "ground_truth": "7"} for text in (RIGHT, WRONG)]


@pytest.mark.parametrize(
    "suffix", [".parquet", ".arrow", ".feather", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".csv", ".json"]
)
def test_every_format_gives_the_same_samples(tmp_path: Path, suffix: str) -> None:
    batch = read(write(tmp_path / f"rows{suffix}", PLAIN), ReadOptions())
    assert batch.samples == [Sample("gsm8k", RIGHT, "7"), Sample("gsm8k", WRONG, "7")]
    assert (batch.rows, batch.bad) == ([0, 1], {})


@pytest.mark.parametrize(
    ("rows", "numbers", "groups"),
    [
        (logs.verl_dump(), [0, 1, 2, 3], [None] * 4),
        (logs.lm_eval(), [0, 0, 1, 1], ["0", "0", "1", "1"]),
        (logs.nemo_gym(), [0, 1, 2, 3], ["0", "0", "1", "1"]),
        (logs.verifiers(), [0, 1, 2, 3], ["0", "0", "1", "1"]),
    ],
    ids=["verl", "lm-eval", "nemo-gym", "verifiers"],
)
def test_a_known_kind_is_recognised_by_its_columns(
    tmp_path: Path, rows: Rows, numbers: list[int], groups: list[str | None]
) -> None:
    batch = read(write(tmp_path / "log.jsonl", rows))
    assert responses(batch) == [RIGHT, WRONG] * 2
    assert {sample.ground_truth.rpartition(" ")[2] for sample in batch.samples} == {"7"}
    assert all(sample.prompt for sample in batch.samples)
    assert (batch.rows, [sample.group for sample in batch.samples]) == (numbers, groups)


@pytest.mark.parametrize("chat", [False, True])
def test_completions_of_trl_are_texts_or_conversations(tmp_path: Path, chat: bool) -> None:
    batch = read(write(tmp_path / "completions_00003.parquet", logs.trl_completions(chat)))
    assert responses(batch) == [RIGHT, WRONG] * 2
    assert len({str(sample.prompt) for sample in batch.samples}) == 2


def test_a_batch_output_is_joined_with_its_ground_truths(tmp_path: Path) -> None:
    log = write(tmp_path / "out.jsonl", logs.batch_output())
    with pytest.raises(InputError, match=r"batch output\) .*--join"):
        read(log)
    answers = [{"id": f"q{i}", "data_source": "gsm8k", "answer": 7.0} for i in (0, 2)]
    joined = read_join([write(tmp_path / "answers.parquet", answers)], "custom_id=id")
    batch = read(log, ReadOptions(join=joined))
    assert responses(batch) == [RIGHT, WRONG]
    assert batch.samples[0].ground_truth == "7"
    assert batch.bad == {
        2: "the joined file has no row with custom_id 'q1'",
        3: "the request failed: 400 too long",
    }


def test_a_batch_s_answer_without_a_body_is_read_or_named_by_what_it_holds(tmp_path: Path) -> None:
    said = {"choices": [{"index": 0, "message": {"role": "assistant", "content": RIGHT}}]}
    answers: list[dict[str, Any]] = [said, {"weird": RIGHT}]
    batch = read(
        write(tmp_path / "out.jsonl", [{"custom_id": "a", "response": a, "answer": "7"} for a in answers])
    )
    assert responses(batch) == [RIGHT]
    assert "the keys weird" in batch.bad[1]


def test_a_join_that_says_two_things_is_refused(tmp_path: Path) -> None:
    rows = [{"id": "a", "answer": "1"}, {"id": "a", "answer": "2"}]
    with pytest.raises(InputError, match="id 'a'"):
        read_join([write(tmp_path / "answers.jsonl", rows)], "id")
    with pytest.raises(InputError, match="no column 'key'"):
        read_join([tmp_path / "answers.jsonl"], "key")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"custom_id": "a", "method": "POST", "url": "/v1", "body": {}}, "batch requests"),
        (logs.lm_eval()[0] | {"resps": [[["-0.1", "False"]]]}, "log-likelihoods"),
        ({"data_source": "gsm8k", "ground_truth": "7"}, "no column 'response'"),
    ],
)
def test_a_file_without_what_is_needed_is_refused_in_words(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "log.jsonl", [row]))


def test_a_file_that_does_not_say_its_data_source_needs_the_option(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [row | {"gts": "nine"} for row in logs.verl_dump()])
    with pytest.raises(InputError, match="pass --data-source"):
        read(path, ReadOptions())


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (RIGHT, [RIGHT]),
        ([RIGHT, WRONG], [RIGHT, WRONG]),
        ([{"role": "assistant", "content": RIGHT}], [RIGHT]),
        (
            [[{"role": "assistant", "content": RIGHT}], [{"role": "assistant", "content": WRONG}]],
            [RIGHT, WRONG],
        ),
    ],
)
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_responses_are_texts_or_conversations_one_or_several(
    tmp_path: Path, value: Any, wanted: list[str], suffix: str
) -> None:
    path = write(tmp_path / f"rows{suffix}", [PLAIN[0] | {"response": value}])
    assert responses(read(path)) == wanted


def test_columns_of_other_names_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [{"said": RIGHT, "meta": {"right": 7}, "from": "gsm8k"}])
    names = RowNames(response="said", ground_truth="meta.right", data_source="from")
    assert read(path, ReadOptions(names)).samples == [Sample("gsm8k", RIGHT, "7")]
    with pytest.raises(InputError, match=r"'sayd'.*did you mean said"):
        read(path, ReadOptions(RowNames(response="sayd"), "gsm8k"))


CELLS = [["7", RIGHT], ["8", WRONG]]
TABLES: dict[str, Any] = {
    "wandb.table.json": {"columns": ["ground_truth", "response"], "data": CELLS},
    "split.json": {"columns": ["ground_truth", "response"], "index": [0, 1], "data": CELLS},
    "columns.json": {"ground_truth": {"0": "7", "1": "8"}, "response": {"0": RIGHT, "1": WRONG}},
    "lists.json": {"ground_truth": ["7", "8"], "response": [RIGHT, WRONG]},
    "rows.json": {
        "0": {"ground_truth": "7", "response": RIGHT},
        "1": {"ground_truth": "8", "response": WRONG},
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_json_gives_its_rows_whichever_way_it_lies(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(TABLES[name]))
    assert read(path).samples == [Sample("gsm8k", RIGHT, "7"), Sample("gsm8k", WRONG, "8")]


@pytest.mark.parametrize(("sign", "suffix"), [(",", ".csv"), (";", ".csv.zst"), ("\t", ".tsv")])
def test_cells_are_told_apart_by_what_the_header_has_between_them(
    tmp_path: Path, sign: str, suffix: str
) -> None:
    text = sign.join(["ground_truth", "response"]) + "\n" + sign.join(["7", '"So, it is;\n#### 7"']) + "\n"
    path = tmp_path / f"rows{suffix}"
    if suffix.endswith(".zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(text.encode())
    else:
        path.write_text(text)
    assert read(path).samples == [Sample("gsm8k", "So, it is;\n#### 7", "7")]


@pytest.mark.parametrize("suffix", [".feather", ".arrow"])
def test_a_damaged_arrow_file_is_refused_in_words(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"rows{suffix}", PLAIN * 500)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=path.name):
        list(read_samples([path], GSM8K))


def test_a_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    assert len(read(write(tmp_path / "ROWS.JSONL", PLAIN)).samples) == 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (json.dumps(PLAIN, indent=1).encode(), "line 1: the row "),
        (json.dumps(PLAIN).encode(), "line 1: expected a JSON object"),
    ],
)
def test_a_file_of_no_lines_of_objects_says_what_its_first_is(
    tmp_path: Path, content: bytes, why: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=why):
        read(path)


def test_lines_that_cannot_be_read_lose_only_themselves(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    good = json.dumps(PLAIN[0]).encode()
    nan = good.replace(b"}", b', "score": NaN}')
    bad = [b'{"response": "cut', b"[1]", b'{"response": "\xff"}', b"[" * 100_000]
    path.write_bytes(b"\n".join([b"\xef\xbb\xbf" + good, b"", nan, *bad, good.replace(b"so", b"\\ud800")]))
    batch = read(path)
    assert responses(batch) == [RIGHT] * 3
    assert [batch.rows[i] for i in batch.bad] == [3, 4, 5, 6]
    reasons = list(batch.bad.values())
    assert [reason.partition(":")[0] for reason in reasons[:3]] == [
        "the row is not JSON",
        "expected a JSON object, found list",
        "the row is not UTF-8",
    ]


def test_a_cell_that_is_not_utf_8_loses_only_its_row(tmp_path: Path) -> None:
    column = pa.array([b"#### 7", b"\xff", b"#### 8"]).cast(pa.binary()).view(pa.string())
    table = pa.table({"data_source": ["gsm8k"] * 3, "response": column, "ground_truth": ["7"] * 3})
    pq.write_table(table, tmp_path / "rows.parquet")
    batch = read(tmp_path / "rows.parquet")
    assert list(batch.bad) == [1] and batch.bad[1].startswith(
        "'response' is not UTF-8: byte 0 is 0xff; convert"
    )
    assert responses(batch) == ["#### 7", "#### 8"]
    (tmp_path / "rows.csv").write_bytes(b"response,ground_truth\n#### 7,7\n\xff,7\n#### 8,7\n")
    batch = read(tmp_path / "rows.csv")
    assert list(batch.bad) == [1] and batch.bad[1].startswith("the row is not UTF-8")
    assert responses(batch) == ["#### 7", "#### 8"]


def test_folders_globs_and_partitions_stand_for_their_files(tmp_path: Path) -> None:
    for name in (
        "data_source=gsm8k/b.jsonl",
        "data_source=gsm8k/a.jsonl",
        "data_source=math/c.jsonl",
        "_SUCCESS/x.jsonl",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        write(path, [{"response": name, "ground_truth": "7"}])
    found = [sample for batch in read_samples([tmp_path]) for sample in batch.samples]
    assert [(s.data_source, s.response[-7:]) for s in found] == [
        ("gsm8k", "a.jsonl"),
        ("gsm8k", "b.jsonl"),
        ("math", "c.jsonl"),
    ]
    assert len(list(read_samples([f"{tmp_path}/*/[ab].jsonl"]))) == 2
    with pytest.raises(InputError, match="no such file"):
        list(read_samples([tmp_path / "*.parquet"]))


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a"])] * 3, names=["response", "ground_truth", "response"])
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="two columns named 'response'"):
        read(tmp_path / "rows.parquet")


def test_a_file_far_away_is_read_through_fsspec(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/far/rows.jsonl", json.dumps(PLAIN[0]).encode())
    pq.write_table(pa.Table.from_pylist(PLAIN), tmp_path / "rows.parquet")
    memory.pipe("/far/rows.parquet", (tmp_path / "rows.parquet").read_bytes())
    assert responses(read("memory://far/rows.jsonl")) == [RIGHT]
    assert responses(read("memory://far/rows.parquet")) == [RIGHT, WRONG]
    with pytest.raises(InputError, match=r"cannot read memory:.*none"):
        read("memory://far/none.jsonl")
