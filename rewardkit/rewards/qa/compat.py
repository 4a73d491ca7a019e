"""verl's rule for `searchR1_*` (github.com/volcengine/verl, `search_r1_like_qa_em.py`, version 0.9.1)."""

from __future__ import annotations

import re
import string
from typing import Any

import msgspec

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_MANY_TAGS = 10


def verl_score(response: str, ground_truth: str) -> tuple[float, bool, str | None]:
    """Return the score, True if the answer is right, and the answer, or None if there is no answer."""
    answer = _last_answer(response)
    if answer is None:
        return 0.0, False, None
    normal = normalize(answer)
    if all(normalize(accepted) != normal for accepted in _targets(ground_truth)):
        return 0.0, False, answer
    many = response.count("<answer>") > _MANY_TAGS or response.count("</answer>") > _MANY_TAGS
    return (0.25 if many else 1.0), True, answer


def normalize(text: str) -> str:
    """Return SQuAD's normal form: lower case, without ASCII punctuation or articles, with single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def _last_answer(response: str) -> str | None:
    """Return the last match of `<answer>(.*?)</answer>` or None, in one pass."""
    position = 0
    found = None
    while (start := response.find("<answer>", position)) >= 0:
        end = response.find("</answer>", start + 8)
        if end < 0:
            break
        found = response[start + 8 : end]
        position = end + 9
    return None if found is None else found.strip()


def _targets(ground_truth: str) -> list[str]:
    try:
        value: Any = msgspec.json.decode(ground_truth.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return [ground_truth]
    if isinstance(value, dict):
        value = value.get("target", [])
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
