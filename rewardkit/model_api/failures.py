"""Failures that model APIs return in place of the model's text: errors, refused prompts and missing choices.

The text of a failure is not written by the model, so it is never a response to score. `answers` extracts the
text that the model wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OF_ERRORS = frozenset(
    {"error", "error_type", "type", "message", "detail", "code", "status", "status_code", "param", "object"}
    | {"estimated_time", "warnings", "request_id", "id", "timestamp", "path"}
)
"""Keys that may occur next to an error that is a string, or in an error that is an object."""

_UNFINISHED = frozenset({"failed", "cancelled", "queued", "in_progress"})
"""Statuses of OpenAI's responses without a result. A response that is `incomplete` has a partial result."""

_BROKEN = frozenset({"abort", "aborted", "error"})
"""Finish reasons for generations that the server ended, not the model."""

_WITHHELD = frozenset(
    {"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety"}
    | {"guardrail_intervened", "content_filtered", "refusal"}
)
"""Finish reasons that OpenAI, Gemini, Bedrock and Anthropic return if the provider's filter withheld the
text. A refusal that the model itself wrote is a normal text."""

_OF_ANSWERS = frozenset({"model", "id", "done", "created_at", "usage", "finish_reason", "meta_info"})
"""Keys that may occur next to the text in an API response."""


def why_failed(answer: Mapping[str, Any]) -> str | None:
    """Return why a request failed, or None if the object is a successful API response or not a response."""
    if (error := _error_in(answer)) is not None:
        return f"the API answered with an error: {error}"
    status = str(answer.get("status"))
    if status in _UNFINISHED and (
        answer.get("object") == "response" or isinstance(answer.get("output"), list)
    ):
        return f"the API's answer has the status {status}"
    blocked = _feedback(answer).get("blockReason") or _feedback(answer).get("block_reason")
    if blocked and not answer.get("candidates"):
        return f"the API refused the prompt: {blocked}"
    meta = answer.get("meta_info")
    if isinstance(meta, Mapping):
        return broken_choice(meta)
    cut = answer.get("incomplete_details")
    ends = (
        answer.get("stop_reason"),
        answer.get("stopReason"),
        cut.get("reason") if isinstance(cut, Mapping) else None,
    )
    return next(filter(None, map(why_broken, ends)), None)


def why_empty(answer: Mapping[str, Any]) -> str | None:
    """Return a message that names the missing part of an API response, or None if no part is missing."""
    if "choices" in answer and not answer["choices"]:
        return "the API's answer has no choices"
    if not answer.get("candidates") and (
        {"usageMetadata", "usage_metadata"} & set(answer) or _feedback(answer)
    ):
        return "the API's answer has no candidates"
    for name in ("message", "response", "generated_text", "text"):
        if name in answer and answer[name] is None and (len(answer) == 1 or _OF_ANSWERS & set(answer)):
            return f"the API's answer has no text: '{name}' is null"
    return None


def broken_choice(choice: Mapping[str, Any]) -> str | None:
    """Return why one of OpenAI's choices is incomplete through no fault of the model, or None otherwise."""
    if isinstance(choice.get("error"), Mapping):
        return f"the API answered with an error: {error_said(choice['error'])}"
    if {"message", "text"} & set(choice) and choice.get("message") is choice.get("text") is None:
        return "the API's answer has a choice without a message"
    if "delta" in choice and "message" not in choice:
        return "the answer is a chunk of a streamed answer; join the chunks first"
    return why_broken(choice.get("finish_reason"))


def is_withheld(answer: Mapping[str, Any]) -> bool:
    """Return True if a filter of the provider withheld the text of the first choice."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, Mapping) and str(first.get("finish_reason")).lower() in _WITHHELD


def why_silent(message: Mapping[str, Any]) -> str | None:
    """Return why a message is not a response, or None if it is. Any message with content is a response."""
    held = (value for key, value in message.items() if key not in ("role", "from", "name", "type"))
    silent = all(value is None or value == [] for value in held)
    return "the API's answer has no text: the message's content is null" if silent else None


def why_broken(reason: Any) -> str | None:
    """Return an error message for a finish reason that the server caused, or None for any other reason."""
    kind = str(reason.get("type") if isinstance(reason, Mapping) else reason)  # SGLang returns an object
    if kind.lower() in _WITHHELD:
        return f"the server's filter withheld the answer: {kind}"
    return f"the server ended the request: {error_said(reason)}" if kind in _BROKEN else None


def error_said(error: Any) -> str:
    """Return the message in an error as one line. Messages may be nested: `{"error": {"message": ...}}`."""
    said = error
    while isinstance(said, Mapping):
        deeper = said.get("message") or said.get("error") or said.get("msg")
        said = deeper or said.get("code") or said.get("type") or "the error has no message"
    return " ".join(str(said).split())[:200]


def _error_in(answer: Mapping[str, Any]) -> str | None:
    error = answer.get("error")
    if isinstance(error, Mapping) and not _OF_ERRORS.isdisjoint(error):
        return error_said(error)
    held = {name for name, value in answer.items() if value is not None}
    if "error" in (answer.get("object"), answer.get("type")) and held & {"message", "error"}:
        return error_said(answer)
    if isinstance(error, str) and error and held <= _OF_ERRORS:
        return error_said(error)
    detail = answer.get("detail")  # servers that use FastAPI
    if held == {"detail"} and isinstance(detail, list) and detail and isinstance(detail[0], Mapping):
        return error_said(detail[0])
    return error_said(detail) if held == {"detail"} and isinstance(detail, str) else None


def _feedback(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return Gemini's feedback on a prompt, or an empty mapping if there is no feedback."""
    feedback = answer.get("promptFeedback") or answer.get("prompt_feedback")
    return feedback if isinstance(feedback, Mapping) else {}
