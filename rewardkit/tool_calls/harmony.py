"""Format `harmony` for gpt-oss. A turn consists of messages with a channel, a recipient and a body.

A message to a tool is a call. The prompt ends with `<|start|>assistant`, which begins the first message of
the turn. Each further message in the turn begins in the same way. (Sources: OpenAI's description of the
format, and the models' chat template.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rewardkit.tool_calls.call import MAX_CALLS, Call, UnreadableCall, checked, failed, json_of

MARK = "to=functions."
_START = "<|start|>"
_BEGIN = "<|message|>"
_END = re.compile(r"<\|(?:end|call|return)\|>|(?=<\|start\|>)")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT = re.compile(r"\bto=([^\s<]{1,200})")
_MARK = re.compile(r"<\|\w+\|>")


@dataclass(frozen=True, slots=True)
class _TurnMessage:
    """One message in a turn."""

    channel: str
    """`analysis`, `commentary` or `final`. Empty if the message has no channel."""
    recipient: str
    """Tool in the form `functions.name`, or an empty string for the user."""
    body: str | None
    """Text of the message, or None if the turn ends before the body begins."""


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text for the user and the parsed calls from all channels."""
    said: list[str] = []
    calls: list[Call] = []
    for message in _messages(text):
        if message.recipient:
            calls.append(_call(message))
        elif message.channel != "analysis" and message.body is not None:
            said.append(message.body.strip())
        if len(calls) > MAX_CALLS:
            break
    return "\n".join(filter(None, said)), calls


def _messages(text: str) -> Iterator[_TurnMessage]:
    """Yield the messages in a turn. Stop at a message with another role, which the model has made up."""
    position = 0
    while (mark := text.find(_BEGIN, position)) >= 0:
        _, start, role = text[position:mark].rpartition(_START)
        if start and not role.lstrip().startswith("assistant"):
            return
        begin = mark + len(_BEGIN)
        end = _END.search(text, begin)
        yield _message(text[position:mark], text[begin : end.start() if end else len(text)])
        position = end.end() if end else len(text)
    rest = text[position:]
    if rest.strip():
        is_head = _MARK.search(rest) is not None or _RECIPIENT.match(rest.strip()) is not None
        yield _message(rest, None) if is_head else _TurnMessage("", "", rest)


def _message(head: str, body: str | None) -> _TurnMessage:
    channel = _CHANNEL.search(head)
    recipient = _RECIPIENT.search(head)
    return _TurnMessage(channel[1] if channel else "", recipient[1] if recipient else "", body)


def _call(message: _TurnMessage) -> Call:
    name = message.recipient.removeprefix("functions.")
    try:
        if message.body is None:
            raise UnreadableCall("the call is not finished: <|message|> and its arguments are missing")
        return checked(name, json_of(message.body))
    except UnreadableCall as error:
        return failed(str(error), name)
