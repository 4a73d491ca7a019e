"""Which columns of a table hold what, and how rows become Samples and Scores become columns.

No reading or writing of files here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rewardkit.errors import InputError, did_you_mean
from rewardkit.plain import truth_text
from rewardkit.types import Sample, Score, failure

RESPONSE_NAMES = ("response", "responses")
GROUND_TRUTH_NAMES = ("ground_truth", "reward_model.ground_truth")


@dataclass(frozen=True)
class Columns:
    """Names of the columns to read. A dot reaches into a struct: `reward_model.ground_truth`."""

    data_source: str = "data_source"
    response: str | None = None
    """None: `response` or `responses`, whichever is there."""
    ground_truth: str | None = None
    """None: `ground_truth`, or else `reward_model.ground_truth`."""
    prompt: str = "prompt"
    extra_info: str = "extra_info"
    prefix: str = ""
    """Put in front of the names of the score columns."""

    def found_in(self, schema: pa.Schema) -> Columns:
        """Return the same with every None filled in.

        Raises:
            InputError: a column is missing, has a type that cannot be used, or a score column exists already.
        """
        response = self.response or _first(schema, RESPONSE_NAMES) or RESPONSE_NAMES[0]
        ground_truth = self.ground_truth or _first(schema, GROUND_TRUTH_NAMES) or GROUND_TRUTH_NAMES[0]
        _require(schema, self.data_source, "--data-source-key", _is_text, "a string")
        _require(schema, response, "--response-key", _is_responses, "a string or a list of strings")
        _require(schema, ground_truth, "--ground-truth-key", lambda _: True, "anything")
        taken = [name for name in self.score_names() if name in schema.names]
        if taken:
            raise InputError(
                f"the file already has a column '{taken[0]}'; "
                "pass --prefix, for example --prefix new_, to name the score columns differently"
            )
        return Columns(self.data_source, response, ground_truth, self.prompt, self.extra_info, self.prefix)

    def score_names(self) -> list[str]:
        """The names of the score columns, `parts` included."""
        return [self.prefix + name for name in _SCORE_TYPES] + [f"{self.prefix}parts"]


_SCORE_TYPES = {
    "score": pa.float64(),
    "status": pa.string(),
    "correct": pa.bool_(),
    "extracted": pa.string(),
    "detail": pa.string(),
    "scorer": pa.string(),
}


def score_fields(
    columns: Columns, schema: pa.Schema, declared: Iterable[str], scores: Iterable[Score]
) -> list[pa.Field]:
    """The columns that scoring adds: one value a row, or a list where the responses are lists.

    Args:
        declared: the parts that the rewards declare.
        scores: the first scores, from which the parts of rewards that declare none are learned.
    """
    parts = sorted({*declared, *(name for score in scores for name in score.parts)})
    many = _is_list(type_of(schema, columns.response or ""))
    types = dict(_SCORE_TYPES)
    if parts:
        types["parts"] = pa.struct([(name, pa.float64()) for name in parts])
    return [pa.field(columns.prefix + name, pa.list_(t) if many else t) for name, t in types.items()]


@dataclass(frozen=True)
class Rows:
    """The rows of one table as samples. `lengths`: how many responses each row has, None if one each."""

    samples: list[Sample]
    unusable: dict[int, str]
    """Samples that no reward can be asked about, by index, and why."""
    lengths: list[int] | None


def to_rows(
    table: pa.Table, columns: Columns, first_row: int, *, reads: Iterable[str], mark_bad: bool
) -> Rows:
    """Turn a table into samples.

    Args:
        first_row: number of the table's first row in its file, for messages.
        reads: which of `prompt` and `extra_info` any reward wants.
        mark_bad: list null responses and ground truths in `unusable` rather than raise.

    Raises:
        InputError: a null response, a null or NaN ground truth, or a null data source.
    """
    responses = _values(table, columns.response or "")
    lengths = None
    if _is_list(type_of(table.schema, columns.response or "")):
        lengths = [len(r) if r is not None else 1 for r in responses]
        responses = [one for row in responses for one in (row if row is not None else [None])]

    def spread(values: list[Any]) -> list[Any]:
        if lengths is None:
            return values
        return [value for value, n in zip(values, lengths, strict=True) for _ in range(n)]

    sources = spread(_values(table, columns.data_source))
    truths = spread([truth_text(value) for value in _values(table, columns.ground_truth or "")])
    n = len(responses)
    prompts = spread(_optional(table, columns.prompt)) if "prompt" in reads else [None] * n
    extras = spread(_optional(table, columns.extra_info)) if "extra_info" in reads else [None] * n
    unusable = _unusable(sources, responses, truths, columns)
    if unusable and not mark_bad:
        at, why = next(iter(unusable.items()))
        row = first_row + (at if lengths is None else _row_of(at, lengths))
        raise InputError(f"row {row}: {why}; fix it, or pass --bad-rows mark to score the rest")
    samples = [
        Sample(source or "", response or "", truth or "", prompt, extra or {})
        for source, response, truth, prompt, extra in zip(
            sources, responses, truths, prompts, extras, strict=True
        )
    ]
    return Rows(samples, unusable, lengths)


def to_columns(
    scores: Sequence[Score], rows: Rows, fields: Sequence[pa.Field], prefix: str
) -> list[pa.Array]:
    """Turn the scores of `rows.samples` into the columns that `fields` describes."""
    arrays: dict[str, pa.Array] = {
        "score": pa.array([s.score for s in scores], pa.float64()),
        "status": pa.array([s.status for s in scores], pa.string()),
        "correct": pa.array([s.correct for s in scores], pa.bool_()),
        "extracted": pa.array([s.extracted for s in scores], pa.string()),
        "detail": pa.array([s.detail for s in scores], pa.string()),
        "scorer": pa.array([s.scorer or None for s in scores], pa.string()),
    }
    for field in fields:
        if field.name == f"{prefix}parts":
            struct = field.type.value_type if rows.lengths is not None else field.type
            arrays["parts"] = _parts(scores, struct)
    found = [arrays[field.name.removeprefix(prefix)] for field in fields]
    if rows.lengths is None:
        return found
    offsets = [0]
    for n in rows.lengths:
        offsets.append(offsets[-1] + n)
    return [pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), array) for array in found]


def with_unusable(scores: Iterable[Score], rows: Rows) -> list[Score]:
    """Put the failures of the unusable samples over their scores."""
    found = list(scores)
    for at, why in rows.unusable.items():
        found[at] = failure("invalid", why)
    return found


def type_of(schema: pa.Schema, name: str) -> pa.DataType | None:
    """The type of a column, or of a struct's field for a dotted name; None if there is none."""
    if name in schema.names:
        return schema.field(name).type
    head, _, rest = name.partition(".")
    if not rest or head not in schema.names or not pa.types.is_struct(schema.field(head).type):
        return None
    return type_of(pa.schema(list(schema.field(head).type)), rest)


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column, or a struct's field for a dotted name."""
    if name in table.column_names:
        return table.column(name)
    head, *rest = name.split(".")
    return pc.struct_field(table.column(head), rest)


def top_level(name: str, schema: pa.Schema) -> str:
    """The top-level column that holds a possibly dotted name."""
    return name if name in schema.names else name.partition(".")[0]


def _values(table: pa.Table, name: str) -> list[Any]:
    found: list[Any] = column_of(table, name).to_pylist()
    return found


def _optional(table: pa.Table, name: str) -> list[Any]:
    return _values(table, name) if type_of(table.schema, name) is not None else [None] * len(table)


def _unusable(
    sources: list[Any], responses: list[Any], truths: list[Any], columns: Columns
) -> dict[int, str]:
    found = {}
    if None in sources or None in responses or None in truths:
        named = (
            (columns.data_source, sources),
            (columns.response, responses),
            (columns.ground_truth, truths),
        )
        for at in range(len(responses)):
            for name, values in named:
                if values[at] is None:
                    found[at] = f"'{name}' is {'null or NaN' if values is truths else 'null'}"
    return found


def _parts(scores: Sequence[Score], struct: pa.StructType) -> pa.Array:
    names = [field.name for field in struct]
    known = set(names)
    for score in scores:
        if not known.issuperset(score.parts):
            extra = sorted(set(score.parts) - known)
            raise InputError(
                f"reward '{score.scorer}' returned the part '{extra[0]}' now but not for the first rows; "
                "declare it with parts=(...) where the reward is registered"
            )
    arrays = [pa.array([s.parts.get(name) for s in scores], pa.float64()) for name in names]
    return pa.StructArray.from_arrays(arrays, fields=list(struct))


def _row_of(at: int, lengths: list[int]) -> int:
    row = 0
    while at >= lengths[row]:
        at -= lengths[row]
        row += 1
    return row


def _first(schema: pa.Schema, names: Iterable[str]) -> str | None:
    return next((name for name in names if type_of(schema, name) is not None), None)


def _require(schema: pa.Schema, name: str, option: str, fits: Any, wanted: str) -> None:
    found = type_of(schema, name)
    if found is None:
        hint = did_you_mean(name, schema.names)
        raise InputError(
            f"no column '{name}'{hint or '; name it with ' + option}; the file has: {', '.join(schema.names)}"
        )
    if not fits(found):
        raise InputError(f"column '{name}' holds {found}; expected {wanted} (or name another with {option})")


def _is_text(found: pa.DataType) -> bool:
    if pa.types.is_dictionary(found):
        return _is_text(found.value_type)
    return bool(
        pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    )


def _is_list(found: pa.DataType | None) -> bool:
    return bool(
        pa.types.is_list(found) or pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found)
    )


def _is_responses(found: pa.DataType) -> bool:
    return _is_text(found.value_type) if _is_list(found) else _is_text(found)
