"""NeMo-Gym's resources server, as used by NeMo-RL, verifiers (prime-rl) and axolotl.

    POST /verify {a dataset row, "responses_create_params": {...}, "response": {"output": [...]}}
    -> the whole request, and {"reward", "mask_sample", "failure_kind", "failure_reason", "reward_components"}

Sessions have no state, since each row is scored independently. Only single answers without tools are
supported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median, pstdev
from typing import Any

import yaml
from fastapi import APIRouter, Response
from fastapi import Request as HttpRequest

from rewardkit.errors import InputError, NoResponseError
from rewardkit.messages import message_text
from rewardkit.model_api.answers import output_text
from rewardkit.model_api.failures import why_failed
from rewardkit.rows import value_at
from rewardkit.server.protocols.base import (
    ProtocolContext,
    SampleOrProblem,
    ask,
    mount,
    parts_of,
    reward_of,
    score_all,
)
from rewardkit.server.wire import decode_object, reply
from rewardkit.types import Sample, Score

SERVER_NAME = "rewardkit"
"""Name of this server in the head server's configuration."""

_TASK = "_ng_task_index"
_LARGEST = 1e100
_GROUND_TRUTHS = (
    "ground_truth",
    "expected_answer",
    "label",
    "reward_model.ground_truth",
    "verifier_metadata.ground_truth",
    "verifier_metadata.expected_answer",
    "verifier_metadata.unit_tests",
)


_BASES = ("", "/nemo_gym", "/nemo_gym/{data_source:path}")
_EXAMPLE = {
    "data_source": "gsm8k",
    "ground_truth": "72",
    "responses_create_params": {"input": "6 * 12 = ?"},
    "response": {
        "output": [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "#### 72"}],
            }
        ]
    },
}


def router(context: ProtocolContext) -> APIRouter:
    """Create the routes of a resources server, at the root and under `/nemo_gym`, and of a head server."""

    async def verify(body: bytes, data_source: str | None) -> Response:
        row = decode_object(body)
        asked = _asked(context, row, data_source)
        (score,) = await score_all(context, [asked], has_status=True)
        return reply(row | _verdict(context, asked, score))

    async def nothing(body: bytes, data_source: str | None) -> Response:
        return reply({})

    async def aggregate_metrics(body: bytes, data_source: str | None) -> Response:
        answers = decode_object(body).get("verify_responses")
        if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
            raise InputError("'verify_responses' must be a list of objects, each a response of /verify")
        return reply(_aggregate(answers))

    async def reverify_mode() -> Response:
        return reply("stateless")

    async def head(request: HttpRequest) -> Response:
        return reply(yaml.safe_dump(_head_config(request)))

    routes = APIRouter(tags=["NeMo-Gym"])
    for name, handle, example in (
        ("verify", verify, _EXAMPLE),
        ("seed_session", nothing, {}),
        ("close_session", nothing, {}),
        ("aggregate_metrics", aggregate_metrics, {"verify_responses": [{_TASK: 0, "reward": 1.0}]}),
    ):
        mount(context, routes, [f"{base}/{name}" for base in _BASES], handle, f"NeMo-Gym: {name}", example)
    routes.add_api_route("/reverify_mode", reverify_mode, methods=["GET"], summary="NeMo-Gym: reverify_mode")
    routes.add_api_route("/global_config_dict_yaml", head, methods=["GET"], summary="NeMo-Gym's head server")
    return routes


def _asked(context: ProtocolContext, row: Mapping[str, Any], data_source: str | None) -> SampleOrProblem:
    try:
        text = _response_text(row.get("response"))
    except NoResponseError as error:
        return SampleOrProblem(Sample("", "", ""), str(error))
    return ask(
        context,
        text,
        prompt=_prompt(row.get("responses_create_params")),
        label=_label(row),
        data_source=_named(row) or data_source,
    )


def _named(row: Mapping[str, Any]) -> str | None:
    named = (value_at(row, name) for name in ("data_source", "verifier_metadata.data_source"))
    return next((source for source in named if isinstance(source, str) and source), None)


def _label(row: Mapping[str, Any]) -> Any:
    """Return a row's ground truth. If the row names a data source, the result is an object with both."""
    ground_truths = (value_at(row, name) for name in _GROUND_TRUTHS)
    ground_truth = next((value for value in ground_truths if value is not None), None)
    source = _named(row)
    if ground_truth is None or source is None:
        return ground_truth
    return {"data_source": source, "ground_truth": ground_truth, "extra_info": row.get("extra_info")}


def _response_text(response: Any) -> str:
    """Return the text of all assistant messages, and of the tool calls that have no output.

    Raises:
        InputError: The value is not an object of the Responses API.
        NoResponseError: The object reports that the request to the API failed.
    """
    output = response.get("output") if isinstance(response, dict) else None
    if not isinstance(output, list):
        raise InputError("'response' must be an OpenAI Responses API object with an 'output' list")
    if (why := why_failed(response)) is not None:
        raise NoResponseError(why)
    return output_text(output)


def _prompt(params: Any) -> str | list[dict[str, Any]] | None:
    asked = params.get("input") if isinstance(params, dict) else None
    if isinstance(asked, str):
        return asked
    if not isinstance(asked, list):
        return None
    messages = [item for item in asked if isinstance(item, dict) and "role" in item]
    return [{"role": str(m["role"]), "content": message_text(m)} for m in messages]


def _verdict(context: ProtocolContext, asked: SampleOrProblem, score: Score) -> dict[str, Any]:
    verdict: dict[str, Any] = {"reward": reward_of(context, score), "mask_sample": not score.ok}
    if not score.ok:
        verdict |= {"failure_kind": score.status, "failure_reason": score.detail}
    parts = parts_of(asked, score)
    return verdict | ({"reward_components": parts} if parts else {})


def _aggregate(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Compute statistics of all top-level numbers in the answers, per task and for all tasks together.

    Masked answers count only towards the share of masked answers.
    """
    tasks: dict[Any, list[Mapping[str, Any]]] = {}
    for answer in answers:
        tasks.setdefault(str(answer.get(_TASK)), []).append(answer)
    of_all = _statistics(answers)
    return {
        "group_level_metrics": [
            {_TASK: task[0].get(_TASK), **_statistics(task)} for task in tasks.values() if task
        ],
        "agent_metrics": of_all,
        "key_metrics": {name: value for name, value in of_all.items() if name.startswith("mean/")},
    }


def _statistics(answers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    scored = [answer for answer in answers if not answer.get("mask_sample")]
    numbers: dict[str, list[float]] = {}
    for answer in scored:
        for name, value in answer.items():
            if _is_number(value) and not name.startswith("_"):
                numbers.setdefault(name, []).append(float(value))
    found: dict[str, float] = {}
    for name, values in numbers.items():
        found |= {
            f"mean/{name}": fmean(values),
            f"max/{name}": max(values),
            f"min/{name}": min(values),
            f"median/{name}": median(values),
            f"std/{name}": pstdev(values),
        }
    return found | {"mean/mask_sample": 1.0 - len(scored) / len(answers) if answers else 0.0}


def _is_number(value: Any) -> bool:
    """Return True for a number (not NaN) that is small enough for sums not to overflow."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def _head_config(request: HttpRequest) -> dict[str, Any]:
    """Return this server's address in the form that axolotl and other clients read."""
    host, port = request.scope.get("server") or ("127.0.0.1", 8000)
    server = {"host": host, "port": port, "entrypoint": "app.py"}
    return {SERVER_NAME: {"resources_servers": {SERVER_NAME: server}}}
