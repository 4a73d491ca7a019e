"""Code shared by all protocols: the context, the creation of samples from requests, and the rewards for
failures."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from rewardkit.errors import InputError, UnknownDataSourceError
from rewardkit.messages import plain_prompt
from rewardkit.model_api.answers import is_said, role_of, said_in
from rewardkit.registry import REGISTRY
from rewardkit.rows import first_of, ground_truth_text, has_value, value_at
from rewardkit.server.chat import messages_of, split
from rewardkit.server.exchanges import NO_DATA_SOURCE, Exchange, SampleOrProblem, ServedRows
from rewardkit.server.known import Ambiguous, KnownRow, PromptValue
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.wire import refusal, response_to
from rewardkit.types import Sample, Score

FAILED_HEADER = "X-Rewardkit-Failed"
"""Header with the number of samples that could not be scored, for protocols that have no field for it."""

_TRUTHS = ("ground_truth", "reward_model.ground_truth")
"""Keys under which a label that is an object may contain the ground truth.

If the label has none of these keys, the whole object is the ground truth.
"""


@dataclass(frozen=True)
class ProtocolContext:
    """Objects that all protocols share."""

    requests: RequestScorer
    processes: int = 1
    """Number of server processes.

    With several processes, a client's next request may reach a process without the client's data.
    """

    @property
    def rows(self) -> ServedRows:
        """Rows and settings that exchanges use."""
        return self.requests.rows


def ask(
    rows: ServedRows,
    response: str,
    *,
    prompt: PromptValue | None = None,
    label: object = None,
    data_source: str | None = None,
) -> SampleOrProblem:
    """Create a sample from the fields of a request.

    Data source and ground truth are taken from the first of these that exists: a label of the form
    `{"data_source": ..., "ground_truth": ...}`, as an object or as JSON in a string; the row of the prompt in
    the index of ground truths; or `data_source`, from the path or a field of the request, with the label as
    the ground truth.
    """
    said: KnownRow | Ambiguous | None = _envelope(label)
    if said is None and rows.ground_truths is not None and prompt:
        said = rows.ground_truths.lookup(prompt)
    if isinstance(said, Ambiguous) and data_source and label is not None:
        said = None  # The request has an unambiguous label, although the indexed rows conflict.
    return _asked(response, prompt, said or _plain_row(data_source, label))


def ask_text(rows: ServedRows, text: str, *, data_source: str | None = None) -> SampleOrProblem:
    """Create a sample from a text that contains prompt and response. Otherwise, see `ask`."""
    known = rows.ground_truths.split(text) if rows.ground_truths is not None else None
    if known is not None:
        said, prompt, response = known
        return _asked(response, prompt, said)
    prompt, response = split(text)
    return _asked(response, prompt, _plain_row(data_source, None))


def ask_messages(
    rows: ServedRows,
    messages: Sequence[dict[str, Any]],
    *,
    label: object = None,
    data_source: str | None = None,
) -> SampleOrProblem:
    """Create a sample from a conversation whose last message is the response.

    A conversation that ends with a message from the user or a tool has no response to score.
    """
    if not messages:
        raise InputError("'messages' is empty; the last message must be the response")
    *prompt, last = messages
    if not is_said(last):
        problem = f"the last message has the role {role_of(last)!r}; it must be the assistant's response"
        return SampleOrProblem(Sample("", "", "", [dict(message) for message in messages]), problem)
    return ask(rows, said_in(last), prompt=prompt, label=label, data_source=data_source)


def _envelope(label: object) -> KnownRow | None:
    """Return the row in a label that has a data source and a ground truth, like a prepared or verl row.

    Return None for other labels.
    """
    label = _object(label)
    if label is None or not isinstance(label.get("data_source"), str):
        return None
    return _known(label["data_source"], label)


def _plain_row(data_source: str | None, label: object) -> KnownRow | None:
    """Return a row for a data source and a label.

    Without a label, the ground truth is empty, which is sufficient for reward models.
    """
    if not data_source:
        return None
    row = _object(label)
    known = None if row is None else _known(data_source, row)
    return known or KnownRow(data_source, ground_truth_text(label) or "", {})


def _object(label: object) -> Mapping[str, Any] | None:
    """Return a label as a mapping if the label is an object or the JSON of an object.

    Return None for other labels.
    """
    if isinstance(label, str) and label.lstrip()[:1] == "{":
        with contextlib.suppress(ValueError, RecursionError):
            label = json.loads(label)
    return label if isinstance(label, dict) else None


def _known(data_source: str, row: Mapping[str, Any]) -> KnownRow | None:
    """Return the row of a label that is an object, or None if the label has no ground truth."""
    name = first_of(_TRUTHS, partial(has_value, row))
    if name is None:
        return None
    extra_info = row.get("extra_info")
    ground_truth = ground_truth_text(value_at(row, name)) or ""
    return KnownRow(data_source, ground_truth, extra_info if isinstance(extra_info, dict) else {})


def _asked(response: str, prompt: PromptValue | None, said: KnownRow | Ambiguous | None) -> SampleOrProblem:
    shown = messages_of(prompt) if isinstance(prompt, str) else plain_prompt(prompt)
    if isinstance(said, KnownRow):
        return SampleOrProblem(
            Sample(said.data_source, response, said.ground_truth, shown or None, said.extra_info)
        )
    problem = NO_DATA_SOURCE
    if said is not None:
        problem = f"rows {said.row} and {said.other} of --gold have this prompt and different ground truths"
    return SampleOrProblem(Sample("", response, "", shown or None), problem)


def reward_of(rows: ServedRows, score: Score) -> float:
    """Return the reward to train on: the score, or `on_failure` if the sample was not scored."""
    return score.score if score.ok else rows.on_failure


def parts_of(sample: Sample, score: Score) -> dict[str, float]:
    """Return the parts of a score.

    All samples from a data source have the same keys, whether or not they were scored.
    """
    reward = REGISTRY.find(sample.data_source)
    declared = reward.parts if reward is not None else ()
    return dict.fromkeys(declared, 0.0) | score.parts


def failed_header(scores: Sequence[Score]) -> dict[str, str]:
    """Return the header with the number of failed samples, or no header if all were scored."""
    failed = sum(not score.ok for score in scores)
    return {FAILED_HEADER: str(failed)} if failed else {}


CARRIES_NO_TRUTH = (
    "The request has no ground truth: the server looks it up by the prompt in the rows of --gold. "
    "Replace the prompt of this example with one from those rows. Reward models need no ground "
    "truth."
)
"""Description for routes whose requests have no ground truth."""


def mount(
    context: ProtocolContext,
    routes: APIRouter,
    paths: Iterable[str],
    exchange: Exchange,
    summary: str,
    example: Mapping[str, Any],
    *,
    method: str = "POST",
    note: str | None = None,
) -> None:
    """Add routes for an exchange, with the data source in the path.

    Bodies that cannot be read get status 422, and unknown data sources in the path get status 404. Samples
    that cannot be scored are not HTTP errors. They are reported in the protocol's response.
    """

    async def handle(body: bytes, named: str | None) -> Response:
        return response_to(await context.requests.respond(exchange, body, named))

    add_routes(context, routes, paths, handle, summary, example, method=method, note=note)


Handle = Callable[[bytes, str | None], Awaitable[Response]]
"""Function that handles a request: (body, data source in the path) -> response."""


def add_routes(
    context: ProtocolContext,
    routes: APIRouter,
    paths: Iterable[str],
    handle: Handle,
    summary: str,
    example: Mapping[str, Any],
    *,
    method: str = "POST",
    note: str | None = None,
) -> None:
    """Add the same routes as `mount`, but handle requests with a function."""

    async def endpoint(request: Request) -> Response:
        named = request.path_params.get("data_source")
        try:
            if named is not None:
                REGISTRY.resolve(named)
            return await handle(await request.body(), named)
        except UnknownDataSourceError as error:
            context.requests.log_once(f"{request.scope['route'].path}: {error}")
            return refusal(404, "unknown_data_source", str(error))
        except InputError as error:
            context.requests.log_once(f"{request.scope['route'].path}: {error}"[:500])
            return refusal(422, "bad_request", str(error))

    for path in paths:
        named = {"data_source": "gsm8k"} if "{data_source" in path else {}
        routes.add_api_route(
            path,
            endpoint,
            methods=[method],
            summary=summary,
            description=note,
            openapi_extra=described(example, path=named),
        )


def described(
    body: Mapping[str, Any] | None,
    *,
    path: Mapping[str, str] = {},
    headers: Mapping[str, str] = {},
) -> dict[str, Any]:
    """Return the OpenAPI description of a route that parses its request itself, with examples for `/docs`.

    Args:
        body: Example of a JSON body, or None for routes without a body.
        path: Examples of the parameters in the path.
        headers: Examples of required headers.
    """
    given = [("path", name, value) for name, value in path.items()]
    given += [("header", name, value) for name, value in headers.items()]
    found: dict[str, Any] = {}
    if given:
        found["parameters"] = [
            {"name": name, "in": place, "required": True, "schema": {"type": "string"}, "example": value}
            for place, name, value in given
        ]
    if body is not None:
        content = {"schema": {"type": "object"}, "example": body}
        found["requestBody"] = {"required": True, "content": {"application/json": content}}
    return found
