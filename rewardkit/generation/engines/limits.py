"""Limits of engines that are checked before a request is made."""

from __future__ import annotations


def too_long(length: int, limit: int) -> str | None:
    """Return why a prompt of `length` tokens is too long; None: it is not."""
    if length <= limit:
        return None
    return f"the prompt has {length} tokens, over {limit}; raise --max-prompt-tokens or --max-model-len"
