"""The macros that answers use, in one table: what each is spelled as, and the token that it becomes.

`normalise` replaces a macro by its canonical spelling, and `tokens` reads the canonical macros. Commands for
relations, connectives, functions and Greek letters are in `words`.
"""

from __future__ import annotations

import re

from rewardkit.rewards.math.reading.words import table

THIN = "\u2009"
r"""Placeholder for the thin space in `1\,000` until groups of digits are joined."""
GAP = "\u241f"
r"""Placeholder for the wide space in `x=1 \quad y=2`, which may separate relations."""
CURRENCY = "\u00a4"
"""Placeholder for an escaped dollar sign. Plain dollar signs are removed as maths delimiters."""

_DROPPED = table(
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr bigm displaystyle textstyle "
    "scriptstyle limits nolimits rm bf it sf tt cal boldmath ensuremath mathord mathop nonumber notag "
    "middle hline centering large Large small normalsize checkmark blacksquare square Box qed qedhere"
)
_DROPPED_WITH_ARGUMENT = table(
    "color label tag hspace vspace phantom hphantom vphantom cellcolor colorbox textcolor footnote cite ref"
)
r"""Commands that are dropped with their first argument: of `\textcolor{red}{10}`, `{10}` remains."""

_RENAMED = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom", "leq": "le",
    "leqslant": "le", "leqq": "le", "geq": "ge", "geqslant": "ge", "geqq": "ge", "neq": "ne", 
    "varnothing": "emptyset", "lbrack": "[", "rbrack": "]",
    "wedge": "land", "vee": "lor", "ast": "cdot", "bullet": "cdot", "cdotp": "cdot",
    "vert": "|", "lvert": "|", "rvert": "|", "varphi": "phi", "varepsilon": "epsilon",
    "vartheta": "theta", "cdots": "ldots", "dots": "ldots", "dotsc": "ldots", "dotsb": "ldots",
    "degree": "circ", "rightarrow": "to", "implies": "Rightarrow", "mathit": "mathrm", "mathsf": "mathrm",
    "mathtt": "mathrm", "bm": "mathbf", "boldsymbol": "mathbf", "pmb": "mathbf",
    "textbf": "text", "textit": "text", "textrm": "text", "mbox": "text", "hbox": "text", "texttt": "text",
    "textsf": "text", "textnormal": "text", "emph": "text", "underline": "mathrm", "fbox": "boxed",
    "operatorname*": "operatorname", "mathring": "mathrm", "tg": "tan", "ctg": "cot",
    "arctg": "arctan", "sh": "sinh", "ch": "cosh", "th": "tanh", "Pr": "mathbb{P}",
    "surd": "sqrt", "textsuperscript": "^", "textsubscript": "_", "R": "mathbb{R}", "Z": "mathbb{Z}",
    "N": "mathbb{N}", "Q": "mathbb{Q}", "C": "mathbb{C}", "Reals": "mathbb{R}", "reals": "mathbb{R}",
    "mathscr": "mathcal", "mathfrak": "mathcal", "uppercase": "mathrm", "textup": "text", "textsc": "text",
    "textmd": "text", "mathnormal": "mathrm", "mathbin": "mathrm", "mathrel": "mathrm",
}  # fmt: skip
_SPACES = ("thinspace", "enspace", "medspace", "thickspace", "space", "n", "t", "newline")
SPELLINGS: dict[str, str] = {
    **{f"\\{name}": " " for name in (*_DROPPED, *_SPACES)},
    **{f"\\{old}": f"\\{new}" if new[0].isalpha() else new for old, new in _RENAMED.items()},
    **{f"\\{c}": " " for c in " ;:>/"},
    "\\lbrace": "\\{", "\\rbrace": "\\}", "\\!": "", "\\,": THIN, "\\(": " ", "\\)": " ", "\\[": " ",
    "\\]": " ", "\\$": CURRENCY, "\\_": "_", "\\&": " and ", "\\#": "#", "\\\n": " ", "\\%": "%",
    '\\"': "", "\\AA": "Å", "\\lparen": "(", "\\rparen": ")",
}  # fmt: skip
"""Canonical spelling of a command; commands without an entry are canonical."""

TOKENS = {
    "frac": ("frac", ""), "sqrt": ("sqrt", ""), "binom": ("binom", ""), "choose": ("choose", ""),
    "cdot": ("op", "*"), "times": ("op", "×"), "div": ("op", "/"), "pm": ("pm", "+"), "mp": ("pm", "-"),
    "circ": ("degree", ""), "prime": ("prime", "'"), "lfloor": ("open", "floor"),
    "rfloor": ("close", "floor"), "lceil": ("open", "ceil"), "rceil": ("close", "ceil"), "mid": ("mid", "|"),
    "ldots": ("dots", ""), "angle": ("prefix", "angle"), "triangle": ("prefix", "triangle"),
    "overline": ("wrap", "bar"), "vec": ("wrap", "vec"), "hat": ("wrap", "hat"), "bar": ("wrap", "bar"),
    "overrightarrow": ("wrap", "vec"), "tilde": ("wrap", "tilde"), "widehat": ("wrap", "hat"),
    "dot": ("wrap", "dot"), "ddot": ("wrap", "ddot"), "pmod": ("pmod", "group"), "bmod": ("bmod", ""),
    "mod": ("pmod", "rest"), "Vert": ("bar", "||"), "|": ("bar", "||"),
    "langle": ("open", "("), "rangle": ("close", ")"), "{": ("open", "set"), "}": ("close", "set"),
    "emptyset": ("set", "empty"), "infty": ("const", "inf"), "pi": ("const", "pi"), "\\": ("row", ""),
    "boxed": ("group", ""), "mathcal": ("wrap", "cal"), "Re": ("fn", "re"),
    "Im": ("fn", "im"), "forall": ("forall", ""), "Rightarrow": ("rel", "=>"), "neg": ("neg", ""),
    "-": ("space", ""), "over": ("over", ""), "colon": ("colon", ":"), "cis": ("fn", "cis"),
}  # fmt: skip
"""Kind and value of the token of a canonical command, without its backslash."""

_NAMES = "|".join(sorted(_DROPPED_WITH_ARGUMENT, key=len, reverse=True))
_WITH_ARGUMENT = re.compile(rf"\\(?:{_NAMES})(?![a-zA-Z])\*?\s?(?:\[[^\]]{{0,40}}\])?\s?(?=\{{)")
_ROW_GAP = re.compile(r"(?<=\\\\)\s?\[\s?-?[\d.]{1,8}\s?(?:pt|em|ex|mm|cm|in|bp)\s?\]")
r"""Extra space behind a row of a matrix, `\\[4pt]`."""


def without_layout(text: str) -> str:
    """Remove the commands of layout together with their argument."""
    text = _ROW_GAP.sub("", text)
    position = 0
    while (found := _WITH_ARGUMENT.search(text, position)) is not None:
        end = _group_end(text, found.end())
        if end < 0:
            return text
        text = f"{text[: found.start()]} {text[end:]}"
        position = found.start()
    return text


def _group_end(text: str, start: int) -> int:
    """Return the end of the brace group that begins at `start`, or -1 if it does not end."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index + 1
    return -1
