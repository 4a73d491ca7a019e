"""Chat-templated text taken apart: where its turns begin, where the response begins, what is template.

Text in, text out. Which row a prompt belongs to is `gold`'s business. A reply may hold anything, template
markers included, so nothing here trusts what comes after the prompt.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from rewardkit.types import Message

_MARKER = re.compile(
    r"<(?:"
    r"\|im_start\|>[ ]?(?P<chatml>system|developer|user|assistant|tool)\s*\n"  # ChatML: Qwen, SmolLM
    r"|\|start_header_id\|>(?P<llama3>\w{1,20})<\|end_header_id\|>\n{0,2}"
    r"|start_of_turn>(?P<gemma>user|model)\n?"
    r"|[|｜](?P<phi>(?i:system|user|assistant|observation))[|｜]>\n?"  # Phi, GLM, Zephyr, DeepSeek
    r"|\|start\|>(?P<harmony>system|developer|user|assistant)(?:<\|channel\|>\w{1,20})?(?:<\|message\|>)?"
    r"|<SYS>>(?P<system>)|</SYS>>(?P<user>)"  # Llama 2
    r")|\[(?:SYSTEM_PROMPT\](?P<system_prompt>)|INST\](?P<inst>)|/INST\](?P<assistant>))"  # Mistral
)
"""Where a turn begins, in the templates in common use. Both halves begin with one literal character, which
lets the search skip over text."""

_BARE_MARKER = re.compile(
    r"(?m)^(?:(?P<bare>system|user|assistant|model)\n|(?P<named>System|Human|User|Assistant):)"
)
"""The same where special tokens were lost in decoding, and in templates that have none."""

_SPECIAL = re.compile(
    r"<(?:\|[^|<>\s]{1,40}\|>|｜[^｜<>\s]{1,40}｜>|/?s>|(?:bos|eos|pad|unk|sop|end_of_turn)>)"
    r"|\[/?(?:gMASK|SYSTEM_PROMPT|PAD|UNK|BOS|EOS)\]"
)
_SPECIALS_FIRST = re.compile(rf"(?:\s*(?:{_SPECIAL.pattern}))*")
_SPECIAL_LAST = re.compile(rf"(?:{_SPECIAL.pattern})\Z")
_LONGEST_SPECIAL = 44

_ROLES = {
    "model": "assistant",
    "human": "user",
    "inst": "user",
    "developer": "system",
    "system_prompt": "system",
}
_PREFILLS = frozenset({"", "<think>", "<think></think>", "<think> </think>"})
"""What templates put into the assistant's mouth."""


class Turn(NamedTuple):
    """One turn of a conversation, without its markers."""

    role: str
    content: str
    start: int = 0
    """Where `content` begins in the text it was found in."""


def turns(text: str, *, bare: bool = False) -> list[Turn]:
    """Take a text apart at its role markers; without any it is one turn of the user.

    Text before the first marker is the system's, as DeepSeek's template has it. Empty turns are left out,
    but for the assistant's.

    Args:
        bare: look for role names that begin a line (`user`, `Human:`) instead of markers.
    """
    found = list((_BARE_MARKER if bare else _MARKER).finditer(text))
    starts = [("system" if found else "user", 0), *((_role(match), match.end()) for match in found)]
    ends = [match.start() for match in found] + [len(text)]
    made = [Turn(role, text[start:end], start) for (role, start), end in zip(starts, ends, strict=True)]
    return [turn for turn in made if turn.role == "assistant" or plain(turn.content)]


def plain(text: str) -> str:
    """Return text without special tokens and role markers, its white space normalised, in Unicode NFC."""
    if "<" in text or "[" in text:
        text = _SPECIAL.sub(" ", _MARKER.sub(" ", text))
    return unicodedata.normalize("NFC", " ".join(text.split()))


def message_turns(messages: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Return chat messages as turns; parts of a message that are not text are left out."""
    return [Turn(str(m.get("role", "user")), content_text(m.get("content"))) for m in messages]


def content_text(content: object) -> str:
    """Return the text of a message's content: a string, or a list of strings and of parts with a `text`."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "".join(text for text in texts if isinstance(text, str))


def prompt_turns(prompt: str | Sequence[Mapping[str, Any]], *, bare: bool = False) -> list[Turn]:
    """Return a prompt's turns, without the empty assistant's turn that asks for a reply.

    Args:
        bare: as in `turns`.
    """
    found = turns(prompt, bare=bare) if isinstance(prompt, str) else message_turns(prompt)
    while found and found[-1].role == "assistant" and plain(found[-1].content) in _PREFILLS:
        found.pop()
    return found


def messages_of(prompt: str) -> str | list[Message]:
    """Return a templated prompt as the messages it was made of; a plain one as it is."""
    if not _MARKER.search(prompt):
        return prompt
    return [{"role": turn.role, "content": strip_end(turn.content).strip()} for turn in prompt_turns(prompt)]


def split(text: str) -> tuple[str, str]:
    """Split a prompt and response in one text: the response is the assistant's last turn, or everything."""
    replies = [turn for turn in turns(text) if turn.role == "assistant"]
    start = replies[-1].start if replies else 0
    return text[:start], strip_end(text[start:])


def response_in(query: str, prompt: str) -> str:
    """Return the response in a prompt and response decoded together.

    The prompt is removed where it is a prefix, special tokens before it and white space aside. Otherwise (it
    was truncated) the response begins at the assistant's turn that follows the prompt's own.
    """
    if query.startswith(prompt):
        return strip_end(query[len(prompt) :])
    query, prompt = query[_first_text(query) :], prompt[_first_text(prompt) :]
    if (end := _end_of(prompt, query)) is not None:
        return strip_end(query[end:])
    replies = [turn for turn in turns(query) if turn.role == "assistant"]
    if not replies:
        return strip_end(query)
    earlier = sum(turn.role == "assistant" for turn in prompt_turns(prompt))
    return strip_end(query[replies[min(earlier, len(replies) - 1)].start :])


def strip_end(text: str) -> str:
    """Remove special tokens (end of turn, padding) and the white space among them from a response's end."""
    kept = len(text)
    while True:
        end = kept
        while end and text[end - 1].isspace():
            end -= 1
        found = _SPECIAL_LAST.search(text[max(0, end - _LONGEST_SPECIAL) : end])
        if not found:
            return text[:kept]
        kept = end - len(found[0])


def _end_of(prefix: str, text: str) -> int | None:
    """Where a prefix of a text ends, white space aside; None if it is none."""
    if text.startswith(prefix):
        return len(prefix)
    wanted = "".join(prefix.split())
    if not "".join(text.split()).startswith(wanted):
        return None
    places = (i for i, character in enumerate(text) if not character.isspace())
    return next(islice(places, len(wanted) - 1, None)) + 1 if wanted else 0


def _first_text(text: str) -> int:
    found = _SPECIALS_FIRST.match(text)
    return found.end() if found else 0


def _role(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    role = match[kind].lower() or kind  # the groups that match nothing are named after the role
    return _ROLES.get(role, role)
