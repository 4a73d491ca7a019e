"""Row schema: one Arrow schema for all single-turn datasets, and the checks of rows.

Contains no dataset and no file: datasets build `Row`s, and `writer` turns them into parquet. `agents` has the
columns of multi-turn rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rewardkit.errors import InputError

SINGLE_TURN_AGENT = "single_turn_agent"
"""Name of a plain question and answer in verl and our trainer. Always written: without it, verl falls back
silently, and a mix of files with and without it has nulls."""

BATCH_ROWS = 4096
BATCH_CHARS = 32 * 2**20
"""Maximum number of characters of a batch, and so of a row group, which also has a maximum number of rows.
Memory stays bounded if single rows have megabytes of test cases."""

SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        (
            "prompt",
            # "element" is parquet's name of a list's item; with any other name, the schema read would differ
            # from the one written.
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
"""Schema of all single-turn datasets, exactly the same so that any two files can be concatenated.

`extra_info` has fields for data that all datasets have (the row's origin, question and worked answer), and
the string `metadata`, a JSON object, for data that only some have (MATH's level and type, AIME's id and url,
the starter code of a coding task). Separate fields for these would be null in most rows, and each new dataset
would change the schema, so that older and newer files could not be concatenated. `ground_truth` is at the top
for tools that read it there, and in `reward_model`, where verl reads it.
"""

IMAGE_SCHEMA = SCHEMA.append(
    pa.field(
        "images",
        pa.list_(pa.field("element", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
    )
)
"""Schema of datasets with images: each as the bytes of its file, in the order of the `<image>` marks in the
prompt. `path` is empty: verl and datasets only use it if there are no bytes."""

_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt and the ground truth of its answer. No field is ever null in the file."""

    data_source: str
    """Data source, which selects the reward."""
    prompt: tuple[dict[str, str], ...]
    """Chat messages, each with `role` and `content`."""
    ability: str
    """Ability that the row exercises: `math`, `code`, ..."""
    ground_truth: str
    """Ground truth; structured ones (test cases, alternatives) are JSON in this string."""
    split: str
    """Split: `train` or `test`."""
    index: int
    """Position in the raw split, counted from 0, so that the row can be found again."""
    question: str
    """The question as published, without instructions."""
    answer: str
    """The dataset's own solution, as a response, which must score 1.0 against `ground_truth`. Empty if there
    is none."""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Further published data of this row; JSON-ready."""
    alternatives: tuple[str, ...] = ()
    """Further solutions, as responses; not in the file. See `verification`."""
    style: str = "rule"
    """Kind of scoring: by a `rule`, or by a `model` if there is no rule."""
    images: tuple[bytes, ...] | None = None
    """Image files, one for each `<image>` in the prompt; None for datasets of text."""

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
        """Return the approximate number of characters of the row, for bounding memory."""
        images = sum(map(len, self.images or ()))
        return len(self.question) * 2 + len(self.answer) + len(self.ground_truth) * 2 + images


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row of text columns only, for supervised and preference training."""

    columns: Mapping[str, str]

    def as_record(self) -> dict[str, object]:
        """Return the columns."""
        return dict(self.columns)

    def size(self) -> int:
        """Return the approximate number of characters of the row, for bounding memory."""
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
    """Check a row.

    Raises:
        InputError: names the field, the expected and the actual content.
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
    """Validate rows and collect them into batches of bounded size.

    Raises:
        InputError: a row is not valid.
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
