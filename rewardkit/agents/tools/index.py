"""BM25 index over a file of documents, built with bm25s (extra `search`). `search.py` defines the tool.

A saved index is a folder with bm25s's files and `corpus.json`, which describes the indexed file. The index
keeps the documents in memory as Arrow columns.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError, MissingDependencyError, reason_of
from rewardkit.json_objects import NOT_JSON

TEXT_FIELDS = ("contents", "text", "content", "passage")
_TITLE_FIELDS = ("title", "name")
_CORPUS = "corpus.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Document:
    """One search result."""

    title: str
    text: str


class Index:
    """Searchable index over a file of documents.

    Args:
        path: File of documents in JSONL or Parquet format.
        folder: Folder from which the index is loaded, or in which it is saved if the folder does not exist.
            If None, the index is built in memory only.
        text_field: Column that contains the text. If None, the first column in `TEXT_FIELDS` that exists is
            used.

    Raises:
        InputError: A file cannot be read, or the index in the folder is corrupt or belongs to another file.
        MissingDependencyError: bm25s is not installed.
    """

    def __init__(self, path: Path, folder: Path | None = None, text_field: str | None = None) -> None:
        self._bm25 = _library()
        self._titles, self._texts = _read(path, text_field)
        if not len(self._texts):
            raise InputError(f"{path} has no documents")
        said = {"format": _FORMAT, "file": path.name, "bytes": path.stat().st_size, "rows": len(self._texts)}
        if folder is not None and folder.exists():
            self._index = self._load(folder, said)
            return
        self._index = self._make()
        if folder is not None:
            self._keep(folder, said)

    def __len__(self) -> int:
        return len(self._texts)

    def search(self, queries: Sequence[str], top_k: int) -> list[list[Document]]:
        """Return up to `top_k` documents for each query, best first.

        A document that shares no word with the query is not returned.
        """
        tokens = self._bm25.tokenize(list(queries), return_ids=False, show_progress=False)
        return [self._best(one, top_k) for one in tokens]

    def _best(self, tokens: list[str], top_k: int) -> list[Document]:
        known = [token for token in tokens if token in self._index.vocab_dict]
        if not known:
            return []
        found = self._index.retrieve([known], k=min(top_k, len(self)), show_progress=False)
        pairs = zip(found.scores[0].tolist(), found.documents[0].tolist(), strict=True)
        ranked = sorted(
            ((score, place) for score, place in pairs if score > 0), key=lambda one: (-one[0], one[1])
        )
        return [Document(self._title(place), self._texts[place].as_py() or "") for _, place in ranked]

    def _title(self, place: int) -> str:
        return "" if self._titles is None else str(self._titles[place].as_py() or "")

    def _make(self) -> Any:
        index = self._bm25.BM25()
        texts = self._texts.to_pylist()
        if self._titles is not None:
            texts = [
                f"{title or ''} {text or ''}"
                for title, text in zip(self._titles.to_pylist(), texts, strict=True)
            ]
        index.index(
            self._bm25.tokenize([text or "" for text in texts], show_progress=False), show_progress=False
        )
        return index

    def _keep(self, folder: Path, said: dict[str, Any]) -> None:
        """Save the index under a temporary name and rename it, so that the folder is never incomplete."""
        beside = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._index.save(str(beside), show_progress=False)
            (beside / _CORPUS).write_bytes(msgspec.json.encode(said))
            beside.rename(folder)
        except OSError as error:
            shutil.rmtree(beside, ignore_errors=True)
            if not folder.exists():  # otherwise another process has saved the index first
                raise InputError(f"cannot save the index in {folder}: {error.strerror or error}") from error

    def _load(self, folder: Path, said: dict[str, Any]) -> Any:
        remedy = "delete the folder to build the index again"
        try:
            found = msgspec.json.decode((folder / _CORPUS).read_bytes())
        except (OSError, *NOT_JSON) as error:
            raise InputError(f"{folder} is not a document index ({error}); {remedy}") from None
        if found != said:
            raise InputError(f"the index {folder} was built from {found}, not from {said}; {remedy}")
        try:
            index = self._bm25.BM25.load(str(folder), mmap=True, show_progress=False)
            rows = int(index.scores["num_docs"])
            index.retrieve([[next(iter(index.vocab_dict))]], k=1, show_progress=False)
        except Exception as error:  # numpy and json raise various exceptions for corrupt files
            what = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            raise InputError(f"the index {folder} is broken ({what}); {remedy}") from None
        if rows != len(self):
            raise InputError(
                f"the index {folder} has {rows} documents, but the file has {len(self)}; {remedy}"
            )
        return index


def _library() -> Any:
    try:
        with _without_numba():
            return importlib.import_module("bm25s")
    except ImportError:
        raise MissingDependencyError(
            "the tool 'search' with `path` needs bm25s: pip install 'rewardkit[search]'"
        ) from None


@contextmanager
def _without_numba() -> Iterator[None]:
    """Prevent the import of numba within the block, so that bm25s uses only numpy.

    vLLM (0.32) cannot start in a process that has imported numba's compiler: vLLM reads every attribute of
    every imported module, and this fails for an attribute of llvmlite.
    """
    if "numba" in sys.modules:
        yield
        return
    sys.modules["numba"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["numba"]


def _read(path: Path, text_field: str | None) -> tuple[Any, Any]:
    """Return the column of titles, or None if the file has no titles, and the column of texts."""
    if path.suffix not in (".parquet", ".jsonl"):
        raise InputError(f"cannot read documents from {path}; expected a .jsonl or .parquet file")
    try:
        table = pq.read_table(path) if path.suffix == ".parquet" else _jsonl(path)
    except FileNotFoundError:
        raise InputError(f"the document file {path} does not exist") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot read the document file {path}: {reason_of(error)[:200]}") from None
    names = table.column_names
    wanted = (text_field,) if text_field else TEXT_FIELDS
    text = next((name for name in wanted if name in names), None)
    if text is None:
        raise InputError(
            f"{path} has no column {' or '.join(wanted)}; set text_field to one of its columns: "
            f"{', '.join(names)}"
        )
    title = next((name for name in _TITLE_FIELDS if name in names), None)
    return (_texts(table, title, path) if title else None), _texts(table, text, path)


def _texts(table: pa.Table, name: str, path: Path) -> Any:
    column = table.column(name).combine_chunks()
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InputError(f"column '{name}' of {path} has the type {column.type}; expected strings")
    return column


def _jsonl(path: Path) -> pa.Table:
    rows = list(_json_rows(path))
    columns = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else ())}
    texts = {
        name: values
        for name, values in columns.items()
        if all(value is None or isinstance(value, str) for value in values)
    }
    return pa.table(texts)


def _json_rows(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = msgspec.json.decode(line)
            except NOT_JSON as error:
                raise InputError(f"{path}, line {number}: not valid JSON: {error}") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}, line {number}: expected a JSON object with a document's fields")
            yield row
