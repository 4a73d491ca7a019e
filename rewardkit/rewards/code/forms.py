"""The published forms of test cases, each read into a `CodeProblem`; a key tells them apart. Runs none of it.

Whether a text among the tests of a function is a value or JSON for one is settled for all tests of a problem
together; where both are possible the problem is refused, and the message names both.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rewardkit.rewards.code.assertions import METHOD, CallCase, from_assert, from_check, with_body
from rewardkit.rewards.code.problem import AssertTest, CodeProblem, GroundTruthError, StdinTest, Test
from rewardkit.rewards.code.scripts import pytest_tests, script_tests

_MAX_UNPACKED = 1 << 30
"""Bytes of LiveCodeBench's compressed tests, unpacked."""


def _cases(ground_truth: dict[str, Any], key: str) -> CodeProblem:
    """A list of cases: ours, open-r1's and PrimeIntellect's, DeepCoder's, SandboxFusion's.

    A case is an assertion as text, or an object of `input`, `output` and perhaps `weight`, `fn_name`,
    `type` or `testtype`, and LiveCodeBench's `metadata`.
    """
    cases = [_with_output(case) for case in _list(ground_truth[key], key)]
    weights = [float(c.get("weight", 1.0)) if isinstance(c, dict) else 1.0 for c in cases]
    if any(not 0 <= w < float("inf") for w in weights) or (weights and not sum(weights)):
        raise GroundTruthError("weights must be finite, not negative, and not all zero")
    return CodeProblem(
        _tests(cases, ground_truth),
        tuple(weights),
        setup=ground_truth.get("setup", ""),
        comparator=ground_truth.get("comparator"),
        checker=ground_truth.get("checker"),
        limits=_limits(ground_truth),
    )


def _with_output(case: Any) -> Any:
    """A case whose `output` is called `expected_output`, or `expected`, too."""
    if not isinstance(case, dict) or "output" in case:
        return case
    named = next((name for name in ("expected_output", "expected") if name in case), None)
    return case if named is None else case | {"output": case[named]}


def _tests(cases: list[Any], ground_truth: dict[str, Any]) -> tuple[Test, ...]:
    named = [None if isinstance(case, str) else _function_of(case, ground_truth) for case in cases]
    found: list[Test | None] = [None] * len(cases)
    for name in dict.fromkeys(named):
        chosen = [i for i, other in enumerate(named) if other == name and not isinstance(cases[i], str)]
        if name:
            wrapped = any(str(cases[i].get("type", "")).startswith("function") for i in chosen)
            calls = _call_tests(
                name, [cases[i]["input"] for i in chosen], [cases[i]["output"] for i in chosen], wrapped
            )
            for i, call in zip(chosen, calls, strict=True):
                found[i] = call
        else:
            for i in chosen:
                found[i] = StdinTest(_text(cases[i]["input"], "stdin"), _text(cases[i]["output"], "stdout"))
    return tuple(
        test if test is not None else (from_assert(case) or AssertTest(case))
        for test, case in zip(found, cases, strict=True)
    )


def _function_of(case: dict[str, Any], ground_truth: dict[str, Any]) -> str | None:
    """The function that a case calls; None if it runs the program on standard input."""
    kind = str(case.get("testtype") or case.get("type") or "")
    name = case.get("fn_name") or _metadata(case).get("func_name")
    name = name or ground_truth.get("fn_name") or _metadata(ground_truth).get("func_name")
    if kind.startswith("stdin"):
        return None
    if kind.startswith("function") and not name:
        raise GroundTruthError(
            f"a test is of the kind {kind!r} but names no function; expected 'fn_name', or 'func_name' in "
            "its 'metadata'"
        )
    return name


def _metadata(holder: dict[str, Any]) -> dict[str, Any]:
    found = holder.get("metadata") or {}
    found = _json(found) if isinstance(found, str) else found
    return found if isinstance(found, dict) else {}


def _call_tests(
    function: str, inputs: list[Any], outputs: list[Any], may_wrap: bool = True
) -> tuple[CallCase, ...]:
    """Cases of a function: inputs are lists of arguments, or text with one JSON value a line.

    Args:
        function: Its name.
        inputs: One for each case.
        outputs: One for each case; JSON texts if the inputs are texts, values otherwise.
        may_wrap: The set is one of those that wrap each result in a list, as APPS and TACO do. Whether a
            problem does shows only in all of its outputs together.
    """
    as_text = [isinstance(i, str) for i in inputs]
    if any(as_text) and not all(as_text):
        raise GroundTruthError(
            f"the inputs of '{function}' are texts and values; as texts they would be JSON, one argument a "
            "line, as values they would be the arguments: expected one of both"
        )
    if inputs and as_text[0]:
        inputs = [_json_lines(i) for i in inputs]
        outputs = _json_outputs(outputs)
    cases = [_arguments(i) for i in inputs]
    wrapped = may_wrap and all(isinstance(o, list) and len(o) == 1 for o in outputs)
    return tuple(CallCase(function, c, o, wrapped=wrapped) for c, o in zip(cases, outputs, strict=True))


def _arguments(given: Any) -> list[Any]:
    if isinstance(given, dict):
        raise GroundTruthError(
            "the input of a function is an object: it could be its keyword arguments or its one argument; "
            "expected a list of arguments"
        )
    return given if isinstance(given, list) else [given]


def _json_outputs(outputs: list[Any]) -> list[Any]:
    """The results of a function whose inputs are JSON texts: all JSON, or all plain texts."""
    texts = [o for o in outputs if isinstance(o, str)]
    if len(texts) < len(outputs):
        if any(_is_json(o) for o in texts):
            raise GroundTruthError(
                "some outputs of the function are values and some are texts that are JSON; those could be "
                "the texts themselves or the values that they write: expected one of both"
            )
        return outputs
    readable = [_is_json(o) for o in texts]
    if all(readable):
        return [_json(o) for o in texts]
    if any(readable):
        one, other = texts[readable.index(True)], texts[readable.index(False)]
        raise GroundTruthError(
            f"the output {one[:40]!r} could be a text or the value that it writes as JSON, which "
            f"{other[:40]!r} beside it is not; expected all of one kind"
        )
    return outputs


def _inputs_outputs(ground_truth: dict[str, Any]) -> CodeProblem:
    """The form of APPS, TACO, PRIME and verl; with `assert_case` in it the assertions alone count there."""
    if ground_truth.get("assert_case"):
        return _assert_case(ground_truth)
    inputs = ground_truth["inputs"]
    outputs = ground_truth["outputs"]
    function = ground_truth.get("fn_name")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise GroundTruthError("'inputs' and 'outputs' must be lists of one length")
    if function:
        tests: tuple[Test, ...] = _call_tests(function, inputs, outputs)
    else:
        tests = tuple(StdinTest(_text(i), _text(o)) for i, o in zip(inputs, outputs, strict=True))
    return CodeProblem(tests, limits=_limits(ground_truth))


def _code_contests(ground_truth: dict[str, Any]) -> CodeProblem:
    for key in ("input_file", "output_file"):
        if ground_truth.get(key):
            raise GroundTruthError(
                f"'{key}' is {str(ground_truth[key])[:40]!r}; expected standard input and output"
            )
    tests: list[Test] = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        group = ground_truth.get(name) or {}
        for given, wanted in zip(group.get("input", ()), group.get("output", ()), strict=True):
            tests.append(StdinTest(given, wanted))
    return CodeProblem(tuple(tests), limits=_limits(ground_truth))


def _livecodebench(ground_truth: dict[str, Any]) -> CodeProblem:
    cases = [
        *_lcb_cases(ground_truth.get("public_test_cases")),
        *_lcb_cases(ground_truth.get("private_test_cases")),
    ]
    function = _metadata(ground_truth).get("func_name") or ground_truth.get("fn_name")
    if not function:
        return CodeProblem(_tests(cases, ground_truth), limits=_limits(ground_truth))
    inputs, outputs = [case["input"] for case in cases], [case["output"] for case in cases]
    return CodeProblem(_call_tests(function, inputs, outputs, may_wrap=False), limits=_limits(ground_truth))


def _lcb_cases(field: Any) -> list[dict[str, Any]]:
    if not field:
        return []
    if isinstance(field, str):
        field = _json(field) if field.lstrip().startswith("[") else _json(unpack(field))
    if not isinstance(field, list):
        raise GroundTruthError("LiveCodeBench's test cases must be a list")
    return field


def unpack(text: str) -> str:
    """Return the JSON text in LiveCodeBench's base64(zlib(pickle(str))), without unpickling.

    Only the opcodes of a single string are accepted; a pickle with anything else, which could run code
    when it is loaded, is refused.

    Raises:
        GroundTruthError: it is not such a string.
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
                    f"packed test cases hold the pickle opcode {opcode.name}; refused: only a text is safe"
                )
    except (zlib.error, binascii.Error, ValueError) as error:
        if isinstance(error, GroundTruthError):
            raise
        raise GroundTruthError(f"packed test cases cannot be read: {str(error)[:120]}") from None
    if found is None:
        raise GroundTruthError("packed test cases hold no text")
    return found


def _humaneval(ground_truth: dict[str, Any]) -> CodeProblem:
    """HumanEval, and LeetCodeDataset, whose entry point is `Solution().name`."""
    entry = ground_truth["entry_point"]
    test = ground_truth["test"]
    prompt = ground_truth.get("prompt", "")
    if cases := from_check(test, entry):
        return CodeProblem(tuple(cases), prefix=prompt)
    prompt, begun = with_body(prompt), prompt
    # The prompt's helper functions are the assertions' own; its function is the program's.
    if entry.isidentifier():
        setup = f"{prompt}\n\n{entry} = __candidate__({entry!r})\n{test}\n"
        return CodeProblem((AssertTest(f"check({entry})"),), setup=setup, prefix=begun)
    owner = entry.partition("(")[0]  # of Solution().name: the prompt has one of its own, without the method
    theirs = f"{owner} = __candidate__({owner!r})\n" if METHOD.fullmatch(entry) else ""
    return CodeProblem((AssertTest(f"check({entry})"),), setup=f"{prompt}\n\n{theirs}{test}\n", prefix=begun)


def _test(ground_truth: dict[str, Any]) -> CodeProblem:
    """`test`: HumanEval's check, pytest functions (KodCode), unittest (BigCodeBench), assertions in a row
    (the LeetCode contest set), or SandboxFusion: a list of {input: {stdin}, output: {stdout}} or {code}."""
    test = ground_truth["test"]
    if "entry_point" in ground_truth and (not isinstance(test, str) or _DEFINES_CHECK.search(test)):
        return _humaneval(ground_truth)
    if isinstance(test, str) and test.lstrip().startswith(("[", "{")) and _is_json(test):
        test = _json(test)
    if isinstance(test, list):
        return _cases(ground_truth | {"test": test}, "test")
    labels = ground_truth.get("labels") or {}
    labels = _json(labels) if isinstance(labels, str) else labels
    if isinstance(test, dict):
        if test.get("asset"):
            raise GroundTruthError("'test' needs files beside the program ('asset'), which runs cannot have")
        language = labels.get("execution_language", labels.get("programming_language", "python"))
        if language not in ("python", "pytest"):
            raise GroundTruthError(f"the code in 'test' is {language}; expected python")
        test = test["code"]
    return replace(_source(test), prefix=ground_truth.get("prompt") or "")


_DEFINES_CHECK = re.compile(r"^(?:def check\b|check\s*=)", re.MULTILINE)
"""What makes a test HumanEval's. BigCodeBench's names an entry point too, and is a unittest."""


def _source(test: str) -> CodeProblem:
    """Python source of tests: pytest functions if it has any, else its assertions one by one."""
    source = test.replace("#<INSERT>", "")
    found = pytest_tests(source)
    if found is not None:
        return CodeProblem(tuple(AssertTest(name) for name in found), setup=source)
    return CodeProblem(tuple(AssertTest(s, before) for before, s in script_tests(source)))


def _assert_case(ground_truth: dict[str, Any]) -> CodeProblem:
    """verl's `assert_case`: each text is one test, however many statements it has."""
    cases = ground_truth["assert_case"]
    cases = [cases] if isinstance(cases, str) else _list(cases, "assert_case")
    return CodeProblem(
        tuple(from_assert(case) or AssertTest(case) for case in cases), limits=_limits(ground_truth)
    )


def _mbpp(ground_truth: dict[str, Any]) -> CodeProblem:
    labels = ground_truth.get("labels") or {}
    labels = _json(labels) if isinstance(labels, str) else labels
    listed = ground_truth["test_list"]
    listed = _list(_json(listed) if isinstance(listed, str) else listed, "test_list")
    tests = [*listed, *ground_truth.get("challenge_test_list", [])]
    setup = ground_truth.get("test_setup_code") or "\n".join(ground_truth.get("test_imports", []))
    setup = setup or labels.get("test_setup_code", "")
    plain = [from_assert(test) if not setup else None for test in tests]
    return CodeProblem(
        tuple(case or AssertTest(t) for case, t in zip(plain, tests, strict=True)), setup=setup
    )


def _official_tests(ground_truth: dict[str, Any]) -> CodeProblem:
    """open-r1's Codeforces rows."""
    if ground_truth.get("input_mode") not in (None, "stdio"):
        raise GroundTruthError(
            f"'input_mode' is {ground_truth['input_mode']!r}: programs with files are not run; "
            "expected 'stdio'"
        )
    if ground_truth.get("interaction_format"):
        raise GroundTruthError("'interaction_format': the program would have to talk to another")
    checker = ground_truth.get("generated_checker") or ""
    if not isinstance(checker, str):
        raise GroundTruthError(f"'generated_checker' is a {type(checker).__name__}; expected a program")
    return replace(_cases(ground_truth, "official_tests"), checker_program=checker)


def _test_cases(ground_truth: dict[str, Any]) -> CodeProblem:
    """A list of cases, or the lists of their inputs and outputs."""
    cases = ground_truth["test_cases"]
    cases = _json(cases) if isinstance(cases, str) else cases
    return (
        _cases(ground_truth, "test_cases") if not isinstance(cases, dict) else _in_lists(ground_truth, cases)
    )


def _in_lists(ground_truth: dict[str, Any], found: Any) -> CodeProblem:
    """The lists of inputs and outputs within a ground truth, under either name of both."""
    found = _json(found) if isinstance(found, str) else found
    if not isinstance(found, dict):
        raise GroundTruthError(f"expected inputs and outputs, found a {type(found).__name__}")
    both = [found.get(name, found.get(f"{name}s")) for name in ("input", "output")]
    if None in both:
        raise GroundTruthError(f"expected 'inputs' and 'outputs', found keys: {', '.join(map(str, found))}")
    return _inputs_outputs(ground_truth | found | {"inputs": both[0], "outputs": both[1]})


FORMS: dict[str, Callable[[dict[str, Any]], CodeProblem]] = {
    "tests": lambda ground_truth: _cases(ground_truth, "tests"),
    "test_cases": _test_cases,
    "official_tests": _official_tests,
    "inputs": _inputs_outputs,
    "assert_case": _assert_case,
    "public_tests": _code_contests,
    "public_test_cases": _livecodebench,
    "test_list": _mbpp,
    "test": _test,
    "test_code": lambda ground_truth: _source(ground_truth["test_code"]),
    "private_tests": _code_contests,
    "private_test_cases": _livecodebench,
    "input_output": lambda ground_truth: _in_lists(ground_truth, ground_truth["input_output"]),
    "output": lambda ground_truth: _in_lists(ground_truth, ground_truth),
}


def _limits(ground_truth: dict[str, Any]) -> dict[str, float]:
    limits = {name: float(value) for name, value in (ground_truth.get("limits") or {}).items()}
    given = ground_truth.get("time_limit")
    if isinstance(given, dict):  # CodeContests: {seconds, nanos}
        given = float(given.get("seconds") or 0) + float(given.get("nanos") or 0) / 1e9
    if isinstance(given, str):  # TACO: "2.0 seconds"
        given = given.split()[0] if given.strip() else None
    return limits | ({"time_limit": float(given)} if given else {})


def _text(value: Any, stream: str = "") -> str:
    """A test's text; some sets hold a list of lines, SandboxFusion an object of streams."""
    if isinstance(value, dict) and stream:
        if set(value) - {stream}:
            raise GroundTruthError(f"a test has the files {sorted(value)}; expected {stream} alone")
        value = value.get(stream, "")
    if isinstance(value, list):
        if not all(isinstance(line, str) for line in value):
            raise GroundTruthError(
                "a test's input or output is a list of values: they could be the lines of a text, or what a "
                "function takes and returns; expected texts, or 'fn_name'"
            )
        return "\n".join(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # JSON that was read once too often
    if not isinstance(value, str):
        raise GroundTruthError(f"a test's input and output must be text, found {type(value).__name__}")
    return value


def _list(value: Any, key: str) -> list[Any]:
    value = _json(value) if isinstance(value, str) else value
    if not isinstance(value, list):
        raise GroundTruthError(f"'{key}' must be a list of tests, found {type(value).__name__}")
    return value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise GroundTruthError(f"expected JSON in a test, found {text[:60]!r}") from None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _json_lines(text: str) -> list[Any]:
    return [_json(line) for line in text.split("\n") if line.strip()]
