"""Tokenisation of text from tools and users, in which no part of the text becomes a special token.

Such text may contain the spelling of a template marker, which a tokenizer would encode as the marker itself.
This module encodes that spelling as ordinary tokens instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_SURROGATES = re.compile("[\ud800-\udfff]")


def plain_text(value: Any) -> str:
    """Return the value as text that UTF-8 can encode. Undecodable bytes and lone surrogates become U+FFFD."""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return _SURROGATES.sub("\ufffd", value if isinstance(value, str) else str(value))


class TextEncoder:
    """Encoder around a Hugging Face tokenizer that separates special tokens from ordinary text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        added = {str(token): token_id for token, token_id in tokenizer.get_added_vocab().items()}
        # A single character cannot be split, so it is protected only if the tokenizer declares it special.
        self.protected = frozenset(tokenizer.all_special_ids) | {
            token_id for text, token_id in added.items() if len(text) > 1
        }
        """Token ids that only a template or the model may produce. Untrusted text never produces these
        ids."""
        texts = sorted({*added, *tokenizer.all_special_tokens}, key=len, reverse=True)
        pattern = "|".join(re.escape(text) for text in texts if len(text) > 1)
        self._markers = re.compile(pattern) if pattern else None

    def trusted(self, text: str) -> list[int]:
        """Return the token ids of text from a template. Markers in the text become special tokens."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"] if text else []
        return ids

    def untrusted(self, text: str) -> list[int]:
        """Return the ids of arbitrary text. None of the ids is in `protected`."""
        ids = [token_id for piece in self._split(text) for token_id in self.trusted(piece)]
        if self.protected.isdisjoint(ids):
            return ids
        # The tokenizer's normaliser has created a marker. Encoding single characters avoids the marker.
        ids = [token_id for character in text for token_id in self.trusted(character)]
        return [token_id for token_id in ids if token_id not in self.protected]

    def has_markers(self, text: str) -> bool:
        """Return True if a text contains the spelling of an added or special token."""
        return self._markers is not None and self._markers.search(text) is not None

    def between(self, ids: Iterable[int]) -> list[int]:
        """Return the ids in `ids` that are protected, in the same order."""
        return [token_id for token_id in ids if token_id in self.protected]

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """Decode ids to text. If `special` is True, include the text of special tokens."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=not special)
        return text

    def _split(self, text: str) -> list[str]:
        """Split a text inside every marker, so that no piece contains a whole marker."""
        pieces: list[str] = []
        start = 0
        while self._markers and (found := self._markers.search(text, start)):
            pieces.append(text[start : found.start() + 1])  # the piece ends with the marker's first character
            start = found.start() + 1
        return [*pieces, text[start:]]
