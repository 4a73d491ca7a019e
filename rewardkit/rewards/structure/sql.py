"""`sql`: the query in the response gives the same rows as the ground truth's, on sqlite in the sandbox.

The ground truth is JSON: `query`, and `schema` (statements that make the database) or `databases` (several
of them; the rows must agree on each, which catches queries that are right by luck). `schema` or `databases`
may also stand in `extra_info`. A bare query is taken where `extra_info` has the database.

- Rows are compared as a bag; in order where the ground truth's query ends in ORDER BY (`ordered` in the
  ground truth overrides). Columns go by position. Numbers are equal up to 1e-9 of their size.
- The query is the last ```sql block, the `<answer>`, or the whole response: one SELECT (or WITH).
- It can only read: an authoriser refuses anything else, and a budget of sqlite's own steps, not of time,
  ends it. It must read a table where the ground truth's does: a constant is no query.
- The expected rows never enter the sandbox. Where they are empty on every database, any query without rows
  would be right, so the sample is `invalid` (`allow_empty` takes it all the same).
"""

from __future__ import annotations

import atexit
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec

from rewardkit.rewards.structure.truth import last_fence
from rewardkit.rewards.visible import reply
from rewardkit.sandbox import Limits, Outcome, Sandbox
from rewardkit.types import Sample, Score, failure

_MAX_QUERY = 20_000
_ORDERED = re.compile(r"\border\s+by\b[^()]*$", re.IGNORECASE)

_PROGRAM = r"""
import json, sqlite3, sys
task = json.load(sys.stdin)
base = sqlite3.connect(":memory:")
base.executescript(task["schema"])
base.commit()
tables, steps = set(), [0]
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
def authorise(action, first, second, database, trigger):
    if action not in READING or (action == sqlite3.SQLITE_FUNCTION and second == "load_extension"):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_READ:
        if first.startswith("sqlite_"):
            return sqlite3.SQLITE_DENY
        tables.add(first)
    return sqlite3.SQLITE_OK
def tick():
    steps[0] += 1
    return steps[0] > task["steps"]
base.set_authorizer(authorise)
base.set_progress_handler(tick, 1000)
try:
    cursor = base.execute(task["query"])
    rows = cursor.fetchmany(task["rows"] + 1)
    columns = len(cursor.description or ())
    rows = [[v.hex() if isinstance(v, bytes) else v for v in row] for row in rows]
    answer = {"rows": rows, "columns": columns, "tables": sorted(tables)}
except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, ValueError) as error:
    answer = {"error": str(error)[:200]}
print(json.dumps(answer))
"""


@dataclass(frozen=True)
class SqlOptions:
    """Options of the sql reward."""

    allow_empty: bool = False
    """Take ground truths whose query has no rows on any database."""
    max_rows: int = 10_000
    """A query with more is wrong (a ground truth with more: `invalid`)."""
    max_steps: int = 50_000
    """Thousands of steps of sqlite's machine that one query may take."""
    memory_mb: int = 512
    level: Literal["auto", "full", "warm", "guard", "none"] = "auto"
    """Isolation of the sandbox, as for `code`."""
    allow_unsafe: bool = False


@dataclass(frozen=True, slots=True)
class _Truth:
    query: str
    databases: tuple[str, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class _Result:
    """What a query gives: rows, or why it gives none."""

    rows: tuple[tuple[Any, ...], ...] = ()
    columns: int = 0
    tables: bool = False
    error: str | None = None


class _SandboxFailed(RuntimeError):
    """The sandbox, not the query, is why there is no result."""


def score(sample: Sample, options: SqlOptions) -> Score:
    """Score one query by the rules at the top of this file.

    Raises:
        _SandboxFailed: the sandbox could not run it.
        SandboxUnavailable: this host has no sandbox of the level asked for.
    """
    truth = _truth(sample.ground_truth, sample.extra_info)
    if isinstance(truth, str):
        return failure("invalid", truth)
    wanted = [_run(truth.query, database, options) for database in truth.databases]
    broken = next((result.error for result in wanted if result.error), None)
    if broken:
        return failure("invalid", f"the ground truth's query fails: {broken}")
    if not options.allow_empty and not any(result.rows for result in wanted):
        return failure(
            "invalid", "the ground truth's query has no rows: any query without rows would be right"
        )
    query = _query(sample.response)
    if query is None:
        return Score(0.0, "ok", False, detail="no query")
    for database, expected in zip(truth.databases, wanted, strict=True):
        why = _difference(_run(query, database, options), expected, truth.ordered)
        if why:
            return Score(0.0, "ok", False, query[:200], detail=why)
    return Score(1.0, "ok", True, query[:200], detail="the same rows")


def _truth(ground_truth: str, extra_info: Mapping[str, Any]) -> _Truth | str:
    given: Any = ground_truth
    if ground_truth.lstrip().startswith("{"):
        try:
            given = msgspec.json.decode(ground_truth.encode())
        except (msgspec.DecodeError, UnicodeEncodeError):
            return "the ground truth is not JSON"
    row = given if isinstance(given, Mapping) else {"query": given}
    query = str(row.get("query") or row.get("sql") or "")
    databases = row.get("databases") or extra_info.get("databases") or []
    schema = row.get("schema") or extra_info.get("schema")
    found = tuple(map(str, [schema] if schema else databases))
    if not query.strip() or not found:
        return "the ground truth needs a query, and a schema or databases (there or in extra_info)"
    return _Truth(query, found, bool(row.get("ordered", _ORDERED.search(query))))


def _query(response: str) -> str | None:
    """The query in a response, without a final semicolon; None unless it is one SELECT."""
    text = reply(response)
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, end) if end >= 0 else -1
    inner = text[start + 8 : end] if start >= 0 else text
    query = last_fence(inner, "sql", "sqlite").strip().rstrip("; \n")
    begins = query[:6].lower().startswith(("select", "with"))
    return query if begins and len(query) <= _MAX_QUERY else None


def _difference(found: _Result, expected: _Result, ordered: bool) -> str | None:
    """Why two results differ, None if they agree."""
    if found.error:
        return f"the query fails: {found.error}"
    if expected.tables and not found.tables:
        return "the query reads no table"
    if found.columns != expected.columns or len(found.rows) != len(expected.rows):
        return f"{len(found.rows)} rows of {found.columns}, not {len(expected.rows)} of {expected.columns}"
    given, wanted = list(found.rows), list(expected.rows)
    if not ordered:
        given.sort(key=_sortable)
        wanted.sort(key=_sortable)
    same = all(map(_same_row, given, wanted))
    return None if same else "other rows"


def _sortable(row: Sequence[Any]) -> tuple[tuple[int, float, str], ...]:
    return tuple(
        (1, round(float(v), 6), "")
        if isinstance(v, int | float)
        else (2, 0.0, str(v))
        if v is not None
        else (0, 0.0, "")
        for v in row
    )


def _same_row(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(map(_same, a, b))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b or math.isclose(a, b, rel_tol=1e-9)
    return type(a) is type(b) and bool(a == b)


@lru_cache(maxsize=4_096)
def _run(query: str, schema: str, options: SqlOptions) -> _Result:
    task = {"query": query, "schema": schema, "steps": options.max_steps, "rows": options.max_rows}
    limits = Limits(cpu_s=10.0, memory_mb=options.memory_mb)
    outcome = _sandbox(options).run(_PROGRAM, json.dumps(task), limits)
    return _result(outcome, options)


def _result(outcome: Outcome, options: SqlOptions) -> _Result:
    if outcome.status in ("sandbox_error", "cancelled"):
        raise _SandboxFailed(outcome.detail or outcome.status)
    if outcome.status != "ok":
        last = outcome.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return _Result(error=f"{outcome.status} {last[:200]}".strip())
    answer = json.loads(outcome.stdout)
    if "error" in answer:
        return _Result(error=answer["error"])
    if len(answer["rows"]) > options.max_rows:
        return _Result(error=f"more than {options.max_rows} rows")
    rows = tuple(map(tuple, answer["rows"]))
    return _Result(rows, answer["columns"], bool(answer["tables"]))


_sandboxes: dict[tuple[int, str], Sandbox] = {}


def _sandbox(options: SqlOptions) -> Sandbox:
    """This process's sandbox, started at first use and closed with the process."""
    key = (os.getpid(), options.level)
    if key not in _sandboxes:
        _sandboxes[key] = Sandbox(options.level, allow_unsafe=options.allow_unsafe)
        atexit.register(_sandboxes[key].close)
    return _sandboxes[key]
