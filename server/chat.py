"""Parses chat-templated text: finds the turns, the template, and the start of the response.

This module handles only text. The module `ground_truths` finds the row for a prompt. A response may contain
anything, including template markers, so text after the prompt is never trusted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from rewardkit.messages import message_text
from rewardkit.special_tokens import SPECIAL, THOUGHTS, strip_end
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
"""Pattern for the beginning of a turn in common templates. Both alternatives begin with a literal character,
which makes the search fast."""

_BARE_MARKER = re.compile(
    r"(?m)^(?:(?P<bare>system|user|assistant|model)\n|(?P<named>System|Human|User|Assistant):)"
)
"""Pattern for the beginning of a turn in text without special tokens.

Decoding may have removed the special tokens, or the template may have none.
"""

_SPECIALS_FIRST = re.compile(rf"(?:\s*(?:{SPECIAL.pattern}))*")

_DEEPSEEK_BEGINS = "<｜begin▁of▁sentence｜>"
"""Token at the start of a text that may be followed by a system prompt without a marker."""

_OWN_FAMILY = frozenset({"chatml", "llama3", "gemma", "phi", "harmony"})
"""Groups of the pattern that identify a template. All other groups are for Llama 2 and Mistral."""

_TAIL = 200
"""Number of characters at the end of a truncated prompt to search for.

The search uses at most the last half of the prompt.
"""

_ROLES = {
    "model": "assistant",
    "human": "user",
    "inst": "user",
    "developer": "system",
    "system_prompt": "system",
}
_PREFILLED = re.compile("|".join(re.escape(tag) for form in THOUGHTS for tag in form))
"""Pattern for thinking tags that templates put at the start of the assistant's turn."""


class ChatTurn(NamedTuple):
    """A turn of a conversation, without its markers."""

    role: str
    content: str
    start: int = 0
    """Position of `content` in the original text."""


def turns(text: str, *, bare: bool = False) -> list[ChatTurn]:
    """Split a text into turns at its role markers. A text without markers is one user turn.

    Text before the first marker becomes a system turn, because DeepSeek's template puts the system prompt
    there. Empty turns are left out, except for assistant turns.

    Args:
        text: Text of a conversation.
        bare: True to look for role names at the start of a line (`user`, `Human:`) instead of markers.
    """
    found = list((_BARE_MARKER if bare else _MARKER).finditer(text))
    starts = [("system" if found else "user", 0), *((_role(match), match.end()) for match in found)]
    ends = [match.start() for match in found] + [len(text)]
    made = [ChatTurn(role, text[start:end], start) for (role, start), end in zip(starts, ends, strict=True)]
    return [turn for turn in made if turn.role == "assistant" or plain(turn.content)]


def plain(text: str) -> str:
    """Remove special tokens and role markers from a text, and normalise its white space and Unicode (NFC)."""
    if "<" in text or "[" in text:
        text = SPECIAL.sub(" ", _MARKER.sub(" ", text))
    return unicodedata.normalize("NFC", " ".join(text.split()))


def message_turns(messages: Iterable[Mapping[str, Any]]) -> list[ChatTurn]:
    """Convert chat messages to turns. Message parts other than text, such as pictures, are left out."""
    return [ChatTurn(str(m.get("role", "user")), message_text(m)) for m in messages]


def prompt_turns(prompt: str | Sequence[Mapping[str, Any]], *, bare: bool = False) -> list[ChatTurn]:
    """Return the turns of a prompt, without empty assistant turns at its end.

    Args:
        prompt: Prompt as text or chat messages.
        bare: See `turns`.
    """
    found = turns(prompt, bare=bare) if isinstance(prompt, str) else message_turns(prompt)
    while found and found[-1].role == "assistant" and not plain(_PREFILLED.sub(" ", found[-1].content)):
        found.pop()
    return found


def messages_of(prompt: str) -> str | list[Message]:
    """Convert a chat-templated prompt to messages. A plain prompt is returned unchanged."""
    if not _MARKER.search(prompt):
        return prompt
    return [{"role": turn.role, "content": strip_end(turn.content).strip()} for turn in prompt_turns(prompt)]


def split(text: str) -> tuple[str, str]:
    """Split a text into prompt and response, if neither of them is known from another source.

    The response is everything after the first assistant marker of the template with which the text begins, or
    the whole text if there is no such marker. Later markers may be part of the response. If the split used
    later markers, a response could choose which part of itself is scored. A prompt with several turns is
    therefore cut at the first reply of the assistant. Clients must send such a prompt separately or as
    messages, or the server must index the prompt.
    """
    start = _first_reply(text, _template(text))
    return text[:start], strip_end(text[start:])


def response_in(query: str, prompt: str) -> str | None:
    """Return the response in a text with prompt and response, or None if the response cannot be found.

    If the text starts with the prompt, ignoring white space and leading special tokens, the rest is the
    response. If the prompt was truncated, the response begins after the first occurrence of the prompt's last
    characters. If these do not occur, `split` finds the position. The prompt is also found if the tokenizer
    normalised it to Unicode NFC.
    """
    if query.startswith(prompt):
        return strip_end(query[len(prompt) :])
    begins = _first_text(query)
    if (end := _end_of(prompt[_first_text(prompt) :], query[begins:])) is not None:
        return strip_end(query[begins + end :])
    tail = prompt[-min(_TAIL, len(prompt) // 2 + 1) :]
    if (end := _end_of(tail, query, anywhere=True)) is not None:
        return strip_end(query[end:])
    if start := _first_reply(query, _template(query) or _template(prompt)):
        return strip_end(query[start:])
    composed = unicodedata.normalize("NFC", query), unicodedata.normalize("NFC", prompt)
    return response_in(*composed) if composed != (query, prompt) else None


def _end_of(part: str, text: str, *, anywhere: bool = False) -> int | None:
    """Return the position in `text` after `part`, ignoring white space.

    The result is None if `text` does not start with `part`. With `anywhere`, `part` may occur at any
    position.
    """
    if text.startswith(part):
        return len(part)
    wanted, found = "".join(part.split()), "".join(text.split())
    start = found.find(wanted) if anywhere else 0
    if start < 0 or not found.startswith(wanted, start):
        return None
    places = (i for i, character in enumerate(text) if not character.isspace())
    end = next(islice(places, start + len(wanted) - 1, None)) + 1 if wanted else 0
    space = part[len(part.rstrip()) :]
    return end + len(space) if text.startswith(space, end) else end


def _template(text: str) -> str | None:
    """Return the name of the template with which a text begins after special tokens, or None."""
    first = _MARKER.search(text)
    if first is None:
        return None
    template = _family(first)
    lead = text[: first.start()]
    if not plain(lead) or (template == "deepseek" and lead.lstrip().startswith(_DEEPSEEK_BEGINS)):
        return template
    return None


def _first_reply(text: str, template: str | None) -> int:
    """Return the start of the first assistant turn marked as in this template, or 0 if there is none."""
    for match in _MARKER.finditer(text):
        if _family(match) == template and _role(match) == "assistant":
            return match.end()
    return 0


def _family(match: re.Match[str]) -> str:
    """Return the name of the template to which a marker belongs."""
    kind = match.lastgroup or ""
    if kind == "phi" and "｜" in match[0]:
        return "deepseek"
    return kind if kind in _OWN_FAMILY else "llama2"


def _first_text(text: str) -> int:
    found = _SPECIALS_FIRST.match(text)
    return found.end() if found else 0


def _role(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    role = match[kind].lower() or kind  # A group without text is named after its role.
    return _ROLES.get(role, role)
