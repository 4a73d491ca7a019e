"""Reading of rows with a chosen and a rejected answer to one prompt, or with one answer and a label.

Training of reward models, preference optimisation and evaluation read such rows with this module. Rows that
cannot be used are returned as errors that name the file and the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rewardkit.errors import InputError, with_columns
from rewardkit.files.formats import columns_of, open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.files.records import BadRowError, RawRow
from rewardkit.logs.samples import parsed
from rewardkit.messages import ASSISTANT_TURN, content_of, content_text, dialogue_turns, is_dialogue
from rewardkit.rows import plain, prompt_of, value_at
from rewardkit.types import Message


@dataclass(frozen=True, slots=True)
class PairNames:
    """Names of the columns in files of pairs. Dots reach into structs."""

    chosen: str = "chosen"
    rejected: str = "rejected"
    prompt: str | None = None
    """Column with the prompt. By default, `prompt` if the file has it."""
    margin: str | None = None
    """Column with the margin. By default, `margin` if the file has it."""
    subset: str | None = None
    """Column with the subset. By default, `subset` if the file has it."""
    completion: str = "completion"
    """Column with the answer in rows that are labelled, as for KTO."""
    label: str = "label"
    """Column that is true for good answers in rows that are labelled."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two different answers to one prompt, of which the first is preferred."""

    prompt: list[Message]
    """Messages before the answer."""
    chosen: str
    rejected: str
    margin: float | None = None
    """Least difference in score that the pair asks for, or None if the file has no margins."""
    subset: str | None = None
    row: RawRow = field(default_factory=dict, compare=False)
    """All columns, from which rewards read the ground truth."""


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """One answer to a prompt, and True if it is a good answer."""

    prompt: list[Message]
    completion: str
    label: bool


_Row = TypeVar("_Row", Pair, LabelledAnswer)
Located = tuple[str, _Row | InputError]
"""File and number of a row, and the row or the reason why it cannot be used."""


def pairs_in(files: Iterable[str | Path], names: PairNames = PairNames()) -> Iterator[Located[Pair]]:
    """Yield the pairs in all files, in order.

    A side is a text or a list of messages that ends with the answer. Without a prompt column, the prompt
    consists of the messages before the answers or, for two dialogues in the form of HH-RLHF, of the turns
    before the last one.

    Raises:
        InputError: A file cannot be read, or lacks a column.
    """
    with_margin: bool | None = None
    for where, pair in _rows(files, names, (names.chosen, names.rejected), _pair):
        if isinstance(pair, Pair):
            has = pair.margin is not None
            with_margin = has if with_margin is None else with_margin
            if has is not with_margin:
                state = (
                    "is missing, but earlier rows have it" if with_margin else "is missing in earlier rows"
                )
                pair = InputError(f"{where}: the margin {state}; fill the column in every row or in none")
        yield where, pair


def answers_in(
    files: Iterable[str | Path], names: PairNames = PairNames()
) -> Iterator[Located[LabelledAnswer]]:
    """Yield the labelled answers in all files, in order.

    Raises:
        InputError: A file cannot be read, or lacks a column.
    """
    return _rows(files, names, (names.completion, names.label), _labelled)


def _rows(
    files: Iterable[str | Path],
    names: PairNames,
    needed: Sequence[str],
    read: Callable[[RawRow, PairNames], _Row],
) -> Iterator[Located[_Row]]:
    for source in find_inputs(files):
        file = open_rows(source)
        try:
            _require([*needed, names.prompt, names.margin, names.subset], columns_of(file), source.path)
            for records in file.chunks():
                if records.damaged is not None:
                    where = f"{source.path}, row {records.first_row}"
                    yield where, InputError(f"{where}: {records.damaged}")
                    continue
                for i, row in enumerate(parsed(records), records.first_row):
                    if row is not None:
                        where = f"{source.path}, row {i}"
                        yield where, _row_or_error(row, where, lambda row: read(row, names))
        finally:
            file.close()


def _require(wanted: Iterable[str | None], columns: Sequence[str], path: str) -> None:
    for name in wanted:
        if name is not None and name not in columns and name.split(".")[0] not in columns:
            raise InputError(with_columns(f"{path} has no column '{name}'", columns))


def _row_or_error(row: RawRow | BadRowError, where: str, read: Callable[[RawRow], _Row]) -> _Row | InputError:
    try:
        if isinstance(row, BadRowError):
            raise row
        return read(row)
    except ValueError as error:
        return InputError(f"{where}: {error}")


def _pair(row: RawRow, names: PairNames) -> Pair:
    chosen, rejected = (_answer(row, name, names) for name in (names.chosen, names.rejected))
    if chosen.prompt != rejected.prompt:
        raise ValueError("the prompts of chosen and rejected differ before the answer")
    if chosen.text == rejected.text:
        raise ValueError("chosen and rejected are the same")
    margin = plain(value_at(row, names.margin or "margin"))
    if isinstance(margin, float) and math.isnan(margin):
        margin = None
    is_number = isinstance(margin, int | float) and not isinstance(margin, bool) and math.isfinite(margin)
    if margin is not None and not is_number:
        raise ValueError(f"the margin must be a number, found {margin!r:.40}")
    if margin is not None and not math.isfinite(margin):
        raise ValueError(f"the margin must be finite, found {margin}")
    subset = value_at(row, names.subset or "subset")
    return Pair(
        chosen.prompt,
        chosen.text,
        rejected.text,
        None if margin is None else float(margin),
        None if subset is None else str(subset),
        row,
    )


def _labelled(row: RawRow, names: PairNames) -> LabelledAnswer:
    label = plain(value_at(row, names.label))
    if not (isinstance(label, bool) or (isinstance(label, int | float) and label in (0, 1))):
        raise ValueError(f"{names.label} must be true or false, found {label!r:.40}")
    answer = _answer(row, names.completion, names)
    return LabelledAnswer(answer.prompt, answer.text, bool(label))


@dataclass(frozen=True, slots=True)
class _Answer:
    """Answer in one column, with the prompt of the row or of the column itself."""

    prompt: list[Message]
    text: str


def _answer(row: RawRow, name: str, names: PairNames) -> _Answer:
    """Return the answer in a column.

    Raises:
        ValueError: The column has no answer, or there is no prompt.
    """
    given = prompt_of(value_at(row, names.prompt or "prompt"))
    held = prompt_of(value_at(row, name))
    if isinstance(held, str) and given:
        found = _Answer(*_after_prompt(given, held))
    elif isinstance(held, str) and held.strip():
        before, turn, text = held.rpartition(ASSISTANT_TURN)
        if not is_dialogue(before + turn):
            raise ValueError(f"there is no prompt; add a column 'prompt', or messages before {name}'s answer")
        found = _Answer(list(dialogue_turns(before + turn)), text.strip())
    elif held:
        found = _last_message(given, _messages(held, name), name)
    else:
        found = _Answer([], "")
    if not found.text.strip():
        raise ValueError(f"{name} is empty")
    return found


def _after_prompt(given: str | list[Message], text: str) -> tuple[list[Message], str]:
    """Return the prompt as messages, and the answer without the prompt and the space that dialogues have."""
    if isinstance(given, str) and is_dialogue(given):
        return list(dialogue_turns(given)), text.removeprefix(given).strip()
    return _prompt(given), text


def _prompt(given: str | list[Message]) -> list[Message]:
    if isinstance(given, str):
        return list(dialogue_turns(given)) if is_dialogue(given) else [{"role": "user", "content": given}]
    return _messages(given, "prompt")


def _last_message(given: str | list[Message] | None, messages: list[Message], name: str) -> _Answer:
    """Return the last of the messages as the answer, and the longer of both prompts as the prompt."""
    *before, last = messages
    if last["role"] != "assistant":
        raise ValueError(f"{name} ends with a message of {last['role']!r:.20}, not of the assistant")
    prompt = _prompt(given) if given else before
    if not prompt:
        raise ValueError(f"there is no prompt; add a column 'prompt', or messages before {name}'s answer")
    if before and before[-len(prompt) :] != prompt:  # the messages may begin with a system prompt
        raise ValueError(f"the messages before the answer in {name} are not those of the prompt")
    return _Answer(before or prompt, content_text(content_of(last)))


def _messages(held: Any, name: str) -> list[Message]:
    """Return messages without the nulls that parquet adds."""
    if not (isinstance(held, list) and all(isinstance(one.get("role"), str) for one in held)):
        raise ValueError(f"{name} must be a text, or a list of messages with role and content")
    return [{key: value for key, value in one.items() if value is not None} for one in held]
