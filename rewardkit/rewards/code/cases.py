"""Reads lists of test cases, with any common names for inputs and outputs, and finds function calls.

Strings in a function's tests may be plain values or JSON. The tests of a problem are either all plain values
or all JSON. If the tests mix both, the problem is rejected with an example of each.
"""

from __future__ import annotations

from typing import Any

from rewardkit.rewards.code.assertions import CallCase, from_assert
from rewardkit.rewards.code.plain_values import (
    from_json,
    is_json,
    json_lines,
    limits_in,
    list_of,
    metadata_of,
    text_of,
)
from rewardkit.rewards.code.problem import AssertTest, CodeProblem, GroundTruthError, StdinTest, Test


def cases_of(ground_truth: dict[str, Any], key: str) -> CodeProblem:
    """Return the problem that a list of cases describes.

    The list may have rewardkit's own format, or the format of open-r1, PrimeIntellect, DeepCoder or
    SandboxFusion.

    A case is an assertion as text, or an object with `input`, `output` (or other common names for these keys)
    and optionally `weight`, `fn_name`, `type` or `testtype`, and LiveCodeBench's `metadata`.
    """
    cases = [_named(case, i) for i, case in enumerate(list_of(ground_truth[key], key), start=1)]
    weights = [float(c.get("weight", 1.0)) if isinstance(c, dict) else 1.0 for c in cases]
    if any(not 0 <= w < float("inf") for w in weights) or (weights and not sum(weights)):
        raise GroundTruthError("the weights of the tests must be finite, not negative, and not all zero")
    return CodeProblem(
        tests_of(cases, ground_truth),
        tuple(weights),
        setup=ground_truth.get("setup", ""),
        comparator=ground_truth.get("comparator"),
        checker=ground_truth.get("checker"),
        limits=limits_in(ground_truth),
    )


_INPUTS = ("input", "stdin", "args", "arguments", "in")
_OUTPUTS = ("output", "expected_output", "expected", "expected_result", "stdout", "answer", "out")
"""Keys for inputs and for outputs, in order of precedence."""


def _named(case: Any, number: int) -> Any:
    """Return a case with the keys `input` and `output`. A string, which is an assertion, stays as it is."""
    if isinstance(case, str):
        return case
    if not isinstance(case, dict):
        raise GroundTruthError(
            f"test {number} is a {type(case).__name__}; expected an object with input and output"
        )
    if case.get("kwargs"):
        raise GroundTruthError(
            f"test {number} has 'kwargs', which are not supported; list the arguments in order in 'input'"
        )
    both = [next((name for name in names if name in case), None) for names in (_INPUTS, _OUTPUTS)]
    if None in both:
        wanted, tried = ("input", _INPUTS) if both[0] is None else ("output", _OUTPUTS)
        raise GroundTruthError(
            f"test {number} has no {wanted}; expected one of {', '.join(tried)}, found keys: "
            f"{', '.join(map(str, case)) or 'none'}"
        )
    return case | {"input": case[both[0]], "output": case[both[1]]}


def tests_of(cases: list[Any], ground_truth: dict[str, Any]) -> tuple[Test, ...]:
    """Return the function calls, runs on standard input and assertions that the cases describe."""
    named = [None if isinstance(case, str) else _function_of(case, ground_truth) for case in cases]
    found: list[Test | None] = [None] * len(cases)
    for name in dict.fromkeys(named):
        chosen = [i for i, other in enumerate(named) if other == name and not isinstance(cases[i], str)]
        if name:
            wrapped = any(str(cases[i].get("type", "")).startswith("function") for i in chosen)
            calls = call_tests(
                name, [cases[i]["input"] for i in chosen], [cases[i]["output"] for i in chosen], wrapped
            )
            for i, call in zip(chosen, calls, strict=True):
                found[i] = call
        else:
            for i in chosen:
                found[i] = StdinTest(
                    text_of(cases[i]["input"], "stdin"), text_of(cases[i]["output"], "stdout")
                )
    return tuple(
        test if test is not None else (from_assert(case) or AssertTest(case))
        for test, case in zip(found, cases, strict=True)
    )


def function_in(holder: dict[str, Any]) -> str | None:
    """Return the function name in a case or a whole ground truth, or None if there is none."""
    for name in ("fn_name", "func_name", "function_name", "entry_point"):
        if holder.get(name):
            return str(holder[name])
    return metadata_of(holder).get("func_name") or None


def _function_of(case: dict[str, Any], ground_truth: dict[str, Any]) -> str | None:
    """Return the function that a case calls, or None if the case runs the program on standard input."""
    kind = str(case.get("testtype") or case.get("type") or "")
    name = function_in(case) or function_in(ground_truth)
    if kind.startswith("stdin"):
        return None
    if kind.startswith("function") and not name:
        raise GroundTruthError(
            f"a test of the type {kind!r} has no function name; set 'fn_name', or 'func_name' in the test's "
            "'metadata'"
        )
    return name


def call_tests(
    function: str, inputs: list[Any], outputs: list[Any], may_wrap: bool = True
) -> tuple[CallCase, ...]:
    """Return the test cases for a function.

    Args:
        function: Name of the function.
        inputs: Input of each case, either a list of arguments or a string with one JSON value per line.
        outputs: Output of each case, which is a JSON string if the inputs are strings, and otherwise a value.
        may_wrap: True if the dataset may wrap each result in a list, as APPS and TACO do. All outputs of the
            problem together then determine whether the results are wrapped.
    """
    as_text = [isinstance(i, str) for i in inputs]
    if any(as_text) and not all(as_text):
        raise GroundTruthError(
            f"the inputs of '{function}' mix strings (JSON, one argument per line) and values (the "
            "arguments); expected only strings or only values"
        )
    if inputs and as_text[0]:
        inputs = [json_lines(i) for i in inputs]
        outputs = _json_outputs(outputs)
    cases = [_arguments(i) for i in inputs]
    wrapped = may_wrap and all(isinstance(o, list) and len(o) == 1 for o in outputs)
    return tuple(CallCase(function, c, o, wrapped=wrapped) for c, o in zip(cases, outputs, strict=True))


def _arguments(given: Any) -> list[Any]:
    if isinstance(given, dict):
        raise GroundTruthError(
            "the input of a function is an object, which could be keyword arguments or one argument; "
            "expected a list of arguments"
        )
    return given if isinstance(given, list) else [given]


def _json_outputs(outputs: list[Any]) -> list[Any]:
    """Return the outputs for JSON inputs of a function. All must be JSON, or all must be plain text."""
    texts = [o for o in outputs if isinstance(o, str)]
    if len(texts) < len(outputs):
        if any(is_json(o) for o in texts):
            raise GroundTruthError(
                "some test outputs of the function are values and some are JSON strings; "
                "expected only values or only strings"
            )
        return outputs
    readable = [is_json(o) for o in texts]
    if all(readable):
        return [from_json(o) for o in texts]
    if any(readable):
        one, other = texts[readable.index(True)], texts[readable.index(False)]
        raise GroundTruthError(
            f"the test output {one[:40]!r} is JSON, but the test output {other[:40]!r} is not; expected only "
            "JSON or only plain text"
        )
    return outputs
