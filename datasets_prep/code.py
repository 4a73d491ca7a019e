"""What the sets of programming problems share: `prepare`, prompts, and rows with tests as ground truth.

Which columns hold what is each set's business. Solutions and packed tests are read, never run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from rewardkit.datasets_prep.prepare import Limit, Prepared, Raw, SkipBad, System, check_count, prepare_source
from rewardkit.datasets_prep.schema import Row, chat
from rewardkit.datasets_prep.sources import Hub, Record, open_source
from rewardkit.datasets_prep.writer import Progress
from rewardkit.errors import InputError
from rewardkit.rewards.code.truth import TruthError, read

INSTRUCTION = "Give all of it in one ```python block."


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


@dataclass(frozen=True, slots=True)
class ProblemSet:
    """One set of problems: what of it differs from the others."""

    name: str
    """Of the dataset, as `rewardkit prep` knows it."""
    hub: Hub
    """Its name there is the data source too."""
    metadata: tuple[str, ...]
    """Raw columns to keep as metadata."""
    problem: Callable[[Record, int | None], Problem]
    """Reads a record with its first so many tests, None for all; raises InputError if it cannot be used."""

    def prepare(
        self,
        out_dir: Path,
        *,
        raw: Raw = None,
        instruction: Annotated[str, "Text at the end of each prompt; '' for none."] = INSTRUCTION,
        system: System = "",
        max_tests: Annotated[int | None, "Keep only the first tests of each problem."] = None,
        limit: Limit = None,
        skip_bad: SkipBad = False,
        progress: Progress | None = None,
    ) -> Prepared:
        """Write the set to `out_dir` as train.parquet and test.parquet, as far as the raw data has them.

        Raises:
            InputError: the raw data cannot be found or used, or the folder cannot be written.
            MissingDependencyError: no `raw`, and the package `datasets` is not installed.
        """
        check_count("max_tests", max_tests)

        def to_row(record: Record, split: str) -> Row:
            problem = self.problem(record, max_tests)
            ground_truth = json.dumps(problem.truth)
            try:
                read(ground_truth)
            except TruthError as error:
                raise InputError(f"{record.where}: {error}") from None
            return Row(
                data_source=self.hub.name,
                prompt=chat(_prompt(problem, instruction), system),
                ability="code",
                ground_truth=ground_truth,
                split=split,
                index=record.index,
                question=problem.question,
                answer=f"```python\n{problem.solution}\n```" if problem.solution.strip() else "",
                metadata=_metadata(record, self.metadata, problem),
            )

        return prepare_source(
            out_dir,
            self.name,
            open_source(raw, self.hub),
            to_row,
            limit=limit,
            skip_bad=skip_bad,
            arguments={"instruction": instruction, "system": system, "max_tests": max_tests},
            progress=progress,
        )


def inputs_outputs(record: Record, max_tests: int | None) -> Problem:
    """Return the problem of a record in the columns that APPS introduced and TACO took over.

    These are `question`, `starter_code`, `solutions` (JSON list of programs) and `input_output` (JSON
    object of `inputs`, `outputs` and, for functions, `fn_name`).

    Raises:
        InputError: a column is missing or malformed.
    """
    tests = decode(record, "input_output", dict)
    function = tests.get("fn_name") or ""
    kept = {name: _first(record, tests, name, max_tests) for name in ("inputs", "outputs")}
    solutions = decode(record, "solutions", list) if optional_text(record, "solutions") else []
    return Problem(
        question=record.text("question"),
        truth=kept | ({"fn_name": function} if function else {}),
        solution=next((s for s in solutions if isinstance(s, str) and s.strip()), ""),
        starter=optional_text(record, "starter_code"),
        function=function,
    )


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


def _metadata(record: Record, names: tuple[str, ...], problem: Problem) -> dict[str, object]:
    """Those columns that say something, and the starter code."""
    columns = {name: _json_ready(record.values.get(name)) for name in names}
    return {n: v for n, v in {**columns, "starter_code": problem.starter}.items() if v not in (None, "", [])}


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
