"""Parses tokens into a tree, by recursive descent over lists, relations, set operations, sums and products.

The parser consumes all input or raises `Unparsable`, so it never mistakes a prefix for the answer. `atoms`
parses everything that binds more tightly than a product (numbers, brackets, functions, matrices), and
`postfixes` parses the signs and words after a value.
"""

from __future__ import annotations

from fractions import Fraction

from rewardkit.rewards.math import units
from rewardkit.rewards.math.guards import MAX_DEPTH, MAX_TERMS, TooLarge, Unparsable
from rewardkit.rewards.math.reading import atoms
from rewardkit.rewards.math.reading.bold import inverted, is_vector, names_in_bold, with_products
from rewardkit.rewards.math.reading.listing import ANYTHING, assemble, congruent, is_residues
from rewardkit.rewards.math.reading.postfixes import postfixed, with_words
from rewardkit.rewards.math.reading.tokens import END, Token, tokenize
from rewardkit.rewards.math.reading.words import LEADS, table
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
    Pm,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    Text,
    negate,
)

_STARTS_FACTOR = table("num sym const fn frac sqrt binom open bar big begin group set wrap prefix currency")
_NESTING = table("binary bmod choose")
_MIXED = (3, 7, 12, 16, 24, 60, 3600)
"""Number of smaller units in a unit, for units that are written together: feet in a yard, hours in a day."""
_AFTER_AN_INTERVAL = ("", "sep", "conn", "setop", "rel")


def parse(text: str) -> Node:
    """Parse an answer in canonical spelling into a tree.

    Raises:
        Unparsable: The grammar does not cover a part of the text.
        TooLarge: The text is longer or more deeply nested than the guards allow.
    """
    bold = names_in_bold(text) if "\\" in text else frozenset()
    tree = _Descent(tokenize(text), bold).answer()
    bold |= inverted(text, tree)
    return with_products(tree, bold) if len(bold) > 1 else tree


class _Descent:
    """State of one parse. Each level of the grammar is a method, and `atoms` has the leaves."""

    def __init__(self, tokens: list[Token], bold: frozenset[str]) -> None:
        self.tokens = tokens
        self.bold = bold
        self.position = 0
        self.depth = 0
        self.bars = 0
        self.in_builder = False
        self.bound: list[str] = []

    # Access to the tokens.

    def peek(self, ahead: int = 0) -> Token:
        index = self.position + ahead
        return self.tokens[index] if index < len(self.tokens) else END

    def kind(self) -> str:
        return self.tokens[self.position].kind if self.position < len(self.tokens) else ""

    def at(self, kind: str, value: str) -> bool:
        return self.peek() == (kind, value)

    def advance(self) -> Token:
        token = self.peek()
        if token is END:
            raise Unparsable("the text ends unexpectedly")
        self.position += 1
        return token

    def expect(self, kind: str, value: str = "") -> Token:
        token = self.peek()
        if token.kind != kind or (value and token.value != value):
            raise Unparsable(f"expected {value or kind} before {self.here()}")
        return self.advance()

    def here(self) -> str:
        token = self.peek()
        return repr(token.value or token.kind) if token is not END else "the end"

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLarge(f"nested deeper than {MAX_DEPTH}")

    def leave(self) -> None:
        self.depth -= 1

    # Rules that both the levels and the leaves use.

    def atom(self) -> Node:
        self.enter()
        token = self.peek()
        rule = atoms.RULES.get(token.kind)
        if rule is None:
            raise Unparsable(f"no value can start at {self.here()}")
        node = rule(self)
        self.leave()
        return node

    def argument(self) -> Node:
        """Parse one argument as TeX does: a brace group, a single digit or an atom."""
        token = self.peek()
        if token == ("open", "{"):
            self.advance()
            outer_bars = self.bars
            self.bars = 0
            inner = self.listing()
            self.bars = outer_bars
            self.expect("close", "}")
            return inner
        if token.kind == "num" and len(token.value) > 1 and token.value.isdigit():
            self.tokens[self.position] = Token("num", token.value[1:])
            return atoms.literal(token.value[0])
        return self.atom()

    def exponent(self) -> Node:
        """Parse the exponent after `^`: a group, a signed exponent, or one atom with its own powers."""
        if self.at("open", "{"):
            return self.argument()
        if self.peek() in (("op", "-"), ("op", "+")):
            sign = self.advance().value
            inner = self.exponent()
            return negate(inner) if sign == "-" else inner
        if self.kind() in ("fn", "frac", "sqrt"):
            return self.atom()
        if self.kind() == "sym":
            node: Node = Sym(self.advance().value)  # In \\cos^n(x), `n(x)` is not a call.
        else:
            node = atoms.literal(self.advance().value) if self.kind() == "num" else self.atom()
        if self.at("op", "^"):
            self.enter()
            self.advance()
            node = Pow(node, self.exponent())
            self.leave()
        for _ in range(MAX_DEPTH):
            if not self.at("op", "!"):
                return node
            self.advance()
            node = Fn("factorial", (node,))
        raise TooLarge(f"more than {MAX_DEPTH} signs behind an exponent")

    def at_modulus(self) -> bool:
        r"""Return True if the next tokens are a modulus, such as `\pmod 7` or `(mod 7)`."""
        return self.kind() == "pmod" or (self.at("open", "(") and self.peek(1).kind in ("pmod", "bmod"))

    def modulus(self) -> Node:
        if self.at("open", "("):
            self.advance()
            inner = self.modulus()
            self.expect("close", ")")
            return inner
        self.expect("bmod" if self.kind() == "bmod" else "pmod")
        if self.at("open", "{"):
            return self.argument()
        return self.unary()

    # The whole answer.

    def answer(self) -> Node:
        tree = self.listing()
        if self.position < len(self.tokens):
            raise Unparsable(f"the end was expected before {self.here()}")
        return tree

    # Lists: items separated by commas, semicolons, "and", "or".

    def listing(self) -> Node:
        """Parse a list without brackets, or its only item. Relations joined by words become `Logic`."""
        groups: list[list[Node]] = [[]]
        joints: list[str] = []
        connectives: set[str] = set()
        while True:
            item = self.item()
            groups[-1].extend(item.items if is_residues(item) else (item,))
            start = self.position
            joint = self._joint()
            if joint is None:
                break
            between = self.tokens[start : self.position]
            connectives.update(token.value for token in between if token.kind == "conn")
            if joint != ",":
                joints.append(joint)
                groups.append([])
            if sum(map(len, groups)) > MAX_TERMS:
                raise TooLarge(f"a list of more than {MAX_TERMS} items")
            if self.kind() in ("", "close"):
                break
        return assemble([g for g in groups if g], joints, connectives)

    def _joint(self) -> str | None:
        """Consume a separator and return it as `,`, `;` or a connective, or None if no separator follows."""
        token = self.peek()
        if token.kind == "sep":
            self.advance()
            while self.kind() == "sep":
                self.advance()
            if self.kind() == "conn":
                self.advance()
                return ","
            return token.value
        if token.kind in ("conn", "amp"):
            self.advance()
            while self.kind() in ("sep", "conn"):
                self.advance()
            return "and" if token.kind == "amp" else token.value
        return None

    # Relations.

    def item(self) -> Node:
        """Parse one item of a list: a chain of relations or a single value."""
        if self.peek() in (("rel", "="), ("rel", "~")):
            self.advance()  # An answer may lack its left-hand side: `= 5`, `\\approx 5`.
        no_subject = self.at("rel", "mod")  # An example is `\\equiv 5 \\pmod 7`.
        first = ANYTHING if no_subject else self.side()
        if self.at_modulus():
            return congruent(ANYTHING, first, self.modulus())
        operators: list[str] = []
        sides = [first]
        while self.kind() == "rel" or (self.kind() == "mid" and not self.in_builder):
            token = self.advance()
            operators.append("divides" if token.kind == "mid" else token.value)
            if self.kind() in ("", "sep", "conn"):
                raise Unparsable("a relation without a right-hand side")
            sides.append(self.side())
        if not operators:
            return first
        if operators == ["in"] and (residues := self._residues(sides[1])) is not None:
            return congruent(first, *residues)
        if operators[-1] == "mod" and isinstance(last := sides[-1], Fn) and last.name == "mod":
            sides[-1], modulus = last.args  # An example is `x \equiv 3 \bmod 7`.
            return Rel((*operators, "modulus"), (*sides, modulus))
        if operators == ["="] and isinstance(first, Fn) and first.name == "mod" and isinstance(sides[1], Num):
            value, modulus = first.args  # An example is `n \bmod 7 = 3`.
            return Rel(("mod", "modulus"), (value, sides[1], modulus))
        tree: Node = Rel(tuple(operators), tuple(sides))
        if self.at_modulus():
            signs = ("mod" if operator == "=" else operator for operator in operators)
            tree = Rel((*signs, "modulus"), (*sides, self.modulus()))
        return tree

    def _residues(self, node: Node) -> tuple[Node, Node] | None:
        r"""Return a set of residues and their modulus, `\{1, 3\} \pmod 8` or `\{1, 3\} \bmod 8`, or None."""
        if isinstance(node, Fn) and node.name == "mod":
            value, modulus = node.args
            return (value, modulus) if _is_set(value) else None
        return (node, self.modulus()) if _is_set(node) and self.at_modulus() else None

    def side(self) -> Node:
        """Parse one side of a relation: ratios joined by set operations."""
        parts = [self.ratio()]
        operators: list[str] = []
        while self.kind() == "setop":
            operators.append(self.advance().value)
            parts.append(self.ratio())
        if not operators:
            return parts[0]
        tree = parts[0]
        for operator, part in zip(operators, parts[1:], strict=True):
            same = isinstance(tree, SetOp) and tree.op == operator and operator != "minus"
            tree = SetOp(operator, (*tree.parts, part) if same and isinstance(tree, SetOp) else (tree, part))
        return tree

    def ratio(self) -> Node:
        parts = [self.quantity()]
        while self.kind() == "colon" and not self.in_builder:
            self.advance()
            parts.append(self.quantity())
        return parts[0] if len(parts) == 1 else Ratio(tuple(parts))

    def quantity(self) -> Node:
        """Parse a sum and the unit or words after it. `5 ft 3 in` is the sum of its parts."""
        if self.kind() == "text":
            return self.words()
        value = self.sum()
        if self.kind() not in ("text", "letters"):
            return value
        parts = [with_words(self, value)]
        while self.kind() == "num" or self._goes_on_smaller(parts[-1]):
            while self.kind() != "num":
                self.advance()
            value = self.sum()
            if self.kind() not in ("text", "letters"):
                raise Unparsable("a number after a unit")
            parts.append(with_words(self, value))
        return parts[0] if len(parts) == 1 else Add(tuple(parts))

    def _goes_on_smaller(self, last: Node) -> bool:
        """Return True if "and" or a comma and a number with a smaller unit of the same kind follow.

        For example, "and 45 minutes" follows `1 hour`. Values in `2 m, 50 cm` are a list, because a sum of
        metric units is written as a decimal.
        """
        comma = self.kind() == "sep"
        after = comma + (self.peek(comma) == ("conn", "and"))
        number, unit = self.peek(after), self.peek(after + 1)
        if not (after and isinstance(last, Quantity) and number.kind == "num" and unit.kind == "text"):
            return False
        first, second = units.read(last.unit).measure, units.read(unit.value).measure
        if first is None or second is None or first.dimensions != second.dimensions:
            return False
        ratio = first.factor / second.factor
        if not comma:
            return ratio > 1
        return ratio in _MIXED and number.value.isdigit() and int(number.value) < ratio

    def words(self) -> Node:
        """Parse a run of words that is not mathematics, or the value after harmless words."""
        found = [self.advance().value]
        while self.kind() in ("text", "sym", "const", "num") and self.peek(1).kind in (
            "text",
            "",
            "sep",
            "conn",
        ):
            found.append(self.advance().value)
            if self.kind() in ("sep", "conn", ""):
                break
        if self.kind() in _STARTS_FACTOR:
            words = " ".join(found)
            if not LEADS.issuperset(words.casefold().strip(".:").split()):
                raise Unparsable(f"words before a value: {words}")
            return self.sum()
        return Text(" ".join(found))

    # Sums and products.

    def sum(self) -> Node:
        self.enter()
        terms = [self.term()]
        while (token := self.peek()).kind in ("op", "pm") and token.value in "+-":
            self.advance()
            term = self.term()
            if token.kind == "pm":
                term = Pm(term, flipped=token.value == "-")
            if token == Token("op", "-") and _is_set(term) and isinstance(terms[-1], (Const, Seq, SetOp)):
                terms[-1] = SetOp("minus", (terms[-1], term))  # An example is `\mathbb{R}-\{3\}`.
            else:
                terms.append(negate(term) if token == Token("op", "-") else term)
            if len(terms) > MAX_TERMS:
                raise TooLarge(f"a sum of more than {MAX_TERMS} terms")
        found = terms[0] if len(terms) == 1 else Add(tuple(terms))
        if self.kind() == "over":
            self.advance()
            found = Div(found, self.sum())
        self.leave()
        return found

    def term(self) -> Node:
        """Parse a product or quotient from left to right. Adjacent factors are multiplied."""
        factors = [self.unary()]
        nested = 0
        while True:
            token = self.peek()
            nested += token.kind in _NESTING or token == ("op", "/")
            if nested > MAX_DEPTH:
                raise TooLarge(f"more than {MAX_DEPTH} operations in a row")
            if token.kind == "op" and token.value in "*×":
                self.advance()
                if token.value == "×" and self.bold and is_vector(factors[-1], self.bold):
                    factors[-1] = Fn("cross", (factors[-1], self._vector()))
                else:
                    factors.append(self.unary())
            elif token.kind == "op" and token.value == "/":
                self.advance()
                factors = [_quotient_of(_product(factors), self.unary())]
            elif token.kind == "binary":
                self.advance()
                factors = [App(token.value, (_product(factors), self.unary()))]
            elif token.kind == "bmod":
                self.advance()
                factors = [Fn("mod", (_product(factors), self.unary()))]
            elif token.kind == "choose":
                self.advance()
                factors = [Fn("binom", (_product(factors), self.unary()))]
            elif self.starts_factor():
                self._juxtapose(factors)
            else:
                return _product(factors)
            if len(factors) > MAX_TERMS:
                raise TooLarge(f"a product of more than {MAX_TERMS} factors")

    def _vector(self) -> Node:
        r"""Parse the second factor of a cross product with numbers before it: `\vec{a} \times 2\vec{b}`."""
        factors = [self.unary()]
        while not is_vector(factors[-1], self.bold) and self.starts_factor():
            self._juxtapose(factors)
        return _product(factors)

    def _juxtapose(self, factors: list[Node]) -> None:
        """Append the next factor. A whole number and a fraction after it form a mixed number."""
        fraction_sign = self.kind() == "frac"
        number_first = self.kind() == "num"
        last = factors[-1]
        mixed = isinstance(last, Num) and last.den == 1 and last.places is None and self._after_number()
        factor = self.power()
        if number_first and not (isinstance(last, Num) and mixed):
            if isinstance(last, (Num, Text)):
                raise Unparsable("two numbers side by side")
            factors.append(factor)
            return
        if number_first:
            if not self.at("op", "/"):
                raise Unparsable("two numbers side by side")
            self.advance()
            factor = Div(factor, self.power())
        # A sign after a mixed number applies to the entire number: 33 1/3 %.
        sign = type(factor) if isinstance(factor, (Percent, Degree)) else None
        part = factor.value if isinstance(factor, (Percent, Degree)) else factor
        quotient = _quotient(part) if mixed and (fraction_sign or number_first) else None
        if quotient is not None:
            assert isinstance(last, Num)
            if quotient >= 1:
                raise Unparsable("an improper fraction behind a whole number")
            whole = Add((last, part if last.num >= 0 else negate(part)))
            factors[-1] = whole if sign is None else sign(whole)
        elif number_first:
            raise Unparsable("two numbers side by side")
        else:
            factors.append(factor)

    def _after_number(self) -> bool:
        return self.position > 0 and self.tokens[self.position - 1].kind == "num"

    def unary(self) -> Node:
        token = self.peek()
        if token.kind == "op" and token.value in "+-":
            self.enter()
            self.advance()
            operand = self.unary()
            self.leave()
            return negate(operand) if token.value == "-" else operand
        if token.kind == "pm":
            self.enter()
            self.advance()
            operand = self.unary()
            self.leave()
            return Pm(operand, flipped=token.value == "-")
        return self.power()

    def power(self) -> Node:
        """Parse an atom with its postfixes: powers, factorials, percent and degree signs."""
        return postfixed(self, self.atom())

    def starts_factor(self) -> bool:
        token = self.peek()
        if token.kind == "bar":
            return self.bars == 0 and not self.in_builder
        if token == Token("open", "[") and self.peek(1).kind in _AFTER_AN_INTERVAL:
            return False  # The bracket ends an interval: `]a, b[`.
        if token.kind == "open" and self.at_modulus():
            return False
        return token.kind in _STARTS_FACTOR


def _product(factors: list[Node]) -> Node:
    return factors[0] if len(factors) == 1 else Mul(tuple(factors))


def _quotient_of(top: Node, bottom: Node) -> Node:
    """Return a quotient. A percent sign behind two numbers applies to their quotient: `55/3 %`."""
    if isinstance(bottom, Percent) and isinstance(top, Num) and isinstance(bottom.value, Num):
        return Percent(Div(top, bottom.value))
    return Div(top, bottom)


def _is_set(node: Node) -> bool:
    return node in _NAMED_SETS or (isinstance(node, Seq) and node.opening == "{")


_NAMED_SETS = tuple(map(Const, "RZNQC"))


def _quotient(node: Node) -> Fraction | None:
    """Return the value of a fraction of two positive integers, or None for any other node."""
    match node:
        case Div(top=Num(num=top, den=1), bottom=Num(num=bottom, den=1)) if top > 0 and bottom > 0:
            return Fraction(top, bottom)
    return None
