"""OpenRLHF's remote reward model (`--reward.remote_url`, `--remote_rm_url`), also used by its forks.

{"query": [prompt + response], "prompts": [prompt], "labels": [label]}
-> {"rewards": [number], "scores": [0 to 1], "extra_logs": {name: number}}
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import msgspec
from fastapi import APIRouter

from rewardkit.errors import InputError
from rewardkit.server.chat import response_in, split
from rewardkit.server.exchanges import Exchange, Question, SampleOrProblem, ServedRows, question_of
from rewardkit.server.protocols.base import (
    ProtocolContext,
    ask,
    ask_text,
    failed_header,
    mount,
    parts_of,
    reward_of,
)
from rewardkit.server.wire import BodyDecoder, Reply, replied
from rewardkit.types import Score


class OpenRlhfRequest(msgspec.Struct):
    """Request for rewards.

    In practice, a request has one sample. Old versions of OpenRLHF send only `query`.
    """

    query: list[str] | str
    prompts: list[str | None] | str | None = None
    labels: list[Any] | Any = None


class OpenRlhfAnswer(msgspec.Struct):
    rewards: list[float]
    scores: list[float]
    """Scores for dynamic filtering: 1.0 for correct responses."""
    extra_logs: dict[str, float]
    """Means of score parts over the samples in the request, and the share of failed samples."""


TIMEOUT_S = 175.0
"""Time limit for scoring in seconds, below the 180 s that OpenRLHF's client waits for an answer."""

_NO_BEGINNING = (
    "cannot find where the response begins in the query: it does not contain the prompt "
    "(truncated, or from another chat template?) and has no assistant turn"
)

_EXAMPLE = {"query": ["6 * 12 = ?\n#### 72"], "prompts": ["6 * 12 = ?\n"], "labels": ["72"]}

_decode: BodyDecoder[OpenRlhfRequest] = BodyDecoder(OpenRlhfRequest, "an OpenRLHF reward request")


def router(context: ProtocolContext) -> APIRouter:
    """Create the routes `/openrlhf` and `/openrlhf/{data_source}`."""
    routes = APIRouter(tags=["OpenRLHF"])
    paths = ("/openrlhf", "/openrlhf/{data_source:path}")
    mount(context, routes, paths, OPENRLHF, "OpenRLHF's remote reward model", _EXAMPLE)
    return routes


def _read(rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    request = _decode(body)
    queries = _list(request.query)
    prompts = _list(request.prompts) or [None] * len(queries)
    labels = _list(request.labels) or [None] * len(queries)
    if not len(queries) == len(prompts) == len(labels):
        found = f"{len(queries)}, {len(prompts)} and {len(labels)}"
        raise InputError(f"'query', 'prompts' and 'labels' must have the same length; found lengths {found}")
    asked = []
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        if prompt is None and label is None:
            asked.append(ask_text(rows, query, data_source=data_source))
            continue
        asked.append(_ask_query(rows, query, prompt, label, data_source))
    return question_of(asked)


def _ask_query(
    rows: ServedRows, query: str, prompt: str | None, label: Any, data_source: str | None
) -> SampleOrProblem:
    """Return the sample for a query.

    If the beginning of the response cannot be found, the sample is not scored. Otherwise, an answer in the
    prompt might be rewarded.
    """
    if prompt is None:
        prompt, said = split(query)
        response = said if prompt else None
    else:
        response = response_in(query, prompt)
    asked = ask(rows, response or "", prompt=prompt, label=label, data_source=data_source)
    return asked._replace(problem=asked.problem or _NO_BEGINNING) if response is None else asked


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _answer(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    rewards = [reward_of(rows, score) for score in scores]
    right = [
        reward if score.correct is None else float(score.correct)
        for reward, score in zip(rewards, scores, strict=True)
    ]
    logs: dict[str, list[float]] = {"failed": [float(not score.ok) for score in scores]}
    for sample, score in zip(question.samples, scores, strict=True):
        for name, value in parts_of(sample, score).items():
            logs.setdefault(name, []).append(value)
    means = {name: fmean(values) for name, values in logs.items() if values}
    return replied(OpenRlhfAnswer(rewards, right, means), failed_header(scores))


OPENRLHF = Exchange(_read, _answer, TIMEOUT_S)
