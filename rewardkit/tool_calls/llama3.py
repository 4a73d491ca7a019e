"""Format `llama3` for Llama 3.1 to 3.3: JSON objects with `parameters` after an optional `<|python_tag|>`.

If the tag is missing, `json.py` parses the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rewardkit.tool_calls import json
from rewardkit.tool_calls.call import MAX_CALLS, Call, UnreadableCall, calls_of, failed, json_at, name_in

TAG = "<|python_tag|>"
_END = re.compile(r"<\|(?:eot_id|eom_id)\|>")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text before the calls and the parsed calls."""
    text = _END.split(text, maxsplit=1)[0]
    before, tag, rest = text.partition(TAG)
    if not tag:
        return json.read(text)
    calls: list[Call] = []
    try:
        calls.extend(_calls(rest))
    except UnreadableCall as error:
        calls.append(failed(str(error), "" if calls else name_in(rest)))
    return before.strip(), calls or [failed(f"there is no call after {TAG}")]


def _calls(text: str) -> Iterator[Call]:
    """Yield the calls in a text, which are separated by semicolons, commas or whitespace.

    Raises:
        UnreadableCall: A call cannot be parsed.
    """
    position = 0
    for _ in range(MAX_CALLS + 1):
        while position < len(text) and text[position] in " \t\r\n;,":
            position += 1
        if text.startswith(TAG, position):
            position += len(TAG)
            continue
        if position >= len(text):
            return
        value, position = json_at(text, position)
        yield from calls_of(value)
