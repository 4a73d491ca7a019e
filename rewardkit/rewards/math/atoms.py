"""The leaves of the grammar: numbers, variables, brackets, functions, big operators, matrices, units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import gcd

from rewardkit.rewards.math import structures
from rewardkit.rewards.math.guards import MAX_DEPTH, MAX_DIGITS, TooLarge, Unparsable
from rewardkit.rewards.math.text import spelled_number
from rewardkit.rewards.math.tokens import END, Token
from rewardkit.rewards.math.tree import (
    MINUS_ONE,
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
)
from rewardkit.rewards.math.words import table

_FUNCTION_LETTERS = frozenset("fghFGH")
_TRIG_INVERSE = {name: "arc" + name for name in table("sin cos tan cot sec csc sinh cosh tanh")}
_CLOSERS = {"(": ")]", "[": "])[", "]": "[])"}


class Atoms(ABC):
    """The state of one parse and the rules for its smallest pieces."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.bars = 0
        self.in_builder = False
        self.bound: list[str] = []

    # The levels above, which `parse.Parser` has and the leaves call for what they enclose.

    @abstractmethod
    def listing(self) -> Node:
        """A bare list, or its one item."""

    @abstractmethod
    def item(self) -> Node:
        """A relation chain or a single value."""

    @abstractmethod
    def side(self) -> Node:
        """One side of a relation."""

    @abstractmethod
    def sum(self) -> Node:
        """Terms with signs between them."""

    @abstractmethod
    def term(self) -> Node:
        """A product or quotient."""

    @abstractmethod
    def unary(self) -> Node:
        """A power, with signs before it."""

    @abstractmethod
    def power(self) -> Node:
        """An atom with its postfixes."""

    @abstractmethod
    def starts_factor(self) -> bool:
        """Whether the next token can begin another factor."""

    # Reading tokens.

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
            raise Unparsable("the text ends too early")
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

    # Atoms.

    def atom(self) -> Node:
        self.enter()
        token = self.peek()
        rule = _RULES.get(token.kind)
        if rule is None:
            raise Unparsable(f"no value can start at {self.here()}")
        node = rule(self)
        self.leave()
        return node

    def number(self) -> Node:
        text = self.advance().value
        if self.at("op", "_"):
            return self._based(text)
        if self.kind() == "dots" and "." in text:
            self.advance()  # 0.333... is read as the decimal that it shows
        return literal(text)

    def _based(self, digits: str) -> Node:
        self.advance()
        base = self.argument()
        if isinstance(base, Text):
            base = number(spelled_number(base.text) or Fraction(0))
        if not (isinstance(base, Num) and base.den == 1 and 2 <= base.num <= 36):
            raise Unparsable("a base that is not a number from 2 to 36")
        return Based(digits, base.num)

    def symbol(self) -> Node:
        name = self.advance().value + self._suffix()
        if self.at("open", "(") and (name[0] in _FUNCTION_LETTERS or self._is_head()):
            inner = self.bracketed()
            return App(name, inner.items if isinstance(inner, Seq) else (inner,))
        return Sym(name)

    def _is_head(self) -> bool:
        """Whether `N(n) =` follows: the head of a definition."""
        kinds = [self.peek(k) for k in (1, 2, 3)]
        return kinds[0].kind == "sym" and kinds[1].value == ")" and kinds[2] == ("rel", "=")

    def _suffix(self) -> str:
        """Subscripts and primes, spelled into the name."""
        suffix = ""
        while True:
            if self.kind() == "prime":
                suffix += self.advance().value
            elif self.at("op", "_"):
                self.advance()
                suffix += "_" + self._raw_group()
            elif self.at("op", "^") and self.peek(1).kind == "prime":
                self.advance()
            elif self.at("op", "^") and self.peek(1).value == "{" and self.peek(2).kind == "prime":
                self.position += 2
                suffix += self.advance().value
                self.expect("close", "}")
            else:
                return suffix

    def _raw_group(self) -> str:
        """The values of a group's tokens, joined: subscripts are names, not values."""
        if not self.at("open", "{"):
            return self.advance().value
        depth = 0
        parts: list[str] = []
        while True:
            token = self.advance()
            depth += (token == ("open", "{")) - (token == ("close", "}"))
            if depth == 0:
                return "".join(parts[1:])
            parts.append(token.value or token.kind)

    def constant(self) -> Node:
        name = self.advance().value
        if name in "ei" and (self.at("op", "_") or name in self.bound):
            return Sym(name + self._suffix())
        return Const(name)

    def named_set(self) -> Node:
        name = self.advance().value
        marks = ""
        while self.peek() in (("op", "^"), ("op", "_")):
            self.advance()
            marks += self._raw_group()
        if not marks:
            return Const(name)
        return Sym(f"{name}^{marks}")

    def currency(self) -> Node:
        sign = self.advance().value
        return Quantity(self.power(), sign)

    def prefixed(self) -> Node:
        """`\\angle APC`, `\\triangle ABC`: one name."""
        parts = [self.advance().value]
        while self.kind() in ("sym", "const", "num"):
            parts.append(self.advance().value)
        return Sym(" ".join(parts))

    def wrapped(self) -> Node:
        """`\\overline{AB}`, `\\vec{v}`: a name; over digits it is a repeating decimal's or number's bar."""
        mark = self.advance().value
        name = self._raw_group()
        if not name:
            raise Unparsable("an accent over nothing")
        return Sym(f"{mark} {name}" if mark != "vec" else name)

    def group(self) -> Node:
        self.advance()
        return self.argument()

    # Brackets.

    def bracketed(self) -> Node:
        """`(...)`, `[...]`, `{...}`, `\\{...\\}`, `]a,b[`, floors and ceilings."""
        opening = self.advance().value
        outer_bars, self.bars = self.bars, 0
        outer_builder, self.in_builder = self.in_builder, opening == "set" or opening == "{"
        try:
            if opening in ("floor", "ceil"):
                inner = self.listing()
                self.expect("close", opening)
                return Fn(opening, (inner,))
            if opening in ("set", "{"):
                return self._braces(opening)
            return self._parentheses(opening)
        finally:
            self.bars, self.in_builder = outer_bars, outer_builder

    def _parentheses(self, opening: str) -> Node:
        if self.kind() == "close":
            closing = self.advance().value
            return Seq(opening, closing, ())
        inner = self.listing()
        token = self.advance()
        if token.value not in _CLOSERS[opening]:
            raise Unparsable(f"{opening} closed by {token.value or token.kind}")
        many = isinstance(inner, Seq) and inner.opening == ""
        if many and isinstance(inner, Seq):
            return Seq(opening, token.value, inner.items)
        if opening == "(" and token.value == ")":
            return inner
        if opening == "[" and token.value == "]" and isinstance(inner, Matrix):
            return inner
        if opening == "[" and token.value == "]":
            return Seq("[", "]", (inner,))
        raise Unparsable(f"{opening}...{token.value} around one value")

    def _braces(self, opening: str) -> Node:
        if self.at("close", "set" if opening == "set" else "}"):
            self.advance()
            return Const("empty")
        inner = self.listing()
        if self.kind() in ("bar", "mid", "colon") and opening in ("set", "{"):
            self.advance()
            inner = Builder(inner, self.condition())
        self.expect("close", "set" if opening == "set" else "}")
        if isinstance(inner, Builder) or (opening == "{" and not _bare_list(inner)):
            return inner
        items = inner.items if _bare_list(inner) and isinstance(inner, Seq) else (inner,)
        return Seq("{", "}", items) if opening == "set" else Seq("", "", items)

    def condition(self) -> Node:
        """The condition of a set: relations separated by commas or words."""
        found = self.listing()
        return Logic("and", found.items) if isinstance(found, Seq) and found.opening == "" else found

    def bars_around(self) -> Node:
        sign = self.advance().value
        self.bars += 1
        inner = self.sum()
        self.expect("bar", sign)
        self.bars -= 1
        return Fn("det" if isinstance(inner, Matrix) else "abs", (inner,))

    # Fractions, roots, functions.

    def argument(self) -> Node:
        """A brace group, or a single digit or atom as TeX takes it."""
        token = self.peek()
        if token == ("open", "{"):
            self.advance()
            outer_bars, self.bars = self.bars, 0
            inner = self.listing()
            self.bars = outer_bars
            self.expect("close", "}")
            return inner
        if token.kind == "num" and len(token.value) > 1 and token.value.isdigit():
            self.tokens[self.position] = Token("num", token.value[1:])
            return literal(token.value[0])
        return self.atom()

    def exponent(self) -> Node:
        """The exponent after `^`: a group, a signed number, or one atom with its own powers."""
        if self.at("open", "{"):
            return self.argument()
        if self.peek() in (("op", "-"), ("op", "+")):
            sign = self.advance().value
            inner = self.exponent()
            return negate(inner) if sign == "-" else inner
        if self.kind() in ("fn", "frac", "sqrt"):
            return self.atom()
        node = literal(self.advance().value) if self.kind() == "num" else self.atom()
        if self.at("op", "^"):
            self.enter()
            self.advance()
            node = Pow(node, self.exponent())
            self.leave()
        while self.at("op", "!"):
            self.advance()
            node = Fn("factorial", (node,))
        return node

    def fraction(self) -> Node:
        self.advance()
        top = self.argument()
        return Div(top, self.argument())

    def binomial(self) -> Node:
        self.advance()
        if self.at("open", "("):
            inner = self.bracketed()
            if isinstance(inner, Seq) and len(inner.items) == 2:
                return Fn("binom", inner.items)
            raise Unparsable("binom of other than two numbers")
        top = self.argument()
        return Fn("binom", (top, self.argument()))

    def root(self) -> Node:
        self.advance()
        degree: Node = Num(2)
        if self.at("open", "["):
            self.advance()
            degree = self.sum()
            self.expect("close", "]")
        if self.kind() == "num":
            radicand: Node = literal(self.advance().value)
        else:
            radicand = self.argument()
        return Fn("root", (radicand, degree))

    def function(self) -> Node:
        name = self.advance().value
        power: Node | None = None
        base: Node | None = None
        while self.peek() in (("op", "^"), ("op", "_")):
            if self.advance().value == "^":
                power = self.exponent()
            else:
                base = self.argument() if self.kind() != "num" else literal(self.advance().value)
        if power == MINUS_ONE and name in _TRIG_INVERSE:
            name, power = _TRIG_INVERSE[name], None
        arguments = self._function_arguments()
        node = _make_function(name, arguments, base)
        return node if power is None else Pow(node, power)

    def _function_arguments(self) -> tuple[Node, ...]:
        """What follows a function name: brackets alone, or a product up to the next sign or function."""
        if self.peek().kind == "open" and self.peek().value in "({[":
            inner = self.bracketed()
            if inner in (Const("empty"), Seq("(", ")", ()), Seq("[", "]", ())):
                raise Unparsable("a function of nothing")
            return inner.items if isinstance(inner, Seq) else (inner,)
        if self.kind() == "op" and self.peek().value in "+-":
            return (self.unary(),)
        factors = [self.power()]
        while (self.starts_factor() and self.kind() not in ("fn", "open", "big")) or self._slash_number():
            if self.kind() == "op":
                if any(symbols(f) for f in factors):
                    break
                self.advance()
                factors = [Div(factors[0] if len(factors) == 1 else Mul(tuple(factors)), self.power())]
            else:
                factors.append(self.power())
        return (factors[0] if len(factors) == 1 else Mul(tuple(factors)),)

    def _slash_number(self) -> bool:
        """`\\sin \\pi/6`: the quotient belongs to the argument when a number follows."""
        return self.at("op", "/") and self.peek(1).kind == "num"

    def modulus(self) -> Node:
        self.expect("pmod")
        if self.at("open", "{"):
            return self.argument()
        return self.unary()

    # Units and words.

    def unit(self) -> str:
        """The words after a value, with powers and divisions: `cm^2`, `m / s`."""
        parts = [self.advance().value]
        while True:
            if self.kind() == "text":
                parts.append(" " + self.advance().value)
            elif self.at("op", "^"):
                self.advance()
                parts.append("^" + self._raw_group())
            elif self.at("op", "/") and self.peek(1).kind in ("text", "sym"):
                self.advance()
                parts.append("/" + self.advance().value)
            else:
                return "".join(parts)

    def ellipsis(self) -> Node:
        self.advance()
        return Text("...")

    def text(self) -> Node:
        return Text(self.advance().value)


def literal(text: str) -> Num:
    """Return the Num of a decimal literal, `1.50` or `7.4e-12`, with the places it was written with."""
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
    if name == "lg":
        return Fn("log", (*arguments, Num(10)))
    if name == "log" and base is not None:
        return Fn("log", (*arguments, base))
    if name == "exp":
        return Pow(Const("e"), arguments[0])
    if name == "cbrt":
        return Fn("root", (*arguments, Num(3)))
    if base is not None:
        raise Unparsable(f"a subscript on {name}")
    if len(arguments) > 1 and name not in ("max", "min", "gcd", "lcm", "log", "mod", "binom"):
        raise Unparsable(f"{name} of {len(arguments)} values")
    return Fn(name, arguments)


_RULES = {
    "num": Atoms.number, "sym": Atoms.symbol, "const": Atoms.constant, "set": Atoms.named_set,
    "currency": Atoms.currency, "prefix": Atoms.prefixed, "wrap": Atoms.wrapped, "group": Atoms.group,
    "open": Atoms.bracketed, "bar": Atoms.bars_around, "frac": Atoms.fraction, "binom": Atoms.binomial,
    "sqrt": Atoms.root, "fn": Atoms.function, "big": structures.big, "begin": structures.environment,
    "text": Atoms.text, "dots": Atoms.ellipsis,
}  # fmt: skip
