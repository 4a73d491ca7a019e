"""More kinds of logs, whose responses stand as chats, or under names that mean other things elsewhere.

`kinds.py` has the table of all and says what a kind is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rewardkit.model_api.answers import is_said, role_of, said_in
from rewardkit.model_api.failures import why_broken
from rewardkit.offline.records import BadRowError, RawRow
from rewardkit.rows import find_names, has_value, value_at

_TURNS = ("messages", "conversations", "conversation")

ChatParts = tuple[Any, Any, Any]
"""Response, ground truth and prompt."""


def ground_truth_in(row: RawRow) -> Any:
    """Return the ground truth of a row under the names that rows usually have."""
    names = find_names(lambda name: has_value(row, name))
    return value_at(row, names.ground_truth)


def chat(row: RawRow) -> ChatParts:
    """A chat whose last turn is the response: `messages` as OpenAI and ms-swift write them, or ShareGPT's
    `conversations`."""
    turns = next((row[name] for name in _TURNS if isinstance(row.get(name), list)), None) or []
    said = [_message(turn) for turn in turns]
    if not said or not is_said(said[-1]):
        raise BadRowError("the last turn is not the assistant's, so there is no response")
    ground_truth = ground_truth_in(row)
    return (
        said_in({"content": said[-1]["content"], "tool_calls": turns[-1].get("tool_calls")}),
        row.get("label", row.get("labels")) if ground_truth is None else ground_truth,
        said[:-1],
    )


def _message(turn: Any) -> dict[str, Any]:
    if not isinstance(turn, Mapping):
        raise BadRowError("a turn of the chat is no message")
    role = role_of(turn)
    content = turn.get("content", turn.get("value"))
    return {
        "role": "user" if role in ("human", None) else role,
        "content": "" if content is None else content,
    }


def anthropic_batch(row: RawRow) -> ChatParts:
    """A result of Anthropic's message batches."""
    result = row["result"]
    message = result.get("message") if isinstance(result, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), list):
        kind = result.get("type") if isinstance(result, Mapping) else None
        raise BadRowError(f"the request has no answer: {kind or 'no result'}")
    text = said_in(message)
    return text, ground_truth_in(row), None


def request_output(row: RawRow) -> ChatParts:
    """vLLM's RequestOutput, written as JSON."""
    outputs = row["outputs"]
    if not isinstance(outputs, list) or not outputs or not all(isinstance(one, Mapping) for one in outputs):
        raise BadRowError("'outputs' holds no responses")
    for one in outputs:
        if (why := why_broken(one.get("finish_reason"))) is not None:
            raise BadRowError(why)
    texts = [one.get("text") or "" for one in outputs]
    return texts if len(texts) > 1 else texts[0], ground_truth_in(row), row.get("prompt")


def lighteval(row: RawRow) -> ChatParts:
    """A row of lighteval's details: the document, and what the model answered."""
    doc = row["doc"]
    answer = row["model_response"]
    texts = answer.get("text") if isinstance(answer, Mapping) else None
    if not isinstance(texts, list) or not texts or not isinstance(doc, Mapping):
        raise BadRowError("'model_response' holds no text")
    choices = doc.get("choices")
    place = doc.get("gold_index")
    if isinstance(place, list) and place:
        place = place[0]
    ground_truth = None
    if isinstance(place, int) and isinstance(choices, list) and 0 <= place < len(choices):
        ground_truth = choices[place]
    return texts if len(texts) > 1 else texts[0], ground_truth, doc.get("query")


def under(response: str, ground_truth: str) -> Callable[[RawRow], ChatParts]:
    """Return what reads rows with these names. slime says in `status` how a rollout ended."""

    def read(row: RawRow) -> ChatParts:
        if (why := why_broken(row.get("status"))) is not None:
            raise BadRowError(why)
        return row[response], row[ground_truth], row.get("prompt")

    return read
