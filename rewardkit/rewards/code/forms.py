"""Reads the published formats of test cases into a `CodeProblem`, without running code.

A key identifies each format.

`cases.py` reads lists of cases, including function calls.
"""

from __future__ import annotations

import base64
import binascii
import pickletools
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rewardkit.errors import require
from rewardkit.rewards.code.assertions import METHOD, from_assert, from_check, with_body
from rewardkit.rewards.code.cases import call_tests, cases_of, function_in, tests_of
from rewardkit.rewards.code.plain_values import from_json, is_json, limits_in, list_of, text_of
from rewardkit.rewards.code.problem import AssertTest, CodeProblem, GroundTruthError, StdinTest, Test
from rewardkit.rewards.code.scripts import pytest_tests, script_tests

_MAX_UNPACKED = 1 << 30
"""Maximum size of LiveCodeBench's compressed tests when unpacked, in bytes."""


def _inputs_outputs(ground_truth: dict[str, Any]) -> CodeProblem:
    """Read the format of APPS, TACO, PRIME and verl.

    If there is an `assert_case`, all other tests are ignored.
    """
    if ground_truth.get("assert_case"):
        return _assert_case(ground_truth)
    inputs = ground_truth["inputs"]
    outputs = ground_truth["outputs"]
    function = function_in(ground_truth)
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise GroundTruthError("'inputs' and 'outputs' must be lists of equal length")
    if function:
        tests: tuple[Test, ...] = call_tests(function, inputs, outputs)
    else:
        tests = tuple(StdinTest(text_of(i), text_of(o)) for i, o in zip(inputs, outputs, strict=True))
    return CodeProblem(tests, limits=limits_in(ground_truth))


def _code_contests(ground_truth: dict[str, Any]) -> CodeProblem:
    for key in ("input_file", "output_file"):
        if ground_truth.get(key):
            raise GroundTruthError(
                f"'{key}' is {str(ground_truth[key])[:40]!r}, but programs that read or write files are not "
                "supported; expected standard input and output"
            )
    tests: list[Test] = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        group = ground_truth.get(name) or {}
        for given, wanted in zip(group.get("input", ()), group.get("output", ()), strict=True):
            tests.append(StdinTest(given, wanted))
    return CodeProblem(tuple(tests), limits=limits_in(ground_truth))


def _livecodebench(ground_truth: dict[str, Any]) -> CodeProblem:
    cases = [
        *_lcb_cases(ground_truth.get("public_test_cases")),
        *_lcb_cases(ground_truth.get("private_test_cases")),
    ]
    function = function_in(ground_truth)
    if not function:
        return CodeProblem(tests_of(cases, ground_truth), limits=limits_in(ground_truth))
    inputs, outputs = [case["input"] for case in cases], [case["output"] for case in cases]
    return CodeProblem(call_tests(function, inputs, outputs, may_wrap=False), limits=limits_in(ground_truth))


def _lcb_cases(field: Any) -> list[dict[str, Any]]:
    if not field:
        return []
    if isinstance(field, str):
        field = from_json(field) if field.lstrip().startswith("[") else from_json(unpack(field))
    if not isinstance(field, list):
        raise GroundTruthError("LiveCodeBench's test cases must be a list")
    return field


def unpack(text: str) -> str:
    """Return the JSON text in LiveCodeBench's base64(zlib(pickle(str))), without unpickling it.

    Only the opcodes of a single string are accepted, because any other pickle could run code when loaded.

    Raises:
        GroundTruthError: The text does not encode a single string.
    """
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(text, validate=True), _MAX_UNPACKED)
        found: str | None = None
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8") and found is None:
                found = str(argument)
            elif opcode.name not in ("PROTO", "FRAME", "MEMOIZE", "BINPUT", "STOP"):
                raise GroundTruthError(
                    f"the packed test cases contain the pickle opcode {opcode.name}; only text is allowed"
                )
    except (zlib.error, binascii.Error, ValueError) as error:
        if isinstance(error, GroundTruthError):
            raise
        raise GroundTruthError(f"cannot read the packed test cases: {str(error)[:120]}") from None
    if found is None:
        raise GroundTruthError("the packed test cases contain no text")
    return found


def _humaneval(ground_truth: dict[str, Any]) -> CodeProblem:
    """Read the form of HumanEval or of LeetCodeDataset, in which the entry point is `Solution().name`."""
    entry = ground_truth["entry_point"]
    test = ground_truth["test"]
    prompt = ground_truth.get("prompt", "")
    if cases := from_check(test, entry):
        return CodeProblem(tuple(cases), prefix=prompt)
    prompt, begun = with_body(prompt), prompt
    # The prompt's helper functions belong to the assertions, but its main function comes from the program.
    if entry.isidentifier():
        setup = f"{prompt}\n\n{entry} = __candidate__({entry!r})\n{test}\n"
        return CodeProblem((AssertTest(f"check({entry})"),), setup=setup, prefix=begun)
    # `owner` is the class in `Solution().name`. The prompt also defines the class, but without the method.
    owner = entry.partition("(")[0]
    theirs = f"{owner} = __candidate__({owner!r})\n" if METHOD.fullmatch(entry) else ""
    return CodeProblem((AssertTest(f"check({entry})"),), setup=f"{prompt}\n\n{theirs}{test}\n", prefix=begun)


def _test(ground_truth: dict[str, Any]) -> CodeProblem:
    """Read the key `test`.

    The value may be HumanEval's check, pytest functions (KodCode), unittest (BigCodeBench), a list of
    assertions (the LeetCode contest set), or SandboxFusion's list of {input: {stdin}, output: {stdout}} or
    {code}.
    """
    test = ground_truth["test"]
    if "entry_point" in ground_truth and (not isinstance(test, str) or _DEFINES_CHECK.search(test)):
        return _humaneval(ground_truth)
    if isinstance(test, str) and test.lstrip().startswith(("[", "{")) and is_json(test):
        test = from_json(test)
    if isinstance(test, list):
        return cases_of(ground_truth | {"test": test}, "test")
    labels = ground_truth.get("labels") or {}
    labels = from_json(labels) if isinstance(labels, str) else labels
    if isinstance(test, dict):
        if test.get("asset"):
            raise GroundTruthError("'test' has an 'asset', but tests that need files are not supported")
        language = labels.get("execution_language", labels.get("programming_language", "python"))
        if language not in ("python", "pytest"):
            raise GroundTruthError(f"the code in 'test' is {language}; expected python")
        test = test["code"]
    return replace(_source(test), prefix=ground_truth.get("prompt") or "")


def _test_code(ground_truth: dict[str, Any]) -> CodeProblem:
    """Read the key `test_code`, with KodCode's pytest functions or Skywork's `check` and its imports."""
    return _test(
        ground_truth | {"test": ground_truth["test_code"], "prompt": ground_truth.get("import_prefix") or ""}
    )


_DEFINES_CHECK = re.compile(r"^(?:def check\b|check\s*=)", re.MULTILINE)
"""Pattern for a HumanEval test. BigCodeBench also names an entry point, but its tests are unittests."""


def _source(test: str) -> CodeProblem:
    """Return the pytest functions in Python source as tests or, if there are none, its assertions.

    Raises:
        MissingDependencyError: The tests are pytest functions, and pytest is not installed.
    """
    source = test.replace("#<INSERT>", "")
    found = pytest_tests(source)
    if found is not None:
        require("a test file for pytest", "pytest", "code")
        return CodeProblem(tuple(AssertTest(name) for name in found), setup=source)
    return CodeProblem(tuple(AssertTest(s, before) for before, s in script_tests(source)))


def _assert_case(ground_truth: dict[str, Any]) -> CodeProblem:
    """Read verl's `assert_case`. Each string in it is one test, even if the string has several statements."""
    cases = ground_truth["assert_case"]
    cases = [cases] if isinstance(cases, str) else list_of(cases, "assert_case")
    return CodeProblem(
        tuple(from_assert(case) or AssertTest(case) for case in cases), limits=limits_in(ground_truth)
    )


def _mbpp(ground_truth: dict[str, Any]) -> CodeProblem:
    labels = ground_truth.get("labels") or {}
    labels = from_json(labels) if isinstance(labels, str) else labels
    listed = ground_truth["test_list"]
    listed = list_of(from_json(listed) if isinstance(listed, str) else listed, "test_list")
    tests = [*listed, *ground_truth.get("challenge_test_list", [])]
    setup = ground_truth.get("test_setup_code") or "\n".join(ground_truth.get("test_imports", []))
    setup = setup or labels.get("test_setup_code", "")
    plain = [from_assert(test) if not setup else None for test in tests]
    # These are the additional tests of MBPP+.
    more = _source(ground_truth["test"]) if ground_truth.get("test") else CodeProblem(())
    return CodeProblem(
        (*(case or AssertTest(t) for case, t in zip(plain, tests, strict=True)), *more.tests),
        setup="\n".join(filter(None, (setup, more.setup))),
    )


def _official_tests(ground_truth: dict[str, Any]) -> CodeProblem:
    """Read a row of open-r1's Codeforces dataset."""
    if ground_truth.get("input_mode") not in (None, "stdio"):
        raise GroundTruthError(
            f"'input_mode' is {ground_truth['input_mode']!r}, but programs that read or write files are not "
            "supported; expected 'stdio'"
        )
    if ground_truth.get("interaction_format"):
        raise GroundTruthError(
            "'interaction_format' is set, but programs that interact with another program are not supported"
        )
    checker = ground_truth.get("generated_checker") or ""
    if not isinstance(checker, str):
        raise GroundTruthError(f"'generated_checker' is a {type(checker).__name__}; expected source code")
    return replace(cases_of(ground_truth, "official_tests"), checker_program=checker)


def _cases_under(key: str) -> Callable[[dict[str, Any]], CodeProblem]:
    """Return a reader for a key with a list of cases, or with an object of input and output lists."""

    def form(ground_truth: dict[str, Any]) -> CodeProblem:
        cases = ground_truth[key]
        cases = from_json(cases) if isinstance(cases, str) else cases
        return _in_lists(ground_truth, cases) if isinstance(cases, dict) else cases_of(ground_truth, key)

    return form


def _in_lists(ground_truth: dict[str, Any], found: Any) -> CodeProblem:
    """Read lists of inputs and outputs in a ground truth, whose keys may be singular or plural."""
    found = from_json(found) if isinstance(found, str) else found
    if not isinstance(found, dict):
        raise GroundTruthError(
            f"expected an object with 'inputs' and 'outputs', found a {type(found).__name__}"
        )
    both = [found.get(name, found.get(f"{name}s")) for name in ("input", "output")]
    if None in both:
        raise GroundTruthError(f"expected 'inputs' and 'outputs', found keys: {', '.join(map(str, found))}")
    return _inputs_outputs(ground_truth | found | {"inputs": both[0], "outputs": both[1]})


FORMS: dict[str, Callable[[dict[str, Any]], CodeProblem]] = {
    "tests": _cases_under("tests"),
    "test_cases": _cases_under("test_cases"),
    "unit_tests": _cases_under("unit_tests"),
    "official_tests": _official_tests,
    "inputs": _inputs_outputs,
    "assert_case": _assert_case,
    "public_tests": _code_contests,
    "public_test_cases": _livecodebench,
    "test_list": _mbpp,
    "test": _test,
    "test_code": _test_code,
    "private_tests": _code_contests,
    "private_test_cases": _livecodebench,
    "input_output": lambda ground_truth: _in_lists(ground_truth, ground_truth["input_output"]),
    "output": lambda ground_truth: _in_lists(ground_truth, ground_truth),
}
