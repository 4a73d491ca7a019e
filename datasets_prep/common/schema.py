"""The Row contract: one Arrow schema for every single-turn dataset, and what makes a row fit for it.

No dataset and no file lives here: datasets build `Row`s, `writer` turns them into parquet. The columns of
multi-turn sets are in `agents`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rewardkit.errors import InputError

SINGLE_TURN_AGENT = "single_turn_agent"
"""The name by which verl and our trainer know a plain question and answer. Always written: a file without
it makes verl fall back silently, and a mix of files with and without it null-fills."""

BATCH_ROWS = 4096
BATCH_CHARS = 32 * 2**20
"""A batch, and so a row group, is closed when it holds this many rows or characters, whichever comes first:
memory stays bounded when single rows hold megabytes of test cases."""

SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        (
            "prompt",
            # "element" is what parquet calls a list's item; with any other name the schema read back
            # would differ from the schema written.
            pa.list_(pa.field("element", pa.struct([("role", pa.string()), ("content", pa.string())]))),
        ),
        ("ability", pa.string()),
        ("ground_truth", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        ("agent_name", pa.string()),
        (
            "extra_info",
            pa.struct(
                [
                    ("split", pa.string()),
                    ("index", pa.int64()),
                    ("question", pa.string()),
                    ("answer", pa.string()),
                    ("metadata", pa.string()),
                ]
            ),
        ),
    ]
)
"""The schema of every single-turn dataset, the same to the letter, so that any two files concatenate.

`extra_info` holds what every set has (where the row came from, its question, its own worked answer) as
fields, and what only some have (MATH's level and type, AIME's id and url, a coding task's starter code) as
one JSON object in the string `metadata`. Fields of their own would be null in most rows, and each new set
would change the schema, after which files written before and after no longer concatenate: that is the
failure users of per-set structs report. `ground_truth` stands at the top for tools that look there and
within `reward_model` where verl looks.
"""

IMAGE_SCHEMA = SCHEMA.append(
    pa.field(
        "images",
        pa.list_(pa.field("element", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
    )
)
"""The schema of sets with images: each as the bytes of its file, in the order of the `<image>` marks in the
prompt. `path` is empty: verl and datasets look at it where there are no bytes."""

_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt and what its answer is scored against. No field is ever null in the file."""

    data_source: str
    """Chooses the reward."""
    prompt: tuple[dict[str, str], ...]
    """Chat messages, each with `role` and `content`."""
    ability: str
    """What the row exercises: `math`, `code`, ..."""
    ground_truth: str
    """Structured ones (test cases, alternatives) are JSON in this string."""
    split: str
    """`train` or `test`."""
    index: int
    """Position in the raw split, counted from 0, so that the row can be found again."""
    question: str
    """The question as published, without instructions."""
    answer: str
    """The set's own solution, as a response: it must score 1.0 against `ground_truth`. Empty if
    there is none."""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Whatever else the set says of this row; JSON-ready."""
    alternatives: tuple[str, ...] = ()
    """Further solutions, as responses; not in the file. See `verification`."""
    style: str = "rule"
    """What scores: a `rule`, or a `model` where there is no rule."""
    images: tuple[bytes, ...] | None = None
    """Image files, one for each `<image>` in the prompt; None for sets of text."""

    def as_record(self) -> dict[str, object]:
        """Return the row in the shape of `SCHEMA`."""
        record: dict[str, object] = {
            "data_source": self.data_source,
            "prompt": self.prompt,
            "ability": self.ability,
            "ground_truth": self.ground_truth,
            "reward_model": {"style": self.style, "ground_truth": self.ground_truth},
            "agent_name": SINGLE_TURN_AGENT,
            "extra_info": {
                "split": self.split,
                "index": self.index,
                "question": self.question,
                "answer": self.answer,
                "metadata": json.dumps(self.metadata, sort_keys=True, ensure_ascii=False, default=str),
            },
        }
        if self.images is not None:
            record["images"] = [{"bytes": image, "path": None} for image in self.images]
        return record

    def size(self) -> int:
        """Return about how many characters the row holds, for bounding memory."""
        images = sum(map(len, self.images or ()))
        return len(self.question) * 2 + len(self.answer) + len(self.ground_truth) * 2 + images


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row of text columns alone, as supervised and preference training read them."""

    columns: Mapping[str, str]

    def as_record(self) -> dict[str, object]:
        """Return the columns."""
        return dict(self.columns)

    def size(self) -> int:
        """Return about how many characters the row holds, for bounding memory."""
        return sum(map(len, self.columns.values()))


AnyRow = Row | TextRow


def text_schema(*columns: str) -> pa.Schema:
    """Return the schema of `TextRow`s with these columns."""
    return pa.schema([(column, pa.string()) for column in columns])


def chat(content: str, system: str | None = None) -> tuple[dict[str, str], ...]:
    """Return a prompt of one user message, after a system message if one is given."""
    user = {"role": "user", "content": content}
    return ({"role": "system", "content": system}, user) if system else (user,)


def validate(row: AnyRow) -> None:
    """Check that a row keeps the contract.

    Raises:
        InputError: names the field, what was expected and what was found.
    """
    if isinstance(row, TextRow):
        for name, text in row.columns.items():
            _check_text(name, text)
        return
    texts = {
        "data_source": row.data_source,
        "ability": row.ability,
        "ground_truth": row.ground_truth,
        "split": row.split,
        "question": row.question,
    }
    for name, text in texts.items():
        _check_text(name, text)
    _check_text("answer", row.answer, may_be_empty=True)
    if not row.prompt:
        raise InputError("the prompt must have at least one message")
    for message in row.prompt:
        if message.get("role") not in _ROLES:
            raise InputError(
                f"the role of a message must be one of {', '.join(_ROLES)}, not {message.get('role')!r}"
            )
        _check_text("prompt content", message.get("content"))


def _check_text(name: str, text: object, *, may_be_empty: bool = False) -> None:
    if not isinstance(text, str):
        raise InputError(f"{name} must be a string, not {type(text).__name__}")
    if not may_be_empty and not text.strip():
        raise InputError(f"{name} is empty")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} is not valid Unicode at character {error.start} (half a surrogate pair)"
        ) from None


def to_batch(rows: Sequence[AnyRow], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Return rows that passed `validate` as one Arrow batch."""
    return pa.RecordBatch.from_pylist([row.as_record() for row in rows], schema=schema)


def to_batches(rows: Iterable[AnyRow], schema: pa.Schema = SCHEMA) -> Iterator[pa.RecordBatch]:
    """Validate rows and gather them into batches of bounded size.

    Raises:
        InputError: a row breaks the contract.
    """
    held: list[AnyRow] = []
    characters = 0
    for row in rows:
        validate(row)
        held.append(row)
        characters += row.size()
        if len(held) >= BATCH_ROWS or characters >= BATCH_CHARS:
            yield to_batch(held, schema)
            held = []
            characters = 0
    if held:
        yield to_batch(held, schema)
