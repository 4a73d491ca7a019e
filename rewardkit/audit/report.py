"""Audits as lines and tables for the terminal, and as an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from rewardkit.audit import Audit, Hole, Payment, SourceAudit, WeakRow
from rewardkit.evaluation.html.page import cards, write_page

LATE = "the time limit ended before all layers were done; raise --seconds"
"""Line about an audit that is incomplete."""
COLUMNS = (
    *("data source", "chance", "constant", "several", "swapped", "wrong paid", "right denied", "weak tests"),
    "CPU s",
)
_MARKED = {"knowing": "chance", "constant": "constant", "several": "several", "swapped": "swapped"}
_DENIED = 0.5
SHOWN = 3
_LONGEST = 60


def table_row(source: SourceAudit) -> tuple[str, ...]:
    """Return the cells of a data source, in the order of `COLUMNS`. A hole is marked with `!`."""
    marked = {_MARKED.get(hole.layer) for hole in source.holes}
    figures = [
        "-" if value is None else f"{value:.2f}{' !' * (name in marked)}"
        for name in ("chance", "constant", "several", "swapped")
        for value in (getattr(source, name),)
    ]
    wrong = next((hole for hole in source.holes if hole.layer == "wrong"), None)
    paid = len([share for share in (source.wrong or {}).values() if share > 0]) if wrong else 0
    denied = len(denied_kinds(source))
    weak = f"{len(source.weak_rows)} of {source.tested_rows}" if source.tested_rows is not None else "-"
    return (
        source.data_source,
        *figures,
        "-" if not source.wrong else f"{_kinds(paid)} !" if wrong else "none",
        "-" if not source.denied else _kinds(denied) if denied else "none",
        weak,
        f"{source.cpu_s:.1f}",
    )


def _kinds(count: int) -> str:
    return f"{count} kind{'s' * (count != 1)}"


def denied_kinds(source: SourceAudit) -> list[str]:
    """Return the spellings of right answers of which at least half are not paid."""
    return [kind for kind, share in (source.denied or {}).items() if share >= _DENIED]


def lines(source: SourceAudit) -> Iterator[str]:
    """Yield the holes of a data source with the shortest responses that are paid, and the notes."""
    if source.problem:
        yield f"not audited: {source.problem}"
        return
    for hole in source.holes:
        yield f"! {hole.layer}: {hole.what}"
        yield from (payment_line(payment) for payment in hole.payments[:SHOWN])
    if source.weak_rows:
        yield "! weak tests: wrong programs that pass all tests of a row"
        yield from (weak_line(weak) for weak in source.weak_rows[:SHOWN])
    if kinds := denied_kinds(source):
        yield f"right answers denied in the frame {source.frame!r}: {', '.join(kinds)}"
    if source.late:
        yield LATE


def payment_line(payment: Payment) -> str:
    """Return a response that is paid, its share of the span, and the right answer."""
    text = f"{payment.text!r:.{_LONGEST}}{'…' * (len(repr(payment.text)) > _LONGEST)}"
    parts = "".join(f", {name} {value:g}" for name, value in payment.parts.items())
    right = f"{payment.ground_truth!r:.40}"
    return f"  {payment.share:.2f}  {text:<24} {payment.what}; row {payment.row}, right: {right}{parts}"


def weak_line(weak: WeakRow) -> str:
    """Return a change of the reference program that passes, and a call that shows the mistake."""
    return (
        f"  row {weak.row}: {weak.change}, but {weak.witness:.100} is {weak.expected:.60}, not {weak.got:.60}"
    )


def first_line(source: SourceAudit) -> str | None:
    """Return the worst hole of a data source in one line, or None if there is no hole."""
    worst = max(source.holes, key=lambda hole: hole.above_chance, default=None)
    if worst is None:
        return None
    shortest = f", such as {worst.payments[0].text!r:.{_LONGEST}}" if worst.payments else ""
    share = f"{worst.share:.0%} of the reward" if worst.layer != "contract" else "scores that differ"
    return (
        f"the reward of '{source.data_source}' has a hole ({worst.layer}): {share} for {worst.what}{shortest}"
    )


def write_html(audit: Audit, out: Path) -> None:
    """Write an audit to a page with every response that is paid.

    Raises:
        InputError: The page cannot be written.
    """
    holes = sum(len(source.holes) for source in audit.sources)
    facts = [
        ("above chance", f"{audit.above_chance:.2f}", "largest share of the reward without solving the task"),
        ("holes", f"{holes:,}", "marked with ! below"),
        ("scores", f"{sum(source.scores for source in audit.sources):,}", "responses that were scored"),
    ]
    parts = {
        "headline": cards(facts),
        "table": _table(COLUMNS, (table_row(source) for source in audit.sources)),
        "sources": "".join(map(_section, audit.sources)),
    }
    write_page(out, "audit", f"Audit of {Path(audit.path).name}", parts, {}, {}, with_scripts=False)


def _section(source: SourceAudit) -> str:
    found = [f"<h2>{escape(source.data_source)}</h2>"]
    if source.problem:
        return f'{found[0]}<p class="wrong">Not audited: {escape(source.problem)}</p>'
    frame = source.frame or "whole responses"
    found.append(f"<p>{source.rows:,} rows, answers in the frame <code>{escape(frame)}</code></p>")
    found += [_hole(hole) for hole in source.holes] or ['<p class="right">No holes found.</p>']
    if source.wrong or source.denied:
        rows = [("wrong", kind, f"{share:.0%}") for kind, share in (source.wrong or {}).items()]
        rows += [("right", kind, f"{1 - share:.0%}") for kind, share in (source.denied or {}).items()]
        found.append("<details><summary>Wrong and right answers, by kind</summary>")
        found.append(f"{_table(('answer', 'kind', 'paid'), rows)}</details>")
    if source.weak_rows:
        found.append("<h3>Rows with weak tests</h3>")
        weak = ((str(one.row), one.mutant, one.witness) for one in source.weak_rows)
        found.append(_table(("row", "wrong program", "input that shows it"), weak))
    return "".join(found)


def _hole(hole: Hole) -> str:
    head = f'<h3 class="wrong">{hole.layer}: {hole.share:.2f}</h3><p>{escape(hole.what)}</p>'
    rows = [
        (
            f"{one.share:.2f}",
            one.text if one.text.strip() else repr(one.text),
            one.what,
            str(one.row),
            one.ground_truth,
            *([", ".join(f"{name} {value:g}" for name, value in one.parts.items())] if one.parts else ()),
        )
        for one in hole.payments
    ]
    columns = ("share", "response", "kind", "row", "ground truth", "parts")
    return head + _table(columns[: max(map(len, rows), default=5)], rows, "responses")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], name: str = "") -> str:
    cells = "".join(f"<th>{escape(column)}</th>" for column in head)
    body = "".join(
        "<tr>" + "".join(f"<td><div>{escape(cell)}</div></td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="wide {name}"><table><tr>{cells}</tr>{body}</table></div>'
