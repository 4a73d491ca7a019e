"""Row schema: a single Arrow schema for all single-turn datasets, and checks of the rows.

Datasets build `Row`s, and `writer` writes them to parquet files. `agents` adds the columns of multi-turn
rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rewardkit.errors import InputError

SINGLE_TURN_AGENT = "single_turn_agent"
"""Name of the agent loop for a single question and answer, in verl and in our trainer.

It is always written, because verl silently falls back to a default without it, and because a mix of files
with and without the column would have nulls.
"""

BATCH_ROWS = 4096
BATCH_CHARS = 32 * 2**20
"""Maximum number of characters in a batch, and therefore in a row group, in addition to the maximum number of
rows. This limits memory even if single rows have megabytes of test cases."""

SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        (
            "prompt",
            # Parquet names the items of a list "element". With any other name, the schema that is read back
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
"""Schema shared by all single-turn datasets, so that any two files can be concatenated.

`extra_info` has fields for data that all datasets have (the row's origin, question and worked answer). Data
that only some datasets have (MATH's level and type, AIME's id and url, the starter code of a coding task) is
in the string `metadata`, a JSON object. Separate fields for this data would be null in most rows, and each
new dataset would change the schema, so that older and newer files could not be concatenated. `ground_truth`
is a column for tools that expect it at the top level, and also a field of `reward_model`, where verl reads
it.
"""

IMAGE_SCHEMA = SCHEMA.append(
    pa.field(
        "images",
        pa.list_(pa.field("element", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
    )
)
"""Schema of datasets with images. Each image is stored as the bytes of its file, in the order of the
`<image>` marks in the prompt. `path` is null, because verl and datasets use it only if there are no bytes."""

_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Row:
    """Prompt and the ground truth of its answer. No field is null in the file."""

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
    """Position in the raw split, counted from 0, so that the raw record can be found."""
    question: str
    """Question as published, without instructions."""
    answer: str
    """The dataset's own solution as a response, which must score 1.0 against `ground_truth`, or empty if the
    dataset has no solution."""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Further published data of the row, which must be JSON-ready."""
    alternatives: tuple[str, ...] = ()
    """Further solutions as responses, which are not written to the file. See `verification`."""
    style: str = "rule"
    """Kind of scoring: `rule`, or `model` if no rule can score the row."""
    images: tuple[bytes, ...] | None = None
    """Contents of the image files, one for each `<image>` in the prompt, or None for a text dataset."""

    def as_record(self) -> dict[str, object]:
        """Return the row as a record of `SCHEMA`."""
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
        """Return the approximate number of characters of the row, for bounding memory."""
        images = sum(map(len, self.images or ()))
        return len(self.question) * 2 + len(self.answer) + len(self.ground_truth) * 2 + images


@dataclass(frozen=True, slots=True)
class TextRow:
    """Row with only text columns, for supervised and preference training."""

    columns: Mapping[str, str]

    def as_record(self) -> dict[str, object]:
        """Return the columns as a record."""
        return dict(self.columns)

    def size(self) -> int:
        """Return the approximate number of characters of the row, for bounding memory."""
        return sum(map(len, self.columns.values()))


AnyRow = Row | TextRow


def text_schema(*columns: str) -> pa.Schema:
    """Return the schema of `TextRow`s with these columns."""
    return pa.schema([(column, pa.string()) for column in columns])


def chat(content: str, system: str | None = None) -> tuple[dict[str, str], ...]:
    """Return a prompt with one user message, preceded by a system message if given."""
    user = {"role": "user", "content": content}
    return ({"role": "system", "content": system}, user) if system else (user,)


def validate(row: AnyRow) -> None:
    """Check the texts and roles of a row.

    Raises:
        InputError: The row is not valid. The message names the field, and the expected and actual content.
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
    """Validate rows and collect them into batches of limited size.

    Raises:
        InputError: A row is not valid.
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
