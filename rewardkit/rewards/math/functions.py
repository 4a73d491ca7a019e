"""Named functions of the maths reward, with the properties needed for comparing."""

from __future__ import annotations

from typing import NamedTuple


class MathFunction(NamedTuple):
    """Properties of one function."""

    sympy: str
    """Name in SymPy."""
    mpmath: str = ""
    """Name in mpmath; empty: it is computed differently, or not at all."""
    breaks_at_one: bool = False
    """True if it has an edge or a pole where its argument is 1 or -1."""
    is_branch: bool = False
    """True if it inverts another function only in a part of that function's range."""
    levels_off: bool = False
    """True if it is nearly constant far from 0."""
    reads_last_digits: bool = False
    """True if its value depends on the last digits of its argument, which differ between precisions."""


FUNCTIONS = {
    "sin": MathFunction("sin", "sin"),
    "cos": MathFunction("cos", "cos"),
    "tan": MathFunction("tan", "tan"),
    "cot": MathFunction("cot", "cot"),
    "sec": MathFunction("sec", "sec"),
    "csc": MathFunction("csc", "csc"),
    "arcsin": MathFunction("asin", "asin", breaks_at_one=True, is_branch=True),
    "arccos": MathFunction("acos", "acos", breaks_at_one=True, is_branch=True),
    "arctan": MathFunction("atan", "atan", is_branch=True),
    "arccot": MathFunction("acot", is_branch=True),
    "arcsec": MathFunction("asec", "asec", breaks_at_one=True, is_branch=True),
    "arccsc": MathFunction("acsc", "acsc", breaks_at_one=True, is_branch=True),
    "sinh": MathFunction("sinh", "sinh"),
    "cosh": MathFunction("cosh", "cosh"),
    "tanh": MathFunction("tanh", "tanh", levels_off=True),
    "coth": MathFunction("coth", "coth", levels_off=True),
    "sech": MathFunction("sech", "sech"),
    "csch": MathFunction("csch", "csch"),
    "arcsinh": MathFunction("asinh", "asinh"),
    "arccosh": MathFunction("acosh", "acosh", breaks_at_one=True),
    "arctanh": MathFunction("atanh", "atanh", breaks_at_one=True),
    "arccoth": MathFunction("acoth", breaks_at_one=True),
    "arcsech": MathFunction("asech", breaks_at_one=True),
    "arccsch": MathFunction("acsch"),
    "ln": MathFunction("log"),
    "log": MathFunction("log"),
    "abs": MathFunction("Abs"),
    "floor": MathFunction("floor", reads_last_digits=True),
    "ceil": MathFunction("ceiling", reads_last_digits=True),
    "factorial": MathFunction("factorial"),
    "factorial2": MathFunction("factorial2"),
    "binom": MathFunction("binomial"),
    "max": MathFunction("Max"),
    "min": MathFunction("Min"),
    "gcd": MathFunction("gcd", reads_last_digits=True),
    "lcm": MathFunction("lcm", reads_last_digits=True),
    "mod": MathFunction("Mod", reads_last_digits=True),
    "sgn": MathFunction("sign", reads_last_digits=True),
    "re": MathFunction("re", "re"),
    "im": MathFunction("im", "im"),
    "arg": MathFunction("arg", "arg", is_branch=True, reads_last_digits=True),
    "erf": MathFunction("erf", "erf", levels_off=True),
    "gamma": MathFunction("gamma", "gamma"),
    "root": MathFunction("real_root"),
}
"""Functions by their name in the tree (`Fn.name`). `reading.words` has the spellings."""


def named(fact: str) -> frozenset[str]:
    """Return the names of the functions for which a field of `MathFunction` is true."""
    return frozenset(name for name, function in FUNCTIONS.items() if getattr(function, fact))
