"""Compares questions by their words, numbers and operators, whatever their case and punctuation."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence

_TOKEN = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|[^\W\d_]+|[^\w\s]")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_IGNORED = frozenset(".,;:!?\"'`$\\{}“”‘’…_~#")
_TEMPLATE_ROWS = 32
"""Number of prompts from which on a common beginning or end is taken for a template."""


def tokens_of(text: str) -> list[str]:
    """Return the words, numbers and operators of a text, in order."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return [
        token.replace(",", "") if token[0].isdigit() else token
        for token in _TOKEN.findall(text.casefold())
        if token not in _IGNORED
    ]


def numbers_in(tokens: Sequence[str]) -> frozenset[str]:
    """Return the numbers among tokens."""
    return frozenset(token for token in tokens if token[0].isdigit())


def digest(tokens: Sequence[str], media: object = None) -> int:
    """Return a digest of tokens (and images) as an integer of eight bytes."""
    hashed = hashlib.blake2b(" ".join(tokens).encode("utf-8", "replace"), digest_size=8)
    if media is not None:
        hashed.update(repr(media).encode("utf-8", "replace"))
    return int.from_bytes(hashed.digest(), "big")


class Template:
    """The text that all prompts of a file have around their questions, such as an instruction."""

    def __init__(self, before: str = "", after: str = "") -> None:
        self.before = before
        self.after = after

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    def strip(self, prompt: str) -> str:
        """Return the question in a prompt: the prompt without the template."""
        if self.before and prompt.startswith(self.before):
            prompt = prompt[len(self.before) :]
        if self.after and prompt.endswith(self.after):
            prompt = prompt[: -len(self.after)]
        return prompt


def template_of(prompts: Sequence[str], questions: Sequence[str]) -> Template:
    """Return the text that some prompts have in common around their questions.

    Args:
        prompts: Of a file's first rows.
        questions: The questions that the rows name themselves; empty if they do not. Among few rows only
            these tell an instruction from questions that happen to begin alike.
    """
    places = [p.find(q) if q else -1 for p, q in zip(prompts, questions, strict=True)]
    around = {
        (prompt[:at], prompt[at + len(question) :])
        for prompt, question, at in zip(prompts, questions, places, strict=True)
    }
    if len(around) == 1 and min(places) >= 0:
        return Template(*around.pop())
    distinct = sorted(set(prompts))
    if len(distinct) < _TEMPLATE_ROWS:
        return Template()
    before = _common_start(distinct)
    after = _common_start([prompt[len(before) :][::-1] for prompt in distinct])[::-1]
    return Template(before[: _word_end(before)], after[_word_start(after) :])


def _common_start(texts: Sequence[str]) -> str:
    """Return the common beginning of all texts: it is that of the first and the last in sorted order."""
    low = min(texts)
    high = max(texts)
    same = next((i for i, c in enumerate(low) if high[i] != c), len(low))
    return low[:same]


def _word_end(text: str) -> int:
    """Return where the last complete word of a beginning ends."""
    return max((i + 1 for i, c in enumerate(text) if c.isspace()), default=0)


def _word_start(text: str) -> int:
    """Return where the first complete word of an end starts."""
    return next((i for i, c in enumerate(text) if c.isspace()), len(text))
