r"""Pairs of option texts in several notations: are equal ones equal, and different ones different?

    python benchmarks/option_notations.py [--held-out] [--seed 1] [--show 20]

Each class below has members, and each member is one value in all the notations that people use for it, such
as `x²`, `x^2` and `$x^{2}$`. Two notations of one member are an equal pair, and notations of two members of
one class are a different pair. A question has four members as options, and a response that names one of them,
or another member, in another notation. No two members differ only by the case of their first letter, which
the comparison ignores.

`--held-out` uses other members of the same classes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rewardkit.rewards.answers.same_value import same_value
from rewardkit.rewards.choice import ChoiceOptions, score
from rewardkit.types import Sample

Member = tuple[str, ...]
"""Notations of one value, all of them different texts."""
_RAISED = str.maketrans("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_DIFFERENT = 600
"""Maximum number of different pairs of each class."""
_QUESTIONS = 300
"""Number of questions of each class."""


def _of(*notations: str) -> Member:
    return tuple(dict.fromkeys(notations))


def _maths(plain: str, latex: str, *more: str) -> Member:
    """Return a formula as Unicode, as bare LaTeX, in dollars, in brackets, and in other notations."""
    return _of(plain, latex, f"${latex}$", f"\\({latex}\\)", *more)


# Classes. Each function returns the members of the part for mending, or with `held` of the held-out part.


def powers(held: bool) -> list[Member]:
    bases = ("z", "p", "(u-v)", "10") if held else ("x", "y", "(a+b)", "2")
    found = []
    for base, power in product(bases, ("2", "3", "10", "-2", "n", "12")):
        raised = f"{base}{power.translate(_RAISED)}"
        found.append(_maths(raised, f"{base}^{{{power}}}", *([f"{base}^{power}"] if len(power) == 1 else [])))
    found += [_maths(f"{digit}{bases[0]}", f"{digit} {bases[0]}") for digit in "23"]
    return found


def subscripts(held: bool) -> list[Member]:
    found = []
    for letter, number in product("tVk" if held else "xvC", ("0", "1", "2", "12", "21")):
        lowered = f"{letter}{number.translate(_LOWERED)}"
        found.append(_maths(lowered, f"{letter}_{{{number}}}", *([f"{letter}_{number}"][: len(number) == 1])))
    return [
        *found,
        *(_maths(f"{n}{letter}", f"{n} {letter}") for n, letter in product("12", "tV" if held else "xv")),
    ]


def formulas(held: bool) -> list[Member]:
    names = (
        "N2O N2O4 NO2 PCl5 H3PO4 Mg(OH)2 C2H5OH C6H6 Fe2O3 FeO SO2 SO3 KMnO4 NaHCO3"
        if held
        else "H2O H2O2 CO2 CO H2SO4 H2SO3 CaCl2 C6H12O6 Ca(OH)2 CH4 C2H4 CH3COOH NH3 Al2O3"
    )
    return [_formula(name) for name in names.split()]


def _formula(plain: str) -> Member:
    lowered = _digits(plain, lambda digits: digits.translate(_LOWERED))
    braced = _digits(plain, lambda digits: f"_{{{digits}}}")
    short = _digits(plain, lambda digits: f"_{digits}" if len(digits) == 1 else f"_{{{digits}}}")
    return _of(
        lowered, plain, braced, short, f"\\mathrm{{{short}}}", f"$\\text{{{plain}}}$", f"$\\ce{{{plain}}}$"
    )


def _digits(text: str, change: Callable[[str], str]) -> str:
    made = digits = ""
    for character in f"{text} ":
        if character.isdigit():
            digits += character
            continue
        made += (change(digits) if digits else "") + character
        digits = ""
    return made[:-1]


def ions(held: bool) -> list[Member]:
    names = (
        (
            ("K", ""),
            ("K", "+"),
            ("Zn", "2+"),
            ("Cu", "+"),
            ("Cu", "2+"),
            ("CO3", "2-"),
            ("PO4", "3-"),
            ("OH", "-"),
            ("S", "2-"),
        )
        if held
        else (
            ("Na", "+"),
            ("Na", ""),
            ("Ca", "2+"),
            ("Fe", "2+"),
            ("Fe", "3+"),
            ("SO4", "2-"),
            ("NH4", "+"),
            ("Cl", "-"),
            ("O", "2-"),
        )
    )
    return [_ion(name, charge) for name, charge in names]


def _ion(name: str, charge: str) -> Member:
    lowered = _digits(name, lambda digits: digits.translate(_LOWERED))
    braced = _digits(name, lambda digits: f"_{digits}")
    if not charge:
        return _of(lowered, f"\\mathrm{{{braced}}}", f"$\\text{{{name}}}$")
    plain = [f"{name}{charge}"] if len(charge) == 1 or name.isalpha() else []
    return _of(
        f"{lowered}{charge.translate(_RAISED)}",
        f"{braced}^{{{charge}}}",
        f"$\\mathrm{{{braced}^{{{charge}}}}}$",
        f"{name}^{charge}",
        *plain,
    )


def fractions(held: bool) -> list[Member]:
    signs = "⅓⅖⅞⅙" if held else "½¼¾⅔"
    parts = {
        "½": (1, 2),
        "¼": (1, 4),
        "¾": (3, 4),
        "⅔": (2, 3),
        "⅓": (1, 3),
        "⅖": (2, 5),
        "⅞": (7, 8),
        "⅙": (1, 6),
    }
    found = []
    for sign, whole in product(signs, ("", "1", "7")):
        top, bottom = parts[sign]
        first = f"{whole} {top}/{bottom}".strip()
        found.append(
            _of(
                f"{whole}{sign}",
                first,
                *(
                    f"${whole}{form}$"
                    for form in (f"\\frac{{{top}}}{{{bottom}}}", f"\\tfrac{{{top}}}{{{bottom}}}")
                ),
                f"\\({whole}\\frac{{{top}}}{{{bottom}}}\\)",
                *([f"{top}⁄{bottom}"][: not whole]),
            )
        )
    found += [
        _of(f"{whole}{top}/{bottom}") for whole, (top, bottom) in product("17", (parts[s] for s in signs[:2]))
    ]
    return found


def units(held: bool) -> list[Member]:
    names = (
        (("N/m", 2), ("kg/m", 3), ("km", 2), ("ft", 3), ("J/s", 1), ("W/m", 2), ("cm/s", 2))
        if held
        else (("m/s", 2), ("m/s", 1), ("cm", 2), ("m", 3), ("m", 2), ("kg/m", 2), ("g/cm", 3))
    )
    found = []
    for number, (unit, power) in product(("7", "4.5", "40") if held else ("5", "9.8", "25"), names):
        raised = f"{unit}{str(power).translate(_RAISED)}" if power > 1 else unit
        caret = f"{unit}^{power}" if power > 1 else unit
        braced = f"{unit}^{{{power}}}" if power > 1 else unit
        found.append(
            _of(
                f"{number} {raised}",
                f"{number} {caret}",
                f"{number} {braced}",
                f"{number}{raised}",
                f"${number}\\ \\mathrm{{{braced}}}$",
                f"${number} \\text{{ {unit}}}{'^' + str(power) if power > 1 else ''}$",
                f"\\({number}\\,\\text{{{raised}}}\\)",
                f"\\text{{{number} {raised}}}",
            )
        )
    return found


def more_units(held: bool) -> list[Member]:
    if held:
        return [
            _of("12 °C", "12°C", "$12^\\circ\\text{C}$", "$12\\,^{\\circ}\\mathrm{C}$", "12 degrees Celsius"),
            _of("12 °F", "12°F", "$12^\\circ\\text{F}$", "12 degrees Fahrenheit"),
            _of("45°", "45^\\circ", "$45^{\\circ}$", "45 degrees"),
            _of("3 μs", "3 µs", "$3\\ \\mu\\text{s}$", "3 \\mu s"),
            _of("3 ms", "3ms", "$3\\ \\text{ms}$"),
            _of("8 Ω", "8\\ \\Omega", "$8\\,\\Omega$", "8 ohms"),
            _of("8 kΩ", "$8\\ \\text{k}\\Omega$", "8 kΩ"),
            _of("40%", "40\\%", "$40\\%$", "40 percent", "40 %"),
            _of("6 N·m", "6 N m", "$6\\ \\text{N}\\cdot\\text{m}$", "6 N⋅m"),
            _of("2 L/min", "$2\\ \\text{L/min}$", "2L/min"),
        ]
    return [
        _of(
            "25 °C",
            "25°C",
            "$25^\\circ\\text{C}$",
            "$25\\,^{\\circ}\\mathrm{C}$",
            "25 degrees Celsius",
            "25℃",
        ),
        _of("25 °F", "25°F", "$25^\\circ\\text{F}$", "25 degrees Fahrenheit"),
        _of("30°", "30^\\circ", "$30^{\\circ}$", "30 degrees"),
        _of("5 μm", "5 µm", "$5\\ \\mu\\text{m}$", "5 \\mu m"),
        _of("5 mm", "5mm", "$5\\ \\text{mm}$"),
        _of("10 Ω", "10\\ \\Omega", "$10\\,\\Omega$", "10 ohms", "10 Ω"),
        _of("10 kΩ", "$10\\ \\text{k}\\Omega$"),
        _of("25%", "25\\%", "$25\\%$", "25 percent", "25 %", "25％"),
        _of("3 J/(kg·K)", "$3\\ \\text{J/(kg·K)}$", "3 J/(kg⋅K)", "3 J/(kg K)"),
        _of("2 mol/L", "$2\\ \\text{mol/L}$", "2mol/L"),
    ]


def scientific(held: bool) -> list[Member]:
    found = []
    mantissas, powers = (
        (("1.6", "4", "7.5"), ("-19", "6", "12")) if held else (("3", "6.02", "1.2"), ("8", "-3", "23"))
    )
    for mantissa, power, unit in product(mantissas, powers, ("", " m/s")):
        raised = power.translate(_RAISED)
        latex = f"{mantissa} \\times 10^{{{power}}}"
        text = f" \\text{{{unit.strip()}}}" if unit else ""
        found.append(
            _of(
                f"{mantissa} × 10{raised}{unit}",
                f"{mantissa}×10{raised}{unit}",
                f"{mantissa} x 10^{power}{unit}",
                f"{latex}{unit}",
                f"${latex}{text}$",
                f"\\({latex}\\){unit}",
                f"{mantissa} * 10^{power}{unit}",
                f"{mantissa}e{power}{unit}",
                f"{mantissa}·10{raised}{unit}",
            )
        )
    return found


def currencies(held: bool) -> list[Member]:
    found = []
    for number in ("12", "7.50", "2,400") if held else ("5", "5.25", "1,000"):
        found += [
            _of(
                f"${number}",
                f"\\${number}",
                f"$\\${number}$",
                f"{number} dollars",
                f"{number} USD",
                f"US${number}",
            ),
            _of(f"€{number}", f"{number} €", f"{number}€", f"{number} euros", f"{number} EUR"),
            _of(f"£{number}", f"{number} pounds", f"£ {number}", f"{number} GBP"),
            _of(f"₹{number}", f"{number} rupees", f"{number} INR"),
            _of(f"¥{number}", f"{number} yen", f"￥{number}"),
        ]
    return found


def equations(held: bool) -> list[Member]:
    names, values = ("zbk" if held else "yxm"), (("7", "-2", "1/3") if held else ("5", "-3", "1/2"))
    found = []
    for name, value in product(names, values):
        latex = value if "/" not in value else f"\\frac{{{value[0]}}}{{{value[2]}}}"
        plain = value.replace("1/2", "½").replace("1/3", "⅓")
        found.append(
            _of(*_maths(f"{name} = {plain}", f"{name} = {latex}"), f"{name}={value}", f"{name}={plain}")
        )
    lines = ("t² - 1", "2t + 3", "t² + 1") if held else ("x² + 1", "3x - 2", "x² - 1")
    letter = "h" if held else "f"
    variable = lines[0][0]
    for line in lines:
        latex = line.replace("²", "^2")
        found.append(_maths(f"{letter}({variable}) = {line}", f"{letter}({variable}) = {latex}"))
    return found


def relations(held: bool) -> list[Member]:
    letter, numbers = ("t", ("4", "-6")) if held else ("x", ("2", "-3"))
    signs = (
        ("≥", "\\ge", "\\geq", ">="),
        ("≤", "\\le", "\\leq", "<="),
        (">", "\\gt"),
        ("<", "\\lt"),
        ("≠", "\\ne", "\\neq", "!="),
        ("≈", "\\approx"),
    )
    found = []
    for sign, number in product(signs, numbers):
        found.append(
            _of(
                *(f"{letter} {one} {number}" for one in sign),
                f"{letter}{sign[0]}{number}",
                f"${letter} {sign[1]} {number}$",
            )
        )
    return found


def sets(held: bool) -> list[Member]:
    one, two = ("P", "Q") if held else ("X", "Y")
    signs = (
        ("∪", "\\cup"),
        ("∩", "\\cap"),
        ("⊂", "\\subset"),
        ("⊆", "\\subseteq"),
        ("∈", "\\in"),
        ("∉", "\\notin"),
        ("∖", "\\setminus"),
        ("×", "\\times"),
    )
    found = [
        _maths(f"{one} {sign} {two}", f"{one} {latex} {two}", f"{one}{sign}{two}") for sign, latex in signs
    ]
    found += [
        _maths(f"{two} {sign} {one}", f"{two} {latex} {one}")
        for sign, latex in (signs[2], signs[4], signs[6])
    ]
    found += [
        _maths("∅", "\\emptyset", "\\varnothing"),
        _maths("{1, 2}", "\\{1, 2\\}"),
        _maths("{1, 3}", "\\{1, 3\\}"),
    ]
    return [*found, _maths(f"{one}′", f"{one}'", f"{one}’"), _of(one, f"${one}$")]


def intervals(held: bool) -> list[Member]:
    low, high = ("0", "7") if held else ("1", "2")
    found = []
    for opening, closing, top in product("[(", "])", (high, "∞")):
        if top == "∞" and closing == "]":
            continue
        latex = top.replace("∞", "\\infty")
        found.append(
            _of(
                f"{opening}{low}, {top}{closing}",
                f"{opening}{low},{top}{closing}",
                f"${opening}{low}, {latex}{closing}$",
                f"\\left{opening}{low}, {latex}\\right{closing}",
            )
        )
    return [
        *found,
        _of(f"{{{low}, {high}}}", f"\\{{{low}, {high}\\}}"),
        _of(f"[{high}, {low}]", f"[{high},{low}]"),
    ]


def signs(held: bool) -> list[Member]:
    letter, number = ("k", "6") if held else ("n", "4")
    return [
        _of(f"{letter}!", f"${letter}!$", f"\\({letter}!\\)"),
        _of(letter, f"${letter}$", f"\\({letter}\\)"),
        _of(f"({letter}+1)!", f"$({letter}+1)!$", f"({letter} + 1)!"),
        _of(f"({letter}+1)", f"$({letter}+1)$", f"({letter} + 1)"),
        _maths(f"√{number}", f"\\sqrt{{{number}}}", f"√({number})", f"sqrt({number})"),
        _of(number, f"${number}$"),
        _of(f"−{number}", f"-{number}", f"$-{number}$", f"–{number}"),
        _maths(f"±{number}", f"\\pm {number}"),
        _maths(f"2√{number}", f"2\\sqrt{{{number}}}", f"2 \\sqrt{{{number}}}"),
        _maths(f"|{letter}|", f"|{letter}|", f"\\lvert {letter} \\rvert"),
        _maths(f"{letter}′", f"{letter}'", f"{letter}’"),
        _maths(f"{letter}″", f"{letter}''"),
        _maths(f"¬{letter}", f"\\neg {letter}", f"\\lnot {letter}"),
        _maths("∞", "\\infty"),
        _maths("−∞", "-\\infty"),
        _of(f"${letter}^*$", f"{letter}^*", f"{letter}^{{*}}", f"\\({letter}^{{*}}\\)"),
    ]


def greek(held: bool) -> list[Member]:
    names = (
        {"θ": "theta", "σ": "sigma", "Ω": "Omega", "φ": "phi", "ε": "epsilon"}
        if held
        else {"α": "alpha", "π": "pi", "λ": "lambda", "Δ": "Delta", "μ": "mu"}
    )
    found = []
    for sign, name in names.items():
        found += [
            _maths(sign, f"\\{name}"),
            _maths(f"2{sign}", f"2\\{name}", f"2 \\{name}"),
            _maths(f"{sign}r²", f"\\{name} r^2", f"{sign} r^2", f"{sign}r^2"),
            _maths(f"{sign}/2", f"\\frac{{\\{name}}}{{2}}", f"\\{name}/2"),
        ]
    return found


def logic(held: bool) -> list[Member]:
    one, two = ("r", "s") if held else ("p", "q")
    arrows = (
        ("→", "\\to", "\\rightarrow", "->"),
        ("↔", "\\leftrightarrow", "<->"),
        ("⇒", "\\Rightarrow", "\\implies", "=>"),
        ("∧", "\\land", "\\wedge"),
        ("∨", "\\lor", "\\vee"),
        ("⊕", "\\oplus"),
        ("←", "\\leftarrow"),
    )
    found = [
        _of(
            *(f"{one} {sign} {two}" for sign in sign_of),
            f"${one} {sign_of[1]} {two}$",
            f"{one}{sign_of[0]}{two}",
        )
        for sign_of in arrows
    ]
    found.append(_of(f"∀{one}", f"\\forall {one}", f"$\\forall {one}$"))
    found.append(_of(f"∃{one}", f"\\exists {one}", f"$\\exists {one}$"))
    return [*found, _of(f"{two} → {one}", f"{two} \\to {one}", f"{two} -> {one}")]


def sentences(held: bool) -> list[Member]:
    """Return options in words that contain notation."""
    if held:
        return [
            _of("N₂O is released", "N2O is released", "$N_2O$ is released", "N_2O is released."),
            _of("N₂O₄ is released", "N2O4 is released", "\\text{N}_2\\text{O}_4 is released"),
            _of("It runs in O(m³) time", "It runs in O(m^3) time", "It runs in $O(m^3)$ time."),
            _of("It runs in O(m²) time", "It runs in O(m^2) time", "It runs in $O(m^2)$ time"),
            _of("It runs in O(2ᵐ) time", "It runs in O(2^m) time", "It runs in $O(2^m)$ time"),
            _of("a drop of 15 °C per hour", "a drop of 15°C per hour", "a drop of $15^\\circ$C per hour"),
            _of("a drop of 15 °F per hour", "a drop of 15°F per hour"),
            _of("the β particle", "the \\beta particle", "the $\\beta$ particle"),
            _of("the γ particle", "the \\gamma particle", "the $\\gamma$ particle"),
            _of(
                "The force rises by 3 kg·m/s²",
                "The force rises by 3 kg·m/s^2",
                "The force rises by $3\\ \\text{kg·m/s}^2$",
            ),
            _of("Cu²⁺ is reduced to Cu", "Cu^{2+} is reduced to Cu", "$\\text{Cu}^{2+}$ is reduced to Cu"),
            _of("Cu⁺ is reduced to Cu", "Cu+ is reduced to Cu", "$\\text{Cu}^+$ is reduced to Cu"),
            _of("T ≥ 300 K for all runs", "T >= 300 K for all runs", "$T \\geq 300$ K for all runs"),
            _of("T ≤ 300 K for all runs", "T <= 300 K for all runs", "$T \\leq 300$ K for all runs"),
            _of("It costs €40 per person", "It costs 40 € per person"),
            _of("It costs £40 per person", "It costs 40 £ per person"),
        ]
    return [
        _of(
            "CO₂ and H₂O",
            "CO2 and H2O",
            "$CO_2$ and $H_2O$",
            "\\text{CO}_2 \\text{ and } \\text{H}_2\\text{O}",
            "CO_2 and H_2O",
        ),
        _of("CO and H₂O", "CO and H2O", "$CO$ and $H_2O$"),
        _of(
            "The algorithm needs O(n²) time",
            "The algorithm needs O(n^2) time",
            "The algorithm needs $O(n^2)$ time.",
        ),
        _of(
            "The algorithm needs O(n³) time",
            "The algorithm needs O(n^3) time",
            "The algorithm needs $O(n^{3})$ time",
        ),
        _of(
            "The algorithm needs O(2ⁿ) time",
            "The algorithm needs O(2^n) time",
            "The algorithm needs $O(2^n)$ time",
        ),
        _of(
            "an increase of 25 °C per minute",
            "an increase of 25°C per minute",
            "an increase of $25^\\circ$C per minute",
        ),
        _of("an increase of 25 °F per minute", "an increase of 25°F per minute"),
        _of("the α decay", "the \\alpha decay", "the $\\alpha$ decay"),
        _of("the β decay", "the \\beta decay", "the $\\beta$ decay"),
        _of(
            "The acceleration is 5 m/s²",
            "The acceleration is 5 m/s^2",
            "The acceleration is $5\\ \\text{m/s}^2$",
            "The acceleration is 5 m/s^{2}.",
        ),
        _of("The acceleration is 5 m/s", "The acceleration is $5\\ \\text{m/s}$"),
        _of("Fe³⁺ is oxidised", "Fe^{3+} is oxidised", "$\\text{Fe}^{3+}$ is oxidised", "Fe^3+ is oxidised"),
        _of("Fe²⁺ is oxidised", "Fe^{2+} is oxidised", "$\\mathrm{Fe^{2+}}$ is oxidised"),
        _of("x ≥ 2 for every input", "x >= 2 for every input", "$x \\geq 2$ for every input"),
        _of("x ≤ 2 for every input", "x <= 2 for every input", "$x \\leq 2$ for every input"),
        _of("A price of €5 per unit", "A price of 5 € per unit"),
        _of("A price of £5 per unit", "A price of 5 £ per unit"),
    ]


def plain(held: bool) -> list[Member]:
    words = (
        ("Copper", "Zinc oxide", "World War I", "World War II", "Vitamin B", "Vitamin C")
        if held
        else ("Paris", "New York", "Henry VII", "Henry VIII", "Type A", "Type B")
    )
    found = [
        _of(text, f"{text}.", f"**{text}**", f"\\text{{{text}}}", text.lower(), f'"{text}"') for text in words
    ]
    found += [
        _of(text, f"${text}$", f"\\text{{{text}}}") for text in (("RR", "rr") if held else ("TT", "tt"))
    ]
    numbers = ("70", "7", "0.7", "700", "7:30", "3:7") if held else ("12", "1.2", "0.12", "120", "1:2", "2:1")
    return [*found, *(_of(text, f"${text}$", f"{text}.") for text in numbers)]


CLASSES: dict[str, Callable[[bool], list[Member]]] = {
    one.__name__: one
    for one in (
        powers,
        subscripts,
        formulas,
        ions,
        fractions,
        units,
        more_units,
        scientific,
        currencies,
        equations,
        relations,
        sets,
        intervals,
        signs,
        greek,
        logic,
        sentences,
        plain,
    )
}


def pairs(held: bool, draw: random.Random) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the name of a class, two notations, and True if they are notations of one member."""
    for name, make in CLASSES.items():
        members = make(held)
        for member in members:
            yield from ((name, one, two, True) for one, two in combinations(member, 2))
        different = [
            (one, two) for a, b in combinations(members, 2) for one, two in product(a, b) if one != two
        ]
        for one, two in draw.sample(different, min(_DIFFERENT, len(different))):
            yield name, one, two, False


def questions(held: bool, draw: random.Random) -> Iterator[tuple[str, list[str], str, str | None]]:
    """Yield the name of a class, four options, a response, and the label that it names or None."""
    for name, make in CLASSES.items():
        members = [member for member in make(held) if len(member) > 1]
        for _ in range(_QUESTIONS):
            chosen = draw.sample(members, 5)
            options = [draw.choice(member) for member in chosen[:4]]
            place = draw.randrange(5)
            said = draw.choice([text for text in chosen[place] if text not in options] or [chosen[place][0]])
            frame = draw.choice(("Answer: {}", "\\boxed{{{}}}", "<answer>{}</answer>"))
            yield name, options, frame.format(said), "ABCD"[place] if place < 4 else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--held-out", action="store_true", help="other members of the same classes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="number of errors to print for each kind")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    shown: defaultdict[str, list[str]] = defaultdict(list)

    def note(name: str, kind: str, error: str, text: str) -> None:
        counts[name][kind] += 1
        if error:
            counts[name][error] += 1
            shown[error].append(f"{name}: {text}")

    for name, one, two, equal in pairs(arguments.held_out, draw):
        for first, second in permutations((one, two)):
            same = same_value(first, second)
            error = "" if same == equal else "denied" if equal else "paid wrongly"
            note(name, "equal" if equal else "different", error, f"{first!r} {second!r}")
    for name, options, response, label in questions(arguments.held_out, draw):
        extra = {"choices": options}
        named = score(Sample("choice", response, "A", extra_info=extra), ChoiceOptions()).extracted
        error = "" if named == label else "option denied" if named is None else "option paid wrongly"
        note(name, "named" if label else "absent", error, f"{options} {response!r}: {named}, not {label}")
    heads = (
        "equal",
        "denied",
        "different",
        "paid wrongly",
        "named",
        "option denied",
        "absent",
        "option paid wrongly",
    )
    print(f"{'':12}" + "".join(f"{head:>20}" for head in heads))
    for name in (*counts, "all"):
        row = counts[name] if name != "all" else sum(counts.values(), Counter())
        print(f"{name:12}" + "".join(f"{row[head]:20,}" for head in heads))
    for error, texts in shown.items():
        print(f"\n{error}: {len(texts):,}")
        for text in random.Random(arguments.seed).sample(texts, min(arguments.show, len(texts))):
            print(f"  {text}")


if __name__ == "__main__":
    main()
