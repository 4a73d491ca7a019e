"""Messages between clients and server: request bodies of limited size, headers, scores and errors."""

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
"""A request holds no more samples, and no more bytes unless one sample does."""

_encoder = msgspec.json.Encoder(enc_hook=sendable)
_scores = msgspec.json.Decoder(list[Score])


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """The body of a request, and how many samples are in it."""

    body: bytes
    size: int
    path: str = "/score"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Answer of the server, whatever its status."""

    url: Address
    status: int
    retry_after: str
    """The header of that name, empty if there is none."""
    body: bytes
    authorization: str = field(default="", repr=False)
    """The header that was sent: a server may repeat it, and no error does."""


def server_at(url: str, token: str | None) -> tuple[Address, dict[str, str]]:
    """Return the address, and the headers of every request to it.

    Raises:
        ServerError: it is no address.
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
    """Have the server end a little earlier, so that what it has scored by then still arrives."""
    return {"x-timeout-s": f"{max(0.9 * left_s, left_s - 1.0):.3f}"}


def batches(samples: Sequence[Sample]) -> Iterator[RequestBatch]:
    """Encode samples into request bodies that are not too large; neighbours of one group stay together."""
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
    """Join samples as `join` does that were given one by one: whatever came together here is no group."""
    return RequestBatch(join(parts).body, len(parts), "/score?each=1")


def encode(sample: Sample) -> bytes:
    """Return a sample as JSON.

    Raises:
        InputError: it holds what JSON has no form for.
    """
    try:
        return _encoder.encode(sample)
    except UnicodeEncodeError:  # lone surrogates; the server knows what to do with their escapes
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
    """Raise what a status other than 200 stands for."""
    if answer.status != http.client.OK:
        kind = RefusedError if 400 <= answer.status < 500 else ServerError
        raise kind(f"{answer.url} answered {answer.status}: {error_of(answer)[1]}")


def error_of(answer: HttpAnswer) -> tuple[str, str]:
    """The type and the message of an error, as far as the answer says."""
    try:
        error = json.loads(answer.body)["error"]
        kind, message = str(error["type"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        kind, message = "", answer.body.decode("utf-8", "replace")
    public = answer.url.unsaid(message, {answer.authorization.partition(" ")[2]})
    return kind, public if kind else public[:200]
