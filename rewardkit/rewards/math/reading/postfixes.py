"""Parses the postfixes of a value.

The postfixes are powers, factorials, percent signs, marks written like powers (degree signs with minutes and
seconds, primes, ordinal endings) and words (`5 cm^2`, `3 million dollars`).
"""

from __future__ import annotations

from fractions import Fraction

from rewardkit.rewards.math.guards import MAX_DEPTH, TooLarge, Unparsable
from rewardkit.rewards.math.reading.atoms import literal, raw_group
from rewardkit.rewards.math.reading.levels import Parser
from rewardkit.rewards.math.reading.nouns import SCALES
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    Const,
    Degree,
    Div,
    Fn,
    Mul,
    Node,
    Num,
    Percent,
    Pow,
    Quantity,
    Rel,
    Seq,
    Sym,
)
from rewardkit.rewards.math.units import ORDINALS


def postfixed(parser: Parser, node: Node) -> Node:
    """Parse the postfixes of a value: powers, factorials, percent and degree signs."""
    for _ in range(MAX_DEPTH):
        token = parser.peek()
        if token == ("op", "^"):
            node = _raise(parser, node)
        elif token == ("op", "!"):
            parser.advance()
            twice = parser.at("op", "!")
            if twice:
                parser.advance()
            node = Fn("factorial2" if twice else "factorial", (node,))
        elif token.kind == "percent":
            parser.advance()
            node = Percent(node)
        elif token.kind == "degree" and isinstance(node, (Sym, App)) and _composes(parser):
            parser.advance()
            node = Fn("compose", (node, parser.power()))
        elif token.kind == "degree":
            parser.advance()
            node = Degree(node)
        else:
            return node
    raise TooLarge(f"more than {MAX_DEPTH} signs behind a value")


def _composes(parser: Parser) -> bool:
    r"""Return True if the sign after a name means composition, as in `f \circ g`, rather than degrees."""
    return parser.peek(1).kind == "sym" and parser.peek(1).value not in ("C", "F")


def _raise(parser: Parser, base: Node) -> Node:
    parser.advance()
    exponent = parser.peek()
    if exponent.kind in ("degree", "prime") or (exponent == ("open", "{") and _marks_only(parser)):
        return _mark(parser, base)
    power = parser.exponent()
    if isinstance(base, Seq) and base.opening == "{" and len(base.items) == 1:
        base = base.items[0]  # Braces that group: `\\{x-1\\}^2`.
    if isinstance(base, Sym) and parser.at("op", "_"):
        parser.advance()
        base = Sym(f"{base.name}_{raw_group(parser)}")  # v^2_0 is v_0^2
    return Pow(base, power)


def _marks_only(parser: Parser) -> bool:
    """Return True if the exponent group consists of a degree sign, primes or an ordinal ending."""
    token = parser.peek(1)
    return (token.kind in ("degree", "prime", "text") and parser.peek(2) == ("close", "}")) or (
        token.kind == "sym" and _letters(parser) != ""
    )


def _letters(parser: Parser) -> str:
    letters = "".join(parser.peek(k).value for k in (1, 2))
    return letters if letters in ORDINALS and parser.peek(3).kind == "close" else ""


def _mark(parser: Parser, base: Node) -> Node:
    braced = parser.at("open", "{")
    if braced:
        parser.advance()
    token = parser.advance()
    mark = token.value + parser.advance().value if token.kind == "sym" else token.value
    if braced:
        parser.expect("close", "}")
    if token.kind == "degree":
        if parser.kind() in ("sym", "text") and parser.peek().value in ("C", "F", "Celsius", "Fahrenheit"):
            return Quantity(base, "°" + parser.advance().value[0])
        return Degree(_with_minutes(parser, base))
    if token.kind == "prime":
        return Sym(base.name + token.value) if isinstance(base, Sym) else Pow(base, Sym(token.value))
    return _ordinal(base, mark)


def _with_minutes(parser: Parser, degrees: Node) -> Node:
    r"""Parse the minutes and seconds after degrees, as in `36^\circ 52' 12''`, and return the whole angle."""
    terms = [degrees]
    for mark, parts in (("'", 60), ("''", 3600)):
        raised = parser.peek(1) == ("op", "^")
        if parser.kind() != "num" or parser.peek(1 + raised) != ("prime", mark):
            continue
        value = literal(parser.advance().value)
        parser.position += 1 + raised
        terms.append(Div(value, Num(parts)))
    return degrees if len(terms) == 1 else Add(tuple(terms))


# Words.


def with_words(parser: Parser, value: Node) -> Node:
    """Parse the words after a value, and multiply the value by scales such as "million"."""
    if parser.kind() == "letters":
        return Quantity(value, parser.advance().value, bare=True)
    unit = _unit(parser)
    if isinstance(value, Sym) and (domain := _domain(unit)):
        return Rel(("in",), (value, Const(domain)))
    first, _, rest = unit.partition(" ")
    while first.casefold() in SCALES:
        value = _times(value, Num(SCALES[first.casefold()]))
        first, _, rest = rest.partition(" ")
    unit = f"{first} {rest}".strip()
    if unit in ORDINALS:
        return _ordinal(value, unit)
    return Quantity(value, unit) if unit else value


_DOMAINS = {"integer": "Z", "natural number": "N", "rational number": "Q", "real number": "R"}


def _domain(words: str) -> str | None:
    """Return the named set of which words state that something is a member, such as "is an integer"."""
    article, _, noun = words.casefold().removeprefix("is ").partition(" ")
    return _DOMAINS.get(noun) if article in ("a", "an") else None


def _ordinal(value: Node, ending: str) -> Node:
    """Return an ordinal number such as `5th`.

    Raises:
        Unparsable: The ending does not match the number, as in `5st`.
    """
    if ending not in ORDINALS or (isinstance(value, Num) and ending != _ending(value.value)):
        raise Unparsable(f"the ending '{ending}' after its number")
    return Quantity(value, "th")


def _ending(value: Fraction) -> str:
    """Return the ordinal ending for a value, or "" if the value is negative or not an integer."""
    if value < 0 or value.denominator != 1:
        return ""
    teens = 11 <= value % 100 <= 13
    return "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(int(value % 10), "th")


def _times(value: Node, factor: Num) -> Node:
    if isinstance(value, Quantity):
        return Quantity(_times(value.value, factor), value.unit)
    return Mul((value, factor))


def _unit(parser: Parser) -> str:
    """Parse the words after a value, including powers and divisions, as in `cm^2` and `m / s`."""
    parts = [parser.advance().value]
    while True:
        if parser.kind() == "text":
            parts.append(" " + parser.advance().value)
        elif parser.at("op", "^"):
            parser.advance()
            parts.append("^" + raw_group(parser))
        elif parser.at("op", "/") and parser.peek(1).kind in ("text", "sym"):
            parser.advance()
            parts.append("/" + parser.advance().value)
        else:
            return "".join(parts)
