"""Creates rows in several processes, and applies the steps between creating and writing rows.

`in_processes` preserves the order of the rows and limits memory. The steps `short_enough`, `in_random_order`,
`first` and `parted` accept and return streams of batches. Steps that need all rows at once store them in a
temporary file.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import itertools
import multiprocessing
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from rewardkit import pickling
from rewardkit.datasets_prep.common.schema import BATCH_CHARS, BATCH_ROWS
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import Record
from rewardkit.errors import InputError, MissingDependencyError
from rewardkit.model_folders import why_no_model

Batches = Iterable[pa.RecordBatch]


@dataclass(slots=True)
class Notes:
    """Counts of the rows that the steps left out, for messages to the user."""

    too_long: dict[str, int] = field(default_factory=dict)
    """Number of rows left out because of long prompts, by split."""

    def lines(self, settings: PrepSettings) -> list[str]:
        """Return one message for each split from which rows were left out."""
        limit = settings.max_prompt_tokens
        return [
            f"{split}: skipped rows: {n:,} (prompts of more than {limit} tokens)"
            for split, n in self.too_long.items()
            if n
        ]


@dataclass(slots=True)
class AskedAgain:
    """Counter of repeated prompts across all splits. The counter stores eight bytes per row."""

    _seen: array[int] = field(default_factory=lambda: array("q"))

    def counted(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the batches unchanged, and record a hash of the last message and images of each prompt."""
        for batch in batches:
            names = batch.schema.names
            # Rows without a data source, which are for SFT or reward models, repeat prompts by design.
            if {"data_source", "prompt"} <= {*names} and pa.types.is_list(batch.schema.field("prompt").type):
                prompts = batch.column("prompt")
                last = pc.subtract(prompts.offsets.slice(1), 1)
                asked = prompts.values.field("content").take(last).to_pylist()
                images = batch.column("images").to_pylist() if "images" in names else itertools.repeat(None)
                texts = (" ".join(text.split()) for text in asked)
                self._seen.extend(
                    hash((text, str(image))) for text, image in zip(texts, images, strict=False)
                )
            yield batch

    def lines(self) -> list[str]:
        """Return a list with a message about repeated prompts, or an empty list if no prompt is repeated."""
        again = len(self._seen) - len(set(self._seen))
        return (
            [f"rows with the question of an earlier row: {again:,}; --dedup drops such rows"] if again else []
        )


def apply(
    splits: Mapping[str, Batches], settings: PrepSettings, notes: Notes, scratch: Path
) -> Iterator[tuple[str, Batches]]:
    """Apply the requested steps to each split and yield the resulting splits.

    The steps drop long prompts, shuffle the rows, limit their number and move some of them to `val`. A split
    must be consumed before the next split is requested, because all splits share the folder `scratch`.

    Args:
        splits: Batches by split.
        settings: Settings for the run.
        notes: Counts of rows left out, which are updated.
        scratch: Existing folder for temporary files.
    """
    count = token_counter(settings.tokenizer) if settings.tokenizer else None
    for split, batches in splits.items():
        if count is not None and settings.max_prompt_tokens is not None:
            batches = short_enough(batches, count, settings.max_prompt_tokens, split, notes)
        if settings.shuffle:
            batches = in_random_order(batches, settings.seed, scratch / f"{Path(split).name}.arrow")
        if settings.limit is not None:
            batches = first(batches, settings.limit)
        *folders, name = split.split("/")
        if settings.val_size is not None and name == "train":
            parts = parted(batches, settings.val_size, settings.seed, scratch / "parted.arrow")
            yield from (("/".join([*folders, part]), rows) for part, rows in parts)
        else:
            yield split, batches


def first(batches: Batches, limit: int) -> Iterator[pa.RecordBatch]:
    """Yield the first `limit` rows without reading any more batches than needed."""
    left = limit
    for batch in batches:
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return


def in_random_order(batches: Batches, seed: int, path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows in a random order that the seed determines, using `path` as a temporary file."""
    with _kept(batches, path) as table:
        if table is not None:
            yield from _taken(table, _order(table.num_rows, seed))


def parted(batches: Batches, size: float, seed: int, path: Path) -> Iterator[tuple[str, Batches]]:
    """Divide a split into `val`, with randomly chosen rows, and `train`, with the rest.

    The rows remain in their original order.

    Args:
        batches: Batches of the split.
        size: Number of rows in `val` or, if it is below 1, their fraction of all rows.
        seed: Random seed for the choice of rows.
        path: Path of a temporary file.

    Raises:
        InputError: `train` or `val` would be empty.
    """
    with _kept(batches, path) as table:
        rows = table.num_rows if table is not None else 0
        wanted = int(size) if size >= 1 else round(size * rows)
        if not 0 < wanted < rows:
            raise InputError(
                f"val_size {size:g} puts {wanted:,} of {rows:,} rows into the split val; each split must "
                "have at least one row"
            )
        order = _order(rows, seed)
        for split, chosen in (("val", order[:wanted]), ("train", order[wanted:])):
            in_order = chosen.take(pc.array_sort_indices(chosen))
            yield split, _in_split(_taken(table, in_order), split)


def short_enough(
    batches: Batches, count: Callable[[list[Any]], list[int]], most: int, split: str, notes: Notes
) -> Iterator[pa.RecordBatch]:
    """Yield the rows whose prompts have at most `most` tokens, and count all other rows in `notes`."""
    for batch in batches:
        if "prompt" not in batch.schema.names:
            raise InputError("max_prompt_tokens needs a column 'prompt', which these rows do not have")
        lengths = count(batch.column("prompt").to_pylist())
        kept = batch.filter(pa.array([n <= most for n in lengths]))
        notes.too_long[split] = notes.too_long.get(split, 0) + batch.num_rows - kept.num_rows
        if kept.num_rows:
            yield kept


def token_counter(folder: Path) -> Callable[[list[Any]], list[int]]:
    """Return a function that counts the tokens in prompts, after applying the chat template to chats.

    Raises:
        InputError: The tokenizer cannot be loaded from the folder.
        MissingDependencyError: The package transformers is not installed.
    """
    try:
        transformers = importlib.import_module("transformers")
    except ImportError:
        raise MissingDependencyError(
            "counting tokens needs the package transformers: pip install 'rewardkit[model]'"
        ) from None
    if reason := why_no_model(str(folder), tokenizer_only=True):
        raise InputError(f"cannot load a tokenizer from {folder}: {reason}")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    except Exception as error:  # A loader may raise any exception.
        raise InputError(
            f"cannot load a tokenizer from {folder}: {str(error).partition(chr(10))[0]}"
        ) from None

    def text(prompt: Any) -> str:
        if isinstance(prompt, str):
            return prompt
        if not tokenizer.chat_template:
            return "\n".join(message["content"] for message in prompt)
        return str(tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True))

    def count(prompts: list[Any]) -> list[int]:
        encoded = tokenizer([text(prompt) for prompt in prompts], add_special_tokens=False)
        return [len(ids) for ids in encoded["input_ids"]]

    return count


@contextlib.contextmanager
def _kept(batches: Batches, path: Path) -> Iterator[pa.Table | None]:
    """Write all rows to a temporary file and yield a memory-mapped table, or None if there are no rows."""
    stream = iter(batches)
    head = next(stream, None)
    if head is None:
        yield None
        return
    try:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, head.schema) as writer:
            writer.write_batch(head)
            for batch in stream:
                writer.write_batch(batch)
        with pa.memory_map(str(path)) as source:
            yield pa.ipc.open_file(source).read_all()
    finally:
        path.unlink(missing_ok=True)


def _order(rows: int, seed: int) -> pa.Array:
    """Return a permutation of the row indices that depends only on the number of rows and the seed."""
    return pc.array_sort_indices(pc.random(rows, initializer=seed))


def _taken(table: pa.Table, order: pa.Array) -> Iterator[pa.RecordBatch]:
    step = min(BATCH_ROWS, max(1, BATCH_CHARS * table.num_rows // max(1, table.nbytes)))
    for start in range(0, len(order), step):
        taken = table.take(order.slice(start, step)).combine_chunks()
        yield from taken.to_batches()


def _in_split(batches: Batches, split: str) -> Iterator[pa.RecordBatch]:
    """Set `extra_info.split` to the name of the split in all rows."""
    for batch in batches:
        place = batch.schema.get_field_index("extra_info")
        if place < 0:
            yield batch
            continue
        info = batch.column(place)
        names = [info.type.field(i).name for i in range(info.type.num_fields)]
        arrays = [pa.repeat(split, len(info)) if n == "split" else info.field(n) for n in names]
        changed = pa.StructArray.from_arrays(arrays, fields=list(info.type))
        yield batch.set_column(place, batch.schema.field(place), changed)


T = TypeVar("T")

_CHUNK = 64
_AHEAD = 4
"""Maximum number of chunks in flight per process."""


def in_processes(make: Callable[[Record], T], records: Iterable[Record], processes: int) -> Iterator[T]:
    """Apply a function to each record in several processes, and yield the results in order.

    With `processes=1`, the function runs in the current process.

    Raises:
        Exception: Any exception that the function raises.
    """
    if processes == 1:
        yield from map(make, records)
        return
    source = iter(records)
    context = multiprocessing.get_context("spawn")  # pyarrow's threads do not survive a fork.
    packed = pickling.dumps(make)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(packed,)) as pool:
        waiting: collections.deque[Future[list[T]]] = collections.deque()
        while chunk := list(itertools.islice(source, _CHUNK)):
            waiting.append(pool.submit(_run, chunk))
            if len(waiting) >= _AHEAD * processes:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


_made: list[Callable[[Record], Any]] = []
"""List whose only item, in a worker process, is the function to apply."""


def _start(packed: bytes) -> None:
    _made.append(pickling.loads(packed))


def _run(chunk: list[Record]) -> list[Any]:
    return [_made[0](record) for record in chunk]
