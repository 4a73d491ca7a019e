"""Splits an answer in canonical spelling into tokens `(kind, value)`.

The lexer runs in linear time. It recognises words, but has no grammar.
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple

from rewardkit.rewards.math import units
from rewardkit.rewards.math.guards import MAX_DIGITS, MAX_TOKENS, TooLarge, Unparsable
from rewardkit.rewards.math.reading import words
from rewardkit.rewards.math.reading.letters import FIGURES, end_an_item
from rewardkit.rewards.math.reading.macros import (
    CURRENCY,
    ENVIRONMENTS,
    GAP,
    MACROS,
    OUTER,
    TEXT_COMMANDS,
    TOKENS,
    expand,
    group_end,
)
from rewardkit.rewards.math.reading.nouns import harmless
from rewardkit.rewards.math.reading.words import table
from rewardkit.rewards.math.units import ORDINALS, PLAIN_NOUNS


class Token(NamedTuple):
    kind: str
    value: str


END = Token("", "")
"""Token after the last token of a text."""
_LEXEME = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<num>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+(?![\w.]))?)"
    r"|(?P<sign>\+/-|(?<![\w)}\]])\+-)"
    r"|(?P<cmd>\\(?:[a-zA-Z]+|.))"
    r"|(?P<word>[a-zA-Z]+)"
    r"|(?P<rel>[<>!=:]=|=<)"
    r"|(?P<other>\*\*|['\u2032]+|[^\x00-\x7f]|.)",
    re.DOTALL,
)
_SINGLE = {
    "+": "op", "-": "op", "*": "op", "/": "op", "^": "op", "_": "op", "!": "op", "=": "rel", "<": "rel",
    ">": "rel", "(": "open", "[": "open", "{": "open", ")": "close", "]": "close", "}": "close", ",": "sep",
    ";": "sep", ":": "colon", "|": "bar", "%": "percent", "&": "amp", CURRENCY: "currency", GAP: "gap",
    "#": "text",
}  # fmt: skip
_CURRENCIES = {"€": "€", "£": "£", "¥": "¥", CURRENCY: "$", "USD": "$", "EUR": "€", "GBP": "£"}
_FORMULA = re.compile(r"[+*/=<>^()|]|\b[a-zA-Z0-9]-[a-zA-Z0-9]\b")
"""Pattern of the signs that distinguish a formula in upright or bold letters from words."""
_MARKED = ("mathbf", "hat", "vec")
_UNIT_VECTOR = re.compile(r"[\s{]*(?:\\(?:hat|vec|mathbf)[\s{]*)?(?:([ijk])|\\([ij])math)[\s}]*")
_NO_WORDS = re.compile(r"[\\\d]|\A[\W\d_]*\Z")
_SIGNS = table("op rel setop pm conn binary")
"""Kinds of tokens that TeX puts between braces to change their spacing: `x{+}1`."""
_BEGIN_UNITS = {"\\text", "\\mathrm", "\\operatorname", "\\frac", "\\mu", "\\Omega"}
_VALUES = {"num", "close", "sym", "const", "text"}
"""Kinds of tokens that a unit of measure may follow. A word may be a scale, as in `5 thousand km`."""
_MEASURED = FIGURES | {"text", "letters"}
_PLAIN_LETTERS = frozenset(string.ascii_letters) - {"x"}
"""Letters whose meaning does not depend on the text after them."""
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+|.)", re.DOTALL)
_COLUMNS = re.compile(r"\s*(?:\[[lcrtb]\]|\{[\s|:@{}]*[lcr][lcr|:@{}\s]{0,40}\}(?![a-zA-Z]))")
r"""Pattern of the columns behind the name of an environment: `\begin{aligned}[t]`."""
_ARRAY_COLUMNS = re.compile(r"(?:\s*\[[ctb]\])?\s*\{[\s|:@{}]*[lcr][lcr|:@{}\s]{0,40}\}")
r"""Pattern of the columns that every array has: `\begin{array}{c|c}`."""
_RAISED = re.compile(r"\s*\^")
_BRACKET = re.compile(r"\s*\(")
_BASE = re.compile(r"(\d{1,3})(?=\s*\()")
_NUMBER_NEXT = re.compile(r"\s*[-+]?\s*[\d.]")
_UNIT_NEXT = re.compile(r"\s*\d[\d.]*\s*[a-zA-Z]{1,12}\s*$")
_POWER_OF_TEN = re.compile(r"\s*10\s*\^")
_BLACKBOARD = {"R": "R", "Z": "Z", "N": "N", "Q": "Q", "C": "C"}


def tokenize(text: str) -> list[Token]:
    """Return the tokens of an answer in canonical spelling.

    Raises:
        TooLarge: The answer has more tokens or longer numbers than the guards allow.
        Unparsable: The answer contains an unknown command or character.
    """
    loose: list[_Letters] = []
    tokens = _read(text, loose)
    if GAP in text:
        tokens = _without_gaps(tokens)
    kinds = [token.kind for token in tokens] if loose else []
    for letters in reversed(loose):
        if not end_an_item(kinds, letters.place):
            tokens[letters.place : letters.place + 1] = _read(text[letters.start : letters.end], None)
    return tokens


def _without_gaps(tokens: list[Token]) -> list[Token]:
    """Replace wide spaces between two relations with separators, and remove all other wide spaces."""
    kept: list[Token] = []
    related = False
    for index, token in enumerate(tokens):
        if token.kind == "gap":
            if not (related and _is_related(tokens[index + 1 :])):
                continue
            token = Token("sep", ",")
        if token.kind in _JOINING:
            related = False
        related |= token.kind == "rel"
        kept.append(token)
    return kept


_JOINING = ("sep", "conn", "row", "begin", "end")


def _is_related(tokens: list[Token]) -> bool:
    """Return True if the first item of the tokens is a relation."""
    depth = 0
    for token in tokens:
        depth += (token.kind == "open") - (token.kind == "close")
        if depth < 0 or (not depth and token.kind in (*_JOINING, "gap")):
            return False
        if not depth and token.kind == "rel":
            return True
    return False


class _Letters(NamedTuple):
    """Plain letters after a number that may be a unit, such as `mg` in `2mg`."""

    place: int
    """Index of the token for the letters."""
    start: int
    end: int


def _read(text: str, loose: list[_Letters] | None) -> list[Token]:
    """Return the tokens of a text, and append plain letters that may be units to `loose`.

    If `loose` is None, plain letters are never read as units.
    """
    tokens: list[Token] = []
    position = 0
    end = len(text)
    match = _LEXEME.match
    while position < end:
        found = match(text, position)
        assert found is not None  # The last alternative matches any character.
        kind = found.lastgroup or ""
        value = found.group()
        start, position = found.span()
        if kind == "space":
            continue
        begins_unit = (kind == "word" and loose is not None) or value in _BEGIN_UNITS
        if begins_unit and tokens and (unit := _unit(text, start, kind, tokens)) is not None:
            if loose is not None and not unit.marked:
                loose.append(_Letters(len(tokens), start, unit.end))
            tokens.append(Token("text" if unit.certain else "letters", unit.spelling))
            position = unit.end
        elif kind == "num":
            if len(value) > MAX_DIGITS:
                raise TooLarge(f"a number of {len(value)} digits")
            tokens.append(Token("num", value))
        elif kind == "cmd":
            position = _command(value[1:], text, position, tokens)
        elif kind == "word":
            _refuse_apart(value, text[start - 1 : start], tokens)
            if value in _PLAIN_LETTERS:
                _word(value, tokens)
            else:
                position = _word_before(value, text, position, tokens)
        elif kind == "sign":
            tokens.append(Token("pm", "+"))
        elif kind == "rel":
            tokens.append(Token("rel", words.RELATIONS[value]))
        else:
            position = _other(value, text, position, tokens)
        if len(tokens) > MAX_TOKENS:
            raise TooLarge(f"more than {MAX_TOKENS} tokens")
    return tokens


def _unit(text: str, start: int, kind: str, tokens: list[Token]) -> units.Run | None:
    """Return the unit of measure that begins at `start`, after a value, or None if there is no unit."""
    last = tokens[-1].kind
    if last not in _VALUES or (kind == "word" and last == "sym"):
        return None
    unit = units.run(text, start)
    if unit is None or unit.certain:
        return unit
    alone = last in ("num", "close") and all(token.kind in _MEASURED for token in tokens)
    ends = unit.ends_text or _UNIT_NEXT.match(text, unit.end)  # An example is `3 h 50 min`.
    return unit if alone and ends else None


def _command(name: str, text: str, position: int, tokens: list[Token]) -> int:
    r"""Append the tokens for the command `\name`, and return the position after the command and its group."""
    if name in _MARKED:
        inner, end = _group_text(text, position)
        if (vector := unit_vector(inner)) is not None:
            tokens.append(Token("sym", vector))
            return end
    if name in TEXT_COMMANDS:
        position += name == "operatorname" and text.startswith("*", position)
        inner, position = _group_text(text, position)
        if name == "operatorname" and (inner in MACROS or inner in TOKENS):
            tokens.extend(tokenize(expand(f"\\{inner}")))
        elif name == "mathbf" and inner.isupper() and inner.isalpha() and inner.isascii():
            tokens.extend(map(_letter, inner))  # The letters are a product of matrices.
        elif inner == "e" and _RAISED.match(text, position):
            tokens.append(_letter(inner))
        else:
            _text(inner, tokens, bare=name != "text")
        return position
    if name in ("begin", "end"):
        environment, position = _group_text(text, position)
        environment = environment.strip().rstrip("*")
        environment = ENVIRONMENTS.get(environment, environment)
        if environment not in OUTER:
            tokens.append(Token(name, environment))
        columns = (_ARRAY_COLUMNS if environment == "array" else _COLUMNS).match(text, position)
        if name == "begin" and columns is not None:
            position = columns.end()
        return position
    if name == "mathbb":
        inner, position = _group_text(text, position)
        tokens.append(Token("set", _BLACKBOARD[inner]) if inner in _BLACKBOARD else Token("sym", inner))
        return position
    if name == "Gamma" and _BRACKET.match(text, position):
        tokens.append(Token("fn", "gamma"))
        return position
    known = TOKENS.get(name)
    if known is not None:
        if known[0] != "space":
            tokens.append(Token(*known))
    elif name in words.GREEK:
        tokens.append(Token("sym", name))
    elif name in words.FUNCTIONS:
        tokens.append(Token("fn", words.FUNCTION_NAMES.get(name, name)))
    elif len(name) == 1 and not name.isalpha():
        if name not in "\n\t":
            raise Unparsable(f"unknown escape \\{name}")
    else:
        raise Unparsable(f"unknown command \\{name}")
    return position


def unit_vector(inner: str) -> str | None:
    r"""Return the name of a unit vector, such as `hat i`, or None if the letters are no unit vector.

    `i`, `j` and `k` denote unit vectors if they are bold, hatted or under an arrow.
    """
    found = _UNIT_VECTOR.fullmatch(inner)
    return f"hat {found[1] or found[2]}" if found is not None else None


def _group_text(text: str, position: int) -> tuple[str, int]:
    """Return the raw text of the group, command or character at `position`, and the position after it."""
    while position < len(text) and text[position].isspace():
        position += 1
    if position >= len(text) or text[position] != "{":
        command = _COMMAND.match(text, position)
        end = position + 1 if command is None else command.end()
        return text[position:end], end
    end = group_end(text, position)
    if end < 0:
        raise Unparsable("a brace is not closed")
    return text[position + 1 : end - 1], end


def _text(inner: str, tokens: list[Token], *, bare: bool) -> None:
    r"""Append the tokens for the content of `\text{}`: a connective, a number or words.

    `bare` is True for other commands, such as `\mathrm{}`, whose content may be a variable.
    """
    _refuse_apart(inner.strip(), inner[:1], tokens)
    inner = _without_braces(inner.strip())
    folded = inner.casefold().strip(",.;: ")
    if not folded:
        if "," in inner or ";" in inner:
            tokens.append(Token("sep", ","))
    elif folded == "to" and tokens and tokens[-1].kind == "num":
        tokens.append(Token("colon", ":"))
    elif folded in ("where", "with", "for"):
        tokens.append(Token("sep", ","))
    elif folded in words.CONNECTIVES:
        if inner.startswith(","):
            tokens.append(Token("sep", ","))
        tokens.append(Token("conn", words.CONNECTIVES[folded]))
    elif folded in words.MODULUS_WORDS:
        tokens.append(Token("pmod", "rest"))
    elif inner in _CURRENCIES and not tokens:
        tokens.append(Token("currency", _CURRENCIES[inner]))
    elif folded in words.PERCENT_WORDS or folded == "%":
        tokens.append(Token("percent", ""))
    elif folded in words.DEGREE_WORDS:
        tokens.append(Token("degree", ""))
    elif (bare and len(inner) == 1) or (inner in words.FUNCTIONS and (bare or not units.is_unit(inner))):
        _word(inner, tokens) if inner.isalpha() and inner.isascii() else tokens.extend(tokenize(inner))
    elif (bare and _FORMULA.search(inner)) or _NO_WORDS.search(inner):
        tokens.extend(tokenize(inner))
    else:
        noun, _, last = inner.strip(" ,.;:").rpartition(" ")
        joined = noun and last in ("and", "or")
        tokens.append(Token("text", noun if joined else inner.strip(" ,.;:")))
        if joined:
            tokens.append(Token("conn", last))
        elif inner.endswith(":"):
            tokens.append(Token("colon", ":"))
        elif inner.endswith((",", ";")):
            tokens.append(Token("sep", ","))


def _without_braces(text: str) -> str:
    """Remove the braces that enclose a whole text."""
    while text.startswith("{") and _group_text(text, 0)[1] == len(text):
        text = text[1:-1].strip()
    return text


def _refuse_apart(word: str, before: str, tokens: list[Token]) -> None:
    """Refuse an ordinal ending that is separated from its number, as in `5 th`."""
    if word in ORDINALS and before.isspace() and tokens and tokens[-1].kind == "num":
        raise Unparsable(f"the ending '{word}' is separated from its number")


def _word_before(word: str, text: str, position: int, tokens: list[Token]) -> int:
    """Append the tokens for letters that depend on the text after them, and return the next position.

    Examples are `2.5 x 10^3`, `log2(8)` and `xsin(x)`.
    """
    if word == "x" and tokens and tokens[-1].kind == "num" and _POWER_OF_TEN.match(text, position):
        tokens.append(Token("op", "×"))
    elif word in _CURRENCIES and not tokens and _NUMBER_NEXT.match(text, position):
        tokens.append(Token("currency", _CURRENCIES[word]))
    elif word == "log" and (base := _BASE.match(text, position)) is not None:
        tokens += [Token("fn", "log"), Token("op", "_"), Token("num", base[1])]
        return base.end(1)
    elif word[1:] in words.FUNCTIONS and word not in words.FUNCTIONS and _BRACKET.match(text, position):
        tokens.append(_letter(word[0]))
        _word(word[1:], tokens)
    else:
        _word(word, tokens)
    return position


def _word(word: str, tokens: list[Token]) -> None:
    """Append the tokens for plain letters: a known word, a unit after a number or a product of variables."""
    folded = word.casefold()
    previous = tokens[-1].kind if tokens else ""
    after_value = previous in ("num", "close", "sym", "const", "text", "percent", "degree")
    if folded in words.MODULUS_WORDS:
        tokens.append(Token("pmod", "rest"))
    elif word in words.FUNCTIONS or (folded in words.FUNCTIONS and len(word) > 2):
        name = word if word in words.FUNCTIONS else folded
        if name in ("sqrt", "frac", "binom"):
            tokens.append(Token(name, ""))
        elif name == "deg":
            tokens.append(Token("degree", ""))
        else:
            tokens.append(Token("fn", words.FUNCTION_NAMES.get(name, name)))
    elif word in words.CONSTANTS or (folded in words.CONSTANTS and len(word) > 2):
        tokens.append(Token("const", words.CONSTANTS.get(word, words.CONSTANTS.get(folded, ""))))
    elif len(word) > 1 and folded in words.CONNECTIVES and folded not in ("y", "et", "ou"):
        tokens.append(Token("conn", words.CONNECTIVES[folded]))
    elif folded in words.PERCENT_WORDS:
        tokens.append(Token("percent", ""))
    elif folded in ("degrees", "degree"):
        tokens.append(Token("degree", ""))
    elif folded == "where":
        tokens.append(Token("sep", ","))
    elif folded == "to" and previous == "num":
        tokens.append(Token("colon", ":"))
    elif folded == "in" and previous in ("sym", "close"):
        tokens.append(Token("rel", "in"))
    elif word in words.GREEK:
        tokens.append(Token("sym", word))
    elif len(word) == 1:
        tokens.append(_letter(word))
    elif function := words.called_of_x(word):
        _word(function, tokens)
        tokens.append(_letter("x"))
    elif _is_word(word, folded, after_value) or (
        previous == "text" and tokens[0].kind == "num" and harmless(word)
    ):
        tokens.append(Token("text", word))
    else:
        tokens.extend(_letter(letter) for letter in word)


def _is_word(word: str, folded: str, after_value: bool) -> bool:
    """Return True if letters are one word rather than a product of variables.

    `not 0` is not n times o times t times 0.
    """
    if len(word) > 3 or (folded in words.FUNCTION_WORDS and not word.isupper()):
        return True
    return after_value and folded in PLAIN_NOUNS


def _letter(letter: str) -> Token:
    return Token("const", letter) if letter in "ei" else Token("sym", letter)


def _other(value: str, text: str, position: int, tokens: list[Token]) -> int:
    if value == "**":
        tokens.append(Token("op", "^"))
    elif value[0] in "'\u2032":
        tokens.append(Token("prime", "'" * len(value)))
    elif value in _CURRENCIES:
        tokens.append(Token("currency", _CURRENCIES[value]))
    elif value in _SINGLE:
        kind = _SINGLE[value]
        if value == "}" and tokens and tokens[-1].kind in _SIGNS and _is_spaced(tokens):
            tokens.pop(-2)
        else:
            tokens.append(Token(kind, words.RELATIONS[value] if kind == "rel" else value))
    elif value == "~" or (value == "." and (position >= len(text) or not text[position].isdigit())):
        pass
    elif value in '"`?@':
        raise Unparsable(f"the character {value!r}")
    elif not value.isascii() and (value.isalpha() or value in "¢"):
        return _foreign_words(text, position, tokens)
    else:
        raise Unparsable(f"the character {value!r}")
    return position


def _is_spaced(tokens: list[Token]) -> bool:
    """Return True if an opening brace precedes the last token and does not belong to a script such as
    `R^{+}`."""
    return tokens[-2:-1] == [("open", "{")] and tokens[-3:-2] not in ([("op", "^")], [("op", "_")])


def _foreign_words(text: str, position: int, tokens: list[Token]) -> int:
    """Append the token for a run of letters in another script, and return the position after the run.

    The run is a connective, a degree sign or text. `position` is after its first letter.
    """
    start = position - 1
    while position < len(text) and not text[position].isascii() and text[position].isalpha():
        position += 1
    run = text[start:position]
    if run in words.CONNECTIVES:
        tokens.append(Token("conn", words.CONNECTIVES[run]))
    elif run in words.DEGREE_WORDS:
        tokens.append(Token("degree", ""))
    else:
        tokens.append(Token("text", run))
    return position
