"""Reward `sql`, which compares the rows of two queries that run in SQLite in the sandbox.

The query in the response must return the same rows as the ground truth's query. The ground truth is JSON with
`query`, and with either `schema` (statements that create the database) or `databases` (a list of schemas).
The rows must agree on every database, which detects queries that are right by luck. `schema` or `databases`
may instead be in `extra_info`, in which case the ground truth may be a bare query.

- Rows are compared in any order, or in order if the ground truth's query has its own ORDER BY (`ordered` in
  the ground truth overrides this). Rows that the ORDER BY leaves tied may be in any order. Columns are
  compared by position. Whole numbers must be equal, and other numbers must agree within a relative tolerance
  of 1e-9.
- Every query runs twice, the second time with SQLite's unordered rows reversed. A query that is right only if
  rows come in the order of insertion is wrong. If the ground truth's own query does not determine which rows
  it returns (because of a LIMIT), either result is accepted.
- The query is the last ```sql block, the `<answer>`, the `sql` or `query` in a JSON object, the only line
  that starts like a query, together with the lines that continue it, or the whole response. It must be a
  single SELECT (or WITH).
- A query can only read, and cannot use random numbers, so the verdict is always the same. An authoriser
  denies all other operations. A query is limited by SQLite's own count of steps rather than by time, and each
  text or blob is limited to 10 MB. The query must read a table if the ground truth's query does. If reducing
  each table to one row changes the result of the ground truth's query, it must also change the result of the
  response's query, so a constant is not an answer. A constant behind a condition that a single row meets
  (`SELECT 5 FROM t WHERE id = 3`) is detected only with several databases.
- The expected rows never enter the sandbox. If they are empty or only NULL on every database, any query that
  finds nothing would be right, so the sample is `invalid` (unless `allow_empty` is set).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec

from rewardkit.fences import last_fence
from rewardkit.rewards.answers.place import reply, tags
from rewardkit.rewards.structure.query_results import Expected, Result, groups, is_ordered, with_ties
from rewardkit.sandbox import Limits
from rewardkit.sandbox.of_process import sandbox_of_process
from rewardkit.types import Sample, Score, failure

_MAX_QUERY = 20_000
_Kept = Literal["", "min", "max"]
"""Rows to keep in each table, which are all rows, the first row or the last row."""

_PROGRAM = r"""
import json, re, sqlite3, sys
task = json.load(sys.stdin)
base = sqlite3.connect(":memory:")
base.executescript(task["schema"])
if task["kept"]:
    for name, in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        table = '"%s"' % name.replace('"', '""')
        try:
            kept = "SELECT %s(rowid) FROM %s" % (task["kept"], table)
            base.execute("DELETE FROM %s WHERE rowid <> (%s)" % (table, kept))
        except sqlite3.Error:
            pass
base.commit()
tables, steps = set(), [0]
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
REFUSED = {"load_extension", "random", "randomblob"}
def authorise(action, first, second, database, trigger):
    if action not in READING or (action == sqlite3.SQLITE_FUNCTION and second in REFUSED):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_READ:
        if first.startswith("sqlite_"):
            return sqlite3.SQLITE_DENY
        tables.add(first)
    return sqlite3.SQLITE_OK
def tick():
    steps[0] += 1
    return steps[0] > task["steps"]
plain = sqlite3.connect(":memory:")
def printf(form, *values):  # a single step, which old versions take seconds for: '%1000000000d'
    if re.search("%[^A-Za-z%]*?([*]|[0-9]{5})", str(form)):
        raise ValueError("too wide")
    return plain.execute("SELECT printf(?%s)" % (", ?" * len(values)), (form, *values)).fetchone()[0]
for name in ("printf", "format"):
    base.create_function(name, -1, printf, deterministic=True)
base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000_000)
base.set_progress_handler(tick, 1000)
def ask(query, reversed):
    base.set_authorizer(None)
    base.execute("PRAGMA reverse_unordered_selects = %d" % reversed)
    base.set_authorizer(authorise)
    tables.clear()
    steps[0] = 0
    try:
        cursor = base.execute(query)
        rows = cursor.fetchmany(task["rows"] + 1)
        columns = len(cursor.description or ())
        rows = [[["blob", v.hex()] if isinstance(v, bytes) else v for v in row] for row in rows]
        return {"rows": rows, "columns": columns, "tables": sorted(tables)}
    except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, ValueError) as error:
        return {"error": str(error)[:200] or type(error).__name__}
print(json.dumps([ask(query, reversed) for query in task["queries"] for reversed in (0, 1)]))
"""


@dataclass(frozen=True)
class SqlOptions:
    """Options for the sql reward."""

    allow_empty: bool = False
    """True to accept ground truths whose query returns no rows, or only NULL, on all databases. By default,
    the status of such samples is `invalid`."""
    max_rows: int = 10_000
    """Maximum number of rows that a query may return. A response whose query returns more rows is wrong. If
    the query in the ground truth returns more, the sample's status is `invalid`."""
    max_steps: int = 50_000
    """Maximum amount of work for one query, in thousands of SQLite instructions."""
    memory_mb: int = 512
    """Memory limit for one query, in MiB."""
    level: Literal["auto", "warm", "guard", "none"] = "auto"
    """Isolation level of the sandbox: `warm`, `guard` or `none` (docs/sandbox.md). `auto` uses `warm`
    if it works on this machine, otherwise `guard`."""
    allow_unsafe: bool = False
    """True to allow `level=none`, which runs queries without isolation."""

    def __post_init__(self) -> None:
        """Check that the limits allow a query to run."""
        for name in ("max_rows", "max_steps", "memory_mb"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 1 or more")


@dataclass(frozen=True, slots=True)
class _SqlGroundTruth:
    query: str
    databases: tuple[str, ...]
    ordered: bool


class _SandboxFailed(RuntimeError):
    """Raised if there is no result because the sandbox, rather than the query, failed."""


def score(sample: Sample, options: SqlOptions) -> Score:
    """Score a query by the rules at the top of this file.

    Raises:
        _SandboxFailed: The sandbox could not run the query.
        SandboxUnavailable: The requested isolation level does not work on this host.
    """
    ground_truth = _read_ground_truth(sample.ground_truth, sample.extra_info)
    if isinstance(ground_truth, str):
        return failure("invalid", ground_truth)
    wanted = [_expected(ground_truth, database, options) for database in ground_truth.databases]
    broken = next((found for found in wanted if isinstance(found, str)), None)
    if broken:
        return failure("invalid", f"the query of the ground truth fails: {broken}")
    expected = [found for found in wanted if isinstance(found, Expected)]
    if not options.allow_empty and not any(found.results[0].says_something for found in expected):
        return failure(
            "invalid",
            "the query of the ground truth returns only NULL or no rows, so any query that "
            "finds nothing would be right",
        )
    query = _query(sample.response)
    if query is None:
        return Score(0.0, "ok", False, detail="no query in the response")
    for database, found in zip(ground_truth.databases, expected, strict=True):
        why = next(filter(None, (found.misfit(result) for result in _run((query,), database, options))), None)
        if why:
            return Score(0.0, "ok", False, query[:200], detail=why)
    if _is_constant(query, ground_truth, options):
        why = "the query returns the same rows for other tables, but the query of the ground truth does not"
        return Score(0.0, "ok", False, query[:200], detail=why)
    return Score(1.0, "ok", True, query[:200], detail="the same rows")


def _is_constant(query: str, ground_truth: _SqlGroundTruth, options: SqlOptions) -> bool:
    """Return True if a query's result does not depend on the tables, but the ground truth's does."""
    kept: tuple[_Kept, ...] = ("min", "max")
    return all(_stays(query, ground_truth, one, options) for one in kept) and not all(
        _stays(ground_truth.query, ground_truth, one, options) for one in kept
    )


def _stays(query: str, ground_truth: _SqlGroundTruth, kept: _Kept, options: SqlOptions) -> bool:
    """Return True if a query returns the same rows when each table of the first database has only one row."""
    database = ground_truth.databases[0]
    whole = Expected(_run((query,), database, options))
    return whole.misfit(_run((query,), database, options, kept)[0]) is None


def _read_ground_truth(ground_truth: str, extra_info: Mapping[str, Any]) -> _SqlGroundTruth | str:
    given: Any = ground_truth
    if ground_truth.lstrip().startswith("{"):
        try:
            given = msgspec.json.decode(ground_truth.encode())
        except (msgspec.DecodeError, UnicodeEncodeError):
            return "the ground truth is not JSON"
    row = given if isinstance(given, Mapping) else {"query": given}
    query = str(row.get("query") or row.get("sql") or "").strip().rstrip("; \n")
    databases = row.get("databases") or extra_info.get("databases") or []
    schema = row.get("schema") or extra_info.get("schema")
    several = [databases] if isinstance(databases, str) else databases
    found = tuple(map(str, [schema] if schema else several))
    if not query or not found:
        return "the row needs a query, and a schema or databases, in the ground truth or in extra_info"
    return _SqlGroundTruth(query, found, bool(row.get("ordered", is_ordered(query))))


def _query(response: str) -> str | None:
    """Return the query in a response, without a final semicolon, or None if it is not a single SELECT."""
    text = reply(response)
    tag = next(tags(text), None)
    said = tag.text if tag else text
    marked = last_fence(said, "sql", "sqlite")
    held = last_fence(said, "sql", "sqlite", "json")
    query = next(filter(_begins, (marked, _in_json(held) or "", _in_prose(held))), "").strip().rstrip("; \n")
    return query if query and len(query) <= _MAX_QUERY else None


def _begins(text: str) -> bool:
    return _without_comments_before(text.lstrip())[:6].lower().startswith(("select", "with"))


def _in_json(text: str) -> str | None:
    """Return the only query under a common key in a JSON object, or None for any other text."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    named = [value[name] for name in ("sql", "query", "sql_query") if isinstance(value.get(name), str)]
    return named[0] if len(named) == 1 else None


def _in_prose(text: str) -> str:
    """Return the only query that starts a line after prose or a label, up to `;` or an empty line."""
    found = list(_QUERY_LINE.finditer(text))
    if len(found) != 1 or not text[: found[0].start("query")].strip() or "```" in text:
        return text
    query, ended, rest = text[found[0].start("query") :].partition(";")
    return text if _QUERY_WORD.search(rest) else query if ended else query.partition("\n\n")[0]


_QUERY_LINE = re.compile(
    r"^(?:(?:sql|query|answer)(?: query)?:)?[ \t]*(?P<query>(?:select|with)\b)", re.I | re.M
)
_QUERY_WORD = re.compile(r"\b(?:select|insert|update|delete|drop|create|alter|attach|pragma)\b", re.I)


def _without_comments_before(query: str) -> str:
    while query.startswith(("--", "/*")):
        query = query.partition("\n" if query.startswith("--") else "*/")[2].lstrip()
    return query


@lru_cache(maxsize=1_024)
def _expected(ground_truth: _SqlGroundTruth, database: str, options: SqlOptions) -> Expected | str:
    """Return the expected results on one database, or the error that the ground truth's query causes."""
    results = _run((ground_truth.query,), database, options)
    broken = next((result.error for result in results if result.error), None)
    if broken:
        return broken
    if not ground_truth.ordered:
        return Expected(results)
    tied = _run(with_ties(ground_truth.query, results[0].columns), database, options)
    if not tied or any(result.error for result in tied):
        return Expected(results, ordered=True)
    return Expected((results[0], tied[0], tied[2]), groups(tied[0], tied[2]), ordered=True)


@lru_cache(maxsize=4_096)
def _run(queries: tuple[str, ...], schema: str, options: SqlOptions, kept: _Kept = "") -> tuple[Result, ...]:
    """Return two results for each query, the second with SQLite's unordered rows in reverse order."""
    if not queries:
        return ()
    limited = {"steps": options.max_steps, "rows": options.max_rows}
    task = {"queries": queries, "schema": schema, "kept": kept, **limited}
    limits = Limits(cpu_s=10.0, memory_mb=options.memory_mb)
    sandbox = sandbox_of_process(options.level, allow_unsafe=options.allow_unsafe)
    outcome = sandbox.run(_PROGRAM, json.dumps(task), limits)
    if outcome.status in ("sandbox_error", "cancelled"):
        raise _SandboxFailed(outcome.detail or outcome.status)
    if outcome.status != "ok":
        last = outcome.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return (Result(error=f"{outcome.status} {last[:200]}".strip()),) * (2 * len(queries))
    return tuple(_result(answer, options) for answer in json.loads(outcome.stdout))


def _result(answer: dict[str, Any], options: SqlOptions) -> Result:
    if "error" in answer:
        return Result(error=answer["error"])
    if len(answer["rows"]) > options.max_rows:
        return Result(error=f"more than {options.max_rows} rows")
    return Result(tuple(map(tuple, answer["rows"])), answer["columns"], bool(answer["tables"]))
