"""Columns in an unknown kind of log that may contain responses, ground truths or verdicts.

The values of a column determine whether it is a candidate. Column names mainly affect the order of the
candidates. The module `trial` scores the candidates to choose among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rewardkit.errors import NoResponseError
from rewardkit.files.records import RawRow
from rewardkit.model_api.answers import is_conversation
from rewardkit.rows import RowNames, ground_truth_text, response_text, responses_of, value_at

Cells = Mapping[str, Sequence[Any]]
"""Values of all rows by column name, including dotted names. A row without the name has the value None."""
Verdicts = Sequence[bool | list[bool | None] | None]
"""Verdicts of a log, one per row or one per response: True for right, False for wrong, or None."""

_DEPTH = 7
"""Maximum depth of nested names."""
_MOST_NAMES = 300
"""Maximum number of names to examine."""
_MOST = 6
"""Maximum number of candidate columns for one field."""
_HUGE = 1e15
"""Upper limit for the absolute values of numbers that can be verdicts."""
_FEW = 3
"""Minimum number of rows from which a candidate column must contain at least two different values."""
_LONG = 4_000
"""Maximum number of characters in a ground truth."""

# Words in column names, in the singular. They determine the order of candidates, identify ground truths, and
# exclude columns such as prompts, ids and counts.
_OF_RESPONSES = {
    *("response", "completion", "output", "generation", "generated", "reply", "model", "llm"),
    "actual",
}
_OF_OTHERS = {
    *("prompt", "question", "query", "problem", "instruction", "input", "system", "context"),
    *("few", "doc", "template", "request", "passage", "argument", "arg", "var"),
    *("config", "schema", "metadata", "history", "session", "id", "uid", "uuid"),
    *("hash", "url", "path", "date", "time", "timestamp", "num", "count", "total"),
}
_OF_TRUTHS = {
    *("truth", "gold", "golden", "gt", "gts", "target", "expected", "reference"),
    *("ref", "canonical", "ideal", "standard", "true", "answer", "label", "correct"),
    *("solution", "rationale"),
}
_OF_FINDINGS = {"pred", "predicted", "prediction", "extracted", "parsed", "filtered", "executed"}
_OF_VERDICTS = {
    *("correct", "score", "reward", "acc", "accuracy", "pass", "passed", "solved"),
    *("match", "em", "right", "verdict", "grade", "graded", "judgement", "judgment"),
    *("resolved", "label"),
}
_UNSURE = {"correct", "right", "match", "label"}
"""Words for verdicts that also occur in names of answers, such as `correct_answer`."""
_EITHER = {"answer", "solution", "label", "correct"}
"""Words for ground truths that also occur in names of responses and of extracted answers."""
_OF_ANSWERS = _OF_RESPONSES | _OF_FINDINGS | _OF_TRUTHS - {"correct", "label", "true"}

_RIGHT = {"c", "correct", "true", "pass", "passed", "yes", "right", "success", "1", "1.0", "accepted", "ok"}
_WRONG = {"i", "n", "incorrect", "false", "fail", "failed", "no", "wrong", "failure", "0", "0.0", "rejected"}
_NEITHER = {"p", "partial", "unknown", "error", ""}


@dataclass(frozen=True, slots=True)
class Label:
    """Column with a log's verdicts on its responses."""

    name: str
    verdicts: Verdicts
    is_named: bool = True
    """True if the name indicates verdicts. Columns with other names may have a different meaning."""


def cells_of(rows: Sequence[RawRow]) -> Cells:
    """Return the values of all rows by name, including names in objects and in the first items of lists."""
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(_names_in(row, "", _DEPTH))
    return {name: [value_at(row, name) for row in rows] for name in list(names)[:_MOST_NAMES]}


def _names_in(value: Any, path: str, depth: int) -> Iterator[str]:
    inner = (
        value.items()
        if isinstance(value, Mapping)
        else enumerate(value[:1])
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        name = f"{path}.{key}" if path else str(key)
        yield name
        if depth:
            yield from _names_in(one, name, depth - 1)


def words_of(name: str) -> set[str]:
    """Return the words in a name in lower case and singular: score, is, correct for `scores.isCorrect`."""
    words = {word.casefold() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    return {word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word for word in words}


def _last_words(name: str) -> set[str]:
    """Return the words in the last part of a name. For `value` and `score`, include the part before it."""
    parts = [part for part in name.split(".") if not part.isdigit()]
    words = words_of(parts[-1]) if parts else set()
    return words | words_of(parts[-2]) if words <= {"value", "score"} and len(parts) > 1 else words


def labels_in(cells: Cells) -> list[Label]:
    """Return the columns whose names indicate verdicts. Without such columns, return flags that vary by
    row."""
    found = []
    for name, values in cells.items():
        verdicts = verdicts_of(values)
        if verdicts is None:
            continue
        words = _last_words(name)
        if not (_OF_VERDICTS - _UNSURE) & words and _OF_ANSWERS & words:
            continue  # Values such as yes and no may also be answers.
        named = bool(_OF_VERDICTS & words)
        flat = {one for row in verdicts for one in (row if isinstance(row, list) else [row])} - {None}
        if flat and (named or len(flat) > 1):
            found.append(Label(name, verdicts, named))
    kept = [label for label in found if label.is_named] or found
    return sorted(kept, key=lambda label: label.name.count("."))


def verdicts_of(values: Sequence[Any]) -> Verdicts | None:
    """Return the verdicts that a column contains, or None if it contains something else.

    Verdicts are words for right and wrong, numbers from -1 to 1, or only two distinct numbers. Of two
    distinct numbers, the higher means right and the lower means wrong. Otherwise 1 means right, values up to
    0 mean wrong, and values in between are undecided.
    """
    flat = [
        one for value in values for one in (value if isinstance(value, list) else [value]) if one is not None
    ]
    if 2 * sum(value is not None for value in values) < len(values) or not flat:
        return None
    meaning = (
        _meaning_of_words(flat) if all(isinstance(one, str) for one in flat) else _meaning_of_numbers(flat)
    )
    if meaning is None:
        return None
    return [
        [meaning.get(_key(one)) for one in value] if isinstance(value, list) else meaning.get(_key(value))
        for value in values
    ]


def _key(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else float(value) if value is not None else None


def _meaning_of_words(values: Sequence[str]) -> dict[Any, bool | None] | None:
    said = {_key(value) for value in values}
    if not said <= _RIGHT | _WRONG | _NEITHER or said <= _NEITHER:
        return None
    return {word: True if word in _RIGHT else False if word in _WRONG else None for word in said}


def _meaning_of_numbers(values: Sequence[Any]) -> dict[Any, bool | None] | None:
    if not all(isinstance(value, bool | int | float) and abs(value) < _HUGE for value in values):
        return None
    said = sorted({float(value) for value in values})
    low, high = said[0], said[-1]
    if not (low >= -1 and high <= 1) and not (len(said) == 2 and low <= 0 < high):
        return None
    if len(said) > 2 and high < 1:
        return None
    top = high if len(said) == 2 else 1.0
    bottom = low if len(said) == 2 else 0.0
    return {one: True if one >= top else False if one <= bottom else None for one in said}


def beside(labels: Sequence[Label], response: str) -> list[Label]:
    """Return the labels in the same object as a response (`m` for `m.text`), or all labels if there are
    none."""
    head = response.rpartition(".")[0]
    near = [label for label in labels if head and label.name.rpartition(".")[0] == head]
    return near or list(labels)


# --- responses ------------------------------------------------------------------------------------------


def said_in(value: Any) -> list[str]:
    """Return the texts in a value that a model may have written, or an empty list for any other value."""
    try:
        several = responses_of(value)
        return [text for one in (several or [value]) if (text := response_text(one)) is not None]
    except (NoResponseError, TypeError, AttributeError, KeyError, IndexError):
        return []


def responses_in(cells: Cells, names: RowNames, labels: Sequence[Label]) -> list[str]:
    """Return the names of columns that may contain the responses, the most likely first.

    Columns are excluded if they contain prompts or ground truths, or if their texts are part of another
    column.

    Args:
        cells: Values by name.
        names: Names that are already known. A known response column is the most likely candidate.
        labels: Columns with verdicts, which are excluded.
    """
    if names.response is not None and names.response not in cells:
        return [names.response]
    taken = {names.ground_truth, names.prompt, names.data_source, *(label.name for label in labels)}
    texts: dict[str, list[str]] = {}
    for name, values in cells.items():
        within = any(name.startswith(f"{other}.") for other in texts)
        if name in taken or within or not _may_be_said(name, values):
            continue
        said = ["\n".join(said_in(value)).strip() for value in values]
        if 2 * sum(map(bool, said)) >= len(said) and (len({*said}) > 1 or len(said) < _FEW):
            texts[name] = said
    sure = names.response if names.response and not _OF_FINDINGS & words_of(names.response) else None
    kept = [name for name in texts if name == sure or not _stands_in_another(name, texts)]
    return sorted(kept, key=lambda name: (name != names.response, _rank(name), -_length(texts[name])))[:_MOST]


def _may_be_said(name: str, values: Sequence[Any]) -> bool:
    words = words_of(name)
    if _OF_OTHERS & words or (_OF_TRUTHS - {"answer", "solution"}) & words:
        return False
    held = next((value for value in values if value is not None), None)
    if isinstance(held, list):
        return is_conversation(held) or all(isinstance(one, str | list) for one in held)
    return isinstance(held, str | Mapping)


def _rank(name: str) -> int:
    words = words_of(name)
    return 0 if _OF_RESPONSES & words else 2 if _OF_FINDINGS & words else 1


def _length(texts: Sequence[str]) -> float:
    return fmean(map(len, texts))


def _stands_in_another(name: str, texts: Mapping[str, Sequence[str]]) -> bool:
    """Return True if most texts in a column are part of the texts in another column."""
    own = texts[name]
    for other, others in texts.items():
        pairs = [(a, b) for a, b in zip(own, others, strict=True) if a and b and len(a) < len(b)]
        if other != name and 2 * sum(a in b for a, b in pairs) > len(own):
            return True
    return False


def parallel_to(name: str, candidates: Sequence[str]) -> list[str]:
    """Return the candidates with the same last name and depth, which may be responses from other models."""
    head, _, last = name.rpartition(".")
    return [
        other
        for other in candidates
        if head and other != name and other.rpartition(".")[2] == last and other.count(".") == name.count(".")
    ]


# --- ground truths --------------------------------------------------------------------------------------


def ground_truths_in(
    cells: Cells, said: Sequence[str], apart: str | None, names: RowNames, labels: Sequence[Label]
) -> list[str]:
    """Return the names of columns that may contain the ground truths, the most likely first.

    If the name of a column does not indicate ground truths, its values must occur in some of the responses.

    Args:
        cells: Values by name.
        said: Text of the responses in each row.
        apart: Name of the response column, which is excluded.
        names: Names that are already known.
        labels: Columns with verdicts, which are excluded.
    """
    if names.ground_truth is not None and names.ground_truth not in cells:
        return [names.ground_truth]
    taken = {apart, names.prompt, names.data_source, *(label.name for label in labels)}
    lower = [text.casefold() for text in said]
    found: list[tuple[bool, bool, bool, int, str]] = []
    for place, (name, values) in enumerate(cells.items()):
        kin = apart is not None and (name.startswith(f"{apart}.") or apart.startswith(f"{name}."))
        texts = [ground_truth_text(value) for value in values]
        is_known = name == names.ground_truth
        if name in taken or kin or not (is_known or _may_be_true(name, values, texts)):
            continue
        named = is_ground_truth_name(name)
        if named or is_known or _stand_in(texts, lower):
            is_last = bool(_OF_TRUTHS & words_of(name.rpartition(".")[2]))
            found.append((not is_known, not named, not is_last, place, name))
    return [name for *_, name in sorted(found)][:_MOST]


def _may_be_true(name: str, values: Sequence[Any], texts: Sequence[str | None]) -> bool:
    if (
        (_OF_OTHERS | _OF_FINDINGS) & words_of(name)
        or _is_of_the_model(name)
        or 2 * sum(bool(text) for text in texts) < len(texts)
    ):
        return False
    heads = (value[0] if isinstance(value, list) and value else value for value in values)
    if any(isinstance(head, Mapping) for head in heads):
        return False
    return max(len(text or "") for text in texts) <= _LONG


def _stand_in(texts: Sequence[str | None], said: Sequence[str]) -> bool:
    """Return True if at least a third of the texts occur in the responses, and not all texts are equal."""
    inside = sum(bool(a) and a.strip().casefold() in b for a, b in zip(texts, said, strict=False) if a)
    return 3 * inside >= len(texts) and (len({*texts}) > 1 or len(texts) < _FEW)


def is_ground_truth_name(name: str) -> bool:
    """Return True if a name indicates ground truths rather than model output."""
    return bool(_OF_TRUTHS & words_of(name)) and not _is_of_the_model(name)


def _is_of_the_model(name: str) -> bool:
    """Return True if a name indicates model output, such as `model_answer`, but not `expected_output`."""
    parts = [part for part in name.split(".") if not part.isdigit()]
    words = words_of(parts[-1]) if parts else set()
    return bool(_OF_RESPONSES & words) and not (_OF_TRUTHS - _EITHER) & words_of(name)


def findings_in(cells: Cells, response: str, ground_truth: str) -> list[Label]:
    """Return verdicts derived from columns with extracted answers.

    An extracted answer is right if it equals the ground truth, ignoring case and surrounding punctuation.
    """
    found = []
    truths = [_plain(value) for value in cells.get(ground_truth, ())]
    said = ["\n".join(said_in(value)).casefold() for value in cells.get(response, ())]
    for name, values in cells.items():
        apart = _OF_OTHERS | (set() if (_OF_FINDINGS | _OF_RESPONSES) & words_of(name) else _OF_TRUTHS)
        kin = any(name == one or name.startswith(f"{one}.") for one in (response, ground_truth))
        texts = [_plain(value) for value in values]
        if kin or apart & words_of(name) or not _stand_in(texts, said):
            continue
        verdicts = [text == truth if text else None for text, truth in zip(texts, truths, strict=True)]
        if {True, False} <= {*verdicts}:
            found.append(Label(f"{name}' = '{ground_truth}", verdicts))
    return found


def _plain(value: Any) -> str:
    held = value[0] if isinstance(value, list) and len(value) == 1 else value
    return (
        "" if isinstance(held, Mapping) else (ground_truth_text(held) or "").strip().strip("().").casefold()
    )
