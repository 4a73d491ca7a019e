"""Messages between client and server: request bodies of limited size, headers, scores and errors."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rewardkit.errors import InputError, RefusedError, ServerError
from rewardkit.groups import group_of
from rewardkit.http_addresses import Address, address_of
from rewardkit.json_objects import NOT_JSON
from rewardkit.types import Sample, Score, sendable

BATCH_SAMPLES = 1_024
BATCH_BYTES = 16 << 20
"""Maximum numbers of samples and bytes in a request. A larger sample is sent alone. A request may have up to
twice as many samples in order not to split a group."""

_encoder = msgspec.json.Encoder(enc_hook=sendable)
_scores = msgspec.json.Decoder(list[Score])


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """Body and path of a request, and the number of samples in it."""

    body: bytes
    size: int
    path: str = "/score"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Response from the server, with any status."""

    url: Address
    status: int
    retry_after: str
    """Value of the `Retry-After` header, or an empty text."""
    body: bytes
    authorization: str = field(default="", repr=False)
    """`Authorization` header of the request. It is removed from messages in which the server repeats it."""


def server_at(url: str, token: str | None) -> tuple[Address, dict[str, str]]:
    """Return the address of a server, and the headers for every request to it.

    Raises:
        ServerError: The URL is not a valid address.
    """
    try:
        address = address_of(url)
    except ValueError as error:
        raise ServerError(str(error)) from None
    headers = {"content-type": "application/json"}
    authorization = address.authorization or (f"Bearer {token}" if token else None)
    if authorization is not None:
        headers["authorization"] = authorization
    return Address(address.given.rstrip("/")), headers


def deadline_header(left_s: float) -> dict[str, str]:
    """Return a header with a slightly shorter time limit, so that the server's scores arrive in time."""
    return {"x-timeout-s": f"{max(0.9 * left_s, left_s - 1.0):.3f}"}


def batches(samples: Sequence[Sample]) -> Iterator[RequestBatch]:
    """Encode samples into request bodies of limited size. Consecutive samples of a group stay together."""
    parts: list[bytes] = []
    size = 0
    for i, sample in enumerate(samples):
        part = encode(sample)
        full = len(parts) >= BATCH_SAMPLES and (
            len(parts) >= 2 * BATCH_SAMPLES or group_of(sample) != group_of(samples[i - 1])
        )
        if parts and (full or size + len(part) > BATCH_BYTES):
            yield join(parts)
            parts = []
            size = 0
        parts.append(part)
        size += len(part) + 1
    if parts:
        yield join(parts)


def join(parts: Sequence[bytes]) -> RequestBatch:
    return RequestBatch(b"[" + b",".join(parts) + b"]", len(parts))


def join_singles(parts: Sequence[bytes]) -> RequestBatch:
    """Join samples that were submitted one by one, so that the server does not treat them as a group."""
    return RequestBatch(join(parts).body, len(parts), "/score?each=1")


def encode(sample: Sample) -> bytes:
    """Encode a sample as JSON.

    Raises:
        InputError: The sample contains a value that JSON does not support.
    """
    try:
        return _encoder.encode(sample)
    except UnicodeEncodeError:  # lone surrogates, which are sent as escapes that the server can handle
        return json.dumps(msgspec.to_builtins(sample, enc_hook=sendable)).encode()
    except TypeError as error:
        raise InputError(f"cannot send {sample!r:.80}: {error}; use only values that JSON supports") from None


def scores_of(answer: HttpAnswer, expected: int) -> list[Score]:
    _refuse(answer)
    try:
        scores = _scores.decode(answer.body)
    except NOT_JSON as error:
        raise ServerError(
            f"the answer from {answer.url} is not a list of scores: {error}; is this a rewardkit server?"
        ) from None
    if len(scores) != expected:
        raise ServerError(f"{answer.url} answered with {len(scores)} scores for {expected} samples")
    return scores


def json_of(answer: HttpAnswer) -> Any:
    _refuse(answer)
    return json.loads(answer.body)


def _refuse(answer: HttpAnswer) -> None:
    """Raise a RefusedError or ServerError if the status is not 200."""
    if answer.status != http.client.OK:
        kind = RefusedError if 400 <= answer.status < 500 else ServerError
        raise kind(f"{answer.url} answered {answer.status}: {error_of(answer)[1]}")


def error_of(answer: HttpAnswer) -> tuple[str, str]:
    """Return an error's type and message, without secrets. The type is empty if the response has no type."""
    try:
        error = json.loads(answer.body)["error"]
        kind, message = str(error["type"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        kind, message = "", answer.body.decode("utf-8", "replace")
    public = answer.url.unsaid(message, {answer.authorization.partition(" ")[2]})
    return kind, public if kind else public[:200]
