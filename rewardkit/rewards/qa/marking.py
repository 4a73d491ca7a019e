"""Where accepted answers stand in a text: each as the one character that stands for it."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

from rewardkit.rewards.reading.clause_words import CANDIDATES, X
from rewardkit.rewards.reading.other_languages import between_scripts

_KINDS = (
    "city", "town", "village", "state", "province", "county", "district", "region", "country", "island",
    "islands", "river", "lake", "sea", "ocean", "gulf", "bay", "mountain", "mountains", "desert", "continent",
    "planet", "university", "airport",
)  # fmt: skip
"""Kinds of things that have one name between them: the city, the state and the county of New York."""
_NAMED_OF = ("city", "country")
"""Kinds that are words of grammar to `weighing`: the city of New York."""
_ASKED_KIND = re.compile(rf"\b(?:which|what)\s(?:[\w.'’-]+\s){{0,3}}?({'|'.join(_KINDS)})\b", re.IGNORECASE)


def marked(text: str, accepted: tuple[str, ...], question: str = "") -> str:
    """Return a text with each accepted answer as the one character that stands for it.

    Where the question asks for a kind of thing, the name of another kind is none: New York City for a state.
    """
    pattern = _pattern(accepted, asked_kind(question))
    text = between_scripts(text)
    return text if pattern is None else _TWICE.sub(CANDIDATES[0], pattern.sub(CANDIDATES[0], text))


_TWICE = re.compile(
    X
    + r"\s?\((?!\w*\W?not\b)(?:[\w']+,?\s){0,4}"
    + X
    + r"\)|"
    + X
    + r"(?:[\s(,;:=/*_–—-]|\.\s?\(|\b(?:also|known|called|given|written|spelled|spelt|expressed"
    r"|rendered|listed|recorded|formatted|abbreviated|transliterated|sometimes|often"
    r"|equivalent(?:ly)?|alternatively|as|aka|or|that is|in (?:other words|another form|full|short"
    r"|digits|words|figures)"
    r"|namely|some|many|sources|texts|write|spell|call|it)\b|\bi\.e\.|\ba\.k\.a\.){1,14}" + X + r"(?:\.?\))?"
)


@lru_cache(maxsize=16_384)
def asked_kind(question: str) -> str:
    """Return the kind of thing with a name that a question asks for, such as `state`, empty for none."""
    found = _ASKED_KIND.search(question)
    return found[1].casefold() if found else ""


@lru_cache(maxsize=4_096)
def _pattern(accepted: tuple[str, ...], kind: str) -> re.Pattern[str] | None:
    forms = {form for text in accepted for form in (text.strip(), unaccented(text.strip())) if form}
    if not forms:
        return None
    others = "|".join(other for other in _KINDS if other != kind) if kind else ""
    behind = rf"(?!\s(?i:{others})\b)" if kind else ""
    of_kind = "".join(
        rf"(?<!\b[{one[0].upper()}{one[0]}]{one[1:]} of\s)" for one in _NAMED_OF if kind not in ("", one)
    )
    # What stands around them once for all: a pattern takes as long to compile as a response to read.
    runs = groupby(sorted(forms, key=lambda f: (-len(f), f)), _is_exact)
    words = "|".join(
        ("(?:" if exact else "(?i:") + "|".join(map(_as_pattern, run)) + ")" for exact, run in runs
    )
    return re.compile(
        rf"{of_kind}(?:\b[Tt]he\s)?(?<![\w.,−+-])(?<![\w]')(?:{words})(?!\w|[.,]\d|[-'’]\w|\^){behind}"
    )


def _is_exact(form: str) -> bool:
    """Whether only the same case is the same name: in `US` and `IT`."""
    return len(form) < 4 and not form.isdigit()


def _as_pattern(form: str) -> str:
    words = r"\s{1,3}".join(map(re.escape, form.split()))
    words = _COLON.sub(r"\\s?[:∶]\\s?", _DASH.sub("[-‐‑–—]", words))
    return _BETWEEN_WORDS.sub(r"(?:\\s{1,3}|-)", _JUNIOR.sub(r",?\g<0>", words))


_BETWEEN_WORDS = re.compile(r"(?<=[^\W\d_]{2})\\s\{1,3\}(?=[^\W\d_]{2})")
_DASH = re.compile(r"(?<=[^\W\d_])\\-(?=[^\W\d_])")
_COLON = re.compile(r"(?<=\d):(?=\d)")
_JUNIOR = re.compile(r"\\s\{1,3\}(?=[JS]r\b)")
"""In a pattern, what is written in several ways: dashes in names, colons of ratios, a comma before Jr."""


def unaccented(text: str) -> str:
    """Return a text with plain letters for accented ones."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
