"""The remote reward functions of reward-kit and its successor eval-protocol.

{"messages": [..., the response], "ground_truth": ..., "kwargs": {"data_source", "extra_info", ...}}
-> {"score", "reason", "metrics": {name: {"score", "reason", "is_score_valid"}}, "is_score_valid", "error"}
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from rewardkit.errors import InputError
from rewardkit.model_api.answers import content_text
from rewardkit.server.dialects.base import (
    DialectContext,
    SampleOrProblem,
    ask_messages,
    mount,
    parts_of,
    reward_of,
    score_all,
)
from rewardkit.server.wire import decode_object, reply
from rewardkit.types import Score

_EXAMPLE = {
    "messages": [{"role": "user", "content": "6 * 12 = ?"}, {"role": "assistant", "content": "#### 72"}],
    "ground_truth": "72",
    "kwargs": {"data_source": "gsm8k"},
}


def router(context: DialectContext) -> APIRouter:
    """Routes `/evaluate` and `/reward`, at the root and under `/reward_kit/{data_source}`."""

    async def evaluate(body: bytes, data_source: str | None) -> Response:
        asked = _asked(context, decode_object(body), data_source)
        (score,) = await score_all(context, [asked], has_status=True)
        return reply(_answer(context, asked, score))

    routes = APIRouter(tags=["reward-kit"])
    for name in ("evaluate", "reward"):
        paths = [f"{base}/{name}" for base in ("", "/reward_kit", "/reward_kit/{data_source:path}")]
        mount(context, routes, paths, evaluate, "reward-kit's remote reward function", _EXAMPLE)
    return routes


def _asked(context: DialectContext, request: dict[str, Any], data_source: str | None) -> SampleOrProblem:
    """The clients send keyword arguments flat, the servers take them nested: either will do."""
    messages = request.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise InputError("messages must be a list of chat messages; the last one is what is scored")
    kwargs = request.get("kwargs")
    said = request | kwargs if isinstance(kwargs, dict) else request
    named = said.get("data_source")
    source = named if isinstance(named, str) and named else data_source
    label = _ground_truth(said.get("ground_truth"))
    if source and isinstance(said.get("extra_info"), dict):
        label = {"ground_truth": label, "extra_info": said["extra_info"]}
    return ask_messages(context, messages, label=label, data_source=source)


def _ground_truth(given: Any) -> Any:
    """The text of the last of chat messages; anything else, a list of other objects too, as it is."""
    if isinstance(given, list) and given and all(isinstance(m, dict) and "content" in m for m in given):
        return content_text(given[-1]["content"])
    return given


def _answer(context: DialectContext, asked: SampleOrProblem, score: Score) -> dict[str, Any]:
    metrics = {
        name: {
            "score": value,
            "reason": score.detail or "",
            "is_score_valid": score.ok and name in score.parts,
        }
        for name, value in parts_of(asked, score).items()
    }
    return {
        "score": reward_of(context, score),
        "reason": score.detail,
        "metrics": metrics,
        "is_score_valid": score.ok,
        "error": None if score.ok else f"{score.status}: {score.detail}",
    }
