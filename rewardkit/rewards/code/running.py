"""Runs a program on a problem's tests in the sandbox, and decides whether each test passes.

Expected outputs stay in this process. Only this process compares them with the output from the jail. That
output is bytes or tagged JSON, and decoding it executes no code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rewardkit.rewards.code import compare
from rewardkit.rewards.code.assertions import CallCase
from rewardkit.rewards.code.checkers import CheckedOutput, OutputChecker, SandboxFailed, with_walls
from rewardkit.rewards.code.problem import AssertTest, CodeProblem, GroundTruthError, StdinTest, Test
from rewardkit.sandbox import DEFAULT_LIMITS, Answer, Limits, Outcome, SolutionBudget
from rewardkit.sandbox.answers import explain
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.languages import PYTHON

_SHOWN = 80
_KEPT = 2000
"""Number of characters to keep of each text in a failed test, for explanations."""
_LARGEST = 1 << 16
"""Number of output characters that are always read, even if the expected output is short."""

_IDLE_FACTOR = 2.0
"""Time for which a program may idle in any kind of test, as a multiple of its CPU time limit."""
_FAILURES_FACTOR = 3.0
"""CPU time allowed for all failed tests together, as a multiple of the limit for one test. This limit stops
looping programs early."""
_NET_S = 60.0
_NET_FACTOR = 20.0
_LONGEST_S = 1500.0
"""Upper bound for the limit on elapsed time, in seconds.

The limit on elapsed time is a multiple of the CPU time limit plus a constant. A program reaches it only if
the machine gives the program less than a twentieth of a core.
"""


class ProgramRunner(Protocol):
    """Interface of a `Sandbox` or a remote service that runs programs and calls their functions."""

    @property
    def level(self) -> str:
        """Return the isolation level, which is recorded in the score."""

    def run(
        self,
        program: str | bytes,
        stdin: str | bytes = ...,
        limits: Limits = ...,
        *,
        prelude: bool = ...,
        language: str = ...,
        standard: str = ...,
    ) -> Outcome:
        """Run a program to its end, like `Sandbox.run`."""

    def call(
        self,
        program: str | bytes,
        function: str,
        cases: Sequence[Sequence[Any]],
        limits: Limits = ...,
        *,
        keywords: Sequence[Mapping[str, Any]] | None = ...,
        budget: SolutionBudget | None = ...,
        stop: bool = ...,
    ) -> list[Answer]:
        """Call a function of a program, like `Sandbox.call`."""

    def check(
        self,
        program: str | bytes,
        setup: str,
        tests: Sequence[str],
        limits: Limits = ...,
        *,
        before: Sequence[str] | None = ...,
        budget: SolutionBudget | None = ...,
        stop: bool = ...,
        language: str = ...,
    ) -> list[Answer]:
        """Run assertions on a program, like `Sandbox.check`."""


class TookTooLong(RuntimeError):
    """Raised if the machine was too busy to run the program within the limit on elapsed time."""


@dataclass(frozen=True, slots=True)
class CodeVerdict:
    """Result of one test."""

    passed: bool
    status: str
    """`passed`, `wrong`, `not_run`, or the status of a run that ended early."""
    reason: str = ""
    cpu_s: float = 0.0
    given: str = ""
    """Input, call or assertion of a failed test. Like `expected` and `got`, it is cut to 2,000 characters."""
    expected: str = ""
    got: str = ""


NOT_RUN = CodeVerdict(False, "not_run", "not run")


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for running tests and comparing their results."""

    comparator: str
    checker: OutputChecker | None
    limits: Limits
    total_s: float
    """CPU time limit for all tests together, in seconds."""
    stop: bool
    """True to stop after a failure, because no later test can change the score."""
    prelude: bool
    compat: str | None
    language: str = PYTHON
    standard: str = ""


@dataclass(frozen=True, slots=True)
class _TestRun:
    """Arguments that tests of every kind share."""

    sandbox: ProgramRunner
    program: str
    problem: CodeProblem
    rules: Rules
    limits: Limits
    budget: SolutionBudget


def limits_of(problem: CodeProblem, cpu_s: float, memory_mb: int) -> Limits:
    """Return the limits for one test. The output limit is far above the size of the expected output."""
    expected = [len(t.output) if isinstance(t, StdinTest) else len(repr_of(t)) for t in problem.tests]
    return Limits(
        cpu_s=cpu_s,
        wall_s=_NET_S + _NET_FACTOR * cpu_s,
        idle_s=_IDLE_FACTOR * cpu_s,
        memory_mb=memory_mb,
        output_bytes=DEFAULT_LIMITS.output_bytes + 4 * (max(expected) if _reads(problem) else sum(expected)),
    )


def _reads(problem: CodeProblem) -> bool:
    return isinstance(problem.tests[0], StdinTest)


def repr_of(test: Test) -> str:
    """Return the expected result of a call as text, or "" for any other kind of test."""
    return json.dumps(values.encode(test.expected)) if isinstance(test, CallCase) else ""


def run_tests(sandbox: ProgramRunner, program: str, problem: CodeProblem, rules: Rules) -> list[CodeVerdict]:
    """Run the tests of a problem, and return one verdict per test.

    Raises:
        SandboxFailed: A run could not be executed.
        TookTooLong: A run reached the limit on elapsed time.
        GroundTruthError: The tests turned out to be unusable.
    """
    budget = SolutionBudget(
        cpu_s=rules.total_s,
        failures_s=_FAILURES_FACTOR * rules.limits.cpu_s,
        ends=time.monotonic() + min(_NET_S + _NET_FACTOR * rules.total_s, _LONGEST_S),
    )
    run = _TestRun(sandbox, program, problem, rules, rules.limits, budget)
    verdicts: list[CodeVerdict] = [NOT_RUN] * len(problem.tests)
    for kind, play in ((StdinTest, _run_stdin), (CallCase, _run_calls), (AssertTest, _run_asserts)):
        chosen = [(i, t) for i, t in enumerate(problem.tests) if isinstance(t, kind)]
        if not chosen or (rules.stop and any(v.status not in ("passed", "not_run") for v in verdicts)):
            continue
        found = play(run, [t for _, t in chosen])
        for (position, _), verdict in zip(chosen, found, strict=False):
            verdicts[position] = verdict
    late = time.monotonic() >= budget.ends and any(v.status == "not_run" for v in verdicts)
    if late or any(v.status == "wall_timeout" for v in verdicts):
        done = sum(v.status not in ("not_run", "wall_timeout") for v in verdicts)
        raise TookTooLong(
            f"only {done} of {len(verdicts)} tests were done at the hard time limit; the machine is too busy"
        )
    return verdicts


def _run_stdin(run: _TestRun, tests: Sequence[Any]) -> list[CodeVerdict]:
    verdicts: list[CodeVerdict] = []
    for test in tests:
        if run.budget.is_spent:
            break
        limits = run.budget.within(run.limits)
        outcome = run.sandbox.run(
            run.program,
            test.input,
            limits,
            prelude=run.rules.prelude,
            language=run.rules.language,
            standard=run.rules.standard,
        )
        verdict = _verdict_on_output(run.sandbox, test, outcome, run.rules)
        run.budget.spend(outcome, failed=not verdict.passed)
        verdicts.append(verdict)
        if run.rules.stop and not verdict.passed:
            break
    return verdicts


def _verdict_on_output(
    sandbox: ProgramRunner, test: StdinTest, outcome: Outcome, rules: Rules
) -> CodeVerdict:
    if outcome.status in ("sandbox_error", "cancelled"):
        raise SandboxFailed(outcome.detail or outcome.status)
    got = outcome.stdout.decode("utf-8", "surrogateescape")
    shown = (test.input[:_KEPT], test.output[:_KEPT], got[:_KEPT])
    if not outcome.ok and not (rules.compat and _exited_on_purpose(outcome)):
        reason = f"input {_short(test.input)}: {explain(outcome)}"
        return CodeVerdict(False, outcome.status, reason, outcome.cpu_s, *shown)
    if rules.checker is not None:
        passed = rules.checker.accepts(sandbox, CheckedOutput(test.input, got, test.output), rules.limits)
    elif len(got) > _LARGEST + 32 * len(test.output):
        passed = False  # Very long output is not read, because reading takes time.
    else:
        passed = compare.TEXT[rules.comparator](got, test.output)
    if passed:
        return CodeVerdict(True, "passed", "", outcome.cpu_s)
    reason = f"input {_short(test.input)}: expected {_short(test.output)}, got {_short(got)}"
    return CodeVerdict(False, "wrong", reason, outcome.cpu_s, *shown)


def _exited_on_purpose(outcome: Outcome) -> bool:
    """Return True if a program ended with `sys.exit(1)`, which verl and LiveCodeBench count as a success."""
    return (
        outcome.status == "runtime_error"
        and (outcome.exit_code or 0) > 0
        and b"Traceback" not in outcome.stderr
    )


def _run_calls(run: _TestRun, tests: Sequence[Any]) -> list[CodeVerdict]:
    verdicts: list[CodeVerdict | None] = [None] * len(tests)
    # The calls are sent in one batch per function.
    for function in dict.fromkeys(test.function for test in tests):
        chosen = [i for i, test in enumerate(tests) if test.function == function]
        answers = run.sandbox.call(
            run.program,
            function,
            [tests[i].arguments for i in chosen],
            run.limits,
            keywords=[tests[i].keywords for i in chosen],
            budget=run.budget,
            stop=run.rules.stop,
        )
        for i, answer in zip(chosen, answers, strict=False):
            verdicts[i] = _verdict_on_answer(tests[i], answer, run.rules.compat)
    return [verdict or NOT_RUN for verdict in verdicts]


def _verdict_on_answer(test: CallCase, answer: Answer, compat: str | None) -> CodeVerdict:
    named = [f"{name}={_repr(value)}" for name, value in test.keywords.items()]
    call = f"{test.function}({', '.join([*map(_repr, test.arguments), *named])})"
    if answer.status in ("sandbox_error", "cancelled"):
        raise SandboxFailed(str(answer.error))
    given = call[:_KEPT]
    expected = _repr(test.expected)[:_KEPT]
    if answer.status != "ok":
        return CodeVerdict(
            False, str(answer.status), f"{_cut(call)}: {answer.error}", answer.cpu_s, given, expected
        )
    # Treat a result that is much larger than the expected one as wrong without reading it, so that no
    # response can slow down scoring.
    if len(answer.value) > 4096 + 16 * len(json.dumps(values.encode(test.expected))):
        reason = f"{_cut(call)}: expected {_short(test.expected)}, got a much larger value"
        return CodeVerdict(False, "wrong", reason, 0.0, given, expected)
    try:
        got = values.decode(values.loads(answer.value)["value"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{_cut(call)}: cannot read the result ({type(error).__name__})"
        return CodeVerdict(False, "wrong", reason, 0.0, given, expected)
    if _equal(got, test, compat):
        return CodeVerdict(True, "passed")
    reason = f"{_cut(call)}: expected {_short(test.expected)}, got {_short(got)}"
    return CodeVerdict(False, "wrong", reason, 0.0, given, expected, _repr(got)[:_KEPT])


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
    except (ArithmeticError, TypeError, ValueError, RecursionError):
        return False  # Some returned values, such as a signalling NaN, cannot be compared.


def _run_asserts(run: _TestRun, tests: Sequence[Any]) -> list[CodeVerdict]:
    sources = [test.source for test in tests]
    answers = with_walls(run.sandbox, "an assertion").check(
        run.program,
        run.problem.setup,
        sources,
        run.limits,
        before=[test.before for test in tests],
        budget=run.budget,
        stop=run.rules.stop,
        language=run.rules.language,
    )
    return [_verdict_on_assert(source, answer) for source, answer in zip(sources, answers, strict=False)]


def _verdict_on_assert(source: str, answer: Answer) -> CodeVerdict:
    if answer.status == "ok":
        return CodeVerdict(True, "passed")
    if answer.status in ("sandbox_error", "cancelled"):
        raise SandboxFailed(str(answer.error))
    if answer.unusable is not None:
        raise GroundTruthError(f"{answer.unusable}: {_cut(source)}")
    failed = (answer.error or "").startswith("AssertionError")
    status = "wrong" if failed else str(answer.status)
    return CodeVerdict(False, status, f"{_cut(source)}: {answer.error}", answer.cpu_s, given=source[:_KEPT])


def _short(value: Any) -> str:
    return _cut(_repr(value[: _SHOWN + 1] if isinstance(value, str) else value))


def _repr(value: Any) -> str:
    """Return the `repr` of a value, or a note if it contains a huge integer or is nested too deeply."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"<a {type(value).__name__} too large to show>"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
