"""Saved answers from model APIs: OpenAI and Anthropic batches, single answers, vLLM outputs and chats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.errors import NoResponseError
from rewardkit.files.records import BadRowError, RawRow
from rewardkit.logs.kind import (
    LogKind,
    anything,
    are_objects,
    decoded,
    ground_truth_in,
    is_array,
    is_messages,
    is_object,
    no_text,
    one_or_several,
)
from rewardkit.model_api.answers import answer_texts, choice_index, is_said, role_of, said_in, texts_of
from rewardkit.model_api.failures import error_said, why_broken, why_failed, why_silent
from rewardkit.rows import Fields, find_names, has_value, value_at

_TURNS = ("messages", "conversations", "conversation")


def _batch_output(row: RawRow) -> Fields:
    """Return the fields of a row from OpenAI's batch API or `vllm run-batch`.

    An answer is a chat completion, a completion, or a response of the responses API.
    """
    answer = row["response"]
    body = answer.get("body") if isinstance(answer, Mapping) else None
    if isinstance(body, Mapping) and (isinstance(body.get("output"), list) or body.get("choices")):
        return Fields(one_or_several(texts_of(body)), group=row["custom_id"])
    failed = _failure_of(row)
    if failed or not isinstance(answer, Mapping):
        raise BadRowError(f"the request failed: {failed or 'the row has no answer'}")
    return Fields(one_or_several(texts_of(answer)), group=row["custom_id"])


def _batch_facts(row: RawRow) -> Mapping[str, Any]:
    body = row["response"]["body"]
    reasons = [choice.get("finish_reason") for choice in sorted(body["choices"], key=choice_index)]
    if len(reasons) > 1:
        return {"finish_reason": reasons, "model": body.get("model")}
    return {
        "model": body.get("model"),
        "finish_reason": reasons[0],
        "response_tokens": (body.get("usage") or {}).get("completion_tokens"),
    }


def _failure_of(row: RawRow) -> str:
    answer = row["response"]
    answer = answer if isinstance(answer, Mapping) else {}
    body = answer.get("body")
    error = row.get("error") or (body.get("error") if isinstance(body, Mapping) else body)
    said = (answer.get("status_code"), error and error_said(error))
    return " ".join(str(part) for part in said if part is not None)[:200]


def _api_answer(row: RawRow) -> Fields:
    """Return the fields of an answer from OpenAI's API (chat completions, completions) or Anthropic's API."""
    texts = answer_texts(row)
    if texts is None:  # the whole row must not become the response, as it may contain the ground truth
        raise BadRowError(f"the request failed: {error_said(row.get('error') or 'the row has no answer')}")
    names = find_names(lambda name: has_value(row, name))
    return Fields(
        one_or_several(texts),
        value_at(row, names.ground_truth),
        value_at(row, names.prompt),
        row.get("data_source"),
    )


def is_answer(row: RawRow) -> bool:
    """Return True if the row is an answer or an error from an API."""
    try:
        return answer_texts(row) is not None
    except NoResponseError:
        return True


def _anthropic_batch(row: RawRow) -> Fields:
    """Return the fields of a result from Anthropic's message batches."""
    result = row["result"]
    message = result.get("message") if isinstance(result, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), list):
        kind = result.get("type") if isinstance(result, Mapping) else None
        raise BadRowError(f"the request has no answer: {kind or 'no result'}")
    if (why := why_failed(message)) is not None:
        raise BadRowError(why)
    return Fields(said_in(message), ground_truth_in(row), None, row.get("data_source"))


def _request_output(row: RawRow) -> Fields:
    """Return the fields of a vLLM RequestOutput that was written as JSON."""
    outputs = row["outputs"]
    if not isinstance(outputs, list) or not outputs or not all(isinstance(one, Mapping) for one in outputs):
        raise BadRowError("'outputs' contains no responses")
    for one in outputs:
        if (why := why_broken(one.get("finish_reason"))) is not None:
            raise BadRowError(why)
    texts = [one.get("text") or "" for one in outputs]
    return Fields(one_or_several(texts), ground_truth_in(row), row.get("prompt"), row.get("data_source"))


def _chat(row: RawRow) -> Fields:
    """Return the fields of a chat whose last turn is the response.

    The chat is in `messages`, as for OpenAI and ms-swift, or in `conversations`, as for ShareGPT.
    """
    turns = next((turns for name in _TURNS if isinstance(turns := decoded(row.get(name)), list)), [])
    said = [_message(turn) for turn in turns]
    if not said or not is_said(said[-1]):
        raise BadRowError("the last message is not from the assistant, so the row has no response")
    if isinstance(turns[-1], Mapping) and (why := why_silent(turns[-1])) is not None:
        raise BadRowError(why)
    ground_truth = ground_truth_in(row)
    return Fields(
        said_in({"content": said[-1]["content"], "tool_calls": turns[-1].get("tool_calls")}),
        row.get("label", row.get("labels")) if ground_truth is None else ground_truth,
        said[:-1],
        row.get("data_source"),
    )


def _message(turn: Any) -> dict[str, Any]:
    if not isinstance(turn, Mapping):
        raise BadRowError("a turn of the chat is not an object with role and content")
    role = role_of(turn)
    content = turn.get("content", turn.get("value"))
    return {
        "role": "user" if role in ("human", None) else role,
        "content": "" if content is None else content,
    }


API_ANSWERS = LogKind(
    "answers of an API", {"object": anything, "output": is_array, "status": anything}, _api_answer
)
"""Kind of log with API answers. The shape matches OpenAI's responses. `is_answer` recognises other forms."""

KINDS = (
    LogKind("batch output", {"custom_id": anything, "response": no_text}, _batch_output, facts=_batch_facts),
    LogKind("Anthropic batch results", {"custom_id": anything, "result": is_object}, _anthropic_batch),
    API_ANSWERS,
    LogKind("vLLM outputs", {"outputs": are_objects}, _request_output),
    *(LogKind("chats", {name: is_messages}, _chat, unless_answered=True) for name in _TURNS),
)
