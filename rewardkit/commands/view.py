"""`rewardkit view`: looks at scored responses, of `rewardkit score` or of a training run's dumps.

Reads row by row, however large the file. What a model wrote cannot steer the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rewardkit.errors import InputError, did_you_mean
from rewardkit.trainer.console import printable
from rewardkit.types import STATUSES

NAMES = {
    "response": ("response", "responses", "output"),
    "ground_truth": ("ground_truth", "gts", "reward_model"),
    "prompt": ("prompt", "input"),
    "score": ("score", "reward"),
    "correct": ("correct", "acc"),
    "extracted": ("extracted", "pred"),
}
"""Our names of what a row holds, and the others it goes by (verl's dumps have input, output and gts)."""
SCORED = ("score", "status", "correct", "extracted", "detail", "scorer", "parts", "seconds")

Row = dict[str, Any]


@click.command(epilog="Example: rewardkit view rollouts --status timeout")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--row", "number", type=int, help="Show this row in full.")
@click.option("--step", type=int, help="Of a folder of dumps: this step. Default: the last.")
@click.option("--status", type=click.Choice(STATUSES), help="Only responses of this status.")
@click.option("--data-source", help="Only responses of this data source.")
@click.option("--min-score", type=float, help="Only responses with at least this score.")
@click.option("--max-score", type=float, help="Only responses with at most this score.")
@click.option("--prefix", default="", help="What `rewardkit score --prefix` put before the score columns.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Rows to show; 0: all."
)
@click.option("--json", "as_json", is_flag=True, help="Print each row as a line of JSON.")
def command(
    path: Path,
    number: int | None,
    step: int | None,
    status: str | None,
    data_source: str | None,
    min_score: float | None,
    max_score: float | None,
    prefix: str,
    limit: int,
    as_json: bool,
) -> None:
    """Look at the scored responses in PATH, a parquet or jsonl file or a folder of a training run's dumps.

    A row with several responses is shown as so many rows.
    """

    def wanted(row: Row) -> bool:
        score = row.get("score")
        return (
            (number is None or row["row"] == number)
            and (status is None or row.get("status", "ok") == status)
            and (data_source is None or row.get("data_source") == data_source)
            and (min_score is None or (score is not None and score >= min_score))
            and (max_score is None or (score is not None and score <= max_score))
        )

    path = _file(path, step)
    matching = (row for row in read_rows(path, prefix) if wanted(row))
    shown = list(islice(matching, 1 if number is not None else limit or None))
    if number is not None and not shown:
        raise InputError(f"{path} has no row {number} that fits; see `rewardkit view {path}`")
    if as_json:
        for row in shown:
            click.echo(json.dumps(row, ensure_ascii=True, default=str))
    elif number is not None:
        _print_in_full(shown[0])
    else:
        more = bool(limit) and next(matching, None) is not None
        _print_table(shown, path, more)


def read_rows(path: Path, prefix: str = "") -> Iterator[Row]:
    """Yield each response of a parquet or jsonl file under our names, with `row`, its place from 0.

    Raises:
        InputError: no such file, not of these formats, or without a column of responses.
    """
    n = 0
    for raw in _jsonl(path) if path.suffix == ".jsonl" else _parquet(path):
        row = _named(raw, path, prefix)
        many = isinstance(row["response"], list)
        for i in range(len(row["response"]) if many else 1):
            one = {k: v[i] if many and _is_scored(k) and isinstance(v, list) else v for k, v in row.items()}
            yield {"row": n, **one}
            n += 1


def _is_scored(name: str) -> bool:
    return name == "response" or name in SCORED


def _named(raw: Row, path: Path, prefix: str) -> Row:
    row = dict(raw)
    for name in SCORED:
        if prefix and prefix + name in row:
            row[name] = row.pop(prefix + name)
    for name, others in NAMES.items():
        found = next((other for other in others if other in row), None)
        if found is not None and found != name:
            row[name] = row.pop(found)
    if isinstance(row.get("ground_truth"), dict):
        row["ground_truth"] = row["ground_truth"].get("ground_truth")
    if "response" not in row:
        hint = did_you_mean("response", row) or f"; it has: {', '.join(row)}"
        raise InputError(f"{path} has no column of responses{hint}")
    return row


def _jsonl(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for i, line in enumerate(file):
            try:
                row = msgspec.json.decode(line)
            except msgspec.DecodeError as error:
                raise InputError(f"{path}, line {i + 1} is not JSON: {error}") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}, line {i + 1} is not a JSON object")
            yield row


def _parquet(path: Path) -> Iterator[Row]:
    try:
        for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(batch_size=256):
            yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path} is neither a .jsonl nor a parquet file: {reason}") from None


def _file(path: Path, step: int | None) -> Path:
    """The file itself, or the one of a step in a folder of dumps."""
    if not path.exists():
        raise InputError(f"no such file or folder: {path}")
    if path.is_file():
        return path
    dumps = {
        int(p.stem): p for p in path.iterdir() if p.stem.isdecimal() and p.suffix in (".jsonl", ".parquet")
    }
    if not dumps:
        raise InputError(f"{path} has no dumps, such as 1.jsonl; name a parquet or jsonl file")
    if step is not None and step not in dumps:
        raise InputError(f"{path} has no dump of step {step}; it has {min(dumps)} to {max(dumps)}")
    return dumps[max(dumps) if step is None else step]


def _print_table(rows: list[Row], path: Path, more: bool) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, width in {"row": 3, "data source": 11, "score": 9, "truth": 8, "extracted": 9}.items():
        table.add_column(column, no_wrap=True, overflow="ellipsis", min_width=width, max_width=24)
    table.add_column("response", no_wrap=True, overflow="ellipsis", ratio=1, min_width=16)
    for row in rows:
        status, correct = row.get("status") or "ok", row.get("correct")
        score = f"{row['score']:.4g}" if status == "ok" and row.get("score") is not None else status
        mark = "" if correct is None else " right" if correct else " wrong"
        cells = [row["row"], row.get("data_source"), score + mark, row.get("ground_truth")]
        cells += [row.get("extracted"), row["response"]]
        style = "red" if status != "ok" else "green" if correct else ""
        table.add_row(*(Text(_line(cell), style=style) for cell in cells))
    console = Console()
    console.print(table)
    end = "; more with --limit" if more else ""
    console.print(f"\n{len(rows)} of {path}{end}; one in full with --row", highlight=False, soft_wrap=True)


def _print_in_full(row: Row) -> None:
    console = Console()
    facts = {k: v for k, v in row.items() if k not in ("prompt", "response", "ground_truth", "extra_info")}
    for name, value in facts.items():
        if value is not None:
            console.print(Text.assemble((f"{name:<12}", "bold"), _line(value)), soft_wrap=True)
    for name in ("prompt", "response", "ground_truth"):
        console.print(Rule(name, align="left"))
        console.print(Text(_messages(row.get(name))), soft_wrap=True)


def _messages(value: Any) -> str:
    """A prompt as it reads: its messages one below the other."""
    if isinstance(value, list) and all(isinstance(m, dict) and "content" in m for m in value):
        return "\n".join(f"[{printable(str(m.get('role')))}] {printable(str(m['content']))}" for m in value)
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _line(value: Any) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return printable(text[:2_000]).replace("\n", "\\n").replace("\t", " ")
