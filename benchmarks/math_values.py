"""An independent reader of plain answers, which decides with certainty that two of them differ or agree.

It shares nothing with the reward that it checks: it has its own tokens, its own grammar (smaller: it refuses
anything unknown), and values in machine floats at fixed points. `differ` and `agree` are True only if that is
certain; both are False for ambiguous texts. Contains no rewrites and no families.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product as combinations
from itertools import zip_longest
from typing import Any

Tree = tuple[Any, ...]  # ("num", 3.0), ("var", "x"), ("+", a, b), ("fn", "sin", a), ...
Env = dict[str, complex]

_FUNCTIONS = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "cot": lambda z: 1 / cmath.tan(z),
    "sec": lambda z: 1 / cmath.cos(z), "csc": lambda z: 1 / cmath.sin(z), "arcsin": cmath.asin,
    "arccos": cmath.acos, "arctan": cmath.atan, "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh,
    "ln": cmath.log, "exp": cmath.exp, "abs": abs, "sqrt": cmath.sqrt,
}  # fmt: skip
_GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "theta",
    "lambda",
    "mu",
    "nu",
    "rho",
    "sigma",
    "tau",
    "phi",
    "omega",
]
_RELATIONS = {"=": "=", "<": "<", ">": ">", "\\le": "<=", "\\leq": "<=", "\\ge": ">=", "\\geq": ">="}
_LENGTHS = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0, "feet": 0.3048, "inches": 0.0254}
_TIMES = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}
_MASSES = {"g": 0.001, "kg": 1.0, "pounds": 0.45359237}
UNITS: dict[str, tuple[str, float]] = {
    **{name: ("length", size) for name, size in _LENGTHS.items()},
    **{name: ("time", size) for name, size in _TIMES.items()},
    **{name: ("mass", size) for name, size in _MASSES.items()},
}
"""Unit -> dimension and size in its base unit."""
_GROUPED = r"\d{1,3}(?:(?:\{,\}|,)\d{3})+(?!\d)"
_TOKEN = re.compile(
    rf"\s+|(?P<num>{_GROUPED}(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|(?P<text>\\(?:text|mathrm|mbox)\s*\{{[^{{}}]*\}})"
    r"|(?P<cmd>\\(?:[a-zA-Z]+|.))|(?P<sym>[a-zA-Z])|(?P<mark>.)",
    re.DOTALL,
)
_NOISE = re.compile(r"\\(?:left|right|displaystyle|bigl|bigr|big|Big|limits)(?![a-zA-Z])\.?|\\[!,;: ]|~|\$")
_ONLY_DIGIT_COMMAS = re.compile(r"-?\d+(?:,\d+)+")


class Unreadable(ValueError):
    """Raised if a text is not in this grammar, or ambiguous."""


@dataclass(frozen=True)
class Value:
    """The value of an answer: a scalar, a collection of values, a relation, or a choice between cases."""

    kind: str
    """`scalar`, `tuple`, `list`, `set`, `matrix`, `union`, `relation` or `cases`."""
    tree: Tree = ()
    mark: str = ""
    """Mark after a scalar: `percent`, `degree`, `currency` or `unit cm^2`; nothing else."""
    decimal: bool = False
    items: tuple[Value, ...] = ()
    brackets: str = ""
    operators: tuple[str, ...] = ()
    shape: tuple[int, ...] = field(default=())


def read(text: str) -> Value:
    """Read an answer as written in a box.

    Raises:
        Unreadable: its meaning is not certain.
    """
    text = (
        text.replace(",\\!", "{,}")
        .replace("\\dfrac", "\\frac")
        .replace("\\tfrac", "\\frac")
        .replace("\u2212", "-")
    )
    text = _NOISE.sub(" ", text.replace("\\$", "\\dollar ").replace("\\%", "%")).strip()
    if _ONLY_DIGIT_COMMAS.fullmatch(text) and not re.fullmatch("-?" + _GROUPED, text):
        raise Unreadable("digits and commas that may be a list or a decimal comma")
    reader = _Reader(text)
    value = reader.listing()
    if reader.token() is not None:
        raise Unreadable(f"left over: {reader.token()}")
    return value


class _Reader:
    """Recursive descent over one answer."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            assert found is not None
            position = found.end()
            if found.lastgroup:
                self.tokens.append((found.lastgroup, found.group()))
        if len(self.tokens) > 200:
            raise Unreadable("long")
        self.at = 0
        self.bars = 0

    def token(self) -> tuple[str, str] | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def text(self) -> str:
        found = self.token()
        return found[1] if found else ""

    def take(self, wanted: str = "") -> str:
        found = self.text()
        if not found or (wanted and found != wanted):
            raise Unreadable(f"{found!r} where {wanted!r} was expected")
        self.at += 1
        return found

    # Collections and relations.

    def listing(self) -> Value:
        items = [self.member()]
        while self.text() == ",":
            self.take()
            items.append(self.member())
        return items[0] if len(items) == 1 else Value("list", items=tuple(items))

    def member(self) -> Value:
        sides = [self.side()]
        operators = []
        while self.text() in _RELATIONS:
            operators.append(_RELATIONS[self.take()])
            sides.append(self.side())
        if not operators:
            return sides[0]
        if any(side.kind != "scalar" or side.mark for side in sides):
            raise Unreadable("a relation of other things than scalars")
        return Value("relation", items=tuple(sides), operators=tuple(operators))

    def side(self) -> Value:
        parts = [self.single()]
        while self.text() == "\\cup":
            self.take()
            parts.append(self.single())
        if len(parts) == 1:
            return parts[0]
        if any(part.kind not in ("tuple", "set") for part in parts):
            raise Unreadable("a union of other things than intervals")
        return Value("union", items=tuple(parts))

    def single(self) -> Value:
        found = self.text()
        if found == "\\{":
            return self.enclosed("set", "\\}")
        if found == "\\begin":
            return self.environment()
        if found in ("(", "["):
            start = self.at
            collection = self.enclosed("tuple", ")]")
            if len(collection.items) > 1:
                return collection
            self.at = start
        return self.scalar()

    def enclosed(self, kind: str, closing: str) -> Value:
        opening = self.take()
        inner = self.listing()
        found = self.take()
        if found not in (closing, *closing):
            raise Unreadable("brackets")
        items = inner.items if inner.kind == "list" else (inner,)
        return Value(kind, items=items, brackets=opening + found)

    def environment(self) -> Value:
        self.take()
        name = self.group_word()
        if name not in ("pmatrix", "bmatrix"):
            raise Unreadable(name)
        rows: list[list[Value]] = [[self.scalar()]]
        while self.text() != "\\end":
            if self.take() == "&":
                rows[-1].append(self.scalar())
            else:
                rows.append([self.scalar()])
        self.take()
        if self.group_word() != name or len({len(row) for row in rows}) != 1:
            raise Unreadable("a matrix")
        return Value(
            "matrix", items=tuple(cell for row in rows for cell in row), shape=(len(rows), len(rows[0]))
        )

    def group_word(self) -> str:
        self.take("{")
        word = ""
        while self.text() != "}":
            word += self.take()
        self.take("}")
        return word

    # Scalars.

    def scalar(self) -> Value:
        currency = self.text() in ("\\dollar", "\\dollar ")
        if currency:
            self.take()
        start = self.at
        tree = self.sum()
        mark = "currency" if currency else self.mark()
        written = self.tokens[start : self.at]
        decimal = any(kind == "num" and "." in word for kind, word in written)
        return Value("scalar", tree, mark, decimal)

    def mark(self) -> str:
        found = self.token()
        if found is None:
            return ""
        if found[1] == "%":
            self.take()
            return "percent"
        if found[0] != "text":
            return ""
        word = self.take().partition("{")[2].rstrip("}").strip()
        power = ""
        if self.text() == "^":
            self.take()
            power = "^" + (self.group_word() if self.text() == "{" else self.take())
        if word not in UNITS or not re.fullmatch(r"(?:\^\d)?", power):
            raise Unreadable(f"the word {word}")
        return f"unit {word}{power}"

    def sum(self) -> Tree:
        sign = self.take() if self.text() in ("+", "-") else "+"
        tree = self.term()
        tree = ("neg", tree) if sign == "-" else tree
        while self.text() in ("+", "-"):
            sign = self.take()
            tree = (sign, tree, self.term())
        return tree

    def term(self) -> Tree:
        tree = self.factor()
        while True:
            found = self.token()
            if found is None:
                return tree
            if found[1] in ("\\cdot", "\\times", "*"):
                self.take()
                tree = ("*", tree, self.factor())
            elif found[1] == "/":
                self.take()
                tree = ("/", tree, self.factor())
                if self.starts():
                    raise Unreadable("a factor after a quotient")
            elif self.starts():
                tree = self.beside(tree)
            else:
                return tree

    def beside(self, tree: Tree) -> Tree:
        """Return the product or sum with the next factor without a sign between: a mixed number is a sum."""
        if self.token() and self.tokens[self.at][0] == "num":
            raise Unreadable("two numbers side by side")
        if self.text() == "(" and tree[0] == "var":
            raise Unreadable("a call or a product")
        is_fraction = self.text() == "\\frac"
        follows_number = self.tokens[self.at - 1][0] == "num" and tree[0] == "num"
        factor = self.factor()
        if not (is_fraction and follows_number):
            return ("*", tree, factor)
        if factor[0] == "/" and factor[1][0] == factor[2][0] == "num" and 0 < factor[1][1] < factor[2][1]:
            return ("+", tree, factor)
        raise Unreadable("a number before a fraction")

    def starts(self) -> bool:
        found = self.token()
        if found is None or found[0] == "text":
            return False
        if found[1] == "|":
            return self.bars == 0
        if found[0] in ("num", "sym") or found[1] in ("(", "{"):
            return True
        name = found[1].lstrip("\\")
        return found[0] == "cmd" and (
            name in _FUNCTIONS or name in _GREEK or name in ("frac", "pi", "log", "binom", "sqrt")
        )

    def factor(self) -> Tree:
        base = self.atom()
        while self.text() in ("^", "!"):
            if self.take() == "!":
                base = ("fn", "factorial", base)
                continue
            if self.text() == "{" and self.tokens[self.at + 1 : self.at + 2] == [("cmd", "\\circ")]:
                self.at += 3
                base = ("fn", "degree", base)
            elif self.text() == "\\circ":
                self.take()
                base = ("fn", "degree", base)
            else:
                base = ("^", base, self.argument())
        return base

    def argument(self) -> Tree:
        if self.text() == "{":
            self.take()
            tree = self.sum()
            self.take("}")
            return tree
        found = self.token()
        if found and found[0] == "num":
            digits = found[1]
            if len(digits) > 1:
                if not digits.isdigit():
                    raise Unreadable("where TeX takes one digit of a longer number")
                self.tokens[self.at : self.at + 1] = [("num", digits[0]), ("num", digits[1:])]
            return ("num", float(self.take()))
        return self.atom()

    def atom(self) -> Tree:
        kind, found = self.token() or ("", "")
        if kind == "num":
            return ("num", float(self.take().replace("{,}", "").replace(",", "")))
        if found in ("(", "["):
            self.take()
            tree = self.sum()
            self.take(")" if found == "(" else "]")
            return tree
        if found == "{":
            return self.argument()
        if found == "|":
            return self.between_bars()
        if kind == "sym":
            return self.letter()
        if kind == "cmd":
            return self.command(self.take()[1:])
        raise Unreadable(f"{found!r}")

    def between_bars(self) -> Tree:
        if self.bars:
            raise Unreadable("bars in bars")
        self.take()
        self.bars += 1
        tree = self.sum()
        self.take("|")
        self.bars -= 1
        return ("fn", "abs", tree)

    def letter(self) -> Tree:
        name = self.take()
        if self.text() == "_":
            self.take()
            name += "_" + (self.group_word() if self.text() == "{" else self.take())
        if self.text() == "'":
            raise Unreadable("a prime")
        if name in ("e", "i"):
            return ("const", name)
        return ("var", name)

    def command(self, name: str) -> Tree:
        if name == "frac":
            top = self.argument()
            return ("/", top, self.argument())
        if name == "binom":
            top = self.argument()
            return ("binom", top, self.argument())
        if name == "sqrt":
            return self.root()
        if name == "pi":
            return ("const", "pi")
        if name == "infty":
            return ("const", "inf")
        if name in _GREEK:
            return ("var", name)
        if name == "log" and self.text() == "_":
            self.take()
            base = self.argument()
            return ("/", ("fn", "ln", self.operand()), ("fn", "ln", base))
        if name in _FUNCTIONS:
            power = None
            if self.text() == "^":
                self.take()
                power = self.argument()
                if power == ("neg", ("num", 1.0)):
                    raise Unreadable("an inverse or a power")
            tree = ("fn", name, self.operand())
            return tree if power is None else ("^", tree, power)
        raise Unreadable(f"\\{name}")

    def root(self) -> Tree:
        degree: Tree = ("num", 2.0)
        if self.text() == "[":
            self.take()
            degree = self.sum()
            self.take("]")
        return ("^", self.argument(), ("/", ("num", 1.0), degree))

    def operand(self) -> Tree:
        """Return the argument of a function: brackets, or one plain factor that stands alone."""
        if self.text() in ("(", "{"):
            return self.atom()
        tree = self.factor()
        if self.starts() and self.text() not in ("\\sin", "\\cos", "\\tan", "("):
            tree = ("*", tree, self.factor())
        if self.starts() or self.text() == "/":
            raise Unreadable("how far a function reaches")
        return tree


# Values at points.

_POINTS: tuple[tuple[float, ...], ...] = (
    (0.7312, 1.9173, 2.6411, 0.3719, 1.1357, 3.2129),
    (2.3717, 0.5711, 1.4129, 3.1371, 0.8219, 1.7393),
    (3.0, 2.0, 5.0, 4.0, 7.0, 6.0),
    (5.0, 7.0, 3.0, 2.0, 6.0, 4.0),
)
"""Positive points, where roots and powers have one meaning; the last two are whole numbers."""


def names(tree: Tree) -> set[str]:
    if tree and tree[0] == "var":
        return {tree[1]}
    return {name for part in tree[1:] if isinstance(part, tuple) for name in names(part)}


def evaluate(tree: Tree, env: Env) -> complex | None:
    """Return the value at a point; None if there is none."""
    try:
        found = _evaluate(tree, env)
    except (ArithmeticError, ValueError, KeyError):
        return None
    return found if cmath.isfinite(found) and abs(found) < 1e60 else None


def _evaluate(tree: Tree, env: Env) -> complex:
    match tree:
        case ("num", value):
            return complex(value)
        case ("const", name):
            return {"pi": complex(math.pi), "e": complex(math.e), "i": 1j, "inf": 1e50 + 0j}[name]
        case ("var", name):
            return complex(env[name])
        case ("neg", a):
            return -_evaluate(a, env)
        case ("fn", "factorial", a):
            value = _evaluate(a, env)
            if value.imag or value.real < 0:
                raise ValueError
            return complex(math.gamma(value.real + 1))
        case ("fn", "degree", a):
            return _evaluate(a, env) * math.pi / 180
        case ("fn", name, a):
            return complex(_FUNCTIONS[name](_evaluate(a, env)))
    first, second = (_evaluate(part, env) for part in tree[1:])
    match tree[0]:
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return first * second
        case "/":
            return first / second
        case "^":
            return complex(first**second)
        case "binom":
            top, bottom = first.real, second.real
            return complex(math.gamma(top + 1) / math.gamma(bottom + 1) / math.gamma(top - bottom + 1))
    raise ValueError(tree[0])


def _environments(*trees: Tree) -> Iterator[Env]:
    found = sorted(set().union(*(names(tree) for tree in trees)))
    if len(found) > len(_POINTS[0]):
        return
    for point in _POINTS if found else _POINTS[:1]:
        yield dict[str, complex](zip(found, point, strict=False))


def _apart(x: complex, y: complex) -> bool:
    return abs(x - y) > 1e-6 * max(abs(x), abs(y)) and abs(x - y) > 1e-9


def _together(x: complex, y: complex) -> bool:
    return abs(x - y) <= 1e-11 * max(abs(x), abs(y), 1e-6)


# Certainty.


def differ(a: Value, b: Value) -> bool:
    """Return whether two answers certainly have different meanings, in every reading."""
    if "relation" in (a.kind, b.kind):
        return _relations_differ(a, b)
    if a.kind == b.kind == "scalar":
        return _scalars_differ(a, b)
    if a.kind == b.kind in ("tuple", "matrix"):
        return _rows_differ(a, b)
    if {a.kind, b.kind} <= {"list", "set"}:
        return _members_differ(a, b)
    if a.kind == b.kind == "union":
        return _rows_differ(a, b) and _members_differ(a, b)
    if "scalar" in (a.kind, b.kind):
        other = b if a.kind == "scalar" else a
        return other.kind in ("tuple", "list", "set", "matrix") and len(other.items) > 1 and _spread(other)
    return False


def _spread(collection: Value) -> bool:
    """Return whether a collection has two certainly different members."""
    return any(differ(collection.items[0], item) for item in collection.items[1:])


def _rows_differ(a: Value, b: Value) -> bool:
    if a.shape != b.shape or len(a.items) != len(b.items):
        return a.kind == b.kind and len(a.items) != len(b.items)
    if a.brackets != b.brackets:
        return len(a.items) == 2 and {a.brackets, b.brackets} <= {"()", "[]", "(]", "[)"}
    return any(differ(x, y) for x, y in zip(a.items, b.items, strict=True))


def _members_differ(a: Value, b: Value) -> bool:
    return any(all(differ(x, y) for y in b.items) for x in a.items) or any(
        all(differ(x, y) for y in a.items) for x in b.items
    )


def _scales(value: Value, other: Value) -> list[float]:
    """Return the factors that the text after a scalar may stand for."""
    if value.mark == "percent":
        return [1.0, 0.01]
    if value.mark.startswith("unit"):
        return [1.0, _unit_size(value.mark)] if other.mark.startswith("unit") else [1.0]
    return [1.0]


def _unit_size(mark: str) -> float:
    name, _, power = mark.removeprefix("unit ").partition("^")
    return UNITS[name][1] ** int(power or 1)


def dimension(mark: str) -> tuple[str, int]:
    name, _, power = mark.removeprefix("unit ").partition("^")
    return UNITS[name][0], int(power or 1)


def _scalars_differ(a: Value, b: Value) -> bool:
    units = a.mark.startswith("unit"), b.mark.startswith("unit")
    if all(units) and dimension(a.mark) != dimension(b.mark):
        return True
    if all(units) and not _trees_differ(a.tree, b.tree, _unit_size(a.mark), _unit_size(b.mark), False):
        return False
    if all(units):
        return True
    degrees = "degree" in str(a.tree) + str(b.tree)
    variants = [1.0, 180 / math.pi] if degrees else [1.0]
    return all(
        _trees_differ(a.tree, b.tree, x * p, y * q, a.decimal != b.decimal)
        for x, y in combinations(_scales(a, b), _scales(b, a))
        for p, q in combinations(variants, variants)
    )


def _trees_differ(a: Tree, b: Tree, x: float, y: float, rounded: bool) -> bool:
    """Return whether two trees differ, at both a fractional and a whole point if defined there."""
    seen = [False, False]
    for index, env in enumerate(_environments(a, b)):
        first, second = evaluate(a, env), evaluate(b, env)
        if first is None or second is None:
            continue
        if rounded and abs(first * x - second * y) < 0.02 * abs(first * x):
            return False
        if _apart(first * x, second * y):
            seen[index > 1] = True
    return all(seen) if names(a) | names(b) else seen[0]


def _relations_differ(a: Value, b: Value) -> bool:
    if a.kind != b.kind:
        return False
    first, second = _assignment(a), _assignment(b)
    if first and second and first[0] == second[0]:
        return _trees_differ(first[1], second[1], 1.0, 1.0, a.items[-1].decimal != b.items[-1].decimal)
    if all(op == "=" for op in a.operators + b.operators):
        return len(a.operators) == len(b.operators) == 1 and _zeros_differ(a, b)
    if "=" in a.operators + b.operators:
        return False
    return _inequalities_differ(a, b)


def _assignment(relation: Value) -> tuple[str, Tree] | None:
    if relation.operators != ("=",) or relation.items[0].tree[0] != "var":
        return None
    name, tree = relation.items[0].tree[1], relation.items[1].tree
    return None if name in names(tree) else (name, tree)


def _difference(relation: Value) -> Tree:
    return ("-", relation.items[0].tree, relation.items[1].tree)


def _zeros_differ(a: Value, b: Value) -> bool:
    """Return whether one equation has a solution that the other has not.

    Real solutions have priority over complex ones: `x=-1` and `x^3=-1` may be taken as the same, but
    `x^2+1=0` and `x^2+4=0` may not.
    """
    first, second = _difference(a), _difference(b)
    found = sorted(names(first) | names(second))
    if not found or names(first) != names(second):
        return False
    missed = 0
    for point in _POINTS[: 1 if len(found) == 1 else None]:
        env = dict[str, complex](zip(found, point, strict=False))
        roots = [_roots(tree, env, found[-1]) for tree in (first, second)]
        real = [[x for x in group if abs(x.imag) < 1e-9] for group in roots]
        if not all(roots):
            continue
        tried = real if real[0] or real[1] else roots
        pairs = ((second, tried[0]), (first, tried[1]))
        missed += any(_is_no_root(tree, x, env, found[-1]) for tree, group in pairs for x in group)
    return missed >= (1 if len(found) == 1 else 2)


def _is_no_root(tree: Tree, x: complex, env: Env, name: str) -> bool:
    value, near = evaluate(tree, env | {name: x}), evaluate(tree, env | {name: x * 1.01 + 0.01})
    return value is not None and near is not None and abs(value) > 1e-4 * max(abs(near - value), 1e-3)


_STARTS = (0.3, 1.7, -0.6, -2.3, 5.9, -8.1, 23.0, -31.0, 1.37 + 0.61j, -0.9 - 3.3j, 4.1 + 7.7j)


def _roots(tree: Tree, env: Env, name: str) -> list[complex]:
    found = (_newton(tree, env, name, complex(start)) for start in _STARTS)
    return [x for x in found if x is not None]


def _newton(tree: Tree, env: Env, name: str, x: complex) -> complex | None:
    for _ in range(60):
        value, beside = evaluate(tree, env | {name: x}), evaluate(tree, env | {name: x + 1e-7})
        if value is None or beside is None or beside == value:
            return None
        step = value * 1e-7 / (beside - value)
        x -= step
        if abs(step) < 1e-12 * (1 + abs(x)):
            return x
    return None


def _inequalities_differ(a: Value, b: Value) -> bool:
    """Return whether two conditions on one number are true at different places."""
    found = sorted(set().union(*(names(side.tree) for side in a.items + b.items)))
    if len(found) != 1:
        return False
    ends = [evaluate(side.tree, {}) for side in a.items + b.items if not names(side.tree)]
    places = {end.real + shift for end in ends if end for shift in (-0.37, 0.0, 0.37)} | {-1000.5, 1000.5}
    held = [(_holds(a, {found[0]: x}), _holds(b, {found[0]: x})) for x in places]
    return any(None not in pair and pair[0] != pair[1] for pair in held)


def _holds(relation: Value, env: Env) -> bool | None:
    values = [evaluate(side.tree, env) for side in relation.items]
    for op, x, y in zip(relation.operators, values, values[1:], strict=False):
        if x is None or y is None or abs(x.imag) + abs(y.imag) > 1e-9:
            return None
        same = _together(x, y)
        if not {"<": x.real < y.real and not same, ">": x.real > y.real and not same,
                "<=": x.real < y.real or same, ">=": x.real > y.real or same}[op]:  # fmt: skip
            return False
    return True


def agree(a: Value, b: Value) -> bool:
    """Return whether two answers certainly mean the same: equal values at the same places."""
    if a.kind != b.kind or a.operators != b.operators or a.shape != b.shape or a.mark != b.mark:
        return False
    if a.kind == "scalar":
        pairs = [(evaluate(a.tree, env), evaluate(b.tree, env)) for env in _environments(a.tree, b.tree)]
        known = [(x, y) for x, y in pairs if x is not None and y is not None]
        return len(known) == len(pairs) > 0 and all(_together(x, y) for x, y in known)
    if a.brackets != b.brackets:
        return False
    if a.kind in ("list", "set"):
        return all(any(agree(x, y) for y in b.items) for x in a.items) and len(a.items) == len(b.items)
    return all(x is not None and y is not None and agree(x, y) for x, y in zip_longest(a.items, b.items))
