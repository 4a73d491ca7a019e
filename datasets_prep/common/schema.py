"""Defines the Arrow schema that all single-turn datasets share, and checks rows.

Datasets create `Row` objects, and `writer` writes them to parquet files. `agents` adds the columns for
multi-turn rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rewardkit.errors import InputError

SINGLE_TURN_AGENT = "single_turn_agent"
"""Name of the agent loop for a single question and answer, in verl and in rewardkit's trainer.

The name is always written. Without it, verl silently falls back to a default, and a mix of files with and
without the column would contain nulls.
"""

BATCH_ROWS = 4096
BATCH_CHARS = 32 * 2**20
"""Number of characters after which a batch, and thus a row group, ends even if it has fewer than `BATCH_ROWS`
rows. This limits memory if rows contain megabytes of test cases."""

SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        (
            "prompt",
            # Parquet names list items "element", so any other name would change when the file is read back.
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
"""Schema shared by all single-turn datasets, so that any two files can be concatenated.

`extra_info` has fields for data that all datasets have (the row's origin, question and worked answer). Data
that only some datasets have (the level and type in MATH, the id and url in AIME, the starter code of a coding
task) is encoded as a JSON object in the string `metadata`. Separate fields for this data would be null in
most rows, and each new dataset would change the schema, which would prevent older and newer files from being
concatenated. The ground truth is stored in the column `ground_truth`, for tools that expect it at the top
level, and in `reward_model`, where verl reads it.
"""

IMAGE_SCHEMA = SCHEMA.append(
    pa.field(
        "images",
        pa.list_(pa.field("element", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
    )
)
"""Schema for datasets with images. Each image is stored as the bytes of its file, in the order of the
`<image>` marks in the prompt. For these images, `path` is null, because verl and `datasets` use the path only
if there are no bytes."""

MESSAGES = SCHEMA.field("prompt").type
"""Type of a column with chat messages."""
_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a single-turn dataset, with a prompt and its ground truth. No field is null in the file."""

    data_source: str
    """Data source, which selects the reward."""
    prompt: tuple[dict[str, str], ...]
    """Chat messages, each with `role` and `content`."""
    ability: str
    """Ability that the row exercises, such as `math` or `code`."""
    ground_truth: str
    """Ground truth. Structured ground truths (test cases, alternatives) are encoded as JSON."""
    split: str
    """Name of the split, such as `train` or `test`."""
    index: int
    """Zero-based position in the raw split, for finding the raw record."""
    question: str
    """Question as published, without instructions."""
    answer: str
    """Reference solution in the form of a response, or empty if the dataset has none. It must score 1.0
    against `ground_truth`."""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Additional published values, which must be JSON-ready."""
    alternatives: tuple[str, ...] = ()
    """Additional solutions in the form of responses. They are not written to the file (see
    `verification`)."""
    style: str = "rule"
    """Kind of scoring: `rule`, or `model` for rows that no rule can score."""
    images: tuple[bytes, ...] | None = None
    """Contents of the image files, one for each `<image>` in the prompt, or None in a text dataset."""

    def as_record(self) -> dict[str, object]:
        """Return the row as a record that matches `SCHEMA`, or `IMAGE_SCHEMA` if the row has images."""
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
        """Return the approximate number of characters in the row, which is used to limit memory."""
        images = sum(map(len, self.images or ()))
        return len(self.question) * 2 + len(self.answer) + len(self.ground_truth) * 2 + images


Messages = tuple[dict[str, str], ...]
"""Chat messages, each with `role` and `content`."""


@dataclass(frozen=True, slots=True)
class TextRow:
    """Row whose columns are texts or chat messages, for supervised and preference training."""

    columns: Mapping[str, str | Messages]

    def as_record(self) -> dict[str, object]:
        """Return the row as a record."""
        return dict(self.columns)

    def size(self) -> int:
        """Return the approximate number of characters in the row, which is used to limit memory."""
        return sum(
            len(value) if isinstance(value, str) else sum(len(message["content"]) for message in value)
            for value in self.columns.values()
        )


AnyRow = Row | TextRow


def chat(content: str, system: str | None = None) -> tuple[dict[str, str], ...]:
    """Create a prompt with a single user message, preceded by a system message if one is given."""
    user = {"role": "user", "content": content}
    return ({"role": "system", "content": system}, user) if system else (user,)


def validate(row: AnyRow) -> None:
    """Check the texts in a row and the roles in its prompt.

    Raises:
        InputError: The row is invalid. The error message names the field and the problem.
    """
    if isinstance(row, TextRow):
        for name, value in row.columns.items():
            _check_text(name, value) if isinstance(value, str) else _check_messages(name, value)
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
    _check_messages("prompt", row.prompt)


def _check_messages(name: str, messages: Messages) -> None:
    if not messages:
        raise InputError(f"the {name} must have at least one message")
    for message in messages:
        if message.get("role") not in _ROLES:
            raise InputError(
                f"the role of a message must be one of {', '.join(_ROLES)}, not {message.get('role')!r}"
            )
        _check_text(f"{name} content", message.get("content"))


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
    """Convert rows that passed `validate` to an Arrow batch."""
    return pa.RecordBatch.from_pylist([row.as_record() for row in rows], schema=schema)


def to_batches(rows: Iterable[AnyRow], schema: pa.Schema = SCHEMA) -> Iterator[pa.RecordBatch]:
    """Validate rows and collect them into batches of limited size.

    Raises:
        InputError: A row is invalid.
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
