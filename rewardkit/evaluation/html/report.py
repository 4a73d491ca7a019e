"""Puts the page together: figures and charts as markup, the data after them, one script.

Responses are hostile: no text of theirs is markup here or in the script, and the page's policy runs no other
script and loads nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from rewardkit.assets import asset
from rewardkit.errors import InputError
from rewardkit.evaluation.evaluation import OVERALL, Figures, evaluate
from rewardkit.evaluation.html import charts
from rewardkit.evaluation.html.payload import STATUSES, Payload, collect
from rewardkit.evaluation.intervals import Estimate
from rewardkit.evaluation.scored import ScoredRow, grouped
from rewardkit.files.publishing import published

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:"
)
_COLUMNS = (
    "data source",
    "prompts",
    "responses",
    "scored",
    "accuracy",
    "mean score",
    "format",
    "length",
    "failures",
)


def write_report(rows: Iterable[ScoredRow], out: Path, title: str) -> dict[str, Figures]:
    """Write the page of these scored rows to `out`, whole or not at all; return the figures that it shows.

    Raises:
        InputError: there are no rows, or the folder cannot be written.
    """
    payload = collect(rows)
    if not payload.responses:
        raise InputError("no row fits: there is nothing to show")
    figures = evaluate(grouped(payload.responses))
    page = _page(payload, figures, title)
    with published(out) as file:
        file.write(page.encode("utf-8", "replace"))
    return figures


def _page(payload: Payload, figures: dict[str, Figures], title: str) -> str:
    about = {
        "sources": payload.sources,
        "statuses": STATUSES,
        "rows": len(payload.responses),
        "blocks": len(payload.texts),
    }
    whole = figures.get(OVERALL) or next(iter(figures.values()))
    return _file("report.html").format(
        policy=POLICY,
        title=escape(title),
        style=_file("report.css"),
        headline=_headline(whole, payload),
        table=_table(figures),
        charts=_charts(payload, figures, whole),
        failures=_failures(payload),
        about=_in_script(about),
        numbers=payload.numbers,
        texts=_blocks("t", payload.texts),
        prompts=_blocks("p", payload.prompts),
        temml=asset("temml.min.js"),
        maths=asset("maths.js"),
        script=_file("report.js"),
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _blocks(name: str, packed: Sequence[str]) -> str:
    return "".join(
        f'<script type="text/plain" id="{name}{i}">{block}</script>' for i, block in enumerate(packed)
    )


def _in_script(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")


def _headline(whole: Figures, payload: Payload) -> str:
    facts = [("accuracy", whole.accuracy), ("mean score", whole.score), ("in format", whole.format_rate)]
    cards = "".join(
        f'<div class="card"><b>{estimate.mean:.4f}</b><span>{name}</span>'
        f"<small>{_interval(estimate)}</small></div>"
        for name, estimate in facts
        if estimate is not None
    )
    counts = (
        f'<div class="card"><b>{whole.responses:,}</b><span>responses</span>'
        f"<small>to {whole.prompts:,} prompts, {whole.solved:,} solved; {whole.scored:,} scored</small></div>"
    )
    note = f"<p>{payload.shortened:,} long responses are shortened here.</p>" if payload.shortened else ""
    return f'<div class="cards">{cards}{counts}</div>{note}'


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "one prompt: no interval"
    return f"95 %: {estimate.low:.4f} to {estimate.high:.4f}"


def _table(figures: dict[str, Figures]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    rows = ("".join(f"<td>{cell}</td>" for cell in _cells(name, one)) for name, one in figures.items())
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _cells(name: str, one: Figures) -> list[str]:
    def with_interval(estimate: Estimate | None) -> str:
        if estimate is None:
            return "-"
        if estimate.low is None or estimate.high is None:
            return f"{estimate.mean:.4f}"
        return f"{estimate.mean:.4f} <small>{estimate.low:.3f} to {estimate.high:.3f}</small>"

    failures = ", ".join(f"{n:,} {escape(status)}" for status, n in one.failures.items())
    return [
        escape(name),
        f"{one.prompts:,}",
        f"{one.responses:,}",
        f"{one.scored:,}",
        with_interval(one.accuracy),
        with_interval(one.score),
        with_interval(one.format_rate),
        f"{one.mean_length or 0:,.0f}",
        failures or "0",
    ]


def _charts(payload: Payload, figures: dict[str, Figures], whole: Figures) -> str:
    scores = [one.score for one in payload.responses if one.score is not None]
    drawn = (
        charts.histogram(scores),
        charts.at_k_curve(whole),
        charts.accuracy_by_length(payload.responses),
        charts.source_bars(figures),
    )
    return "".join(drawn)


def _failures(payload: Payload) -> str:
    counts = Counter(one.status for one in payload.responses if not one.ok)
    if not counts:
        return ""
    items = "".join(f"<li>{n:,} {escape(status)}</li>" for status, n in counts.most_common())
    return f"<h2>Not scored</h2><ul>{items}</ul>"
