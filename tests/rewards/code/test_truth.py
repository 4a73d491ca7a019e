"""Every published form of test cases is read; what is unusable says why and is never a pass."""

from __future__ import annotations

import base64
import json
import os
import pickle
import zlib
from typing import Any

import pytest

from rewardkit.rewards.code.assertions import CallCase, from_assert, from_check
from rewardkit.rewards.code.extract import extract, extract_like_verl
from rewardkit.rewards.code.truth import AssertTest, StdinTest, TruthError, read


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


def test_functions_of_each_form_are_read() -> None:
    texts = read(json.dumps({"inputs": ["[1, 2]\n3"], "outputs": ["[4]"], "fn_name": "f"}))
    assert texts.tests == (CallCase("f", [[1, 2], 3], [4], wrapped=True),)
    lists = read(json.dumps({"inputs": [[[1, 2], 3]], "outputs": [5], "fn_name": "f"}))
    assert lists.tests == (CallCase("f", [[1, 2], 3], 5),)
    coded = {"public_test_cases": [{"input": "1", "output": "2"}], "metadata": json.dumps({"func_name": "f"})}
    assert read(json.dumps(coded)).tests == (CallCase("f", [1], 2),)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/rewardkit-unpickled",)


@pytest.mark.parametrize("value", [Bomb(), ["a list"], {"a": 1}, 5])
def test_a_packed_truth_that_is_no_text_is_refused_unread(value: Any) -> None:
    with pytest.raises(TruthError, match="opcode"):
        read(json.dumps({"public_test_cases": [], "private_test_cases": pack(value)}))
    assert not os.path.exists("/tmp/rewardkit-unpickled")


@pytest.mark.parametrize(
    "truth",
    [
        "",
        "3",
        "{}",
        "[]",
        "not json",
        '{"inputs": [], "outputs": []}',
        '{"inputs": ["1"], "outputs": []}',
        '{"tests": []}',
        '{"tests": [{"input": 1}]}',
        '{"test_list": []}',
        '{"tests": [{"input": "", "output": "", "weight": 0}]}',
        '{"public_test_cases": "????"}',
        "[" * 100_000,
    ],
)
def test_an_unusable_truth_is_refused(truth: str) -> None:
    with pytest.raises(TruthError):
        read(truth)


def test_literal_assertions_become_calls() -> None:
    assert from_assert("assert f([1], x=2) == 3") is None
    assert from_assert("assert f([1], -2) == (3, 'a')") == CallCase("f", [[1], -2], (3, "a"), strict=True)
    assert from_assert("assert f(g(1)) == 3") is None
    check = "METADATA = {}\ndef check(candidate):\n    'doc'\n    assert candidate(1) == 2\n    assert True\n"
    assert from_check(check, "f") == [CallCase("f", [1], 2, strict=True)]
    assert from_check(check + "    for i in range(3): assert candidate(i)\n", "f") is None


def test_other_assertions_are_kept_as_they_are() -> None:
    problem = read(json.dumps({"test_list": ["assert f(1) == 2", "assert abs(f(1) - 2) < 1"]}))
    assert [type(test) for test in problem.tests] == [CallCase, AssertTest]


def test_the_last_python_block_is_the_program() -> None:
    text = "```python\na = 1\n```\nor\n```py\nb = 2\n```\nprints\n```\n2\n```\n```bash\nls\n```"
    assert extract(text) == "b = 2\n"
    assert extract(text, "first") == "a = 1\n"
    assert extract("```\nc\n```") == "c\n"
    assert extract("```python\nunfinished") == "unfinished\n"
    assert extract("no code") is None
    assert extract("no code", "whole") == "no code"
    assert extract_like_verl("no fence") == "no fence"
