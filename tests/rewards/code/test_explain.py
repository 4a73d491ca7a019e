from __future__ import annotations

import json

import pytest

from rewardkit.errors import InputError
from rewardkit.rewards.code.code_reward import CodeOptions, explain, score
from rewardkit.types import Sample

TRUTH = json.dumps(
    {"tests": [{"input": "1", "output": "2"}, {"input": "2", "output": "4"}, {"input": "5", "output": "6"}]}
)
PLUS_ONE = "```python\nprint(int(input()) + 1)\n```"


def test_a_failing_test_is_explained() -> None:
    failing = explain(TRUTH, PLUS_ONE).tests[1]
    assert (failing.given, failing.expected, failing.got) == ("2", "4", "3\n")
    assert "expected '4', got '3" in str(explain(TRUTH, PLUS_ONE))


@pytest.mark.parametrize(
    "options",
    [
        CodeOptions(),
        CodeOptions(first_k=1),
        CodeOptions(compat="verl"),
    ],
)
def test_an_explanation_counts_as_the_score_does(options: CodeOptions) -> None:
    parts = score(Sample("code", PLUS_ONE, TRUTH), options).parts
    tests = explain(TRUTH, PLUS_ONE, options).tests
    assert len(tests) == 3
    assert sum(test.passed for test in tests) == parts["passed"]


def test_a_test_that_the_score_did_not_need_is_said_to_be_none_and_how_it_ends() -> None:
    last = explain(TRUTH, PLUS_ONE).tests[2]
    assert (last.passed, last.status) == (False, "not_run")
    assert "run alone: passed" in last.reason
    assert explain(TRUTH, PLUS_ONE, CodeOptions(continuous=True)).tests[2].passed


def test_long_outputs_are_cut() -> None:
    laid_open = explain(TRUTH, "```python\nprint('x' * 100_000)\n```")
    assert len(laid_open.tests[0].got) == 2000


def test_no_program_is_said_and_no_tests_are_an_error() -> None:
    assert "no code block" in str(explain(TRUTH, "I do not know."))
    with pytest.raises(InputError, match="no tests"):
        explain('{"tests": []}', PLUS_ONE)
