"""Converts the text of an answer to a canonical spelling, without meaningless notation.

Only the spelling changes (typography, spacing, fonts, escapes). The lexer and the parser handle the meaning.
Each step is a single pass, implemented in C, over at most a few thousand characters.
"""

from __future__ import annotations

import re
import unicodedata

from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS
from rewardkit.rewards.math.reading.macros import CURRENCY, GAP, THIN, expand, is_command
from rewardkit.rewards.math.reading.nouns import harmless
from rewardkit.rewards.math.units import is_unit

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_SMALL = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+|[{''.join(_SUBSCRIPTS)}]+")
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu", "ξ": "xi", "π": "pi",
    "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
    "Δ": "Delta", "Σ": "Sigma", "Ω": "Omega", "\u2126": "Omega", "Γ": "Gamma", "Φ": "Phi", "Ψ": "Psi",
    "Λ": "Lambda", "Θ": "Theta",
}  # fmt: skip
_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "﹣": "-", "×": r"\times ", "÷": r"\div ",
    "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "•": r"\cdot ", "∗": "*", "⁄": "/", "∕": "/",
    "≤": r"\le ", "⩽": r"\le ", "≦": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≧": r"\ge ", "≠": r"\ne ",
    "≈": r"\approx ", "≡": r"\equiv ", "∈": r"\in ", "∉": r"\notin ", "∪": r"\cup ", "∩": r"\cap ",
    "∖": r"\setminus ", "∅": r"\emptyset ", "∞": r"\infty ", "√": r"\sqrt ", "∛": r"\sqrt[3]", "±": r"\pm ",
    "∓": r"\mp ", "°": r"^\circ ", "º": r"^\circ ", "℃": r"^\circ C", "′": "'", "″": "''", "’": "'",
    "‘": "'", "“": '"', "”": '"', "…": r"\ldots ", "⋯": r"\ldots ", "，": ",", "、": ",", "；": ";",
    "：": ":", "∶": ":", "。": ".", "．": ".", "％": "%", "（": "(", "）": ")", "【": "[", "】": "]",
    "｛": "{", "｝": "}", "｜": "|", "∣": "|", "＝": "=", "＜": "<", "＞": ">", "＄": "$", "￥": "¥",
    "∠": r"\angle ", "△": r"\triangle ", "∴": "", "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}",
    "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "∫": r"\int ", "∑": r"\sum ",
    "∏": r"\prod ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ",
    "∧": r"\land ", "∨": r"\lor ", "¬": r"\neg ", "→": r"\to ", "⇒": r"\Rightarrow ", "⟨": r"\langle ",
    "⟩": r"\rangle ", "‖": r"\Vert ", "ı": "i", "\ufeff": "", "\xad": "",
}  # fmt: skip
_TYPOGRAPHY = {
    **{ord(k): v for k, v in _SIGNS.items()},
    **{ord(k): f"\\{v} " for k, v in _GREEK.items()},
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in _SIGNS},
    **dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065)], ""),
    **dict.fromkeys([0xA0, 0x3000, *range(0x2000, 0x200B), 0x202F, 0x205F], " "),
}

_DOUBLED = re.compile(r"(?<!\\)\\(?=\\([a-zA-Z]{2,}))")
_GROUPED_DIGITS = re.compile(r"(?<=\d)\u2009(?=\d{3}(?!\d))")
_SINGLE_BACKSLASH = re.compile(r"\\(?=[-+\d\s.(])")
_BRACED_WORD = re.compile(r"(?<=\d) ?\{([a-zA-Z]{2,12})\}")
_REPEATING = re.compile(r"(\d{0,20})\.(\d{0,20}) ?\\(?:overline|bar|dot) ?\{(\d{1,20})\}")
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
        text = _CURRENCY_BEHIND.sub(r"\1\3\2", ascii_signs(text))
    if "\\" in text:
        text = _clean_commands(text)
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
    return _strip_edges(text)


def ascii_signs(text: str) -> str:
    """Return the text with typographic signs, full-width forms and the digits of all scripts in ASCII."""
    text = _SMALL.sub(_in_braces, text[: 4 * MAX_ANSWER_CHARS]).translate(_TYPOGRAPHY)
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if not c.isascii() and c.isdecimal() else c for c in text)


def _in_braces(small: re.Match[str]) -> str:
    """Return a run of superscripts or subscripts as one group: `⁻²` becomes `^{-2}`."""
    raised = small.group()[0] in _SUPERSCRIPTS
    inner = "".join(map((_SUPERSCRIPTS if raised else _SUBSCRIPTS).__getitem__, small.group()))
    return f"{'^' if raised else '_'}{{{inner}}}"


def _clean_commands(text: str) -> str:
    if "\\\\" in text:
        text = _DOUBLED.sub(lambda found: "" if is_command(found[1]) else "\\", text)
    if "\\{" in text and "\\begin" in text and "\\}" not in text:
        text = _OPEN_SYSTEM.sub(r"\\begin{cases}\g<rows>\\end{cases}", text)
    if ("matrix}" in text or "array}" in text) and "\\\\" not in text:
        text = _SINGLE_BACKSLASH.sub(r"\\\\", text)  # Unescaping left one backslash between rows.
    if "\\overline" in text or "\\dot" in text or "\\bar" in text:
        text = _REPEATING.sub(_repeating_fraction, text)
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
    whole, fixed, repeated = found.groups()
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
