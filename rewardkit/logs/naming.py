"""Meaning of the columns in a log of an unknown kind, inferred from usual names and from the values.

`rewardkit.rows` contains the names that rewardkit accepts everywhere. This module contains names that can
have several meanings in a log, so it also examines the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardkit.files.records import RawRow
from rewardkit.logs.tasks import is_data_source
from rewardkit.rows import (
    DATA_SOURCE,
    EXTRA_INFO,
    GROUND_TRUTH,
    GROUP,
    PROMPT,
    RESPONSE,
    RowNames,
    first_of,
    ground_truth_text,
    value_at,
)

_PREDICTED = ("generated_prediction", "code", "prediction", "predictions", "predict", "pred", "result")
"""Names of responses. A value that is part of a longer text in the same row is only an extracted answer."""
_EITHER = ("answer", "solution")
"""Names of ground truths, or of responses if the row has another ground truth and no clearer response."""
_LABELS = ("label", "labels", "correct", "test")
"""Names of ground truths, unless the values are verdicts such as true and false, or 0 and 1."""
_QUESTIONS = ("question", "problem", "query", "instruction", "input_prompt")
_SOURCES = ("dataset", "dataset_name", "benchmark", "task_name", "task", "source")
"""Names of data sources, if the value in every row is a data source that has a reward."""
_CHOICES = ("choices", "options")
_VERDICTS = {"true", "false", "0", "1", "0.0", "1.0"}
_TRUTHS = (*GROUND_TRUTH, *_LABELS)
_KNOWN = (
    *DATA_SOURCE,
    *_SOURCES,
    *RESPONSE,
    *_PREDICTED,
    *_TRUTHS,
    *PROMPT,
    *_QUESTIONS,
    *EXTRA_INFO,
    *_CHOICES,
    GROUP,
)

Cells = Mapping[str, Sequence[Any]]
"""Values in the first rows by known name, for the known names in the file."""


def name_columns(
    rows: Sequence[RawRow], chosen: RowNames, find: Callable[[str], str | None], *, joined: bool
) -> tuple[RowNames, list[str]]:
    """Return the column names for the fields in a file, and notes about columns that disagree.

    Args:
        rows: First rows in the file.
        chosen: Names specified by the user.
        find: Function that returns the file's spelling of a known name, or None if there is no such column.
        joined: True if the ground truths are in another file.
    """
    written = {name: there for name in _KNOWN if (there := find(name)) is not None}
    taken = {chosen.response, chosen.ground_truth, chosen.prompt, chosen.data_source, chosen.extra_info}
    cells = {
        name: [value_at(row, there) for row in rows] for name, there in written.items() if there not in taken
    }
    truths = [
        name for name in _TRUTHS if name in cells and not (name in _LABELS and _are_verdicts(cells[name]))
    ]
    settled = joined or chosen.ground_truth is not None
    response = None if chosen.response else _response(cells, truths, settled=settled)
    truths = [] if settled else [name for name in truths if name != response]
    said = [] if response is None else _disagreement(cells, [n for n in RESPONSE if n in cells])
    said += _disagreement(cells, truths)
    found = RowNames(
        first_of(DATA_SOURCE, cells.__contains__)
        or first_of(_SOURCES, lambda name: _are_sources(cells.get(name, ()))),
        response,
        next(iter(truths), None),
        first_of((*PROMPT, *_QUESTIONS), lambda name: name in cells and name != response),
        first_of(EXTRA_INFO, cells.__contains__),
        first_of(_CHOICES, lambda name: name in cells and all(map(_are_options, cells[name]))),
        GROUP if GROUP in cells else None,
    )
    return RowNames(
        *(getattr(chosen, name) or written.get(getattr(found, name)) for name in RowNames.__slots__)
    ), said


def _response(cells: Cells, truths: Sequence[str], *, settled: bool) -> str | None:
    """Return the name of the response column, or None.

    `settled` is True if the ground truth is known not to be in any of the columns `truths`.
    """
    sure = first_of(RESPONSE, cells.__contains__)
    if sure is not None:
        return sure
    predicted = first_of(_PREDICTED, lambda name: any(_texts(cells.get(name, ()))))
    either = [name for name in _EITHER if any(_texts(cells.get(name, ())))]
    if not either:
        return predicted
    longest = max(either, key=lambda name: sum(map(len, _texts(cells[name]))))
    if predicted is not None:
        return longest if _stands_in(cells[predicted], cells[longest]) else predicted
    return longest if settled or any(name not in _EITHER for name in truths) else None


def _disagreement(cells: Cells, names: Sequence[str]) -> list[str]:
    """Return a note if the first two columns for a field differ. The first column is used."""
    if len(names) < 2:
        return []
    taken, other = names[:2]
    pairs = zip(map(ground_truth_text, cells[taken]), map(ground_truth_text, cells[other]), strict=True)
    differing = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
    rows = len(cells[taken])
    return (
        [f"'{taken}' is used, not '{other}', which differs in {differing} of {rows} rows"]
        if differing
        else []
    )


def is_multiple_choice(rows: Sequence[RawRow], names: RowNames) -> bool:
    """Return True if every row contains options, and its ground truth is the letter of an option."""
    return names.choices is not None and all(_is_letter(row, names) for row in rows)


def _is_letter(row: RawRow, names: RowNames) -> bool:
    letter = (ground_truth_text(value_at(row, names.ground_truth)) or "").strip("(). ").upper()
    return len(letter) == 1 and 0 <= ord(letter) - ord("A") < len(value_at(row, names.choices))


def _are_options(value: Any) -> bool:
    return isinstance(value, list | Mapping) and len(value) > 1


def _are_verdicts(values: Sequence[Any]) -> bool:
    return all(value is None or str(value).casefold() in _VERDICTS for value in values)


def _are_sources(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) and is_data_source(value) for value in values)


def _stands_in(parts: Sequence[Any], wholes: Sequence[Any]) -> bool:
    """Return True if the whole contains the part in most rows."""
    pairs = [pair for pair in zip(_texts(parts), _texts(wholes), strict=True) if all(pair)]
    return 2 * sum(part.strip() in whole for part, whole in pairs) > len(pairs)


def _texts(values: Sequence[Any]) -> list[str]:
    return list(map(_only_text, values))


def _only_text(value: Any) -> str:
    """Return a text, or the only text in a list, or "" for any other value."""
    held = value[0] if isinstance(value, list) and len(value) == 1 else value
    return held if isinstance(held, str) else ""
