r"""Macros that answers use. Some macros are defined in terms of others, and the remaining macros have tokens.

`expand` replaces each macro that has a definition, as TeX does with `\newcommand`. The result is in canonical
spelling, which `tokens` reads. The macro names are from LaTeX, AMS-LaTeX, `physics`, `siunitx` and KaTeX's
list of supported functions. Commands for functions and Greek letters are in `words`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from html.entities import html5
from typing import NamedTuple

from rewardkit.rewards.math.reading.words import FUNCTIONS, GREEK, table
from rewardkit.rewards.math.units import is_prefix

THIN = "\u2009"
r"""Placeholder for the thin space in `1\,000` until groups of digits are joined."""
GAP = "\u241f"
r"""Placeholder for the wide space in `x=1 \quad y=2`, which may separate relations."""
CURRENCY = "\u00a4"
"""Placeholder for an escaped dollar sign. Plain dollar signs are removed as maths delimiters."""


class Macro(NamedTuple):
    """Definition of a macro."""

    spelling: str | Callable[..., str]
    """Text in place of the macro, with `#1` to `#4` for its arguments, or a function of its arguments."""
    arguments: int = 0
    behind: re.Pattern[str] | None = None
    """Pattern of other text that belongs to the macro and is dropped, such as a dimension."""


# Commands that are dropped.

_OPTIONAL = re.compile(r"\s?\[[^\[\]{}]{0,80}\]")
_DIMENSION = re.compile(r"\s?-?[\d.]{1,8}\s?(?:pt|em|ex|mu|mm|cm|in|bp|sp)(?![a-zA-Z])\s?")
_ROW_GAP = re.compile(r"\s?\[\s?-?[\d.]{1,8}\s?(?:pt|em|ex|mm|cm|in|bp)\s?\]")
r"""Extra space behind a row of a matrix, `\\[4pt]`."""
_NULL_DELIMITER = re.compile(r"\s?\.(?!\d)")
_SCRIPTS = re.compile(r"\s?[_^]\s?(?:\{[^{}]{0,80}(?:\{[^{}]{0,80}\}[^{}]{0,80})?\}|[^\s{}\\])")
r"""Script at a brace over or under a formula, as in `\underbrace{a+b}_{\text{even}}`."""
_DROPPED: dict[str, tuple[int, re.Pattern[str] | None]] = {
    **dict.fromkeys(table(
        "displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits displaylimits bf rm sf it tt "
        "cal "
        "boldmath unboldmath bfseries rmfamily sffamily ttfamily itshape upshape normalfont selectfont "
        "ensuremath "
        "mathord mathopen mathclose mathinner smash mathclap mathllap mathrlap llap rlap clap vcenter "
        "mathstrut "
        "strut null relax protect leavevmode nonumber notag allowbreak nobreak nolinebreak linebreak break "
        "newpage "
        "clearpage noindent indent par hfil hfill hss vfill bigskip medskip smallskip centering raggedright "
        "centerline hline hdashline toprule midrule bottomrule tiny scriptsize footnotesize small "
        "normalsize large "
        "Large LARGE huge Huge checkmark blacksquare blacklozenge square Box qed qedhere thinspace enspace "
        "enskip medspace "
        "thickspace negthinspace negmedspace negthickspace nobreakspace space newline n t therefore "
        "because bigl bigr Bigl Bigr biggl biggr Biggl Biggr "
        "bigm Bigm biggm Biggm big Big bigg Bigg footnotemark"
    ), (0, None)),
    **dict.fromkeys(table("left right middle"), (0, _NULL_DELIMITER)),
    **dict.fromkeys(table("kern mkern hskip mskip vskip"), (0, _DIMENSION)),
    **dict.fromkeys(table("bbox enclose"), (0, _OPTIONAL)),
    **dict.fromkeys(table(
        "color label tag eqref hspace vspace mspace phantom hphantom vphantom cellcolor rowcolor colorbox "
        "textcolor "
        "footnote cite ref raisebox href unicode cline leftroot uproot"
    ), (1, None)),
    **dict.fromkeys(table("rule fcolorbox sideset fontsize"), (2, None)),
}  # fmt: skip
r"""Number of arguments and pattern of the text that are dropped with a command.

The last argument often remains. For example, `{10}` remains of `\textcolor{red}{10}`.
"""

# Commands that have another name or a spelling without a command.

_RENAMED = {
    "frac": "dfrac tfrac nicefrac sfrac flatfrac xfrac", "binom": "dbinom tbinom", "sqrt": "surd",
    "le": "leq leqslant leqq", "ge": "geq geqslant geqq", "ne": "neq", "ll": "lll", "gg": "ggg",
    "nle": "nleq nleqslant nleqq", "nge": "ngeq ngeqslant ngeqq", "approx": "thickapprox approxeq",
    "sim": "thicksim", "coloneqq": "coloneq triangleq eqdef", "ni": "owns", "mapsto": "longmapsto",
    "emptyset": "varnothing empty", "infty": "infin", "land": "wedge", "lor": "vee", "neg": "lnot",
    "cdot": "ast bullet cdotp sdot", "circ": "degree textdegree", "subset": "Subset", "subseteq": "subseteqq",
    "supset": "Supset", "supseteq": "supseteqq", "nsubseteq": "nsubseteqq", "nsupseteq": "nsupseteqq",
    "subsetneq": "subsetneqq varsubsetneq", "supsetneq": "supsetneqq varsupsetneq", "mid": "divides shortmid",
    "nmid": "nshortmid", "parallel": "shortparallel", "nparallel": "nshortparallel",
    "setminus": "smallsetminus",
    "to": "rightarrow longrightarrow", "leftarrow": "gets longleftarrow", "Rightarrow": "implies "
    "Longrightarrow",
    "Leftarrow": "impliedby Longleftarrow", "iff": "Longleftrightarrow Leftrightarrow leftrightarrow "
    "longleftrightarrow", "ldots": "cdots dots dotsc dotsb dotsm dotsi dotso vdots ddots hdots",
    "langle": "lang",
    "rangle": "rang", "Vert": "lVert rVert", "mathrm": "mathit mathsf mathtt mathup mathnormal mathsfit "
    "underline "
    "uline mathring uppercase lowercase symrm symit symup", "mathbf": "bm boldsymbol pmb bold mathbfit symbf",
    "mathbb": "Bbb symbb mathds", "mathcal": "mathscr mathfrak frak symcal symfrak", "text": "textit "
    "textrm mbox "
    "hbox texttt textsf textnormal textup textsc textsl textmd emph ce", "boxed": "fbox framebox",
    "overline": "overbar", "bar": "underbar", "vec": "overrightarrow", "tilde": "widetilde",
    "hat": "widehat wideparen overarc overgroup",
    "angle": "measuredangle sphericalangle", "phi": "varphi",
    "triangle": "bigtriangleup vartriangle", "epsilon": "varepsilon", "theta": "vartheta",
    "kappa": "varkappa",
    "pi": "varpi", "rho": "varrho", "sigma": "varsigma", "hbar": "hslash", "int": "intop smallint",
    **{name: f"var{name}" for name in table("Gamma Delta Theta Lambda Xi Sigma Upsilon Phi Psi Omega Pi")},
    "tan": "tg", "cot": "ctg", "coth": "cth", "csc": "cosec", "arctan": "arctg",
    "pmod": "Mod pod", "bigcup": "bigsqcup"
}  # fmt: skip
"""Canonical commands, each with the commands that mean the same."""
_SPELLED = {
    "lbrace": "\\{", "rbrace": "\\}", "lbrack": "[", "rbrack": "]", "lparen": "(", "rparen": ")",
    "lgroup": "(",
    "rgroup": ")", "vert": "|", "lvert": "|", "rvert": "|", "quad": GAP, "qquad": GAP, "cr": "\\\\",
    "tabularnewline": "\\\\", "textdollar": CURRENCY, "pounds": "£", "textsterling": "£", "yen": "¥",
    "euro": "€",
    "texteuro": "€", "AA": "Å", "Pr": "\\mathbb{P}", "top": "T", "intercal": "T", "dd": " d",
    **{letter: f"\\mathbb{{{letter}}}" for letter in "RZNQC"},
    **dict.fromkeys(("Reals", "reals", "real"), "\\mathbb{R}"), "natnums": "\\mathbb{N}",
    **dict.fromkeys(("textsuperscript", "sp"), "^"), **dict.fromkeys(("textsubscript", "sb"), "_"),
    **{name: name[0] for name in table("Alpha Beta Epsilon Zeta Eta Iota Kappa Mu Nu Omicron Rho Tau Chi")},
    "omicron": "o", " ": " ", ";": " ", ":": " ", ">": " ", "/": " ", ",": THIN, "(": " ", ")": " ", "[": " ",
    "]": " ", "$": CURRENCY, "_": "_", "&": " and ", "#": "#", "\n": " ", "%": "%", '"': "",
}  # fmt: skip
"""Spelling of the commands that no other single command can replace."""

# Commands with arguments.

_BOUNDED = re.compile(r"\s?\\(?:lim|limsup|liminf|sum|prod|max|min|sup|inf|bigcup|bigcap|operatorname)")
_SI_NAME = re.compile(r"\\([a-zA-Z]+) ?")
_NEGATED = {"=": "\\ne ", "<": "\\nless ", ">": "\\ngtr ", "\\in": "\\notin "}


def _over(over: str, formula: str) -> str:
    """Return a formula without the mark over it. An arc remains, because the arc AB is not the segment AB."""
    return f"\\hat{{{formula}}}" if "frown" in over else f" {formula} "


def _under(under: str, formula: str) -> str:
    """Return a formula without the mark under it, or an operator with its lower bound."""
    return f"{formula}_{{{under}}}" if _BOUNDED.match(formula) else f" {formula} "


def _bold_text(text: str) -> str:
    """Return bold text. A single bold letter is a vector or matrix."""
    inner = text.strip()
    return f"\\{'mathbf' if len(inner) == 1 and inner.isalpha() else 'text'}{{{text}}}"


def _generalised(opening: str, closing: str, line: str, _style: str, top: str, bottom: str) -> str:
    """Return a generalised fraction. Without a line, it is a binomial coefficient."""
    if line.lstrip().startswith("0p"):
        return f"\\binom{{{top}}}{{{bottom}}}"
    return f"{opening}\\frac{{{top}}}{{{bottom}}}{closing}"


def _with_unit(value: str, unit: str) -> str:
    r"""Return a siunitx quantity, such as `\qty{5}{\kilo\metre\per\second}`, as a number and a `\text`."""
    named = _SI_NAME.sub(lambda name: name[1] if is_prefix(name[1]) else f"{name[1]} ", unit)
    return f"{value}\\text{{ {named}}}"


def _negated(sign: str) -> str:
    return _NEGATED.get(sign) or (f"\\n{sign[1:]} " if sign.startswith("\\") else f"\\not {sign}")


_DEFINED = {
    **{name: Macro(" #1 ", 1) for name in table("mathop mathbin mathrel mathpunct num")},
    **{name: Macro(" {#1} ", 1, _SCRIPTS) for name in table("underbrace overbrace underbracket overbracket")},
    **{name: Macro("\\to ", 1) for name in table("xrightarrow xlongrightarrow")},
    **{name: Macro(_with_unit, 2) for name in table("SI qty")},
    **{name: Macro(lambda unit: _with_unit("", unit), 1) for name in table("si unit")},
    **{name: Macro(_over, 2) for name in table("overset stackrel")},
    **{name: Macro(f"\\begin{{{name}}}#1\\end{{{name}}}", 1) for name in table("matrix pmatrix bmatrix "
    "cases")},
    "underset": Macro(_under, 2), "textbf": Macro(_bold_text, 1), "genfrac": Macro(_generalised, 6),
    "cfrac": Macro("\\frac", 0, _OPTIONAL), "mathchoice": Macro("#1", 4), "texorpdfstring": Macro("#1",
    2), "not": Macro(_negated, 1),
    "sh": Macro("\\sinh"), "ch": Macro("\\cosh"), "th": Macro("\\tanh"),
    "ang": Macro("#1^\\circ ", 1), "abs": Macro("|#1|", 1), "norm": Macro("\\Vert #1\\Vert ", 1),
    "Set": Macro("\\{#1\\}", 1), "floor": Macro("\\lfloor #1\\rfloor ", 1), "ceil": Macro("\\lceil "
    "#1\\rceil ", 1),
    "dv": Macro("\\frac{d #1}{d #2}", 2), "pdv": Macro("\\frac{\\partial #1}{\\partial #2}", 2),
    "!": Macro("", 0, re.compile(r"\s")), "\\": Macro("\\\\", 0, _ROW_GAP),
}  # fmt: skip
MACROS: dict[str, Macro] = {
    **{name: Macro(" ", *dropped) for name, dropped in _DROPPED.items()},
    **{old: Macro(f"\\{new}") for new, row in _RENAMED.items() for old in row.split()},
    **{name: Macro(spelling) for name, spelling in _SPELLED.items()},
    **_DEFINED,
}
"""Definition of each macro, by its name without the backslash. Macros without a definition are canonical."""

# Commands that remain.

_RELATIONS = {
    "le": "<=", "ge": ">=", "ne": "!=", "lt": "<", "gt": ">", "approx": "~", "simeq": "~", "doteq": "~",
    "sim": "~", "in": "in", "notin": "notin", "equiv": "mod", "cong": "~", "subset": "sub",
    "subseteq": "subeq",
    "supset": "sup", "supseteq": "supeq", "parallel": "par", "perp": "perp", "to": "to", "iff": "iff",
    "mapsto": "to", "propto": "prop", "ll": "<", "gg": ">", "coloneqq": "=", "mid": "divides",
    **{name: name for name in table(
        "ni subsetneq supsetneq prec succ preceq succeq asymp eqsim models vdash Vdash vDash dashv sqsubset "
        "sqsupset sqsubseteq sqsupseteq lesssim gtrsim lessgtr leftarrow Leftarrow uparrow downarrow "
        "hookrightarrow hookleftarrow rightharpoonup rightharpoondown leftharpoonup leftharpoondown "
        "rightleftharpoons leftrightharpoons leadsto rightsquigarrow twoheadrightarrow nearrow searrow "
        "between bowtie smile frown"
    )},
}  # fmt: skip
_OPERATIONS = table(
    "oplus ominus otimes odot oslash star diamond bigcirc ltimes rtimes uplus sqcup sqcap wr amalg dagger "
    "ddagger "
    "triangleleft triangleright barwedge veebar boxplus boxminus boxtimes boxdot circledast circledcirc "
    "curlyvee "
    "curlywedge divideontimes"
)
"""Operations without a known meaning, which are compared as written."""
_SYMBOLS = table(
    "clubsuit heartsuit spadesuit diamondsuit flat sharp natural bot exists nexists bigstar S P copyright "
    "wp beth "
    "gimel daleth complement eth mho Finv Game Bbbk digamma maltese circledR circledS lozenge backprime"
)
TOKENS = {
    **{name: ("rel", value) for name, value in _RELATIONS.items()},
    **{f"n{name}": ("rel", f"n{value}") for name, value in _RELATIONS.items()},
    **{name: ("binary", name) for name in _OPERATIONS}, **{name: ("sym", name) for name in _SYMBOLS},
    "nless": ("rel", ">="), "ngtr": ("rel", "<="), "nle": ("rel", ">"), "nge": ("rel", "<"), "ni": ("rel",
    "ni"),
    "cup": ("setop", "cup"), "cap": ("setop", "cap"), "bigcup": ("setop", "cup"), "bigcap": ("setop", "cap"),
    "setminus": ("setop", "minus"), "backslash": ("setop", "minus"), "sum": ("big", "sum"),
    "prod": ("big", "prod"),
    "int": ("big", "int"), "iint": ("big", "int"), "lim": ("big", "lim"),
    **{name: ("big", name) for name in table("iiint oint coprod bigoplus bigotimes sup inf limsup liminf "
    "ker argmax argmin")},
    "land": ("conn", "land"), "lor": ("conn", "lor"),
    "frac": ("frac", ""), "sqrt": ("sqrt", ""), "binom": ("binom", ""), "choose": ("choose", ""),
    "cdot": ("op", "*"), "times": ("op", "×"), "div": ("op", "/"), "pm": ("pm", "+"), "mp": ("pm", "-"),
    "circ": ("degree", ""), "prime": ("prime", "'"), "lfloor": ("open", "floor"),
    "rfloor": ("close", "floor"), "lceil": ("open", "ceil"), "rceil": ("close", "ceil"), "mid": ("mid", "|"),
    "ldots": ("dots", ""), "angle": ("prefix", "angle"), "triangle": ("prefix", "triangle"),
    "overline": ("wrap", "bar"), "vec": ("wrap", "vec"), "hat": ("wrap", "hat"), "bar": ("wrap", "bar"),
    "tilde": ("wrap", "tilde"), "mathcal": ("wrap", "cal"),
    **{name: ("wrap", name) for name in table("dot ddot dddot check breve acute grave overleftarrow")},
    "pmod": ("pmod", "group"), "bmod": ("bmod", ""), "mod": ("pmod", "rest"), "Vert": ("bar", "||"),
    "|": ("bar", "||"), "langle": ("open", "("), "rangle": ("close", ")"), "{": ("open", "set"),
    "}": ("close", "set"), "emptyset": ("set", "empty"), "infty": ("const", "inf"), "pi": ("const", "pi"),
    "\\": ("row", ""), "boxed": ("group", ""), "Re": ("fn", "re"), "Im": ("fn", "im"),
    "forall": ("forall", ""),
    "Rightarrow": ("rel", "=>"), "neg": ("neg", ""), "-": ("space", ""), "over": ("over", ""),
    "colon": ("colon", ":"), "cis": ("fn", "cis"),
}  # fmt: skip
"""Kind and value of the token of a canonical command, without its backslash."""
TEXT_COMMANDS = table("text mathrm mathbf operatorname")
"""Canonical commands whose group may consist of words."""
FONTS = (
    TEXT_COMMANDS
    | {name for name, macro in MACROS.items() if macro.spelling in {f"\\{one}" for one in TEXT_COMMANDS}}
    | table("textbf rm bf it")
)
"""Commands that change only the look of words, under all their names."""
_READ_WITH_THEIR_GROUP = TEXT_COMMANDS | table("mathbb begin end")
OUTER = table("equation math displaymath center multline flushleft flushright minipage document subequations")
"""Environments that only display their content separately."""
ENVIRONMENTS = {
    **dict.fromkeys(table("dcases rcases drcases numcases"), "cases"),
    **dict.fromkeys(table("gather alignat alignedat flalign IEEEeqnarray gathered"), "aligned"),
    **dict.fromkeys(table("tabular darray subarray"), "array"),
    "psmallmatrix": "pmatrix", "bsmallmatrix": "bmatrix", "vsmallmatrix": "vmatrix",
}  # fmt: skip
"""Canonical names of environments. An environment without an entry is already canonical."""

_SCANNED = frozenset(name for name, macro in MACROS.items() if macro.arguments or macro.behind)
_PLAIN = {
    name: macro.spelling
    for name, macro in MACROS.items()
    if isinstance(macro.spelling, str) and name not in _SCANNED
}
_COMMAND = re.compile(r"\\([a-zA-Z]+|.)", re.DOTALL)
_OPEN_COMMAND = re.compile(r"(?<!\\)\\[a-zA-Z]+\Z")
_LONGEST_COMMAND = 40
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_OPTION = re.compile(rf"{_OPTIONAL.pattern}(?=\s?[{{\\])")
_PLACE = re.compile(r"#([1-4])")
_SPACE = re.compile(r"\s*")
_MOST_EXPANSIONS = 128
"""Maximum number of macros with arguments in a text. The limit bounds the cost of nested groups."""


def is_command(name: str) -> bool:
    """Return True if this is the name of a known command."""
    return any(name in names for names in (MACROS, TOKENS, _READ_WITH_THEIR_GROUP, GREEK, FUNCTIONS))


def spelling_of(sign: str) -> str | None:
    """Return the canonical spelling of a mathematical sign or Greek letter, such as `\\le ` for `≤`, or None.

    HTML's entities have the same names as LaTeX commands. If a sign has several names, the longest is the
    most specific (`supset`, not `sup`).
    """
    return _spellings().get(sign)


@cache
def _spellings() -> dict[str, str]:
    found: dict[str, str] = {}
    for entity in sorted(html5, key=len):
        sign, name = html5[entity], entity.rstrip(";")
        if len(sign) == 1 and is_command(name) and (unicodedata.category(sign) in _SIGNS or sign in _LETTERS):
            found[sign] = expand(f"\\{name} ")
    return found


_SIGNS = ("Sm", "Ps", "Pe")
_LETTERS = frozenset(map(chr, [*range(0x370, 0x400), *range(0x2100, 0x2150)]))


def expand(text: str) -> str:
    """Return a text in which each macro with a definition is replaced by the definition."""
    if not _SCANNED.isdisjoint(_COMMAND.findall(text)):
        text = _scan(text)
    return _COMMAND.sub(lambda found: _PLAIN.get(found[1], found[0]), text)


def _scan(text: str) -> str:
    """Replace the macros that have arguments or other text behind them."""
    done: list[str] = []
    start = position = expansions = 0
    while (found := _COMMAND.search(text, position)) is not None:
        position = found.end()
        if found[1] not in _SCANNED:
            continue
        macro = MACROS[found[1]]
        done.append(text[start : found.start()])
        arguments: list[str] = []
        if macro.arguments:
            expansions += 1
            given = _arguments(text, position, macro.arguments) if expansions <= _MOST_EXPANSIONS else None
            if given is None:
                start = position
                continue
            arguments, position = given
        while macro.behind is not None and (more := macro.behind.match(text, position)) is not None:
            position = more.end()
        if arguments:
            text = _spelled(macro, arguments) + text[position:]
            position = 0
        else:
            done.append(_spelled(macro, arguments))
        start = position
    done.append(text[start:])
    return _joined(done)


def _joined(pieces: list[str]) -> str:
    r"""Join the pieces, with a space where a command would merge with the next letter, as in `\pi\!r`."""
    whole = ""
    for piece in filter(None, pieces):
        glued = piece[0].isalpha() and _OPEN_COMMAND.search(whole[-_LONGEST_COMMAND:]) is not None
        whole += f" {piece}" if glued else piece
    return whole


def _spelled(macro: Macro, arguments: list[str]) -> str:
    if not isinstance(macro.spelling, str):
        return macro.spelling(*arguments)
    return _PLACE.sub(lambda place: arguments[int(place[1]) - 1], macro.spelling)


def _arguments(text: str, position: int, count: int) -> tuple[list[str], int] | None:
    """Return the arguments of the macro at `position` and the position after them, or None if an argument is
    missing.

    An argument is a group in braces, a command or a character. An optional argument in brackets before the
    arguments is skipped.
    """
    position += text.startswith("*", position)
    if (option := _OPTION.match(text, position)) is not None:
        position = option.end()
    found: list[str] = []
    for _ in range(count):
        space = _SPACE.match(text, position)
        start = space.end() if space is not None else position
        if text.startswith("{", start):
            position = group_end(text, start)
            if position < 0:
                return None
            found.append(text[start + 1 : position - 1])
        elif start < len(text):
            command = _COMMAND.match(text, start)
            position = command.end() if command is not None else start + 1
            found.append(text[start:position])
        else:
            return None
    return found, position


def group_end(text: str, start: int) -> int:
    """Return the end of the brace group that begins at `start`, or -1 if the group is not closed."""
    depth = 0
    for brace in _BRACES.finditer(text, start):
        depth += (brace.group() == "{") - (brace.group() == "}")
        if depth == 0:
            return brace.end()
    return -1
