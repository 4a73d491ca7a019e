"""Curves over the steps of a run, as SVG text: lines, a band from least to most, areas on top of each other.

What a curve's points are stands in its figure's `data-points`, for the script that tells the value under the
pointer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from rewardkit.evaluation.html.charts import BOTTOM, HEIGHT, LEFT, TOP, WIDTH

POINTS = 240
"""In one line; of more steps as many means."""
RIGHT = 8
COLOURS = 12
"""Of lines, in run.css; a chart of more lines begins anew."""

Points = Sequence[tuple[float, float]]
"""Step and value."""


@dataclass(frozen=True, slots=True)
class Curves:
    """One chart."""

    title: str
    lines: Mapping[str, Points]
    band: tuple[Points, Points] | None = None
    """The least and the most around the first line."""
    stacked: bool = False
    """Each line stands on the one before."""
    unit: str = ""


def draw(curves: Curves) -> str:
    """Return a chart as a figure; "" where there is nothing to draw."""
    given = {name: points for name, points in curves.lines.items() if points}
    if not given:
        return ""
    lines = {name: thinned(points) for name, points in (_aligned(given) if curves.stacked else given).items()}
    first = min(points[0][0] for points in given.values())
    last = max(points[-1][0] for points in lines.values())
    shapes = _stacked(lines) if curves.stacked else lines
    band = (thinned(curves.band[0]), thinned(curves.band[1])) if curves.band else None
    low, high = _range([*shapes.values(), *(band or ())], from_zero=curves.stacked)
    frame = _Frame(first, last, low, high)
    inside = frame.grid() + (frame.area(band[1], band[0], "band") if band and band[0] else "")
    inside += _areas(frame, shapes) if curves.stacked else _lines(frame, shapes)
    said = json.dumps({name: _rounded(points) for name, points in lines.items()}, separators=(",", ":"))
    words = escape(_in_words(curves.title, lines))
    unit = f" <small>({escape(curves.unit)})</small>" if curves.unit else ""
    return (
        f'<figure class="curve" data-points="{escape(said)}" data-first="{first:g}" data-last="{last:g}">'
        f"<figcaption>{escape(curves.title)}{unit}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
        f"{inside}</svg>{_legend(lines)}</figure>"
    )


def thinned(points: Points) -> Points:
    """Return at most POINTS points: of more the means of as many stretches of steps."""
    if len(points) <= POINTS:
        return points
    found = []
    for i in range(POINTS):
        part = points[i * len(points) // POINTS : (i + 1) * len(points) // POINTS]
        found.append((part[-1][0], sum(value for _, value in part) / len(part)))
    return found


class _Frame:
    """Where steps and values lie in the picture."""

    def __init__(self, first: float, last: float, low: float, high: float) -> None:
        self.first, self.last = first, last
        self.low, self.high = low, high

    def at(self, step: float, value: float) -> str:
        across = (step - self.first) / ((self.last - self.first) or 1.0)
        up = (value - self.low) / ((self.high - self.low) or 1.0)
        x = LEFT + across * (WIDTH - LEFT - RIGHT)
        return f"{x:.1f},{HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP):.1f}"

    def area(self, upper: Points, lower: Points, kind: str) -> str:
        there = " ".join(self.at(*point) for point in upper)
        back = " ".join(self.at(*point) for point in reversed(lower))
        return f'<polygon class="{kind}" points="{there} {back}"/>'

    def tick(self, value: float) -> str:
        """A value with as many digits as tell it from the others."""
        between = abs(self.high - self.low)
        if not 1e-3 <= between < 1e3 or abs(value) >= 1e6:
            return number(value)
        digits = max(0, 1 - math.floor(math.log10(between)))
        value = round(value, digits) + 0.0  # no -0
        return f"{value:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:,.0f}"

    def grid(self) -> str:
        found = []
        for value in (self.low, (self.low + self.high) / 2, self.high):
            y = self.at(self.first, value).partition(",")[2]
            found.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
            place = f'x="{LEFT - 5}" y="{float(y) + 4:.1f}" text-anchor="end"'
            found.append(f'<text class="tick" {place}>{self.tick(value)}</text>')
        for x, anchor, step in (
            (LEFT, "start", self.first),
            (WIDTH - RIGHT, "end", self.last),
        ):
            found.append(
                f'<text class="tick" x="{x}" y="{HEIGHT - 10}" text-anchor="{anchor}">{step:,.0f}</text>'
            )
        return "".join(found)


def _lines(frame: _Frame, lines: Mapping[str, Points]) -> str:
    found = []
    for i, points in enumerate(lines.values()):
        colour = f"l{i % COLOURS}"
        if len(points) == 1:
            x, y = frame.at(*points[0]).split(",")
            found.append(f'<circle class="{colour}" cx="{x}" cy="{y}" r="3"/>')
        else:
            path = " ".join(frame.at(*point) for point in points)
            found.append(f'<polyline class="{colour}" points="{path}"/>')
    return "".join(found)


def _areas(frame: _Frame, sums: Mapping[str, Points]) -> str:
    found = []
    below: Points | None = None
    for i, points in enumerate(sums.values()):
        ground = below or [(step, 0.0) for step, _ in points]
        found.append(frame.area(points, ground, f"a{i % COLOURS}"))
        below = points
    return "".join(found)


def _aligned(lines: Mapping[str, Points]) -> dict[str, Points]:
    """The lines at the steps of all of them; 0 where one has no value."""
    steps = sorted({step for points in lines.values() for step, _ in points})
    known = {name: dict(points) for name, points in lines.items()}
    return {name: [(step, known[name].get(step, 0.0)) for step in steps] for name in lines}


def _stacked(lines: Mapping[str, Points]) -> dict[str, Points]:
    """Aligned lines on top of each other."""
    heights: dict[float, float] = {}
    found: dict[str, Points] = {}
    for name, points in lines.items():
        for step, value in points:
            heights[step] = heights.get(step, 0.0) + value
        found[name] = [(step, heights[step]) for step, _ in points]
    return found


def _range(shapes: Sequence[Points], *, from_zero: bool) -> tuple[float, float]:
    values = [value for points in shapes for _, value in points]
    low = min(values)
    high = max(values)
    if from_zero or 0.0 <= low < high / 3:
        low = 0.0
    if low == high:
        return low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    return low, high


def _legend(lines: Mapping[str, Points]) -> str:
    items = "".join(
        f'<span><i class="k{i % COLOURS}"></i>{escape(name)} <b>{number(points[-1][1])}</b></span>'
        for i, (name, points) in enumerate(lines.items())
    )
    return f'<div class="legend">{items}</div>'


def _in_words(title: str, lines: Mapping[str, Points]) -> str:
    said = (f"{name} from {number(p[0][1])} to {number(p[-1][1])}" for name, p in lines.items())
    return f"{title}: {'; '.join(said)}"


def _rounded(points: Points) -> list[tuple[float, float]]:
    return [(step, float(f"{value:.5g}")) for step, value in points]


def number(value: float) -> str:
    """Return a number as it reads best in little room."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
