"""The answer in a JSON object that ends a response: `{"reasoning": "...", "answer": 72}`, in a fence or not.

Parsed as JSON alone, over a bounded end of the response. Other forms of answers are in `extraction`.
"""

from __future__ import annotations

import json
import re
from itertools import islice

from rewardkit.json_objects import object_of_pairs
from rewardkit.rewards.reading.denials import denied

_OBJECT = re.compile(r"(?:^|(?<=[\s`:=>]))\{")
_KEYS = ("final_answer", "answer", "final answer")
_MOST_OBJECTS = 16
_LONGEST = 8_000


def answer_in_json(text: str) -> str | None:
    """Return the answer of the object that a text ends with; None if it ends with none that has an answer.

    A number is returned as it is written. An object in which a key stands twice has no answer.
    """
    tail = text[-_LONGEST:].rstrip().removesuffix("```").rstrip()
    if not tail.endswith("}") or 'nswer"' not in tail.casefold():
        return None
    for opening in islice(_OBJECT.finditer(tail), _MOST_OBJECTS):
        value = _answer_of(tail[opening.start() :])
        if value is not None and not denied(tail, opening.start()):
            return value.strip() or None
    return None


def _answer_of(text: str) -> str | None:
    """The answer, if the whole text is an object with one that is a text or a number."""
    try:
        found = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=object_of_pairs)
    except (ValueError, RecursionError):
        return None
    values = {str(key).casefold(): value for key, value in found.items()}
    value = next((values[key] for key in _KEYS if key in values), None)
    return value if isinstance(value, str) else None
