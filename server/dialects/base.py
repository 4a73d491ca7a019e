"""What all dialects share: what they are given, how a wire's fields become a Sample, and what stands for a
judgement that failed. No protocol lives here, and no judging.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fastapi import APIRouter, Request, Response

from rewardkit.errors import InputError, UnknownDataSourceError
from rewardkit.plain import truth_text
from rewardkit.registry import REGISTRY
from rewardkit.server.chat import content_text, messages_of, split
from rewardkit.server.gold import Ambiguous, Gold, GoldIndex, Prompt
from rewardkit.server.wire import refusal
from rewardkit.types import Sample, Score, failure

FAILED_HEADER = "X-Rewardkit-Failed"
"""Says how many samples of an answer could not be judged, for protocols that have no field for it."""

_NO_DATA_SOURCE = (
    "nothing says which data source this is: put it in the path, send a label "
    '{"data_source": ..., "ground_truth": ...}, or start the server with --gold'
)


class Judge(Protocol):
    """Judges samples: one Score for each, in order."""

    def __call__(
        self, samples: Sequence[Sample], *, timeout_s: float | None = None
    ) -> Awaitable[list[Score]]: ...


@dataclass(frozen=True)
class Context:
    """What a dialect is given."""

    judge: Judge
    gold: GoldIndex | None = None
    on_failure: float = 0.0
    """The reward of a sample that could not be judged."""
    observers: Sequence[Callable[[Sequence[Sample], Sequence[Score], float], None]] = field(default=())
    """Told of the samples that never reach the judge, since no data source could be found for them."""


class Asked(NamedTuple):
    """A sample, or why there can be none."""

    sample: Sample
    problem: str | None = None


def ask(
    context: Context,
    response: str,
    *,
    prompt: Prompt | None = None,
    label: object = None,
    data_source: str | None = None,
) -> Asked:
    """Make a sample of what the wire carries.

    A label that is `{"data_source": ..., "ground_truth": ...}`, as an object or as JSON in a string, says
    all. Otherwise the row that the prompt has in the gold index does; otherwise the data source is the one
    given, from the path or a field of the request, and the label is the ground truth.
    """
    said: Gold | Ambiguous | None = _envelope(label)
    if said is None and context.gold is not None and prompt:
        said = context.gold.lookup(prompt)
    if isinstance(said, Ambiguous) and data_source and label is not None:
        said = None  # the request says more than the rows do
    return _asked(response, prompt, said or _plain_gold(data_source, label))


def ask_text(context: Context, text: str, *, data_source: str | None = None) -> Asked:
    """Make a sample of a prompt and response in one text; otherwise like `ask`."""
    known = context.gold.split(text) if context.gold is not None else None
    if known is not None:
        said, prompt, response = known
        return _asked(response, prompt, said)
    prompt, response = split(text)
    return _asked(response, prompt, _plain_gold(data_source, None))


def ask_messages(
    context: Context,
    messages: Sequence[dict[str, Any]],
    *,
    label: object = None,
    data_source: str | None = None,
) -> Asked:
    """Make a sample of a conversation whose last message is the response."""
    if not messages:
        raise InputError("there are no messages; the last one is what is judged")
    *prompt, last = messages
    return ask(
        context, content_text(last.get("content")), prompt=prompt, label=label, data_source=data_source
    )


def _envelope(label: object) -> Gold | None:
    """What a label says that names its data source itself."""
    if isinstance(label, str) and label.lstrip()[:1] == "{":
        with contextlib.suppress(ValueError, RecursionError):
            label = json.loads(label)
    if not isinstance(label, dict) or not isinstance(label.get("data_source"), str):
        return None
    if "ground_truth" not in label:
        return None
    extra_info = label.get("extra_info")
    return Gold(
        label["data_source"],
        truth_text(label["ground_truth"]) or "",
        extra_info if isinstance(extra_info, dict) else {},
    )


def _plain_gold(data_source: str | None, label: object) -> Gold | None:
    """A data source given by itself. Without a label the ground truth is empty: reward models need none."""
    return Gold(data_source, truth_text(label) or "", {}) if data_source else None


def _asked(response: str, prompt: Prompt | None, said: Gold | Ambiguous | None) -> Asked:
    shown = messages_of(prompt) if isinstance(prompt, str) else [dict(message) for message in prompt or ()]
    if isinstance(said, Gold):
        return Asked(Sample(said.data_source, response, said.ground_truth, shown or None, said.extra_info))
    problem = _NO_DATA_SOURCE
    if said is not None:
        problem = f"rows {said.row} and {said.other} of the gold have this prompt and disagree on the answer"
    return Asked(Sample("", response, "", shown or None), problem)


async def judge(context: Context, asked: Sequence[Asked], *, timeout_s: float | None = None) -> list[Score]:
    """Return one Score for each, in order; what could not be made a sample is `invalid`."""
    scores = [failure("invalid", one.problem) if one.problem else None for one in asked]
    samples = [one.sample for one in asked if not one.problem]
    judged = iter(await context.judge(samples, timeout_s=timeout_s) if samples else ())
    lost = [(one.sample, score) for one, score in zip(asked, scores, strict=True) if score is not None]
    if lost:
        for observe in context.observers:
            observe([sample for sample, _ in lost], [score for _, score in lost], 0.0)
    return [score if score is not None else next(judged) for score in scores]


def reward_of(context: Context, score: Score) -> float:
    """The number that the trainer trains on."""
    return score.score if score.ok else context.on_failure


def parts_of(asked: Asked, score: Score) -> dict[str, float]:
    """The named components of a score: the same keys for every sample of a data source, judged or not."""
    try:
        declared = REGISTRY.resolve(asked.sample.data_source).parts
    except UnknownDataSourceError:
        declared = ()
    return dict.fromkeys(declared, 0.0) | score.parts


def failed_header(scores: Sequence[Score]) -> dict[str, str]:
    """The header that counts failures; none when there are none."""
    failed = sum(not score.ok for score in scores)
    return {FAILED_HEADER: str(failed)} if failed else {}


Handle = Callable[[bytes, str | None], Awaitable[Response]]
"""Answers a request: (body, data source in the path) -> response."""


def mount(
    routes: APIRouter,
    paths: Iterable[str],
    handle: Handle,
    summary: str,
    example: Mapping[str, Any],
    *,
    method: str = "POST",
) -> None:
    """Add a function of the body, and of the data source in the path if there is one there, as routes.

    What cannot be read is refused with 422. Failing to judge is no error: it is answered in the protocol.
    """

    async def endpoint(request: Request) -> Response:
        try:
            return await handle(await request.body(), request.path_params.get("data_source"))
        except InputError as error:
            return refusal(422, "bad_request", str(error))

    body = {"schema": {"type": "object"}, "example": example}
    described = {"requestBody": {"required": True, "content": {"application/json": body}}}
    in_path = {"name": "data_source", "in": "path", "required": True, "schema": {"type": "string"}}
    for path in paths:
        parameters = {"parameters": [in_path]} if "{data_source" in path else {}
        routes.add_api_route(
            path, endpoint, methods=[method], summary=summary, openapi_extra=described | parameters
        )
