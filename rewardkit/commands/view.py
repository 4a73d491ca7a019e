"""`rewardkit view`: shows scored responses from `rewardkit score` or from the dumps of a training run.

Files of any size are read row by row. Control characters in responses are escaped.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from rewardkit.commands.options.files import SCORE_KEY, looking_options
from rewardkit.commands.options.given import refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT_OR_0, NUMBER
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.printing import counted
from rewardkit.errors import InputError
from rewardkit.evaluation.chat import chat_lines, is_chat, with_calls
from rewardkit.evaluation.html.report import write_report
from rewardkit.evaluation.html.run_page import METRICS, write_run_page
from rewardkit.evaluation.listing import ORDERS, PromptSummary, by_prompt, in_order
from rewardkit.evaluation.pictures import PromptPictures
from rewardkit.evaluation.reasons import earns, frequent_reasons
from rewardkit.evaluation.scored import ScoredRow, dumps_in, read_rows, status_of
from rewardkit.files.inputs import STDIN
from rewardkit.messages import message_text
from rewardkit.offline import ReadOptions
from rewardkit.offline.origins import head, merged, origin_of
from rewardkit.rows import MEDIA
from rewardkit.text import printable
from rewardkit.types import STATUSES

_WIDTHS = {"row": 7, "data source": 14, "score": 11, "ground truth": 12, "extracted": 12}
_PROMPT_WIDTHS = {"row": 7, "data source": 14, "n": 4, "right": 9, "score": 7, "length": 8}
_OF_ROWS = ("number", "step", "status", "min_score", "max_score", "order", "prompts", "limit", "as_json")
_COLOURS: dict[tuple[str, Any], str] = {("ok", True): "green"} | {
    (status, None): "red" for status in STATUSES if status != "ok"
}


@click.command(cls=GroupedCommand, epilog="Example: rewardkit view rollouts --status timeout")
@click.argument("files", nargs=-1, required=True)
@looking_options
@click.option("--row", "number", type=int, help="Show only this row, with its full text.")
@click.option(
    "--step", type=int, help="Training step to show from a folder of dumps. Default: the last step."
)
@click.option(
    "--status", type=click.Choice([*STATUSES, "unscored"]), help="Show only responses with this status."
)
@click.option("--min-score", type=NUMBER, help="Show only responses with at least this score.")
@click.option("--max-score", type=NUMBER, help="Show only responses with at most this score.")
@SCORE_KEY
@click.option("--prefix", default="", help="Prefix of the score columns, as in `rewardkit score --prefix`.")
@click.option(
    "--limit",
    type=COUNT_OR_0,
    default=20,
    show_default=True,
    help="Maximum number of rows to show. Use 0 to show all.",
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(ORDERS),
    help="Show the lowest scores, the longest responses, or the prompts with the most disagreement first. "
    "Default: file order.",
)
@click.option(
    "--by-prompt", "prompts", is_flag=True, help="Show one line per prompt instead of per response."
)
@click.option(
    "--reasons", is_flag=True, help="Show the reasons why responses are not right, the most frequent first."
)
@click.option(
    "--html",
    "page",
    type=OutputFile(),
    help="Write an HTML page with charts and all matching rows. The page works offline.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per row.")
def command(
    files: tuple[str, ...],
    read_options: ReadOptions,
    number: int | None,
    step: int | None,
    status: str | None,
    min_score: float | None,
    max_score: float | None,
    score_key: str | None,
    prefix: str,
    limit: int,
    order: str | None,
    prompts: bool,
    reasons: bool,
    page: Path | None,
    as_json: bool,
) -> None:
    """View the scored responses in FILES as a table or an HTML page.

    FILES can be any files that `rewardkit score` reads. The table has one row per response, and long tables
    open in a pager. If you pass a folder of training dumps (1.jsonl, ...), the last step is shown. If you
    pass a training run folder (with metrics.jsonl), the command writes an HTML page about the run.
    """
    if len(files) == 1 and (Path(files[0]) / METRICS).is_file():
        refuse_given(_OF_ROWS, f"{files[0]} is the folder of a run, so only the run's page is written")
        click.echo(f"written: {write_run_page(Path(files[0]), page)}")
        return

    def wanted(row: ScoredRow) -> bool:
        score = row.get("score")
        return (
            (number is None or row["row"] == number)
            and (status is None or status_of(row) == status)
            and read_options.data_source in (None, row.get("data_source") or read_options.data_source)
            and (min_score is None or (score is not None and score >= min_score))
            and (max_score is None or (score is not None and score <= max_score))
        )

    files = tuple(dumps_in(file, step) for file in files)
    name = " ".join(files)

    def read() -> Iterator[ScoredRow]:
        rows = read_rows(files, replace(read_options, data_source=None, score=score_key), prefix)
        return (row for row in rows if wanted(row))

    if reasons:
        refuse_given(("page", "number", "prompts", "order"), "--reasons prints one line per reason")
        _print_reasons(read(), limit, as_json)
        return
    if prompts:
        refuse_given(("page", "number"), "--by-prompt prints one line per prompt")
        _print_prompts(by_prompt(read, order), name, limit, as_json)
        return
    if page is not None:
        refuse_given(("as_json", "limit"), "--html writes a page with all rows")
        limit = 0
    matching = in_order(read, order, limit and limit + 1) if order else read()
    if page is not None:
        facts = head(merged(origin_of(file) for file in files if file != STDIN))
        write_report(matching, page, Path(files[0]).name, facts)
        click.echo(f"written: {page}")
        return
    if number is not None:
        limit = 1
        first = next(matching, None)
        if first is None:
            raise InputError(
                f"{name} has no row {number} that matches the filters; list the rows: rewardkit view {name}"
            )
        matching = iter([first])
    if as_json:
        for row in islice(matching, limit or None):
            click.echo(json.dumps(row, ensure_ascii=True, default=_described))
    elif number is not None:
        _print_in_full(next(matching))
    else:
        _show(_table(matching, name, limit), limit)


def _described(value: Any) -> str:
    """Return a text for a value that JSON cannot represent. For the bytes of a picture, return their
    number."""
    return f"[{len(value)} bytes]" if isinstance(value, bytes) else str(value)


def _show(lines: Iterator[str], limit: int) -> None:
    """Print lines as they arrive, through a pager if they may not fit on the terminal."""
    first = next(lines)  # a file that cannot be read fails before anything is printed
    if sys.stdout.isatty() and not 0 < limit < shutil.get_terminal_size().lines - 3:
        click.echo_via_pager(f"{line}\n" for line in chain([first], lines))
        return
    for line in chain([first], lines):
        click.echo(line)


def _table(rows: Iterator[ScoredRow], name: str, limit: int) -> Iterator[str]:
    """Yield one line for each row as it is read. Fixed column widths avoid keeping rows in memory."""
    widths = _with_the_rest(_WIDTHS)
    first = next(rows, None)
    yield click.style(_in_columns([*_WIDTHS, "response"], widths), bold=True)
    rows = chain([first] if first is not None else [], rows)
    shown = 0
    for row in islice(rows, limit or None):
        status = status_of(row)
        line = _in_columns(_cells(row, status), widths)
        yield click.style(line, fg=_COLOURS.get((status, row.get("correct"))))
        shown += 1
    end = "--limit shows more, " if limit and next(rows, None) is not None else ""
    yield f"\n{counted(shown, 'row')} of {name}; {end}--row N shows one in full"


def _print_reasons(rows: Iterator[ScoredRow], limit: int, as_json: bool) -> None:
    """Print the reasons of all responses that are not right, with their shares and an example."""
    wrong = [
        (row["row"], row.get("detail") or status_of(row))
        for row in rows
        if status_of(row) != "ok" or not earns(row.get("correct"), row.get("score"))
    ]
    found = frequent_reasons(wrong, limit or None)
    if as_json:
        for one in found:
            click.echo(json.dumps(asdict(one)))
        return
    for one in found:
        share = f"{one.count:>7,}  {one.count / len(wrong):4.0%}"
        click.echo(f"{share}  {printable(one.example)}  (row {one.row})")
    click.echo(f"\n{counted(len(wrong), 'response')} not right; --row N shows one in full")


def _print_prompts(found: list[PromptSummary], name: str, limit: int, as_json: bool) -> None:
    shown = found[: limit or None]
    if as_json:
        for one in shown:
            mean = {"score": one.score, "length": one.length, "disagreement": one.disagreement}
            click.echo(json.dumps({**asdict(one), **mean, "scores": one.scores}, default=str))
        return
    _show(_prompt_table(shown, len(found), name), limit)


def _prompt_table(shown: list[PromptSummary], of: int, name: str) -> Iterator[str]:
    widths = _with_the_rest(_PROMPT_WIDTHS)
    yield click.style(_in_columns([*_PROMPT_WIDTHS, "prompt"], widths), bold=True)
    for one in shown:
        right = f"{one.right} of {one.decided}" if one.decided else "-"
        score = "-" if one.score is None else f"{one.score:.4g}"
        cells = [str(one.row), _line(one.data_source), str(one.responses), right, score]
        text = _messages(one.prompt).replace("\n", "\\n")
        yield _in_columns([*cells, f"{one.length:,.0f}", text], widths)
    yield f"\n{len(shown)} of {of} prompts of {name}"


def _with_the_rest(widths: dict[str, int]) -> list[int]:
    """Return the widths of the columns, and the remaining width of the terminal for one more column."""
    taken = sum(widths.values()) + 2 * len(widths)
    return [*widths.values(), max(16, shutil.get_terminal_size().columns - taken)]


def _cells(row: ScoredRow, status: str) -> list[str]:
    correct = row.get("correct")
    score = f"{row['score']:.4g}" if status == "ok" and row.get("score") is not None else status
    mark = "" if correct is None else " right" if correct else " wrong"
    others = (row.get("ground_truth"), row.get("extracted"), row.get("response") or row.get("detail"))
    return [str(row["row"]), _line(row.get("data_source")), score + mark, *map(_line, others)]


def _in_columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = []
    for cell, width in zip(cells, widths, strict=True):
        shown.append((cell if len(cell) <= width else f"{cell[: width - 1]}…").ljust(width))
    return "  ".join(shown).rstrip()


def _print_in_full(row: ScoredRow) -> None:
    console = Console()
    turns = row.get("turns") if is_chat(row.get("turns")) else None
    row = {**row, "prompt": PromptPictures().prompt(row)}
    shown = ("file_row", "prompt", "response", "ground_truth", "extra_info", "turns", *MEDIA)
    facts = {k: v for k, v in row.items() if k not in shown or (k == "turns" and turns is None)}
    width = max(11, *map(len, facts))
    for name, value in facts.items():
        if value is not None:
            console.print(Text.assemble((f"{name:<{width}} ", "bold"), _line(value)), soft_wrap=True)
    for name in ("prompt", "turns" if turns is not None else "response", "ground_truth"):
        console.print(Rule(name, align="left"))
        text = "\n".join(chat_lines(turns or ())) if name == "turns" else _messages(row.get(name))
        console.print(Text(text), soft_wrap=True)


def _messages(value: Any) -> str:
    """Return a prompt or response as text, with the messages of a chat on successive lines."""
    if isinstance(value, list) and all(isinstance(m, dict) and "content" in m for m in value):
        shown = with_calls(value)
        return "\n".join(f"[{printable(str(m.get('role')))}] {printable(message_text(m))}" for m in shown)
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _line(value: Any) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return printable(text[:2_000]).replace("\n", "\\n").replace("\t", " ")
