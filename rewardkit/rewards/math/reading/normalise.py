"""Converts the text of an answer to a canonical spelling, without meaningless notation.

Only the spelling changes (typography, spacing, fonts, escapes). The lexer and the parser handle the meaning.
Each step is a single pass, implemented in C, over at most a few thousand characters.
"""

from __future__ import annotations

import re
import unicodedata

from rewardkit.rewards.answers.signs import CharacterTable, plain_form, with_scripts
from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS
from rewardkit.rewards.math.reading.bases import with_bases
from rewardkit.rewards.math.reading.macros import CURRENCY, GAP, THIN, expand, is_command, spelling_of
from rewardkit.rewards.math.reading.nouns import harmless
from rewardkit.rewards.math.units import is_unit

_SIGNS = {
    **dict.fromkeys("–—‐", "-"), **dict.fromkeys("·∙•", r"\cdot "), "∗": "*", "∕": "/", "√": r"\sqrt ",
    "∛": r"\sqrt[3]", "°": r"^\circ ", "‘": "'", "“": '"', "”": '"', "⋯": r"\ldots ", "、": ",", "。": ".",
    "∶": ":", "【": "[", "】": "]", "∣": "|", "△": r"\triangle ", "‖": r"\Vert ", "¬": r"\neg ", "ı": "i",
}  # fmt: skip
"""Signs without an entry in Unicode's tables and without a LaTeX command named like their HTML entity."""
_FONTS = (("DOUBLE-STRUCK", "mathbb"), ("SCRIPT", "mathcal"), ("FRAKTUR", "mathcal"), ("BOLD", "mathbf"))
"""Font words in Unicode's letter names, for fonts that change the meaning, with the LaTeX commands for these
fonts."""


def _typography(character: str) -> str:
    """Return a character in ASCII: its plain form, or a LaTeX command."""
    if character.isascii():
        return character
    category = unicodedata.category(character)
    if category in ("Cf", "Zs"):
        return " " if category == "Zs" else ""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if (spelling := spelling_of(character)) is not None:
        return spelling
    plain = plain_form(character)
    if plain == character:
        return character
    name = unicodedata.name(character, "")
    font = next((font for word, font in _FONTS if word in name), None)
    return f"\\{font}{{{plain}}}" if font and plain.isalpha() else plain.translate(_TYPOGRAPHY)


_TYPOGRAPHY = CharacterTable({ord(sign): spelling for sign, spelling in _SIGNS.items()}, _typography)

_DOUBLED = re.compile(r"(?<!\\)\\(?=\\([a-zA-Z]{2,}))")
_GROUPED_DIGITS = re.compile(r"(?<=\d)\u2009(?=\d{3}(?!\d))")
_SINGLE_BACKSLASH = re.compile(r"\\(?=[-+\d\s.(])")
_BRACED_WORD = re.compile(r"(?<=\d) ?\{([a-zA-Z]{2,12})\}")
_REPEATING = re.compile(r"(\d{0,20})\.(\d{0,20}) ?\\(?:overline|bar|dot) ?(?:\{(\d{1,20})\}|(\d))")
_RAISED_PRIMES = re.compile(r"\^ ?(?:\{ ?((?:\\prime ?){1,3})\}|(\\prime(?![a-zA-Z])))")
_COMMA_GROUP = re.compile(r"(?<=\d) ?(?:\\text ?)?\{ ?, ?\} ?(?=\d{3})")
_BRACED_POINT = re.compile(r"(?<=\d) ?(?:\\text ?)?\{ ?\. ?\} ?(?=\d)")
_BRACED_THOUSANDS = re.compile(r"(?<!\\)\{(\d{1,3}(?:,\d{3})+)\}")
_OPEN_SYSTEM = re.compile(
    r"\\\{ ?\\begin ?\{(?P<name>array|(?:small)?matrix|aligned|align\*?|gathered|split)\}"
    r"(?: ?\{[lcr|@{}]{1,12}\})?"
    r"(?P<rows>.*)\\end ?\{(?P=name)\}",
    re.DOTALL,
)
_COUNTRY = re.compile(rf"(?<![A-Za-z])(?:US|AU|CA|HK|NZ|[AC]) ?(?=\\?[${CURRENCY}] ?\d)")
_EMPTY_GROUP = re.compile(r"(?<=[A-Za-z\d})]) ?\{\}")
_INCHES = re.compile(r"(?<=\d)\"")
_MINUS_WORD = re.compile(r"\b(?:[Nn]egative|[Mm]inus) (?=[\d\\])")
_GLUED = re.compile(r"\\q?quad(?=[a-zA-Z])")
_ANGLES = re.compile(r"(\A|=)\s*<([^<>=]{1,400},[^<>=]{1,400})>(\s*)\Z")
"""Pattern of the components of a vector between signs of inequality, `<1, 2>`."""
_SPACE_RUN = re.compile(r"\s+")
_SWITCHED = re.compile(r"\{\s?\\(?:bf|bfseries|boldmath)\s+(?=[a-zA-Z]\s?\})")
r"""Pattern of the switch to bold before a single letter, `{\bf A}`."""
_CURRENCY_BEHIND = re.compile(r"^\s*([-+]?)(\d[\d,.]{0,40})\s?([€£¥])[\s.]*$")
_EDGES = ' \t\r\n.,;:!。*`"\\~'


def clean(text: str) -> str:
    """Return an answer in canonical spelling, without delimiters, fonts or typographic signs."""
    if text.isascii() and text.isalnum():
        return text
    if not text.isascii():
        text = ascii_signs(text)
    if "\\" in text:
        text = _clean_commands(text)
    if not text.isascii():
        text = _CURRENCY_BEHIND.sub(r"\1\3\2", text)
    if ">" in text and "<" in text:
        text = _ANGLES.sub(r"\1\\langle \2\\rangle \3", text)
    if CURRENCY in text or "$" in text:
        text = _COUNTRY.sub("", text)
    if "{}" in text:
        text = _EMPTY_GROUP.sub("", text)
    if "'" in text:
        text = _INCHES.sub("''", text)
    if "egative" in text or "inus" in text:
        text = _MINUS_WORD.sub("-", text)
    if "..." in text:
        text = text.replace("...", "\\ldots ")
    text = text.replace("$", "").replace("~", " ").replace("**", "^" if _is_power(text) else "")
    if "{" in text:
        if "." in text:
            text = _BRACED_POINT.sub(".", text)
        if "," in text:
            text = _COMMA_GROUP.sub(",", text)
            text = _BRACED_THOUSANDS.sub(lambda m: "{" + m.group(1).replace(",", "") + "}", text)
        text = _BRACED_WORD.sub(_as_text, text)
    text = _SPACE_RUN.sub(" ", text)
    return _strip_edges(with_bases(text) if "base" in text.casefold() or "_" in text else text)


def ascii_signs(text: str) -> str:
    """Return the text with typographic signs, full-width forms and the digits of all scripts in ASCII."""
    return with_scripts(text[: 4 * MAX_ANSWER_CHARS], "\\frac{{{}}}{{{}}}").translate(_TYPOGRAPHY)


def _clean_commands(text: str) -> str:
    if "\\\\" in text:
        text = _DOUBLED.sub(lambda found: "" if is_command(found[1]) else "\\", text)
    if "\\{" in text and "\\begin" in text and "\\}" not in text:
        text = _OPEN_SYSTEM.sub(r"\\begin{cases}\g<rows>\\end{cases}", text)
    if ("matrix}" in text or "array}" in text) and "\\\\" not in text:
        text = _SINGLE_BACKSLASH.sub(r"\\\\", text)  # Unescaping left one backslash between rows.
    if "\\overline" in text or "\\dot" in text or "\\bar" in text:
        text = _REPEATING.sub(_repeating_fraction, text)
    if "\\prime" in text:
        text = _RAISED_PRIMES.sub(lambda primes: "'" * primes.group().count("prime"), text)
    if "\\b" in text:
        text = _SWITCHED.sub(r"{\\mathbf ", text)
    if "quad" in text:
        text = _GLUED.sub(r"\g<0> ", text)
    text = expand(text)
    if GAP in text and text.count("=") < 2:
        text = text.replace(GAP, " ")
    return _GROUPED_DIGITS.sub("", text).replace(THIN, " ")


def _repeating_fraction(found: re.Match[str]) -> str:
    r"""Return a repeating decimal, such as `0.1\overline{6}`, as a fraction."""
    whole, fixed, group, digit = found.groups()
    repeated = group or digit
    top = int(whole + fixed + repeated) - int((whole + fixed) or 0)
    return f"\\frac{{{top}}}{{{(10 ** len(repeated) - 1) * 10 ** len(fixed)}}}"


def _as_text(braced: re.Match[str]) -> str:
    """Restore the text command around a known word that lost it, as in `4{cm}` or `4{apples}`."""
    word = braced.group(1)
    return f"\\text{{{word}}}" if is_unit(word) or harmless(word) else braced.group()


def _is_power(text: str) -> bool:
    """Return True if `**` is Python's power operator (2**3) rather than Markdown's bold (**23**)."""
    inner = text.strip()
    return not (inner.startswith("**") or inner.endswith("**"))


def _strip_edges(text: str) -> str:
    """Remove surrounding spaces and punctuation, but keep a leading decimal point and a final factorial."""
    start = text.lstrip(' \t\r\n,;:。*`"~')
    if start.startswith(".") and not start[1:2].isdigit():
        start = start.lstrip(_EDGES)
    end = start.rstrip(_EDGES)
    if start[len(end) :].lstrip().startswith("!") and end[-1:] not in ("", " "):
        rest = start[len(end) :]
        signs = len(rest) - len(rest.lstrip("! ")) if rest[0] in "! " else 0
        end = (end + rest[:signs]).rstrip()
    return end
