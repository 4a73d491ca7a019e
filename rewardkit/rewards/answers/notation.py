r"""Converts short texts from typographic signs and LaTeX to one plain notation, without interpreting them.

`x²`, `$x^{2}$` and `x^2` become `x^2`; `½` and `\frac12` become `1/2`; `≥`, `\geq` and `>=` become `≥`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from html.entities import html5

from rewardkit.rewards.answers.signs import plain_signs

# --- LaTeX ---

_FORMATS = r"\\(?:text|mathrm|mathbf|textbf|mathit|textit|operatorname|ce)"
_FORMATTED = re.compile(rf"{_FORMATS}\s?\{{([^{{}}]*)\}}")
_LATEX = re.compile(rf"{_FORMATS}\s?\{{|\\[,;!() \[\]]|(?<!\\)[{{}}]|\$")
_DELIMITERS = re.compile(r"\\[,;!() \[\]]|\$")
COMMAND = re.compile(rf"(?!{_FORMATS}\b)\\[a-zA-Z]+")
"""Pattern of a LaTeX command other than a font."""


def without_latex(text: str) -> str:
    """Remove LaTeX formatting from a text. Braces remain if the text has a command such as `\\frac`."""
    if "\\" not in text and "$" not in text:
        return text
    if COMMAND.search(text):
        plain = _DELIMITERS.sub(" ", _FORMATTED.sub(r"\1", _FORMATTED.sub(r"\1", text))).strip()
    else:
        plain = _LATEX.sub("", text)
    return plain.replace("\\{", "{").replace("\\}", "}")


_DEGREE = re.compile(r"\^?\s?\{?\s?\\(?:circ|degree)(?![a-zA-Z])\s?\}?|\^o(?![a-zA-Z])")
_SIGN = re.compile(r"\\([a-zA-Z]+)(?![a-zA-Z])(?!\s?[{\[])\s?")
_SIMPLE_FRACTION = re.compile(
    r"(?<=(\w))?\\[dtc]?frac\s?(?:\{\s?([\w.]{1,20})\s?\}\s?\{\s?([\w.]{1,20})\s?\}|(\d)\s?(\d))(?=(\w))?"
)
_SIGNS_IN = (range(0xA0, 0x100), range(0x370, 0x400), range(0x2010, 0x2030), range(0x2190, 0x2300))
"""Code points of the signs for which LaTeX has commands."""
_ESCAPED = re.compile(r"\\([%&#])")
_DIGRAPHS = {"<->": "↔", "<=>": "⇔", "->": "→", "=>": "⇒", ">=": "≥", "<=": "≤", "!=": "≠", "sqrt": "√"}
_DIGRAPH = re.compile(r"<->|<=>|(?<![-<])->|=>|>=|<=|!=|(?<![a-zA-Z\\])sqrt(?=\s?\()")


@cache
def _signs() -> dict[str, str]:
    """Map the names of LaTeX commands to their signs, according to the tables of the `math` reward."""
    # The imports are local, because few texts need the `math` reward.
    from rewardkit.rewards.math.reading.macros import GAP, MACROS
    from rewardkit.rewards.math.reading.normalise import ascii_signs

    found: dict[str, str] = {}
    for codes in _SIGNS_IN:
        for code in codes:
            command = ascii_signs(chr(code)).strip()
            if command[:1] == "\\" and command[1:].isalpha():
                found.setdefault(command[1:], chr(code))
    for name, macro in MACROS.items():
        spelling = macro.spelling
        if macro.arguments or not isinstance(spelling, str) or not name.isalpha():
            continue
        sign = found.get(spelling[1:]) if spelling[:1] == "\\" else spelling.replace(GAP, "").strip()
        if sign is not None:
            found[name] = sign
    return found


def _sign(command: re.Match[str]) -> str:
    """Return the sign for a LaTeX command, or the command itself if it has no sign."""
    name = command[1]
    if (sign := _signs().get(name)) is not None:
        return sign
    # MathML's entities have the same names as LaTeX commands.
    for entity in (f"{name};", f"{name.capitalize()};"):
        sign = html5.get(entity, "")
        if len(sign) == 1 and unicodedata.category(sign) == "Sm":
            return sign
    return command[0]


def _divided(found: re.Match[str]) -> str:
    top, bottom = found[2] or found[4], found[3] or found[5]
    return f"{' ' * bool(found[1])}{top}/{bottom}{' ' * bool(found[6])}"


# --- scripts and formulas ---

_BRACED = re.compile(r"([\^_])\s?\{\s?((?:[^{}]|\{[^{}]*\}){1,60}?)\s?\}")
_ATOM = re.compile(r"[-+]?(?:\d+|[^\W\d_]+)|\d*[-+]|\*|'+")
_BARE = re.compile(r"([\^_])([-+]?\d+(?:[-+](?!\w))?|[-+](?!\w)|[^\W\d_](?![^\W\d_])|\*|'+)")
_PROGRAM_POWER = re.compile(r"(?<=[\w)])\*\*(?=[\w(-])")
_CHEMICAL = r"(?:[A-Z][a-z]?\d*|\((?:[A-Z][a-z]?\d*)+\)\d*)+"
_CHARGED = re.compile(rf"(?<![\w)\]]){_CHEMICAL}(?P<sign>[-+])(?![\w+(-])")
_ELEMENT_CHARGE = re.compile(r"(?<![\w)\]^])([A-Z][a-z]?)(\d)([-+])(?![\w+(-])")
_INDEXED = re.compile(r"([A-Z]|[A-Z][a-z]|(?<![A-Za-z])[a-z])(?=\d)|(?<=[)\]])(?=\d)")
_CHARGES = str.maketrans("+-", "⁺⁻")
_CURRENCY_BEHIND = re.compile(r"(\d[\d.,]*)\s?([€£¥₹])")


def without_commands(text: str) -> str:
    r"""Return a text with signs instead of LaTeX commands, and without delimiters, fonts and braces."""
    text = plain_signs(text)
    if "\\" in text:
        text = _SIGN.sub(_sign, _SIMPLE_FRACTION.sub(_divided, _DEGREE.sub("°", text)))
        text = _ESCAPED.sub(r"\1", text)
    if "^" in text or "_" in text or "**" in text:
        text = _BRACED.sub(_unbraced, _PROGRAM_POWER.sub("^", text))
    text = without_latex(text)
    if ">" in text or "<" in text or "!=" in text or "sqrt" in text:
        text = _DIGRAPH.sub(lambda found: _DIGRAPHS[found[0]], text)
    return text


def plain_notation(text: str) -> str:
    r"""Return a text in plain notation: signs instead of LaTeX commands, `^2` and `_2` for scripts.

    A digit directly behind a letter is a subscript: `H2O`, `H₂O` and `H_2O` become `H _2 O`. A sign behind a
    chemical formula is a charge: `Na+` and `Na^{+}` become `Na ⁺`.
    """
    text = without_commands(text)
    if "^" in text or "_" in text:
        text = _BARE.sub(lambda found: _script_of(found[1], found[2]), text)
    if "-" in text or "+" in text:
        text = _ELEMENT_CHARGE.sub(lambda found: f"{found[1]}{_script_of('^', found[2] + found[3])}", text)
        text = _CHARGED.sub(lambda found: f"{found[0][:-1]} {found['sign'].translate(_CHARGES)} ", text)
    if not text.isascii():
        text = _CURRENCY_BEHIND.sub(r"\2\1", text)
    return _INDEXED.sub(r"\1 _", text)


def _unbraced(found: re.Match[str]) -> str:
    """Return a script without braces, or in brackets if it has several parts, as in `x^{n+1}`."""
    inner = _FORMATTED.sub(r"\1", found[2]).strip()
    if inner[:1] == "{" and inner[-1:] == "}":
        inner = inner[1:-1].strip()
    return _script_of(found[1], inner) if _ATOM.fullmatch(inner) else f" {found[1]}({inner}) "


def _script_of(mark: str, inner: str) -> str:
    if mark == "^" and inner in ("*", "'", "''", "'''"):
        return f"{inner} "
    if inner[-1:] in ("+", "-"):
        number = f" {mark}{inner[:-1]}" if inner[:-1] else ""
        return f"{number} {inner[-1].translate(_CHARGES)} "
    return f" {mark}{inner} "
