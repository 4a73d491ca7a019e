"""Spells residue classes in words as congruences: "all integers that leave remainder 3 when divided by 7"."""

from __future__ import annotations

import re

_ALL = r"(?:(?:all|any|every|each|the) )?"
_NUMBERS = r"-?\d{1,18}(?:(?: ?, ?(?:or |and )?| or | and )-?\d{1,18})*"
_CLASS = re.compile(
    rf"{_ALL}(?:(?:integer|number)s?(?: (?P<member>[a-z]))?|(?P<name>[a-z])) "
    r"(?:(?:that|which|with|is|are) ){0,2}"
    r"(?:congruent to|(?:leav(?:es?|ing) )?(?:an? |the )?remainders?(?: of)?) "
    rf"(?P<values>{_NUMBERS}) "
    r"(?:mod(?:ulo)?|(?:when|if|(?:up)?on) (?:divided|division) by) (?P<modulus>\d{1,18})",
    re.IGNORECASE,
)
_PARITY = re.compile(
    rf"{_ALL}(?P<first>odd|even) (?:integer|number)s?(?: (?P<member>[a-z]))?"
    r"|(?P<name>[a-z]) (?:is |are )?(?P<last>odd|even)",
    re.IGNORECASE,
)


def congruence_in_words(text: str) -> str | None:
    """Return a description of residue classes in words as a congruence, or None for any other text."""
    if (found := _CLASS.fullmatch(text)) is not None:
        values, modulus = found["values"], found["modulus"]
    elif (found := _PARITY.fullmatch(text)) is not None:
        values, modulus = str(int((found["first"] or found["last"]).casefold() == "odd")), "2"
    else:
        return None
    return f"{found['member'] or found['name'] or ''} \\equiv {values} \\pmod{{{modulus}}}"
