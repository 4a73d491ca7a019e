"""The code reward: right programs score 1.0, wrong and hostile ones do not, failures are told apart."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.registry import Reward, Running
from rewardkit.rewards.code.code_reward import CodeOptions, score
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample
from tests.rewards.code.conftest import ScoredBy
from tests.rewards.code.idioms import IDIOMS

ADD = {"tests": [{"input": f"{n}\n", "output": f"{n + 1}\n"} for n in range(10)]}
RIGHT = "print(int(input()) + 1)"
CALLS = {"inputs": ["1", "2", "3", "4"], "outputs": ["1", "4", "9", "16"], "fn_name": "square"}


@pytest.mark.parametrize("name", IDIOMS)
def test_a_correct_idiom_is_accepted(name: str, scored: ScoredBy) -> None:
    given, program, wanted = IDIOMS[name]
    result = scored(program, {"tests": [{"input": given, "output": wanted}]})
    assert result.score == 1.0, result.detail


def test_partial_credit_counts_all_tests(scored: ScoredBy) -> None:
    half = "n = int(input())\nprint(n + 1 if n < 5 else 0)"
    assert scored(half, ADD).score == 0.0
    found = scored(half, ADD, continuous=True)
    assert (found.score, found.correct, found.parts) == (
        0.5,
        False,
        {"tests": 10.0, "passed": 5.0, "timed_out": 0.0, "over_limit": 0.0},
    )
    assert (
        found.detail is not None and "test 6 wrong: input '5\\n': expected '6\\n', got '0\\n'" in found.detail
    )
    assert scored(half, ADD, first_k=5).score == 1.0
    assert scored(half, ADD, compat="verl").score == 0.5


def test_weights_count(scored: ScoredBy) -> None:
    weighted = {"tests": [{"input": "1", "output": "2", "weight": 3}, {"input": "2", "output": "0"}]}
    assert scored(RIGHT, weighted, continuous=True).score == 0.75


@pytest.mark.parametrize(
    "program",
    [
        "def square(x): return x * x",
        "class Solution:\n    def square(self, x: int) -> int: return x * x",
        "square = lambda x: pow(x, 2)",
    ],
)
def test_functions_are_called(program: str, scored: ScoredBy) -> None:
    assert scored(program, CALLS).score == 1.0


def test_a_name_of_the_prelude_is_no_function_of_the_program(scored: ScoredBy) -> None:
    gcd = {"inputs": [[12, 18]], "outputs": [6], "fn_name": "gcd"}
    assert scored("x = 1", gcd).score == 0.0
    assert scored("class Solution:\n    def gcd(self, a, b): return 6", gcd).score == 1.0
    assert scored("from math import gcd", gcd).score == 1.0


def test_a_crash_in_one_case_leaves_the_others(scored: ScoredBy) -> None:
    program = "import os\ndef square(x):\n    if x == 2: os._exit(0)\n    if x == 3: raise SystemExit\n    return x * x"
    found = scored(program, CALLS, continuous=True)
    assert found.score == 0.5, found.detail


HUMANEVAL = {
    "prompt": "from typing import List\n\ndef helper(x):\n    return x - 3\n\ndef root(xs: List[int]) -> int:\n    '''Doc.'''\n",
    "entry_point": "root",
    "test": "def check(candidate):\n    for n in range(3):\n        assert helper(candidate([n])) == 0\n    assert candidate([1]) == 3\n",
}


@pytest.mark.parametrize(
    "program",
    [
        "    return 3\n",
        "def root(xs: List[int]) -> int:\n    return 3",
        "from __future__ import annotations\ndef root(xs): return 3",
    ],
)
def test_humaneval_takes_a_body_or_a_function(program: str, scored: ScoredBy) -> None:
    assert scored(program, HUMANEVAL).score == 1.0


@pytest.mark.parametrize(
    ("response", "paid"),
    [
        ("    return 3\n", 1.0),
        ("\n    x = 3\n    return x", 1.0),
        ("    return 4\n", 0.0),
        ("    We return 3.", 0.0),
    ],
)
def test_a_base_model_goes_on_after_humanevals_prompt(response: str, paid: float, scored: ScoredBy) -> None:
    scored("pass", HUMANEVAL)  # skips where nothing isolates
    found = score(Sample("code", response, json.dumps(HUMANEVAL)), CodeOptions())
    assert (found.status, found.score) == ("ok", paid), found.detail


SPOOFS = {
    "equal to all": "class Yes(int):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n    def __sub__(self, o): return self\n    __hash__ = int.__hash__\ndef root(xs): return Yes(7)",
    "helper redefined": "def helper(x): return 0\ndef root(xs): return 9",
    "exits": "import os\ndef root(xs): os._exit(0)",
    "patches builtins": "import builtins\nbuiltins.AssertionError = Exception\nbuiltins.range = lambda *a: []\ndef root(xs): return 9",
    "forges answers": "import os\nos.write(3, (12).to_bytes(4, 'big') + b'{\"value\": 99}')\ndef root(xs): return 9",
    "answers nonsense": "import os\ndef root(xs): os.write(3, b'\\xff' * 100); return 9",
    "walks frames": "import sys\ndef root(xs):\n    f = sys._getframe()\n    while f: f.f_globals['__builtins__'] = {}; f = f.f_back\n    return 9",
    "raises": "def root(xs): raise AssertionError",
    "loops": "def root(xs):\n    while True: pass",
}


@pytest.mark.parametrize("name", SPOOFS)
def test_an_assertion_cannot_be_reached(name: str, scored: ScoredBy) -> None:
    found = scored(SPOOFS[name], HUMANEVAL, cpu_s=0.3)
    assert (found.status, found.score) == ("ok", 0.0), found.detail


WRONG = {
    "exit 0": "import os\nos._exit(0)",
    "prints the input": "print(input())",
    "claims success": "print('{\"passed\": true}')",
    "fails after the answer": RIGHT + "\nraise ValueError",
    "syntax": "print(",
    "floods": "while True: print('2' * 1000)",
    "memory": "x = bytearray(3 << 30)",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_scores_nothing_and_says_why(name: str, scored: ScoredBy) -> None:
    found = scored(WRONG[name], ADD, continuous=True)
    assert (found.status, found.score, found.correct) == ("ok", 0.0, False)
    assert found.detail and "test 1 " in found.detail and found.detail.endswith(("level warm", "level guard"))


def test_expected_outputs_are_not_in_the_jail(scored: ScoredBy) -> None:
    secret = "the-answer-3141592653"
    program = """
import gc, sys
mark = "-".join(["the", "answer", ""])
texts = [repr(o) for o in gc.get_objects()] + [repr(sys._getframe().f_locals), repr(dict(vars(sys)))]
print([text[text.find(mark):][:30] for text in texts if mark in text])
"""
    found = scored(program, {"tests": [{"input": "", "output": secret}]})
    assert found.score == 0.0 and "3141592653" not in str(found.detail).partition("got ")[2]


def test_a_loop_ends_with_the_deadline_of_the_solution(scored: ScoredBy) -> None:
    found = scored("while True: pass", ADD, continuous=True, cpu_s=0.2, total_s=0.6)
    assert found.score == 0.0 and "not run" in str(found.detail)
    assert found.parts["timed_out"] <= 3  # 0.2 s each: the rest is not run


def test_text_without_code_scores_nothing(scored: ScoredBy) -> None:
    found = score(Sample("code", "The answer is 42.", json.dumps(ADD)), CodeOptions())
    assert (found.status, found.score, found.correct) == ("ok", 0.0, False)
    assert "no code block" in str(found.detail)
    text = "First:\ndef f(x):\n    return x\nThen it is called:\nprint(f(1))\nDone."
    pieces = score(Sample("code", text, json.dumps(ADD)), CodeOptions())
    assert "not one program" in str(pieces.detail)


@pytest.mark.parametrize("truth", ["{}", '{"inputs": [], "outputs": []}', "nonsense"])
def test_a_truth_without_tests_is_invalid(truth: str, scored: ScoredBy) -> None:
    assert score(Sample("code", f"```python\n{RIGHT}\n```", truth), CodeOptions()).status == "invalid"


def test_compat_takes_an_exit_status_for_success(scored: ScoredBy) -> None:
    program = RIGHT + "\nimport sys\nsys.exit(1)"
    assert scored(program, ADD).score == 0.0
    assert scored(program, ADD, compat="livecodebench").score == 1.0
    assert "compat=verl" in str(scored(program, ADD, compat="verl").detail)


def test_a_checker_decides_in_a_jail(scored: ScoredBy, tmp_path: Path) -> None:
    file = tmp_path / "checker.py"
    file.write_text(
        "def check(given, got, expected):\n    return sorted(got.split()) == sorted(expected.split())\n"
    )
    truth = {"tests": [{"input": "", "output": "a b"}]}
    assert scored("print('b a')", truth, checker=f"{file}:check").score == 1.0
    assert scored("print('b b')", truth, checker=f"{file}:check").score == 0.0


def test_it_runs_in_the_scorers_workers(scored: ScoredBy) -> None:
    reward = Reward(name="code-test", version=1, target=score, data_sources=("code-test",), options_type=CodeOptions, parts=("tests", "passed", "timed_out", "over_limit"), running=Running(runs="sandbox", timeout_s=30))  # fmt: skip
    from rewardkit.registry import Registry

    registry = Registry()
    registry.register(reward)
    with Scorer(registry=registry, workers=1) as scorer:
        samples = [
            Sample("code-test", f"```python\n{p}\n```", json.dumps(ADD)) for p in (RIGHT, "print(0)", RIGHT)
        ]
        assert [s.score for s in scorer.score_batch(samples)] == [1.0, 0.0, 1.0]


def humaneval(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(folder / "humaneval" / "HumanEval.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.slow
def test_every_humaneval_solution_passes_and_no_mutant_of_it(scored: ScoredBy, reference_data: Path) -> None:
    failed, survived = [], []
    for row in humaneval(reference_data):
        truth = {key: row[key] for key in ("prompt", "test", "entry_point")}
        if scored(row["prompt"] + row["canonical_solution"], truth).score != 1.0:
            failed.append(row["task_id"])
        if scored(row["prompt"] + "    return object()\n", truth).score != 0.0:
            survived.append(row["task_id"])
    assert (failed, survived) == ([], [])


@pytest.mark.slow
def test_mbpp_solutions_pass(scored: ScoredBy, reference_data: Path) -> None:
    rows = [json.loads(line) for line in (reference_data / "mbpp" / "mbpp.jsonl").read_text().splitlines()]
    failed = []
    for row in rows[::3]:
        truth = {key: row[key] for key in ("test_list", "test_setup_code")}
        if scored(row["code"], truth).score != 1.0:
            failed.append(row["task_id"])
    assert len(failed) <= len(rows[::3]) // 200, failed


UNREADABLE = {
    "a huge integer": "def square(x): return 10 ** 3000 + (1 << 14000)",
    "a lone surrogate": "def square(x): raise ValueError('\\ud800')",
    "deep nesting": "def square(x):\n    r = []\n    for _ in range(150): r = [r]\n    return r",
    "itself": "def square(x):\n    r = []\n    r.append(r)\n    return r",
    "an error that raises": "class E(Exception):\n    def __str__(self): raise self\ndef square(x): raise E",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNREADABLE)
def test_no_answer_is_taken_for_a_failure_of_ours(name: str, scored: ScoredBy) -> None:
    found = scored(UNREADABLE[name], CALLS)
    assert (found.status, found.score) == ("ok", 0.0), found.detail
    assert found.detail is not None and found.detail.encode()
