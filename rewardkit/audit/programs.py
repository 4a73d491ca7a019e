"""Detection of weak tests. A row has weak tests if a wrong program passes them.

Wrong programs are made from the row's reference program (`mutants`). A row is weak only if its own reward
accepts such a program, and if there is a witness: an input like those in the tests (`inputs`) on which the
program and the reference differ. All programs run in the sandbox.
"""

from __future__ import annotations

import ast
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from rewardkit.audit import WeakRow
from rewardkit.audit.inputs import Arguments, is_usual, new_inputs
from rewardkit.audit.mutants import Mutant, mutants
from rewardkit.rewards.code.assertions import CallCase
from rewardkit.rewards.code.code_reward import complete, runner_for
from rewardkit.rewards.code.compare import same_value
from rewardkit.rewards.code.ground_truth import read
from rewardkit.rewards.code.languages import Program
from rewardkit.rewards.code.problem import AssertTest, CodeProblem
from rewardkit.rewards.code.running import ProgramRunner
from rewardkit.sandbox import Answer, Limits, SolutionBudget
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.jail.values import Opaque
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

CHANGES = 16
"""Number of changed copies of a reference program."""
INPUTS = 60
"""Number of inputs on which a wrong program that passes is compared with the reference program."""
_LIMITS = Limits(cpu_s=0.2, idle_s=0.2, wall_s=60.0)
"""Limits of one run. They are low because a change often makes a loop endless."""
_CPU_S = 1.0
_FAILURES_S = 0.5
"""CPU time of all runs together, and of those that reach a limit, in seconds."""
_ROWS = 32
"""Number of reference solutions that are scored together."""
_ALL = """
def __call_one(number, *arguments, __programs={programs!r}, __made={{}}):
    if number not in __made:
        __made[number] = names = dict(__builtins__=__builtins__, __name__=__name__, **__given)
        exec(compile(__programs[number], "main.py", "exec", dont_inherit=True), names)
    return eval({function!r}, __made[number])(*arguments)

__given = {{name: value for name, value in globals().items() if not name.startswith("__")}}
"""
"""Program for the sandbox that consists of several programs and calls the function of one of them."""


@dataclass(slots=True)
class WeakTests:
    """Rows with weak tests, and the numbers of rows and programs that were examined."""

    rows: int = 0
    """Number of rows whose tests were examined."""
    mutants: int = 0
    """Number of wrong programs that were scored."""
    passed: int = 0
    """Number of wrong programs that passed all tests of their row."""
    weak: list[WeakRow] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Numbers of rows that were not examined, by reason."""


@dataclass(frozen=True, slots=True)
class _Reference:
    """Reference program of a row, and the calls in the row's tests."""

    row: int
    sample: Sample
    problem: CodeProblem
    source: str
    runner: ProgramRunner
    function: str
    calls: list[Arguments]
    """Arguments of each call in the row's tests."""

    def answers(self, sources: Sequence[str], inputs: Sequence[Arguments]) -> list[list[Answer]]:
        """Return the answers of each program to each input. All programs run in one process of the sandbox.

        The answers that are missing, because programs took too long, are failures.
        """
        programs = [complete(Program(source), self.problem) for source in sources]
        found = self.runner.call(
            _ALL.format(programs=programs, function=self.function),
            "__call_one",
            [[number, *arguments] for number in range(len(sources)) for arguments in inputs],
            _LIMITS,
            budget=SolutionBudget(cpu_s=_CPU_S, failures_s=_FAILURES_S),
        )
        found += [Answer("cancelled")] * (len(sources) * len(inputs) - len(found))
        return [found[first : first + len(inputs)] for first in range(0, len(found), len(inputs))]


def find_weak_tests(
    samples: Sequence[Sample], scorer: Scorer, *, seconds: float = float("inf"), changes: int = CHANGES
) -> WeakTests:
    """Return the rows whose tests a wrong program passes.

    Args:
        samples: One sample per row, with the row's reference solution as its response. The reward of each
            must be `code`.
        scorer: Scorer that scores the programs.
        seconds: Time after which no more rows are examined.
        changes: Number of changed copies of each reference program.
    """
    ends = time.monotonic() + seconds
    found = WeakTests()
    rows = enumerate(samples)
    while some := list(islice(rows, _ROWS)):
        for reference in _references(some, scorer, found) if time.monotonic() < ends else ():
            if time.monotonic() < ends and (weak := _weak(reference, scorer, changes, found)) is not None:
                found.weak.append(weak)
    if late := len(samples) - found.rows - found.left_out.total():
        found.left_out["no time left"] = late
    return found


def _references(rows: Sequence[tuple[int, Sample]], scorer: Scorer, found: WeakTests) -> Iterator[_Reference]:
    """Yield the rows whose reference solution passes and whose tests call a function with plain arguments."""
    scores = scorer.score_batch([sample for _, sample in rows])
    for (row, sample), score in zip(rows, scores, strict=True):
        if not score.correct or score.extracted is None:
            found.left_out["the reference solution fails"] += 1
            continue
        problem = read(sample.ground_truth)
        function, calls = _calls(problem)
        if not calls:
            found.left_out["no calls of a Python function with plain arguments"] += 1
            continue
        runner = runner_for(scorer.options_for(sample.data_source))
        yield _Reference(row, sample, problem, score.extracted, runner, function, calls)


def _calls(problem: CodeProblem) -> tuple[str, list[Arguments]]:
    """Return the function that most tests call, and the arguments of these calls."""
    calls: dict[str, list[Arguments]] = {}
    for test in problem.tests:
        if isinstance(test, CallCase) and not test.keywords:
            calls.setdefault(test.function, []).append(test.arguments)
        elif isinstance(test, AssertTest) and not problem.is_apart:
            for function, arguments in _calls_in(f"{problem.setup}\n{test.source}", problem.called):
                calls.setdefault(function, []).append(arguments)
    return max(calls.items(), key=lambda item: len(item[1]), default=("", []))


def _calls_in(source: str, names: frozenset[str]) -> Iterator[tuple[str, Arguments]]:
    """Yield the calls with plain arguments of a program's functions in the source of a test."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            name = min(names, default="") if node.func.id == "candidate" and len(names) == 1 else node.func.id
            if name in names:
                try:
                    yield name, [ast.literal_eval(argument) for argument in node.args]
                except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                    continue


def _weak(reference: _Reference, scorer: Scorer, changes: int, found: WeakTests) -> WeakRow | None:
    """Return the row with the first program that passes and that a witness proves wrong, or None."""
    tried = mutants(reference.source, reference.function, changes)
    right, *others = reference.answers([reference.source, *(one.source for one in tried)], reference.calls)
    passed = [one for one, other in zip(tried, others, strict=True) if _agree(right, other)]
    found.rows += 1
    found.mutants += len(tried)
    found.passed += len(passed)
    inputs = new_inputs(reference.calls, INPUTS) if passed else []
    if not inputs:
        return None
    sources = [reference.source, reference.source, *(one.source for one in passed)]
    wanted, again, *others = reference.answers(sources, inputs)
    if any(map(_differ, wanted, again)):
        return None  # the results are random
    usual = [_value(one) for one in right]
    for mutant, got in zip(passed, others, strict=True):
        for arguments, one, other in zip(inputs, wanted, got, strict=True):
            if _differ(one, other) and is_usual(_value(one), usual):
                if not _is_proven(reference, mutant, arguments, scorer):
                    break
                call = f"{reference.function}({', '.join(map(repr, arguments))})"
                shown = (call, _shown(one), _shown(other))
                return WeakRow(reference.row, mutant.change, mutant.source, *shown)
    return None


def _is_proven(reference: _Reference, mutant: Mutant, arguments: Arguments, scorer: Scorer) -> bool:
    """Return True if a program also differs on an input alone, and if the reward accepts the program."""
    (one,), (other,) = reference.answers([reference.source, mutant.source], [arguments])
    response = f"```python\n{mutant.source}\n```"
    return _differ(one, other) and bool(
        scorer.score(msgspec.structs.replace(reference.sample, response=response)).correct
    )


def _agree(right: Sequence[Answer], others: Sequence[Answer]) -> bool:
    """Return True if a program has the same results as the reference program."""
    return all(
        one.status == other.status == "ok" and not _differ(one, other)
        for one, other in zip(right, others, strict=True)
    )


def _differ(right: Answer, other: Answer) -> bool:
    """Return True if the reference has a plain result, and the other program has another or fails."""
    if right.status != "ok" or b'{"opaque"' in right.value:
        return False
    if other.status != "ok":
        return other.status == "runtime_error"
    if right.value == other.value:
        return False
    return not same_value(_value(other), _value(right))


def _value(answer: Answer) -> Any:
    try:
        return values.decode(values.loads(answer.value)["value"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Opaque("?")


def _shown(answer: Answer) -> str:
    return repr(_value(answer)) if answer.status == "ok" else str(answer.error)
