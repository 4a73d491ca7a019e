"""Runs a program on a problem's tests in the sandbox and decides each; the only user of both.

Expected outputs stay here. They are compared with what came out of the jail, as bytes or as tagged JSON
that is decoded without running anything.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardkit.rewards.code import compare
from rewardkit.rewards.code.assertions import CallCase
from rewardkit.rewards.code.truth import AssertTest, Problem, StdinTest, TruthError
from rewardkit.sandbox import Answer, Limits, Outcome, Sandbox
from rewardkit.sandbox.box import explain, within
from rewardkit.sandbox.jail import values

_SHOWN = 80
_KEPT = 2000
"""Characters of each text of a failed test that are kept for whoever asks to see them."""


class SandboxFailed(RuntimeError):
    """The sandbox, not the program, failed: this is no judgement."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one test."""

    passed: bool
    status: str
    """`passed`, `wrong`, how the run ended, or `not_run`."""
    reason: str = ""
    cpu_s: float = 0.0
    given: str = ""
    """The input, the call or the assertion of a failed test; with `expected` and `got`, cut to 2,000
    characters each."""
    expected: str = ""
    got: str = ""


NOT_RUN = Verdict(False, "not_run", "not run")


@dataclass(frozen=True, slots=True)
class Rules:
    """How tests are run and compared."""

    comparator: str
    checker: str | None
    limits: Limits
    total_s: float
    stop: bool
    """Nothing after a failure can change the score, so nothing more is run."""
    prelude: bool
    compat: str | None


def judge(sandbox: Sandbox, program: str, problem: Problem, rules: Rules) -> list[Verdict]:
    """Return one verdict for each test of the problem.

    Raises:
        SandboxFailed: a run could not be made.
    """
    deadline = time.monotonic() + rules.total_s
    verdicts: list[Verdict] = [NOT_RUN] * len(problem.tests)
    for kind, play in ((StdinTest, _run_stdin), (CallCase, _run_calls), (AssertTest, _run_asserts)):
        chosen = [(i, t) for i, t in enumerate(problem.tests) if isinstance(t, kind)]
        if not chosen or (rules.stop and any(v.status not in ("passed", "not_run") for v in verdicts)):
            continue
        found = play(sandbox, program, problem, [t for _, t in chosen], rules, deadline)
        for (position, _), verdict in zip(chosen, found, strict=False):
            verdicts[position] = verdict
    return verdicts


def _run_stdin(
    sandbox: Sandbox, program: str, problem: Problem, tests: Sequence[Any], rules: Rules, deadline: float
) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for test in tests:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        outcome = sandbox.run(program, test.input, within(rules.limits, left), prelude=rules.prelude)
        verdict = _judge_output(sandbox, test, outcome, rules)
        verdicts.append(verdict)
        if rules.stop and not verdict.passed:
            break
    return verdicts


def _judge_output(sandbox: Sandbox, test: StdinTest, outcome: Outcome, rules: Rules) -> Verdict:
    if outcome.status in ("sandbox_error", "cancelled"):
        raise SandboxFailed(outcome.detail or outcome.status)
    got = outcome.stdout.decode("utf-8", "surrogateescape")
    shown = (test.input[:_KEPT], test.output[:_KEPT], got[:_KEPT])
    if not outcome.ok and not (rules.compat and _exited_on_purpose(outcome)):
        reason = f"input {_short(test.input)}: {explain(outcome)}"
        return Verdict(False, outcome.status, reason, outcome.cpu_s, *shown)
    if rules.checker:
        passed = _ask_checker(sandbox, rules.checker, test.input, got, test.output, rules.limits)
    else:
        passed = compare.TEXT[rules.comparator](got, test.output)
    if passed:
        return Verdict(True, "passed", "", outcome.cpu_s)
    reason = f"input {_short(test.input)}: expected {_short(test.output)}, got {_short(got)}"
    return Verdict(False, "wrong", reason, outcome.cpu_s, *shown)


def _exited_on_purpose(outcome: Outcome) -> bool:
    """verl and LiveCodeBench take `sys.exit(1)` after the right output for success."""
    return (
        outcome.status == "runtime_error"
        and (outcome.exit_code or 0) > 0
        and b"Traceback" not in outcome.stderr
    )


def _ask_checker(sandbox: Sandbox, checker: str, given: str, got: str, expected: str, limits: Limits) -> bool:
    """Call the checker on (input, output, expected) in a jail of its own: the output is hostile data."""
    path, _, function = checker.rpartition(":")
    try:
        source = Path(path).read_text()
    except OSError as error:
        raise TruthError(
            f"the checker '{checker}' cannot be read ({error.strerror}); expected path.py:function"
        ) from None
    (answer,) = sandbox.call(source, function, [[given, got, expected]], replace(limits, wall_s=None))
    if answer.status != "ok":
        raise TruthError(f"the checker '{checker}' failed: {answer.error}")
    return values.decode(values.loads(answer.value)["value"]) is True


def _run_calls(
    sandbox: Sandbox, program: str, problem: Problem, tests: Sequence[Any], rules: Rules, deadline: float
) -> list[Verdict]:
    function = tests[0].function
    if any(test.function != function for test in tests):  # cases of several functions: a batch for each
        return [_run_calls(sandbox, program, problem, [t], rules, deadline)[0] for t in tests]
    cases = [test.arguments for test in tests]
    answers = sandbox.call(program, function, cases, rules.limits, deadline=deadline, stop=rules.stop)
    return [_judge_answer(test, answer, rules.compat) for test, answer in zip(tests, answers, strict=True)]


def _judge_answer(test: CallCase, answer: Answer, compat: str | None) -> Verdict:
    call = f"{test.function}({', '.join(map(_repr, test.arguments))})"
    if answer.status == "sandbox_error":
        raise SandboxFailed(answer.error)
    given, expected = call[:_KEPT], _repr(test.expected)[:_KEPT]
    if answer.status != "ok":
        return Verdict(False, str(answer.status), f"{_cut(call)}: {answer.error}", 0.0, given, expected)
    # A result much larger than the expected one is wrong unread: reading it is the model's to make slow.
    if len(answer.value) > 4096 + 16 * len(json.dumps(values.encode(test.expected))):
        reason = f"{_cut(call)}: expected {_short(test.expected)}, got something far larger"
        return Verdict(False, "wrong", reason, 0.0, given, expected)
    try:
        got = values.decode(values.loads(answer.value)["value"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{_cut(call)}: an unreadable answer ({type(error).__name__})"
        return Verdict(False, "wrong", reason, 0.0, given, expected)
    if _equal(got, test, compat):
        return Verdict(True, "passed")
    reason = f"{_cut(call)}: expected {_short(test.expected)}, got {_short(got)}"
    return Verdict(False, "wrong", reason, 0.0, given, expected, _repr(got)[:_KEPT])


def _equal(got: Any, test: CallCase, compat: str | None) -> bool:
    try:
        if test.strict:
            return compare.same_as_asserted(got, test.expected)
        if compat == "verl":
            return compare.same_value_verl(got, test.expected)
        if compat == "livecodebench":
            return compare.same_value_livecodebench(got, test.expected)
        return compare.same_value(got, test.expected) or (
            test.wrapped and compare.same_value(got, test.expected[0])
        )
    except RecursionError:
        return False


def _run_asserts(
    sandbox: Sandbox, program: str, problem: Problem, tests: Sequence[Any], rules: Rules, deadline: float
) -> list[Verdict]:
    sources = [test.source for test in tests]
    answers = sandbox.check(program, problem.setup, sources, rules.limits, deadline=deadline)
    return [_judge_assert(source, answer) for source, answer in zip(sources, answers, strict=True)]


def _judge_assert(source: str, answer: Answer) -> Verdict:
    if answer.status == "ok":
        return Verdict(True, "passed")
    if answer.status == "sandbox_error":
        raise SandboxFailed(answer.error)
    failed = (answer.error or "").startswith("AssertionError")
    status = "wrong" if failed else str(answer.status)
    return Verdict(False, status, f"{_cut(source)}: {answer.error}", given=source[:_KEPT])


def _short(value: Any) -> str:
    return _cut(_repr(value[: _SHOWN + 1] if isinstance(value, str) else value))


def _repr(value: Any) -> str:
    """`repr`, of whatever a model returned: integers may be too long for it, nesting too deep."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"<a {type(value).__name__} too large to show>"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
