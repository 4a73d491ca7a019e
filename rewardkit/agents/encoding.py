"""Tokenises text that tools and users wrote so that none of it becomes a special token.

Such text may hold the text of a template's marker, which a tokenizer would turn into the marker itself. Here
it becomes the ordinary tokens of its characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_SURROGATES = re.compile("[\ud800-\udfff]")


def plain_text(value: Any) -> str:
    """Return text that can be written as UTF-8: undecodable bytes and lone surrogates become U+FFFD."""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return _SURROGATES.sub("\ufffd", value if isinstance(value, str) else str(value))


class TextEncoder:
    """Encodes with a Hugging Face tokenizer, and knows which of its tokens are not text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        added = {str(token): token_id for token, token_id in tokenizer.get_added_vocab().items()}
        # A single character cannot be split, and stands for itself, unless the tokenizer says it is special.
        self.protected = frozenset(tokenizer.all_special_ids) | {
            token_id for text, token_id in added.items() if len(text) > 1
        }
        """Ids that may come from a template or the model, and never from untrusted text."""
        texts = sorted({*added, *tokenizer.all_special_tokens}, key=len, reverse=True)
        pattern = "|".join(re.escape(text) for text in texts if len(text) > 1)
        self._markers = re.compile(pattern) if pattern else None

    def trusted(self, text: str) -> list[int]:
        """Return the ids of a template's own text: its markers become special tokens."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"] if text else []
        return ids

    def untrusted(self, text: str) -> list[int]:
        """Return the ids of any text. None of them is in `protected`."""
        ids = [token_id for piece in self._split(text) for token_id in self.trusted(piece)]
        if self.protected.isdisjoint(ids):
            return ids
        # A normaliser has made a marker of what was none: no piece of one character can.
        ids = [token_id for character in text for token_id in self.trusted(character)]
        return [token_id for token_id in ids if token_id not in self.protected]

    def has_markers(self, text: str) -> bool:
        """Return whether a text contains the text of an added or special token."""
        return self._markers is not None and self._markers.search(text) is not None

    def between(self, ids: Iterable[int]) -> list[int]:
        """Return those of the ids that are protected, in order."""
        return [token_id for token_id in ids if token_id in self.protected]

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """Return the text of ids. `special`: with the texts of special tokens."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=not special)
        return text

    def _split(self, text: str) -> list[str]:
        """Cut every marker in two; the pieces, tokenised one by one, hold none."""
        pieces: list[str] = []
        start = 0
        while self._markers and (found := self._markers.search(text, start)):
            pieces.append(text[start : found.start() + 1])  # what precedes a marker, and its first character
            start = found.start() + 1
        return [*pieces, text[start:]]
