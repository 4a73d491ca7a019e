"""Families of mutations and rewrites: text in, changed texts out. Evaluates nothing.

`EDITS` make texts whose difference must still be shown; `WORDS` and `TRAPS` differ by their meaning;
`RESPONSES` are whole responses that do not give the answer; `READINGS` mean the same in fewer words;
`REWRITES` keep the value, which must still be shown.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from fractions import Fraction

from math_values import UNITS

Family = Callable[[str, random.Random], list[str]]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|-?\d{1,3}(?:,\d{3})+")


def _one(text: str, pattern: str, change: Callable[[re.Match[str]], str], draw: random.Random) -> list[str]:
    """Return the text with one random match changed."""
    found = list(re.finditer(pattern, text))
    if not found:
        return []
    chosen = draw.choice(found)
    return [text[: chosen.start()] + change(chosen) + text[chosen.end() :]]


# Edits.


def digit_changed(text: str, draw: random.Random) -> list[str]:
    return _one(text, r"\d", lambda m: draw.choice([d for d in "0123456789" if d != m[0]]), draw)


def digit_added(text: str, draw: random.Random) -> list[str]:
    return _one(text, r"\d", lambda m: m[0] + draw.choice("0123456789"), draw)


def digit_dropped(text: str, draw: random.Random) -> list[str]:
    return _one(text, r"(?<=\d)\d|\d(?=\d)", lambda m: "", draw)


def digits_swapped(text: str, draw: random.Random) -> list[str]:
    return _one(text, r"\d\d", lambda m: m[0][::-1], draw)


def sign_flipped(text: str, draw: random.Random) -> list[str]:
    inner = _one(text, r"(?<=[\w})])\s*[-+]", lambda m: "+" if "-" in m[0] else "-", draw)
    return [*inner, text[1:] if text.startswith("-") else "-" + text]


def thousands(text: str, draw: random.Random) -> list[str]:
    if not re.fullmatch(r"-?\d+(?:,\d{3})*", text):
        return []
    return [text + ",000", text + "000", text + ",001", text.partition(",")[0], text.rpartition(",")[0]]


def decimal_point_moved(text: str, draw: random.Random) -> list[str]:
    moved = _one(text, r"(\d)\.(\d)", lambda m: f"{m[1]}{m[2]}", draw)
    return moved + _one(text, r"(?<![\d.])\d\d+(?![\d.])", lambda m: f"{m[0][0]}.{m[0][1:]}", draw)


def brackets_swapped(text: str, draw: random.Random) -> list[str]:
    if not text.endswith((")", "]")) or "," not in text:
        return []
    closing = {")": "]", "]": ")"}[text[-1]]
    opening = {"(": "[", "[": "("}.get(text[0], text[0])
    return [text[:-1] + closing, opening + text[1:]]


def brackets_dropped(text: str, draw: random.Random) -> list[str]:
    return _one(text, r"\(([^(),]*)\)", lambda m: m[1], draw)


def exponent_changed(text: str, draw: random.Random) -> list[str]:
    changed = _one(text, r"\^(\d)", lambda m: f"^{(int(m[1]) + draw.randrange(1, 8)) % 10}", draw)
    dropped = _one(text, r"\^(?:\{[^{}\\]*\}|\d)", lambda m: "", draw)
    return [*changed, *dropped, *_one(text, r"[a-z](?![a-z^_{(])", lambda m: f"{m[0]}^3", draw)]


def exponent_regrouped(text: str, draw: random.Random) -> list[str]:
    outer = _one(text, r"([a-z])\^\{([a-z])([a-z])\}", lambda m: f"({m[1]}^{m[2]})+{m[3]}", draw)
    return outer + _one(text, r"([a-z])\^\{([a-z])\+([a-z])\}", lambda m: f"{m[1]}^{m[2]}+{m[3]}", draw)


def operator_changed(text: str, draw: random.Random) -> list[str]:
    other = {"+": "\\cdot ", "-": "\\cdot ", "\\cdot": "+", "/": "+", "\\times": "+"}
    return _one(text, r"(?<=[\w})])(?:[-+/]|\\cdot|\\times)", lambda m: other[m[0]], draw)


def fraction_inverted(text: str, draw: random.Random) -> list[str]:
    flipped = _one(text, r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: f"\\frac{{{m[2]}}}{{{m[1]}}}", draw)
    whole = _one(text, r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: m[1], draw)
    return flipped + whole + _one(text, r"\\frac\s*(\d)\s*(\d)", lambda m: f"\\frac {m[2]}{m[1]}", draw)


def unit_changed(text: str, draw: random.Random) -> list[str]:
    found = re.search(r"(?:text|mathrm)\{[~ ]*(\w+)\}(\^\d)?", text)
    if not found or found[1] not in UNITS:
        return []
    other = draw.choice([unit for unit in UNITS if unit != found[1]])
    power = "" if found[2] else "^2"
    renamed = text[: found.start(1)] + other + text[found.end(1) :]
    return [renamed, text[: found.end(1) + 1] + power, text[: found.end(1) + 1] + "^4"]


_RENAMED = {
    "\\sin": "\\cos", "\\cos": "\\sin", "\\tan": "\\cot", "\\cot": "\\tan", "\\sec": "\\csc",
    "\\ln": "\\log_{10}", "\\log_2": "\\log_3", "\\sqrt": "\\sqrt[3]", "\\pi": "e", "e^": "2^",
    "!": "", "\\binom": "\\frac", "\\infty": "100", "i": "1",
}  # fmt: skip


def function_renamed(text: str, draw: random.Random) -> list[str]:
    commands = r"\\(?:sin|cos|tan|cot|sec|ln|log_2|sqrt|pi|binom|infty)(?![a-zA-Z\[])"
    pattern = commands + r"|(?<![a-z\\])(?:e\^|i(?![a-z]))|!"
    return _one(text, pattern, lambda m: _RENAMED[m[0]], draw)


def function_dropped(text: str, draw: random.Random) -> list[str]:
    return _one(text, r"\\(?:sin|cos|tan|ln|sqrt)(?=[({])", lambda m: "", draw)


def variable_renamed(text: str, draw: random.Random) -> list[str]:
    letters = sorted(set(re.findall(r"(?<![a-zA-Z\\])[a-df-hj-z](?![a-zA-Z])", text)))
    if not letters or "=" in text:
        return []
    if len(letters) > 1:
        swapped = text.replace(letters[0], "\0").replace(letters[1], letters[0]).replace("\0", letters[1])
        return [] if "\\" in text else [swapped]
    return [re.sub(rf"(?<![a-zA-Z\\]){letters[0]}(?![a-zA-Z])", "w", text)]


def _members(text: str) -> tuple[str, list[str], str] | None:
    found = re.fullmatch(
        r"(\\\{|\\left\\\{|\\left\(|[(\[])?(.*,.*?)(\\\}|\\right\\\}|\\right\)|[)\]])?", text
    )
    if not found or "\\!" in text or re.search(r"\d,\d{3}", text) or any(c in found[2] for c in "(){}[]=<>"):
        return None
    return found[1] or "", [part.strip() for part in found[2].split(",")], found[3] or ""


def member_dropped(text: str, draw: random.Random) -> list[str]:
    found = _members(text)
    if found is None:
        return []
    opening, members, closing = found
    members.pop(draw.randrange(len(members)))
    return [opening + ", ".join(members) + closing, draw.choice(members)]


def member_added(text: str, draw: random.Random) -> list[str]:
    found = _members(text)
    extra = str(draw.randrange(61, 999))
    if found is None:
        return [f"{text}, {extra}", f"\\{{{text}, {extra}\\}}"] if _NUMBER.fullmatch(text) else []
    opening, members, closing = found
    return [opening + ", ".join([*members, extra]) + closing]


def members_swapped(text: str, draw: random.Random) -> list[str]:
    found = _members(text)
    if found is None or len(found[1]) < 2:
        return []
    opening, members, closing = found
    return [opening + ", ".join([members[1], members[0], *members[2:]]) + closing]


def cells_swapped(text: str, draw: random.Random) -> list[str]:
    cells = re.findall(r"-?\d+(?=\s*(?:&|\\\\|\\end))", text)
    if "matrix" not in text or len(cells) < 2 or cells[0] == cells[1]:
        return []
    return [re.sub(r"-?\d+", lambda m: cells[1], text, count=1), text.replace(" & ", " \\\\ ")]


def relation_changed(text: str, draw: random.Random) -> list[str]:
    others = {"<": [">", "\\le "], ">": ["<", "\\ge "], "\\le": [">", "< "], "\\ge": ["<", "> "]}
    return _one(text, r"[<>]|\\[lg]e(?![a-z])", lambda m: draw.choice(others[m[0]]), draw)


EDITS: tuple[Family, ...] = (
    digit_changed, digit_added, digit_dropped, digits_swapped, sign_flipped, thousands, decimal_point_moved,
    brackets_swapped, brackets_dropped, exponent_changed, exponent_regrouped, operator_changed,
    fraction_inverted, unit_changed, function_renamed, function_dropped, variable_renamed, member_dropped,
    member_added, members_swapped, cells_swapped, relation_changed,
)  # fmt: skip


# Words that change a number. Only for plain numbers other than 0, 1, 2 and -1.

_AFTER = (
    "squared", "cubed", "and a half", "times two", "times three", "factorial", "million", "thousand",
    "hundred",
    "dozen", "billion", "doubled", "halved", "plus one", "minus one", "or more", "or less", "or fewer",
    "at most", "is wrong", "is incorrect", "is not the answer", "was ruled out", "is too small",
    "to the fourth",
    "and counting", "and a quarter", "over three", "divided by two",
    "plus or minus five", "if x is odd", "does not work", "cannot be right", "raised to the fifth power",
    "is false", "recurring",
    "over seven", "thirds", "hundredths", "point five", "and one third", "multiplied by itself", "modulo 7",
    "times ten", "trillion", "lakh", "choose 2", "and above", "(wrong)", "(incorrect)", "is not right",
    "minus 3",
)  # fmt: skip
_BEFORE = (
    "not", "more than", "less than", "at least", "at most", "almost", "twice", "half of",
    "the square root of",
    "negative", "the opposite of", "one less than", "double", "anything but", "never", "up to", "nearly",
    "other than", "a multiple of", "one third of", "over",
    "one more than", "under", "exceeding", "the cube of", "the reciprocal of", "a factor of", "a third of",
    "triple", "ten times", "greater than", "no more than", "neither", "anything except", "rather than",
    "instead of", "without", "wrong:", "cannot be", "definitely not", "between 5 and", "from 5 to",
)  # fmt: skip


def _changeable(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) and text not in ("0", "1", "2", "-1", "-2")


def words_after(text: str, draw: random.Random) -> list[str]:
    words = draw.choice(_AFTER)
    return [draw.choice((f"{text}\\text{{ {words}}}", f"{text} {words}"))] if _changeable(text) else []


def words_before(text: str, draw: random.Random) -> list[str]:
    words = draw.choice(_BEFORE)
    return [draw.choice((f"\\text{{{words} }}{text}", f"{words} {text}"))] if _changeable(text) else []


def alternatives_added(text: str, draw: random.Random) -> list[str]:
    if not _changeable(text):
        return []
    other = str(draw.randrange(1000, 9999)) + "7"
    joints = ("{a}\\text{ or }{b}", "{b}\\text{ or }{a}", "{a} or {b}", "{a}\\lor {b}", "{a};{b}",
    "{a} / {b} or so",
              "{a}\\text{ and }{b}", "{a}={b}", "{b}={a}", "{a}\\pm {b}", "[{a}, {b}]", "{a}\\to {b}",
              "{a} \\ne {b}",
              "{a}\\text{, not }{b}\\text{ but neither}", "{a}:{b}", "{a}\\ldots {b}")  # fmt: skip
    return [draw.choice(joints).replace("{a}", text).replace("{b}", other)]


def commas_reread(text: str, draw: random.Random) -> list[str]:
    """Return texts with the commas of a list or of thousands read as the other or as a point."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        groups = text.split(",")
        reread = [
            ",".join(reversed(groups)),
            groups[-1] + "," + groups[0].lstrip("0"),
            f"{int(groups[-1])},{groups[0]}",
        ]
        return [r for r in reread if r.replace(",", "") != text.replace(",", "")]
    if re.fullmatch(r"-?\d+,-?\d+", text):
        first, _, second = text.partition(",")
        return [f"{first}.{second}" if "-" not in second else first, first, second]
    return []


WORDS: tuple[Family, ...] = (words_after, words_before, alternatives_added, commas_reread)


# Pairs that need their own ground truth, as (ground truth, wrong answer).


def _cases(first: str, when: str, second: str, otherwise: str) -> str:
    return f"\\begin{{cases}} {first} & {when} \\\\ {second} & {otherwise} \\end{{cases}}"


_NEGATIVE, _POSITIVE = "x<0", "x\\ge 0"
_EVEN, _ODD = "n \\text{ even}", "n \\text{ odd}"
TRAPS: dict[str, tuple[tuple[str, str], ...]] = {
    "branches swapped": (
        (_cases("Ax", _NEGATIVE, "Bx+1", _POSITIVE), _cases("Bx+1", _NEGATIVE, "Ax", _POSITIVE)),
        (_cases("A", _EVEN, "B", _ODD), _cases("B", _EVEN, "A", _ODD)),
        (_cases("Ax", _NEGATIVE, "Bx", _POSITIVE), "Ax"),
    ),
    "choices": (
        ("C", "(C) or (D)"), ("C", "(C) is wrong"), ("\\text{(D)}", "not (D)"), ("\\text{(C)}",
        "\\text{(E)}"),
        ("C", "C and D"), ("D", "anything but D"), ("D", "(D), (E)"), ("(C)", "C \\text{ or } E"),
    ),
    "calls": (
        ("V(0)", "0"), ("P(A)e^{kt}", "P(A)"), ("T(A)", "T(B)"), ("f(A)>B", "f(A)>B1"), ("f(A)+B", "g(A)+B"),
        ("u(x)v(x)", "v(x)"), ("V(A)", "A"), ("h(A)", "h"),
    ),
    "true equations": (("A+B=<sum>", "A+B=<sum>1"), ("\\log_2(32)=5", "1=2"), ("2\\cdot A=<twice>", "A=A")),
    "equations listed": (
        ("x^2+y^2=A, r=B", "x^2+y^2=A1, r=B"), ("x=A, y=B", "x=B, y=A"), ("x=A, y=B", "x=A"),
        ("x+y=A, xy=B", "x+y=A, xy=B1"),
    ),
    "no real roots": (("x^2+A=0", "x^2+B=0"), ("x^2+x+A=0", "x^4+B=0"), ("x^2=-A", "x^2=-B")),
    "factorials": (("\\frac{n!}{(n-k)!}", "\\frac{k!}{(k-n)!}"), ("(n-k)!", "(k-n)!")),
    "temperatures": (("A^\\circ\\text{C}", "A^\\circ\\text{F}"), ("A^\\circ\\text{C}", "A1^\\circ\\text{C}")),
    "spaced units": (
        ("A\\mathrm{~km}", "A\\mathrm{~kg}"), ("A\\ \\mathrm{cm}^2", "A\\ \\mathrm{cm}^3"),
        ("A~\\text{m/s}", "A~\\text{km/s}"), ("A\\mathrm{~cm}^2", "A\\mathrm{~cm}^3"),
    ),
    "bases": (("1011_9", "1011_8"), ("1011_9", "1012_9"), ("9A", "9A_3")),
    "times of day": (("4:30", "4:31"), ("4:30 p.m.", "4:30 a.m."), ("4:30 p.m.", "3:40 p.m.")),
    "dates": (("March 5", "May 5"), ("March 5, 2020", "March 5, 2021"), ("2020-03-05", "2020-05-03")),
    "words": (
        ("\\text{increasing}", "\\text{decreasing}"), ("\\text{yes}", "\\text{no}"), ("\\text{Anna}",
        "\\text{Ann}"),
        ("\\text{odd}", "\\text{not odd}"), ("\\text{Friday}", "\\text{not Friday}"),
    ),
    "prose": (
        ("\\text{the plane }x-Ay=0", "0"), ("It is the line $y=Ax$.", "It is the line $y=Bx$."),
        ("It is the hyperplane of all points with x-2y-Az=0.", "0"),
    ),
    "one member of many": (
        ("B", "\\begin{pmatrix}1&2\\\\3&B\\end{pmatrix}"), ("\\frac32",
        "\\left[\\frac{1}{2}, \\frac{3}{2}\\right]"),
        ("B", "(A, B)"), ("B", "\\{A, B\\}"), ("B", "[A, B]"), ("B", "\\text{A, B}"),
    ),
    "ratios": (("A:B", "B:A"), ("A:B", "A:B1")),
    "plus or minus": (("\\pm A", "A"), ("A\\pm\\sqrt{B}", "A+\\sqrt{B}"), ("A", "\\pm A")),
    "congruences": (("A \\pmod{97}", "B \\pmod{97}"), ("A \\pmod{97}", "A \\pmod{98}"),
        ("9A", "9A \\pmod{7}"), ("9A", "9A \\bmod 7")),
    "approximations": (("\\frac{2}{3}", "0.666"), ("\\pi", "3.15"), ("\\sqrt{2}", "1.415"), ("A", "A.4"),
    ("A", "A.04")),
    "powers of powers": (("a^{bc}", "(a^b)c"), ("\\sqrt{x^2+A}", "x+A"), ("\\sqrt{x^2}", "x")),
}  # fmt: skip
"""Ground truth and wrong answer; `A` and `B` stand for different whole numbers from 3 to 59."""


def trap(draw: random.Random) -> tuple[str, str, str]:
    """Return family, ground truth and wrong answer of a form in which a wrong answer was once accepted."""
    family = draw.choice(sorted(TRAPS))
    a, b = draw.sample(range(3, 60), 2)
    numbers = {"A": str(a), "B": str(b), "<sum>": str(a + b), "<twice>": str(2 * a)}
    truth, wrong = (
        re.sub(
            r"(?<![a-zA-Z\\])[AB](?![a-zA-Z])|<\w+>|(?<=f\()A|(?<=\b)[AB](?=[xyz])",
            lambda m: numbers[m[0]],
            side,
        )
        for side in draw.choice(TRAPS[family])
    )
    return family, truth, wrong


# Whole responses that do not give `{gold}`; `{wrong}` is another value.

RESPONSES: dict[str, tuple[str, ...]] = {
    "denied within": (
        "\\boxed{\\text{not }{gold}}", "<answer>not {gold}</answer>", "#### not {gold}",
        "#### {gold} is wrong", "\\boxed{{gold}\\text{ is wrong}}", "The answer is not {gold}.",
    ),
    "retracted": (
        "\\boxed{{gold}} is wrong. The correct answer is {wrong}.",
        "\\boxed{{gold}}\nOn reflection that was a mistake. \\boxed{{wrong}}",
        "#### {gold}\nOn reflection that was a mistake.\n#### {wrong}",
        "<answer>{gold}</answer> No, wait. <answer>{wrong}</answer>",
        "One might guess \\boxed{{gold}}, but it is \\boxed{{wrong}}.",
        "<think>so \\boxed{{gold}}</think>The answer is \\boxed{{wrong}}.",
        "<think>the answer is \\boxed{{gold}}",
    ),
    "hidden": (
        "\\boxed{{wrong}} <!-- \\boxed{{gold}} -->", "\\boxed{{wrong}}\n```\n\\boxed{{gold}}\n```",
        "\\boxed{{wrong}}\n[//]: # (\\boxed{{gold}})", "\\boxed{{wrong}}<|im_end|>\\boxed{{gold}}",
        "#### {wrong}\n<!-- #### {gold} -->",
        "\\boxed{{wrong}}\n```\n<answer>{gold}</answer>\n```", "#### {wrong}<|im_end|>\n#### {gold}",
        "The answer is {wrong}.<|endoftext|>The answer is {gold}.", "#### {wrong}\n<think>\n#### {gold}",
    ),
    "thought": (
        "<|channel|>analysis<|message|>\\boxed{{gold}}<|end|>", "<thinking>\n#### {gold}",
        "[THINK]\\boxed{{gold}}[/THINK]",
    ),
    "hedged": (
        "\\boxed{{gold}} or \\boxed{{wrong}}", "The answer is {gold} or {wrong}.",
        "\\boxed{{gold}\\text{ or }{wrong}}",
        "\\boxed{{gold}, {wrong}}", "\\boxed{\\{{gold}, {wrong}\\}}",
        "The answer is either {wrong} or {gold}.",
        "<answer>{gold} or {wrong}</answer>", "#### {gold} or {wrong}", "#### {gold}, {wrong}",
        "\\boxed{[{gold}, {wrong}]}",
        "\\boxed{{gold}={wrong}}", "\\boxed{{wrong}={gold}}", "#### {gold} = {wrong}",
    ),
}  # fmt: skip
"""Responses for ground truths that are no lists: a box of two values would be right for a list."""


# Texts that mean the same to a reader, and that people label right: no mutations. Accepted by default, as the
# docs of the reward say; never under `preset=strict`.


def base_dropped(text: str, draw: random.Random) -> list[str]:
    found = re.fullmatch(r"(\d+)_\{?\d+\}?", text)
    return [found[1]] if found else []


def unit_dropped(text: str, draw: random.Random) -> list[str]:
    found = re.fullmatch(r"(.*\d)\\(?:text|mathrm)\{[~ ]*(\w+)\}(?:\^\d)?", text)
    return [found[1]] if found and found[2] in UNITS else []


def percent_dropped(text: str, draw: random.Random) -> list[str]:
    return [text.removesuffix("\\%")] if text.endswith("\\%") else []


def degree_dropped(text: str, draw: random.Random) -> list[str]:
    return [text.removesuffix("^\\circ")] if text.endswith("^\\circ") else []


def rounded(text: str, draw: random.Random) -> list[str]:
    found = re.fullmatch(r"(-?)\\frac\{(\d+)\}\{(\d+)\}", text)
    if not found or int(found[3]) == 0:
        return []
    value = Fraction(int(found[2]), int(found[3]))
    exact = any((value * 10**k).denominator == 1 for k in range(6))
    return [] if exact or value < Fraction(1, 10) else [f"{found[1]}{float(value):.5f}"]


def rounded_short(text: str, draw: random.Random) -> list[str]:
    """Return a decimal of at most three digits: a rounding that the question does not ask for."""
    found = rounded(text, draw)
    value = float(found[0]) if found else 0.0
    short = f"{value:.{draw.choice((1, 2, 3))}g}"
    return [short] if found and "e" not in short and float(short) != value else []


WORDS += (rounded_short,)

READINGS: tuple[Family, ...] = (unit_dropped, base_dropped, percent_dropped, degree_dropped, rounded)


# Rewrites that keep the value.


def spaced(text: str, draw: random.Random) -> list[str]:
    return [f" {text} ", f"${text}$", f"\\displaystyle {text}"]


def fraction_respelled(text: str, draw: random.Random) -> list[str]:
    spelled = [text.replace("\\frac", other) for other in ("\\dfrac", "\\tfrac")] if "\\frac" in text else []
    plain = re.fullmatch(r"(-?)\\frac\{(\d+)\}\{(\d+)\}", text)
    if plain and int(plain[3]):
        doubled = f"{plain[1]}\\frac{{{2 * int(plain[2])}}}{{{2 * int(plain[3])}}}"
        spelled += [
            f"{plain[1]}{plain[2]}/{plain[3]}",
            doubled,
            f"\\frac{{{plain[1]}{plain[2]}}}{{{plain[3]}}}",
        ]
    return spelled


def number_respelled(text: str, draw: random.Random) -> list[str]:
    if not re.fullmatch(r"-?\d+", text):
        return []
    groups = f"{int(text):,}"
    return [f"{text}.0", groups, groups.replace(",", "{,}"), f"{text}.00", f"\\frac{{{2 * int(text)}}}{{2}}"]


def brackets_sized(text: str, draw: random.Random) -> list[str]:
    pattern = r"\(([^()]*)\)"
    return (
        [re.sub(pattern, r"\\left(\1\\right)", text)]
        if re.search(pattern, text) and "\\left" not in text
        else []
    )


def exponent_braced(text: str, draw: random.Random) -> list[str]:
    return [re.sub(r"\^(\w)", r"^{\1}", text)] if re.search(r"\^\w", text) else []


def terms_turned(text: str, draw: random.Random) -> list[str]:
    found = re.fullmatch(r"([\w^{}]+)\+([\w^{}]+)", text)
    factors = re.fullmatch(r"(\([^()]*\))(\([^()]*\))", text)
    turned = [f"{found[2]}+{found[1]}"] if found else []
    return turned + ([f"{factors[2]}{factors[1]}"] if factors else [])


def root_as_power(text: str, draw: random.Random) -> list[str]:
    return _one(text, r"\\sqrt\{([^{}]*)\}", lambda m: f"({m[1]})^{{1/2}}", draw)


def members_turned(text: str, draw: random.Random) -> list[str]:
    found = _members(text)
    if found is None or found[0] not in ("", "\\{"):
        return []
    return [found[0] + ", ".join(reversed(found[1])) + found[2]]


def product_signed(text: str, draw: random.Random) -> list[str]:
    return _one(text, r"(?<=\d)(?=\\sqrt|\\pi)", lambda m: "\\cdot ", draw)


def neutral_added(text: str, draw: random.Random) -> list[str]:
    if text.endswith("e"):
        return []  # 4e+0 would be a number
    return [f"{text}+0", f"1\\cdot({text})"] if re.fullmatch(r"[\w+^{}]+|\\frac\{\d+\}\{\d+\}", text) else []


REWRITES: tuple[Family, ...] = (
    spaced, fraction_respelled, number_respelled, brackets_sized, exponent_braced, terms_turned,
    root_as_power,
    members_turned, product_signed, neutral_added,
)  # fmt: skip
