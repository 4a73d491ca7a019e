"""Report of a scored file as one HTML page, with figures, charts and all responses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from rewardkit.errors import InputError
from rewardkit.evaluation.evaluation import OVERALL, AtK, Figures, figures_by_source
from rewardkit.evaluation.html.charts import Chart, axis, draw, draw_rows
from rewardkit.evaluation.html.page import cards, write_page
from rewardkit.evaluation.html.payload import STATUSES, Payload
from rewardkit.evaluation.intervals import Estimate, ends
from rewardkit.evaluation.scored import ScoredResponse, ScoredRow, grouped


def write_report(
    rows: Iterable[ScoredRow], out: Path, title: str, facts: Sequence[tuple[str, str]] = ()
) -> dict[str, Figures]:
    """Write a report of scored rows to `out`, atomically, and return the figures in the report.

    Args:
        rows: Rows with scores, from `read_rows`.
        out: File to write.
        title: Title of the page.
        facts: Names and values of facts about the rows, for the head of the page. The models and rewards that
            the rows name are added.

    Raises:
        InputError: There are no rows, or the page cannot be written.
    """
    payload = Payload(rows)
    if not payload.responses:
        raise InputError(f"no row matches the filters, so {out} was not written")
    figures = figures_by_source(grouped(payload.responses))
    about = {"sources": list(payload.sources), "statuses": STATUSES, "rows": len(payload.responses)}
    write_page(out, "report", title, _parts(payload, figures, facts), about, payload.packed())
    return figures


def _parts(payload: Payload, figures: dict[str, Figures], facts: Sequence[tuple[str, str]]) -> dict[str, str]:
    whole = figures.get(OVERALL) or next(iter(figures.values()))
    drawn = (_scores(payload.responses), _over_k(whole), _accuracy_by_length(payload.responses))
    return {
        "headline": payload.head(facts) + _headline(whole, payload),
        "table": table([_cells(name, one) for name, one in figures.items()]),
        "charts": "".join(map(draw, drawn)) + _by_source(figures),
    }


def _headline(whole: Figures, payload: Payload) -> str:
    known = [("accuracy", whole.accuracy), ("mean score", whole.score), ("in format", whole.format_rate)]
    facts = [(name, f"{one.mean:,.4f}", interval_note(one)) for name, one in known if one is not None]
    counted = f"to {whole.prompts:,} prompts, {whole.solved:,} solved; {whole.scored:,} scored"
    facts.append(("responses", f"{whole.responses:,}", counted))
    note = (
        f"<p>{payload.shortened:,} long responses are shortened on this page.</p>"
        if payload.shortened
        else ""
    )
    return cards(facts) + note


def interval_note(estimate: Estimate) -> str:
    """Return the interval of a figure as the note of its card."""
    found = ends(estimate.low, estimate.high, "{:,.4f}".format)
    return f"95 %: {found}" if found else "no interval for one prompt"


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the markup of a table whose rows have the same columns. Cells are markup."""
    head = "".join(f"<th>{name}</th>" for name in rows[0])
    body = ("".join(f"<td>{cell}</td>" for cell in row.values()) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in body)}</table>"


def _cells(name: str, one: Figures) -> dict[str, str]:
    failures = ", ".join(f"{n:,} {escape(status)}" for status, n in one.failures.items())
    return {
        "data source": escape(name),
        "prompts": f"{one.prompts:,}",
        "responses": f"{one.responses:,}",
        "scored": f"{one.scored:,}",
        "accuracy": with_interval(one.accuracy),
        "mean score": with_interval(one.score),
        "format": with_interval(one.format_rate),
        "length": f"{one.mean_length or 0:,.0f}",
        "failures": failures or "0",
    }


def with_interval(estimate: Estimate | None) -> str:
    """Return a figure and its interval as the markup of a cell."""
    if estimate is None:
        return "-"
    found = ends(estimate.low, estimate.high, "{:,.3f}".format)
    return f"{estimate.mean:,.4f}" + (f" <small>{found}</small>" if found else "")


# --- charts ------------------------------------------------------------------------------------------------


def _scores(responses: Sequence[ScoredResponse], bins: int = 20) -> Chart:
    """Return a chart with a histogram of the scores."""
    scores = [one.score for one in responses if one.score is not None]
    ticks = axis(min(scores, default=0.0), max(scores, default=0.0))
    low = min(ticks)
    width = (max(ticks) - low) / bins
    counts = Counter(min(bins - 1, int((score - low) / width)) for score in scores)
    middles = [low + (i + 0.5) * width for i in range(bins)] if scores else []
    return Chart(
        "Scores",
        {"responses": [(x, counts[i]) for i, x in enumerate(middles)]},
        "responses",
        "bars",
        limits=(0, max(2, *counts.values(), 0)),
        ticks=ticks,
        names={x: f"{x - width / 2:,.10g} to {x + width / 2:,.10g}" for x in middles},
    )


def _over_k(figures: Figures) -> Chart:
    """Return a chart of pass@k, maj@k and pass^k against k, with their intervals."""
    known = {name: figures.at_k[name] for name in ("pass@k", "maj@k", "pass^k") if name in figures.at_k}
    if figures.accuracy is not None:
        known = {name: [AtK(1, figures.accuracy, 0), *found] for name, found in known.items()}
    ks = {one.k for found in known.values() for one in found}
    return Chart(
        "Accuracy over k responses",
        {name: [(math.log2(one.k), one.estimate.mean) for one in found] for name, found in known.items()},
        "share of prompts",
        whiskers={name: _intervals(found) for name, found in known.items()},
        limits=(0, 1),
        ticks={math.log2(k): str(k) for k in ks},
        names={math.log2(k): f"k = {k}" for k in ks},
    )


def _intervals(found: Sequence[AtK]) -> list[tuple[float, float, float]]:
    ends = ((one.k, one.estimate.low, one.estimate.high) for one in found)
    return [(math.log2(k), low, high) for k, low, high in ends if low is not None and high is not None]


def _accuracy_by_length(responses: Sequence[ScoredResponse], bins: int = 10) -> Chart:
    """Return a chart of accuracy by length, with the responses divided into `bins` groups of equal size."""
    known = sorted((one.length, one.correct) for one in responses if one.correct is not None)
    bars: list[tuple[float, float]] = []
    names: dict[float, str] = {}
    ticks: dict[float, str] = {}
    for i in range(bins if len(known) >= 2 * bins else 0):
        tenth = known[i * len(known) // bins : (i + 1) * len(known) // bins]
        shortest, longest = tenth[0][0], tenth[-1][0]
        bars.append((i + 0.5, sum(1 for _, correct in tenth if correct) / len(tenth)))
        names[i + 0.5] = f"{shortest:,} to {longest:,} long, {len(tenth):,} responses"
        ticks |= {i: f"{shortest:,}", i + 1: f"{longest:,}"}
    lines = {"correct": bars}
    return Chart("Accuracy by length", lines, "correct", "bars", limits=(0, 1), ticks=ticks, names=names)


def _by_source(figures: dict[str, Figures]) -> str:
    """Return a chart of the accuracy of each data source, or of the mean score if the accuracy is unknown."""
    known = {name: one.accuracy or one.score for name, one in figures.items()}
    rows = {name: (one.mean, one.low, one.high) for name, one in known.items() if one is not None}
    return draw_rows("By data source", rows, "accuracy or mean score")
