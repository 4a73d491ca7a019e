from __future__ import annotations

import json

import pytest

from rewardkit.errors import InputError
from rewardkit.rewards.code import explain

TRUTH = json.dumps(
    {"tests": [{"input": "1", "output": "2"}, {"input": "2", "output": "4"}, {"input": "5", "output": "6"}]}
)
PLUS_ONE = "```python\nprint(int(input()) + 1)\n```"


def test_every_test_has_its_verdict_also_after_a_failure() -> None:
    laid_open = explain(TRUTH, PLUS_ONE)
    assert [t.status for t in laid_open.tests] == ["passed", "wrong", "passed"]
    assert (laid_open.tests[1].given, laid_open.tests[1].expected, laid_open.tests[1].got) == (
        "2",
        "4",
        "3\n",
    )
    assert "expected '4', got '3" in str(laid_open)


def test_long_outputs_are_cut() -> None:
    laid_open = explain(TRUTH, "```python\nprint('x' * 100_000)\n```")
    assert len(laid_open.tests[0].got) == 2000


def test_no_program_is_said_and_no_tests_are_an_error() -> None:
    assert str(explain(TRUTH, "I do not know.")) == "no code block in the response"
    with pytest.raises(InputError, match="no tests"):
        explain('{"tests": []}', PLUS_ONE)
