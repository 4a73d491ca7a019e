"""A checker program decides where several outputs are right, in a jail of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewardkit.rewards.code.code_reward import CodeOptions, score
from rewardkit.sandbox.levels import why_not
from rewardkit.types import Sample, Score

if reason := why_not("warm") and why_not("guard"):
    pytest.skip(reason, allow_module_level=True)

DIVISOR = """
import sys
def main():
    given, correct, found = (open(path).read().split() for path in sys.argv[1:4])
    n, answer = int(given[0]), int(found[0])
    print(1 if len(found) == 1 and 1 < answer < n and n % answer == 0 else 0)
if __name__ == "__main__":
    main()
"""
"""Any divisor of the input is right; what is no number it fails on."""


def scored(program: str, checker: str = DIVISOR, expected: str = "2", level: str = "auto") -> Score:
    tests = [{"input": "12\n", "output": f"{expected}\n"}, {"input": "30\n", "output": f"{expected}\n"}]
    truth: dict[str, Any] = {"official_tests": tests, "generated_checker": checker, "input_mode": "stdio"}
    options: Any = {"level": level}
    return score(
        Sample("codeforces", f"```python\n{program}\n```", json.dumps(truth)), CodeOptions(**options)
    )


@pytest.mark.parametrize("level", ["warm", "guard"])
def test_every_output_that_the_checker_accepts_is_right(level: Any) -> None:
    if why := why_not(level):
        pytest.skip(why)
    assert scored("print(3)", level=level).correct
    assert scored("print(5)", level=level).correct is False  # divides 30 alone
    assert scored("print(12)", level=level).correct is False


@pytest.mark.parametrize(
    "program",
    [
        "print('x')",
        "print(3, 3)",
        "print('\\ud800')",
        "1 / 0",
    ],
)
def test_an_output_that_the_checker_fails_on_is_wrong_and_no_failure_of_ours(program: str) -> None:
    found = scored(program)
    assert (found.status, found.correct) == ("ok", False), found.detail


def test_the_program_does_not_see_the_checker_nor_what_is_expected() -> None:
    peek = "import os, sys\nprint(3 if os.listdir('.') == [] and sys.argv[1:] == [] else 12)"
    assert scored(peek).correct


@pytest.mark.parametrize(
    ("checker", "why"),
    [
        ("1 / 0", "rejects the expected output"),
        ("(", "rejects the expected output"),
    ],
)
def test_a_checker_that_does_not_work_makes_the_sample_invalid(checker: str, why: str) -> None:
    found = scored("print(3)", checker)
    assert found.status == "invalid" and why in str(found.detail)


def test_a_checker_that_loops_costs_its_limit_and_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewardkit.rewards.code.checkers._PROGRAM_CPU_S", 0.2)
    found = scored("print(3)", "while True: pass")
    assert found.status == "invalid" and "expected output" in str(found.detail)
