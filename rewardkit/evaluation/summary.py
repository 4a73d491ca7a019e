"""Summaries of evaluations and comparisons as text, as Markdown, and as JUnit XML for a test report.

In JUnit XML, a failed gate is a `failure`. A gate or a data source with missing figures is an `error`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from rewardkit.errors import InputError, reason_of
from rewardkit.evaluation.gates import GateResult
from rewardkit.evaluation.intervals import Difference, Estimate
from rewardkit.files.publishing import published, require_folder_of

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""
_MARKS = {"passed": "✅", "failed": "❌", "error": "⚠️"}


def cell(figure: Estimate | Difference | None, sign: str = "") -> str:
    """Return the text for a table cell: the mean with any 95 % interval, or `-` if there is no figure.

    Args:
        figure: Figure to show.
        sign: Sign option in the number format. `+` also shows the sign of positive numbers.
    """
    if figure is None:
        return "-"
    mean = f"{figure.mean:{sign}.4f}"
    if figure.low is None or figure.high is None:
        return mean
    return f"{mean} ({figure.low:{sign}.3f} to {figure.high:{sign}.3f})"


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Row for one data source in a summary."""

    name: str
    cells: tuple[str, ...]
    problem: str = ""
    """Reason why the data source has no figures; empty if it has figures."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Result of a command, with a table, problems and the results of gates."""

    title: str
    """Name of the command: `eval` or `compare`."""
    columns: tuple[str, ...]
    """Column headings. The first column contains the names of the rows."""
    rows: tuple[SummaryRow, ...]
    problems: tuple[str, ...] = ()
    """Messages about missing rows or data sources."""
    gates: tuple[GateResult, ...] = ()

    def __str__(self) -> str:
        table = [self.columns, *((row.name, *row.cells) for row in self.rows)]
        widths = [max(len(row[i]) for row in table) for i in range(len(self.columns))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        lines += [f"error: {problem}" for problem in self.problems]
        return "\n".join([*lines, *(f"{gate.status}: {gate.line}" for gate in self.gates)])


def append_markdown(summary: Summary, path: Path) -> None:
    """Append a summary to a Markdown file, such as GitHub's `$GITHUB_STEP_SUMMARY`.

    Raises:
        InputError: The file cannot be written.
    """
    lines = [f"### rewardkit {summary.title}", "", _table_row(summary.columns)]
    lines.append("|" + " --- |" * len(summary.columns))
    lines += [_table_row((row.name, *row.cells)) for row in summary.rows]
    if summary.problems or summary.gates:
        lines.append("")
    lines += [f"- {_MARKS['error']} {_plain(problem)}" for problem in summary.problems]
    lines += [f"- {_MARKS[gate.status]} {_plain(gate.line)}" for gate in summary.gates]
    require_folder_of(path)
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")
    except OSError as error:
        raise InputError(f"cannot write {path}: {reason_of(error)}") from None


def _table_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(text: str) -> str:
    """Return the text on one line, escaped for Markdown, because names of data sources come from files."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$&@!])", r"\\\1", " ".join(text.split()))


def write_junit(summary: Summary, path: Path) -> None:
    """Write a summary as JUnit XML, with one test case for each data source, for each gate and for all rows.

    Raises:
        InputError: The file cannot be written.
    """
    cases = _cases(summary)
    counts = {"tests": len(cases), "failures": 0, "errors": 0, "skipped": 0}
    for _, status, _ in cases:
        counts["failures"] += status == "failed"
        counts["errors"] += status == "error"
    totals = {name: str(count) for name, count in counts.items()} | {"time": "0"}
    root = ElementTree.Element("testsuites", {"name": "rewardkit", **totals})
    suite = ElementTree.SubElement(root, "testsuite", {"name": f"rewardkit {summary.title}", **totals})
    for name, status, line in cases:
        about = {"classname": f"rewardkit.{summary.title}", "name": _xml(name), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", about)
        if status == "passed":
            ElementTree.SubElement(case, "system-out").text = _xml(line)
        else:
            kind = "failure" if status == "failed" else "error"
            ElementTree.SubElement(case, kind, {"message": _xml(line), "type": kind}).text = _xml(line)
    ElementTree.indent(root)
    with published(path) as file:
        ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _cases(summary: Summary) -> list[tuple[str, Literal["passed", "failed", "error"], str]]:
    """Return the name, the status and a line of text for each test case."""
    found: list[tuple[str, Literal["passed", "failed", "error"], str]] = []
    for row in summary.rows:
        figures = ", ".join(
            f"{heading} {cell}" for heading, cell in zip(summary.columns[1:], row.cells, strict=True)
        )
        found.append((f"{row.name} is scored", "error" if row.problem else "passed", row.problem or figures))
    lost = [problem for problem in summary.problems if problem not in {row.problem for row in summary.rows}]
    found.append(("all rows are accounted for", "error" if lost else "passed", "; ".join(lost) or "yes"))
    found += [(f"{gate.data_source}: {gate.rule}", gate.status, gate.line) for gate in summary.gates]
    return found


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
