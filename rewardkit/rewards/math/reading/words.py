"""The vocabulary: which letters are functions, constants, units, connectives. Tables only."""

from __future__ import annotations

from rewardkit.rewards.math.reading.nouns import table as table

FUNCTIONS = table(
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh coth sech csch "
    "arcsinh arccosh arctanh asin acos atan asinh acosh atanh ln log lg exp det gcd lcm max min sgn sign "
    "arg Re Im re im floor ceil abs sqrt cbrt factorial binomial binom deg dim tr trace rank Var erf gamma "
    "frac mod cis"
)
FUNCTION_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "Re": "re", "Im": "im", "binomial": "binom", "sign": "sgn", "trace": "tr",
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
    "\\le": "<=", "\\ge": ">=", "\\ne": "!=", "\\lt": "<", "\\gt": ">", "\\approx": "~", "\\simeq": "~",
    "\\doteq": "~", "\\sim": "~", "\\in": "in", "\\notin": "notin", "\\equiv": "mod", "\\cong": "~",
    "\\subset": "sub", "\\subseteq": "subeq", "\\supset": "sup", "\\supseteq": "supeq",
    "\\parallel": "par", "\\perp": "perp", "\\to": "to", "\\iff": "iff", "\\Leftrightarrow": "iff",
    "\\leftrightarrow": "iff", "\\mapsto": "to", "\\propto": "prop",
    "\\ll": "<", "\\gg": ">", "\\coloneqq": "=",
}  # fmt: skip
SET_OPS = {"\\cup": "cup", "\\cap": "cap", "\\setminus": "minus", "\\backslash": "minus"}
BIG_OPS = {"\\sum": "sum", "\\prod": "prod", "\\int": "int", "\\lim": "lim", "\\iint": "int"}
CONNECTIVES = {
    "and": "and", "or": "or", "\\land": "and", "\\lor": "or", "或": "or", "或者": "or", "和": "and",
    "且": "and", "与": "and", "及": "and", "以及": "and", "et": "and", "ou": "or", "y": "and", "und": "and",
    "oder": "or",
}  # fmt: skip
"""Connectives. Single letters of other languages count only inside `\\text{}`."""
JOINTS = CONNECTIVES | {"land": "and", "lor": "or"}
"""What joins the items of a listing; signs of logic stand there by their names."""
FUNCTION_WORDS = table(
    "not nor non but are was the any yes no one two six ten has had its may can too few off out did isn"
)
"""Short words that are never a product of variables: `not 0` is not n times o times t times 0."""
PERCENT_WORDS = frozenset({"percent", "percents", "pct", "percentage", "per cent"})
DEGREE_WORDS = frozenset({"degrees", "degree", "deg", "度"})

# Units: name -> (dimension, factor to the dimension's base unit).
_UNIT_TABLE = {
    "length": "mm .001 millimeter;cm .01 centimeter 厘米;dm .1 decimeter 分米;m 1 meter metre 米;"
    "km 1000 kilometer kilometre 千米 公里;in .0254 inch inches;ft .3048 foot feet;yd .9144 yard;"
    "mi 1609.344 mile",
    "time": "s 1 sec second 秒;min 60 minute 分钟;h 3600 hr hour 小时;day 86400 天;week 604800 周;"
    "ms .001 millisecond",
    "mass": "mg .000001 milligram;g .001 gram gm 克;kg 1 kilogram kgs 千克 公斤;t 1000 ton tonne 吨;"
    "lb .45359237 lbs pound;oz .028349523125 ounce",
    "volume": "ml .001 milliliter mL 毫升;l 1 liter litre L 升;"
    "gal 3.785411784 gallon;qt .946352946 quart;pint .473176473",
    "year": "year 12 yr 年;month 1 个月",
    "money$": "$ 1 dollar usd 美元 buck;cent .01 ¢",
    "money¥": "¥ 1 yuan rmb 元 cny",
    "money€": "€ 1 euro eur",
    "money£": "£ 1 gbp",
    "°C": "°C 1 celsius;",
    "°F": "°F 1 fahrenheit;",
    "K": "K 1 kelvin;",
    "angle": "rad 1 radian",
}
_PLAIN_NOUNS = table(
    "unit units way ways time times people person student students point points item items piece pieces "
    "个 种 人 次 只 条 本 件 名 张 页 块 颗 位 棵 头 辆 支 瓶 组 项 步 岁 th st nd rd sq square"
)


def _build_units() -> dict[str, tuple[str, float]]:
    units: dict[str, tuple[str, float]] = {}
    for dimension, rows in _UNIT_TABLE.items():
        for row in filter(None, rows.split(";")):
            first, factor, *names = row.split()
            for name in (first, *names):
                units[name] = (dimension, float(factor))
                if len(name) > 2 and name.isascii() and name.isalpha():
                    units[name + "s"] = (dimension, float(factor))
    return units


UNITS = _build_units()
ORDINALS = frozenset({"th", "st", "nd", "rd"})
PLAIN_NOUNS = _PLAIN_NOUNS
