"""What the sets of programming problems share: their options, prompts, and rows with tests as ground truth.

Which columns hold what is each set's business. Solutions and packed tests are read, never run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from rewardkit.datasets_prep.schema import Row, chat
from rewardkit.datasets_prep.sources import Record
from rewardkit.errors import InputError
from rewardkit.rewards.code.truth import TruthError, read

INSTRUCTION = "Give all of it in one ```python block."


@dataclass(frozen=True, slots=True)
class Style:
    """The options that every set of problems has."""

    data_source: str
    instruction: str
    system: str
    max_tests: int | None
    """Keep only the first tests of each problem. None: all."""

    def __post_init__(self) -> None:
        if self.max_tests is not None and self.max_tests < 1:
            raise InputError(f"max_tests must be at least 1, not {self.max_tests}")

    def arguments(self) -> dict[str, object]:
        """Return what goes into the provenance."""
        return {"instruction": self.instruction, "system": self.system, "max_tests": self.max_tests}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem as its set publishes it."""

    question: str
    truth: dict[str, Any]
    """A form of test cases that the code reward reads."""
    solution: str = ""
    """A Python program that passes; empty if the set has none."""
    starter: str = ""
    function: str = ""
    """The function to write; empty for a program that reads standard input."""


def to_row(record: Record, split: str, problem: Problem, style: Style, metadata: Iterable[str]) -> Row:
    """Return the row of a problem, with those columns of `metadata` that say something.

    Raises:
        InputError: the problem has no tests, or tests that the code reward cannot read.
    """
    ground_truth = json.dumps(problem.truth)
    try:
        read(ground_truth)
    except TruthError as error:
        raise InputError(f"{record.where}: {error}") from None
    kept = {name: _json_ready(record.values.get(name)) for name in metadata}
    return Row(
        data_source=style.data_source,
        prompt=chat(_prompt(problem, style.instruction), style.system),
        ability="code",
        ground_truth=ground_truth,
        split=split,
        index=record.index,
        question=problem.question,
        answer=f"```python\n{problem.solution}\n```" if problem.solution.strip() else "",
        metadata={
            n: v for n, v in {**kept, "starter_code": problem.starter}.items() if v not in (None, "", [])
        },
    )


def inputs_outputs_row(record: Record, split: str, style: Style, metadata: Iterable[str]) -> Row:
    """Return the row of a record in the columns that APPS introduced and TACO took over.

    These are `question`, `starter_code`, `solutions` (JSON list of programs) and `input_output` (JSON
    object of `inputs`, `outputs` and, for functions, `fn_name`).

    Raises:
        InputError: a column is missing or malformed, or there are no tests.
    """
    tests = decode(record, "input_output", dict)
    function = tests.get("fn_name") or ""
    kept = {name: _first(record, tests, name, style.max_tests) for name in ("inputs", "outputs")}
    solutions = decode(record, "solutions", list) if optional_text(record, "solutions") else []
    problem = Problem(
        question=record.text("question"),
        truth=kept | ({"fn_name": function} if function else {}),
        solution=next((s for s in solutions if isinstance(s, str) and s.strip()), ""),
        starter=optional_text(record, "starter_code"),
        function=function,
    )
    return to_row(record, split, problem, style, metadata)


def decode(record: Record, column: str, kind: type[Any]) -> Any:
    """Return the JSON value in a text column.

    Raises:
        InputError: there is no such text, it is not JSON, or its value is not of that kind.
    """
    try:
        value = json.loads(record.text(column))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{record.where}: '{column}' is not JSON: {str(error)[:80]}") from None
    if not isinstance(value, kind):
        raise InputError(
            f"{record.where}: '{column}' must be a JSON {_JSON_NAMES[kind]}, found {type(value).__name__}"
        )
    return value


def optional_text(record: Record, column: str) -> str:
    """Return a text column; empty when it is missing, null or blank."""
    value = record.values.get(column)
    return value if isinstance(value, str) and value.strip() else ""


def _json_ready(value: object) -> object:
    """The value itself; dates, which some published forms hold as such, become text."""
    return value.isoformat() if isinstance(value, date) else value


_JSON_NAMES: dict[type[Any], str] = {dict: "object", list: "list"}


def _first(record: Record, tests: dict[str, Any], name: str, count: int | None) -> list[Any]:
    cases = tests.get(name)
    if not isinstance(cases, list):
        raise InputError(
            f"{record.where}: 'input_output' must hold a list '{name}', found {type(cases).__name__}"
        )
    return cases[:count]


def _prompt(problem: Problem, instruction: str) -> str:
    if problem.starter.strip():
        task = f"Complete this Python code:\n\n```python\n{problem.starter.rstrip()}\n```\n\n"
    elif problem.function:
        task = f"Write the Python function `{problem.function}`. "
    else:
        task = "Write a Python program that reads standard input and writes to standard output. "
    return f"{problem.question.rstrip()}\n\n{task}{instruction}".rstrip()
