"""Spells numerals in a stated base in one way: `(-1A.8)_{16}` for `-1A.8` in base sixteen."""

from __future__ import annotations

import re

from rewardkit.rewards.math.reading.spelled import spelled_number

NAMES = {2: "binary", 8: "octal", 16: "hexadecimal"}
"""Adjectives for the bases that have one."""
_SHORT = {"hex": 16, "bin": 2, "oct": 8, "dec": 10} | {name: base for base, name in NAMES.items()}
_TEXT = r"\\(?:text|mathrm) ?\{ ?"
_BEHIND = re.compile(
    r"(?<![\w.])(?P<numeral>(?=[A-F]{0,30}\d)[\dA-F]{1,60}(?:\.[\dA-F]{1,60})?(?: ?[)}]){0,2}) ?"
    rf"(?:{_TEXT})?\(? ?(?:in )?base[- ]?(?: ?\}})? ?"
    rf"(?:{_TEXT})?(?P<base>\d{{1,2}}(?!\d)|[a-z]{{3,11}}(?![a-z]))(?: ?\}})?(?: ?(?:{_TEXT})?\)(?: ?\}})?)?",
    re.IGNORECASE,
)
"""Pattern of a base in words behind a numeral: `(base 7)`, `\\text{ in base }7`."""
_NAMED = re.compile(rf"_ ?\{{ ?{_TEXT}(?P<base>{'|'.join(_SHORT)}) ?\}} ?\}}", re.IGNORECASE)
_GROUPS = re.compile(
    r"(?<![\w.,] )(?<![\w.,])(?P<first>[\dA-F]{1,4})(?P<rest>(?: [\dA-F]{2,4})+)(?=(?: ?[)}])? ?_ ?\{? ?\d)"
)


def with_bases(text: str) -> str:
    """Return a text whose numerals have their base as a subscript, and no spaces between groups of digits."""
    if "base" in text.casefold():
        text = _BEHIND.sub(_subscript, text)
    if "_" not in text:
        return text
    text = _NAMED.sub(lambda found: f"_{{{_SHORT[found['base'].casefold()]}}}", text)
    return _GROUPS.sub(_joined, text) if " " in text else text


def _subscript(found: re.Match[str]) -> str:
    base = found["base"] if found["base"].isdigit() else spelled_number(found["base"])
    return found.group() if base is None else f"{found['numeral']}_{{{base}}}"


def _joined(found: re.Match[str]) -> str:
    """Return groups of digits as one numeral, if all groups but the first have the same length."""
    first, *others = found.group().split()
    alike = len({len(group) for group in others}) == 1 and len(first) <= len(others[0])
    return first + "".join(others) if alike else found.group()
