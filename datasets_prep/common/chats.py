"""Prompts that are published as chats, and the question within them."""

from __future__ import annotations

import re

from rewardkit.datasets_prep.common.sources import Record
from rewardkit.errors import InputError

_DAPO = re.compile(r"\A[^\n]*Answer:[^\n]*\n\n(.*)\n\n[^\n]*Answer:[^\n]*\Z", re.DOTALL)
"""DAPO's prompt, and that of the sets made like it: what to do, the problem, a reminder."""


def published_chat(record: Record, column: str) -> tuple[str, tuple[dict[str, str], ...]]:
    """Return the question alone, and the messages of the chat in a column.

    Raises:
        InputError: it is no chat that ends with the user's words.
    """
    value = record.value(column)
    given = value if isinstance(value, list) else []
    said = [m for m in given if isinstance(m, dict) and isinstance(m.get("content"), str)]
    if not said or len(said) != len(given) or said[-1].get("role") != "user":
        raise InputError(f"{record.where}: '{column}' must be a chat that ends with the user's words")
    last = said[-1]["content"].strip()
    wrapped = _DAPO.match(last)
    question = (wrapped[1] if wrapped else last).strip()
    return question, tuple({"role": str(m["role"]), "content": m["content"]} for m in said)
