"""Code judged by running it: APPS, TACO, CodeContests, Codeforces, LiveCodeBench, HumanEval, MBPP.

A response's program is taken from its last Python block, run on the tests of the ground truth in the
sandbox, and scored 1.0 when all pass; with `continuous`, by the share (by weight) of all tests that pass.
Runs as `sandbox`, that is in a killable worker process, which keeps a sandbox of its own.

What holds: expected outputs never enter the jail; a failure of the sandbox is an `error`, never a wrong
answer; a problem without tests is `invalid`. `compat="verl"` and `compat="livecodebench"` score and
compare as those do (verl: the first 10 tests when not all pass, no partial credit for function calls).
"""

from __future__ import annotations

import atexit
import functools
import os
from dataclasses import dataclass, replace
from typing import Literal

from rewardkit.errors import InputError
from rewardkit.rewards.code.compare import TEXT, Comparator
from rewardkit.rewards.code.extract import Fence, extract, extract_like_livecodebench, extract_like_verl
from rewardkit.rewards.code.judge import Rules, SandboxFailed, Verdict, judge
from rewardkit.rewards.code.truth import Problem, StdinTest, TruthError, read
from rewardkit.sandbox import Limits, Sandbox
from rewardkit.types import Sample, Score, failure

SCORER = "code@1"


@dataclass(frozen=True)
class Options:
    """Options of the code reward."""

    continuous: bool = False
    """Score the share of tests that pass rather than all or nothing."""
    first_k: int | None = None
    """Judge by the first so many tests only. None: by all."""
    stop_at_first_failure: bool = False
    """With `continuous`: the tests after a failure count as failed and are not run."""
    fence: Fence = "last"
    """Which Python block of the response is the program: last, first, longest, or whole (no block needed)."""
    comparator: Comparator | None = None
    """tokens, exact, verl, livecodebench or apps. None: the ground truth's own, or tokens."""
    checker: str | None = None
    """`path.py:function` that is called with (input, output, expected) and returns True; jailed too."""
    compat: Literal["verl", "livecodebench"] | None = None
    cpu_s: float = 5.0
    """CPU time of one test (of one function call, if it needs it)."""
    memory_mb: int = 1024
    total_s: float = 10.0
    """Elapsed time for all tests of one solution; those that do not fit have failed."""
    prelude: Literal["auto", "always", "never"] = "auto"
    """Give programs names such as List, math or deque without an import. auto: not if they read stdin."""
    level: Literal["auto", "full", "warm", "guard", "none"] = "auto"
    """The sandbox's isolation; auto: the strongest that holds on this host."""
    allow_unsafe: bool = False
    """Accept level none, which isolates nothing."""


def score(sample: Sample, options: Options) -> Score:
    """Run the program in a response on the tests in its ground truth."""
    try:
        problem = _problem(sample.ground_truth)
        return _score(sample.response, problem, options)
    except TruthError as error:
        return failure("invalid", str(error))
    except SandboxFailed as error:
        return failure("error", f"the sandbox failed: {error}")


@functools.lru_cache(maxsize=64)
def _problem(ground_truth: str) -> Problem:
    return read(ground_truth)  # a group of samples shares one ground truth, which may be megabytes


def _score(response: str, problem: Problem, options: Options) -> Score:
    program = _program(response, options)
    if program is None:
        return _result(0.0, (), problem, None, "no code block in the response")
    sandbox = _sandbox(options.level, options.allow_unsafe)
    first = options.first_k
    judged = problem if first is None else _first(problem, first)
    verdicts = judge(sandbox, _complete(program, problem), judged, _rules(judged, options))
    value = _value(verdicts, judged, options)
    detail = _detail(verdicts, options)
    return _result(value, verdicts, judged, program, f"{detail}; level {sandbox.level}")


@dataclass(frozen=True)
class Explanation:
    """One judgement, laid open: the program and the verdict on each test."""

    program: str | None
    """None: there is no code block in the response."""
    tests: tuple[Verdict, ...]

    def __str__(self) -> str:
        if self.program is None:
            return "no code block in the response"
        rows = (
            f"{i:>5}  {v.status:<14} {v.cpu_s:6.2f} s  {v.reason}" for i, v in enumerate(self.tests, start=1)
        )
        return "\n".join((" test  status            CPU", *rows))


def explain(gold: str, response: str, options: Options | None = None) -> Explanation:
    """Return the verdict on every test, also on those after a failure.

    Raises:
        InputError: the ground truth holds no usable tests, or the sandbox failed.
    """
    options = options or Options()
    try:
        problem = _problem(gold)
        program = _program(response, options)
        if program is None:
            return Explanation(None, ())
        rules = replace(_rules(problem, options), stop=False)
        sandbox = _sandbox(options.level, options.allow_unsafe)
        return Explanation(program, tuple(judge(sandbox, _complete(program, problem), problem, rules)))
    except (TruthError, SandboxFailed) as error:
        raise InputError(str(error)) from None


def _program(response: str, options: Options) -> str | None:
    """The program in a response; None if there is none or it is blank."""
    if options.compat == "verl":
        found: str | None = extract_like_verl(response)
    elif options.compat == "livecodebench":
        found = extract_like_livecodebench(response)
    else:
        found = extract(response, options.fence)
    return found if found and found.strip() else None


def _complete(program: str, problem: Problem) -> str:
    """Put HumanEval's prompt in front: the program may be only the function's body, or lack its imports."""
    if not problem.prefix or "from __future__" in program or program.startswith(problem.prefix):
        return program
    return f"{problem.prefix}\n{program}"


def _first(problem: Problem, count: int) -> Problem:
    if count < 1:
        raise TruthError(f"option first_k is {count}; expected at least 1")
    return replace(problem, tests=problem.tests[:count], weights=problem.weights[:count])


def _rules(problem: Problem, options: Options) -> Rules:
    comparator = options.comparator or options.compat or problem.comparator or "tokens"
    if comparator not in TEXT:
        raise TruthError(f"no comparator '{comparator}'; there are {', '.join(TEXT)}")
    reads_stdin = isinstance(problem.tests[0], StdinTest)
    # Partial credit needs the verdict on every test; anything else is settled by the first failure.
    needs_all = options.continuous or options.compat == "verl"
    return Rules(
        comparator=comparator,
        checker=options.checker or problem.checker,
        limits=Limits(
            cpu_s=problem.limits.get("cpu_s", options.cpu_s),
            memory_mb=int(problem.limits.get("memory_mb", options.memory_mb)),
        ),
        total_s=problem.limits.get("total_s", options.total_s),
        stop=options.stop_at_first_failure or not needs_all,
        prelude=options.prelude == "always"
        or bool(options.compat)
        or (options.prelude == "auto" and not reads_stdin),
        compat=options.compat,
    )


def _value(verdicts: list[Verdict], problem: Problem, options: Options) -> float:
    if all(v.passed for v in verdicts):
        return 1.0
    if options.compat == "livecodebench" or (not options.continuous and options.compat != "verl"):
        return 0.0
    if options.compat == "verl":
        if not isinstance(problem.tests[0], StdinTest):
            return 0.0
        return sum(v.passed for v in verdicts[:10]) / len(verdicts[:10])
    weights = problem.weights or (1.0,) * len(verdicts)
    return sum(w for w, v in zip(weights, verdicts, strict=True) if v.passed) / sum(weights)


def _detail(verdicts: list[Verdict], options: Options) -> str:
    passed, total = sum(v.passed for v in verdicts), len(verdicts)
    mode = f"; compat={options.compat}" if options.compat else ""
    if passed == total:
        return f"{total}/{total} tests passed{mode}"
    position, first = next((i, v) for i, v in enumerate(verdicts) if not v.passed)
    skipped = sum(v.status == "not_run" for v in verdicts)
    note = f", {skipped} not run" if skipped else ""
    return f"{passed}/{total} tests passed{note}; test {position + 1} {first.status}: {first.reason}{mode}"


def _result(
    value: float, verdicts: list[Verdict] | tuple[()], problem: Problem, program: str | None, detail: str
) -> Score:
    passed = sum(v.passed for v in verdicts)
    parts = {"tests": float(len(problem.tests)), "passed": float(passed)}
    correct = bool(verdicts) and passed == len(verdicts)
    detail = detail.encode("utf-8", "replace").decode()  # a program's error may hold lone surrogates
    return Score(value, correct=correct, extracted=program, parts=parts, detail=detail)


_sandboxes: dict[tuple[int, str], Sandbox] = {}


def _sandbox(level: Literal["auto", "full", "warm", "guard", "none"], allow_unsafe: bool) -> Sandbox:
    """This process's sandbox, kept warm; a fork of the process gets its own."""
    key = (os.getpid(), level)
    if key not in _sandboxes:
        _sandboxes[key] = Sandbox(level, allow_unsafe=allow_unsafe)
        atexit.register(_sandboxes[key].close)
    return _sandboxes[key]
