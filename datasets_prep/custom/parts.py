"""Additional columns that are part of a question, such as a passage, an extra input, options or images.

Columns that the user specifies are added to the prompt. Columns that common formats use for parts of the
question are added automatically if there is only one way to add them. In all other cases, an error is raised,
because the question would be incomplete.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError
from rewardkit.pictures import picture_of
from rewardkit.rewards.choice import readings
from rewardkit.rows import IMAGES, MEDIA, ground_truth_text, plain, value_at

PASSAGES = ("context", "passage", "paragraph", "article", "document", "story")
"""Names of columns with the text that a question refers to. SQuAD and similar datasets use the first name,
and datasets such as BoolQ, DROP and RACE use the remaining names."""
OPTIONS = ("choices", "options", "endings")
"""Names of columns with the options of a question, as in MMLU and ARC, MMLU-Pro, and HellaSwag."""
_ALPACA = ("instruction", "input")
"""Columns that together form a question in the Alpaca format."""
_LETTERS = string.ascii_uppercase
_MARK = "<image>"

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionParts:
    """Columns that are part of a question in addition to the question's own column."""

    before: tuple[str, ...] = ()
    """Columns whose text is added before the question."""
    after: tuple[str, ...] = ()
    """Columns whose text is added after the question."""
    choices: tuple[str, ...] = ()
    """Single column with all options, or one column per option."""
    images: str | None = None
    within: frozenset[str] = frozenset()
    """Columns whose content already occurs in the questions."""
    said: tuple[str, ...] = ()
    """Messages about parts that were added automatically."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return all columns that are part of the question."""
        images = () if self.images is None else (self.images,)
        return (*self.before, *self.after, *self.choices, *images)

    def asked(self, question: str, values: Values) -> str:
        """Return the question in a row together with all its parts.

        Raises:
            ValueError: The options or images in the row cannot be used.
        """
        around = {name: ground_truth_text(values.get(name)) or "" for name in (*self.before, *self.after)}
        parts = [*(around[name] for name in self.before), question, *(around[name] for name in self.after)]
        if self.choices and not self.within.issuperset(self.choices):
            shown = zip(_LETTERS, self.options(values), strict=False)
            parts.append("\n".join(f"({letter}) {text}" for letter, (_, text) in shown))
        whole = "\n\n".join(part.strip() for part in parts if part.strip()) if len(parts) > 1 else question
        if self.images is None:
            return whole
        count = len(self.pictures(values) or ())
        if (marks := whole.count(_MARK)) not in (0, count):
            raise ValueError(f"the question contains {_MARK} {marks} times, but the row has {count} images")
        return whole if marks else _MARK * count + whole

    def options(self, values: Values) -> list[tuple[str, str]]:
        """Return the label and the text of each option in a row.

        Raises:
            ValueError: The row has fewer than two options.
        """
        if len(self.choices) > 1:
            ends = [name[-1] for name in self.choices]
            labels = ends if "".join(ends).isdecimal() else _LETTERS
            found = zip(labels, (values.get(name) for name in self.choices), strict=False)
            options = [(label, str(text)) for label, text in found if text not in (None, "")]
        else:
            options = options_in(values.get(self.choices[0]))
        if len(options) < 2:
            raise ValueError(f"'{self.choices[0]}' must contain the options as a list of texts")
        return options

    def letter(self, values: Values, ground_truth: str) -> str:
        """Return the letter of the option that a ground truth names.

        Return the ground truth itself if it names no option.

        Raises:
            ValueError: The ground truth names one option by its label or index, and another by its text.
        """
        options = self.options(values)
        found = readings(ground_truth, [label for label, _ in options], [text for _, text in options])
        if len(found) > 1:
            named = " and ".join(f"option {_LETTERS[i]} by its {how}" for i, how in found.items())
            raise ValueError(f"the answer {ground_truth!r:.80} names {named}")
        return _LETTERS[next(iter(found))] if found else ground_truth

    def pictures(self, values: Values, folder: Path | None = None) -> list[dict[str, Any]] | None:
        """Return the images in a row as bytes or file paths, or None if the questions have no images.

        Files in `folder` are read, since the rows are written to another folder.

        Raises:
            ValueError: An image is neither bytes nor a path.
        """
        if self.images is None:
            return None
        held = values.get(self.images)
        items = held if isinstance(held, list) else [held]
        return [_picture(one, folder) for one in items if one is not None]


def options_in(value: Any) -> list[tuple[str, str]]:
    """Return the label and the text of each option in a value, or an empty list if there are no options.

    The value may be a list of strings, a mapping of labels to strings, or labels and texts in ARC's format.
    """
    value = plain(value)
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        value = {name: [one.get(name) for one in value] for name in ("label", "text")}
    if isinstance(value, Mapping):
        labels, texts = value.get("label"), value.get("text")
        if isinstance(labels, list) and isinstance(texts, list):
            value = dict(zip(map(str, labels), texts, strict=False))
        found = [(str(label).strip("(). "), text) for label, text in value.items()]
    elif isinstance(value, list):
        found = list(zip(_LETTERS, value, strict=False))
    else:
        return []
    return [(label, str(text)) for label, text in found if isinstance(text, str | int | float)]


def parts_of(
    said: Mapping[str, Any], question: str, reward: str | None, used: Collection[str], first: Sequence[Values]
) -> QuestionParts:
    """Determine the additional columns that are part of a file's questions.

    Args:
        said: The user's settings, by option name.
        question: Column with the questions.
        reward: Reward for all rows, or None if the rows have different rewards.
        used: Columns that the user's settings specify.
        first: First rows of the file.

    Raises:
        InputError: A column is part of the questions, and there is more than one way to add it.
    """
    parts = QuestionParts(
        tuple(said.get("context_key", ())), (), tuple(said.get("choices_key", ())), said.get("images_key")
    )
    if holds_chats(question, first):
        if parts.columns:
            raise InputError(
                f"'{question}' contains chats, to which --context-key, --choices-key and --images-key cannot "
                "add anything; map a column of text with --prompt-key"
            )
        return parts
    free = {name for row in first for name in row} - {*used, question, *parts.columns}
    within = frozenset(name for name in free if _all_within(name, question, first))
    after: tuple[str, ...] = ()
    choices = parts.choices
    lines = []
    if question == _ALPACA[0] and _ALPACA[1] not in {*used, *parts.columns, *within}:
        after = (_ALPACA[1],)
        lines += [f"column '{_ALPACA[1]}' added behind the instruction"] * (_ALPACA[1] in free)
    if reward == "choice" and not choices and (choices := _option_columns(free)):
        added = (
            "kept as the options that the questions list"
            if within.issuperset(choices)
            else "added as options"
        )
        named = ", ".join(f"'{name}'" for name in choices)
        lines.append(f"column{'s' * (len(choices) > 1)} {named} {added}")
    parts = QuestionParts(parts.before, after, choices, parts.images, within, tuple(lines))
    for name in sorted(free - {*parts.columns, *within}):
        if any(is_something(row.get(name)) for row in first):
            refuse_part(name, question, {*free, *used})
    return parts


def _all_within(name: str, question: str, first: Sequence[Values]) -> bool:
    """Return True if each question contains the value of a column in the same row. Ignore empty cells."""
    held = [(row[name], str(value_at(row, question))) for row in first if is_something(row.get(name))]
    return bool(held) and all(
        text in asked
        for value, asked in held
        for text in ([one for _, one in options_in(value)] or [ground_truth_text(value) or ""])
    )


def holds_chats(question: str, first: Sequence[Values]) -> bool:
    """Return True if the questions are chats."""
    return any(isinstance(value_at(row, question), list) for row in first)


def _option_columns(free: Collection[str]) -> tuple[str, ...]:
    if lists := [name for name in OPTIONS if name in free]:
        return (lists[0],)
    letters = tuple(letter for letter in _LETTERS if letter in free)
    if len(letters) > 1 and letters == tuple(_LETTERS[: len(letters)]):
        return letters
    return next(iter(_series(free)), ())


def _series(names: Collection[str]) -> list[tuple[str, ...]]:
    """Return series of columns whose suffixes count from a, A, 0 or 1, such as `option_1` and `option_2`."""
    ends: dict[str, dict[str, str]] = {}
    for name in sorted(names):
        if len(name) > 1 and (name[-1].isdigit() or name[-1].isalpha()):
            ends.setdefault(name[:-1], {})[name[-1]] = name
    found = []
    for by_end in ends.values():
        first = min(by_end)
        counted = [chr(ord(first) + i) for i in range(len(by_end))]
        if first in "aA01" and len(by_end) > 1 and sorted(by_end) == counted:
            found.append(tuple(by_end[end] for end in counted))
    return found


def refuse_part(name: str, question: str, columns: Collection[str]) -> None:
    """Check that an unused column is not part of the question in a common format.

    Args:
        name: Unused column.
        question: Column with the questions.
        columns: All columns in the file.

    Raises:
        InputError: The column is part of the question. The error message names the option that adds it.
    """
    folded = name.casefold()
    if folded in MEDIA:
        adds = "it" if folded in IMAGES else None
        option = f"add {adds} with --images-key {name}" if adds else "only text and images can be added"
    elif folded in OPTIONS:
        option = f"add it with --choices-key {name}"
    elif name == "A" and "B" in columns:
        option = "add the options with --choices-key A --choices-key B, and so on"
    elif folded in PASSAGES or (name, question) == _ALPACA:
        option = f"add it with --context-key {name}"
    else:
        return
    raise InputError(
        f"column '{name}' is part of the question and would be lost; {option}, or keep it out of the prompt "
        f"with --keep {name}"
    )


def is_something(value: Any) -> bool:
    """Return True if a cell contains a value."""
    return (
        value is not None and value not in ("", [], {}) and not (isinstance(value, str) and value.isspace())
    )


def _picture(value: Any, folder: Path | None) -> dict[str, Any]:
    if isinstance(value, Mapping):
        data, path = value.get("bytes"), value.get("path")
    else:
        data, path = (value, None) if isinstance(value, bytes) else (None, value)
    if not (isinstance(data, bytes) and data) and not (isinstance(path, str) and path):
        raise ValueError(
            f"an image must be the bytes or the path of an image file, found {type(value).__name__}"
        )
    if not data and folder is not None and (folder / str(path)).is_file():
        data = picture_of(path, folder).data
    return {"bytes": data if isinstance(data, bytes) else None, "path": None if data else path}
