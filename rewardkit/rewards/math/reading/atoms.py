"""Parses the leaves of the grammar: numbers, variables, brackets, functions, big operators, matrices."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from math import gcd

from rewardkit.rewards.math.guards import MAX_DIGITS, MAX_TERMS, TooLarge, Unparsable
from rewardkit.rewards.math.reading import structures
from rewardkit.rewards.math.reading.levels import Parser
from rewardkit.rewards.math.reading.listing import ANYTHING, congruent
from rewardkit.rewards.math.reading.spelled import spelled_number
from rewardkit.rewards.math.reading.tokens import END, Token
from rewardkit.rewards.math.reading.words import INVERSES
from rewardkit.rewards.math.tree.nodes import (
    MINUS_ONE,
    Add,
    App,
    Based,
    Builder,
    Const,
    Div,
    Fn,
    Logic,
    Matrix,
    Mul,
    Node,
    Num,
    Pow,
    Quantity,
    Seq,
    Sym,
    Text,
    negate,
    number,
    symbols,
    walk,
)

_FUNCTION_LETTERS = frozenset("fghFGH")
_CALL_TOKENS = 24
"""Maximum number of tokens in brackets that are searched for a relation. A relation marks a call."""
_CLOSERS = {"(": ")]", "[": "])[", "]": "[])"}


def numeral(parser: Parser) -> Node:
    text = parser.advance().value
    if parser.at("op", "_"):
        return _based(parser, text)
    if parser.kind() == "dots" and "." in text:
        parser.advance()
        return _going_on(text)
    if parser.kind() == "prime":
        return _feet(parser, literal(text))
    return literal(text)


_LENGTHS = {"'": "ft", "\u2032": "ft", "''": "in", "\u2033": "in"}


def _feet(parser: Parser, value: Node) -> Node:
    """Parse a length in feet and inches: `5'`, `3''` or `5'3''`."""
    mark = parser.advance().value
    if mark not in _LENGTHS:
        raise Unparsable(f"the mark {mark} behind a number")
    length = Quantity(value, _LENGTHS[mark])
    inches = parser.kind() == "num" and parser.peek(1) == ("prime", "''")
    if not inches or length.unit != "ft":
        return length
    return Add((length, _feet(parser, literal(parser.advance().value))))


_REPEATED = re.compile(r"(\d{0,20})\.(\d{0,20}?)(?:(\d)\3{2,20}|(\d{2,6})\4{1,9})")


def _going_on(text: str) -> Node:
    """Return the value of a decimal followed by dots.

    The period of 0.333... repeats. 1.414... has no visible period, so it is read as 1.414.
    """
    found = _REPEATED.fullmatch(text)
    if found is None:
        return literal(text)
    whole = found[1]
    fixed = found[2]
    period = found[3] or found[4]
    shown = int(whole + fixed + period) - int(whole + fixed or "0")
    return number(Fraction(shown, (10 ** len(period) - 1) * 10 ** len(fixed)))


def _based(parser: Parser, digits: str) -> Node:
    parser.advance()
    base = parser.argument()
    if isinstance(base, Text):
        base = number(spelled_number(base.text) or Fraction(0))
    if not (isinstance(base, Num) and base.den == 1 and 2 <= base.num <= 36):
        raise Unparsable("a base that is not a number from 2 to 36")
    return Based(digits, base.num)


_INVERSE = [
    Token("op", "^"), Token("open", "{"), Token("op", "-"), Token("num", "1"), Token("close", "}"),
    Token("open", "("),
]  # fmt: skip
"""Tokens that denote the inverse after the name of a function: `^{-1}(`."""


def symbol(parser: Parser) -> Node:
    name = parser.advance().value + _suffix(parser)
    letter = name[0] in _FUNCTION_LETTERS
    if letter and parser.tokens[parser.position : parser.position + len(_INVERSE)] == _INVERSE:
        parser.position += len(_INVERSE) - 1  # Skip all tokens except the last bracket.
        name += "^-1"
    if letter and parser.at("open", "{") and parser.peek(1) == ("open", "("):
        inner = parser.argument()  # SymPy writes `f{\\left(x \\right)}`.
    elif parser.at("open", "(") and (letter or _is_call(parser, name)):
        inner = _given(parser) if name in _PROBABILITIES else bracketed(parser)
    elif parser.at("open", "[") and name in _PROBABILITIES:
        inner = _given(parser)
    else:
        return Sym(name)
    while parser.kind() == "prime":
        name += parser.advance().value
    return App(name, inner.items if isinstance(inner, Seq) else (inner,))


_PROBABILITIES = frozenset({"P", "E"})
"""Names of probability and expectation. Their argument may have a condition: `P(A|B)`."""


def _given(parser: Parser) -> Node:
    """Parse the argument of a probability or expectation, and the condition if a bar follows."""
    closing = _CLOSERS[parser.advance().value][0]
    outer_bars, outer_builder = parser.bars, parser.in_builder
    parser.bars, parser.in_builder = 0, True
    inner = parser.listing()
    if parser.kind() in ("bar", "mid"):
        parser.advance()
        inner = Seq("(", ")", (inner, parser.listing()))
    parser.bars, parser.in_builder = outer_bars, outer_builder
    parser.expect("close", closing)
    return inner


def _is_call(parser: Parser, name: str) -> bool:
    """Return True if the brackets after a name are the arguments of a call, as in `V(0)` and `P(X>1)`.

    Otherwise, the name and the content of the brackets are factors of a product.
    """
    if parser.peek(1).kind in ("num", "sym", "const") and parser.peek(2) == ("close", ")"):
        return True
    depth = 0
    for ahead in range(_CALL_TOKENS):
        token = parser.peek(ahead)
        depth += (token.kind == "open") - (token.kind == "close")
        if depth == 0 or token is END:
            return False
        if depth == 1 and token.kind in ("rel", "setop", "mid"):
            return True
        if depth == 1 and token.kind == "bar" and name in _PROBABILITIES:
            return True
    return False


def _suffix(parser: Parser) -> str:
    """Consume the subscripts and primes of a name, and return their text."""
    suffix = ""
    while True:
        if parser.kind() == "prime":
            suffix += parser.advance().value
        elif parser.at("op", "_"):
            parser.advance()
            suffix += "_" + raw_group(parser)
        elif parser.at("op", "^") and parser.peek(1).kind == "prime":
            parser.advance()
        elif parser.at("op", "^") and parser.peek(1).value == "{" and parser.peek(2).kind == "prime":
            parser.position += 2
            suffix += parser.advance().value
            parser.expect("close", "}")
        else:
            return suffix


def raw_group(parser: Parser) -> str:
    """Consume a group and return its text unparsed, because subscripts are names rather than values."""
    if not parser.at("open", "{"):
        return parser.advance().value
    depth = 0
    parts: list[str] = []
    while True:
        token = parser.advance()
        depth += (token == ("open", "{")) - (token == ("close", "}"))
        if depth == 0:
            return "".join(parts[1:])
        parts.append(token.value or token.kind)


def constant(parser: Parser) -> Node:
    name = parser.advance().value
    if name in "ei" and (parser.at("op", "_") or name in parser.bound):
        return Sym(name + _suffix(parser))
    return Const(name)


_HALF_LINES = {
    "+": ("(", 1), "++": ("(", 1), ">0": ("(", 1), ">=0": ("[", 1), "-": ("(", -1), "<0": ("(", -1),
    "<=0": ("[", -1),
}  # fmt: skip
"""Bracket at zero and sign for each half of the real line, by the mark after `R`, as in `R^+`."""


def named_set(parser: Parser) -> Node:
    name = parser.advance().value
    marks = ""
    while parser.peek() in (("op", "^"), ("op", "_")):
        parser.advance()
        marks += raw_group(parser)
    if not marks:
        return Const(name)
    if name == "R" and marks in _HALF_LINES:
        opening, sign = _HALF_LINES[marks]
        ends = (Num(0), Const("inf")) if sign > 0 else (negate(Const("inf")), Num(0))
        return Seq(opening if sign > 0 else "(", ")" if sign > 0 or opening == "(" else "]", ends)
    return Sym(f"{name}^{marks}")


def currency(parser: Parser) -> Node:
    sign = parser.advance().value
    return Quantity(parser.unary(), sign)


def operation(parser: Parser) -> Node:
    r"""Parse the sign of an operation that stands for a value, such as the star in `x^\star`."""
    return Sym(parser.advance().value)


def negation(parser: Parser) -> Node:
    parser.advance()
    return App("neg", (parser.power(),))


def prefixed(parser: Parser) -> Node:
    r"""Parse a prefix and its letters, such as `\angle APC` or `\triangle ABC`, as one name."""
    parts = [parser.advance().value]
    while parser.kind() in ("sym", "const", "num"):
        parts.append(parser.advance().value)
    return Sym(" ".join(parts))


def wrapped(parser: Parser) -> Node:
    r"""Parse a group under an accent, such as `\overline{AB}` or `\vec{v}`, as one name."""
    mark = parser.advance().value
    name = raw_group(parser)
    if not name:
        raise Unparsable("an accent without a letter")
    if mark == "bar" and name.isalnum() and name[0].isdigit() and parser.at("op", "_"):
        return _based(parser, name)  # as in `\\overline{1011}_2`
    if (
        mark == "vec"
        and parser.at("open", "(")
        and parser.peek(1).kind == "sym"
        and parser.peek(2) == ("close", ")")
    ):
        inner = bracketed(parser)  # as in `\\vec{r}(t)`
        return App(name, (inner,))
    return Sym(f"{mark} {name}" if mark != "vec" else name)


def group(parser: Parser) -> Node:
    parser.advance()
    return parser.argument()


# Brackets.


def bracketed(parser: Parser) -> Node:
    r"""Parse `(...)`, `[...]`, `{...}`, `\{...\}`, `]a,b[`, a floor or a ceiling."""
    opening = parser.advance().value
    outer_bars = parser.bars
    parser.bars = 0
    outer_builder = parser.in_builder
    parser.in_builder = opening == "set" or opening == "{"
    try:
        if opening in ("floor", "ceil"):
            inner = parser.listing()
            parser.expect("close", opening)
            return Fn(opening, (inner,))
        if opening in ("set", "{"):
            return _braces(parser, opening)
        return _parentheses(parser, opening)
    finally:
        parser.bars, parser.in_builder = outer_bars, outer_builder


def reversed_bracket(parser: Parser) -> Node:
    """Parse `]a, b]`, an interval that excludes `a` because its bracket is reversed."""
    if not parser.at("close", "]"):
        raise Unparsable(f"no value can start at {parser.peek().value!r}")
    return bracketed(parser)


def _parentheses(parser: Parser, opening: str) -> Node:
    start = parser.position - 1
    if parser.kind() == "close":
        closing = parser.advance().value
        return Seq(opening, closing, ())
    inner = parser.listing()
    token = parser.advance()
    if parser.at("op", "_") and _is_class(parser, opening, inner):
        parser.advance()
        return congruent(ANYTHING, inner, parser.argument())
    if parser.at("op", "_") and (digits := _digits(parser.tokens[start + 1 : parser.position - 1])):
        numeral = _based(parser, digits.removeprefix("-"))
        return negate(numeral) if digits.startswith("-") else numeral
    if token.value not in _CLOSERS[opening]:
        raise Unparsable(f"{opening} is closed by {token.value or token.kind}")
    many = isinstance(inner, Seq) and inner.opening == ""
    if many and isinstance(inner, Seq):
        return Seq(opening, token.value, inner.items)
    if opening == "(" and token.value == ")":
        return inner
    if opening == "[" and token.value == "]" and isinstance(inner, Matrix):
        return inner
    if opening == "[" and token.value == "]" and _groups(parser, start, inner):
        return inner
    if opening == "[" and token.value == "]":
        return Seq("[", "]", (inner,))
    raise Unparsable(f"{opening}...{token.value} around one value")


_NUMERAL = re.compile(r"-?[A-F]{0,30}\d[\dA-F]*(?:\.[\dA-F]+)?")


def _digits(tokens: list[Token]) -> str:
    """Return the numeral that tokens within brackets spell, such as `-1A.8`, or "" if they are no numeral."""
    text = "".join(token.value for token in tokens[:_CALL_TOKENS])
    return text if len(tokens) <= _CALL_TOKENS and _NUMERAL.fullmatch(text) else ""


def _is_class(parser: Parser, opening: str, inner: Node) -> bool:
    """Return True if square brackets enclose a residue, as in `[3]_7`, rather than a numeral, as in `[12]_7`.

    A residue is smaller than its modulus, or has a digit that is too large for a numeral in this base.
    """
    if opening != "[" or not isinstance(inner, Num) or inner.den != 1:
        return False
    modulus = parser.peek(2 if parser.peek(1) == ("open", "{") else 1).value
    too_large = any(digit >= modulus for digit in str(abs(inner.num))) if len(modulus) == 1 else False
    return modulus.isdigit() and (inner.num < int(modulus) or too_large)


def _groups(parser: Parser, start: int, inner: Node) -> bool:
    """Return True if square brackets only group terms, as in `[x-3]^2+1`.

    The brackets must be part of a larger formula and contain a sum with a number and no fractions. They
    cannot denote an integer part, because the number would then be written outside the brackets.
    """
    before = parser.tokens[start - 1].kind if start else ""
    within = before in ("op", "num", "sym", "close") or parser.kind() == "op" or parser.starts_factor()
    whole = isinstance(inner, Add) and any(isinstance(term, Num) for term in inner.terms)
    return within and whole and not any(isinstance(part, Div) for part in walk(inner))


def _braces(parser: Parser, opening: str) -> Node:
    if parser.at("close", "set" if opening == "set" else "}"):
        parser.advance()
        return Const("empty")
    inner = parser.listing()
    if parser.kind() in ("bar", "mid", "colon") and opening in ("set", "{"):
        parser.advance()
        inner = Builder(inner, condition(parser))
    parser.expect("close", "set" if opening == "set" else "}")
    if isinstance(inner, Builder) or (opening == "{" and not _bare_list(inner)):
        return inner
    items = inner.items if _bare_list(inner) and isinstance(inner, Seq) else (inner,)
    return Seq("{", "}", items) if opening == "set" else Seq("", "", items)


def condition(parser: Parser) -> Node:
    """Parse the condition in a set: relations separated by commas or words."""
    found = parser.listing()
    return Logic("and", found.items) if isinstance(found, Seq) and found.opening == "" else found


def bars_around(parser: Parser) -> Node:
    sign = parser.advance().value
    parser.bars += 1
    inner = parser.sum()
    parser.expect("bar", sign)
    parser.bars -= 1
    return Fn("det" if isinstance(inner, Matrix) else "abs", (inner,))


# Fractions, roots, functions.


def fraction(parser: Parser) -> Node:
    parser.advance()
    top = parser.argument()
    return Div(top, parser.argument())


def binomial(parser: Parser) -> Node:
    parser.advance()
    if parser.at("open", "("):
        inner = bracketed(parser)
        if isinstance(inner, Seq) and len(inner.items) == 2:
            return Fn("binom", inner.items)
        raise Unparsable("a binomial that does not have two arguments")
    top = parser.argument()
    return Fn("binom", (top, parser.argument()))


def root(parser: Parser) -> Node:
    parser.advance()
    degree: Node = Num(2)
    if parser.at("open", "["):
        parser.advance()
        degree = parser.sum()
        parser.expect("close", "]")
    if parser.kind() == "num":
        radicand: Node = literal(parser.advance().value)
    else:
        radicand = parser.argument()
    return Fn("root", (radicand, degree))


def function(parser: Parser) -> Node:
    name = parser.advance().value
    power: Node | None = None
    base: Node | None = None
    while parser.peek() in (("op", "^"), ("op", "_")):
        if parser.advance().value == "^":
            power = parser.exponent()
        else:
            base = parser.argument() if parser.kind() != "num" else literal(parser.advance().value)
    if power is base is None and parser.at("rel", "="):
        return Text(name)  # The name of a result, as in `\\max = 5`.
    if power == MINUS_ONE and name in INVERSES:
        name = INVERSES[name]
        power = None
    arguments = _function_arguments(parser)
    node = _make_function(name, arguments, base)
    return node if power is None else Pow(node, power)


def _function_arguments(parser: Parser) -> tuple[Node, ...]:
    """Parse the arguments of a function: a pair of brackets, or a product up to the next sign or function."""
    if parser.peek().kind == "open" and parser.peek().value in "({[":
        inner = bracketed(parser)
        if inner in (Const("empty"), Seq("(", ")", ()), Seq("[", "]", ())):
            raise Unparsable("a function without an argument")
        return inner.items if isinstance(inner, Seq) else (inner,)
    if parser.kind() == "op" and parser.peek().value in "+-":
        return (parser.unary(),)
    factors = [parser.power()]
    while _goes_on(parser) or _slash_number(parser):
        if parser.kind() == "op":
            if any(symbols(f) for f in factors):
                break
            parser.advance()
            factors = [Div(factors[0] if len(factors) == 1 else Mul(tuple(factors)), parser.power())]
        else:
            factors.append(parser.power())
    return (factors[0] if len(factors) == 1 else Mul(tuple(factors)),)


def _goes_on(parser: Parser) -> bool:
    r"""Return True if another factor of a function's argument follows, as in `\sin 2x`.

    A vector is not part of the argument: `\sin t\,\mathbf{j}`.
    """
    vector = parser.kind() == "wrap" or (parser.kind() == "sym" and parser.peek().value in parser.bold)
    return parser.starts_factor() and parser.kind() not in ("fn", "open", "big") and not vector


def _slash_number(parser: Parser) -> bool:
    r"""Return True if a slash and a number follow. They belong to the argument, as in `\sin \pi/6`."""
    return parser.at("op", "/") and parser.peek(1).kind == "num"


# Dots, words and number literals.


def ellipsis(parser: Parser) -> Node:
    parser.advance()
    return Text("...")


def wording(parser: Parser) -> Node:
    return Text(parser.advance().value)


def literal(text: str) -> Num:
    """Return the value of a decimal literal (`1.50`, `7.4e-12`) with its number of decimal places."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    power = int(exponent or 0)
    if abs(power) > MAX_DIGITS:
        raise TooLarge(f"an exponent of {power}")
    digits = int((whole + decimals) or 0)
    shift = power - len(decimals)
    if shift >= 0:
        return Num(digits * 10**shift, 1, 0 if "." in mantissa or exponent else None)
    return _reduced(digits, 10**-shift, -shift)


def _reduced(digits: int, scale: int, places: int) -> Num:
    common = gcd(digits, scale) or 1
    return Num(digits // common, scale // common, places)


def _bare_list(node: Node) -> bool:
    return isinstance(node, Seq) and node.opening == ""


def _make_function(name: str, arguments: tuple[Node, ...], base: Node | None) -> Node:
    if len(arguments) != 1 and (base is not None or name in ("lg", "exp", "cis", "cbrt")):
        raise Unparsable(f"{name} with {len(arguments)} arguments")
    if name == "lg":
        return Fn("log", (*arguments, Num(10)))
    if name == "log" and base is not None:
        return Fn("log", (*arguments, base))
    if name == "exp":
        return Pow(Const("e"), arguments[0])
    if name == "cis" and base is None:
        return Add((Fn("cos", arguments), Mul((Const("i"), Fn("sin", arguments)))))
    if name == "cbrt":
        return Fn("root", (*arguments, Num(3)))
    if base is not None:
        raise Unparsable(f"a subscript on {name}")
    fewest, most = _ARITIES.get(name, (1, 1))
    if not fewest <= len(arguments) <= most:
        raise Unparsable(f"{name} with {len(arguments)} arguments")
    return Fn(name, arguments)


_ARITIES = {
    **dict.fromkeys(("max", "min", "gcd", "lcm"), (1, MAX_TERMS)),
    **dict.fromkeys(("mod", "binom"), (2, 2)), "log": (1, 2),
}  # fmt: skip
"""Minimum and maximum number of arguments, for functions that do not take exactly one argument."""
RULES: dict[str, Callable[[Parser], Node]] = {
    "num": numeral, "sym": symbol, "const": constant, "set": named_set,
    "currency": currency, "prefix": prefixed, "wrap": wrapped, "group": group,
    "open": bracketed, "close": reversed_bracket, "bar": bars_around, "frac": fraction, "binom": binomial,
    "sqrt": root, "fn": function, "big": structures.big, "begin": structures.environment,
    "text": wording, "dots": ellipsis, "binary": operation, "neg": negation,
}  # fmt: skip
