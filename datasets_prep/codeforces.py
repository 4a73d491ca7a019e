"""Codeforces contest problems with official tests but without solutions, from open-r1/codeforces.

Raw files: the parquet files in `verifiable/` (problems with complete tests) or `data/` from the hub.

Raw columns: `title`, `description`, `input_format`, `output_format`, `note`, `examples`, `official_tests`
(a list of {input, output}), `time_limit` (in seconds), `input_mode`, `generated_checker`, `rating` and
`tags`. The checker is a program that judges the output if several outputs are correct. It is stored with the
tests.

Interactive problems, problems that use files, and problems without tests are skipped.
"""

from __future__ import annotations

from typing import Any

from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.programs import ProblemSet, ProgramProblem, optional_text
from rewardkit.datasets_prep.common.readers import LeftOutError
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError


def _problem(record: Record, max_tests: int | None) -> ProgramProblem:
    if optional_text(record, "interaction_format"):
        raise LeftOutError("the program has to interact with another program")
    if record.values.get("input_mode") not in (None, "", "stdio"):
        raise LeftOutError("the program reads and writes files")
    tests = _cases(record, "official_tests")[:max_tests]
    if not tests:
        raise LeftOutError("no tests are published")
    limit = record.values.get("time_limit")
    timed = {"time_limit": float(limit)} if isinstance(limit, int | float) and limit else {}
    checker = optional_text(record, "generated_checker")
    decided = {"generated_checker": checker} if checker else {}
    return ProgramProblem(
        question=_statement(record), ground_truth={"official_tests": tests, **timed, **decided}
    )


def _statement(record: Record) -> str:
    parts = [record.text("title"), record.text("description")]
    for name, heading in (("input_format", "Input"), ("output_format", "Output"), ("note", "Note")):
        if text := optional_text(record, name):
            parts.append(f"{heading}\n{text}")
    for case in _cases(record, "examples"):
        parts.append(f"Example input\n{case['input'].rstrip()}\nExample output\n{case['output'].rstrip()}")
    return "\n\n".join(parts)


def _cases(record: Record, name: str) -> list[dict[str, str]]:
    cases: Any = record.values.get(name) or []
    if not isinstance(cases, list) or not all(
        isinstance(c, dict) and isinstance(c.get("input"), str) and isinstance(c.get("output"), str)
        for c in cases
    ):
        raise InputError(
            f"{record.where}: '{name}' must be a list of objects, each with the strings 'input' and 'output'"
        )
    return [{"input": case["input"], "output": case["output"]} for case in cases]


prepare = ProblemSet(
    "codeforces",
    Hub("open-r1/codeforces", "verifiable", ("train", "test"), "the parquet files of verifiable/"),
    metadata=("id", "rating", "tags", "contest_name", "contest_start_year", "time_limit", "memory_limit"),
    problem=_problem,
    data_source="codeforces",
    layout=SplitLayout(prefer=("verifiable/",)),
).prepare
