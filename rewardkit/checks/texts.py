"""Comparison of questions by words, numbers and operators, regardless of case and punctuation."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence

_TOKEN = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|[^\W\d_]+|[^\w\s]")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_IGNORED = frozenset(".,;:!?\"'`$\\{}“”‘’…_~#")
_TEMPLATE_ROWS = 32
"""Minimum number of distinct prompts for which a common beginning or end counts as a template."""


def tokens_of(text: str) -> list[str]:
    """Return the words, numbers and operators in a text, in order."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return [
        token.replace(",", "") if token[0].isdigit() else token
        for token in _TOKEN.findall(text.casefold())
        if token not in _IGNORED
    ]


def numbers_in(tokens: Sequence[str]) -> frozenset[str]:
    """Return the numbers among the tokens."""
    return frozenset(token for token in tokens if token[0].isdigit())


def digest(tokens: Sequence[str], media: object = None) -> int:
    """Return a digest of tokens (and images, if any) as an integer of eight bytes."""
    hashed = hashlib.blake2b(" ".join(tokens).encode("utf-8", "replace"), digest_size=8)
    if media is not None:
        hashed.update(repr(media).encode("utf-8", "replace"))
    return int.from_bytes(hashed.digest(), "big")


class Template:
    """Text that surrounds the questions in all prompts in a file, such as an instruction."""

    def __init__(self, before: str = "", after: str = "") -> None:
        self.before = before
        self.after = after

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    def strip(self, prompt: str) -> str:
        """Return the question in a prompt, that is, the prompt without the template."""
        if self.before and prompt.startswith(self.before):
            prompt = prompt[len(self.before) :]
        if self.after and prompt.endswith(self.after):
            prompt = prompt[: -len(self.after)]
        return prompt


def template_of(prompts: Sequence[str], questions: Sequence[str]) -> Template:
    """Return the template that surrounds the questions in all prompts.

    Args:
        prompts: Prompts in a file's first rows.
        questions: Questions from separate fields of the rows, or empty texts. If there are few rows, only
            these questions distinguish an instruction from questions that happen to begin alike.
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
    """Return the common beginning of all texts. Comparing the first and the last in sorted order suffices."""
    low = min(texts)
    high = max(texts)
    same = next((i for i, c in enumerate(low) if high[i] != c), len(low))
    return low[:same]


def _word_end(text: str) -> int:
    """Return the position after the last whitespace in a text, so that no word is cut, or 0 by default."""
    return max((i + 1 for i, c in enumerate(text) if c.isspace()), default=0)


def _word_start(text: str) -> int:
    """Return the position of the first whitespace in a text, so that no word is cut, or the text's length."""
    return next((i for i, c in enumerate(text) if c.isspace()), len(text))
