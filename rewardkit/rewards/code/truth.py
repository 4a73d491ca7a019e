"""Reads a ground truth into a `Problem`: every published form of test cases, none of it executed.

Forms, told apart by their keys: ours `{tests: [{input, output}]}`; verl, PRIME, APPS and TACO
`{inputs, outputs, fn_name}`; CodeContests `{public_tests: {input, output}, ...}`; LiveCodeBench
`{public_test_cases, private_test_cases, metadata}`; HumanEval `{test, entry_point, prompt}`;
MBPP `{test_list, test_setup_code}`.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
import zlib
from dataclasses import dataclass, field
from typing import Any

from rewardkit.rewards.code.assertions import CallCase, from_assert, from_check

_MAX_UNPACKED = 1 << 30
"""Bytes of LiveCodeBench's compressed tests, unpacked."""


class TruthError(ValueError):
    """The ground truth cannot be used; the sample is `invalid`."""


@dataclass(frozen=True, slots=True)
class StdinTest:
    """The program reads `input` and has to print `output`."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class AssertTest:
    """A statement that must not raise, run apart from the program."""

    source: str


Test = StdinTest | CallCase | AssertTest


@dataclass(frozen=True)
class Problem:
    """Everything needed to judge a program."""

    tests: tuple[Test, ...]
    weights: tuple[float, ...] = ()
    setup: str = ""
    """Runs before the assertions, in their process."""
    prefix: str = ""
    """Stands before the program: HumanEval's prompt, whose completion may be the function's body alone."""
    comparator: str | None = None
    checker: str | None = None
    limits: dict[str, float] = field(default_factory=dict)


def read(text: str) -> Problem:
    """Return the problem that a ground truth describes.

    Raises:
        TruthError: it is none of the known forms, or has no tests.
    """
    try:
        truth = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TruthError(f"the ground truth is not JSON: {str(error)[:120]}") from None
    if isinstance(truth, list):
        truth = {"test_list": truth} if all(isinstance(t, str) for t in truth) else {"tests": truth}
    if not isinstance(truth, dict):
        raise TruthError(f"expected a JSON object with test cases, found {type(truth).__name__}")
    for key, form in _FORMS.items():
        if key in truth:
            try:
                problem = form(truth)
            except (KeyError, TypeError, AttributeError, IndexError) as error:
                raise TruthError(f"malformed '{key}': {type(error).__name__}: {error}") from None
            if not problem.tests:
                raise TruthError("it has no tests, so there is nothing to judge by")
            return problem
    keys = ", ".join(sorted(map(str, truth))[:8]) or "none"
    raise TruthError(f"no known form of test cases; expected one of {', '.join(_FORMS)}, found keys: {keys}")


def _own(truth: dict[str, Any]) -> Problem:
    function = truth.get("fn_name")
    tests: list[Test] = []
    for case in truth["tests"]:
        if isinstance(case, str):
            tests.append(from_assert(case) or AssertTest(case))
        elif name := case.get("fn_name", function):
            tests.append(CallCase(name, case["input"], case["output"]))
        else:
            tests.append(StdinTest(_text(case["input"]), _text(case["output"])))
    weights = [float(c.get("weight", 1.0)) if isinstance(c, dict) else 1.0 for c in truth["tests"]]
    if any(not 0 <= w < float("inf") for w in weights) or (weights and not sum(weights)):
        raise TruthError("weights must be finite, not negative, and not all zero")
    return Problem(
        tuple(tests),
        tuple(weights),
        setup=truth.get("setup", ""),
        comparator=truth.get("comparator"),
        checker=truth.get("checker"),
        limits={name: float(value) for name, value in truth.get("limits", {}).items()},
    )


def _inputs_outputs(truth: dict[str, Any]) -> Problem:
    inputs, outputs, function = truth["inputs"], truth["outputs"], truth.get("fn_name")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise TruthError("'inputs' and 'outputs' must be lists of one length")
    if function:
        return Problem(_call_tests(function, inputs, outputs))
    return Problem(tuple(StdinTest(_text(i), _text(o)) for i, o in zip(inputs, outputs, strict=True)))


def _call_tests(function: str, inputs: list[Any], outputs: list[Any]) -> tuple[CallCase, ...]:
    """Cases of a function: inputs are lists of arguments, or text with one JSON value a line."""
    cases = [_json_lines(i) if isinstance(i, str) else i for i in inputs]
    expected = [_json(o) if isinstance(o, str) else o for o in outputs]
    if any(not isinstance(case, list) for case in cases):
        raise TruthError("the inputs of a function must be lists of arguments")
    # APPS and TACO wrap each result in a list; whether a problem does shows only in all of it together.
    wrapped = all(isinstance(o, list) and len(o) == 1 for o in expected)
    return tuple(CallCase(function, c, o, wrapped=wrapped) for c, o in zip(cases, expected, strict=True))


def _code_contests(truth: dict[str, Any]) -> Problem:
    tests: list[Test] = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        group = truth.get(name) or {}
        for given, wanted in zip(group.get("input", ()), group.get("output", ()), strict=True):
            tests.append(StdinTest(given, wanted))
    return Problem(tuple(tests))


def _livecodebench(truth: dict[str, Any]) -> Problem:
    cases = [*_lcb_cases(truth.get("public_test_cases")), *_lcb_cases(truth.get("private_test_cases"))]
    metadata = truth.get("metadata") or {}
    metadata = _json(metadata) if isinstance(metadata, str) else metadata
    function = metadata.get("func_name") or truth.get("fn_name")
    if function:
        inputs = [_json_lines(case["input"]) for case in cases]
        return Problem(
            tuple(CallCase(function, i, _json(c["output"])) for i, c in zip(inputs, cases, strict=True))
        )
    return Problem(tuple(StdinTest(case["input"], case["output"]) for case in cases))


def _lcb_cases(field: Any) -> list[dict[str, Any]]:
    if not field:
        return []
    if isinstance(field, str):
        field = _json(field) if field.lstrip().startswith("[") else _json(unpack(field))
    if not isinstance(field, list):
        raise TruthError("LiveCodeBench's test cases must be a list")
    return field


def unpack(text: str) -> str:
    """Return the JSON text in LiveCodeBench's base64(zlib(pickle(str))), without unpickling.

    Only the opcodes of a single string are accepted; a pickle with anything else, which could run code
    when it is loaded, is refused.

    Raises:
        TruthError: it is not such a string.
    """
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(text, validate=True), _MAX_UNPACKED)
        found: str | None = None
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8") and found is None:
                found = str(argument)
            elif opcode.name not in ("PROTO", "FRAME", "MEMOIZE", "BINPUT", "STOP"):
                raise TruthError(
                    f"packed test cases hold the pickle opcode {opcode.name}; refused: only a text is safe"
                )
    except (zlib.error, binascii.Error, ValueError) as error:
        if isinstance(error, TruthError):
            raise
        raise TruthError(f"packed test cases cannot be read: {str(error)[:120]}") from None
    if found is None:
        raise TruthError("packed test cases hold no text")
    return found


def _humaneval(truth: dict[str, Any]) -> Problem:
    entry, test, prompt = truth["entry_point"], truth["test"], truth.get("prompt", "")
    if cases := from_check(test, entry):
        return Problem(tuple(cases), prefix=prompt)
    # The prompt's helper functions are the assertions' own; its function is the program's.
    setup = f"{prompt}\n\n{entry} = __candidate__({entry!r})\n{test}\n"
    return Problem((AssertTest(f"check({entry})"),), setup=setup, prefix=prompt)


def _mbpp(truth: dict[str, Any]) -> Problem:
    tests = [*truth["test_list"], *truth.get("challenge_test_list", [])]
    setup = truth.get("test_setup_code") or "\n".join(truth.get("test_imports", []))
    plain = [from_assert(test) if not setup else None for test in tests]
    return Problem(tuple(case or AssertTest(t) for case, t in zip(plain, tests, strict=True)), setup=setup)


_FORMS = {
    "tests": _own,
    "inputs": _inputs_outputs,
    "public_tests": _code_contests,
    "public_test_cases": _livecodebench,
    "entry_point": _humaneval,
    "test_list": _mbpp,
    "private_tests": _code_contests,
    "private_test_cases": _livecodebench,
}


def _text(value: Any) -> str:
    """A test's text; some sets hold a list of lines."""
    if isinstance(value, list):
        return "\n".join(map(str, value))
    if not isinstance(value, str):
        raise TruthError(f"a test's input and output must be text, found {type(value).__name__}")
    return value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise TruthError(f"expected JSON in a test, found {text[:60]!r}") from None


def _json_lines(text: str) -> list[Any]:
    return [_json(line) for line in text.split("\n") if line.strip()]
