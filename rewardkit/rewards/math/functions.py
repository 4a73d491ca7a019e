"""Named functions in the `math` reward, with the properties needed for comparing answers."""

from __future__ import annotations

from typing import NamedTuple


class MathFunction(NamedTuple):
    """Properties of one mathematical function."""

    sympy: str
    """Name of the function in SymPy."""
    mpmath: str = ""
    """Name of the function in mpmath, or empty if it is computed differently or not at all."""
    breaks_at_one: bool = False
    """True if the function has a pole or the edge of its domain at 1 or -1."""
    is_branch: bool = False
    """True if the function inverts another function only on a part of that function's domain."""
    levels_off: bool = False
    """True if the function is nearly constant far from 0."""
    reads_last_digits: bool = False
    """True if the value may change with the last digits of the argument, which differ between precisions."""
    takes_integers: bool = False
    """True if variables in the arguments are integers."""
    keeps_zero: bool = False
    """True if the function is 0 at 0."""
    of_complex: bool = False
    """True if the function returns a part of a complex number."""
    has_sign: bool = False
    """True if formulas always write the function with a sign such as `!!` instead of a name."""


FUNCTIONS = {
    "sin": MathFunction("sin", "sin", keeps_zero=True),
    "cos": MathFunction("cos", "cos"),
    "tan": MathFunction("tan", "tan", keeps_zero=True),
    "cot": MathFunction("cot", "cot"),
    "sec": MathFunction("sec", "sec"),
    "csc": MathFunction("csc", "csc"),
    "arcsin": MathFunction("asin", "asin", breaks_at_one=True, is_branch=True, keeps_zero=True),
    "arccos": MathFunction("acos", "acos", breaks_at_one=True, is_branch=True),
    "arctan": MathFunction("atan", "atan", is_branch=True, keeps_zero=True),
    "arccot": MathFunction("acot", is_branch=True),
    "arcsec": MathFunction("asec", "asec", breaks_at_one=True, is_branch=True),
    "arccsc": MathFunction("acsc", "acsc", breaks_at_one=True, is_branch=True),
    "sinh": MathFunction("sinh", "sinh", keeps_zero=True),
    "cosh": MathFunction("cosh", "cosh"),
    "tanh": MathFunction("tanh", "tanh", levels_off=True, keeps_zero=True),
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
    "factorial": MathFunction("factorial", takes_integers=True),
    "factorial2": MathFunction("factorial2", takes_integers=True, has_sign=True),
    "binom": MathFunction("binomial", takes_integers=True),
    "max": MathFunction("Max"),
    "min": MathFunction("Min"),
    "gcd": MathFunction("gcd", reads_last_digits=True, takes_integers=True),
    "lcm": MathFunction("lcm", reads_last_digits=True, takes_integers=True),
    "mod": MathFunction("Mod", reads_last_digits=True, takes_integers=True),
    "sgn": MathFunction("sign", reads_last_digits=True),
    "re": MathFunction("re", "re", of_complex=True),
    "im": MathFunction("im", "im", of_complex=True),
    "arg": MathFunction("arg", "arg", is_branch=True, reads_last_digits=True, of_complex=True),
    "erf": MathFunction("erf", "erf", levels_off=True),
    "gamma": MathFunction("gamma", "gamma"),
    "root": MathFunction("real_root", has_sign=True),
}
"""Properties of functions by name in the tree (`Fn.name`).

The module `reading.words` lists the functions' spellings.
"""


def named(fact: str) -> frozenset[str]:
    """Return the names of the functions for which the field `fact` of `MathFunction` is true."""
    return frozenset(name for name, function in FUNCTIONS.items() if getattr(function, fact))
