r"""Measures `rewardkit.math.verify` on ten classes of answers that are generated from a seed.

    python benchmarks/math_classes.py [--seed N] [--pairs 2000] [--held-out] [--examples] [--only CLASS ...]

Half of the pairs of a class are equal and half are different. Both texts of a pair are spelled at random, as
language models and datasets spell them. `--held-out` uses other templates, numbers, letters and spellings: run
it once, at the end, and do not fix faults that it shows.

A template is a text with expressions between @ signs, such as `@x@=@u@`. The names in it are:
x, y, z: letters. a, b, c: distinct integers from 2 to 60. u, v, w: distinct fractions or integers, spelled at random.
p < q < r < s: integers. h, j: distinct residues of the modulus m. `F(a,b)` spells a fraction. ¦ separates templates.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from rewardkit.math import verify

Members = dict[str, Any]


class Draw(random.Random):
    """Random choices, and the set of members and spellings they are made from."""

    held = False

    def of(self, development: Sequence[Any], held_out: Sequence[Any]) -> Any:
        return self.choice(held_out if self.held else development)


class Pair(NamedTuple):
    gold: str
    answer: str
    strict: bool = False


Maker = Callable[[Draw, bool], Pair]


# ruff: noqa: E501
# Templates and choices are longer than the limit of a line.
# fmt: off
def fraction(d: Draw, top: object, below: object) -> str:
    """Return a fraction in a random notation."""
    short = rf"\frac{top}{below}" if len(f"{top}{below}") == 2 else rf"\frac{{{top}}}{{{below}}}"
    plain, big = rf"\frac{{{top}}}{{{below}}}", rf"\dfrac{{{top}}}{{{below}}}"
    return str(d.of([plain, big, short], [plain, rf"\tfrac{{{top}}}{{{below}}}", rf"{{{top} \over {below}}}"]))

def number(d: Draw, value: Fraction | int) -> str:
    """Return an integer or a fraction in a random notation."""
    value = Fraction(value)
    sign, value = "-" * (value < 0), abs(value)
    top, below = value.numerator, value.denominator
    if below == 1:
        return f"{sign}{top}"
    return f"{sign}{top}/{below}" if d.random() < 0.2 else sign + fraction(d, top, below)

def positive(d: Draw, low: int = 2, high: int = 60) -> int:
    return d.choice([n for n in range(low, high + 1) if (n % 5 in (1, 4)) == d.held])

def signed(d: Draw) -> Fraction:
    value = Fraction(positive(d), d.choice([1, 1, positive(d, 2, 9)]))
    return value * d.choice([1, 1, -1])

def distinct(make: Callable[[], Any], count: int) -> list[Any]:
    found: dict[Any, None] = {}
    while len(found) < count:
        found[make()] = None
    return list(found)

def members(d: Draw) -> Members:
    """Return a value for each name that a template can use."""
    letters = d.of(["xyz", "abc", "mnp"], ["uvw", "rst", "XYZ"])
    m = positive(d, 4, 40)
    values: Members = dict(zip("xyz", letters, strict=True))
    values |= zip("abc", distinct(partial(positive, d), 3), strict=True)
    values |= zip("uvw", distinct(partial(signed, d), 3), strict=True)
    values |= zip("pqrs", sorted(distinct(lambda: positive(d) * d.choice([1, -1]), 4)), strict=True)
    values |= zip("hj", d.sample(range(1, m), 2), strict=True)
    return values | {"m": m, "N": partial(number, d), "F": partial(fraction, d)}

def changed(d: Draw, values: Members, change: str) -> Members:
    """Return the members with a new value for one name, or with the values of two names exchanged."""
    if len(change) == 2:
        return values | {change[0]: values[change[1]], change[1]: values[change[0]]}
    taken = [values[name] for name in ("hj" if change in "hj" else "abcuvwmhj")]
    while (new := d.randrange(1, values["m"]) if change in "hj" else members(d)[change]) in taken:
        pass
    return values | {change: new}

def fill(template: str, values: Members) -> str:
    """Return the template with its expressions replaced; a fraction is spelled at random."""

    def spell(found: re.Match[str]) -> str:
        value = eval(found[1], {}, values)
        return str(values["N"](value) if isinstance(value, Fraction) else value)

    return re.sub(r"@([^@]+)@", spell, template)

def dress(d: Draw, text: str) -> str:
    """Return a formula with other spaces, brackets and delimiters, and any other text as it is."""
    bare = re.sub(r"\\(?:text|begin|end|color|textcolor)\{[^}]*\}|\\[A-Za-z]+", "", text)
    if re.search(r"[A-Za-z]{3}|\$|\n", bare):
        return text
    if d.random() < 0.4:
        text = re.sub("(?<![&<>])=", lambda _: d.of([" = ", r"\,=\,", "= "], [r"\;=\;", " =", r"~=~"]), text)
    if d.random() < 0.4:
        text = re.sub(r",\s+(?!\\text)", lambda _: d.of([r",\ ", r",\;", r",\quad "], [r",~", r",\qquad ", r" , "]), text)
    if d.random() < 0.3:
        text = re.sub(r"\\(leq?|geq?)(?![a-z])", lambda found: rf"\{found[1][:2]}{d.of(['', 'q'], ['qslant'])} ", text)
    balanced = text.count("(") + text.count("[") == text.count(")") + text.count("]")
    if balanced and d.random() < 0.3 and not re.search(r"pmod|\\ *[a-z]*[\[(]|\\\\|text|\([a-zA-Z0-9]\)|[（①]|begin", text):
        text = re.sub(r"(?<!\\)[)\]]", r"\\right\g<0>", re.sub(r"(?<!\\)[(\[]", r"\\left\g<0>", text))
    return str(d.choice([text] * 4 + [f"${text}$", d.of([f"$ {text} $"], [rf"\({text}\)"])]))

class Shape:
    """Templates with the same meaning; makes equal pairs, and different ones by other members or wrong templates."""

    def __init__(self, golds: str, right: str = "", *, wrong: str = "", change: str = "", strict: bool = False, members: str = "") -> None:
        """Args:
        golds: Templates of the ground truth, separated by ¦; answers use them too.
        right: Further templates of answers, for each ground truth.
        wrong: Templates of answers that differ with the same members.
        change: Names whose change makes a difference; two letters are exchanged.
        strict: Whether the pair is compared with `preset="strict"`.
        members: Values of further names: `name=expression`, separated by `;`.
        """
        self.golds, self.right, self.wrong = (_lines(text) for text in (golds, right, wrong))
        self.changes, self.strict, self.members = change.split(), strict, members
    def __call__(self, d: Draw, equal: bool) -> Pair:
        values = members(d)
        for name, expression in (item.split("=", 1) for item in self.members.split(";") if item):
            values[name] = d.choice(eval(expression, {"__builtins__": {"range": range}}, values))
        gold = fill(d.choice(self.golds), values)
        answers = self.golds + self.right
        if not equal:
            change = d.choice([*self.changes, *(["wrong"] * min(3, len(self.wrong)))])
            if change == "wrong":
                answers = self.wrong
            else:
                values = changed(d, values, change)
        return Pair(dress(d, gold), dress(d, fill(d.choice(answers), values)), self.strict)

def _lines(text: str) -> list[str]:
    return [line.strip().replace("⏎", "\n") for line in text.split("¦") if line.strip()]

# Macros: `#` is the text that a macro surrounds.
_DIGITS = ([r"\text{#}", r"\mathbf{#}", r"\textbf{#}", r"\boldsymbol{#}"], [r"\textrm{#}", r"\bm{#}", r"\mbox{#}", r"\textit{#}"])
_ANY = ([r"{#}", r"\mathrm{#}", r"{\color{red}#}", r"\textcolor{blue}{#}", r"{\displaystyle #}", r"{\large #}", r"\,#\,", r"\!#", r"\;#\quad", r"{\rm #}", r"\mathit{#}"],
    [r"{ # }", r"\mathsf{#}", r"\color{green}{#}", r"{\textstyle #}", r"{\Large #}", r"~#~", r"\ #\ ", r"\mathnormal{#}", r"\underline{#}", r"\hspace{2pt}#", r"\ensuremath{#}"])
_NODES = {
    "number": ["@A@"],
    "fraction": [r"\frac{@A@}{@B@}", r"\dfrac{@A@}{@B@}", r"\nicefrac{@A@}{@B@}", r"\frac{\displaystyle @A@}{@B@}"],
    "root": [r"\sqrt{@A@}", r"\sqrt{\mathstrut @A@}", r"{@A@}^{\frac12}", r"{@A@}^{1/2}"],
    "power": ["{@A@}^{@B@}", "{{@A@}}^{{@B@}}", r"{@A@}^{\,@B@}"],
    "interval": ["(@A@,@B@]", r"\left(@A@,@B@\right]", r"\bigl(@A@, @B@\bigr]", r"\Big( @A@ , @B@ \Big]"],
    "set": [r"\{@A@,@B@\}", r"\left\{@B@, @A@\right\}", r"\lbrace @A@,\, @B@ \rbrace", r"\big\{@B@,@A@\big\}"],
    "matrix": [r"\begin{pmatrix}@A@&@B@\\1&0\end{pmatrix}", r"\begin{bmatrix} @A@ & @B@ \\[2pt] 1 & 0 \end{bmatrix}", r"\left(\begin{array}{cc}@A@&@B@\\1&0\end{array}\right)", r"\left[\begin{matrix}@A@&@B@\\1&0\end{matrix}\right]"],
    "equation": ["y=@A@x+@B@", "y=@B@+@A@x", r"y\,=\,@A@\,x\,+\,@B@", r"@A@x+@B@=y"],
}

def _wrapped(d: Draw, text: str, digits: bool = False) -> str:
    while d.random() < 0.45:
        sets = [known + more if digits and text.isdigit() else known for known, more in zip(_ANY, _DIGITS, strict=True)]
        text = d.of(*sets).replace("#", text)
    return text

def macros(kinds: str) -> Maker:
    def make(d: Draw, equal: bool) -> Pair:
        kind = d.choice(kinds.split())
        first, second = distinct(partial(positive, d, 2, 30), 2)
        if kind in ("interval", "fraction"):
            first, second = sorted((first, second))
        texts = []
        for _ in range(2):
            leaf = {"A": _wrapped(d, str(first), True), "B": _wrapped(d, str(second), True)}
            texts.append(_wrapped(d, fill(d.choice(_NODES[kind]), leaf)))
            if not equal and (kind in ("number", "root") or (kind != "interval" and d.random() < 0.5)):
                first += 100  # never equal to the second number
            elif not equal:
                second += 100
        return Pair(texts[0], texts[1])
    return make

def _pi(d: Draw, value: Fraction, letter: str = "") -> str:
    top, below = abs(value.numerator), value.denominator
    factor = d.choice([rf"{letter}\pi", rf"\pi {letter}"]) if letter else r"\pi"
    sign, count = "-" * (value < 0), "" if top == 1 else str(top)
    if below == 1:
        return f"{sign}{count}{factor}"
    return sign + d.choice([rf"\frac{{{count}{factor}}}{{{below}}}", rf"\frac{{{top}}}{{{below}}}{factor}"])

def _progression(d: Draw, base: Fraction, period: Fraction, letter: str, unit: str, sign: str = "") -> str:
    if unit == "pi":
        start, step = _pi(d, base), _pi(d, period, letter)
        if not sign and d.random() < 0.2:
            factor = "" if period == 1 else number(d, period)
            return rf"\left({factor}{letter}{'' if base < 0 else '+'}{number(d, base)}\right)\pi"
    elif unit == "degrees":
        start, turn = rf"{base * 180}^\circ", rf"{period * 180}^\circ"
        step = d.of([rf"{turn} {letter}", rf"{letter}\cdot {turn}"], [rf"{letter}\cdot{turn}", rf"{turn}\cdot {letter}"])
    else:
        start, step = f"{base}", f"{period}{letter}"
    if sign:
        return d.choice([rf"\pm {start}+{step}", rf"{step}\pm {start}"])
    return d.choice([f"{start}+{step}", f"{start} + {step}", f"{step}{'' if start[0] == '-' else '+'}{start}"])

_DECLARED = ([r", ?\in\mathbb{Z}", r", ? \in \mathbb Z", r" (?\in\mathbb{Z})", r"\text{ where }?\text{ is an integer}", r"\quad(?\in\mathbf{Z})", r"\ \forall ?\in\mathbb{Z}", r",\; ?=0,\pm1,\pm2,\ldots", r"\text{ for all }?\in\mathbb{Z}"],
    [r",\quad ?\in\mathbf{Z}", r"\ (?\text{ is an integer})", r"\text{ for any integer }?", r"~(? \in \mathbb{Z})"])

def families(units: str, signs: Sequence[str] = ("",)) -> Maker:
    def make(d: Draw, equal: bool) -> Pair:
        unit, sign = d.choice(units.split()), d.choice(signs)
        if unit == "integers":
            period = Fraction(positive(d, 5, 30))
            base = Fraction(d.randrange(1, int(period)))
            other = Fraction((base + d.randrange(1, int(period))) % period) or period
        else:
            base, other = d.sample([Fraction(*x) for x in d.of([[(1, 6), (1, 3), (2, 3), (1, 12)]], [[(1, 4), (1, 5), (2, 5), (3, 4)]])], 2)
            period = Fraction(2 if sign else d.choice([1, 2]))
        letters = [d.of("kn", "ml")] * 2
        declared = [d.of(*_DECLARED), d.of(*_DECLARED)]
        if d.random() < 0.4:
            declared[d.randrange(2)] = ""
        if unit != "integers" and d.random() < 0.2:
            declared = ["", ""]
        elif d.random() < 0.4:
            letters[1] = d.of("tnk", "jlm")
        # Without a declaration on both sides, the two letters must be the same.
        if not all(declared) and letters[0] != letters[1]:
            declared = [d.of(*_DECLARED), d.of(*_DECLARED)]
        other_base, other_period = base, period
        if equal and not sign:
            other_base += d.choice([0, 1, -1, 2]) * period
        elif not equal:
            other_base, other_period = d.choice([(other, period), (base, 2 * period), (base, 3 * period)])
        name = d.of(["x=", "x = ", r"\theta="], ["t=", r"\alpha =", "y = "]) if sign or d.random() < 0.5 else ""
        texts = [name + _progression(d, start, step, letter, unit, sign) for start, step, letter in ((base, period, letters[0]), (other_base, other_period, letters[1]))]
        if sign and unit == "pi" and d.random() < 0.4:  # both signs written out
            start, step, letter = other_base, other_period, letters[1]
            word = d.of([r"\text{ or }", ", "], [r"\text{ and }", r"\quad\text{or}\quad "])
            texts[1] = word.join(name + _progression(d, start * way, step, letter, unit) for way in (1, -1))
        whole = [text + end.replace("?", letter) for text, end, letter in zip(texts, declared, letters, strict=True)]
        return Pair(dress(d, whole[0]), dress(d, whole[1]))
    return make

def _vector(d: Draw, parts: Sequence[Fraction]) -> str:
    cells = [number(d, part) for part in parts]
    way = d.random()
    if way < 0.4:
        return str(d.of([r"\langle #\rangle", "(#)"], [r"\left\langle #\right\rangle", r"\left( # \right)"])).replace("#", ", ".join(cells))
    if way < 0.7:
        kind = d.of(["pmatrix"], ["bmatrix"])
        return str(rf"\begin{{{kind}}}" + d.of([r"\\", r" \\ "], [r"\\[4pt]", r"\\ "]).join(cells) + rf"\end{{{kind}}}")
    unit = d.of([r"\mathbf{#}", r"\hat{#}", r"\mathbf #"], [r"\vec{#}", r"\hat{\mathbf{#}}", r"\boldsymbol{#}"])
    if unit == r"\hat{#}" and d.random() < 0.5:
        unit = r"\hat{\#math}"
    text = ""
    for part, letter in zip(parts, "ijk", strict=False):
        size = abs(part)
        factor = "" if size == 1 else str(size) if size.denominator == 1 else fraction(d, size.numerator, size.denominator)
        end = unit.replace("#", letter).replace(r"\kmath", "k")
        text += ("-" if part < 0 else "+" if text else "") + factor + end
    return text

def vectors(size: int) -> Maker:
    def make(d: Draw, equal: bool) -> Pair:
        parts = distinct(partial(signed, d), size)
        name = d.of([r"\vec{v}=", r"\mathbf{v}="], [r"\vec{w} = ", r"\overrightarrow{AB}="]) if d.random() < 0.2 else ""
        other = list(parts)
        if not equal:
            way = d.randrange(4)
            if way == 0:
                other[0], other[1] = other[1], other[0]
            elif way == 1:
                other[d.randrange(size)] *= -1
            elif way == 2:
                other[d.randrange(size)] += 1
            else:
                return Pair(_vector(d, parts), number(d, d.choice([sum(parts, Fraction(0)), parts[0]])))
        texts = [name + _vector(d, parts), _vector(d, other)]
        d.shuffle(texts)
        return Pair(texts[0], texts[1])
    return make

_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine"}

def _based(d: Draw, digits: str, base: int) -> str:
    zero = "0" * d.choice([0, 0, 0, 1, 2])
    forms = d.of(["({0})_{1}", "({0})_{{{1}}}", "{0}_{1}", "{0}_{{{1}}}", r"{0}_{{\text{{{2}}}}}"],
        [r"\left({0}\right)_{1}", "{{{0}}}_{1}", r"{0}_{{\mathrm{{{2}}}}}", r"\text{{{0}}}_{1}", r"\overline{{{0}}}_{1}"])
    return forms.format(zero + digits, base, _WORDS[base])  # type: ignore[no-any-return]

def bases(d: Draw, equal: bool) -> Pair:
    base, other = d.sample(d.of([[2, 5, 6, 8]], [[3, 4, 7, 9]]), 2)
    digits = str(d.randrange(1, base)) + "".join(str(d.randrange(min(base, other))) for _ in range(d.randint(1, 6)))
    gold, strict = _based(d, digits, base), d.random() < 0.3
    if equal:
        return Pair(gold, _based(d, digits, base), strict)
    last = str((int(digits[-1]) + d.randrange(1, base)) % base)
    way = d.randrange(4)
    if way == 0 and all(int(x) < other for x in digits):
        return Pair(gold, _based(d, digits, other), strict)
    if way == 1:
        return Pair(gold, digits, True)
    if way == 2:
        return Pair(digits, gold)
    return Pair(gold, _based(d, digits[:-1] + last, base), strict)

# A different pair has a changed member or a wrong template.
DEVELOPMENT: dict[str, list[Maker]] = {
    "names": [Shape(r"x_1=@u@, x_2=@v@ ¦ x_{1}=@u@, x_{2}=@v@ ¦ x_2=@v@, x_1=@u@ ¦ x_1=@u@\text{ and }x_2=@v@", wrong="x_1=@u@", change="u v"), Shape(r"\angle ABC=@a@^\circ ¦ \angle ABC = @a@^{\circ}", r"@a@^\circ ¦ @a@", wrong="@a+1@", change="a"),
        Shape("@x@=@u@", "@u@", wrong="@y@=@u@", change="u"),
        Shape(r"(@x@,@y@)=(@u@,@v@) ¦ @x@=@u@, @y@=@v@ ¦ @y@=@v@, @x@=@u@ ¦ @x@=@u@\text{ and }@y@=@v@ ¦ (@y@, @x@) = (@v@, @u@) ¦ \begin{cases}@x@=@u@\\@y@=@v@\end{cases} ¦ @x@=@u@; @y@=@v@ ¦ @x@=@u@,\quad\!@y@=@v@ ¦ \left\{\begin{array}{l}@y@=@v@\\@x@=@u@\end{array}\right.", wrong="@x@=@u@, @z@=@v@ ¦ @x@=@u@", change="u v uv"),
        Shape("(@x@,@y@)=(@u@,@v@) ¦ @x@=@u@, @y@=@v@", "(@u@, @v@) ¦ @u@, @v@", change="u v uv", wrong="(@v@,@u@) ¦ @v@, @u@"),
        Shape("@x@=@u@, @y@=@v@, @z@=@w@ ¦ (@x@,@y@,@z@)=(@u@,@v@,@w@) ¦ @z@=@w@, @x@=@u@, @y@=@v@", wrong="@x@=@u@, @y@=@v@ ¦ (@x@,@z@,@y@)=(@u@,@v@,@w@)", change="u v w uv vw"),
        Shape("f(x)=@a@x+@b@ ¦ f(x)=@b@+@a@x", "y=@a@x+@b@ ¦ @a@x+@b@", change="a b ab", wrong="f(x)=@a@x-@b@"), Shape(r"\text{Area}=@a@ ¦ \text{Area} = @a@ ¦ \mathrm{Area}=@a@", "@a@", wrong="@a+1@ ¦ -@a@", change="a")],
    "parts": [Shape(r"(a): @u@, (b): @v@ ¦ Part (a): @u@; Part (b): @v@ ¦ (a) @u@⏎(b) @v@ ¦ \text{(a)}\ @u@ \quad \text{(b)}\ @v@ ¦ \mathrm{(a)}\ @u@, \mathrm{(b)}\ @v@ ¦ 1) @u@, 2) @v@ ¦ (a) $@u@$; (b) $@v@$ ¦ (a) $@u@$ and (b) $@v@$", wrong="(b): @v@ ¦ 1) @v@, 2) @u@", change="u v uv"),
        Shape(r"(1) @u@; (2) \{@p@,@q@\} ¦ (a) @u@ (b) \{@q@,@p@\} ¦ （2）\{@p@,@q@\}；（1）@u@", change="u", wrong=r"(1) @u@; (2) \{@p@\}"),
        Shape(r"(a) @u@, (b) @v@ ¦ (a) @u@ (b) @v@ ¦ (1) @u@, (2) @v@ ¦ (1) @u@; (2) @v@ ¦ (i) @u@, (ii) @v@ ¦ （1）@u@；（2）@v@ ¦ (b) @v@, (a) @u@ ¦ (2) @v@; (1) @u@ ¦ \text{(a) }@u@,\ \text{(b) }@v@", wrong="(a) @u@ ¦ (a) @v@, (b) @u@ ¦ (1) @v@; (2) @u@", change="u v uv"),
        Shape("(a) @u@, (b) @v@, (c) @w@ ¦ (1) @u@; (2) @v@; (3) @w@ ¦ (c) @w@, (a) @u@, (b) @v@ ¦ (i) @u@ (ii) @v@ (iii) @w@", wrong="(a) @u@, (c) @w@ ¦ (1) @u@; (2) @v@", change="u v w uv vw"),
        Shape("(a) @u@, (b) @v@", "@u@, @v@", wrong="@v@, @u@ ¦ @u@", change="u v"), Shape(r"(1) x>@p@; (2) @u@ ¦ (1) (@p@,\infty); (2) @u@ ¦ （1）$x>@p@$；（2）$@u@$", change="u", wrong="(1) x<@p@; (2) @u@")],
    "macros": [macros("number fraction root power interval set matrix equation")],
    "families": [families("pi degrees integers"), families("pi degrees integers"), families("pi degrees", ["±"])],
    "vectors": [Shape(r"\vec{v}=@a@\mathbf{i}-@b@\mathbf{j} ¦ \vec v=\langle @a@,-@b@\rangle ¦ (@a@,-@b@)^T ¦ \begin{bmatrix}@a@\\-@b@\end{bmatrix} ¦ -@b@\mathbf{j}+@a@\mathbf{i}", wrong=r"@a@-@b@ ¦ \langle @a@,@b@\rangle ¦ -@b@\mathbf{i}+@a@\mathbf{j}", change="a b ab"),
        vectors(2), vectors(3), Shape(r"\mathbf{a}\cdot\mathbf{b} ¦ \vec{a}\cdot\vec{b} ¦ \vec b\cdot\vec a", wrong=r"\mathbf{a}\times\mathbf{b} ¦ \vec{a}\times\vec{b} ¦ \vec a\cdot\vec c"),
        Shape(r"ABA^{-1} ¦ A B A^{-1} ¦ A\cdot B\cdot A^{-1}", wrong=r"B ¦ A^{-1}BA ¦ BA^{-1}A ¦ BA ¦ A^2BA^{-1}"),
        Shape(r"\mathbf{a}\times\mathbf{b} ¦ \vec{a}\times\vec{b} ¦ -\vec b\times\vec a ¦ -(\mathbf{b}\times\mathbf{a})", wrong=r"\mathbf{b}\times\mathbf{a} ¦ \vec a\cdot\vec b ¦ \vec b\times\vec a")],
    "congruences": [Shape(r"x\equiv@h@\pmod{@m@} ¦ x \equiv @h@ \pmod {@m@} ¦ x\equiv @h+m@\pmod{@m@} ¦ x=@m@k+@h@, k\in\mathbb{Z} ¦ x = @h@ + @m@n, n \in \mathbb{Z} ¦ x\equiv@h@\ (\text{mod }@m@) ¦ x\equiv @h-m@ \pmod{@m@} ¦ x \equiv @h@ (\bmod @m@) ¦ x ≡ @h@ (mod @m@) ¦ x\equiv@h@\text{ modulo }@m@ ¦ x \bmod @m@ = @h@", r"@h@ \pmod{@m@}", wrong=r"x\equiv@h@\pmod{@2*m@} ¦ x\equiv@j@\pmod{@m@} ¦ x=@m@k+@j@, k\in\mathbb{Z}", change="h m"),
        Shape(r"@h@\pmod{@m@} ¦ @h+m@ \pmod{@m@} ¦ @h@ (mod @m@) ¦ @h@\ (\mathrm{mod}\ @m@)", wrong=r"@h@ ¦ @j@ (mod @m@) ¦ @h@ \pmod{@2*m@}", change="h"),
        Shape(r"x\equiv@h@,@j@\pmod{@m@} ¦ x\equiv@j@, @h@\pmod{@m@} ¦ x\equiv@h@\pmod{@m@}\text{ or }x\equiv@j@\pmod{@m@} ¦ x\in\{@j@,@h@\}\pmod{@m@} ¦ x\in [@h@]_{@m@}\cup[@j@]_{@m@} ¦ \{@m@k+@h@ : k\in\mathbb{Z}\}\cup\{@m@k+@j@ : k\in\mathbb{Z}\} ¦ \text{all integers congruent to }@h@\text{ or }@j@\text{ modulo }@m@", wrong=r"x\equiv@h@\pmod{@m@} ¦ x\in\{@h@,@j@\} ¦ \{@m@k+@h@ : k\in\mathbb{N}\}\cup\{@m@k+@j@ : k\in\mathbb{N}\}", change="h j m"),
        Shape(r"x\equiv@h@\pmod{@m@} ¦ x\in @h@+@m@\mathbb{Z} ¦ @m@\mathbb Z+@h@ ¦ \equiv @h@\pmod{@m@} ¦ [@h@]_{@m@} ¦ \{x\in\mathbb{Z}\mid x\equiv@h@\pmod{@m@}\} ¦ \text{all integers }x\text{ that leave remainder }@h@\text{ when divided by }@m@", wrong=r"x\in @h@+@2*m@\mathbb{Z} ¦ @h@ ¦ @m@\mathbb{N}+@h@", change="h m"),
        Shape(r"n=2k+1, k\in\mathbb{Z} ¦ n\equiv1\pmod2 ¦ 1+2\mathbb{Z}", r"n\text{ is odd} ¦ \text{all odd integers}", wrong=r"n=2k, k\in\mathbb{Z} ¦ \text{all even integers} ¦ n\text{ is even} ¦ n=2k+1, k\in\mathbb{N}")],
    "sets": [Shape(r"[@p@,@q@) ¦ @p@\le x<@q@ ¦ x\in[@p@,@q@) ¦ x\ge @p@\text{ and }x<@q@ ¦ \{x\mid @p@\le x<@q@\} ¦ @q@>x\ge @p@", wrong=r"(@p@,@q@) ¦ [@p@,@q@] ¦ @p@<x\le @q@ ¦ x\ge @p@\text{ or }x<@q@ ¦ x\ge @p@"),
        Shape(r"\{@u@,@v@,@w@\} ¦ \{@w@, @u@, @v@\} ¦ \left\{@v@,@u@,@w@\right\} ¦ \lbrace @v@, @w@, @u@ \rbrace", wrong=r"\{\{@u@,@v@\},@w@\} ¦ \{@u@,\{@v@,@w@\}\} ¦ \{@u@,@v@\}", change="u v w"),
        Shape(r"\{x\in\mathbb Z : @p@\le x\le @p+3@\} ¦ \{@p@,@p+1@,@p+2@,@p+3@\} ¦ \{x\in\mathbb{Z}\mid @p@\leq x\leq @p+3@\} ¦ \{x \mid x\in\mathbb{Z}, @p@\leq x < @p+4@\} ¦ \{x\in\mathbb Z : @p-1@< x\le @p+3@\} ¦ [@p@,@p+3@]\cap\mathbb{Z}", wrong=r"\{x\in\mathbb Z : @p@<x\le @p+3@\} ¦ \{x\in\mathbb R : @p@\le x\le @p+3@\} ¦ [@p@,@p+3@] ¦ \{@p@,@p+3@\}"),
        Shape(r"(@p@,@q@]\cup[@r@,@s@) ¦ [@r@,@s@)\cup(@p@,@q@] ¦ @p@<x\le @q@\text{ or }@r@\le x<@s@ ¦ x\in(@p@,@q@]\cup[@r@,@s@) ¦ \{x : @p@<x\leq @q@ \text{ or } @r@\le x<@s@\}", wrong=r"[@p@,@q@]\cup[@r@,@s@) ¦ (@p@,@q@)\cup[@r@,@s@) ¦ (@p@,@q@] ¦ (@p@,@s@) ¦ @p@<x\le @q@\text{ or }@r@<x<@s@"),
        Shape(r"\mathbb R\setminus\{@p@\} ¦ (-\infty,@p@)\cup(@p@,\infty) ¦ x\ne @p@ ¦ \{x\in\mathbb{R}: x\neq @p@\} ¦ x<@p@\text{ or }x>@p@ ¦ \mathbb{R}-\{@p@\}", wrong=r"\mathbb R ¦ \mathbb{R}\setminus\{@q@\} ¦ (-\infty,@p@]\cup(@p@,\infty) ¦ \{@p@\} ¦ x=@p@"),
        Shape(r"\emptyset ¦ \varnothing ¦ \{\} ¦ \{ \} ¦ ∅", wrong=r"\{0\} ¦ 0 ¦ \{\emptyset\} ¦ \mathbb{R} ¦ \{@p@\}"), Shape(r"\{\{@a@\},\{@b@,@c@\}\} ¦ \{\{@c@,@b@\},\{@a@\}\}", wrong=r"\{@a@,@b@,@c@\} ¦ \{@a@,\{@b@,@c@\}\}", change="a b ab")],
    "bases": [bases],
    "units": [Shape(r"@a@.50 dollars ¦ \$@a@.50 ¦ US\$@a@.5", "@a@.5 ¦ @a@50 cents", wrong=r"@a@.50 cents ¦ €@a@.50 ¦ \$@a@.05"), Shape(r"@a@\text{ apples} ¦ @a@ apples", "@a@", wrong=r"@a@\text{ oranges} ¦ @a+1@", change="a"),
        Shape(r"@a@\frac{1}{2}\text{ hours} ¦ @a@.5 hours ¦ @60*a+30@ minutes ¦ @a@ hours 30 minutes ¦ @a@ hours and 30 minutes", wrong="@a@ hours ¦ @a*30@ minutes"),
        Shape(r"@a@\text{ cm} ¦ @a@cm ¦ @a@ cm ¦ @a@\,\mathrm{cm} ¦ @a@ \text{ centimeters}", r"@a@ ¦ @10*a@\text{ mm} ¦ @F(a,100)@\text{ m}", wrong=r"@a@\text{ m} ¦ @a@\text{ cm}^2 ¦ @a@ kg", change="a"),
        Shape(r"@a@\text{ cm} ¦ @a@ cm ¦ @a@\ \text{cm}", wrong="@a@ ¦ @a+1@", change="a", strict=True), Shape(r"@a@\% ¦ @a@\text{\%} ¦ @a@% ¦ @a@ percent", "@a@ ¦ 0.@'%02d' % a@", wrong=r"@a+1@\% ¦ 0.00@a@ ¦ @a/10@\%"),
        Shape("0.@'%02d' % a@", r"@a@\% ¦ @a@\text{\%}", wrong=r"@a+1@\% ¦ @a@ ¦ 0.@a@\%"), Shape(r"@a@\% ¦ @a@% ¦ @a@\ \%", wrong=r"@a@ ¦ @a+1@\%", strict=True),
        Shape(r"@k@ hours and @e@ minutes ¦ @k@ hours @e@ minutes ¦ @k@ h @e@ min ¦ @60*k+e@ minutes ¦ @k@\text{ hours }@e@\text{ minutes} ¦ @60*k+e@\text{ min}", wrong="@k+1@ hours and @e@ minutes ¦ @k@ hours ¦ @k+e@ minutes ¦ @60*k+e@ hours ¦ @60*k-e@ minutes", members="k=range(2,9);e=range(5,59)"),
        Shape(r"@k@ feet @e@ inches ¦ @k@ feet and @e@ inches ¦ @k@ ft @e@ in ¦ @12*k+e@ inches ¦ @k@\text{ ft }@e@\text{ in}", wrong="@k@ feet ¦ @k@ feet @e+1@ inches ¦ @k+e@ inches ¦ @12*k+e@ feet", members="k=range(2,9);e=range(2,11)"),
        Shape(r"US\$@a@ ¦ \$@a@ ¦ @a@ dollars ¦ \$@a@.00 ¦ USD @a@", "@a@", wrong=r"€@a@ ¦ @a@ cents ¦ \$@a+1@ ¦ £@a@"),
        Shape(r"@a@\text{ cm}^2 ¦ @a@ cm^2 ¦ @a@ square centimeters ¦ @a@\text{ sq cm} ¦ @a@\,\mathrm{cm}^{2}", "@a@", wrong=r"@a@ cm ¦ @a@\text{ cm}^3 ¦ @a@\text{ m}^2", change="a"),
        Shape(r"@a@\text{ years ago} ¦ @a@ years ago", wrong=r"@a@\text{ years from now} ¦ @a@ years later ¦ @a@\text{ days ago}", change="a")],
    "forms": [Shape(r"f(x)=\begin{cases}@a@x & x<@p@\\ x^2+@b@ & x\ge @p@\end{cases} ¦ f(x)=\begin{cases}x^2+@b@, & x\geq @p@\\ @a@x, & x<@p@\end{cases} ¦ f(x)=\begin{cases}@a@x & \text{if } x<@p@\\ x^2+@b@ & \text{if }x\ge @p@\end{cases} ¦ \begin{cases}@a@x, & x < @p@ \\ @b@+x^2, & \text{otherwise}\end{cases} ¦ f(x)=\left\{\begin{array}{ll}@a@x & x<@p@\\ x^2+@b@ & x\ge @p@\end{array}\right.", wrong=r"f(x)=\begin{cases}x^2+@b@ & x<@p@\\ @a@x & x\ge @p@\end{cases} ¦ \begin{cases}@a@x & x<@q@\\ x^2+@b@ & x\ge @q@\end{cases} ¦ @a@x", change="a b"),
        Shape(r"\Pr(A)=@F(a,61)@ ¦ P(A)=@F(a,61)@ ¦ \Pr(A) = @F(2*a,122)@", "@F(a,61)@", wrong=r"\Pr(A)=@F(61-a,61)@ ¦ @F(61-a,61)@", change="a"),
        Shape(r"@a@x^3-\cos x+C ¦ -\cos x+@a@x^3+C ¦ @a@x^3 - \cos(x) + C ¦ C+@a@x^3-\cos x", r"@a@x^3-\cos x+@b@+C", wrong=r"@a@x^3+\cos x+C ¦ @a@x^2-\cos x+C ¦ @3*a@x^2+\sin x+C", change="a"),
        Shape(r"\frac{(x+@a@)^2}{2}+C ¦ \frac{x^2}{2}+@a@x+C ¦ \frac12x^2+@a@x+C ¦ \frac{x^2+@2*a@x}{2}+C", wrong=r"\frac{x^2}{2}+C ¦ \frac{(x-@a@)^2}{2}+C", change="a"),
        Shape(r"A and C ¦ C and A ¦ A \text{ and } C ¦ \text{A and C}", wrong=r"A or C ¦ A \text{ or } C ¦ A and B ¦ A"), Shape(r"p\land q ¦ q\land p ¦ p \wedge q", wrong=r"p\lor q ¦ p\land\neg q ¦ p\to q")],
}

HELD_OUT: dict[str, list[Maker]] = {
    "names": [Shape(r"a_1=@u@, d=@v@ ¦ d=@v@,\ a_1=@u@ ¦ a_{1}=@u@\text{ and }d=@v@", wrong="a_1=@v@, d=@u@ ¦ d=@v@", change="u v"), Shape(r"|AB|=@a@ ¦ |AB| = @a@ ¦ \left|AB\right|=@a@", "@a@", change="a"),
        Shape(r"@x@=@u@,\quad @y@=@v@ ¦ \left(@x@, @y@\right)=\left(@u@, @v@\right) ¦ \{@y@=@v@, @x@=@u@\} ¦ @y@=@v@ \text{ and } @x@=@u@ ¦ @x@=@u@\text{, }@y@=@v@ ¦ \begin{aligned}@x@&=@u@\\@y@&=@v@\end{aligned} ¦ (@x@, @y@) = (@u@, @v@)", wrong="(@x@,@z@)=(@u@,@v@) ¦ @y@=@v@", change="u v uv"),
        Shape(r"\left(@x@,@y@,@z@\right)=\left(@u@,@v@,@w@\right) ¦ @x@=@u@,\ @y@=@v@,\ @z@=@w@", "(@u@,@v@,@w@) ¦ @u@, @v@, @w@ ¦ @z@=@w@,@y@=@v@,@x@=@u@", change="u v w uv vw uw", wrong="@z@=@w@,@y@=@v@"),
        Shape("g(x)=@a@x^2-@b@x ¦ g(x)=-@b@x+@a@x^2 ¦ g(x)=x(@a@x-@b@)", "@a@x^2-@b@x ¦ y=@a@x^2-@b@x", change="a b ab", wrong="g(x)=@a@x^2+@b@x"), Shape(r"\text{Volume} = @a@ ¦ \text{Volume}=@a@ ¦ \textrm{Volume}=@a@", "@a@", change="a", wrong="@a*a@"),
        Shape(r"\text{Perimeter}=@a@", r"@a@ ¦ \text{perimeter}=@a@", change="a")],
    "parts": [Shape("(i): @u@; (ii): @v@ ¦ Part A: @u@; Part B: @v@ ¦ (A): @u@, (B): @v@ ¦ (II) @v@ (I) @u@", wrong="(A): @v@, (B): @u@ ¦ (ii): @v@", change="u v uv"),
        Shape(r"(A) @u@; (B) @v@ ¦ a) @u@, b) @v@ ¦ (I) @u@; (II) @v@ ¦ ①@u@②@v@ ¦ (a) $@u@$, (b) $@v@$ ¦ (a) @u@ and (b) @v@ ¦ (b) @v@; (a) @u@ ¦ (a)@u@⏎(b)@v@ ¦ \textbf{(a)}\ @u@\quad\textbf{(b)}\ @v@", wrong="(b) @v@ ¦ (B) @u@; (A) @v@ ¦ (II) @u@; (I) @v@", change="u v uv"),
        Shape("(A) @u@; (B) @v@; (C) @w@ ¦ （1）@u@；（3）@w@；（2）@v@ ¦ (i) $@u@$, (ii) $@v@$, (iii) $@w@$", "@u@, @v@, @w@", wrong="(i) @u@, (ii) @v@ ¦ (B) @v@; (C) @w@", change="u v w uv vw"),
        Shape(r"(a) @x@=@u@; (b) @p@<@x@<@q@ ¦ (1) @x@=@u@, (2) (@p@,@q@) ¦ (i) @u@ (ii) @x@\in(@p@,@q@)", change="u", wrong=r"(a) @x@=@u@; (b) @p@<@x@\le @q@")],
    "macros": [macros("number fraction root power interval set matrix equation")],
    "families": [families("pi degrees integers"), families("pi degrees integers"), families("pi degrees", ["±"])],
    "vectors": [Shape(r"@a@\vec{i}+@2*a@\vec{j} ¦ @a@(\vec{i}+2\vec{j}) ¦ @a@\langle 1,2\rangle ¦ (@a@,@2*a@) ¦ \begin{pmatrix}@a@\\@2*a@\end{pmatrix}", wrong=r"@2*a@\vec i+@a@\vec j ¦ @3*a@", change="a"), vectors(2), vectors(3),
        Shape(r"\mathbf{u}\cdot\mathbf{v} ¦ \mathbf v\cdot\mathbf u ¦ \boldsymbol{u}\cdot\boldsymbol{v}", wrong=r"\mathbf u\times\mathbf v ¦ \boldsymbol{u}\times\boldsymbol{v} ¦ \mathbf{u}\cdot\mathbf{w}"),
        Shape(r"\overrightarrow{u}\times\overrightarrow{v} ¦ \vec u\times\vec v ¦ -\left(\vec v\times\vec u\right)", wrong=r"\vec v\times\vec u ¦ \overrightarrow{u}\cdot\overrightarrow{v}")],
    "congruences": [Shape(r"@x@\equiv @h@\mod @m@ ¦ @x@\equiv@h@\bmod{@m@} ¦ @x@ \equiv @h@\;(\operatorname{mod} @m@) ¦ @x@=@h@+@m@t, t\in\mathbb Z ¦ @x@\equiv @h+2*m@\pmod{@m@} ¦ @x@=@m@t-@m-h@\text{ where }t\text{ is an integer} ¦ @x@\equiv@h@\;(\mathrm{mod}\;@m@)", r"@h@\;(\text{mod }@m@)", wrong=r"@x@\equiv@h@\pmod{@3*m@} ¦ @x@\equiv@j@\mod @m@ ¦ @x@=@3*m@t+@h@, t\in\mathbb Z", change="h m"),
        Shape(r"@x@\equiv@h@\text{ or }@j@\pmod{@m@} ¦ @x@\equiv@j@\pmod{@m@}\text{ or }@x@\equiv@h@\pmod{@m@} ¦ @x@=@m@k+@h@\text{ or }@x@=@m@k+@j@, k\in\mathbb{Z}", wrong=r"@x@\equiv@j@\pmod{@m@} ¦ @x@=@m@k+@h@, k\in\mathbb{Z}", change="h j"),
        Shape(r"@h-m@\pmod{@m@} ¦ @h@\;(\text{mod }@m@) ¦ @h@ \mod @m@", wrong=r"@j@\pmod{@m@} ¦ @h@", change="h")],
    "sets": [Shape(r"(@p@,@q@] ¦ @p@<t\leq @q@ ¦ t \in (@p@, @q@] ¦ t>@p@,\ t\le @q@ ¦ \left\{t\in\mathbb{R} : @p@<t\le @q@\right\} ¦ ]@p@,@q@]", wrong=r"(@p@,@q@) ¦ [@p@,@q@] ¦ @p@\le t<@q@ ¦ t\le @q@"),
        Shape(r"\big\{@u@,@v@,@w@\big\} ¦ \left\{ @w@,\, @v@,\, @u@ \right\} ¦ \{@v@, @w@\}\cup\{@u@\}", wrong=r"\{(@u@,@v@),@w@\} ¦ \{\{@u@\},@v@,@w@\} ¦ \{@v@, @w@\}", change="u v w"),
        Shape(r"\{n\in\mathbb{N} \mid n<@k@, n\ge @k-2@\} ¦ \{@k-2@,@k-1@\} ¦ \{n \in \mathbb{Z} : @k-3@<n<@k@\} ¦ \left\{n\in\mathbf{Z}\,\middle|\,@k-2@\leqslant n\leqslant @k-1@\right\}", wrong=r"\{n\in\mathbb{Z} : @k-2@<n<@k@\} ¦ \{@k-2@,@k-1@,@k@\} ¦ (@k-3@,@k@)", members="k=range(6,60)"),
        Shape(r"(-\infty,@p@)\cup[@q@,@r@) ¦ x<@p@ \text{ or } @q@\le x<@r@ ¦ \left(-\infty,@p@\right)\bigcup\left[@q@,@r@\right) ¦ \{x\in\mathbb{R}\mid x<@p@\text{ or }@q@\leq x<@r@\}", wrong=r"(-\infty,@p@]\cup[@q@,@r@) ¦ (-\infty,@p@)\cup[@q@,@r@] ¦ (-\infty,@r@) ¦ x\le @p@\text{ or } @q@\le x<@r@"),
        Shape(r"\mathbb{R}\setminus\{@p@,@q@\} ¦ \mathbb{R} \backslash \{@q@,@p@\} ¦ (-\infty,@p@)\cup(@p@,@q@)\cup(@q@,+\infty) ¦ x\neq @p@, @q@ ¦ \{x\mid x\ne @p@\text{ and }x\ne @q@\}", wrong=r"\mathbb{R}\setminus\{@p@\} ¦ (-\infty,@p@)\cup(@q@,\infty) ¦ \mathbb{R}\setminus(@p@,@q@)"),
        Shape(r"\text{the empty set} ¦ \varnothing ¦ \emptyset ¦ \left\{\right\} ¦ \text{empty set}", wrong=r"\{\varnothing\} ¦ (0,1) ¦ \{1\}")],
    "bases": [bases],
    "units": [Shape(r"@a@\text{ marbles} ¦ @a@ marbles ¦ @a@\ \text{marbles}", "@a@", wrong=r"@a@\text{ books} ¦ @a-1@", change="a"),
        Shape(r"@a@\text{ kg} ¦ @a@kg ¦ @a@\;\mathrm{kg} ¦ @a@ kilograms ¦ @a@\textrm{ kg}", r"@a@ ¦ @1000*a@\text{ grams}", wrong=r"@a@\text{ g} ¦ @a@ km ¦ @a@\text{ lb}", change="a"),
        Shape(r"@a@\text{ km/h} ¦ @a@ kilometers per hour ¦ @a@\,\frac{\text{km}}{\text{h}} ¦ @a@ km/h", "@a@", wrong=r"@a@\text{ m/s} ¦ @a@\text{ km} ¦ @a@ mph", change="a"), Shape(r"@a@ kg ¦ @a@\mathrm{~kg}", wrong="@a@ ¦ @a+1@ kg", strict=True),
        Shape(r"@a@\,\% ¦ @a@\text{ percent} ¦ @F(a,100)@ ¦ @a@\text{ }\%", wrong=r"@a+1@\% ¦ @F(a,1000)@ ¦ 0.@a@\%"),
        Shape(r"@k@ minutes and @e@ seconds ¦ @k@ min @e@ s ¦ @60*k+e@ seconds ¦ @k@\text{ min }@e@\text{ sec}", wrong="@k@ minutes ¦ @k+e@ seconds ¦ @k@ hours and @e@ seconds ¦ @60*k+e+1@ seconds", members="k=range(2,30);e=range(3,59)"),
        Shape(r"@k@ pounds @e@ ounces ¦ @k@ lb @e@ oz ¦ @16*k+e@ ounces ¦ @k@\text{ pounds and }@e@\text{ ounces}", wrong="@k@ pounds ¦ @16*k+e@ pounds ¦ @k+e@ ounces", members="k=range(2,30);e=range(3,15)"),
        Shape(r"£@a@ ¦ \pounds@a@ ¦ £ @a@ ¦ £@a@.00", "@a@", wrong=r"\$@a@ ¦ €@a@ ¦ £@a+1@"), Shape(r"@a@\text{ m}^3 ¦ @a@ m^3 ¦ @a@ cubic meters ¦ @a@\,\mathrm{m^3}", "@a@", wrong=r"@a@\text{ m}^2 ¦ @a@ m ¦ @a@\text{ cm}^3", change="a"),
        Shape(r"@a@\text{ days later} ¦ @a@ days later ¦ @a@\text{ days from now}", wrong=r"@a@\text{ days ago} ¦ @a@ days earlier ¦ @a@ hours later", change="a")],
    "forms": [Shape(r"g(t)=\begin{cases}@a@ & t\le @p@\\ @a@+t^2 & t>@p@\end{cases} ¦ g(t)=\begin{cases}t^2+@a@, & t>@p@,\\ @a@, & t\le @p@.\end{cases} ¦ \begin{cases}@a@ & \text{for } t\leq @p@\\ t^2+@a@ & \text{for } t>@p@\end{cases} ¦ g(t)=\begin{cases}@a@ & \text{if $t\le @p@$}\\ t^2+@a@ & \text{if $t>@p@$}\end{cases}", wrong=r"g(t)=\begin{cases}@a@ & t>@p@\\ @a@+t^2 & t\le @p@\end{cases} ¦ g(t)=\begin{cases}@a@ & t\le @q@\\ @a@+t^2 & t>@q@\end{cases}", change="a"),
        Shape(r"\mathbb{P}(X>1)=@F(a,67)@ ¦ \operatorname{Pr}(X>1)=@F(a,67)@ ¦ P(X > 1) = @F(a,67)@", "@F(a,67)@ ¦ @F(3*a,201)@", wrong="P(X>1)=@F(67-a,67)@ ¦ @F(67-a,67)@", change="a"),
        Shape(r"@a@\ln|x|+e^x+C ¦ e^{x}+@a@\ln|x|+C ¦ @a@\ln\left|x\right|+e^x+C ¦ @a@\log|x|+e^x+C", r"@a@\ln|@b@x|+e^x+C", wrong=r"@a@\ln|x|-e^x+C ¦ \frac{@a@}{x}+e^x+C", change="a"),
        Shape(r"\sin^2 x+@a@x+C ¦ @a@x-\cos^2x+C ¦ @a@x-\frac{\cos 2x}{2}+C", wrong=r"\sin^2 x-@a@x+C ¦ \cos^2x+@a@x+C", change="a"), Shape(r"B and D ¦ D and B ¦ \text{B and D} ¦ B \text{ and } D", wrong=r"B or D ¦ B ¦ C and D ¦ \text{D or B}"),
        Shape(r"p\lor\neg q ¦ \lnot q\vee p ¦ p \vee \neg q", wrong=r"p\land\neg q ¦ p\lor q ¦ \neg p\lor q")],
}
# fmt: on


def main() -> None:
    options = argparse.ArgumentParser(description="Measure the comparison of maths answers by class.")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--pairs", type=int, default=2000, help="pairs of each class")
    options.add_argument(
        "--held-out", action="store_true", help="use the templates and members that are kept for the end"
    )
    options.add_argument(
        "--examples", type=int, nargs="?", const=5, default=0, help="examples of each fault (5)"
    )
    options.add_argument(
        "--only", nargs="+", choices=list(DEVELOPMENT), default=list(DEVELOPMENT), help="classes"
    )
    args = options.parse_args()
    print(
        f"{'class':12} {'pairs':>6} {'paid though different':>22} {'denied though equal':>20} {'ms a pair':>10}"
    )
    shown: list[str] = []
    for name in args.only:
        draw = Draw(f"{args.seed} {name}")
        draw.held = args.held_out
        makers = (HELD_OUT if args.held_out else DEVELOPMENT)[name]
        faults: dict[bool, list[Pair]] = {True: [], False: []}
        seconds = 0.0
        for index in range(args.pairs):
            equal = index % 2 == 0
            pair = draw.choice(makers)(draw, equal)
            answer = rf"\boxed{{{pair.answer}}}" if pair.strict else pair.answer
            start = time.perf_counter()
            if verify(pair.gold, answer, preset="strict" if pair.strict else "default") is not equal:
                faults[equal].append(pair)
            seconds += time.perf_counter() - start
        paid, denied = (f"{200 * len(faults[equal]) / args.pairs:.1f} %" for equal in (False, True))
        row = f"{name:12} {args.pairs:6} {paid:>22} {denied:>20} {1000 * seconds / args.pairs:10.1f}"
        print(row, flush=True)
        for equal, fault in ((False, "paid though different"), (True, "denied though equal")):
            found = [f"{pair.gold}  <-  {pair.answer}{'  (strict)' * pair.strict}" for pair in faults[equal]]
            shown += [f"{name}: {fault}: {text!r}" for text in found[: args.examples]]
    print("\n".join(shown))


if __name__ == "__main__":
    main()
