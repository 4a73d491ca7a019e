"""Rewards `json`, `yaml` and `xml`, for data that matches a schema and has the right values.

The ground truth is one of the following:
- empty: the data only has to be well-formed;
- `{"schema": ...}`: the data must match the JSON Schema, whose `$ref`s may only refer to the schema itself;
- `{"value": ...}`, with or without a schema: the data must have these values. `pay="all"` gives 1.0 if all
  values match and there are no others, and `pay="fields"` gives the share of fields that match;
- for `xml`, a JSON list of tags: each tag must occur exactly once, in this order, closed and not empty, with
  only white space outside the tags. Instead of a list, an object may map tags to their texts.

The data may be in a code fence or in the `<answer>` that ends the response. Otherwise, the whole response is
the data. A fence is ignored if it is inside an HTML comment, or if the prose next to it calls it wrong.
Duplicate keys, NaN and any text after the data are errors. YAML is read as YAML 1.2 (`yaml12`) without
aliases. A single word is valid YAML, but is not accepted as data. XML with a DTD is rejected.
"""

from __future__ import annotations

import json as jsonlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isinf
from typing import Any, Literal

from rewardkit.errors import message_of
from rewardkit.fences import last_fence
from rewardkit.json_objects import object_of_pairs
from rewardkit.rewards.answers import reasons
from rewardkit.rewards.answers.place import reply, seen
from rewardkit.rewards.structure.fields import agreement
from rewardkit.rewards.structure.ground_truth import in_answer
from rewardkit.rewards.structure.schema import misfit
from rewardkit.rewards.structure.yaml12 import read_yaml
from rewardkit.special_tokens import behind_first_thought, strip_end
from rewardkit.types import Sample, Score, failure

MAX_CHARS = 100_000
"""Maximum length of a response, in characters. A longer response counts as wrong without being read."""
_TAG = re.compile(r"<(/?)([A-Za-z_][\w.-]*)>")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True)
class DataOptions:
    """Options for the json, yaml and xml rewards."""

    pay: Literal["all", "fields"] = "all"
    """`all` gives 1.0 only if all values match. `fields` gives the share of fields that match. For XML, a
    response without one of the tags always gets 0.0."""
    valid_score: float = 0.0
    """Minimum score of a well-formed response with wrong values. For JSON and YAML, the response must also
    match the schema if there is one. For XML, all tags must occur once and in order."""


@dataclass(frozen=True, slots=True)
class _DataGroundTruth:
    schema: str | None
    value: Any
    has_value: bool


def json(sample: Sample, options: DataOptions) -> Score:
    """Score a response that should be JSON."""
    return _score(sample, options, _json_in)


def yaml(sample: Sample, options: DataOptions) -> Score:
    """Score a response that should be a YAML mapping or list."""
    return _score(sample, options, _yaml_in)


def _json_in(response: str) -> Any:
    """Return the JSON value in a response.

    If the whole response is JSON, it is the value, even if its strings contain a fence or a tag.
    """
    whole = behind_first_thought(response).strip()
    try:
        return _read_json(whole)
    except ValueError:
        return _read_json(_fenced(response, "json", "jsonc"))


def _yaml_in(response: str) -> Any:
    return read_yaml(_fenced(response, "yaml", "yml"))


def _fenced(response: str, *languages: str) -> str:
    """Return the text of the last fence or the answer in a response, or the whole response."""
    return last_fence(in_answer(reply(response)), *languages)


def _score(sample: Sample, options: DataOptions, read: Callable[[str], Any]) -> Score:
    ground_truth = _read_ground_truth(sample.ground_truth)
    if isinstance(ground_truth, str):
        return failure("invalid", ground_truth)
    said = reply(sample.response)
    try:
        value = read(sample.response) if len(said) <= MAX_CHARS else _refuse("too long")
    except (ValueError, RecursionError) as error:
        why = f"not well-formed: {message_of(error)}; the response is {reasons.quoted(said)}"
        return _made(0.0, False, None, 0.0, 0.0, why)
    try:
        unfit = misfit(value, ground_truth.schema) if ground_truth.schema is not None else None
    except ValueError as error:
        return failure("invalid", str(error))
    if unfit is not None:
        return _made(0.0, False, said, 1.0, 0.0, f"does not match the schema: {unfit}")
    if not ground_truth.has_value:
        return _made(1.0, True, said, 1.0, 1.0, "well-formed and matches")
    share = agreement(value, ground_truth.value)
    return _of_share(share, options, said)


def _of_share(share: float, options: DataOptions, said: str) -> Score:
    right = share == 1.0
    value = share if options.pay == "fields" else float(right)
    value = max(value, options.valid_score) if not right else value
    return Score(
        value,
        "ok",
        right,
        said.strip()[:200],
        {"valid": 1.0, "fields": share},
        f"{share:.0%} of the fields match" + ("" if right else f"; the response is {reasons.quoted(said)}"),
    )


def _made(value: float, right: bool, said: str | None, valid: float, fields: float, why: str) -> Score:
    shown = None if said is None else said.strip()[:200]
    return Score(value, "ok", right, shown, {"valid": valid, "fields": fields}, why.partition("\n")[0][:200])


def _refuse(why: str) -> Any:
    raise ValueError(why)


@lru_cache(maxsize=4_096)
def _read_ground_truth(ground_truth: str) -> _DataGroundTruth | str:
    if not ground_truth.strip():
        return _DataGroundTruth(None, None, False)
    try:
        given = _read_json(ground_truth)
    except (ValueError, RecursionError) as error:
        return f"the ground truth is not JSON: {error}"
    if _is_schema(given):
        return (
            'the ground truth is a JSON Schema; write {"schema": ...}, or {"value": ...} if the schema '
            "itself is the expected value"
        )
    if isinstance(given, dict) and given.keys() and given.keys() <= {"schema", "value"}:
        schema = jsonlib.dumps(given["schema"]) if "schema" in given else None
        return _DataGroundTruth(schema, given.get("value"), "value" in given)
    return _DataGroundTruth(None, given, True)


def _is_schema(given: Any) -> bool:
    if not isinstance(given, dict):
        return False
    return "$schema" in given or (
        given.get("type") in ("object", "array")
        and isinstance(given.get("properties", given.get("items")), dict)
    )


def _read_json(text: str) -> Any:
    return jsonlib.loads(
        text.strip(), object_pairs_hook=object_of_pairs, parse_constant=_refuse, parse_float=_float
    )


def _float(text: str) -> float:
    """Return the value of a number with a point or an exponent.

    Raises:
        ValueError: The value overflows to infinity or underflows to 0, and would equal other such numbers.
    """
    value = float(text)
    if isinf(value) or (value == 0.0 and text.lower().partition("e")[0].strip("-0.")):
        raise ValueError(f"{text:.40} is too large or too small for a number")
    return value


def xml(sample: Sample, options: DataOptions) -> Score:
    """Score a response by its XML tags, or by the texts in them."""
    wanted = _read_ground_truth(sample.ground_truth)
    if isinstance(wanted, str):
        return failure("invalid", wanted)
    if wanted.schema is not None:
        return failure(
            "invalid",
            "the xml reward supports no schema; expected a list of tags, or an object of tags and strings",
        )
    said = strip_end(sample.response[: MAX_CHARS + 1])
    if not wanted.has_value:
        whole = len(said) <= MAX_CHARS and _is_document(last_fence(reply(said), "xml"))
        why = "a document" if whole else f"no XML document; the response is {reasons.quoted(said)}"
        return _made(float(whole), whole, said, float(whole), float(whole), why)
    tags = wanted.value
    named = list(tags) if isinstance(tags, dict | list) else []
    held_texts = list(tags.values()) if isinstance(tags, dict) else []
    if (
        not named
        or not all(isinstance(tag, str) and _TAG.fullmatch(f"<{tag}>") for tag in named)
        or any(
            text is None or isinstance(text, bool | dict | list) or not seen(str(text)) for text in held_texts
        )
    ):
        return failure(
            "invalid", "the ground truth is neither a list of tags nor an object of tags and strings"
        )
    held = _held(said, named)
    if held is None:
        why = f"expected {' '.join(f'<{tag}>' for tag in named)} once each, in order, closed and not empty"
        return _made(0.0, False, None, 0.0, 0.0, f"{why[:120]}; the response is {reasons.quoted(said)}")
    if isinstance(tags, list):
        return _made(1.0, True, said, 1.0, 1.0, "all tags in order")
    return _of_share(agreement(held, {tag: str(text).strip() for tag, text in tags.items()}), options, said)


def _held(said: str, tags: list[str]) -> dict[str, str] | None:
    """Return the text in each tag, or None unless the response is exactly these tags, closed and filled."""
    found = {}
    position = 0
    for tag in tags:
        opening, closing = f"<{tag}>", f"</{tag}>"
        start = said.find(opening, position)
        end = said.find(closing, start)
        once = said.count(opening) == 1 and said.count(closing) == 1
        if not once or start < 0 or end < 0 or said[position:start].strip():
            return None
        found[tag] = said[start + len(opening) : end].strip()
        position = end + len(closing)
        if not seen(_COMMENT.sub("", found[tag])):
            return None
    return None if said[position:].strip() else found


def _is_document(text: str) -> bool:
    """Return True if a text is one well-formed XML element."""
    from xml.etree import ElementTree

    if "<!" in text.replace("<!--", "").replace("<![CDATA[", ""):
        return False
    try:
        ElementTree.fromstring(text.strip())
    except (ElementTree.ParseError, ValueError, RecursionError):
        return False
    return True
