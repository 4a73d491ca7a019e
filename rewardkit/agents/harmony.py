"""Harmony, the format of gpt-oss: a turn's text as messages with a channel, a recipient and a body.

A turn goes on from `<|start|>assistant`, which its prompt ends with; each further message begins so, too.
Facts: OpenAI's description of the format, and the models' chat template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BEGIN = "<|message|>"
_END = re.compile(r"<\|(?:end|call|return)\|>|(?=<\|start\|>)")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT = re.compile(r"\bto=([^\s<]{1,200})")
_MARK = re.compile(r"<\|\w+\|>")


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a turn."""

    channel: str
    """`analysis`, `commentary` or `final`; empty if the message has none."""
    recipient: str
    """A tool, as `functions.name`; empty for the user."""
    body: str | None
    """None if the text ends before the body begins."""


def parts_of(text: str) -> Iterator[Part]:
    """Yield the messages of a turn.

    Args:
        text: Of the turn, with its special tokens.
    """
    position = 0
    while (mark := text.find(_BEGIN, position)) >= 0:
        begin = mark + len(_BEGIN)
        end = _END.search(text, begin)
        yield _part(text[position:mark], text[begin : end.start() if end else len(text)])
        position = end.end() if end else len(text)
    rest = text[position:]
    if rest.strip():
        is_head = _MARK.search(rest) is not None or _RECIPIENT.match(rest.strip()) is not None
        yield _part(rest, None) if is_head else Part("", "", rest)


def _part(head: str, body: str | None) -> Part:
    channel = _CHANNEL.search(head)
    recipient = _RECIPIENT.search(head)
    return Part(channel[1] if channel else "", recipient[1] if recipient else "", body)
