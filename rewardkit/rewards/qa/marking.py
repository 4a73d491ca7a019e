"""Where accepted answers stand in a text: each as the one character that stands for it."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rewardkit.rewards.clause_words import CANDIDATES, X
from rewardkit.rewards.other_languages import between_scripts


def marked(text: str, accepted: tuple[str, ...]) -> str:
    """Return a text with each accepted answer as the one character that stands for it."""
    pattern = _pattern(accepted)
    text = between_scripts(text)
    return text if pattern is None else _TWICE.sub(CANDIDATES[0], pattern.sub(CANDIDATES[0], text))


_TWICE = re.compile(
    X
    + r"\s?\((?!\w*\W?not\b)(?:[\w']+,?\s){0,4}"
    + X
    + r"\)|"
    + X
    + r"(?:[\s(,;:=/*_–—-]|\.\s?\(|\b(?:also|known|called|given|written|spelled|spelt|expressed"
    r"|rendered|sometimes|often"
    r"|equivalent(?:ly)?|alternatively|as|aka|or|that is|in (?:other words|another form|full|short"
    r"|digits|words|figures)"
    r"|namely)\b|\bi\.e\.|\ba\.k\.a\.){1,14}" + X + r"(?:\.?\))?"
)


@lru_cache(maxsize=4_096)
def _pattern(accepted: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = {form for text in accepted for form in (text.strip(), _unaccented(text.strip())) if form}
    if not forms:
        return None
    parts = [_as_pattern(form) for form in sorted(forms, key=lambda f: (-len(f), f))]
    return re.compile("|".join(parts))


def _as_pattern(form: str) -> str:
    words = r"\s{1,3}".join(map(re.escape, form.split()))
    exact = len(form) < 4 and not form.isdigit()
    article = r"(?:\b[Tt]he\s)?"
    return (
        rf"(?:{article}(?<![\w.,−+-])(?<![\w]')"
        + (words if exact else f"(?i:{words})")
        + r"(?!\w|[.,]\d|[-'’]\w|\^))"
    )


def _unaccented(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
