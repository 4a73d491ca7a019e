"""The parser: tokens to tree. Recursive descent over lists, relations, set operations, sums and products.

All input is consumed or `Unparsable` is raised: a prefix is never taken for the answer. What binds tighter
than a product (numbers, brackets, functions, matrices) is in `atoms`.
"""

from __future__ import annotations

from collections.abc import Callable

from rewardkit.rewards.math.atoms import Atoms
from rewardkit.rewards.math.guards import MAX_TERMS, TooLarge, Unparsable
from rewardkit.rewards.math.tokens import Token, tokenize
from rewardkit.rewards.math.tree import (
    ONE,
    Add,
    Const,
    Degree,
    Div,
    Fn,
    Logic,
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

_STARTS_FACTOR = frozenset(
    "num sym const fn frac sqrt binom open bar big begin group set wrap prefix currency font".split()
)
_CLOSING_BAR = "bar"


def parse(text: str) -> Node:
    """Parse an answer in canonical spelling into a tree.

    Raises:
        Unparsable: it is not wholly in the grammar.
        TooLarge: it is deeper or longer than the guards allow.
    """
    return Parser(tokenize(text)).answer()


class Parser(Atoms):
    """One parse. The levels below are methods so that they can call each other; `Atoms` holds the leaves."""

    def answer(self) -> Node:
        tree = self.listing()
        if self.position < len(self.tokens):
            raise Unparsable(f"nothing expected before {self.here()}")
        return tree

    # Lists: items separated by commas, semicolons, "and", "or".

    def listing(self) -> Node:
        """A bare list, or its one item. Relations joined by words become Logic."""
        groups: list[list[Node]] = [[]]
        joints: list[str] = []
        while True:
            groups[-1].append(self.item())
            joint = self._joint()
            if joint is None:
                break
            if joint != ",":
                joints.append(joint)
                groups.append([])
            if sum(map(len, groups)) > MAX_TERMS:
                raise TooLarge(f"a list of more than {MAX_TERMS} items")
            if self.kind() in ("", "close"):
                break
        return _assemble([g for g in groups if g], joints)

    def _joint(self) -> str | None:
        """Consume a separator and return `,` (plain), `;`, `and` or `or`; None when there is none."""
        token = self.peek()
        if token.kind == "sep":
            self.advance()
            while self.kind() == "sep":
                self.advance()
            if self.kind() == "conn":
                self.advance()
                return ","
            return token.value
        if token.kind == "conn":
            self.advance()
            while self.kind() in ("sep", "conn"):
                self.advance()
            return token.value
        return None

    # Relations.

    def item(self) -> Node:
        """One item of a list: a relation chain or a single value."""
        first = self.side()
        operators: list[str] = []
        sides = [first]
        while self.kind() == "rel":
            operators.append(self.advance().value)
            if self.kind() in ("", "sep", "conn"):
                raise Unparsable("a relation without a right-hand side")
            sides.append(self.side())
        if not operators:
            return first
        tree: Node = Rel(tuple(operators), tuple(sides))
        if self.kind() == "pmod":
            tree = Rel((*operators, "modulus"), (*sides, self.modulus()))
        return tree

    def side(self) -> Node:
        """One side of a relation: set operations over ratios over sums, with the words after them."""
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
        while self.kind() == "colon":
            self.advance()
            parts.append(self.quantity())
        return parts[0] if len(parts) == 1 else Ratio(tuple(parts))

    def quantity(self) -> Node:
        """A sum and the unit or words after it; `5 ft 3 in` is the sum of its parts."""
        if self.kind() == "text":
            return self.words()
        value = self.sum()
        if self.kind() != "text":
            return value
        parts: list[Node] = [Quantity(value, self.unit())]
        while self.kind() == "num":
            value = self.sum()
            if self.kind() != "text":
                raise Unparsable("a number after a unit")
            parts.append(Quantity(value, self.unit()))
        return parts[0] if len(parts) == 1 else Add(tuple(parts))

    def words(self) -> Node:
        """A run of words that is no mathematics, perhaps followed by the value they name."""
        found = [self.advance().value]
        while self.kind() in ("text", "sym", "const", "num") and self.peek(1).kind in ("text", "", "sep", "conn"):
            found.append(self.advance().value)
            if self.kind() in ("sep", "conn", ""):
                break
        if self.kind() in _STARTS_FACTOR:
            return Quantity(self.sum(), " ".join(found))
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
            terms.append(negate(term) if token == Token("op", "-") else term)
            if len(terms) > MAX_TERMS:
                raise TooLarge(f"a sum of more than {MAX_TERMS} terms")
        self.leave()
        return terms[0] if len(terms) == 1 else Add(tuple(terms))

    def term(self) -> Node:
        """A product or quotient, left to right; juxtaposition multiplies."""
        result = self.unary()
        factors = [result]
        while True:
            token = self.peek()
            if token.kind == "op" and token.value == "*":
                self.advance()
                factors.append(self.unary())
            elif token.kind == "op" and token.value == "/":
                self.advance()
                factors = [Div(_product(factors), self.unary())]
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

    def _juxtapose(self, factors: list[Node]) -> None:
        """Append the next factor; a whole number before a proper fraction is a mixed number."""
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
        if mixed and (fraction_sign or number_first) and _proper(factor):
            assert isinstance(last, Num)
            factors[-1] = Add((last, factor if last.num >= 0 else negate(factor)))
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
        """An atom with its postfixes: powers, factorials, percent and degree signs."""
        node = self.atom()
        while True:
            token = self.peek()
            if token == Token("op", "^"):
                node = self._raise(node)
            elif token == Token("op", "!"):
                self.advance()
                twice = self.at("op", "!")
                if twice:
                    self.advance()
                node = Fn("factorial2" if twice else "factorial", (node,))
            elif token.kind == "percent":
                self.advance()
                node = Percent(node)
            elif token.kind == "degree":
                self.advance()
                node = Degree(node)
            else:
                return node

    def _raise(self, base: Node) -> Node:
        self.advance()
        exponent = self.peek()
        if exponent.kind in ("degree", "prime") or (exponent == Token("open", "{") and self._marks_only()):
            return self._mark(base)
        return Pow(base, self.exponent())

    def _marks_only(self) -> bool:
        """Whether the exponent group is a degree sign, primes or an ordinal ending."""
        token = self.peek(1)
        return token.kind in ("degree", "prime", "text") and self.peek(2) == Token("close", "}") or (
            token.kind == "sym" and self._ordinal() != ""
        )

    def _ordinal(self) -> str:
        letters = "".join(self.peek(k).value for k in (1, 2))
        return letters if letters in ("th", "st", "nd", "rd") and self.peek(3).kind == "close" else ""

    def _mark(self, base: Node) -> Node:
        braced = self.at("open", "{")
        if braced:
            self.advance()
        token = self.advance()
        if token.kind == "sym":
            self.advance()
        if braced:
            self.expect("close", "}")
        if token.kind == "degree":
            if self.peek() in (Token("sym", "C"), Token("sym", "F")):
                return Quantity(base, "°" + self.advance().value)
            return Degree(base)
        if token.kind == "prime":
            return Sym(base.name + token.value) if isinstance(base, Sym) else Pow(base, Sym(token.value))
        return Quantity(base, "th")

    def starts_factor(self) -> bool:
        token = self.peek()
        if token.kind == "bar":
            return self.bars == 0 and not self.in_builder
        if token.kind == "open" and token.value == "]":
            return False
        return token.kind in _STARTS_FACTOR


def _product(factors: list[Node]) -> Node:
    return factors[0] if len(factors) == 1 else Mul(tuple(factors))


def _proper(node: Node) -> bool:
    """Whether this is a fraction of two plain integers with a positive value."""
    return (
        isinstance(node, Div)
        and isinstance(node.top, Num)
        and isinstance(node.bottom, Num)
        and node.top.den == node.bottom.den == 1
        and 0 < node.top.num
        and 0 < node.bottom.num
    )


def _assemble(groups: list[list[Node]], joints: list[str]) -> Node:
    """Build the tree of a listing from its comma groups and the words or semicolons between them."""
    if len(groups) == 1:
        items = groups[0]
        return items[0] if len(items) == 1 else Seq("", "", tuple(items))
    words = {j for j in joints if j in ("and", "or")}
    flat = [item for group in groups for item in group]
    if len(words) == 1 and all(len(g) == 1 and _is_condition(g[0]) for g in groups):
        return Logic(words.pop(), tuple(flat))
    sizes = {len(g) for g in groups}
    if sizes != {1} and len(sizes) == 1 and all(isinstance(item, Rel) for item in flat):
        return Seq("", "", tuple(Seq("(", ")", tuple(group)) for group in groups))
    return Seq("", "", tuple(flat))


def _is_condition(node: Node) -> bool:
    """Whether this restricts a variable rather than naming a value of it."""
    return isinstance(node, Rel) and any(op != "=" for op in node.ops)


Rule = Callable[[], Node]

__all__ = ["ONE", "Const", "Percent", "Rule", "parse"]
