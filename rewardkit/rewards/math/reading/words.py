"""Vocabulary of the lexer: names of functions, constants and connectives.

The module `units` contains the units.
"""

from __future__ import annotations

from rewardkit.rewards.math import functions
from rewardkit.rewards.math.reading.nouns import table as table

INVERSES = {name: f"arc{name}" for name in functions.FUNCTIONS if f"arc{name}" in functions.FUNCTIONS}
"""Names of inverse functions, by the name of the function."""
_INVERSE_NAMES = {
    **{f"{prefix}{name}": inverse for name, inverse in INVERSES.items() for prefix in ("a", "arc")},
    **{f"ar{name}": inverse for name, inverse in INVERSES.items() if name.endswith("h")},
}
FUNCTIONS = (functions.FUNCTIONS.keys() - functions.named("has_sign") | _INVERSE_NAMES.keys()) | table(
    "lg exp det sign Re Im sqrt cbrt binomial deg dim tr trace rank Var frac cis"
)
FUNCTION_NAMES = {
    **_INVERSE_NAMES, "Re": "re", "Im": "im", "binomial": "binom", "sign": "sgn", "trace": "tr",
}  # fmt: skip
GREEK = table(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi "
    "psi omega Gamma Delta Theta Lambda Xi Sigma Upsilon Phi Psi Omega ell hbar imath jmath partial nabla "
    "aleph Pi"
)
CONSTANTS = {
    "pi": "pi", "infty": "inf", "infinity": "inf", "Infinity": "inf", "inf": "inf", "oo": "inf",
    "emptyset": "empty",
}  # fmt: skip
RELATIONS = {
    "=": "=", "==": "=", ":=": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "=<": "<=", "!=": "!=",
}  # fmt: skip
CONNECTIVES = {
    "and": "and", "or": "or", "或": "or", "或者": "or", "和": "and",
    "且": "and", "与": "and", "及": "and", "以及": "and", "et": "and", "ou": "or", "y": "and", "und": "and",
    "oder": "or",
}  # fmt: skip
r"""Connectives, by spelling. `y`, `et` and `ou` are connectives only inside `\text{}`."""
JOINTS = CONNECTIVES | {"land": "and", "lor": "or"}
"""Connectives between the items of a listing, including the names of logic signs."""
FUNCTION_WORDS = table(
    "if not nor non but are was the any yes no one two six ten has had its may can too few off out did isn"
)
"""Short words that are never a product of variables: `not 0` is not n times o times t times 0."""
LEADS = table(
    "the answer result is are equals so thus therefore hence final exactly simply only just usd rs us "
    "point points value values number numbers interval set pair function vector matrix line equation"
)
"""Words that may precede a value without changing it."""
MODULUS_WORDS = frozenset({"mod", "modulo"})
PERCENT_WORDS = frozenset({"percent", "percents", "pct", "percentage", "per cent"})
DEGREE_WORDS = frozenset({"degrees", "degree", "deg", "度"})


def called_of_x(word: str) -> str:
    """Return the name of the function in a word such as `sinx`, or "" for any other word."""
    return word[:-1] if word[-1:] == "x" and word[:-1] in FUNCTIONS else ""


def is_formula(text: str) -> bool:
    """Return True if plain letters are a formula: functions with arguments, as in `x sin x`, or `ad-bc`."""
    if "-" in text and text != text.upper():
        return all(len(part) <= 3 and part not in FUNCTION_WORDS for part in text.replace("-", " ").split())
    found = text.split()
    named = [word in FUNCTIONS or bool(called_of_x(word)) for word in found]
    return any(named) and all(
        known or len(word) == 1 or word in CONSTANTS or word in GREEK
        for known, word in zip(named, found, strict=True)
    )
