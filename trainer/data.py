"""Reads prompt files, tokenises the prompts and orders them for training.

A process keeps the data as columns and builds rows on demand, since 100,000 rows as Python objects would take
half a gigabyte per process.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, overload

import pyarrow as pa
import pyarrow.compute as pc
import torch

from rewardkit.checks.training import AGENT_NAME, refuse_media, training_names, training_row
from rewardkit.errors import InputError, RewardkitError, reason_of
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.files.records import BadRowError, Records, parse_all
from rewardkit.messages import prompt_text
from rewardkit.pictures import (
    Picture,
    PictureError,
    has_media,
    has_parts,
    pictures_in,
    with_digests,
    with_pictures,
)
from rewardkit.rows import (
    AUDIT,
    FLAGS,
    MEDIA,
    RowNames,
    flags_of,
    ground_truth_text,
    plain_mapping,
    prompt_of,
    value_at,
)
from rewardkit.tables import column_of, top_level, type_of
from rewardkit.text import writable
from rewardkit.trainer.batch import PromptRow
from rewardkit.trainer.config.root import DataConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.vision import PictureBook
from rewardkit.types import Message

ALONE = World(0, 1, torch.device("cpu"))
PIECE = 256
"""Number of rows that are converted to Python objects at a time."""
TOKEN_IDS = pa.list_(pa.int32())


def pictures_of(book: PictureBook | None, rows: Sequence[PromptRow]) -> list[list[Picture]]:
    """Return the pictures of each row, as rollout engines expect them."""
    return [[] if book is None else [book[i] for i in row.pictures] for row in rows]


def file_list(files: Any) -> list[Path]:
    """Return `data.train_files` or `data.val_files` (a path, a list of paths or None) as a list."""
    if files is None:
        return []
    return [Path(str(f)).expanduser() for f in (files if isinstance(files, (list, tuple)) else [files])]


class ShownPrompt(NamedTuple):
    """Prompt with pictures."""

    messages: bytes
    """Messages as JSON, with a part of type `image` for each picture."""
    pictures: tuple[int, ...]
    """Numbers of the pictures in the run's `PictureBook`."""


@dataclass(frozen=True)
class PromptFile:
    """Columns of a prompt file that training needs: data source, prompt, ground truth, extra info, agent."""

    path: Path
    table: pa.Table
    names: RowNames
    shown: Sequence[ShownPrompt | None] = ()
    """Prompts with pictures by row, or empty if no row has any."""
    with_media: bool = True
    """False if pictures and other media are ignored."""

    def row(self, i: int) -> dict[str, Any]:
        """Check and return row `i`."""
        return next(self.rows(i, i + 1))

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield rows as keyword arguments of `PromptRow`.

        Raises:
            InputError: A row lacks a value.
        """
        stop = len(self.table) if stop is None else stop
        for first in range(start, stop, PIECE):
            piece = self.table.slice(first, min(PIECE, stop - first)).to_pylist()
            for i, row in enumerate(piece, first):
                where = f"{self.path}, row {i}"
                shown = self.shown[i] if self.shown else None
                if not self.with_media and has_parts(prompt := prompt_of(row[str(self.names.prompt)])):
                    row[str(self.names.prompt)] = prompt_text(prompt) or "-"
                if shown is None:
                    yield training_row(row, where, self.names)
                else:
                    found = training_row(row | {str(self.names.prompt): "-"}, where, self.names)
                    yield found | {"prompt": json.loads(shown.messages), "pictures": shown.pictures}


def open_prompts(
    path: Path, prompt_key: str, book: PictureBook | None = None, *, with_media: bool = True
) -> PromptFile:
    """Read the columns that training needs from a prompt file.

    Args:
        book: Book to which the pictures in the file are added, or None if there must be none.
        with_media: False to ignore columns of images, videos and audio.

    Raises:
        InputError: The file is missing, cannot be read, is empty, lacks a column, or contains images.
    """
    if not path.is_file():
        raise InputError(f"the prompt file {path} does not exist; create it with `rewardkit prep`")
    (source,) = find_inputs([path])
    file = open_rows(source)
    try:
        names = training_names(file, prompt_key)
        shown: list[ShownPrompt | None] = []
        media = MEDIA if with_media else ()
        tables = [_table(records, names, path, media, book, shown) for records in file.chunks()]
        if not any(map(len, tables)):
            raise InputError(f"{path} has no rows")
        table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"cannot read {path}: {reason_of(error)}") from None
    finally:
        file.close()
    return PromptFile(path, table, names, shown if any(shown) else (), with_media)


def shown_messages(
    row: Mapping[str, Any], prompt: Any, where: str, folder: Path, book: PictureBook | None
) -> list[Message] | None:
    """Return a row's prompt as messages with pictures, or None if it is only text.

    Args:
        folder: Folder of the file that contains the row.
        book: Book to which the pictures are added, or None if the model reads only text.

    Raises:
        InputError: The model reads only text and the row has pictures, or a picture cannot be used.
    """
    if book is None:
        refuse_media(row, where)
    elif prompt is not None and has_media(row, prompt):
        try:
            messages: list[Message] = with_pictures(row, prompt, folder)
        except PictureError as error:
            raise InputError(f"{where}: {error}") from None
        book.add_all(messages)
        return messages
    return None


def _shown(
    row: Mapping[str, Any], prompt: Any, path: Path, i: int, book: PictureBook | None
) -> ShownPrompt | None:
    messages = shown_messages(row, prompt, f"{path}, row {i}", path.parent, book)
    if book is None or messages is None or not (pictures := pictures_in(messages)):
        return None
    return ShownPrompt(json.dumps(with_digests(messages)).encode(), book.add(pictures))


def _table(
    records: Records,
    names: RowNames,
    path: Path,
    media: Sequence[str],
    book: PictureBook | None,
    shown: list[ShownPrompt | None],
) -> pa.Table:
    """Return the columns that training needs. In line-based files, all columns except the prompt are text.

    Args:
        media: Columns of images and other media.
        book: Book to which the pictures are added, or None if there must be none.
        shown: List to which the prompts with pictures are added.
    """
    if records.damaged is not None:
        raise InputError(f"{path}, row {records.first_row}: {records.damaged}")
    wanted = (names.data_source, names.prompt, names.ground_truth, names.extra_info, AGENT_NAME)
    read = [name for name in wanted if name is not None]
    if (table := records.table) is not None:
        there = table.schema.names
        beside = table.select([name for name in media if name in there])
        prompts = None if book is None else column_of(table, str(names.prompt))
        for i in range(len(table) if beside.num_columns or prompts is not None else 0):
            row = beside.slice(i, 1).to_pylist()[0] if beside.num_columns else {}
            prompt = None if prompts is None else prompts[i].as_py()
            shown.append(_shown(row, prompt, path, records.first_row + i, book))
        held = dict.fromkeys(top_level(name, table.schema) for name in read)
        return table.select([name for name in held if name in there])
    columns: dict[str, list[Any]] = {name: [] for name in read}
    for i, row in enumerate(parse_all(records.lines), records.first_row):
        if isinstance(row, BadRowError):
            raise InputError(f"{path}, row {i}: {row}")
        if row is None:
            continue
        shown.append(_shown(row if media else {}, value_at(row, names.prompt), path, i, book))
        for name, values in columns.items():
            values.append(value_at(row, name) if name == names.prompt else _as_text(value_at(row, name)))
    try:
        return pa.table(
            {
                name: pa.array(values, None if name == names.prompt else pa.string())
                for name, values in columns.items()
            }
        )
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"{path}: the prompts have different types in different rows ({reason_of(error)}); expected "
            "text in all rows, or messages with role and content in all rows"
        ) from None


def _as_text(value: Any) -> str | None:
    text = ground_truth_text(value)
    return None if text is None else writable(text)


def read_rows(path: Path, prompt_key: str, *, with_media: bool = True) -> list[dict[str, Any]]:
    """Return all rows in a file. With `with_media=False`, prompts with pictures are reduced to their texts.

    Raises:
        InputError: The file cannot be used (see `open_prompts`), or a row lacks a value.
    """
    return list(open_prompts(path, prompt_key, with_media=with_media).rows())


def agent_names(path: Path, prompt_key: str) -> set[str | None]:
    """Return the agent names in a file. None stands for rows without an agent name."""
    table = open_prompts(path, prompt_key, with_media=False).table
    return set(table[AGENT_NAME].unique().to_pylist()) if AGENT_NAME in table.column_names else {None}


class PromptRows(Sequence[PromptRow]):
    """The prompts from several files, as one sequence."""

    def __init__(
        self, files: Sequence[PromptFile], token_ids: pa.Array, digests: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Create the sequence of prompts in these files.

        Args:
            files: Prompt files, in order.
            token_ids: Token ids (int32 lists) of the prompts in the first rows of all files together. Null
                marks a row that is left out.
            digests: See `PromptRows.digests`.
        """
        self.digests = digests
        """Path of each file, and a digest of its rows in their order."""
        self._files = files
        self._ends = list(accumulate(len(file.table) for file in files))
        self._ids = token_ids
        self._kept: list[int] = pc.indices_nonzero(token_ids.is_valid()).to_pylist()

    @overload
    def __getitem__(self, place: int) -> PromptRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[PromptRow]: ...
    def __getitem__(self, place: int | slice) -> PromptRow | list[PromptRow]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        i = self._kept[place]
        file, row = _place(self._ends, i)
        return PromptRow(token_ids=self._ids[i].as_py(), **self._files[file].row(row))

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def with_pictures(self) -> bool:
        """True if a prompt has pictures."""
        return any(file.shown for file in self._files)

    @property
    def largest_id(self) -> int:
        """Largest token id in any prompt, or 0 if there are no tokens."""
        return pc.max(self._ids.flatten()).as_py() or 0

    @property
    def data_sources(self) -> set[str]:
        """Data sources of all prompts that are not left out."""
        sources = set()
        for file, start in zip(self._files, [0, *self._ends], strict=False):
            kept = self._ids.slice(start, len(file.table)).is_valid()
            column = column_of(file.table, str(file.names.data_source)).slice(0, len(kept))
            sources |= set(map(str, column.filter(kept).unique().to_pylist()))
        return sources


def _place(ends: Sequence[int], i: int) -> tuple[int, int]:
    """Return the index of the file that contains row `i` of all files, and the row's index in that file.

    Args:
        ends: Cumulative number of rows at the end of each file.
    """
    file = bisect_right(ends, i)
    return file, i - (ends[file - 1] if file else 0)


def load_rows(
    files: Any,
    tokenizer: Any,
    config: DataConfig,
    max_samples: int = -1,
    *,
    say: Callable[[str], None] = lambda line: None,
    leave_out: Sequence[str] = (),
    tokenise: Callable[[dict[str, Any]], list[int]] | None = None,
    world: World = ALONE,
    book: PictureBook | None = None,
) -> PromptRows:
    """Read and tokenise the first `max_samples` prompts in the files, or all prompts if it is -1.

    Depending on the config, overlong prompts are skipped (and reported to `say`), truncated or refused.

    Args:
        leave_out: Flags of rows to leave out (`data.leave_out`).
        tokenise: Function that returns the token ids of a row's prompt. It is needed if prompts contain more
            than messages, such as tools. Prompts are then never truncated.
        world: Processes that divide the rows among themselves, since checking and tokenising rows is slow.
        book: Book to which the prompts' pictures are added, or None if the model reads only text.
    """
    if tokenise is not None:
        config = replace(config, truncation="error")
    ids_of = tokenise or (lambda raw: _tokenise(tokenizer, raw, config, book))
    opened = [open_prompts(path, config.prompt_key, book) for path in file_list(files)]
    _check_flags(leave_out, opened)
    spans = _spans(opened, max_samples, world.size)
    number = sum(stop - start for _, start, stop in spans)

    def piece(k: int) -> tuple[pa.Array, bytes, int]:
        file, start, stop = spans[k]
        ids, marks = [], []
        flagged = 0
        for i, raw in enumerate(file.rows(start, stop), start):
            at = f"{file.path}, row {i}"
            left_out = bool(leave_out) and not set(leave_out).isdisjoint(flags_of(raw["extra_info"]))
            flagged += left_out
            uncut = replace(config, truncation="error") if raw.get("pictures") else config
            ids.append(None if left_out else _fit(_templated(ids_of, raw, at), uncut, at))
            raw.pop("pictures", None)  # other rows of the run determine their numbers
            marks.append(hashlib.blake2b(repr(raw).encode("utf-8", "surrogatepass"), digest_size=16).digest())
        return pa.array(ids, TOKEN_IDS), b"".join(marks), flagged

    pieces = world.spread(piece, len(spans))
    marks = {id(file): hashlib.sha256() for file in opened}
    for (file, _, _), (_, of_rows, _) in zip(spans, pieces, strict=True):
        marks[id(file)].update(of_rows)
    rows = PromptRows(
        opened,
        pa.concat_arrays([pa.array([], TOKEN_IDS), *(ids for ids, _, _ in pieces)]),
        [(str(file.path), marks[id(file)].hexdigest()) for file in opened],
    )
    names = ", ".join(str(path) for path in file_list(files))
    flagged = sum(count for _, _, count in pieces)
    if flagged:
        say(f"{names}: skipped {flagged} of {number} prompts, which an audit flagged (data.leave_out)")
    if len(rows) + flagged < number:
        say(
            f"{names}: skipped {number - len(rows) - flagged} of {number} prompts, which are longer than "
            f"data.max_prompt_length={config.max_prompt_length} (data.filter_overlong_prompts)"
        )
    return rows


def _check_flags(leave_out: Sequence[str], files: Sequence[PromptFile]) -> None:
    """Check that `data.leave_out` names flags, and that an audit has written flags to the files.

    Raises:
        InputError: A flag is unknown, or no file has flags.
    """
    if unknown := set(leave_out) - set(FLAGS):
        raise InputError(f"data.leave_out names {min(unknown)!r}; the flags are {', '.join(FLAGS)}")
    if leave_out and not any(_has_flags(file) for file in files):
        raise InputError(
            "data.leave_out has no effect, because no file in data.train_files has flags; write them with "
            "`rewardkit audit FILE --flag OUT.parquet`, and train on OUT.parquet"
        )


def _has_flags(file: PromptFile) -> bool:
    name = file.names.extra_info
    found = None if name is None else type_of(file.table.schema, name)
    if found is None or pa.types.is_struct(found):
        return type_of(file.table.schema, f"{name}.{AUDIT}") is not None
    return any(AUDIT in plain_mapping(value) for value in file.table[name].to_pylist())


def _spans(files: Sequence[PromptFile], most: int, processes: int) -> list[tuple[PromptFile, int, int]]:
    """Divide the first `most` rows (-1: all) into pieces, with at least one per process if possible."""
    total = sum(len(file.table) for file in files)
    left = total if most < 0 else min(most, total)
    size = max(1, min(PIECE, left // processes))
    spans = []
    for file in files:
        rows = min(left, len(file.table))
        left -= rows
        spans += [(file, start, min(start + size, rows)) for start in range(0, rows, size)]
    return spans


def _templated(ids_of: Callable[[dict[str, Any]], list[int]], raw: dict[str, Any], where: str) -> list[int]:
    try:
        return ids_of(raw)
    except RewardkitError:
        raise
    except Exception as error:  # a chat template can raise any exception
        raise InputError(
            f"{where}: the chat template cannot render this prompt: {reason_of(error)}"
        ) from None


def _tokenise(
    tokenizer: Any, raw: Mapping[str, Any], config: DataConfig, book: PictureBook | None
) -> list[int]:
    """Return the token ids of a prompt with the chat template applied. Plain text becomes a user message."""
    prompt: str | list[Message] = raw["prompt"]
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    messages = [{"role": turn["role"], "content": turn["content"]} for turn in turns]
    if not tokenizer.chat_template:
        raise InputError(
            f"the tokenizer of '{tokenizer.name_or_path}' has no chat template; use an instruct model"
        )
    extra = config.apply_chat_template_kwargs
    if book is not None:
        pictures = [book[i] for i in raw.get("pictures", ())]
        text = book.vision.render(messages, add_generation_prompt=True, **extra)
        return book.vision.expand(text, pictures).long_ids
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False, **extra)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def _fit(ids: list[int], config: DataConfig, where: str) -> list[int] | None:
    limit = config.max_prompt_length
    if len(ids) <= limit:
        return ids
    if config.filter_overlong_prompts:
        return None
    if config.truncation == "left":
        return ids[-limit:]
    if config.truncation == "right":
        return ids[:limit]
    if config.truncation == "middle":
        return ids[: limit // 2] + ids[limit // 2 - limit :]
    raise InputError(
        f"{where}: the prompt has {len(ids)} tokens, but data.max_prompt_length is {limit}; "
        "raise this limit, or set data.filter_overlong_prompts=true or data.truncation=left"
    )


def require_validation(files: Any, max_samples: int, rows: Sequence[Any]) -> None:
    """Refuse to start if validation was requested but no row can be validated.

    Raises:
        InputError: Validation files are given, but none of their rows can be used.
    """
    if file_list(files) and max_samples and not rows:
        raise InputError(
            "data.val_files has no row that can be used, so there would be no validation; allow longer rows, "
            "or leave data.val_files out"
        )


LoadedRow = TypeVar("LoadedRow")


class PromptLoader(Generic[LoadedRow]):
    """Loader that returns training rows for PPO or SFT in batches, epoch after epoch.

    The order of the rows depends only on the seed.
    """

    def __init__(
        self,
        rows: Sequence[LoadedRow],
        batch_size: int,
        *,
        shuffle: bool,
        seed: int,
        files: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Create a loader at the first row.

        Args:
            files: Path and digest of each file that the rows are from, in order.

        Raises:
            InputError: There are fewer rows than a batch needs.
        """
        if not rows:
            raise InputError(
                "data.train_files has no row to train on (those that are too long are not counted); name "
                "files with rows, allow longer rows, or raise data.train_max_samples"
            )
        if len(rows) < batch_size:
            raise InputError(
                f"data.train_batch_size={batch_size}, but there are only {len(rows)} rows (those that are "
                "too long are not counted); lower the batch size, allow longer rows, or add rows"
            )
        self.rows = rows
        self.batch_size = batch_size
        self._shuffle = shuffle
        self._seed = seed
        self._files = [list(file) for file in files]
        self.steps_per_epoch = len(rows) // batch_size
        self.epoch = 0
        """Epoch of the last batch returned, counted from 0."""
        self._served = 0
        self._order = self._order_of(0)

    def take(self) -> list[LoadedRow]:
        """Return the next `batch_size` rows."""
        return [self.rows[i] for i in self.take_places()]

    def take_places(self) -> list[int]:
        """Return the indices in `rows` of the next `batch_size` rows.

        The partial batch at the end of an epoch is dropped.
        """
        if self._served + self.batch_size > len(self.rows):
            self.epoch += 1
            self._served = 0
            self._order = self._order_of(self.epoch)
        chosen = self._order[self._served : self._served + self.batch_size]
        self._served += self.batch_size
        return chosen

    def state_dict(self) -> dict[str, Any]:
        """Return the position (the epoch and the number of rows used in it), and the rows and their order."""
        return {
            "epoch": self.epoch,
            "served": self._served,
            "rows": len(self.rows),
            "files": self._files,
            "order": self._order_settings,
        }

    @property
    def _order_settings(self) -> dict[str, Any]:
        """Settings that determine the order of the rows. Without shuffling, the seed does not."""
        return {"data.shuffle": self._shuffle, "data.seed": self._seed if self._shuffle else None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a position that `state_dict` returned.

        Raises:
            InputError: The position was saved with other rows or with another order of the rows.
        """
        if state["rows"] != len(self.rows):
            raise InputError(
                f"the checkpoint was saved with {state['rows']} training rows, but data.train_files "
                f"now has {len(self.rows)}; use the same files, or start from scratch with "
                "trainer.resume_mode=disable"
            )
        self._refuse_other_rows(state)
        self.epoch = state["epoch"]
        self._served = state["served"]
        self._order = self._order_of(self.epoch)

    def _refuse_other_rows(self, state: Mapping[str, Any]) -> None:
        way_out = "or start from scratch with trainer.resume_mode=disable"
        for key, value in self._order_settings.items():
            if (then := state.get("order", self._order_settings)[key]) != value:
                raise InputError(
                    f"the checkpoint was saved with {key}={then}, which determines the order of the rows, "
                    f"but it is now {value}; use the same value, {way_out}"
                )
        saved = state.get("files", self._files)
        if len(saved) != len(self._files):
            raise InputError(
                f"the checkpoint was saved with {len(saved)} files in data.train_files, which now has "
                f"{len(self._files)}; use the same files, {way_out}"
            )
        for (name, content), (now, other) in zip(saved, self._files, strict=True):
            if content != other:
                raise InputError(
                    f"the rows of {now}, or their order, differ from those of {name} when the checkpoint was "
                    f"saved; use the same file, {way_out}"
                )

    def _order_of(self, epoch: int) -> list[int]:
        if not self._shuffle:
            return list(range(len(self.rows)))
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + epoch)
        order: list[int] = torch.randperm(len(self.rows), generator=generator).tolist()
        return order
