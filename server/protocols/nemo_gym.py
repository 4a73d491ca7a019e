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
from rewardkit.server.exchanges import Exchange, Question, SampleOrProblem, ServedRows, question_of
from rewardkit.server.protocols.base import ProtocolContext, ask, mount, parts_of, reward_of
from rewardkit.server.wire import Reply, decode_object, replied, reply
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

    async def reverify_mode() -> Response:
        return reply("stateless")

    async def head(request: HttpRequest) -> Response:
        return reply(yaml.safe_dump(_head_config(request)))

    routes = APIRouter(tags=["NeMo-Gym"])
    for name, exchange, example in (
        ("verify", VERIFY, _EXAMPLE),
        ("seed_session", NOTHING, {}),
        ("close_session", NOTHING, {}),
        ("aggregate_metrics", AGGREGATE, {"verify_responses": [{_TASK: 0, "reward": 1.0}]}),
    ):
        mount(context, routes, [f"{base}/{name}" for base in _BASES], exchange, f"NeMo-Gym: {name}", example)
    routes.add_api_route("/reverify_mode", reverify_mode, methods=["GET"], summary="NeMo-Gym: reverify_mode")
    routes.add_api_route("/global_config_dict_yaml", head, methods=["GET"], summary="NeMo-Gym's head server")
    return routes


def _read_verify(rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    row = decode_object(body)
    return question_of([_asked(rows, row, data_source)], row)


def _answer_verify(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    return replied(question.about | _verdict(rows, question.samples[0], scores[0]))


def _read_nothing(rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    return Question([])


def _answer_nothing(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    return replied({})


def _read_answers(rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    answers = decode_object(body).get("verify_responses")
    if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
        raise InputError("'verify_responses' must be a list of objects, each a response of /verify")
    return Question([], about=answers)


def _answer_aggregate(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    return replied(_aggregate(question.about))


VERIFY = Exchange(_read_verify, _answer_verify, has_status=True)
NOTHING = Exchange(_read_nothing, _answer_nothing, has_status=True)
AGGREGATE = Exchange(_read_answers, _answer_aggregate, has_status=True)


def _asked(rows: ServedRows, row: Mapping[str, Any], data_source: str | None) -> SampleOrProblem:
    try:
        text = _response_text(row.get("response"))
    except NoResponseError as error:
        return SampleOrProblem(Sample("", "", ""), str(error))
    return ask(
        rows,
        text,
        prompt=_prompt(row.get("responses_create_params")),
        label=_label(row),
        data_source=_named(row) or data_source,
    )


def _named(row: Mapping[str, Any]) -> str | None:
    named = (value_at(row, name) for name in ("data_source", "verifier_metadata.data_source"))
    return next((source for source in named if isinstance(source, str) and source), None)


def _label(row: Mapping[str, Any]) -> Any:
    """Return a row's ground truth.

    If the row names a data source, return an object with the data source and the ground truth.
    """
    ground_truths = (value_at(row, name) for name in _GROUND_TRUTHS)
    ground_truth = next((value for value in ground_truths if value is not None), None)
    source = _named(row)
    if ground_truth is None or source is None:
        return ground_truth
    return {"data_source": source, "ground_truth": ground_truth, "extra_info": row.get("extra_info")}


def _response_text(response: Any) -> str:
    """Return the text of all assistant messages, and of all tool calls without an output.

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


def _verdict(rows: ServedRows, sample: Sample, score: Score) -> dict[str, Any]:
    verdict: dict[str, Any] = {"reward": reward_of(rows, score), "mask_sample": not score.ok}
    if not score.ok:
        verdict |= {"failure_kind": score.status, "failure_reason": score.detail}
    parts = parts_of(sample, score)
    return verdict | ({"reward_components": parts} if parts else {})


def _aggregate(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Compute statistics of all top-level numbers in the answers, per task and for all tasks together.

    Masked answers are left out of all statistics except their share.
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
    """Return True if a number is not NaN and is small enough that sums do not overflow."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def _head_config(request: HttpRequest) -> dict[str, Any]:
    """Return this server's address in the form that axolotl and other clients read."""
    host, port = request.scope.get("server") or ("127.0.0.1", 8000)
    server = {"host": host, "port": port, "entrypoint": "app.py"}
    return {SERVER_NAME: {"resources_servers": {SERVER_NAME: server}}}
