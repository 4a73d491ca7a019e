"""Chat-templated text taken apart: where its turns begin, where the response begins, what is template.

Text in, text out. Which row a prompt belongs to is the business of `ground_truths`. A reply may hold
anything, template markers included, so nothing here trusts what comes after the prompt.
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
"""Beginnings of a turn, in the templates in common use. Both halves begin with one literal character, which
lets the search skip over text."""

_BARE_MARKER = re.compile(
    r"(?m)^(?:(?P<bare>system|user|assistant|model)\n|(?P<named>System|Human|User|Assistant):)"
)
"""The same where special tokens were lost in decoding, and in templates that have none."""

_SPECIALS_FIRST = re.compile(rf"(?:\s*(?:{SPECIAL.pattern}))*")

_DEEPSEEK_BEGINS = "<｜begin▁of▁sentence｜>"
"""Token after which a text may begin with a system prompt that no marker precedes."""

_OWN_FAMILY = frozenset({"chatml", "llama3", "gemma", "phi", "harmony"})
"""Groups of the pattern that are a template's only ones; the others are those of Llama 2 and Mistral."""

_TAIL = 200
"""Characters at the end of a prompt, half of it at most, that are looked for where it was truncated."""

_ROLES = {
    "model": "assistant",
    "human": "user",
    "inst": "user",
    "developer": "system",
    "system_prompt": "system",
}
_PREFILLED = re.compile("|".join(re.escape(tag) for form in THOUGHTS for tag in form))
"""Texts that templates put before the assistant's own."""


class ChatTurn(NamedTuple):
    """One turn of a conversation, without its markers."""

    role: str
    content: str
    start: int = 0
    """Position of `content` in the text it was found in."""


def turns(text: str, *, bare: bool = False) -> list[ChatTurn]:
    """Take a text apart at its role markers; without any it is one turn of the user.

    Text before the first marker is the system's, as DeepSeek's template has it. Empty turns are left out,
    but for the assistant's.

    Args:
        bare: look for role names that begin a line (`user`, `Human:`) instead of markers.
    """
    found = list((_BARE_MARKER if bare else _MARKER).finditer(text))
    starts = [("system" if found else "user", 0), *((_role(match), match.end()) for match in found)]
    ends = [match.start() for match in found] + [len(text)]
    made = [ChatTurn(role, text[start:end], start) for (role, start), end in zip(starts, ends, strict=True)]
    return [turn for turn in made if turn.role == "assistant" or plain(turn.content)]


def plain(text: str) -> str:
    """Return text without special tokens and role markers, its white space normalised, in Unicode NFC."""
    if "<" in text or "[" in text:
        text = SPECIAL.sub(" ", _MARKER.sub(" ", text))
    return unicodedata.normalize("NFC", " ".join(text.split()))


def message_turns(messages: Iterable[Mapping[str, Any]]) -> list[ChatTurn]:
    """Return chat messages as turns; parts of a message that are not text are left out."""
    return [ChatTurn(str(m.get("role", "user")), message_text(m)) for m in messages]


def prompt_turns(prompt: str | Sequence[Mapping[str, Any]], *, bare: bool = False) -> list[ChatTurn]:
    """Return a prompt's turns, without the empty assistant's turn that asks for a reply.

    Args:
        bare: as in `turns`.
    """
    found = turns(prompt, bare=bare) if isinstance(prompt, str) else message_turns(prompt)
    while found and found[-1].role == "assistant" and not plain(_PREFILLED.sub(" ", found[-1].content)):
        found.pop()
    return found


def messages_of(prompt: str) -> str | list[Message]:
    """Return a templated prompt as the messages it was made of; a plain one as it is."""
    if not _MARKER.search(prompt):
        return prompt
    return [{"role": turn.role, "content": strip_end(turn.content).strip()} for turn in prompt_turns(prompt)]


def split(text: str) -> tuple[str, str]:
    """Split a prompt and response in one text, of which nothing else is known.

    The response is all that follows the assistant's first marker, in the template that the text begins with,
    or everything. Later markers, of this template or another, may be the response's own: were one of them
    heeded, the response could choose what of it is scored. So a prompt of several turns is cut at its first
    reply; whoever sends such prompts sends them beside the text, or as messages, or has them indexed.
    """
    start = _first_reply(text, _template(text))
    return text[:start], strip_end(text[start:])


def response_in(query: str, prompt: str) -> str | None:
    """Return the response in a prompt and response decoded together; None where nothing says where it begins.

    The prompt is removed where it is a prefix, special tokens before it and white space aside. Where it was
    truncated, the response begins where the prompt's end is first found, or else as in `split`. A prompt that
    the tokenizer has composed (Unicode's NFC) is found, too.
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
    """Return the end of a part of a text, white space aside; None if the text does not begin with it, or
    lacks it."""
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
    """The template that a text begins with, special tokens aside."""
    first = _MARKER.search(text)
    if first is None:
        return None
    template = _family(first)
    lead = text[: first.start()]
    if not plain(lead) or (template == "deepseek" and lead.lstrip().startswith(_DEEPSEEK_BEGINS)):
        return template
    return None


def _first_reply(text: str, template: str | None) -> int:
    """Return the start of the first turn of the assistant, by the markers of one template; 0: there is
    none."""
    for match in _MARKER.finditer(text):
        if _family(match) == template and _role(match) == "assistant":
            return match.end()
    return 0


def _family(match: re.Match[str]) -> str:
    """The template that a marker belongs to."""
    kind = match.lastgroup or ""
    if kind == "phi" and "｜" in match[0]:
        return "deepseek"
    return kind if kind in _OWN_FAMILY else "llama2"


def _first_text(text: str) -> int:
    found = _SPECIALS_FIRST.match(text)
    return found.end() if found else 0


def _role(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    role = match[kind].lower() or kind  # the groups that match nothing are named after the role
    return _ROLES.get(role, role)
