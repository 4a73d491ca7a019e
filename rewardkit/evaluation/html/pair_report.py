"""HTML page with a reward's scores for preference pairs: figures, calibration and all answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from rewardkit.evaluation.evaluation import OVERALL
from rewardkit.evaluation.html.charts import Chart, draw, draw_rows
from rewardkit.evaluation.html.page import cards, write_page
from rewardkit.evaluation.html.payload import STATUSES, Payload
from rewardkit.evaluation.html.report import interval_note, table, with_interval
from rewardkit.evaluation.intervals import wilson
from rewardkit.evaluation.pairs import BINS, PairFigures, ScoredPair, failures_of
from rewardkit.evaluation.scored import ScoredRow
from rewardkit.rows import GROUP
from rewardkit.types import Score

_TICKS = {x: f"{x:g}" for x in (0.5, 0.75, 1.0)}


def write_pair_report(
    pairs: Sequence[ScoredPair],
    figures: Mapping[str, PairFigures],
    by_length: Mapping[str, PairFigures],
    out: Path,
    title: str,
) -> None:
    """Write a report of scored pairs to `out`, atomically. The page lists both answers of each pair.

    Raises:
        InputError: The page cannot be written.
    """
    payload = Payload(row for i, pair in enumerate(pairs) for row in _rows(i, pair))
    whole = figures.get(OVERALL) or next(iter(figures.values()))
    failed = ", ".join(f"{n:,} {status}" for status, n in failures_of(pairs).items())
    drawn = (_reliability(whole), _confidence(whole))
    parts = {
        "headline": payload.head() + _headline(whole, failed),
        "table": table([_cells(name, one) for name, one in figures.items()]),
        "charts": "".join(map(draw, drawn))
        + _bars("By length of the chosen answer", by_length)
        + _bars("By subset", figures),
    }
    about = {"sources": list(payload.sources), "statuses": STATUSES, "rows": len(payload.responses)}
    write_page(out, "report", title, parts, about, payload.packed())


def _rows(i: int, pair: ScoredPair) -> Iterator[ScoredRow]:
    """Yield a row for each answer of a pair. Both rows count as right if the pair is right."""
    right = None if not pair.margin else pair.margin > 0
    for name, text, score in (
        ("chosen", pair.chosen, pair.chosen_score),
        ("rejected", pair.rejected, pair.rejected_score),
    ):
        yield {
            **({} if pair.margin is None else {"detail": f"margin {pair.margin:+.4g}"}),
            **_score_fields(score),
            "data_source": pair.subset or "unusable",
            "prompt": list(pair.prompt),
            GROUP: str(i),
            "response": text,
            "extracted": name,
            "correct": right,
        }


def _score_fields(score: Score) -> ScoredRow:
    if score.ok:
        said: ScoredRow = {"score": round(score.score, 3), "status": score.status, "parts": score.parts}
    else:
        said = {"score": None, "status": score.status, "detail": score.detail}
    return said | {"scorer": score.scorer}


def _headline(whole: PairFigures, failed: str) -> str:
    facts = []
    if whole.accuracy is not None:
        facts.append(("accuracy", f"{whole.accuracy.mean:,.4f}", interval_note(whole.accuracy)))
    if whole.margin is not None:
        facts.append(("mean margin", f"{whole.margin.mean:+,.4f}", interval_note(whole.margin)))
    if whole.ece is not None:
        facts.append(("calibration error", f"{whole.ece:.4f}", "confidence against accuracy"))
    if whole.loss is not None:
        facts.append(("loss", f"{whole.loss:.4f}", "0.6931 for equal scores"))
    facts.append(("ties", f"{whole.ties:,}", f"of {whole.judged:,} scored pairs"))
    facts.append(("pairs", f"{whole.pairs:,}", f"not scored: {failed}" if failed else "all scored"))
    return cards(facts)


def _cells(name: str, one: PairFigures) -> dict[str, str]:
    return {
        "subset": escape(name),
        "pairs": f"{one.pairs:,}",
        "accuracy": with_interval(one.accuracy),
        "margin": with_interval(one.margin),
        "ties": f"{one.ties:,}",
        "calibration error": "-" if one.ece is None else f"{one.ece:.4f}",
        "not scored": f"{one.failed:,}",
    }


def _reliability(whole: PairFigures) -> Chart:
    """Return a chart of accuracy against the confidence that the scores imply, with 95 % intervals."""
    found = [(one.confidence, one.accuracy) for one in whole.bins]
    ends = [(one.confidence, *wilson(one.accuracy, one.pairs, 1.96)) for one in whole.bins]
    return Chart(
        "Reliability",
        {"pairs": found, "calibrated": [(0.5, 0.5), (1.0, 1.0)]} if found else {},
        "accuracy by confidence",
        whiskers={"pairs": ends},
        limits=(0, 1),
        ticks=_TICKS,
        names={one.confidence: f"confidence {one.confidence:.3f}, {one.pairs:,} pairs" for one in whole.bins},
    )


def _confidence(whole: PairFigures) -> Chart:
    """Return a chart of the number of decided pairs by confidence."""
    counts = {one.low: one.pairs for one in whole.bins}
    width = 0.5 / BINS
    lows = [0.5 + i / (2 * BINS) for i in range(BINS)]
    middles = [low + width / 2 for low in lows] if counts else []
    return Chart(
        "Confidence",
        {"pairs": [(x, counts.get(low, 0)) for x, low in zip(middles, lows, strict=False)]},
        "pairs",
        "bars",
        limits=(0, max([2, *counts.values()])),
        ticks=_TICKS,
        names={x: f"{x - width / 2:.2f} to {x + width / 2:.2f}" for x in middles},
    )


def _bars(title: str, figures: Mapping[str, PairFigures]) -> str:
    known = {f"{name} ({one.judged:,} pairs)": one.accuracy for name, one in figures.items()}
    rows = {name: (one.mean, one.low, one.high) for name, one in known.items() if one is not None}
    return draw_rows(title, rows, "accuracy")
