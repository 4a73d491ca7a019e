"""Creates the prompts and rows for datasets of programming problems.

Each dataset's own module interprets the columns. Solutions and packed tests are read but never executed.
"""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.recipe import PrepResult, Recipe, RowContext, prepare_recipe
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.settings import PrepSettings, check_count
from rewardkit.datasets_prep.common.sources import Hub, Record, Source, open_raw
from rewardkit.datasets_prep.common.verification import MOST
from rewardkit.datasets_prep.common.writer import OnWritten
from rewardkit.errors import InputError
from rewardkit.rewards.code.ground_truth import read
from rewardkit.rewards.code.problem import GroundTruthError

INSTRUCTION = "Give all of it in one ```python block."


@dataclass(frozen=True, slots=True)
class ProgramProblem:
    """Programming problem from a raw record."""

    question: str
    ground_truth: dict[str, Any]
    """Test cases in a format that the code reward supports."""
    solution: str = ""
    """Python program that passes the tests, or empty if the dataset has no solution."""
    others: tuple[str, ...] = ()
    """Additional solutions."""
    starter: str = ""
    function: str = ""
    """Name of the function to write, or empty if the answer is a program that reads standard input."""


@dataclass(frozen=True, slots=True, eq=False)
class ProblemSet:
    """Definition of a dataset of programming problems."""

    name: str
    """Name of the dataset in `rewardkit prep`."""
    hub: Hub
    metadata: tuple[str, ...]
    """Raw columns to keep as metadata."""
    problem: Callable[[Record, int | None], ProgramProblem]
    """Function that reads the problem in a record. The second argument is the maximum number of tests, or
    None for all tests. The function raises InputError if the record cannot be used."""
    data_source: str = ""
    """Data source of the rows. If empty, the dataset's name on the hub is used."""
    layout: SplitLayout = field(default_factory=SplitLayout)
    open: Callable[[str | Path, SplitLayout], Source] = open_raw
    """Function that opens the raw data (see `Recipe.open`)."""

    def prepare(
        self,
        out_dir: Path,
        settings: PrepSettings | None = None,
        *,
        max_tests: Annotated[int | None, "Keep only the first N tests of each problem."] = None,
        progress: OnWritten | None = None,
    ) -> PrepResult:
        """Write the dataset to `out_dir`, with one parquet file for each split in the raw data.

        Raises:
            InputError: The raw data cannot be found or used, or the output folder cannot be written.
            MissingDependencyError: `raw` is not set and the package `datasets` is not installed.
        """
        check_count("max_tests", max_tests)
        recipe = Recipe(
            self.name,
            self.hub,
            partial(_to_row, self, max_tests),
            INSTRUCTION,
            self.layout,
            open=self.open,
        )
        return prepare_recipe(out_dir, recipe, settings or PrepSettings(), {"max_tests": max_tests}, progress)


def _to_row(published: ProblemSet, max_tests: int | None, record: Record, context: RowContext) -> Row:
    problem = published.problem(record, max_tests)
    ground_truth = json.dumps(problem.ground_truth)
    try:
        read(ground_truth)
    except GroundTruthError as error:
        raise InputError(f"{record.where}: {error}") from None
    return Row(
        data_source=published.data_source or published.hub.name,
        prompt=chat(_prompt(problem, context.instruction)),
        ability="code",
        ground_truth=ground_truth,
        split=context.split,
        index=record.index,
        question=problem.question,
        answer=_fenced(problem.solution) if problem.solution.strip() else "",
        alternatives=tuple(map(_fenced, problem.others)),
        metadata=_metadata(record, published.metadata, problem),
    )


def _fenced(program: str) -> str:
    return f"```python\n{program}\n```"


def inputs_outputs(record: Record, max_tests: int | None) -> ProgramProblem:
    """Read a problem from a record with the columns of APPS and TACO.

    The columns are `question`, `starter_code`, `solutions` (a JSON list of programs) and `input_output` (a
    JSON object with `inputs`, `outputs` and, for functions, `fn_name`).

    Raises:
        InputError: A column is missing or malformed.
    """
    tests = decode(record, "input_output", dict)
    function = tests.get("fn_name") or ""
    kept = {name: _first(record, tests, name, max_tests) for name in ("inputs", "outputs")}
    published = record.values.get("solutions")
    has_some = isinstance(published, list) or optional_text(record, "solutions")
    solutions = decode(record, "solutions", list) if has_some else []
    programs = (s for s in solutions if isinstance(s, str) and is_python3(s))
    solution, *others = [*itertools.islice(dict.fromkeys(programs), MOST)] or [""]
    return ProgramProblem(
        question=record.text("question"),
        ground_truth=kept | ({"fn_name": function} if function else {}),
        solution=solution,
        others=tuple(others),
        starter=optional_text(record, "starter_code"),
        function=function,
    )


_PYTHON2 = {"raw_input", "xrange", "unicode", "long", "basestring", "unichr", "cmp", "execfile"}
_PYTHON2_METHODS = {"iteritems", "itervalues", "iterkeys", "has_key"}


def is_python3(program: str) -> bool:
    """Return True if a program appears to be written in Python 3, judging by its syntax and names.

    Older datasets contain many solutions in Python 2. The program is parsed but not executed.
    """
    if not program.strip():
        return False
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    used = {node.id for node in names} - own
    methods = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return not used & _PYTHON2 and not methods & _PYTHON2_METHODS


def decode(record: Record, column: str, kind: type[Any]) -> Any:
    """Decode the JSON in a column. In some files, the column already contains the decoded value.

    Raises:
        InputError: The column is missing or empty, the text is not JSON, or the value has the wrong type.
    """
    if isinstance(record.values.get(column), kind):
        return record.values[column]
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
    """Return the text in a column, or an empty string if the column is missing, null or blank."""
    value = record.values.get(column)
    return value if isinstance(value, str) and value.strip() else ""


def _metadata(record: Record, names: tuple[str, ...], problem: ProgramProblem) -> dict[str, object]:
    """Return the nonempty values in the columns `names`, and the starter code if there is any."""
    columns = {name: _json_ready(record.values.get(name)) for name in names}
    return {n: v for n, v in {**columns, "starter_code": problem.starter}.items() if v not in (None, "", [])}


def _json_ready(value: object) -> object:
    """Convert a date, which some published versions contain, to a string. Return other values unchanged."""
    return value.isoformat() if isinstance(value, date) else value


_JSON_NAMES: dict[type[Any], str] = {dict: "object", list: "list"}


def _first(record: Record, tests: dict[str, Any], name: str, count: int | None) -> list[Any]:
    cases = tests.get(name)
    if not isinstance(cases, list):
        raise InputError(
            f"{record.where}: 'input_output' must contain a list '{name}', found {type(cases).__name__}"
        )
    return cases[:count]


def _prompt(problem: ProgramProblem, instruction: str) -> str:
    if problem.starter.strip():
        task = f"Complete this Python code:\n\n```python\n{problem.starter.rstrip()}\n```\n\n"
    elif problem.function:
        task = f"Write the Python function `{problem.function}`. "
    else:
        task = "Write a Python program that reads standard input and writes to standard output. "
    return f"{problem.question.rstrip()}\n\n{task}{instruction}".rstrip()
