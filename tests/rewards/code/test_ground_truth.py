"""Every published form of test cases is read; what is unusable says why and is never a pass."""

from __future__ import annotations

import base64
import json
import os
import pickle
import zlib
from typing import Any

import pytest

from rewardkit.rewards.code.assertions import CallCase
from rewardkit.rewards.code.ground_truth import read
from rewardkit.rewards.code.problem import AssertTest, GroundTruthError, StdinTest


def pack(value: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


CASES = [{"input": "1\n", "output": "2\n", "testtype": "stdin"}]


def test_the_published_forms_are_read() -> None:
    stdin = (StdinTest("1\n", "2\n"),)
    assert read(json.dumps({"inputs": ["1\n"], "outputs": ["2\n"]})).tests == stdin
    assert read(json.dumps({"tests": [{"input": "1\n", "output": "2\n"}]})).tests == stdin
    assert read(json.dumps({"public_tests": {"input": ["1\n"], "output": ["2\n"]}})).tests == stdin
    assert read(json.dumps({"public_test_cases": json.dumps(CASES)})).tests == stdin
    both = {"public_test_cases": CASES, "private_test_cases": pack(json.dumps(CASES))}
    assert read(json.dumps(both)).tests == stdin * 2


CALL = (CallCase("f", [1, [2]], 3),)
FORMS: dict[str, tuple[Any, Any]] = {
    "LiveCodeBench's cases, functional": ([{"input": "1\n[2]", "output": "3", "testtype": "functional", "metadata": {"func_name": "f"}}], CALL),
    "LiveCodeBench's cases, stdin": ([{"input": "1\n", "output": "2\n", "testtype": "stdin"}], (StdinTest("1\n", "2\n"),)),
    "a function's arguments as text": ({"fn_name": "f", "tests": [{"input": "1\n[2]", "output": "3"}]}, CALL),
    "a function's arguments as values": ({"fn_name": "f", "tests": [{"input": [1, [2]], "output": 3}]}, CALL),
    "one argument that is no list": ({"fn_name": "f", "inputs": [1, 2], "outputs": [3, 4]}, (CallCase("f", [1], 3), CallCase("f", [2], 4))),
    "texts that look like numbers": ({"fn_name": "f", "inputs": [["11"], ["1"]], "outputs": ["101", "1"]}, (CallCase("f", ["11"], "101"), CallCase("f", ["1"], "1"))),
    "outputs that are no JSON": ({"fn_name": "f", "inputs": ["1", "2"], "outputs": ["abc", "de f"]}, (CallCase("f", [1], "abc"), CallCase("f", [2], "de f"))),
    "APPS's wrapped results": ({"fn_name": "f", "inputs": [[1], [2]], "outputs": [[3], [4]]}, (CallCase("f", [1], [3], wrapped=True), CallCase("f", [2], [4], wrapped=True))),
    "open-r1's": ({"language": "python", "test_cases": [{"fn_name": None, "input": "1", "output": "2", "type": "stdin_stdout"}]}, (StdinTest("1", "2"),)),
    "PrimeIntellect's wrapper": ({"verification_info": str({"language": "python", "test_cases": [{"type": "stdin_stdout", "input": "1", "output": "2"}]})}, (StdinTest("1", "2"),)),
    "open-r1's Codeforces": ({"official_tests": [{"input": "1", "output": "2"}], "time_limit": 2.0, "input_mode": "stdio"}, (StdinTest("1", "2"),)),
    "verl's assert_case": ({"assert_case": ["assert f(1, [2]) == 3"]}, (CallCase("f", [1, [2]], 3, strict=True),)),
    "KodCode's pytest": ({"test": "from solution import f\n\ndef test_one():\n    assert f(1) == 2\n\ndef helper(): pass\n"}, (AssertTest("__run_test__(test_one)"),)),
    "the same as bare text": ("from solution import f\ndef test_one():\n    assert f(1) == 2\ndef test_two(): pass\n", (AssertTest("__run_test__(test_one)"), AssertTest("__run_test__(test_two)"))),
    "unittest": ({"test_code": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 2)\n"}, (AssertTest("__run_test__(T, 'test_a')"),)),
    "the LeetCode contest set": ({"task_id": "x", "prompt": "p", "test": "my_solution = Solution()\n\ntest_input = { 'a': 1 }\nassert my_solution.f(**test_input) == 2\n"}, (AssertTest("assert my_solution.f(**test_input) == 2", "my_solution = Solution()\ntest_input = {'a': 1}"),)),
    "LeetCodeDataset": ({"prompt": "import math\n", "entry_point": "Solution().f", "test": "def check(candidate):\n    assert candidate(a = 1) == [2]\n"}, (CallCase("Solution().f", [], [2], {"a": 1}, strict=True),)),
    "SandboxFusion's CommonOJ": ({"id": 1, "test": [{"input": {"stdin": "1"}, "output": {"stdout": "2"}}]}, (StdinTest("1", "2"),)),
    "SandboxFusion's AutoEval": ({"labels": {"programming_language": "python"}, "test": {"code": "import math\n#<INSERT>\nassert f(1) == 2", "asset": {}}}, (AssertTest("assert f(1) == 2", "import math"),)),
    "SandboxFusion's MBPP": ({"test_list": '["assert f(1, [2]) == 3"]', "labels": '{"test_setup_code": ""}'}, (CallCase("f", [1, [2]], 3, strict=True),)),
    "assertions as text": ("assert f(1) == g(2)", (AssertTest("assert f(1) == g(2)"),)),
    "lists in an object": ({"tests": {"fn_name": "f", "inputs": [[1, [2]]], "outputs": [3]}}, CALL),
    "NeMo-Gym's": ({"unit_tests": json.dumps({"inputs": ["1"], "outputs": ["2"]})}, (StdinTest("1", "2"),)),
    "streams by name": ({"tests": [{"stdin": "1", "stdout": "2"}]}, (StdinTest("1", "2"),)),
    "an answer to an input": ({"tests": [{"input": "1", "answer": "2"}]}, (StdinTest("1", "2"),)),
    "arguments by name": ({"fn_name": "f", "tests": [{"args": [1, [2]], "expected": 3}]}, CALL),
    "another name of the function's name": ({"func_name": "f", "tests": [{"input": "1\n[2]", "output": "3"}]}, CALL),
    "Skywork's": ({"entry_point": "Solution().f", "import_prefix": "import math\n", "test_code": "def check(candidate):\n    assert candidate(a = 1) == [2]\n"}, (CallCase("Solution().f", [], [2], {"a": 1}, strict=True),)),
    "MBPP+": ({"test_list": ["assert f(1, [2]) == 3"], "test": "def assertion(a, b):\n    assert a == b\nfor x, y in zip([1], [2]):\n    assertion(f(x), y)\n"}, (CallCase("f", [1, [2]], 3, strict=True), AssertTest("for x, y in zip([1], [2]):\n    assertion(f(x), y)", "def assertion(a, b):\n    assert a == b"))),
    "a word about the problem": ({"inputs": ["1"], "outputs": ["2"], "metadata": "easy"}, (StdinTest("1", "2"),)),
    "TACO's lines": ({"inputs": [["1", "2"]], "outputs": [["3"]]}, (StdinTest("1\n2", "3"),)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_a_published_form_is_read(name: str) -> None:
    form, tests = FORMS[name]
    assert read(form if isinstance(form, str) else json.dumps(form)).tests == tests


AMBIGUOUS = {
    "JSON beside text": ({"fn_name": "f", "inputs": ["1", "2"], "outputs": ["101", "abc"]}, ("JSON", "plain text")),
    "arguments as an object": ({"fn_name": "f", "inputs": [{"a": 1}], "outputs": [1]}, ("keyword arguments", "one argument")),
    "values without a function": ({"inputs": [[1, 2]], "outputs": ["3"]}, ("lines or", "function")),
    "a function without a name": ([{"input": "1", "output": "2", "testtype": "functional"}], ("has no function name", "func_name")),
    "files": ({"test": [{"input": {"stdin": "", "a.txt": "1"}, "output": {"stdout": ""}}]}, ("files", "only stdin")),
    "interaction": ({"official_tests": [{"input": "1", "output": "2"}], "interaction_format": "x"}, ("interaction_format", "interact")),
    "a case without output": ({"tests": [{"in": "1", "result": "2"}]}, ("test 1 has no output", "found keys: in, result")),
    "another language": ({"test": {"code": "x"}, "labels": {"programming_language": "cpp"}}, ("cpp", "expected python")),
}  # fmt: skip


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_refused_and_both_are_named(name: str) -> None:
    form, words = AMBIGUOUS[name]
    with pytest.raises(GroundTruthError) as caught:
        read(json.dumps(form))
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_time_limit_is_kept_in_every_spelling() -> None:
    tests = {"inputs": ["1"], "outputs": ["1"]}
    for spelling in (2, 2.0, "2.0 seconds", {"seconds": 1, "nanos": 1_000_000_000}):
        assert read(json.dumps(tests | {"time_limit": spelling})).limits == {"time_limit": 2.0}


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/rewardkit-unpickled",)


@pytest.mark.parametrize("value", [Bomb(), ["a list"], {"a": 1}, 5])
def test_a_packed_truth_that_is_no_text_is_refused_unread(value: Any) -> None:
    with pytest.raises(GroundTruthError, match="opcode"):
        read(json.dumps({"public_test_cases": [], "private_test_cases": pack(value)}))
    assert not os.path.exists("/tmp/rewardkit-unpickled")


@pytest.mark.parametrize(
    "truth",
    [
        "",
        "{}",
        "not json",
        '{"inputs": [], "outputs": []}',
        '{"inputs": ["1"], "outputs": []}',
        '{"tests": [{"input": 1}]}',
        '{"tests": [{"input": "", "output": "", "weight": 0}]}',
        '{"public_test_cases": "????"}',
        "[" * 100_000,
    ],
)
def test_an_unusable_truth_is_refused(truth: str) -> None:
    with pytest.raises(GroundTruthError):
        read(truth)


def test_other_assertions_are_kept_as_they_are() -> None:
    problem = read(json.dumps({"test_list": ["assert f(1) == 2", "assert abs(f(1) - 2) < 1"]}))
    assert [type(test) for test in problem.tests] == [CallCase, AssertTest]
