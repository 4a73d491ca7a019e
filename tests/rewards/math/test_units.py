"""Units of measure: equal quantities are paid however they are written, near misses never."""

from __future__ import annotations

import random

import letter_formulas
import pytest
from unit_pairs import CUSTOMARY, equal_pairs, near_misses

from rewardkit.rewards.math import MathOptions, compare

PRESETS = (MathOptions(), MathOptions(preset="strict"))
SPELLINGS = {
    "9.8\\mathrm{m\\cdot s^{-2}}": (
        "9.8 m/s^2", "9.8 m s^-2", "9.8\\frac{m}{s^2}", "9.8 \\frac{\\text{m}}{\\text{s}^2}", "9.8\\text{ m/s}^2",
        "9.8 meters per second squared", "9.8\\mathrm{~m} / \\mathrm{s}^{2}", "9.8 m s⁻²", "980 cm/s^2",
    ),
    "100\\,\\Omega": ("100 Ω", "100 ohm", "100\\text{ ohms}", "0.1\\,\\mathrm{k\\Omega}", "0.1 kΩ", "100 V/A"),
    "5\\,\\mu\\mathrm{F}": ("5 µF", "5 μF", "5\\,\\mathrm{\\mu F}", "5000 nF", "5\\text{ microfarads}"),
    "1.5 kJ": ("1500 J", "1.5 kN m", "1500 N·m", "1500\\text{ joules}", "1.5\\text{ kilojoules}"),
    "8.314\\mathrm{~J}\\,\\mathrm{K}^{-1}\\,\\mathrm{mol}^{-1}": ("8.314 J/(mol K)", "8.314 J/mol·K", "8.314 J/(mol °C)"),
    "25^\\circ\\mathrm{C}": ("25 °C", "25 degrees Celsius", "25\\text{ degrees C}", "25\\text{ Celsius}"),
    "60\\text{ km/h}": ("60km/h", "60 kilometers per hour", "60 千米/时", "\\frac{50}{3}\\text{ m/s}"),
}  # fmt: skip
OTHERS = (
    ("5 mW", "5 MW"), ("5\\text{ mW}", "5\\text{ MW}"), ("5\\text{ m}", "5\\text{ M}"), ("9.8 m/s^2", "9.8 m/s"),
    ("5", "5m"), ("5", "5 m"), ("5", "5 J"), ("2", "2 cd"), ("2cd", "2"), ("25^\\circ C", "298.15 K"),
    ("25^\\circ C", "25^\\circ F"), ("5\\text{ tons}", "5000\\text{ kg}"), ("5 J", "5 W"), ("5\\text{ A}", "5\\text{ a}"), ("\\$5", "5\\text{ euros}"),
    ("60\\text{ Hz}", "60\\text{ rpm}"), ("5\\text{ mw}", "5\\text{ Mw}"), ("5\\text{ T}", "5\\text{ trillion}"),
    ("5\\text{ joules}", "5\\text{ apples}"), ("5\\text{ mW}", "5\\text{ boxes in all}"), ("5\\text{ m}", "5\\text{ feet long}"),
)  # fmt: skip
LETTERS = (("2cd", "2 dc"), ("5\\text{ m}", "5m"), ("6 s t", "6ts"), ("m=2", "3m=6"))
"""Letters that are no units, or may be."""

FORMULAS = (
    ("\\frac{2}{3}mg", "\\frac{2mg}{3}"), ("\\frac{4km}{k+m}", "\\frac{4mk}{m+k}"), ("2mg-kx", "-kx+2 mg"), ("kx=2mg", "kx-2mg=0"),
    ("2mg\\sin\\theta", "gm\\cdot 2\\sin(\\theta)"), ("2mg", "mg+mg"), ("2mg>0", "gm>0"), ("F=2mg", "\\frac F2=mg"), ("e^{2km}", "(e^{km})^2"),
    ("\\sqrt{4km}", "2\\sqrt{mk}"), ("60 km/h", "\\frac{60 km}{h}"), ("8 km", "5 km + 3 km"), ("2(3mg)", "6mg"),
)  # fmt: skip
OTHER_FORMULAS = (
    ("\\frac{2mg}{3}", "\\frac23"), ("2mg-kx", "2-kx"), ("kx=2mg", "kx=2m"), ("kx+2mg", "(kx+2)mg"), ("F=2mg", "F=2gm^2"),
)  # fmt: skip
WHOLE_ITEMS = (
    ("(5 km, 3 km)", "(5000\\text{ m}, 3000\\text{ m})"), ("d = 5 km", "5000\\text{ m}"), ("5 ft 3 in", "63\\text{ in}"),
    ("2\\pi cm", "20\\pi\\text{ mm}"), ("\\frac{\\ln 50}{2} min", "30\\ln 50\\text{ s}"), ("5 thousand km", "5\\text{ Mm}"),
    ("5\\times 10^3 kg", "5\\text{ Mg}"), ("\\{5km, 6km\\}", "\\{6000\\text{ m}, 5000\\text{ m}\\}"), ("\\sqrt{9} km", "3000\\text{ m}"),
)  # fmt: skip


@pytest.mark.parametrize("ground_truth", SPELLINGS)
def test_a_quantity_is_the_same_in_every_usual_spelling(ground_truth: str) -> None:
    for answer in SPELLINGS[ground_truth]:
        for options in PRESETS:
            assert compare(ground_truth, answer, options).equal, f"{ground_truth!r} and {answer!r}"


def test_other_units_and_bare_letters_are_not_paid() -> None:
    for one, other in OTHERS:
        assert not compare(one, other).equal, f"{one!r} and {other!r}"
        assert not compare(other, one).equal, f"{other!r} and {one!r}"


def test_letters_that_may_be_variables_stay_variables() -> None:
    assert [pair for pair in LETTERS if not compare(*pair).equal] == []


def test_customary_units_have_their_exact_sizes() -> None:
    assert [pair for pair in CUSTOMARY if not compare(*pair).equal] == []


def test_equal_quantities_are_paid_and_near_misses_are_not() -> None:
    for one, other in equal_pairs(random.Random(1), 120):
        assert compare(one, other, PRESETS[1]).equal, f"{one!r} and {other!r}"
    for one, other in near_misses(random.Random(2), 120):
        assert not compare(one, other).equal, f"{one!r} and {other!r}"


def test_a_long_run_of_units_costs_little_and_is_no_unit() -> None:
    for text in ("5 " + "m " * 1_500, "5\\Omega" * 500, "5 m" + "(m" * 1_000, "5\\frac{" * 500):
        assert not compare("5", text).equal


def test_letters_that_spell_units_are_variables_within_a_formula() -> None:
    for one, other in (*FORMULAS, *letter_formulas.equal_pairs(random.Random(3), 150)):
        assert compare(one, other, PRESETS[1]).equal, f"{one!r} and {other!r}"
    for one, other in (*OTHER_FORMULAS, *letter_formulas.near_misses(random.Random(4), 150)):
        assert not compare(one, other).equal, f"{one!r} and {other!r}"


def test_bare_letters_that_are_a_whole_item_with_their_number_are_a_unit() -> None:
    assert [pair for pair in WHOLE_ITEMS if not compare(*pair, PRESETS[1]).equal] == []
