"""Search: the right documents, over a file or a service; a broken index is one clear line."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.agents.tools.declare import kind_of
from rewardkit.agents.tools.search import Search, open_index
from rewardkit.agents.types import Observation
from rewardkit.errors import ConfigError, InputError, OptionsError
from tests.generation.endpoints import Answer, Endpoint

if find_spec("bm25s") is None:
    pytest.skip("needs bm25s", allow_module_level=True)

ROWS = [
    {"title": "Ulm", "text": "Ulm has the tallest church of the world."},
    {"title": "Bern", "text": "Bern is the capital of Switzerland."},
    {"title": "Rhein", "text": "The Rhein begins in Switzerland."},
    {"title": None, "text": None},
]


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "documents.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    yield path
    open_index.cache_clear()


def _ask(arguments: dict[str, Any], **config: Any) -> Observation:
    async def use() -> Observation:
        one = kind_of(Search, config).open()
        await one.create()
        return await one.execute(arguments)

    return asyncio.run(use())


def test_the_documents_that_fit_come_first_and_none_that_shares_no_word(documents: Path) -> None:
    found = _ask({"query_list": ["capital of Switzerland", "church", "zzz"]}, path=str(documents), top_k=2)
    switzerland, church, nothing = found.text.split("\n---\n")
    assert switzerland.startswith("Doc 1 (Title: Bern) Bern is the capital")
    assert "Doc 2 (Title: Rhein)" in switzerland
    assert church == "Doc 1 (Title: Ulm) Ulm has the tallest church of the world."
    assert nothing == "No documents found."


def test_a_plain_query_is_a_list_of_one_and_titles_count(documents: Path) -> None:
    assert "tallest" in _ask({"query_list": "Ulm"}, path=str(documents)).text


def test_jsonl_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps({"id": 1, "contents": row["text"] or ""}) + "\n" for row in ROWS))
    assert "Doc 1 Bern" in _ask({"query_list": ["capital"]}, path=str(path)).text


@pytest.mark.parametrize("queries", [[], ["  "], ["a"] * 9, ["a" * 1_001], [["a"]], None])
def test_hostile_queries_are_bad_calls(documents: Path, queries: Any) -> None:
    assert _ask({"query_list": queries}, path=str(documents)).status == "bad_call"


def test_an_index_is_kept_and_read_again(documents: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "index"
    config = {"path": str(documents), "index": str(kept)}
    first = _ask({"query_list": ["capital"]}, **config)
    times = {path: path.stat().st_mtime_ns for path in kept.iterdir()}
    open_index.cache_clear()
    assert _ask({"query_list": ["capital"]}, **config) == first
    assert times == {path: path.stat().st_mtime_ns for path in kept.iterdir()}


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("data.csc.index.npy", "cut"),
        ("vocab.index.json", "gone"),
        ("corpus.json", "garbage"),
        ("params.index.json", "cut"),
    ],
)
def test_a_broken_index_is_one_clear_line(documents: Path, tmp_path: Path, name: str, damage: str) -> None:
    kept = tmp_path / "index"
    config = {"path": str(documents), "index": str(kept)}
    kind_of(Search, config)
    open_index.cache_clear()
    file = kept / name
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:10] if damage == "cut" else b"\x00garbage")
    with pytest.raises(InputError, match=r"index.*delete the folder") as caught:
        kind_of(Search, config)
    assert "\n" not in str(caught.value)


def test_an_index_of_another_file_is_refused(documents: Path, tmp_path: Path) -> None:
    config = {"path": str(documents), "index": str(tmp_path / "index")}
    kind_of(Search, config)
    open_index.cache_clear()
    pq.write_table(pa.Table.from_pylist(ROWS[:2]), documents)
    with pytest.raises(InputError, match="was built from"):
        kind_of(Search, config)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("d.jsonl", b'{"text": "a"}\n{', "line 2"),
        ("d.jsonl", b'{"words": "a"}', "columns: words"),
        ("d.jsonl", b"", "no column"),
        ("d.parquet", b"PAR1 not", "cannot read"),
        ("d.csv", b"text", ".jsonl"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_line(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=why) as caught:
        kind_of(Search, {"path": str(tmp_path / name)})
    assert "\n" not in str(caught.value)


def test_what_a_configuration_lacks_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        kind_of(Search, {"path": str(tmp_path / "none.jsonl")})
    for config in ({}, {"path": "a", "url": "b"}, {"path": "a", "top_k": 0}):
        with pytest.raises(ConfigError):
            kind_of(Search, config)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"url": "localhost:8000"}, "search: 'localhost:8000' "),
        (
            {"url": "http://a:1", "timeout_s": float("nan")},
            "found nan",
        ),
        (
            {"url": "http://a:1", "timeout_s": -1},
            "found -1",
        ),
    ],
)
def test_a_service_that_could_never_answer_is_refused(config: dict[str, Any], why: str) -> None:
    with pytest.raises((ConfigError, OptionsError), match=why):
        kind_of(Search, config)


def test_a_retrieval_service_is_asked_as_verls_tool_asks_it_and_again_when_it_is_busy() -> None:
    asked: list[dict[str, Any]] = []

    class Retriever(Endpoint):
        def answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
            asked.append(body)
            one = {"document": {"contents": f'"Title"\n{body["queries"][0]}!'}, "score": 0.5}
            return (503, {}, {}) if len(asked) == 1 else (200, {"result": [[one]]}, {})

    with closing(Retriever()) as server:
        found = _ask({"query_list": ["who"]}, url=f"{server.url}/retrieve", top_k=4)
    assert found.text == "Doc 1 (Title: Title) who!"
    assert asked == [{"queries": ["who"], "topk": 4, "return_scores": True}] * 2


def test_an_answer_in_another_form_is_shown_with_the_expected_form() -> None:
    class Other(Endpoint):
        def answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
            return 200, {"results": []}, {}

    with closing(Other()) as server, pytest.raises(RuntimeError) as raised:
        asyncio.run(Search(url=f"{server.url}/retrieve").execute(["who"]))
    assert f"{server.url}/retrieve" in str(raised.value)
    assert 'expected {"result": [[{"document": {"contents": ...}}]]}' in str(raised.value)


def test_a_process_that_searches_can_still_start_vllm(documents: Path) -> None:
    program = (
        "import sys\n"
        "from rewardkit.agents.tools.search import open_index\n"
        f"open_index({str(documents)!r}, None, None)\n"
        "print('llvmlite' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False"], done.stderr
