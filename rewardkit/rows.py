"""Conversion of rows to Samples. Fields are found under their various names, and their values are converted.

This module reads rows from files, trainers' columns, requests and the trainer's own data. It works on names
and plain values; `rewardkit.tables` finds the same names in Arrow tables.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from msgspec.structs import replace

from rewardkit.errors import NoResponseError
from rewardkit.messages import content_of, messages_in, plain_message
from rewardkit.model_api.answers import (
    conversation_text,
    is_answers,
    is_call,
    is_content,
    is_conversation,
    said_in,
    texts_of,
    unknown_shape,
)
from rewardkit.types import Message, Sample, failure

DATA_SOURCE = ("data_source",)
RESPONSE = (
    *("response", "responses", "completion", "completions", "output", "generation", "generations"),
    *(
        "generated_text",
        "model_output",
        "model_outputs",
        "model_response",
        "model_completion",
        "llm_response",
    ),
    *(
        "response_text",
        "completion_text",
        "output_text",
        "output_response",
        "generated",
        "generated_response",
    ),
)
GROUND_TRUTH = (
    *("ground_truth", "reward_model.ground_truth", "reward_spec.ground_truth", "extra_env_info.ground_truth"),
    *("gold", "gold_answer", "golden_answer", "golden_answers", "gt", "gts", "gt_answer", "expected_answer"),
    *("reference_answer", "correct_answer", "standard_answer", "true_answer", "answer_value", "target"),
    *("answer", "solution"),
)
PROMPT = ("prompt", "input")
EXTRA_INFO = ("extra_info",)
GROUP = "prompt_id"
"""Names of each field, in order of precedence. The first name that a table or row has is used. A dot in a
name separates a struct from its field. `logs.naming` lists less clear names, which occur in third-party
logs."""
PAIRS = "pairs"
"""Data source of preference pairs whose rows name none, and the name of the subset of such pairs."""
AUDIT = "audit"
"""Name of the `extra_info` field in which `rewardkit audit --flag` lists the flags from `FLAGS` of a row."""
FLAGS = ("weak_tests", "pays_constant", "denies_reference")
"""Flags of rows. `weak_tests`: a wrong program passes the tests. `pays_constant`: the reward pays a constant
response. `denies_reference`: the reward does not pay the reference solution."""
IMAGES = ("images", "image")
"""Usual names of image columns."""
MEDIA = (*IMAGES, "videos", "video", "audio", "audios")
"""Usual names of image, video and audio columns."""


class Fields(NamedTuple):
    """Field values of one row, before conversion."""

    response: Any
    """One response or several responses, each a text or chat messages."""
    ground_truth: Any = None
    prompt: Any = None
    data_source: Any = None
    extra_info: Any = None
    group: Any = None
    """Value shared by all responses to one prompt, or None if the row has no such value."""


@dataclass(frozen=True, slots=True)
class RowNames:
    """Names of the fields in one table. The value is None for a field that the table does not have."""

    data_source: str | None = None
    response: str | None = None
    ground_truth: str | None = None
    prompt: str | None = None
    extra_info: str | None = None
    choices: str | None = None
    """Name of a separate column with the options of a multiple-choice question."""
    group: str | None = None
    """Name of a separate column that identifies the prompt."""

    def read(self, row: Any) -> Fields:
        """Return the values that a row has in the fields with these names."""
        extra_info = value_at(row, self.extra_info)
        if self.choices is not None:
            extra_info = {"choices": value_at(row, self.choices), **plain_mapping(extra_info)}
        return Fields(
            value_at(row, self.response),
            value_at(row, self.ground_truth),
            value_at(row, self.prompt),
            value_at(row, self.data_source),
            extra_info,
            value_at(row, self.group),
        )


def find_names(has: Callable[[str], bool]) -> RowNames:
    """Return the names of the fields in a table or row.

    Args:
        has: Function that returns True if the table or row has a given name.
    """
    return RowNames(
        data_source=first_of(DATA_SOURCE, has),
        response=first_of(RESPONSE, has),
        ground_truth=first_of(GROUND_TRUTH, has),
        prompt=first_of(PROMPT, has),
        extra_info=first_of(EXTRA_INFO, has),
        group=first_of((GROUP,), has),
    )


def first_of(names: Sequence[str], has: Callable[[str], bool]) -> str | None:
    """Return the first of the names for which `has` is true, or None."""
    return next((name for name in names if has(name)), None)


def has_value(row: Any, name: str) -> bool:
    """Return True if a row has a field with this name, even if the value is null. `a.0.b` reaches into
    lists."""
    if _holds(row, name):
        return True
    head, dot, rest = name.partition(".")
    return bool(dot) and _holds(row, head) and has_value(_member(row, head), rest)


def value_at(row: Any, name: str | None) -> Any:
    """Return the row's value for a possibly dotted name, or None if it has none. `a.0.b` reaches into
    lists."""
    if name is None:
        return None
    if _holds(row, name):
        return _member(row, name)
    head, dot, rest = name.partition(".")
    return value_at(_member(row, head), rest) if dot and _holds(row, head) else None


def values_at(rows: Sequence[Any], name: str) -> list[Any]:
    """Return the value of a possibly dotted name in each row, as `value_at` does."""
    head, dot, rest = name.partition(".")
    if not set(map(type, rows)) <= {dict} or (dot and any(name in row for row in rows)):
        return [value_at(row, name) for row in rows]
    if not dot:
        return [row.get(name) for row in rows]
    return values_at([row.get(head) for row in rows], rest)


def _holds(holder: Any, key: str) -> bool:
    if isinstance(holder, (dict, Mapping)):  # for dicts, this is four times as fast as `Mapping` alone
        return key in holder
    is_place = isinstance(holder, list | tuple) and key.isascii() and key.isdecimal()
    return is_place and int(key) < len(holder)


def _member(holder: Any, key: str) -> Any:
    return holder[key] if isinstance(holder, (dict, Mapping)) else holder[int(key)]


def to_sample(data_source: Any, response: Any, ground_truth: Any, prompt: Any, extra_info: Any) -> Sample:
    """Create a Sample from one row's values, which may have any types. Missing texts become empty texts.

    Raises:
        NoResponseError: The response contains nothing that the model wrote (see `response_text`).
    """
    return Sample(
        "" if data_source is None else str(data_source),
        response_text(response) or "",
        ground_truth_text(ground_truth) or "",
        prompt_of(prompt),
        plain_mapping(extra_info),
    )


def sample_of(data_source: Any, response: Any, ground_truth: Any, prompt: Any, extra_info: Any) -> Sample:
    """Create a Sample from one row's values, as `to_sample` does.

    If the row does not have exactly one response, the Sample has a known Score with status `invalid`.
    """
    try:
        several = responses_of(response)
        text = response_text(response)
        why = "the response is null" if text is None else ""
        if several and len(several) > 1:
            why = f"the sample has {len(several)} responses; expected one response"
    except NoResponseError as error:
        text, why = None, str(error)
    sample = to_sample(data_source, text, ground_truth, prompt, extra_info)
    return replace(sample, known=failure("invalid", why)) if why else sample


def ground_truth_text(value: Any) -> str | None:
    """Return a ground truth as the string that rewards expect. None and NaN give None.

    A text is returned unchanged, a number is written in decimal (a whole number without `.0`), and any other
    value is encoded as JSON.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return _decimal_text(value)
    value = plain(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return json.dumps(value, ensure_ascii=False)


def response_text(value: Any) -> str | None:
    """Return the text that the model wrote. None and NaN give None.

    The value may be a text, a message's content, chat messages (all texts from the assistant are returned) or
    an API response. Tool calls in the last message are returned as JSON. Earlier calls are left out, since
    they have been answered.

    Raises:
        NoResponseError: The value contains nothing that the model wrote. It is an API error, has only
            messages from other roles, or has an unknown shape.
    """
    if value is None or isinstance(value, str):
        return value
    is_data = isinstance(value, Mapping | list | tuple | bytes) or hasattr(value, "tolist")
    held = plain(value) if is_data else value  # `plain` would convert any other object to a text
    if isinstance(held, float) and math.isnan(held):
        return None  # pandas represents a missing value as NaN
    if isinstance(held, Mapping):
        return texts_of(held)[0]
    if isinstance(held, list):
        return _list_text(held)
    if isinstance(held, str):
        return held
    raise NoResponseError(unknown_shape(f"{held!r:.60}"))


def _list_text(held: list[Any]) -> str:
    """Return the text that the model wrote, read from a list that represents one response."""
    if not held:
        raise NoResponseError("the list of responses is empty")
    if is_content(held):
        return said_in({"content": held})
    if is_conversation(held):
        return conversation_text(held)
    if len(held) == 1 and (isinstance(held[0], str) or is_answers(held) or is_conversation(held[0])):
        return response_text(held[0]) or ""
    if all(map(is_call, held)):
        return json.dumps(held, ensure_ascii=False)
    raise NoResponseError(unknown_shape(f"a list of {len(held)} that begins with {held[0]!r:.60}"))


def responses_of(value: Any) -> list[Any] | None:
    """Return the responses of a row that has several, or None if the row has one response.

    Each response is a text or a list of chat messages. A list of texts, message lists or API responses
    counts as several responses, and so does an API response with several choices. A list of messages is one
    response.

    Raises:
        NoResponseError: The value is a list of numbers, which may be tokens, or an API response without any
            text from the model.
    """
    if isinstance(value, Mapping):
        texts = texts_of(plain_mapping(value))
        return list(texts) if len(texts) > 1 else None
    if value is None or isinstance(value, str):
        return None
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return None
    if value and isinstance(value[0], int | float):
        raise NoResponseError(unknown_shape(f"a list of {len(value)} that begins with {value[0]!r}"))
    one = bool(value) and all(isinstance(item, Mapping) for item in value)
    return None if one and not (len(value) > 1 and is_answers(value)) else list(value)


def prompt_of(value: Any) -> str | list[Message] | None:
    """Return a prompt in the form that Sample requires: a text, or chat messages as plain data.

    Message content that is only text becomes a string, even if the message gives it in parts. The prompt may
    also be a single message outside a list, or a text that contains messages as JSON. Tables without lists,
    such as CSV, store messages in this form.
    """
    if value is None or isinstance(value, str):
        held = messages_in(value) if value and value[0] == "[" else None
        if held is None:
            return value
    else:
        held = plain(value)
    messages = [held] if isinstance(held, Mapping) and content_of(held) is not None else held
    if not isinstance(messages, list):
        return str(messages)
    return [plain_message(plain_mapping(message)) for message in messages]


def plain_mapping(value: Any) -> dict[str, Any]:
    """Return a mapping as JSON-ready data, or an empty dict for any other value.

    Values that JSON cannot represent become text. A text with a JSON object counts as a mapping, since CSV
    and other tables without structs store `extra_info` in this form.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    return {str(key): plain(item) for key, item in value.items()} if isinstance(value, Mapping) else {}


def flags_of(extra_info: Any) -> tuple[str, ...]:
    """Return the flags that an audit gave to a row."""
    found = plain_mapping(extra_info).get(AUDIT)
    return tuple(map(str, found)) if isinstance(found, list) else ()


_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types that need no conversion."""


def plain(value: Any) -> Any:
    """Convert a value to JSON-ready data. NumPy arrays and scalars become lists and numbers."""
    if type(value) in _PLAIN:  # most values, and the checks below are slow
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return plain_mapping(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str | int | float | bool) else str(value)


def _decimal_text(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    whole = value.is_finite() and value == value.to_integral_value()
    return f"{value:.0f}" if whole else str(value)
