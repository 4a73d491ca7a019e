"""Code shared by all protocols: their context, creation of samples from requests, rewards for failures."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fastapi import APIRouter, Request, Response

from rewardkit.errors import InputError, UnknownDataSourceError
from rewardkit.groups import LOOKS_AT_GROUPS, group_places, needs_group
from rewardkit.messages import plain_prompt
from rewardkit.model_api.answers import is_said, role_of, said_in
from rewardkit.registry import REGISTRY
from rewardkit.rows import first_of, ground_truth_text, has_value, value_at
from rewardkit.server.chat import messages_of, split
from rewardkit.server.known import Ambiguous, KnownRow, PromptValue
from rewardkit.server.limits import Admission
from rewardkit.server.request_scoring import SEND_GROUP
from rewardkit.server.tasks import TaskSet
from rewardkit.server.wire import refusal
from rewardkit.types import Sample, Score, failure

if TYPE_CHECKING:
    from rewardkit.server.ground_truths import GroundTruthIndex

FAILED_HEADER = "X-Rewardkit-Failed"
"""Header with the number of samples that could not be scored, for protocols that have no field for it."""

_NO_DATA_SOURCE = (
    "no data source given: put it in the path, send a label "
    '{"data_source": ..., "ground_truth": ...}, or start the server with --gold'
)


class ScoreSamples(Protocol):
    """Function that returns a Score for each sample, in order."""

    def __call__(
        self, samples: Sequence[Sample], *, timeout_s: float | None = None
    ) -> Awaitable[list[Score]]: ...


_TRUTHS = ("ground_truth", "reward_model.ground_truth")
"""Keys of the ground truth in a label that is an object. Without them, the object is the ground truth."""

_MAX_KINDS = 1_000
"""Maximum number of different problems that are logged."""

_log = logging.getLogger("rewardkit.server")


@dataclass(frozen=True)
class ProtocolContext:
    """Objects and settings that all protocols share."""

    score_samples: ScoreSamples
    ground_truths: GroundTruthIndex | None = None
    on_failure: float = 0.0
    """Reward for a sample that could not be scored."""
    observers: Sequence[Callable[[Sequence[Sample], Sequence[Score], float], None]] = field(default=())
    """Functions to call for samples that never reach the scorer, such as samples without a data source."""
    admission: Admission = field(default_factory=Admission)
    processes: int = 1
    """Number of server processes. If there are several, clients cannot rely on data kept by one process."""
    tasks: Mapping[str, TaskSet] = field(default_factory=dict)
    """Task sets for environment protocols, by name."""
    logged: set[str] = field(default_factory=set)

    def log_once(self, kind: str) -> None:
        """Log a problem with a request, unless the same problem has been logged before."""
        if kind not in self.logged and len(self.logged) < _MAX_KINDS:
            self.logged.add(kind)
            _log.warning("%s (further problems of this kind are not logged)", kind)


class SampleOrProblem(NamedTuple):
    """A sample, and the problem that prevents scoring the sample, or None."""

    sample: Sample
    problem: str | None = None


def ask(
    context: ProtocolContext,
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
    if said is None and context.ground_truths is not None and prompt:
        said = context.ground_truths.lookup(prompt)
    if isinstance(said, Ambiguous) and data_source and label is not None:
        said = None  # the request is unambiguous, unlike the rows
    return _asked(response, prompt, said or _plain_row(data_source, label))


def ask_text(context: ProtocolContext, text: str, *, data_source: str | None = None) -> SampleOrProblem:
    """Create a sample as `ask` does, from a text that contains prompt and response."""
    known = context.ground_truths.split(text) if context.ground_truths is not None else None
    if known is not None:
        said, prompt, response = known
        return _asked(response, prompt, said)
    prompt, response = split(text)
    return _asked(response, prompt, _plain_row(data_source, None))


def ask_messages(
    context: ProtocolContext,
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
    return ask(context, said_in(last), prompt=prompt, label=label, data_source=data_source)


def _envelope(label: object) -> KnownRow | None:
    """Return the row in a label with data source and ground truth, like a prepared or verl row, else None."""
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
    """Return a label that is an object or the JSON of an object as a mapping, and any other label as None."""
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
    problem = _NO_DATA_SOURCE
    if said is not None:
        problem = f"rows {said.row} and {said.other} of --gold have this prompt and different ground truths"
    return SampleOrProblem(Sample("", response, "", shown or None), problem)


async def score_all(
    context: ProtocolContext,
    asked: Sequence[SampleOrProblem],
    *,
    timeout_s: float | None = None,
    has_status: bool = False,
) -> list[Score]:
    """Return a Score for each sample, in order. Samples with a problem are `invalid`.

    Args:
        context: Context of the protocol.
        asked: Samples in a request.
        timeout_s: Time limit in seconds, unless the request sets one.
        has_status: True if the protocol can report that a sample could not be scored. Otherwise a request
            without any usable sample is refused, since the number that stands for a failure would look like a
            score.

    Raises:
        UnknownDataSourceError: All data sources are unknown.
        InputError: The request has no data source or no ground truths, or all its rewards compare groups but
            no group has two responses.
    """
    if not has_status:
        refuse_misaddressed(context, asked)
    asked = _refusing_alone(asked)
    if not has_status:
        refuse_alone(asked)
    scores = [failure("invalid", one.problem) if one.problem else None for one in asked]
    samples = [one.sample for one in asked if not one.problem]
    scored = iter(await context.score_samples(samples, timeout_s=timeout_s) if samples else ())
    lost = [(one.sample, score) for one, score in zip(asked, scores, strict=True) if score is not None]
    if lost:
        for observe in context.observers:
            observe([sample for sample, _ in lost], [score for _, score in lost], 0.0)
        for one, _ in zip(asked, scores, strict=True):
            if one.problem:
                context.log_once(one.problem)
    found = [score if score is not None else next(scored) for score in scores]
    without = _without_truths(asked, found) if context.ground_truths is None else None
    if without and not has_status:
        raise InputError(without)
    if without:
        context.log_once(without)
    return found


def refuse_misaddressed(context: ProtocolContext, asked: Sequence[SampleOrProblem]) -> None:
    """Refuse a request if no data source in it is known. See `score_all` for the errors."""
    if not asked:
        return
    if context.ground_truths is None and all(one.problem == _NO_DATA_SOURCE for one in asked):
        raise InputError(_NO_DATA_SOURCE)
    sources = {one.sample.data_source for one in asked if not one.problem}
    if any(REGISTRY.find(source) is not None for source in sources):
        return
    if sources and not any(one.problem for one in asked):
        raise REGISTRY.unknown(min(sources))


def refuse_alone(asked: Sequence[SampleOrProblem]) -> None:
    """Refuse a request if all its rewards compare groups, but each response is alone in its group.

    Raises:
        InputError: The request is refused.
    """
    problems = [one.problem for one in _refusing_alone(asked)]
    if problems and all(problem and LOOKS_AT_GROUPS in problem for problem in problems):
        raise InputError(problems[0] or "")


def _refusing_alone(asked: Sequence[SampleOrProblem]) -> list[SampleOrProblem]:
    """Return the samples, adding a problem to each lone sample whose reward compares groups.

    Trainers train on groups, so a single response is part of a larger group rather than a group of one.
    """
    sources = {one.sample.data_source for one in asked if not one.problem}
    by_group = {source for source in sources if REGISTRY.looks_at_groups(source)}
    grouped = [i for i, one in enumerate(asked) if not one.problem and one.sample.data_source in by_group]
    places = group_places([asked[i].sample for i in grouped])
    alone = {grouped[group[0]] for group in places if len(group) == 1}
    return [
        one._replace(problem=needs_group(one.sample.data_source, SEND_GROUP)) if i in alone else one
        for i, one in enumerate(asked)
    ]


def _without_truths(asked: Sequence[SampleOrProblem], scores: Sequence[Score]) -> str | None:
    """Return an error message if a request needs ground truths but has none, else None.

    A sample without a ground truth is only `invalid` if its reward needs a ground truth.
    """
    if not asked or any(one.sample.ground_truth or one.problem for one in asked):
        return None
    if any(score.status != "invalid" for score in scores):
        return None
    why = scores[0].detail
    return f"the request has no ground truth ({why}): send one, or start the server with --gold"


def reward_of(context: ProtocolContext, score: Score) -> float:
    """Return the reward to train on: the score, or `on_failure` if the sample was not scored."""
    return score.score if score.ok else context.on_failure


def parts_of(asked: SampleOrProblem, score: Score) -> dict[str, float]:
    """Return the parts of a score. All samples from a data source have the same keys, scored or not."""
    reward = REGISTRY.find(asked.sample.data_source)
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

Handle = Callable[[bytes, str | None], Awaitable[Response]]
"""Function that handles a request: (body, data source in the path) -> response."""


def mount(
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
    """Add routes that call a function with the request body and the data source in the path.

    Bodies that cannot be read get status 422, and unknown data sources in the path get status 404. Samples
    that cannot be scored are not HTTP errors. They are reported in the protocol's response.
    """

    async def endpoint(request: Request) -> Response:
        named = request.path_params.get("data_source")
        try:
            if named is not None:
                REGISTRY.resolve(named)
            return await handle(await request.body(), named)
        except UnknownDataSourceError as error:
            context.log_once(f"{request.scope['route'].path}: {error}")
            return refusal(404, "unknown_data_source", str(error))
        except InputError as error:
            context.log_once(f"{request.scope['route'].path}: {error}"[:500])
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
