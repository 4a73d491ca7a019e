"""What decides is CPU time per test and sleep, not elapsed time and not how many tests there are."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from rewardkit.rewards.code import running
from rewardkit.rewards.code.code_reward import CodeOptions, score
from rewardkit.types import Sample
from tests.rewards.code.conftest import ScoredBy

BURN = "import time\ndef burn(s):\n    end = time.process_time() + s\n    while time.process_time() < end: pass\n"
MANY = {"tests": [{"input": str(n), "output": str(n)} for n in range(30)]}
CALLS = {"fn_name": "f", "inputs": [[n] for n in range(12)], "outputs": list(range(12))}


@pytest.mark.slow
def test_many_tests_that_fit_one_by_one_are_no_failure(scored: ScoredBy) -> None:
    found = scored(BURN + "n = input()\nburn(0.02)\nprint(n)", MANY, cpu_s=0.25)
    assert found.score == 1.0, found.detail


@pytest.mark.slow
def test_calls_and_assertions_have_all_of_the_limit_each(scored: ScoredBy) -> None:
    program = BURN + "def f(n):\n    burn(0.03)\n    return n"
    assert scored(program, CALLS, cpu_s=0.2).score == 1.0
    asserts = {"test": "\n".join(f"y = f({n})\nassert y == {n}" for n in range(12))}
    assert scored(program, asserts, cpu_s=0.2).score == 1.0


@pytest.mark.parametrize("truth", [MANY, CALLS, {"test": "y = f(0)\nassert y == 0\nassert f(y) == 0"}])
def test_a_loop_ends_at_the_first_test_and_the_rest_is_not_run(truth: Any, scored: ScoredBy) -> None:
    program = "def f(n):\n    while True: pass\nif __name__ == '__main__': f(1)"
    found = scored(program, truth, cpu_s=0.1)
    assert (found.status, found.score) == ("ok", 0.0)
    assert "cpu_timeout" in str(found.detail) and "not run" in str(found.detail)


@pytest.mark.parametrize("truth", [MANY, CALLS])
def test_with_partial_credit_a_loop_ends_after_a_few(truth: Any, scored: ScoredBy) -> None:
    program = (
        "def f(n):\n    while n > 2: pass\n    return n\nif __name__ == '__main__': print(f(int(input())))"
    )
    found = scored(program, truth, cpu_s=0.1, continuous=True)
    assert found.status == "ok" and found.parts["passed"] == 3.0, found.detail
    assert 1 <= found.parts["timed_out"] <= 4 and "not run" in str(found.detail)


FORMS = {
    "stdin": MANY,
    "calls": CALLS,
    "assertions": {"test": "y = f(0)\nassert y == 0"},
    "pytest": {"test": "import pytest\nfrom solution import f\ndef test_f():\n    assert f(0) == 0"},
    "unittest": {
        "test": "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(0), 0)"
    },
    "a checker": {**MANY, "generated_checker": "print(1)"},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_program_may_sleep_equally_long_in_every_form(form: str, scored: ScoredBy) -> None:
    program = "import time\ndef f(n):\n    time.sleep(2)\n    return n\nif __name__ == '__main__': print(f(input()))"
    found = scored(program, FORMS[form], cpu_s=0.3)
    assert (found.status, found.score) == ("ok", 0.0) and "idle_timeout" in str(found.detail)


def test_a_time_limit_of_the_problem_counts_times_the_factor(scored: ScoredBy) -> None:
    program = BURN + "n = input()\nburn(0.2)\nprint(n)"
    one = {"inputs": ["1"], "outputs": ["1"], "time_limit": 0.1}
    assert scored(program, one, time_factor=1.0).score == 0.0
    assert scored(program, one, cpu_s=0.1, time_factor=8.0).score == 1.0


def test_a_budget_that_the_user_sets_is_cpu_time(scored: ScoredBy) -> None:
    found = scored(BURN + "n = input()\nburn(0.1)\nprint(n)", MANY, total_s=0.5, continuous=True)
    assert found.status == "ok" and 2 <= found.parts["passed"] <= 6 and "not run" in str(found.detail)


def test_only_the_safety_net_is_a_timeout(scored: ScoredBy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_LONGEST_S", 0.3)
    response = "```python\nimport time\ntime.sleep(0.2)\nprint(input())\n```"
    found = score(Sample("code", response, json.dumps(MANY)), CodeOptions())
    assert found.status == "timeout" and "too busy" in str(found.detail)


@pytest.mark.slow
def test_outputs_larger_than_the_usual_limit_are_right_if_expected(scored: ScoredBy) -> None:
    wanted = "\n".join(map(str, range(650_000)))
    assert scored("print(*range(650000), sep='\\n')", {"inputs": [""], "outputs": [wanted]}).score == 1.0
    large = list(range(220_000))
    calls = {"fn_name": "f", "inputs": [[n] for n in range(3)], "outputs": [large] * 3}
    assert scored("def f(n): return list(range(220000))", calls).score == 1.0


def test_a_flood_in_place_of_an_answer_is_wrong_and_unread(scored: ScoredBy) -> None:
    start = time.process_time()
    found = scored("print('1' * 3000000 + 'x')", {"inputs": [""], "outputs": ["111"]})
    assert (found.status, found.score) == ("ok", 0.0)
    assert time.process_time() - start < 5  # of this process, which once took minutes to read it
