"""Each form of a set pays every right program and no mutant of it: a part of the problems."""

from __future__ import annotations

import pytest

from tests.rewards.code.conftest import ScoredBy
from tests.rewards.code.problems import PROBLEMS, forms, function, mutants


@pytest.mark.parametrize("problem", [*PROBLEMS[::6]], ids=[p[0] for p in PROBLEMS[::6]])
def test_right_programs_pass_and_mutants_fail_in_every_form(problem: tuple, scored: ScoredBy) -> None:  # type: ignore[type-arg]
    changed = list(mutants(problem, 2))
    for name, (truth, write) in forms(problem).items():
        right = scored(write(function(problem)), truth)
        assert right.score == 1.0, (name, right.detail)
        for mutant in changed:
            wrong = scored(write(mutant), truth)
            assert (wrong.status, wrong.score) == ("ok", 0.0), (name, mutant)


_HEAD = "class Solution:\n    def add(self, a: int, b: int) -> int:\n"
_PLAIN_CHECK = "def check(candidate):\n    assert candidate(a=1, b=2) == 3\n"
_STEPS_CHECK = "def check(candidate):\n    found = candidate(1, 2)\n    assert found == 3\n"
_WHOLE = "class Solution:\n    def add(self, a, b):\n        return a + b\n"
_BODY = "        return a + b\n"


@pytest.mark.parametrize(
    ("test", "prompt", "program"),
    [
        (_PLAIN_CHECK, _HEAD, _BODY),
        (_STEPS_CHECK, f"{_HEAD}        ", _WHOLE),
        (_STEPS_CHECK, f"{_HEAD}        ", _BODY),
        (_PLAIN_CHECK, f'{_HEAD}        """Adds."""\n', _WHOLE),
    ],
)
def test_a_prompt_that_begins_the_class_does_not_stand_in_for_the_program(
    test: str, prompt: str, program: str, scored: ScoredBy
) -> None:
    truth = {"prompt": prompt, "entry_point": "Solution().add", "test": test}
    assert scored(program, truth).score == 1.0
    wrong = scored(program.replace("a + b", "a - b"), truth)
    assert (wrong.score, wrong.status) == (0.0, "ok")


@pytest.mark.parametrize("program", ["def add(a, b):\n    return a + b\n", "    return a + b\n"])
def test_a_prompt_may_end_with_the_function_head(program: str, scored: ScoredBy) -> None:
    truth = {"prompt": "import math\ndef add(a, b):\n", "entry_point": "add", "test": _STEPS_CHECK}
    assert scored(program, truth).score == 1.0
    assert scored(program.replace("a + b", "a - b"), truth).score == 0.0


def test_a_setup_that_is_no_python_says_nothing_of_the_program(scored: ScoredBy) -> None:
    truth = {"test_list": ["assert f() == 1 and g()"], "test_setup_code": "def g(:\n"}
    found = scored("def f(): return 1", truth)
    assert found.status == "invalid" and "not valid Python" in str(found.detail)


@pytest.mark.parametrize(
    "truth",
    [
        {"input_output": '{"inputs": ["1 2\\n"], "outputs": ["3\\n"]}'},
        {"test_cases": {"inputs": ["1 2"], "outputs": ["3"]}},
        {"tests": [{"input": "1 2", "expected_output": "3"}]},
        {"inputs": ["1 2"], "outputs": [3]},
    ],
)
def test_inputs_and_outputs_are_known_by_their_usual_names(truth: dict, scored: ScoredBy) -> None:  # type: ignore[type-arg]
    assert scored("print(sum(map(int, input().split())))", truth).score == 1.0
    assert scored("print(9)", truth).score == 0.0
