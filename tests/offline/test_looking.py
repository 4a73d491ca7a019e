"""view, eval, compare, diff and gradient take every file that `score` takes, and fall over none."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.files.inputs import find_inputs
from tests.generation.endpoints import Server
from tests.logs import written as logs
from tests.logs.test_reader import write
from tests.logs.written import RIGHT, WRONG

Rows = list[dict[str, Any]]
Capture = pytest.CaptureFixture[str]


def plain(**more: Any) -> Rows:
    """Two prompts with two responses each, of which the first is right."""
    return [
        {"data_source": "gsm8k", "prompt": f"p{p}", "response": text, "ground_truth": "7", **more}
        for p in range(2)
        for text in (RIGHT, WRONG)
    ]


def scored() -> Rows:
    verdicts = {RIGHT: (1.0, True), WRONG: (0.1, False)}
    rows = plain(status="ok", parts={"format": 1.0}, scorer="gsm8k@1")
    for row in rows:
        row["score"], row["correct"] = verdicts[row["response"]]
    return rows


def shown(capsys: Capture, *words: Any) -> Rows:
    assert run(["view", *map(str, words), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def figures(capsys: Capture, *words: Any) -> dict[str, Any]:
    assert run(["eval", *map(str, words), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["data_sources"].values()
    return dict(found)


KINDS: list[tuple[str, Rows]] = [
    ("40.jsonl", logs.verl_dump()),
    ("samples_gsm8k.jsonl", logs.lm_eval()),
    ("completions.parquet", logs.trl_completions()),
    ("rollouts.jsonl", logs.nemo_gym()),
    ("results.jsonl", logs.verifiers()),
    ("plain.csv", plain()),
    ("plain.jsonl.zst", plain()),
]


@pytest.mark.parametrize(("name", "rows"), KINDS)
def test_every_kind_is_viewed_and_evaluated(tmp_path: Path, capsys: Capture, name: str, rows: Rows) -> None:
    path = write(tmp_path / name, rows)
    found = shown(capsys, path)
    assert [row["response"] for row in found] == [RIGHT, WRONG] * 2
    assert all(row["ground_truth"].endswith("7") for row in found)
    assert [row["row"] for row in found] == [0, 1, 2, 3]
    at = figures(capsys, path, "--data-source", "gsm8k")
    assert (at["prompts"], at["scored"], at["accuracy"]["mean"]) == (2, 4, 0.5)
    (out,) = find_inputs([tmp_path / "*.scored*"])  # without its receipt
    assert figures(capsys, Path(out.path), "--data-source", "gsm8k") == at, "what is scored is read again"


def test_a_log_s_own_scores_are_shown(tmp_path: Path, capsys: Capture) -> None:
    samples = [row | {"resps": [row["resps"][0][:1]], "exact_match": 1.0} for row in logs.lm_eval()[:2]]
    (one, _) = shown(capsys, write(tmp_path / "samples.jsonl", samples))
    assert (one["score"], one["correct"]) == (1.0, True)
    (first, *_) = shown(capsys, write(tmp_path / "repeats.jsonl", logs.lm_eval()))
    assert "score" not in first, "of two repeats a metric is of one"
    (first, *_) = shown(capsys, write(tmp_path / "results.jsonl", logs.verifiers()))
    assert first["score"] == 0.0
    row = {"eval": "gsm8k", "id": 1, "epoch": 1, "input": "3+4?", "target": "7"}
    row |= {"output": {"completion": RIGHT, "choices": [{"stop_reason": "max_tokens"}]}}
    row |= {"scores": {"match": {"value": "C"}}, "metadata": {}, "error": None}
    (one,) = shown(capsys, write(tmp_path / "inspect.jsonl", [row]))
    assert (one["score"], one["correct"], one["finish_reason"]) == (1.0, True, "length")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_scores_read_the_same_from_every_format_they_are_written_in(
    tmp_path: Path, capsys: Capture, suffix: str
) -> None:
    path = write(tmp_path / "in.jsonl", plain())
    out = tmp_path / f"out{suffix}"
    assert run(["score", str(path), "--out", str(out)]) == 0
    capsys.readouterr()
    found = shown(capsys, out)
    assert [(r["score"], r["correct"], r["parts"]) for r in found[:2]] == [
        (1.0, True, {"format": 1.0}),
        (0.1, False, {"format": 1.0}),
    ]


def test_folders_globs_urls_and_standard_input_are_looked_at(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("split=a/one.jsonl", "split=b/two.parquet"):
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        write(tmp_path / "in" / name, scored())
    for word in (tmp_path / "in", f"{tmp_path}/in/*/*", f"file://{tmp_path}/in/*/*"):
        assert [row["row"] for row in shown(capsys, word)] == list(range(8))
        assert figures(capsys, word)["responses"] == 8
    assert run(["compare", str(tmp_path / "in/split=a"), str(tmp_path / "in/split=b/two.parquet")]) == 0
    assert run(["gradient", str(tmp_path / "in")]) == 0
    capsys.readouterr()
    lines = "".join(json.dumps(row) + "\n" for row in plain()).encode()
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    for command in ("view", "eval"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
        assert run([command, "-", "--json"]) == 0
        assert '"gsm8k"' in capsys.readouterr().out
        assert list(temporary.iterdir()) == [], "nothing that a signal would leave"


# --- files that are not as they should be -----------------------------------------------------------------


def _not_utf8(path: Path) -> None:
    table = pa.Table.from_pylist(scored())
    for name in ("response", "prompt"):
        bad = pa.array([b"\xff\xfe", b"a", b"b", b"c"]).view(pa.string())
        table = table.set_column(table.column_names.index(name), name, bad)
    pq.write_table(table, path)


def _flipped(path: Path) -> None:
    layout = {
        "row_group_size": 4,
        "write_page_checksum": True,
        "compression": "none",
        "use_dictionary": False,
    }
    pq.write_table(pa.Table.from_pylist(scored() * 2), path, **layout)
    column = pq.ParquetFile(path).metadata.row_group(0).column(2)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 3] ^= 0xFF
    path.write_bytes(content)


def _two_columns_of_a_name(path: Path) -> None:
    table = pa.Table.from_pylist(scored())
    pq.write_table(table.append_column("prompt", table["response"]), path)


def _lines(*lines: bytes) -> Callable[[Path], None]:
    return lambda path: _bytes(b"\n".join(lines))(path)


def _bytes(content: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)

    return make


def _objects(*rows: dict[str, Any]) -> Callable[[Path], None]:
    return _lines(*(json.dumps(row).encode() for row in rows))


GOOD = json.dumps(scored()[0]).encode()
ODD = {
    "data_source": "gsm8k",
    "response": "x",
    "ground_truth": "7",
    "prompt": "p",
    "status": "ok",
    "scorer": "gsm8k@1",
}
BAD: dict[str, Callable[[Path], None]] = {
    "utf8.parquet": _not_utf8,
    "flipped.parquet": _flipped,
    "twice.parquet": _two_columns_of_a_name,
    "twice.csv": _bytes(b"response,response,ground_truth\na,b,c\n"),
    "ragged.csv": _bytes(b"response,ground_truth,score\na\nb,7,1,9,9\n\xff,7,0\n"),
    "empty.parquet": _bytes(b""),
    "empty.jsonl": _bytes(b""),
    "parquet.jsonl": _bytes(b"PAR1\x15\x04"),
    "text.jsonl.gz": _bytes(GOOD),
    "torn.jsonl.gz": _bytes(gzip.compress(GOOD * 1_000)[:40]),
    "text.eval": _bytes(b"x"),
    "number.json": _bytes(b"7"),
    "surrogate.jsonl": _lines(GOOD, GOOD.replace(b"3+4", b"\\ud800")),
    "kinds.jsonl": _lines(GOOD, b"[1]", b"null", b"7"),
    "nan.jsonl": _lines(GOOD, GOOD.replace(b"1.0", b"NaN")),
    "scores.jsonl": _objects(
        *(ODD | {"score": value} for value in ("1.0", "one", [1.0], {"a": 1}, True, None, 10**400)),
        *(ODD | {"score": 1.0, name: 7.5} for name in ("status", "parts", "extracted", "correct", "detail")),
        ODD | {"score": 1.0, "parts": {"a": "b", "c": None}, "response_tokens": "many", "extracted": [1]},
        ODD | {"score": 1.0, "finish_reason": ["length"], "extra_info": 7, "prompt": 7, "data_source": 7},
        ODD | {"score": 1.0, "response": None},
        ODD | {"score": 1.0, "response": 7, "ground_truth": {"a": [1]}},
    ),
    "lists.jsonl": _objects(
        ODD | {"response": ["a", "b"], "score": [1.0], "status": ["ok"], "parts": [None]},
        ODD | {"response": "alone", "score": 1.0},
        ODD | {"response": [], "score": [], "status": []},
    ),
    "requests.jsonl": _objects({"custom_id": "a", "method": "POST", "url": "/", "body": {}}),
    "likelihoods.jsonl": _objects(logs.lm_eval()[0] | {"resps": [[["-0.1", "False"]]]}),
    "dump.jsonl": _objects(
        *logs.verl_dump(), {"input": 1, "output": None, "gts": [], "score": "x", "step": None}
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_no_input_gives_a_traceback(tmp_path: Path, capsys: Capture, name: str, server: Server) -> None:
    path = tmp_path / name
    BAD[name](path)
    good = write(tmp_path / "good.jsonl", scored())
    for words in (
        ["view", path],
        ["view", path, "--json", "--limit", 0],
        ["view", path, "--row", 1],
        ["view", path, "--html", tmp_path / "page.html"],
        ["eval", path, "--data-source", "gsm8k"],
        ["compare", path, good, "--allow-missing"],
        ["diff", path, "--data-source", "gsm8k", "--second", "gsm8k:method=flexible"],
        ["diff", path, "--data-source", "gsm8k", "--pin", tmp_path / "pins.jsonl"],
        ["diff", "--check", path],
        ["gradient", path],
        [
            "generate",
            path,
            "--url",
            server.url,
            "--model",
            "m",
            "--retries",
            0,
            "--out",
            tmp_path / "g.parquet",
        ],
        ["score", path, "--data-source", "gsm8k", "--prefix", "n_", "--out", tmp_path / "s.parquet"],
        ["score", good, "--prefix", "n_", "--join", path, "--on", "prompt", "--out", tmp_path / "j.jsonl"],
    ):
        code = run([str(word) for word in words])
        told = capsys.readouterr()
        assert code in (0, 1, 2)
        assert code != 2 or (told.err.count("\n") <= 3 and told.err.strip()), told.err


def test_a_damaged_part_costs_its_own_rows_alone(tmp_path: Path, capsys: Capture) -> None:
    _flipped(tmp_path / "flipped.parquet")
    found = shown(capsys, tmp_path / "flipped.parquet", "--limit", 0)
    assert [row["status"] for row in found] == ["invalid"] * 4 + ["ok"] * 4
    assert "row group 0 is damaged" in found[0]["detail"]
    assert figures(capsys, tmp_path / "flipped.parquet", "--data-source", "gsm8k")["scored"] == 4


def test_what_scoring_was_told_need_not_be_said_again(tmp_path: Path, capsys: Capture) -> None:
    rows = [{"data_source": "gsm8k", "my_out": text, "ground_truth": "7"} for text in (RIGHT, WRONG)]
    path = write(tmp_path / "log.jsonl", rows)
    for out, prefix in (("a.jsonl", ""), ("b.parquet", ""), ("c.jsonl", "new_"), ("d.parquet", "new_")):
        words = ["score", str(path), "--response-key", "my_out", "--out", str(tmp_path / out)]
        assert run([*words, *(["--prefix", prefix] if prefix else [])]) == 0
        capsys.readouterr()
        found = shown(capsys, tmp_path / out)
        assert [(row["response"], row["score"]) for row in found] == [(RIGHT, 1.0), (WRONG, 0.1)]
        assert run(["compare", str(tmp_path / "a.jsonl"), str(tmp_path / out), "--json"]) == 0
        (source,) = json.loads(capsys.readouterr().out)["sources"].values()
        assert source["score"]["mean"] == 0.0


def test_the_response_that_was_named_is_the_response_of_the_scored_file(
    tmp_path: Path, capsys: Capture
) -> None:
    rows = [{"data_source": "gsm8k", "out": RIGHT, "other": "x", "ground_truth": "7"}]
    path = write(tmp_path / "log.jsonl", rows)
    out = tmp_path / "scored.jsonl"
    assert run(["score", str(path), "--response-key", "out", "--out", str(out)]) == 0
    capsys.readouterr()
    assert [row["response"] for row in shown(capsys, out)] == [RIGHT]


def test_skyrls_evaluations_are_scored_beside_their_own_scores(tmp_path: Path, capsys: Capture) -> None:
    truth = {"reward_spec": {"method": "rule", "ground_truth": "7"}}
    rows = [
        {
            "input_prompt": "p",
            "output_response": text,
            "score": score,
            "stop_reason": "stop",
            "env_class": "gsm8k",
            "env_extras": truth,
            "data_source": "gsm8k",
        }
        for text, score in ((RIGHT, [0.0, 1.0]), (WRONG, 0.0))
    ]
    path = write(tmp_path / "gsm8k.jsonl", rows)
    assert [row["score"] for row in shown(capsys, path)] == [1.0, 0.0]
    out = tmp_path / "scored.jsonl"
    assert run(["score", str(path), "--out", str(out)]) == 0
    capsys.readouterr()
    assert [row["score"] for row in shown(capsys, out)] == [1.0, 0.1]
