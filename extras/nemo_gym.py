"""Reward `nemo-gym:URL`, which scores a response with the `/verify` endpoint of a NeMo-Gym resources server.

The row's fields are sent with the response, as in the server's data sets. If the server masks a response or
cannot score it, the status is `error`. A response without a reward is never scored as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rewardkit.foreign.reward_of_spec import made, number
from rewardkit.foreign.services import Service, ServiceError
from rewardkit.foreign.spec import ForeignSpec
from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings
from rewardkit.messages import plain_prompt
from rewardkit.registry import Reward
from rewardkit.types import Sample, Score, failure


@dataclass(frozen=True)
class NemoGymOptions(NetworkSettings):
    """Options for the server, and for the form in which it receives a row."""

    url: Address = NO_ADDRESS
    ground_truth_field: str = "expected_answer"
    """Field in which the server expects the ground truth. A field with this name in `extra_info` takes
    precedence."""
    session: Literal["auto", "always", "never"] = "auto"
    """Condition for sending the row to `/seed_session` first. `auto` sends it only to stateful servers."""
    request_timeout_s: float = 60.0
    retries: int = 3


def nemo_gym(spec: ForeignSpec) -> Reward:
    """Return the reward for a server. No request is sent before the first sample is scored."""
    return made(
        spec, score, NemoGymOptions, url=True, summary=f"NeMo-Gym's /verify of {Address(spec.target)}"
    )


async def score(sample: Sample, options: NemoGymOptions) -> Score:
    """Score a sample with the server's `/verify` endpoint."""
    server = Service(
        options.url,
        who="the NeMo-Gym server",
        timeout_s=options.request_timeout_s,
        retries=options.retries,
    )
    row = _row(sample, options.ground_truth_field)
    cookies: dict[str, str] = {}
    try:
        seeded = await _has_session(server, options.session)
        if seeded:
            await server.json("POST", "/seed_session", row, cookies=cookies)
        answer = await server.json("POST", "/verify", {**row, **_said(sample)}, cookies=cookies)
        if seeded:
            await _close(server, cookies)
    except ServiceError as error:
        # The status 422 means that the row lacks a field that the server requires.
        return failure("invalid" if error.status == 422 else "error", str(error))
    return read_verdict(answer)


def read_verdict(answer: Any) -> Score:
    """Read the score from a `/verify` response."""
    if not isinstance(answer, Mapping):
        return failure("error", f"/verify answered {answer!r:.80}; expected an object with a reward")
    kind = answer.get("failure_kind") or answer.get("_ng_failure_class")
    if answer.get("mask_sample") or kind:
        why = answer.get("failure_reason") or "no reason given"
        return failure("error", f"/verify did not score the response ({kind or 'masked'}): {why}")
    reward = number(answer.get("reward"))
    if reward is None:
        return failure(
            "error", f"/verify answered the reward {answer.get('reward')!r:.40}; expected a number"
        )
    components = answer.get("reward_components")
    given = components if isinstance(components, Mapping) else {}
    parts = {str(name): value for name, one in given.items() if (value := number(one)) is not None}
    return Score(reward, parts=parts)


async def _has_session(server: Service, session: str) -> bool:
    if session != "auto":
        return session == "always"
    try:
        return bool(await server.json("GET", "/reverify_mode") != "stateless")
    except ServiceError as error:
        if error.status in (404, 405):  # Versions before 0.7 do not have this route.
            return True
        raise


async def _close(server: Service, cookies: dict[str, str]) -> None:
    try:
        await server.json("POST", "/close_session", {}, cookies=cookies)
    except ServiceError:
        return  # The response is already scored, and servers before 0.7 do not have this route.


def _row(sample: Sample, ground_truth_field: str) -> dict[str, Any]:
    prompt = plain_prompt(sample.prompt) or []
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    asked = {"input": [dict(message) for message in messages], "tools": []}
    return {
        ground_truth_field: sample.ground_truth,
        "data_source": sample.data_source,
        "ground_truth": sample.ground_truth,
        **sample.extra_info,
        "responses_create_params": asked,
    }


def _said(sample: Sample) -> dict[str, Any]:
    text = {"type": "output_text", "text": sample.response, "annotations": []}
    message = {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    response = {
        "id": "resp",
        "created_at": 0,
        "object": "response",
        "model": "policy",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [message],
    }
    return {"response": response}
