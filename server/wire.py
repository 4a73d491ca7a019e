"""Decodes request bodies, including JSON as Python's json module writes it, and encodes strict JSON.

All routes and protocols share these functions, which do not depend on the meaning of the values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from rewardkit.errors import InputError, NoResponseError, OverloadedError
from rewardkit.json_objects import NOT_JSON
from rewardkit.messages import plain_prompt
from rewardkit.row_reports import known_score
from rewardkit.rows import ground_truth_text, response_text, responses_of
from rewardkit.types import Sample, failure

T = TypeVar("T")

JSON = "application/json"
NDJSON = "application/x-ndjson"

_encoder = msgspec.json.Encoder()


class ErrorBody(msgspec.Struct):
    """Error in a response. `type` is for programs, and `message` is for people."""

    type: str
    message: str


class _SeveralResponsesError(InputError):
    """A sample contains more than one response."""


class BodyDecoder(Generic[T]):
    """Decoder of request bodies, which tries strict JSON first, and then the JSON of Python's json module.

    Args:
        type_: Type that msgspec can decode.
        what: Description of the type for error messages, such as `a sample`.
        adapt: Function that converts the values of a body that does not match the type.
        finish: Function that completes a decoded value.
    """

    def __init__(
        self,
        type_: Any,
        what: str,
        adapt: Callable[[Any], Any] = lambda value: value,
        finish: Callable[[T], T] = lambda value: value,
    ) -> None:
        self._type = type_
        self._what = what
        self._adapt = adapt
        self._finish = finish
        self._strict = msgspec.json.Decoder(type_)

    def __call__(self, body: bytes | bytearray | memoryview) -> T:
        """Decode a body.

        Raises:
            InputError: The body is not JSON, or does not match the type.
        """
        try:
            value: T = self._strict.decode(body)
        except NOT_JSON:
            value = self._tolerantly(bytes(body))
        return self._finish(value)

    def _tolerantly(self, body: bytes) -> T:
        """Decode a body that is not strict JSON or does not match the type.

        It may contain lone surrogates, NaN and Infinity, which Python's json module writes by default, and
        values that `adapt` can convert.
        """
        try:
            value: T = msgspec.convert(self._adapt(json.loads(body)), self._type)
        except msgspec.ValidationError as error:
            raise InputError(f"expected {self._what}: {error}") from None
        except _SeveralResponsesError:
            raise
        except (ValueError, RecursionError) as error:
            lines = f"; to send lines, use the content type {NDJSON}" if b"}\n{" in body else ""
            raise InputError(f"the body is not JSON: {error}{lines}") from None
        return value


def _rows(value: Any) -> Any:
    """Convert the values of a body to samples.

    The body may contain dataset rows, other field types, and failure reports.
    """
    return [_row(one) for one in value] if isinstance(value, list) else _row(value)


def _row(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    sample = {name: row[name] for name in _FIELDS if name in row}
    if not isinstance(sample.get("ground_truth", ""), str):
        sample["ground_truth"] = ground_truth_text(sample["ground_truth"]) or ""
    if sample.get("extra_info", {}) is None:
        del sample["extra_info"]
    known = known_score(row)
    try:
        if isinstance(sample.get("response"), dict | list):
            sample["response"] = _one_response(sample["response"])
        elif known is None and "response" in sample and sample["response"] is None:
            raise NoResponseError("'response' is null; send the model's text")
    except NoResponseError as error:
        known = known or failure("invalid", str(error))
    if known is not None:
        given = sample.get("response")
        sample |= {"response": given if isinstance(given, str) else "", "known": msgspec.to_builtins(known)}
    return sample


_FIELDS = Sample.__struct_fields__


def _one_response(value: dict[str, Any] | list[Any]) -> str | None:
    """Return the text of a response that is given as messages, message parts or an API response."""
    several = responses_of(value)
    if not several:
        return response_text(value)
    if len(several) == 1:
        return response_text(several[0])
    raise _SeveralResponsesError(
        f"'response' has {len(several)} responses, but a sample accepts only one; send one sample "
        "per response"
    )


def _with_plain_prompt(sample: Sample) -> Sample:
    """Return the sample with its prompt in the same format as prompts from files."""
    plain = plain_prompt(sample.prompt)
    return sample if plain is sample.prompt else msgspec.structs.replace(sample, prompt=plain)


def _with_plain_prompts(asked: Sample | list[Sample]) -> Sample | list[Sample]:
    return [*map(_with_plain_prompt, asked)] if isinstance(asked, list) else _with_plain_prompt(asked)


decode_sample: BodyDecoder[Sample] = BodyDecoder(Sample, "a sample", _rows, _with_plain_prompt)
decode_samples: BodyDecoder[Sample | list[Sample]] = BodyDecoder(
    Sample | list[Sample], "a sample", _rows, _with_plain_prompts
)


def decode_line(line: bytes) -> Sample:
    """Decode a line as a sample. If this fails, return an empty sample with a known `invalid` score."""
    try:
        return decode_sample(line)
    except InputError as error:
        return Sample("", "", "", known=failure("invalid", str(error)))


decode_object: BodyDecoder[dict[str, Any]] = BodyDecoder(dict[str, Any], "a JSON object")


SMALL_BYTES = 64 << 10
"""Maximum size of a body that is decoded in the event loop."""


def small(body: bytes) -> bytes:
    """Return the body of a request that is normally small.

    Raises:
        HTTPException: The body is large (status 413).
    """
    if len(body) > SMALL_BYTES:
        raise HTTPException(413, f"the body is larger than {SMALL_BYTES >> 10} KiB, the limit of this path")
    return body


def encode(value: Any) -> bytes:
    """Encode a value as JSON. Infinite numbers and NaN become null, and lone surrogates are escaped."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(_finite(msgspec.to_builtins(value)), allow_nan=False).encode()


class Reply(NamedTuple):
    """Encoded JSON of an answer, with its headers."""

    body: bytes | memoryview
    headers: Mapping[str, str] = {}


def replied(value: Any, headers: Mapping[str, str] = {}) -> Reply:
    """Encode an answer."""
    return Reply(encode(value), headers)


def response_to(reply: Reply) -> Response:
    """Create the response that contains an encoded answer."""
    return Response(reply.body, headers=dict(reply.headers) or None, media_type=JSON)


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Create a response that contains a value as JSON."""
    return Response(encode(value), status, dict(headers) if headers else None, media_type=JSON)


def refusal(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Create an error response: `{"error": {"type": kind, "message": message}}`."""
    return reply({"error": ErrorBody(kind, message)}, status, headers)


_KINDS = {
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_large",
    415: "unsupported_encoding",
    503: "unavailable",
}


def answer_to(error: InputError | OverloadedError | HTTPException) -> Response:
    """Create the response for an error that a route raised."""
    if isinstance(error, InputError):
        return refusal(422, "bad_request", str(error))
    if isinstance(error, OverloadedError):
        headers = {"retry-after": f"{math.ceil(error.retry_after_s)}"}
        return refusal(503, "overloaded", str(error), headers)
    kind = _KINDS.get(error.status_code, "bad_request" if error.status_code < 500 else "internal")
    return refusal(error.status_code, kind, str(error.detail), error.headers)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
