"""Values with words after them: units (`5 cm^2`, `m / s`), `3 million dollars`, `5th`."""

from __future__ import annotations

from fractions import Fraction

from rewardkit.rewards.math.guards import Unparsable
from rewardkit.rewards.math.reading.atoms import raw_group
from rewardkit.rewards.math.reading.levels import Parser
from rewardkit.rewards.math.reading.nouns import SCALES
from rewardkit.rewards.math.reading.words import ORDINALS
from rewardkit.rewards.math.tree.nodes import Mul, Node, Num, Quantity


def with_words(parser: Parser, value: Node) -> Node:
    """Return a value with the words that are read next, those that multiply it carried out."""
    unit = _unit(parser)
    first, _, rest = unit.partition(" ")
    while first.casefold() in SCALES:
        value = _times(value, Num(SCALES[first.casefold()]))
        first, _, rest = rest.partition(" ")
    unit = f"{first} {rest}".strip()
    if unit in ORDINALS:
        return ordinal(value, unit)
    return Quantity(value, unit) if unit else value


def ordinal(value: Node, ending: str) -> Node:
    """`5th`, whose ending is its own: `5st` is a slip of which nobody can tell what it means."""
    if ending not in ORDINALS or (isinstance(value, Num) and ending != _ending(value.value)):
        raise Unparsable(f"the ending '{ending}' after its number")
    return Quantity(value, "th")


def _ending(value: Fraction) -> str:
    """What an ordinal of this value ends in; nothing for one that counts nothing."""
    if value < 0 or value.denominator != 1:
        return ""
    teens = 11 <= value % 100 <= 13
    return "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(int(value % 10), "th")


def _times(value: Node, factor: Num) -> Node:
    if isinstance(value, Quantity):
        return Quantity(_times(value.value, factor), value.unit)
    return Mul((value, factor))


def _unit(parser: Parser) -> str:
    """The words after a value, with powers and divisions: `cm^2`, `m / s`."""
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
