"""Index from prompts to rows, for trainers that send neither a data source nor a ground truth.

The index stores the rows in Arrow format. It also stores an eight-byte hash and a row number for each prompt.
Chat text is parsed by `chat`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import compress
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rewardkit.errors import InputError, MissingDependencyError, did_you_mean, reason_of
from rewardkit.model_folders import why_no_model
from rewardkit.rows import ground_truth_text, plain_mapping
from rewardkit.server.chat import ChatTurn, plain, prompt_turns, turns
from rewardkit.server.known import Ambiguous, KnownRow, PromptValue
from rewardkit.special_tokens import strip_end
from rewardkit.tables import column_of, names_in

_BATCH_ROWS = 2_000
_SHOWN = 3


class GroundTruthIndex:
    """Index of the rows in parquet files, by prompt.

    A prompt is identified by the text of its turns. Special tokens, role markers and white space are ignored.
    The index therefore finds a prompt as plain text and in any common chat template, even if the template
    adds or drops a system prompt. The index needs memory for the rows without their prompts, plus about 30
    bytes per row.

    Args:
        paths: Parquet files with the columns `prompt` and `data_source`, and with a ground truth column that
            `rewardkit.rows` recognises.
        tokenizer: Folder or hub id of a tokenizer. If set, prompts are also indexed as the tokenizer's chat
            template renders them. Only uncommon templates need this. Requires transformers.

    Raises:
        InputError: A file cannot be read, or lacks one of the columns.
    """

    def __init__(self, paths: Sequence[Path], *, tokenizer: str | None = None) -> None:
        render = _renderer(tokenizer) if tokenizer else None
        whole, without_system = _Pairs(), _Pairs()
        hashes = array("Q")
        self._batches: list[pa.RecordBatch] = []
        self._starts: list[int] = []
        self._files: list[tuple[int, str]] = []
        for path in paths:
            self._files.append((len(hashes), path.name))
            for batch in _read(path, render, whole, without_system, hashes):
                self._starts.append(len(hashes) - len(batch))
                self._batches.append(batch)
        self._whole = _Keys(whole, hashes)
        self._without_system = _Keys(without_system, hashes)
        self._most_replies = whole.most_replies
        self.rows = len(hashes)

    @property
    def ambiguous(self) -> list[Ambiguous]:
        """Two rows for each prompt that has rows with different data sources or ground truths."""
        return list(self._whole.ambiguous.values())

    @property
    def data_sources(self) -> set[str]:
        """Data sources of all rows."""
        return {
            str(source) for batch in self._batches for source in batch["data_source"].unique().to_pylist()
        }

    def report(self) -> str:
        """Return a line with the number of indexed rows, and the first ambiguous prompts."""
        line = f"rows indexed by prompt: {self.rows:,}"
        clashes = self.ambiguous
        if not clashes:
            return line
        shown = ", ".join(f"{self._place(c.row)} and {self._place(c.other)}" for c in clashes[:_SHOWN])
        return (
            f"{line}; prompts with more than one ground truth, answered as invalid: {len(clashes):,} "
            f"({shown}{', ...' if len(clashes) > _SHOWN else ''})"
        )

    def lookup(self, prompt: PromptValue) -> KnownRow | Ambiguous | None:
        """Return the row for a prompt, two conflicting rows, or None if the prompt is not in the index."""
        for bare in (False, True):
            reading = prompt_turns(prompt, bare=bare)
            if reading and (found := self._find(_key(reading), _key(_no_system(reading)))) is not None:
                return found
        return None

    def split(self, text: str) -> tuple[KnownRow | Ambiguous, str, str] | None:
        """Find the indexed prompt with which a text begins.

        If several indexed prompts match, the longest one is used. A response gains nothing by imitating
        turns, because each lookup uses the whole text before an assistant turn, including the true prompt.

        Returns:
            The row for the prompt or two conflicting rows, the prompt, and the response. None if no prompt
            matches.
        """
        for bare in (False, True):
            reading = turns(text, bare=bare)
            replies = [i for i, turn in enumerate(reading) if turn.role == "assistant" and i]
            replies = replies[: self._most_replies + 1]  # No indexed prompt has more assistant turns.
            before = reading[: replies[-1]] if replies else []
            wholes = list(_keys_after(before))
            lesser = list(_keys_after(before, system=False))
            for i in reversed(replies):
                found = self._find(wholes[i - 1], lesser[i - 1])
                if found is not None:
                    start = reading[i].start
                    return found, text[:start], strip_end(text[start:])
        return None

    def _find(self, whole: int, without_system: int) -> KnownRow | Ambiguous | None:
        """Find a prompt by the hashes of its turns with and without the system prompt.

        The lookup first tries rows with the same system prompt, then rows without a system prompt, and
        finally rows with a system prompt that differs from the text's or that the text lacks.
        """
        tries = (
            (self._whole, whole),
            (self._whole, without_system),
            (self._without_system, without_system),
        )
        for keys, key in tries:
            found = keys.find(key)
            if found is not None:
                return found if isinstance(found, Ambiguous) else self._row(found)
        return None

    def _row(self, row: int) -> KnownRow:
        batch = bisect_right(self._starts, row) - 1
        record = self._batches[batch].slice(row - self._starts[batch], 1).to_pylist()[0]
        return KnownRow(
            record["data_source"], record["ground_truth"], plain_mapping(record.get("extra_info"))
        )

    def _place(self, row: int) -> str:
        start, name = max(file for file in self._files if file[0] <= row)
        return f"{name} row {row - start}"


class _Pairs:
    """Keys and their row numbers, in row order."""

    def __init__(self) -> None:
        self.keys = array("Q")
        self.rows = array("q")
        self.most_replies = 0
        """Maximum number of assistant turns in any prompt."""

    def add(self, reading: Sequence[ChatTurn], row: int) -> None:
        self.keys.append(_key(reading))
        self.rows.append(row)
        self.most_replies = max(self.most_replies, sum(turn.role == "assistant" for turn in reading))


class _Keys:
    """Sorted keys with their rows, and the keys that have conflicting rows."""

    def __init__(self, pairs: _Pairs, hashes: array[int]) -> None:
        table = pa.table({"key": _arrow(pairs.keys, pa.uint64()), "row": _arrow(pairs.rows, pa.int64())})
        table = table.sort_by([("key", "ascending"), ("row", "ascending")]).combine_chunks()
        keys, rows = (table.column(i).combine_chunks() for i in range(2))
        self.ambiguous: dict[int, Ambiguous] = {}
        self.__setstate__((keys, rows, self.ambiguous))
        repeated = pc.equal(keys[1:], keys[:-1]).to_pylist() if len(keys) else []
        for i in compress(range(len(repeated)), repeated):
            row, other = self._rows[i], self._rows[i + 1]
            if hashes[row] != hashes[other]:
                self.ambiguous.setdefault(self._keys[i], Ambiguous(row, other))

    def __getstate__(self) -> tuple[pa.Array, pa.Array, dict[int, Ambiguous]]:
        return self._arrays[0], self._arrays[1], self.ambiguous

    def __setstate__(self, state: tuple[pa.Array, pa.Array, dict[int, Ambiguous]]) -> None:
        keys, rows, self.ambiguous = state
        self._arrays = keys, rows
        self._keys = _view(keys, "Q")  # Views of an array cannot be sent to another process.
        self._rows = _view(rows, "q")

    def find(self, key: int) -> int | Ambiguous | None:
        """Return the first row with this key, two conflicting rows, or None if the key does not exist."""
        i = bisect_left(self._keys, key)
        if i == len(self._keys) or self._keys[i] != key:
            return None
        return self.ambiguous.get(key, self._rows[i])


def _read(
    path: Path,
    render: Callable[[list[dict[str, Any]]], str] | None,
    whole: _Pairs,
    without_system: _Pairs,
    hashes: array[int],
) -> Iterator[pa.RecordBatch]:
    """Add the prompts of a file to the keys, and yield its rows without the prompts."""
    file, names, kept_in = _open(path)
    with file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=[*names, kept_in]):
            sources = [str(source or "") for source in batch.column("data_source").to_pylist()]
            ground_truths = [
                ground_truth_text(value) or "" for value in column_of(batch, kept_in).to_pylist()
            ]
            for prompt, source, ground_truth in zip(
                batch.column("prompt").to_pylist(), sources, ground_truths, strict=True
            ):
                row = len(hashes)
                hashes.append(_hash(f"{source}\0{ground_truth}"))
                for reading in _readings(prompt, render):
                    whole.add(reading, row)
                    lesser = _no_system(reading)
                    if len(lesser) < len(reading) and any(plain(turn.content) for turn in lesser):
                        without_system.add(lesser, row)
            columns = {
                "data_source": pa.array(sources),
                "ground_truth": pa.array(ground_truths, pa.large_string()),
            }
            if "extra_info" in names:
                columns["extra_info"] = batch.column("extra_info")
            yield pa.record_batch(columns)


def check_files(paths: Sequence[Path]) -> None:
    """Check that `GroundTruthIndex` can index these files, without reading their rows.

    Raises:
        InputError: A file cannot be read, or lacks a column.
    """
    for path in paths:
        _open(path)[0].close()


def _open(path: Path) -> tuple[pq.ParquetFile, list[str], str]:
    """Open a parquet file. Return the opened file and the names of its columns (see `_columns`)."""
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is not a readable parquet file: {reason_of(error)}") from None
    return file, *_columns(path, file.schema_arrow)


def _columns(path: Path, schema: pa.Schema) -> tuple[list[str], str]:
    """Return the names of the columns to read besides the prompt, and the name of the ground truth column."""
    for name in ("prompt", "data_source"):
        if name not in schema.names:
            raise InputError(f"{path} has no column '{name}'{did_you_mean(name, schema.names)}")
    names = [name for name in ("prompt", "data_source", "extra_info") if name in schema.names]
    ground_truth = names_in(schema).ground_truth
    if ground_truth is None:
        raise InputError(
            f"{path} has no ground truth column; expected a column such as 'ground_truth' or "
            "'reward_model.ground_truth'"
        )
    return names, ground_truth


def _readings(
    prompt: PromptValue | None, render: Callable[[list[dict[str, Any]]], str] | None
) -> Iterator[list[ChatTurn]]:
    """Yield the turns of a row's prompt, and the turns as rendered by the chat template, if they differ."""
    reading = prompt_turns(prompt or "")
    if not any(plain(turn.content) for turn in reading):
        return
    yield reading
    if render is not None and prompt is not None and not isinstance(prompt, str):
        rendered = prompt_turns(render([dict(message) for message in prompt]))
        if _key(rendered) != _key(reading):
            yield rendered


def _renderer(tokenizer: str) -> Callable[[list[dict[str, Any]]], str]:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingDependencyError(
            f"--gold-tokenizer needs transformers ({error}): pip install transformers"
        ) from None
    if reason := why_no_model(tokenizer, tokenizer_only=True):
        raise InputError(f"cannot load a tokenizer from '{tokenizer}': {reason}")
    try:
        template = AutoTokenizer.from_pretrained(tokenizer)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot load a tokenizer from '{tokenizer}': {reason}") from None
    if template.chat_template is None:
        raise InputError(f"the tokenizer '{tokenizer}' has no chat template; leave --gold-tokenizer out")

    def render(messages: list[dict[str, Any]]) -> str:
        return str(template.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    return render


def _no_system(reading: Sequence[ChatTurn]) -> list[ChatTurn]:
    return [turn for turn in reading if turn.role != "system"]


def _key(reading: Sequence[ChatTurn]) -> int:
    return list(_keys_after(reading))[-1] if reading else 0


def _keys_after(reading: Sequence[ChatTurn], *, system: bool = True) -> Iterator[int]:
    """Yield, for each turn, the key of all turns up to this turn.

    If `system` is False, ignore system turns.
    """
    hashed = blake2b(digest_size=8)
    for turn in reading:
        if (system or turn.role != "system") and (text := plain(turn.content)):
            hashed.update(text.encode("utf-8", "surrogatepass") + b" ")
        yield int.from_bytes(hashed.digest(), "little")


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _arrow(values: array[int], kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _view(values: pa.Array, code: Literal["q", "Q"]) -> memoryview[int]:
    """Return the numbers of an array without nulls, without copying them."""
    buffer = values.buffers()[1]
    view = memoryview(buffer if buffer is not None else b"").cast("B")
    numbers: memoryview[int] = view.cast(code)
    return numbers[values.offset : values.offset + len(values)]
