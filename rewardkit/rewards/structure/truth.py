"""Ground truths that may be one text or several, and the code of a response. No comparing here."""

from __future__ import annotations

from functools import lru_cache

import msgspec


@lru_cache(maxsize=65_536)
def texts(ground_truth: str) -> tuple[str, ...]:
    """Return the texts of a ground truth: those of a JSON list of strings, else itself; no empty ones."""
    if ground_truth.startswith("["):
        try:
            found = msgspec.json.decode(ground_truth.encode(), type=list[str])
            return tuple(text for text in found if text.strip())
        except (msgspec.MsgspecError, UnicodeEncodeError):
            pass
    return (ground_truth,) if ground_truth.strip() else ()


def last_fence(text: str, *languages: str) -> str:
    """Return what stands in the last code fence of one of these languages or of none, else the text."""
    pieces = text.split("```")
    if len(pieces) < 3:
        return text.strip()
    blocks = [piece.partition("\n") for piece in pieces[1::2][: (len(pieces) - 1) // 2]]
    bodies = [body for head, newline, body in blocks if newline and head.strip().lower() in ("", *languages)]
    return (bodies or [text])[-1].strip()
