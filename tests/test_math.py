"""`rewardkit.math` by itself: Math-Verify's two functions, with the verdicts of the reward `math`."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from rewardkit.math import explain, parse, verify


@pytest.mark.parametrize(
    ("gold", "target", "equal"),
    [
        ("$\\frac{1}{2}$", "So the answer is 0.5.", True),
        ("1/3", "\\boxed{0.3333}", True),
        ("1/3", "\\boxed{0.33}", False),
        ("{1,2}", "{2,1}", True),
        ("(1,2)", "(2,1)", False),
        ("x>2", "(2,\\infty)", True),
        ("xy = 6", "Therefore\n\\[\n\\boxed{xy = 6}\n\\]", True),
        ("\\frac{bx}{h}(h-x)", "\\frac{bx}{h}(h + x)", False),
        ("\\sin^2 x", "1-\\cos^2 x", True),
        ("hello", "hello", True),
        ("3", "no idea", False),
        ("7 miles", "7 km", False),
        ("7 hours", "7 seconds", False),
        ("5 USD", "5 EUR", False),
        ("at least 7", "at most 7", False),
        ("7", "7 and a half", False),
        ("7", "x is not 7", False),
        ("$\\frac12$", "It is 0.5.", True),
        ("7", "It is $7$.", True),
        ("7", "So $x = 7$.", True),
        ("700 cm", "7 meters", True),
    ],
)
def test_two_answers_are_compared_as_the_reward_compares_them(gold: str, target: str, equal: bool) -> None:
    assert verify(parse(gold), parse(target)) is equal
    assert verify(gold, target) is equal
    assert explain(gold, target).equal is equal


def test_one_of_several_answers_is_enough_and_none_is_wrong() -> None:
    assert verify(["3", "4"], "4") and verify("4", ["3", "4"])
    assert not verify("4", []) and not verify([], "4") and parse("") == []


def test_an_answer_says_where_it_was_found_and_whether_it_can_be_read() -> None:
    (answer,) = parse("First \\boxed{4}, no: \\boxed{5}")
    assert (answer.text, answer.found_in, answer.problem) == ("5", "boxed", "")
    (answer,) = parse("x^2+")
    assert answer.problem and parse("x^2+", fallback_mode="no_fallback") == []


def test_the_arguments_of_math_verify_are_used_or_refused() -> None:
    assert verify("1/3", "0.333333", float_rounding=6) and not verify("1/3", "0.3333", float_rounding=6)
    assert verify("1/2", "0.5", numeric_precision=20, timeout_seconds=None, allow_set_relation_comp=True)
    assert parse("5", extraction_mode="first_match", parsing_timeout=None)
    refused: list[Any] = [
        lambda: verify("1", "1", strict=False),
        lambda: parse("1", extraction_config=[]),  # type: ignore[arg-type]
        lambda: parse("", raise_on_error=True),
        lambda: verify("x^2+", "3", raise_on_error=True),
        lambda: verify("3", [], raise_on_error=True),
        lambda: parse(None),  # type: ignore[arg-type]
        lambda: parse("5", preset="lenient"),  # type: ignore[arg-type]
        lambda: verify(object(), "5"),  # type: ignore[arg-type]
    ]
    for call in refused:
        with pytest.raises(ValueError, match=r"\w"):
            call()


def test_strict_reads_boxes_and_compares_units() -> None:
    assert not verify("5 cm", "\\boxed{5}", preset="strict") and verify("5 cm", "\\boxed{5}")
    assert parse("The answer is 5", preset="strict", fallback_mode="no_fallback") == []


def test_it_loads_neither_a_scorer_nor_readers_of_files() -> None:
    code = (
        "import sys, rewardkit.math; print([name for name in sys.modules if name.startswith('rewardkit.') and "
        "name.split('.')[1] in ('scoring', 'server', 'sandbox', 'offline', 'files', 'tables', 'logs')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
