"""Parquet files to tokenised prompts, and the order in which training sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from rewardkit.errors import InputError, RewardkitError, reason_of
from rewardkit.rows import RowNames, to_sample, value_at
from rewardkit.tables import names_in
from rewardkit.trainer.batch import PromptRow
from rewardkit.trainer.config.root import DataConfig
from rewardkit.trainer.distributed import World
from rewardkit.types import Message

AGENT_NAME = "agent_name"
MEDIA = ("images", "image", "videos", "video", "audios", "audio")
"""Columns of what is looked at or heard, by their usual names."""
ALONE = World(0, 1, torch.device("cpu"))


def file_list(files: Any) -> list[Path]:
    """Return `data.train_files` or `data.val_files`, one path or a list of them, as a list."""
    if files is None:
        return []
    return [Path(str(f)).expanduser() for f in (files if isinstance(files, (list, tuple)) else [files])]


def read_rows(path: Path, prompt_key: str) -> list[dict[str, Any]]:
    """Read the columns that training needs: data source, prompt, ground truth, extra info, agent.

    Raises:
        InputError: the file is missing, is no parquet, is empty, or lacks a column or a value.
    """
    if not path.is_file():
        raise InputError(f"no such training file: {path}; `rewardkit prep` makes one")
    try:
        parquet = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is not a parquet file: {str(error).splitlines()[0]}") from None
    names = names_in(parquet.schema_arrow)
    columns = parquet.schema_arrow.names
    for needed, found in (
        ("data_source", names.data_source),
        (prompt_key, prompt_key if prompt_key in columns else None),
        ("ground_truth", names.ground_truth),
    ):
        if found is None:
            raise InputError(f"{path} has no column '{needed}'; it has: {', '.join(sorted(columns))}")
    agent = AGENT_NAME if AGENT_NAME in columns else None
    read = {names.data_source, prompt_key, names.ground_truth, names.extra_info, agent}
    rows = parquet.read(columns=[name for name in read if name is not None]).to_pylist()
    if not rows:
        raise InputError(f"{path} has no rows")
    _refuse_media(parquet, path)
    return [_checked(row, i, path, replace(names, prompt=prompt_key)) for i, row in enumerate(rows)]


def _refuse_media(parquet: pq.ParquetFile, path: Path) -> None:
    """Raise InputError for a row with images or videos: its prompt alone would be another question."""
    held = [name for name in MEDIA if name in parquet.schema_arrow.names]
    first = 0
    for batch in parquet.iter_batches(batch_size=256, columns=held) if held else ():
        for i, row in enumerate(batch.to_pylist(), first):
            if found := [name for name, value in row.items() if value]:
                raise InputError(
                    f"{path}, row {i}: column '{found[0]}' is not empty, and prompts are text here; leave "
                    "out rows that cannot be answered from their text"
                )
        first += len(batch)


def _checked(row: dict[str, Any], i: int, path: Path, names: RowNames) -> dict[str, Any]:
    sample = to_sample(
        value_at(row, names.data_source),
        None,
        value_at(row, names.ground_truth),
        value_at(row, names.prompt),
        value_at(row, names.extra_info),
    )
    values = {
        "data_source": sample.data_source,
        "ground_truth": sample.ground_truth,
        names.prompt: sample.prompt,
    }
    for name, value in values.items():
        if not value:
            raise InputError(f"{path}, row {i}: {name} is empty; `rewardkit prep` never writes such a row")
    return {
        "data_source": sample.data_source,
        "prompt": readable(sample.prompt, f"{path}, row {i}"),
        "ground_truth": sample.ground_truth,
        "extra_info": sample.extra_info,
        "agent_name": row.get(AGENT_NAME) or None,
    }


def readable(prompt: Any, where: str) -> Any:
    """Return a prompt whose messages have a role and text each; parts of text are put together.

    Raises:
        InputError: a message has none, or holds something else than text.
    """
    if isinstance(prompt, str):
        return prompt
    return [_message(turn, f"{where}: message {k} of the prompt") for k, turn in enumerate(prompt)]


def _message(turn: Any, where: str) -> Any:
    if not (isinstance(turn, Mapping) and isinstance(turn.get("role"), str)):
        raise InputError(
            f"{where} has no role; a prompt is a text or a list of messages with role and content"
        )
    content = turn.get("content")
    if isinstance(content, str) or (content is None and turn.get("tool_calls")):
        return turn
    parts = content if isinstance(content, list) else []
    texts = [
        part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]
    if not texts or len(texts) < len(parts):
        raise InputError(
            f"{where} has no text as its content, but {type(content).__name__}; prompts are text"
        )
    return {**turn, "content": "".join(texts)}


def agent_names(path: Path) -> set[str | None]:
    """Return the agents that a file's rows name; None for rows that name none."""
    parquet = pq.ParquetFile(path)
    if AGENT_NAME not in parquet.schema_arrow.names:
        return {None}
    return set(parquet.read(columns=[AGENT_NAME])[AGENT_NAME].unique().to_pylist())


def load_rows(
    files: Any,
    tokenizer: Any,
    config: DataConfig,
    max_samples: int = -1,
    *,
    say: Callable[[str], None] = lambda line: None,
    tokenise: Callable[[dict[str, Any]], list[int]] | None = None,
    world: World = ALONE,
) -> list[PromptRow]:
    """Read and tokenise the first `max_samples` prompts (-1: all) of the files together.

    Overlong ones are left out (`say` is told how many), cut, or an error, as the config says.

    Args:
        tokenise: returns the ids of a row's prompt, where they are not those of its messages alone (there are
            tools in it). Such a prompt is never cut.
        world: its processes tokenise a share each, which takes most of the time.
    """
    if tokenise is not None:
        config = replace(config, truncation="error")
    ids_of = tokenise or (lambda raw: _tokenise(tokenizer, raw["prompt"], config))
    named = (
        (f"{path}, row {i}", raw)
        for path in file_list(files)
        for i, raw in enumerate(read_rows(path, config.prompt_key))
    )
    read = list(islice(named, max_samples if max_samples >= 0 else None))

    def fitted(i: int) -> list[int] | None:
        where, raw = read[i]
        return _fit(_templated(ids_of, raw, where), config, where)

    found = world.spread(fitted, len(read))
    kept = ((ids, raw) for ids, (_, raw) in zip(found, read, strict=True) if ids is not None)
    rows = [PromptRow(token_ids=ids, **raw) for ids, raw in kept]
    if len(rows) < len(read):
        names = ", ".join(str(path) for path in file_list(files))
        say(
            f"{len(read) - len(rows)} of the {len(read)} prompts of {names} are over data.max_prompt_length="
            f"{config.max_prompt_length} and left out (data.filter_overlong_prompts)"
        )
    return rows


def _templated(ids_of: Callable[[dict[str, Any]], list[int]], raw: dict[str, Any], where: str) -> list[int]:
    try:
        return ids_of(raw)
    except RewardkitError:
        raise
    except Exception as error:  # whatever a chat template, which is a program, raises
        raise InputError(f"{where}: the chat template cannot take this prompt: {reason_of(error)}") from None


def _tokenise(tokenizer: Any, prompt: str | list[Message], config: DataConfig) -> list[int]:
    """The token ids of a prompt after the chat template; a plain text is one message of the user."""
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    messages = [{"role": turn["role"], "content": turn["content"]} for turn in turns]
    if not tokenizer.chat_template:
        raise InputError(
            f"the tokenizer of '{tokenizer.name_or_path}' has no chat template; use an instruct model"
        )
    extra = config.apply_chat_template_kwargs
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
        f"{where}: the prompt has {len(ids)} tokens, over data.max_prompt_length={limit}; raise it, or set "
        "data.filter_overlong_prompts=true or data.truncation=left"
    )


LoadedRow = TypeVar("LoadedRow")


class PromptLoader(Generic[LoadedRow]):
    """Serves the training rows, prompts or those of SFT, in batches, epoch after epoch.

    The seed alone decides the order.
    """

    def __init__(self, rows: Sequence[LoadedRow], batch_size: int, *, shuffle: bool, seed: int) -> None:
        if len(rows) < batch_size:
            raise InputError(
                f"data.train_batch_size={batch_size}, but there are only {len(rows)} rows that are not too "
                "long; lower it, or raise the limit of tokens"
            )
        self.rows = rows
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._seed = seed
        self.steps_per_epoch = len(rows) // batch_size
        self.epoch = 0
        """The epoch (from 0) of the batch that was served last."""
        self._served = 0
        self._order = self._order_of(0)

    def take(self) -> list[LoadedRow]:
        """Return the next `batch_size` rows."""
        return [self.rows[i] for i in self.take_places()]

    def take_places(self) -> list[int]:
        """Return the places of the next `batch_size` rows among `rows`. The last, partial batch of an
        epoch is left out."""
        if self._served + self._batch_size > len(self.rows):
            self.epoch += 1
            self._served = 0
            self._order = self._order_of(self.epoch)
        chosen = self._order[self._served : self._served + self._batch_size]
        self._served += self._batch_size
        return chosen

    def state_dict(self) -> dict[str, int]:
        """Return the position: epoch, prompts of it already served, and how many prompts there are."""
        return {"epoch": self.epoch, "served": self._served, "rows": len(self.rows)}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go to a position; InputError when it was taken among another number of prompts."""
        if state["rows"] != len(self.rows):
            raise InputError(
                f"the checkpoint was made with {state['rows']} training rows, data.train_files now has "
                f"{len(self.rows)}; give it the same files, or start anew with trainer.resume_mode=disable"
            )
        self.epoch = state["epoch"]
        self._served = state["served"]
        self._order = self._order_of(self.epoch)

    def _order_of(self, epoch: int) -> list[int]:
        if not self._shuffle:
            return list(range(len(self.rows)))
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + epoch)
        order: list[int] = torch.randperm(len(self.rows), generator=generator).tolist()
        return order
