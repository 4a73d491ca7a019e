"""Converts blocks of a user's columns to batches in the common schema, column by column."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rewardkit.datasets_prep.common.prompts import pieces
from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.schema import IMAGE_SCHEMA, SCHEMA, SINGLE_TURN_AGENT
from rewardkit.datasets_prep.common.verification import all_numbers, refused
from rewardkit.datasets_prep.custom.blocks import RowBlock, Values
from rewardkit.datasets_prep.custom.extractors import Expression
from rewardkit.datasets_prep.custom.mapping import CHOICES, Columns
from rewardkit.datasets_prep.custom.parts import is_something
from rewardkit.datasets_prep.custom.sources import RowSource
from rewardkit.errors import InputError
from rewardkit.files.arrow_values import in_python
from rewardkit.messages import content_of, whole_text
from rewardkit.rows import ground_truth_text, plain, value_at
from rewardkit.scoring.scorer import Scorer
from rewardkit.tables import is_list

_PROMPT = SCHEMA.field("prompt").type
_MESSAGE = _PROMPT.value_type
_MODEL = SCHEMA.field("reward_model").type
_INFO = SCHEMA.field("extra_info").type
_IMAGES = IMAGE_SCHEMA.field("images").type
_SHOWN = 40
_EXPECTED = (
    "the answer (--map \"ground_truth=COLUMN|json('KEY')\"), or another reward "
    "(--data-source-key COLUMN if a column names it)"
)
"""Advice in the error message about a ground truth that is a JSON object."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Instruction text that is added to every question."""

    system: str
    instruction: str
    template: str | None


def batches(
    blocks: Iterator[RowBlock], columns: Columns, wording: Wording, split: str, bad: BadRows
) -> Iterator[pa.RecordBatch]:
    """Yield a batch for each block, without the bad rows.

    Raises:
        InputError: A row is bad and bad rows are not skipped, or no row can be used.
    """
    none_good = True
    with Scorer() as scorer:
        for block in blocks:
            columns.lose(block.others)
            made = _batch(block, columns, wording, split, bad, scorer)
            none_good = none_good and not made.num_rows
            if made.num_rows:
                yield made
    if none_good and bad.first:
        raise InputError(f"no row of split '{split}' can be used; the first reason: {bad.first[0]}")


def _batch(
    block: RowBlock, columns: Columns, wording: Wording, split: str, bad: BadRows, scorer: Scorer
) -> pa.RecordBatch:
    values = {name: block.columns.get(name, [None] * len(block.numbers)) for name in columns.roots}
    if columns.mix:
        columns.sources.seen.update(_seen(values[columns.mix]))
        if any(map(is_something, _listed(values[columns.mix]))):
            columns.lose((columns.mix,))
    chats = _chats(values, columns.fields["question"])
    made = {target: _texts(values, e) for target, e in columns.fields.items() if target != "question"}
    asked = columns.fields["question"]
    made["question"] = (
        _questions(values, asked) if chats is None else _as_text([_last_user(c) for c in _listed(chats)])
    )
    unfit = _complete(columns, values, made, block.folder) if chats is None and columns.parts.columns else {}
    if "answer" in made:
        made["answer"] = _first_answers(values, columns.fields["answer"], made["answer"])
    named = _sources(values, columns, len(block.numbers))
    unfit = {**_refused(made, columns, values, named, scorer), **unfit}
    good = _good(block, made, columns, values, bad, unfit)
    if good is not None:
        named = [source for source, kept in zip(named, good.to_pylist(), strict=True) if kept]
        made = {target: array.filter(good) for target, array in made.items()}
        values = {name: _filtered(found, good) for name, found in values.items()}
        chats = _filtered(chats, good) if chats is not None else None
    indices = pa.array(block.numbers, pa.int64())
    indices = pc.add(indices if good is None else indices.filter(good), block.before)
    sources = [source for source in named if isinstance(source, RowSource)]
    return _assembled(made, values, chats, indices, columns, wording, split, sources)


def _complete(
    columns: Columns, values: dict[str, Values], made: dict[str, pa.Array], folder: Path | None
) -> dict[int, str]:
    """Add the parts of the questions to `made` and `values`.

    Returns:
        Mapping of row indices to reasons, for the rows whose parts cannot be used.
    """
    parts = columns.parts
    held = {name: list(map(plain, _listed(values[name]))) for name in parts.columns if name != parts.images}
    if parts.images is not None:
        held[parts.images] = _listed(values[parts.images])
    questions, truths = (made[target].to_pylist() for target in ("question", "ground_truth"))
    one = columns.sources.one
    lettered = bool(parts.choices) and one is not None and one.reward == "choice"
    options: list[list[str] | None] = [None] * len(questions)
    pictures: list[list[dict[str, Any]] | None] = [None] * len(questions)
    unfit: dict[int, str] = {}
    for row, question in enumerate(questions):
        cells = {name: found[row] for name, found in held.items()}
        try:
            if question is not None:
                questions[row] = parts.asked(question, cells)
            if parts.choices:
                options[row] = [text for _, text in parts.options(cells)]
            if lettered and truths[row] is not None:
                truths[row] = parts.letter(cells, truths[row])
            pictures[row] = parts.pictures(cells, folder)
        except ValueError as error:
            unfit[row] = str(error)
    made["question"], made["ground_truth"] = (pa.array(texts, pa.string()) for texts in (questions, truths))
    if parts.choices:
        values[CHOICES] = options
    if parts.images is not None:
        values[parts.images] = pictures
    return unfit


def _sources(values: dict[str, Values], columns: Columns, rows: int) -> list[RowSource | str]:
    """Return the data source of each row, or the reason why a row has no data source."""
    column = columns.sources.column
    words = [None] * rows if column is None else _texts(values, column).to_pylist()
    return [columns.sources.of(word) for word in words]


def _seen(words: Values) -> set[str]:
    """Return the distinct short strings in a column."""
    texts = words.unique().to_pylist() if isinstance(words, pa.Array) else words
    return {word for word in texts if isinstance(word, str) and len(word) < _SHOWN}


def _assembled(
    made: dict[str, pa.Array],
    values: dict[str, Values],
    chats: Values | None,
    indices: pa.Array,
    columns: Columns,
    wording: Wording,
    split: str,
    sources: Sequence[RowSource],
) -> pa.RecordBatch:
    rows = len(indices)
    question = made["question"]
    ground_truth = made["ground_truth"]
    if chats is None:
        fields = {**values, "question": question, "instruction": wording.instruction}
        apart = "\n\n" if columns.parts.choices else " "
        prompt = _prompts(_wording(wording, fields, question, apart), wording.system)
    else:
        prompt = pa.array([_messages(chat, wording.system) for chat in chats], _PROMPT)
    answer = made.get("answer")
    if answer is None:
        answer = _as_responses(ground_truth, columns, sources)
    info = [pa.repeat(split, rows), indices, question, answer, _metadata(values, columns.kept, rows)]
    arrays = {
        "data_source": pa.array([source.data_source for source in sources], pa.string()),
        "prompt": prompt,
        "ability": pa.repeat(columns.ability, rows),
        "ground_truth": ground_truth,
        "reward_model": _struct(_MODEL, [pa.repeat("rule", rows), ground_truth]),
        "agent_name": pa.repeat(SINGLE_TURN_AGENT, rows),
        "extra_info": _struct(_INFO, info),
    }
    if columns.parts.images is not None:
        arrays["images"] = pa.array(_listed(values[columns.parts.images]), _IMAGES)
    return pa.RecordBatch.from_arrays([arrays[name] for name in columns.schema.names], schema=columns.schema)


def _texts(values: dict[str, Values], expression: Expression) -> pa.Array:
    """Return the values of an expression as strings, or null if a cell is null or a step finds nothing."""
    texts = _as_text(_column(values, expression.column))
    if not expression.steps:
        return texts
    return pa.array(expression.values(texts.to_pylist()), pa.string())


def _questions(values: dict[str, Values], expression: Expression) -> pa.Array:
    """Return the questions as strings. Without steps in the expression, objects and lists become null."""
    texts = _texts(values, expression)
    found = _column(values, expression.column)
    if expression.steps or (isinstance(found, pa.Array) and not pa.types.is_nested(found.type)):
        return texts
    pairs = zip(map(plain, _listed(found)), texts.to_pylist(), strict=True)
    return pa.array([None if isinstance(v, list | dict) else text for v, text in pairs], pa.string())


def _first_answers(values: dict[str, Values], expression: Expression, texts: pa.Array) -> pa.Array:
    """Return the answer in each row. If a cell contains a list of solutions, use the first solution."""
    found = _column(values, expression.column)
    if expression.steps or (isinstance(found, pa.Array) and not is_list(found.type)):
        return texts
    listed = [next(iter(v), None) if isinstance(v, list) else None for v in map(plain, _listed(found))]
    pairs = zip(listed, texts.to_pylist(), strict=True)
    return pa.array([v if isinstance(v, str) else text for v, text in pairs], pa.string())


def _as_responses(ground_truth: pa.Array, columns: Columns, sources: Sequence[RowSource]) -> pa.Array:
    """Format the ground truths as responses. Ground truths that are not answers become empty strings."""
    one = columns.sources.one
    if one is None:
        pairs = zip(sources, ground_truth.to_pylist(), strict=True)
        return pa.array([source.as_response(ground_truth) for source, ground_truth in pairs], pa.string())
    if one.response is None:
        return pa.repeat("", len(ground_truth))
    head, _, tail = one.response.format("\0").partition("\0")
    return _joined([head, ground_truth, tail])


def _column(values: dict[str, Values], name: str) -> Values:
    """Return a column. For a name such as `a.b`, return the values of `b` in the objects in column `a`."""
    if name in values:
        return values[name]
    root = name.split(".")[0]
    return [value_at({root: plain(value)}, name) for value in _listed(values[root])]


def _as_text(values: Values) -> pa.Array:
    if isinstance(values, pa.Array):
        if pa.types.is_string(values.type):
            return values
        if pa.types.is_integer(values.type) or pa.types.is_large_string(values.type):
            return values.cast(pa.string())
    texts = [_clean(ground_truth_text(value)) for value in _listed(values)]
    return pa.array(texts, pa.string())


def _clean(text: str | None) -> str | None:
    """Return the text, or None if a lone surrogate in the text prevents writing."""
    try:
        if text is not None:
            text.encode()
    except UnicodeEncodeError:
        return None
    return text


def _good(
    block: RowBlock,
    made: dict[str, pa.Array],
    columns: Columns,
    values: dict[str, Values],
    bad: BadRows,
    unfit: dict[int, str],
) -> pa.Array | None:
    """Return a mask of the usable rows, or None if all rows are usable. Bad rows are counted in `bad`."""
    bad_rows: dict[int, str] = dict.fromkeys(unfit, "ground_truth")
    for target, array in made.items():
        blank = pc.or_kleene(pc.equal(pc.binary_length(array), 0), pc.utf8_is_space(array))
        nothing = pc.fill_null(blank, True)
        if not pc.any(nothing).as_py():
            continue
        for row in pc.indices_nonzero(nothing).to_pylist():
            bad_rows.setdefault(row, target)
    if not bad_rows:
        return None
    for row, target in sorted(bad_rows.items()):
        why = unfit.get(row) or _why(columns.fields[target], values, row)
        bad.add(InputError(f"{block.where(row)}: {why}"))
    return pa.array([row not in bad_rows for row in range(len(block.numbers))])


def _refused(
    made: dict[str, pa.Array],
    columns: Columns,
    values: dict[str, Values],
    named: Sequence[RowSource | str],
    scorer: Scorer,
) -> dict[int, str]:
    """Return the rows for which no response can be scored, as a mapping of row indices to reasons."""
    one = columns.sources.one
    if one is not None and all_numbers(one.reward, made["ground_truth"]):
        return {}
    found = {row: why for row, why in enumerate(named) if isinstance(why, str)}
    metadata = _metadata(values, columns.kept, len(named)).to_pylist()
    texts = zip(named, made["ground_truth"].to_pylist(), metadata, strict=True)
    rows = (
        (row, source.reward, ground_truth or "", kept)
        for row, (source, ground_truth, kept) in enumerate(texts)
        if isinstance(source, RowSource) and (ground_truth or source.reward == "code")
    )
    return found | refused(rows, scorer, _EXPECTED)


def _why(expression: Expression, values: dict[str, Values], row: int) -> str:
    root = expression.column if expression.column in values else expression.column.split(".")[0]
    value = values[root][row]
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    if value is None or (isinstance(value, str) and not value.strip()):
        kind = "missing or null" if value is None else "empty"
        return f"'{expression.column}' is {kind}"
    return f"{expression.text} does not match {str(value)[-_SHOWN:]!r}"


def _wording(wording: Wording, fields: dict[str, Any], question: pa.Array, apart: str) -> pa.Array:
    """Return the user messages. Without a template, `apart` separates the question from the instruction."""
    if wording.template is None:
        return _joined([question, f"{apart}{wording.instruction}"]) if wording.instruction else question
    parts: list[Any] = []
    for literal, name in pieces(wording.template, fields):
        parts.append(literal)
        if name is not None:
            value = fields[name]
            parts.append(value if isinstance(value, str) else pc.fill_null(_as_text(value), ""))
    return pc.utf8_trim_whitespace(_joined(parts))


def _joined(parts: Sequence[Any]) -> pa.Array:
    """Concatenate strings and string columns row by row."""
    kept = [part for part in parts if not (isinstance(part, str) and not part)]
    return pc.binary_join_element_wise(*kept, "") if len(kept) > 1 else kept[0]


def _prompts(contents: pa.Array, system: str) -> pa.Array:
    rows = len(contents)
    roles = pa.repeat("user", rows)
    offsets = pa.array(range(rows + 1), pa.int32())
    if system:
        texts = pa.concat_arrays([contents, pa.array([system])])
        order = pa.array([place for row in range(rows) for place in (rows, row)], pa.int64())
        contents = texts.take(order)
        roles = pa.concat_arrays([roles, pa.array(["system"])]).take(order)
        offsets = pa.array(range(0, 2 * rows + 1, 2), pa.int32())
    return pa.ListArray.from_arrays(offsets, _struct(_MESSAGE, [roles, contents]), type=_PROMPT)


def _chats(values: dict[str, Values], expression: Expression) -> Values | None:
    """Return the chats in the question's column, or None if the column contains strings."""
    found = values.get(expression.column)
    if isinstance(found, pa.Array) and pa.types.is_list(found.type):
        return list(found.to_pylist())
    if isinstance(found, list) and any(isinstance(value, list) for value in found[:1]):
        return found
    return None


_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant"}
"""Roles by their names in the ShareGPT format."""


def _last_user(chat: Any) -> str | None:
    said = _asked(chat)
    return said[-1]["content"] if said else None


def _asked(chat: Any) -> list[dict[str, str]]:
    """Return the messages in a chat before the assistant's final replies.

    The final replies are the answer.
    """
    if isinstance(chat, str):
        return [{"role": "user", "content": chat}]
    said = [_role_and_text(message) for message in chat or ()]
    while said and said[-1][0] == "assistant":
        said.pop()
    if not said or said[-1][0] not in ("user", "tool"):
        return []
    messages = [{"role": role, "content": text} for role, text in said if role and text is not None]
    return messages if len(messages) == len(said) else []


def _role_and_text(message: Any) -> tuple[str, str | None]:
    """Return the role and text of a message with the keys `role` and `content`, or `from` and `value`."""
    if not isinstance(message, dict):
        return "", None
    role = message.get("role", message.get("from"))
    return _ROLES.get(str(role), str(role)), whole_text(content_of(message))


def _messages(chat: Any, system: str) -> list[dict[str, str]]:
    messages = _asked(chat)
    if system:
        rest = [m for m in messages if m["role"] != "system"]
        messages = [{"role": "system", "content": system}, *rest]
    return messages


def _metadata(values: dict[str, Values], keep: Sequence[str], rows: int) -> pa.Array:
    if not keep:
        return pa.repeat("{}", rows)
    columns = [_listed(_column(values, name)) for name in keep]
    return pa.array(
        [
            json.dumps(dict(zip(keep, map(plain, row), strict=True)), sort_keys=True, ensure_ascii=False)
            for row in zip(*columns, strict=True)
        ],
        pa.string(),
    )


def _filtered(values: Values, good: pa.Array) -> Values:
    if isinstance(values, pa.Array):
        return values.filter(good)
    return [value for value, kept in zip(values, good.to_pylist(), strict=True) if kept]


def _listed(values: Values) -> list[Any]:
    return in_python(values) if isinstance(values, pa.Array) else values


def _struct(kind: pa.StructType, arrays: list[pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(arrays, fields=list(kind))
