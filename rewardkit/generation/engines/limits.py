"""What an engine cannot take, said before it is asked."""

from __future__ import annotations


def too_long(length: int, limit: int) -> str | None:
    """Say why a prompt cannot be answered, if it cannot."""
    if length <= limit:
        return None
    return f"the prompt has {length} tokens, over {limit}; raise --max-prompt-tokens or --max-model-len"
