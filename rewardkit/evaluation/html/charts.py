"""The charts of the page as SVG text: drawn once here, so that they are there before any script runs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rewardkit.evaluation.evaluation import AtK, Figures
from rewardkit.evaluation.scored import ScoredResponse

WIDTH = 420
HEIGHT = 190
LEFT = 46
BOTTOM = 30
TOP = 10


def histogram(scores: Sequence[float], bins: int = 20) -> str:
    """Return how many responses have which score."""
    if not scores:
        return ""
    low = min(scores)
    high = max(scores)
    width = (high - low) / bins or 1.0
    counts = [0] * bins
    for score in scores:
        counts[min(bins - 1, int((score - low) / width))] += 1
    most = max(counts)
    step = (WIDTH - LEFT - 8) / bins
    bars = "".join(
        f'<rect x="{LEFT + i * step:.1f}" y="{_y(count, 0, most):.1f}" width="{step - 1:.1f}" '
        f'height="{_y(0, 0, most) - _y(count, 0, most):.1f}"><title>{low + i * width:.3g} to '
        f"{low + (i + 1) * width:.3g}: {count:,}</title></rect>"
        for i, count in enumerate(counts)
    )
    ticks = _x_ticks([(LEFT, f"{low:.3g}"), (WIDTH - 8, f"{high:.3g}")])
    return _figure("Scores", "responses", 0, most, f'<g class="bar">{bars}</g>{ticks}')


def at_k_curve(figures: Figures) -> str:
    """Return pass@k, pass^k and maj@k against k, with their intervals."""
    names = [name for name in ("pass@k", "maj@k", "pass^k") if name in figures.at_k]
    first = [AtK(1, figures.accuracy, 0)] if figures.accuracy is not None else []
    if not names or not first:
        return ""
    largest = max(one.k for one in figures.at_k[names[0]])
    lines = []
    for i, name in enumerate(names):
        points = [*first, *figures.at_k[name]]
        lines.append(_curve(name, i, points, largest))
    ticks = _x_ticks([(_log_x(one.k, largest), str(one.k)) for one in [*first, *figures.at_k[names[0]]]])
    return _figure("Over k responses", "share of prompts", 0, 1, "".join(lines) + ticks)


def _curve(name: str, number: int, points: Sequence[AtK], largest: int) -> str:
    places = [(_log_x(one.k, largest), _y(one.estimate.mean, 0, 1), one) for one in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    whiskers = "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(one.estimate.low, 0, 1):.1f}" '
        f'y2="{_y(one.estimate.high, 0, 1):.1f}"/>'
        for x, _, one in places
        if one.estimate.low is not None and one.estimate.high is not None
    )
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{name.replace("k", str(one.k))}: '
        f"{one.estimate.mean:.4f}</title></circle>"
        for x, y, one in places
    )
    last_x, last_y, _ = places[-1]
    label = f'<text x="{last_x - 4:.1f}" y="{last_y - 7:.1f}" text-anchor="end">{name}</text>'
    return f'<g class="line c{number}"><polyline points="{path}"/>{whiskers}{dots}{label}</g>'


def accuracy_by_length(responses: Sequence[ScoredResponse], bins: int = 10) -> str:
    """Return the share of correct responses in tenths by length."""
    known = sorted((one.length, one.correct) for one in responses if one.correct is not None)
    if len(known) < 2 * bins:
        return ""
    step = (WIDTH - LEFT - 8) / bins
    bars = []
    for i in range(bins):
        tenth = known[i * len(known) // bins : (i + 1) * len(known) // bins]
        share = sum(1 for _, correct in tenth if correct) / len(tenth)
        bars.append(
            f'<rect x="{LEFT + i * step:.1f}" y="{_y(share, 0, 1):.1f}" width="{step - 2:.1f}" '
            f'height="{_y(0, 0, 1) - _y(share, 0, 1):.1f}"><title>{tenth[0][0]:,} to {tenth[-1][0]:,} long: '
            f"{share:.3f} of {len(tenth):,}</title></rect>"
        )
    ticks = _x_ticks([(LEFT, f"{known[0][0]:,}"), (WIDTH - 8, f"{known[-1][0]:,}")])
    return _figure("Accuracy by length", "correct", 0, 1, f'<g class="bar">{"".join(bars)}</g>{ticks}')


def source_bars(found: dict[str, Figures]) -> str:
    """Return the accuracy of each data source, or its mean score where the reward does not say."""
    rows = [(name, one.accuracy or one.score) for name, one in found.items()]
    known = [(name, estimate) for name, estimate in rows if estimate is not None]
    if len(known) < 2:
        return ""
    height = 22 * len(known) + 24
    left = 150
    scale = (WIDTH - left - 60) / max(1.0, *(estimate.mean for _, estimate in known))
    parts = []
    for i, (name, estimate) in enumerate(known):
        y = 20 + 22 * i
        x = left + max(0.0, estimate.mean) * scale
        parts.append(
            f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{escape(name[-22:])}</text>'
            f'<rect class="fill" x="{left}" y="{y}" width="{x - left:.1f}" height="15"/>'
            f'<text x="{x + 5:.1f}" y="{y + 12}">{estimate.mean:.3f}</text>'
        )
        if estimate.low is not None and estimate.high is not None:
            low = left + max(0.0, estimate.low) * scale
            high = left + max(0.0, estimate.high) * scale
            parts.append(
                f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y + 7.5}" y2="{y + 7.5}"/>'
            )
    return (
        f'<figure><figcaption>By data source</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img">'
        f'<g class="bar">{"".join(parts)}</g></svg></figure>'
    )


def _figure(title: str, axis: str, low: float, high: float, inside: str) -> str:
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 8}" y1="{_y(v, low, high):.1f}" '
        f'y2="{_y(v, low, high):.1f}"/>'
        f'<text class="tick" x="{LEFT - 5}" y="{_y(v, low, high) + 4:.1f}" text-anchor="end">'
        f"{_tick(v)}</text>"
        for v in (low, (low + high) / 2, high)
    )
    return (
        f"<figure><figcaption>{escape(title)} <small>({escape(axis)})</small></figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{grid}{inside}</svg></figure>'
    )


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.3g}"


def _y(value: float | None, low: float, high: float) -> float:
    share = ((value or 0.0) - low) / ((high - low) or 1.0)
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def _log_x(k: int, largest: int) -> float:
    steps = max(1, largest.bit_length() - 1)
    exact = (k.bit_length() - 1) + (k / (1 << (k.bit_length() - 1)) - 1)
    return LEFT + 12 + min(1.0, exact / steps) * (WIDTH - LEFT - 60)


def _x_ticks(ticks: Sequence[tuple[float, str]]) -> str:
    anchors = ["start", *["middle"] * (len(ticks) - 2), "end"][: len(ticks)]
    return "".join(
        f'<text class="tick" x="{x:.1f}" y="{HEIGHT - 10}" text-anchor="{anchor}">{escape(text)}</text>'
        for anchor, (x, text) in zip(anchors, ticks, strict=True)
    )
