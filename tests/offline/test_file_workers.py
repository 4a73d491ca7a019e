"""Chunks of files in this process and in workers: the same bytes whoever scores them, however often one dies."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Scorer
from rewardkit.errors import InputError
from rewardkit.files import formats
from rewardkit.files.inputs import find_inputs
from rewardkit.offline import score, score_file
from rewardkit.registry import Registry, load_reward_file

TEXTS = (
    "so\n#### 72",
    "no idea",
    "#### 71\nsure",
    "<think>#### 1</think>#### 72",
    "Question: why?\n#### 72",
    "one #### 7 or #### 72",
    "```\n#### 72\n```",
    "\\boxed{72} – 72\n#### 72,000",
    "#### seventy",
)


def _row(i: int) -> dict[str, Any]:
    truth = {"ground_truth": "72" if i % 11 else "no number"}
    return {"data_source": "openai/gsm8k", "response": TEXTS[i % len(TEXTS)], "reward_model": truth, "row": i}


def _lines(n: int) -> list[bytes]:
    """Rows as files have them that people write: spaces, columns with our names, blank and broken lines."""
    found = [json.dumps(_row(i), ensure_ascii=i % 2 > 0).encode() for i in range(n)]
    found[3] = b"  " + found[3][:-1] + b"  } "
    found[5] = b"not JSON"
    found[7] = json.dumps({**_row(7), "score": 0.5, "detail": "theirs"}).encode()
    found[9] = b'{"response": "\xff"}'
    found[11] = b""
    found[13] = json.dumps({"response": "#### 72", "data_source": None}).encode()
    found[15] = b"{}"
    return found


def _jsonl(folder: Path) -> list[Path]:
    lines = _lines(60)
    one = json.dumps({**_row(4), "long": "x" * 5_000}).encode()
    contents = {
        "plain": b"\n".join(lines) + b"\n",
        "crlf": b"\r\n".join(lines) + b"\r\n",
        "no_end": b"\n".join(lines),
        "mark": b"\xef\xbb\xbf" + b"\n".join(lines),
        "blank": b"\n\n" + b"\n\n\n".join(lines) + b"\n\n\n",
        "long": b"\n".join([lines[0], one, lines[1], one]),
        "row": lines[0],
    }
    for name, content in contents.items():
        (folder / f"{name}.jsonl").write_bytes(content)
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(contents["plain"], mtime=0))
    (folder / "data_source=gsm8k").mkdir()
    (folder / "data_source=gsm8k" / "keyed.jsonl").write_bytes(contents["plain"])
    return sorted(folder.rglob("*.jsonl*"))


def _parquet(folder: Path) -> list[Path]:
    table = pa.Table.from_pylist([_row(i) for i in range(60)])
    pq.write_table(table, folder / "rows.parquet", row_group_size=25)
    pq.write_table(
        table, folder / "damaged.parquet", row_group_size=20, compression="none", use_dictionary=False
    )
    damaged = folder / "damaged.parquet"
    content = bytearray(damaged.read_bytes())
    group = pq.read_metadata(damaged).row_group(1).column(1)
    content[group.data_page_offset + 40] ^= 0xFF
    damaged.write_bytes(content)
    lists = [{**_row(i), "response": [TEXTS[j % len(TEXTS)] for j in range(i % 3 + 1)]} for i in range(40)]
    pq.write_table(pa.Table.from_pylist(lists), folder / "lists.parquet")
    return sorted(folder.glob("*.parquet"))


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "CHUNK_ROWS", 10)
    monkeypatch.setattr(formats, "_BLOCK_BYTES", 600)


@pytest.fixture(scope="module")
def scorers() -> Iterator[list[Scorer]]:
    """Scorers with one to three workers, which take longer to start than the tests' files to score."""
    with ExitStack() as stack:
        yield [stack.enter_context(Scorer(workers=n)) for n in (1, 2, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("make", [_jsonl, _parquet])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_whoever_scores_a_chunk_the_output_has_the_same_bytes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small_chunks: None,
    scorers: list[Scorer],
    make: Any,
    suffix: str,
) -> None:
    """By the scorer as for small files, by excerpts in this process, and by one to three workers."""
    for file in make(tmp_path):
        found = []
        for small_bytes, mostly, workers in (
            (1 << 30, 0.0, 1),
            (0, 0.0, 1),
            (0, 2.0, 1),
            (0, 2.0, 2),
            (0, 2.0, 3),
        ):
            monkeypatch.setattr(score, "SMALL_BYTES", small_bytes)
            monkeypatch.setattr(score, "MOSTLY", mostly)
            out = tmp_path / "out" / f"{len(found)}.{suffix}"
            out.parent.mkdir(exist_ok=True)
            report = score_file(file, out, scorer=scorers[workers - 1], force=True)
            assert not list(out.parent.glob(".*"))
            found.append((out.read_bytes(), report.bad_rows, json.dumps(report.as_dict())))
        for one in found[1:]:
            assert one == found[0], file


@pytest.mark.parametrize("mostly", [0.0, 2.0])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_run_resumes_after_any_chunk_to_the_same_bytes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small_chunks: None,
    scorers: list[Scorer],
    mostly: float,
    suffix: str,
) -> None:
    monkeypatch.setattr(score, "SMALL_BYTES", 0)
    monkeypatch.setattr(score, "MOSTLY", mostly)
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"\n".join(_lines(60)))
    scorer = scorers[0]
    whole = score_file(file, tmp_path / f"whole.{suffix}", scorer=scorer)
    stops: list[int] = []
    steps = tmp_path / f"steps.{suffix}"
    score_file(file, steps, scorer=scorer, on_progress=lambda done, total: stops.append(done))
    for stop in stops[1:]:
        out = tmp_path / f"out{stop}.{suffix}"

        def interrupt(done: int, total: int | None, stop: int = stop) -> None:
            if done == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            score_file(file, out, scorer=scorer, on_progress=interrupt)
        assert not out.exists()
        report = score_file(file, out, scorer=scorer, resume=True)
        assert out.read_bytes() == (tmp_path / f"whole.{suffix}").read_bytes()
        assert report.as_dict() == whole.as_dict() and report.bad_rows == whole.bad_rows


KILLS = """
import os, signal
from pathlib import Path
from rewardkit import Sample, reward

@reward("my/killer", runs="inline", replace_existing=True)
def killer(sample: Sample) -> float:
    if sample.response == "30" and len(os.listdir({folder!r})) < {times}:
        (Path({folder!r}) / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return float(sample.response)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_worker_that_is_killed_in_mid_chunk_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_chunks: None, registry: Registry, suffix: str
) -> None:
    monkeypatch.setattr(score, "SMALL_BYTES", 0)
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    (tmp_path / "mine.py").write_text(KILLS.format(folder=str(deaths), times=2))
    load_reward_file(str(tmp_path / "mine.py"))
    rows = [{"data_source": "my/killer", "response": str(i), "ground_truth": ""} for i in range(60)]
    file = tmp_path / f"in.{suffix}"
    if suffix == "jsonl":
        file.write_text("\n".join(map(json.dumps, rows)))
    else:
        pq.write_table(pa.Table.from_pylist(rows), file)
    with Scorer(workers=2) as scorer:
        score_file(file, tmp_path / "out.parquet", scorer=scorer)
        assert scorer.worker_counts.died == 2
    assert pq.read_table(tmp_path / "out.parquet")["score"].to_pylist() == list(map(float, range(60)))


def test_a_bad_row_that_a_worker_finds_is_an_error_before_anything_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_chunks: None, scorers: list[Scorer]
) -> None:
    monkeypatch.setattr(score, "SMALL_BYTES", 0)
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"\n".join(_lines(60)))
    for mostly in (0.0, 2.0):
        monkeypatch.setattr(score, "MOSTLY", mostly)
        with pytest.raises(InputError, match="row 5: "):
            score_file(file, tmp_path / "out.jsonl", scorer=scorers[0], bad_rows="fail")
        assert [one.name for one in tmp_path.iterdir()] == ["in.jsonl"]


def test_another_process_reads_the_lines_that_this_one_has_read(tmp_path: Path, small_chunks: None) -> None:
    for file in _jsonl(tmp_path):
        rows = formats.open_rows(find_inputs([file])[0])
        for records in rows.chunks():
            assert (records.place is None) == file.name.endswith(".gz")
            if records.place is not None:
                assert records.place.lines(records.count) == records.lines


EXCERPTS = """
from rewardkit import Sample, reward

def last(responses, options):
    {body}

@reward("my/last", runs="inline", excerpts=__name__ + ":last", replace_existing=True)
def lasts(sample: Sample) -> float:
    return float(sample.response[-1:] == sample.ground_truth)
"""


@pytest.mark.parametrize(
    "body",
    ["return [r[-1:] for r in responses]", "return responses[0][:1]", "return [7] * len(responses)", "1 / 0"],
)
def test_excerpts_change_no_score_not_even_broken_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_chunks: None, registry: Registry, body: str
) -> None:
    monkeypatch.setattr(score, "SMALL_BYTES", 0)
    (tmp_path / "mine.py").write_text(EXCERPTS.format(body=body))
    load_reward_file(str(tmp_path / "mine.py"))
    rows = [{"data_source": "my/last", "response": f"it is {i}", "ground_truth": "3"} for i in range(60)]
    file = tmp_path / "in.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    with Scorer(workers=1) as scorer:
        score_file(file, tmp_path / "out.parquet", scorer=scorer)
    found = pq.read_table(tmp_path / "out.parquet")["score"].to_pylist()
    assert found == [float(i % 10 == 3) for i in range(60)]
