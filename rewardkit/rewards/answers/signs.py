"""Reads typographic signs by Unicode's tables: superscripts, subscripts, fractions, fonts and widths."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, partial

_CODES = range(0xA0, 0x2E80)
"""Code points that may be superscripts, subscripts and fractions."""
_KEPT_TAGS = ("<super>", "<sub>", "<fraction>", "<circle>", "<initial>", "<medial>", "<final>", "<isolated>")
"""Unicode compatibility tags of characters that need more than a replacement by another character."""
_ALIKE = {0x2212: "-", 0x2044: "/", 0x066A: "%", 0xBA: "°", 0x2032: "'", 0x2019: "'"}
"""Signs that mean the same as another sign although Unicode has no compatibility mapping for them."""


def plain_signs(text: str) -> str:
    """Replace superscripts, subscripts, fractions, fonts and full-width forms: `x²` becomes `x^{2}`."""
    if text.isascii():
        return text
    return with_scripts(text, "{}/{}").translate(_PLAIN)


def with_scripts(text: str, fraction: str) -> str:
    """Return a text with `x²` as `x^{2}`, and `½` as in the format `fraction` with the numbers 1 and 2."""
    scripts, fractions = _patterns()
    return fractions.sub(partial(_fraction, fraction), scripts.sub(_script, text))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a run of superscripts or of subscripts, and of a fraction."""
    found: dict[str, list[str]] = {"<super>": [], "<sub>": [], "<fraction>": []}
    for code in _CODES:
        tag, _, rest = unicodedata.decomposition(chr(code)).partition(" ")
        if tag in found and code not in _ALIKE and (tag == "<fraction>" or " " not in rest):
            found[tag].append(chr(code))
    raised, lowered, fractions = ("".join(signs) for signs in found.values())
    return re.compile(f"[{raised}]+|[{lowered}]+"), re.compile(rf"(?<=(\w))?\s?([{fractions}])(?=(\w))?")


def _script(run: re.Match[str]) -> str:
    inner = unicodedata.normalize("NFKC", run[0]).translate(_PLAIN)
    mark = "^" if unicodedata.decomposition(run[0][0]).startswith("<super>") else "_"
    return f"{mark}{{{inner}}}"


def _fraction(form: str, found: re.Match[str]) -> str:
    top, _, bottom = unicodedata.normalize("NFKC", found[2]).partition("\u2044")
    return f"{' ' * bool(found[1])}{form.format(top, bottom)}{' ' * bool(found[3])}"


class CharacterTable(dict[int, str]):
    """Table for `str.translate` that computes the text for a character once, except for rare characters."""

    def __init__(self, known: Mapping[int, str], spelled: Callable[[str], str]) -> None:
        super().__init__(known)
        self._spelled = spelled

    def __missing__(self, code: int) -> str:
        found = self._spelled(chr(code))
        return self.setdefault(code, found) if code < _RARE else found


_RARE = 0x10000


def _plain(character: str) -> str:
    """Return the base character of a variant, such as a font.

    Symbols for sets of numbers, such as `ℝ`, are unchanged.
    """
    return character if "DOUBLE-STRUCK" in unicodedata.name(character, "") else plain_form(character)


def plain_form(character: str) -> str:
    """Return the base character of a variant, such as a font or a width, or the character itself."""
    tag, _, rest = unicodedata.decomposition(character).rpartition("> ")
    if (alike := _ALIKE.get(ord(character))) is not None:
        return alike
    if not rest or f"{tag}>" in _KEPT_TAGS or (not tag and " " in rest):
        return character
    found = unicodedata.normalize("NFKC", character).translate(_ALIKE)
    if found.isspace():  # Narrow spaces separate groups of digits.
        return " " if tag == "<wide" else character
    return character if any(map(unicodedata.combining, found)) else found


_PLAIN = CharacterTable(_ALIKE, _plain)
