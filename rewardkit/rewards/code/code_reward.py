"""Scores code by running it: APPS, TACO, CodeContests, Codeforces, LiveCodeBench, HumanEval and MBPP.

The program is taken from the last code block in the response and run in the sandbox on the tests in the
ground truth. The score is 1.0 if all tests pass or, with `continuous`, the (weighted) share of tests that
pass. The reward is declared as `sandbox`, so it runs in a killable worker process with its own sandbox.

Expected outputs never enter the jail. If the sandbox fails, the status is `error`, never a wrong answer. A
problem without tests is `invalid`. `compat="verl"` and `compat="livecodebench"` score and compare like those
graders. Like verl's grader, `compat="verl"` scores the first 10 tests if not all tests pass, and gives no
partial credit for function calls.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Literal

from rewardkit.errors import InputError
from rewardkit.http_addresses import Address, NetworkSettings, address_of
from rewardkit.reward_options import file_option
from rewardkit.rewards.code.assertions import with_body
from rewardkit.rewards.code.checkers import FunctionChecker, OutputChecker, ProgramChecker, SandboxFailed
from rewardkit.rewards.code.compare import TEXT, Comparator
from rewardkit.rewards.code.extract import (
    Fence,
    Parses,
    extract_like_livecodebench,
    extract_like_verl,
)
from rewardkit.rewards.code.ground_truth import read
from rewardkit.rewards.code.languages import Program, take, wanted, why_none
from rewardkit.rewards.code.problem import CodeProblem, GroundTruthError, StdinTest
from rewardkit.rewards.code.running import (
    NOT_RUN,
    CodeVerdict,
    ProgramRunner,
    Rules,
    TookTooLong,
    limits_of,
    run_tests,
)
from rewardkit.sandbox import SandboxUnavailable
from rewardkit.sandbox.fusion_client import FusionClient
from rewardkit.sandbox.languages import LANGUAGES, PYTHON, LanguageUnavailable, find, unknown
from rewardkit.sandbox.of_process import sandbox_of_process
from rewardkit.sandbox.outcome import OVER_LIMIT, TIMED_OUT
from rewardkit.text import writable
from rewardkit.types import Sample, Score, failure

_MOST_READ = 1_000_000
"""Number of characters to search for a program, from the end of the response or, with `fence=first`, from its
start."""


@dataclass(frozen=True)
class CodeOptions(NetworkSettings):
    """Options for the code reward."""

    continuous: bool = False
    """True to use the share of tests that pass as the score, weighted if the ground truth sets weights. By
    default, the score is 1.0 only if all tests pass."""
    first_k: int | None = None
    """Number of tests to run, starting with the first. None means all tests."""
    stop_at_first_failure: bool = False
    """True to stop after the first failed test even with `continuous`. The other tests count as failed."""
    language: str | None = None
    """Language of all programs (names in docs/sandbox.md). None means the `language` in the ground truth or,
    if it names none, the language of the code block. Unmarked blocks are read as Python unless they clearly
    contain C++, Java, Rust or Go. Tests that call functions name their language."""
    cpp_standard: Literal["17", "20"] | None = None
    """Standard for programs in C++, `17` or `20`. None means C++17 or, if a program does not compile as
    C++17, C++20."""
    fence: Fence = "last"
    """Code block that contains the program: `last`, `first` or `longest`. `joined` joins all blocks in the
    program's language, and `whole` uses the whole response. If the tests call a function, `last` and `first`
    prefer blocks that define it."""
    comparator: Comparator | None = None
    """Comparison of the program's standard output with the expected output: `tokens`, `exact`, `verl`,
    `livecodebench` or `apps`. None means the comparator for `compat`, the comparator in the ground truth, or
    `tokens`, in this order."""
    checker: str | None = file_option(None)
    """Your own function that decides whether a program's standard output is right, written as
    `path.py:function`. The function is called with the input, the output and the expected output, runs in the
    sandbox, and must return True or False. It replaces the comparator."""
    compat: Literal["verl", "livecodebench"] | None = None
    """`verl` or `livecodebench` to score in the same way as that grader. The options `fence`, `language`,
    `prelude` and `continuous` are then ignored."""
    cpu_s: float = 5.0
    """CPU time limit for each test, in seconds, if the ground truth does not set a limit."""
    time_factor: float = 5.0
    """Factor by which to multiply the `time_limit` in the ground truth for programs in Python, because
    contests set this limit for faster languages. Other languages have fixed factors (docs/sandbox.md)."""
    memory_mb: int = 1024
    """Memory limit for each test, in MiB, if the ground truth does not set a limit."""
    total_s: float | None = None
    """CPU time limit for all tests of a program together, in seconds, if the ground truth does not set one.
    Tests that have not finished when this time is used up fail. None means the sum of the tests' own
    limits."""
    prelude: Literal["auto", "always", "never"] = "auto"
    """Use of names such as `List`, `math` or `deque` without an import. `always` allows it, `never` does not,
    and `auto` allows it unless the tests use standard input. With `compat`, it is always allowed."""
    level: Literal["auto", "warm", "guard", "none"] = "auto"
    """Isolation level of the sandbox: `warm`, `guard` or `none` (docs/sandbox.md). `auto` uses `warm`
    if it works on this machine, otherwise `guard`."""
    allow_unsafe: bool = False
    """True to allow `level=none`, which runs programs without isolation."""
    sandbox_url: Address | None = None
    """URL of a service that runs the programs on another machine, such as `rewardkit serve --run-code` or
    SandboxFusion (docs/run_code.md). The option can also be written as `sandbox.url`."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            OptionsError: With these options, no program could pass or run.
        """
        super().__post_init__()
        for name, least in (("first_k", self.first_k), ("memory_mb", self.memory_mb)):
            if least is not None and least < 1:
                raise ValueError(f"{name} is {least}; expected 1 or more")
        for name, seconds in (
            ("cpu_s", self.cpu_s),
            ("total_s", self.total_s),
            ("time_factor", self.time_factor),
        ):
            if seconds is not None and seconds <= 0:
                raise ValueError(f"{name} is {seconds:g}; expected more than 0")
        if self.language is not None and find(self.language) is None:
            raise ValueError(unknown(self.language, LANGUAGES))
        if self.checker is not None:
            FunctionChecker(self.checker).source()
        if self.sandbox_url is not None:
            address_of(self.sandbox_url)


def score(sample: Sample, options: CodeOptions) -> Score:
    """Run the program in a response on the tests in its ground truth."""
    try:
        problem = _problem(sample.ground_truth)
        return _score(sample.response, problem, options)
    except GroundTruthError as error:
        return failure("invalid", str(error))
    except SandboxUnavailable as error:
        return failure("error", str(error))
    except SandboxFailed as error:
        return failure("error", f"the sandbox failed: {error}")
    except TookTooLong as error:
        return failure("timeout", str(error))


@functools.lru_cache(maxsize=64)
def _problem(ground_truth: str) -> CodeProblem:
    # The result is cached, because a group of samples shares one ground truth, which may have megabytes.
    return read(ground_truth)


def _score(response: str, problem: CodeProblem, options: CodeOptions) -> Score:
    sandbox = runner_for(options)
    program = _program(response, options, problem, sandbox)
    if program is None:
        return _result(0.0, (), problem, None, why_none(response))
    first = options.first_k
    asked = problem if first is None else _first(problem, first)
    rules = _rules(asked, options, program.language)
    try:
        verdicts = run_tests(sandbox, complete(program, problem), asked, rules)
    except LanguageUnavailable as error:
        if wanted(options.language, problem) is not None:
            raise
        # The response chose the language. If the status were `error`, a response could avoid being scored.
        return _result(0.0, (), asked, program, str(error))
    value = _value(verdicts, asked, options)
    detail = _detail(verdicts, options)
    return _result(value, verdicts, asked, program, f"{detail}; {_where(sandbox, program)}")


def _where(sandbox: ProgramRunner, program: Program) -> str:
    language = "" if program.language == PYTHON else f"{program.language}, "
    return f"{language}level {sandbox.level}"


@dataclass(frozen=True)
class CodeExplanation:
    """Explanation of a score, with the program and the verdict on each test."""

    program: str | None
    """Extracted program, or None if the response has no code block."""
    tests: tuple[CodeVerdict, ...]

    def __str__(self) -> str:
        if self.program is None:
            return "no code block in the response"
        rows = (
            f"{i:>5}  {v.status:<14} {v.cpu_s:6.2f} s  {v.reason}" for i, v in enumerate(self.tests, start=1)
        )
        return "\n".join((" test  status            CPU", *rows))


def explain(ground_truth: str, response: str, options: CodeOptions | None = None) -> CodeExplanation:
    """Return the verdict on each test, as counted in the score. Tests that were not run get a note.

    The note gives the result of running the test separately.

    Raises:
        InputError: The ground truth has no usable tests, or the sandbox failed.
    """
    options = options or CodeOptions()
    try:
        problem = _problem(ground_truth)
        sandbox = runner_for(options)
        program = _program(response, options, problem, sandbox)
        if program is None:
            return CodeExplanation(None, ())
        return CodeExplanation(program.source, _explained(sandbox, program, problem, options))
    except (GroundTruthError, SandboxUnavailable, SandboxFailed, TookTooLong) as error:
        raise InputError(str(error)) from None


def _explained(
    sandbox: ProgramRunner, program: Program, problem: CodeProblem, options: CodeOptions
) -> tuple[CodeVerdict, ...]:
    """Return the verdicts that determine the score. Each test that the score did not need has a note."""
    asked = problem if options.first_k is None else _first(problem, options.first_k)
    source = complete(program, problem)
    counted = run_tests(sandbox, source, asked, _rules(asked, options, program.language))
    counted += [NOT_RUN] * (len(problem.tests) - len(counted))
    if all(v.status != "not_run" for v in counted):
        return tuple(counted)
    rules = replace(_rules(problem, options, program.language), stop=False)
    alone = run_tests(sandbox, source, problem, rules)
    return tuple(_with_note(*pair) for pair in zip(counted, alone, strict=True))


def _with_note(counted: CodeVerdict, alone: CodeVerdict) -> CodeVerdict:
    """Return the counted verdict. If the test was not run, add the result of a separate run as a note."""
    if counted.status != "not_run" or alone.status == "not_run":
        return counted
    said = f"{alone.status}: {alone.reason}" if alone.reason else alone.status
    return replace(
        alone, passed=False, status="not_run", reason=f"not needed for the score; run alone: {said}"
    )


def _program(
    response: str, options: CodeOptions, problem: CodeProblem, sandbox: ProgramRunner
) -> Program | None:
    """Return the program in a response, or None if it is missing or blank."""
    response = response[:_MOST_READ] if options.fence == "first" else response[-_MOST_READ:]
    if options.compat == "verl":
        found: Program | None = Program(extract_like_verl(response))
    elif options.compat == "livecodebench":
        found = Program(extract_like_livecodebench(response) or "")
    else:
        language = wanted(options.language, problem)
        parses = functools.partial(_parses, sandbox)
        found = take(response, options.fence, language, parses, problem.called)
        found = found or _body_alone(response, problem, parses)
    return found if found and found.source.strip() else None


def _body_alone(response: str, problem: CodeProblem, parses: Parses) -> Program | None:
    """Return an unfenced function body with which a base model continues a prompt, or None."""
    if response.lstrip("\n")[:1] not in (" ", "\t"):
        return None
    if problem.is_apart and "```" not in response:
        return Program(response, problem.language or PYTHON)
    if not problem.prefix:
        return None
    return Program(response) if parses(f"{problem.prefix}\n{response}") else None


def _parses(sandbox: ProgramRunner, code: str) -> bool:
    """Return True if the text is a program. The sandbox checks this, as a text can make the parser hang."""
    return sandbox.run("compile(open(0).read(), 'main.py', 'exec')", code).ok


def complete(program: Program, problem: CodeProblem) -> str:
    """Put HumanEval's prompt before a program, which may be only the function's body or lack imports."""
    source = program.source
    if not problem.prefix or "from __future__" in source or source.startswith(problem.prefix):
        return source
    is_body = source.lstrip("\n")[:1] in (" ", "\t")
    return f"{problem.prefix if is_body else with_body(problem.prefix)}\n{source}"


def _first(problem: CodeProblem, count: int) -> CodeProblem:
    return replace(problem, tests=problem.tests[:count], weights=problem.weights[:count])


def _cpu_s(problem: CodeProblem, options: CodeOptions, language: str) -> float:
    """Return the CPU time limit of one test for a program in this language, in seconds."""
    own = problem.limits.get("time_limit")
    if language == PYTHON:
        return problem.limits.get("cpu_s", options.cpu_s if own is None else own * options.time_factor)
    spoken = LANGUAGES[language]
    if own is None or "cpu_s" in problem.limits:
        return problem.limits.get("cpu_s", options.cpu_s) + spoken.startup_s
    return spoken.scaled(own)


def _rules(problem: CodeProblem, options: CodeOptions, language: str) -> Rules:
    comparator = options.comparator or options.compat or problem.comparator or "tokens"
    if comparator not in TEXT:
        raise GroundTruthError(f"there is no comparator '{comparator}'; comparators: {', '.join(TEXT)}")
    reads_stdin = isinstance(problem.tests[0], StdinTest)
    cpu_s = _cpu_s(problem, options, language)
    # Partial credit needs the verdict on every test. Without partial credit, the first failure decides.
    needs_all = options.continuous or options.compat == "verl"
    return Rules(
        comparator=comparator,
        checker=_checker(problem, options),
        limits=limits_of(problem, cpu_s, int(problem.limits.get("memory_mb", options.memory_mb))),
        total_s=problem.limits.get("total_s", options.total_s or cpu_s * len(problem.tests)),
        stop=options.stop_at_first_failure or not needs_all,
        prelude=options.prelude == "always"
        or bool(options.compat)
        or (options.prelude == "auto" and not reads_stdin),
        compat=options.compat,
        language=language,
        standard=(options.cpp_standard or "") if language == "cpp" else "",
    )


def _checker(problem: CodeProblem, options: CodeOptions) -> OutputChecker | None:
    if function := options.checker or problem.checker:
        return FunctionChecker(function)
    return ProgramChecker(problem.checker_program) if problem.checker_program else None


def _value(verdicts: list[CodeVerdict], problem: CodeProblem, options: CodeOptions) -> float:
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


def _detail(verdicts: list[CodeVerdict], options: CodeOptions) -> str:
    passed = sum(v.passed for v in verdicts)
    total = len(verdicts)
    mode = f"; compat={options.compat}" if options.compat else ""
    if passed == total:
        return f"{total}/{total} tests passed{mode}"
    position, first = next((i, v) for i, v in enumerate(verdicts) if not v.passed)
    skipped = sum(v.status == "not_run" for v in verdicts)
    note = f", {skipped} not run" if skipped else ""
    return f"{passed}/{total} tests passed{note}; test {position + 1} {first.status}: {first.reason}{mode}"


def _result(
    value: float,
    verdicts: list[CodeVerdict] | tuple[()],
    problem: CodeProblem,
    program: Program | None,
    detail: str,
) -> Score:
    passed = sum(v.passed for v in verdicts)
    parts = {
        "tests": float(len(problem.tests)),
        "passed": float(passed),
        "timed_out": float(sum(v.status in TIMED_OUT for v in verdicts)),
        "over_limit": float(sum(v.status in OVER_LIMIT for v in verdicts)),
    }
    correct = bool(verdicts) and passed == len(verdicts)
    detail = writable(detail)  # An error message may contain an unpaired surrogate.
    source = None if program is None else program.source
    return Score(value, correct=correct, extracted=source, parts=parts, detail=detail)


def runner_for(options: CodeOptions) -> ProgramRunner:
    """Return the sandbox, or the service, that runs programs with these options."""
    if options.sandbox_url is not None:
        return _client(options.sandbox_url)
    return sandbox_of_process(options.level, allow_unsafe=options.allow_unsafe)


@functools.lru_cache(maxsize=8)
def _client(url: Address) -> FusionClient:
    return FusionClient(url)
