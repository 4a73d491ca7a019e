"""Charts for HTML pages. They are SVG text, so that they are visible before any script runs.

The pages choose what their charts show. The attribute `data-points` of a figure contains its points, so that
the script can show the values under the pointer. Labels do not overlap: names are text outside the picture,
and an axis label is omitted if it would overlap another label.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Literal

WIDTH = 360
"""Width of the SVG view box. The width is close to the width of a chart on any screen, so that all text has
the same size."""
HEIGHT = 172
TOP = 10
RIGHT = 10
BOTTOM = 26
CHARACTER = 7.2
"""Largest width of a digit at the font size of page.css."""
BETWEEN = 8.0
"""Smallest gap between two labels."""
POINTS = 240
"""Maximum number of points in a line. If there are more, neighbouring points are averaged."""
COLOURS = 12
"""Number of line colours in page.css. A chart with more lines uses some colours again."""

Points = Sequence[tuple[float, float]]
"""Points of a line, each with an x coordinate (such as the step) and a value."""
NamedBar = tuple[float, float | None, float | None]
"""Value of a bar, with the lower and the upper end of its interval."""
Whiskers = Sequence[tuple[float, float, float]]
"""Intervals of a line, each with an x coordinate, the lower end and the upper end."""
Range = tuple[float, float]
Labels = Mapping[float, str]
"""Labels by position on an axis."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Chart of lines, areas or bars over the same axes."""

    title: str
    lines: Mapping[str, Points]
    unit: str = ""
    kind: Literal["lines", "areas", "bars"] = "lines"
    """Kind of chart. Areas are stacked. Bars need exactly one line, with equidistant points."""
    band: tuple[Points, Points] | None = None
    """Lower and upper edge of a band around the first line."""
    whiskers: Mapping[str, Whiskers] = field(default_factory=dict)
    """Intervals by line. The points of lines with intervals are drawn as dots."""
    limits: Range | None = None
    """Range of the value axis, or None to fit the values."""
    ticks: Labels | None = None
    """Labels of the x axis, or None for the first and the last step."""
    names: Labels = field(default_factory=dict)
    """Names for values of x. The default name is, for example, `step 7`."""


def draw(chart: Chart) -> str:
    """Return a chart as an HTML figure, or "" if it has no points."""
    given = {name: points for name, points in chart.lines.items() if points}
    if not given:
        return ""
    stacked = chart.kind == "areas"
    lines = {name: thinned(points) for name, points in (_aligned(given) if stacked else given).items()}
    shapes = _stacked(lines) if stacked else lines
    band = [thinned(points) for points in chart.band or ()]
    labels = axis(*(chart.limits or _range([*shapes.values(), *band], from_zero=stacked)))
    steps = [x for points in given.values() for x in (points[0][0], points[-1][0])]
    ticks = chart.ticks or {x: f"{x:,.0f}" for x in (min(steps), max(steps))}
    left = max(map(len, labels.values())) * CHARACTER + BETWEEN
    across = min([*steps, *ticks]), max([*steps, *ticks])
    frame = _Frame(across, (min(labels), max(labels)), left)
    inside = _grid(frame, labels, ticks)
    if band:
        inside += _shape(0, _area(frame, *band), "band")
    inside += _shapes(chart, frame, shapes)
    return _figure(chart, lines, frame, inside)


def draw_rows(title: str, rows: Mapping[str, NamedBar], unit: str = "") -> str:
    """Return an HTML figure with a bar and an interval for each row, or "" for fewer than two rows.

    The name of a row is above the bar, where there is room for long names.
    """
    if len(rows) < 2:
        return ""
    ends = [0.0, 1.0, *(end for row in rows.values() for end in row if end is not None)]
    limits = min(ends), max(ends)
    items = []
    for name, (value, low, high) in rows.items():
        start, end = sorted((_share(0.0, limits), _share(value, limits)))
        inside = f'<rect x="{start:.1%}" width="{end - start:.1%}" height="14"/>'
        if low is not None and high is not None:
            places = f'x1="{_share(low, limits):.1%}" x2="{_share(high, limits):.1%}"'
            inside += f'<line class="whisker" {places} y1="7" y2="7"/>'
        items.append(f"<div>{escape(name)} <b>{number(value)}</b></div>")
        items.append(f'<svg height="14" aria-hidden="true">{_shape(0, inside)}</svg>')
    shown = f'<div class="rows" tabindex="0" role="group">{"".join(items)}</div>'
    return f"<figure>{_caption(title, unit)}{shown}</figure>"


def axis(low: float, high: float) -> dict[float, str]:
    """Return labels at round values that cover the range, with no more digits than necessary."""
    low, high = _apart(low, high)
    rough = high / 3 - low / 3
    exponent = math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 5, 10) if factor * 10.0**exponent >= rough * (1 - 1e-9))
    step = factor * 10.0**exponent
    exponent += factor == 10
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    plain = exponent >= -4 and max(abs(first), abs(last)) * step < 1e9
    return {i * step: _label(i * step, exponent, plain=plain) for i in range(first, last + 1)}


def thinned(points: Points) -> Points:
    """Return at most `POINTS` points. If there are more, means of consecutive points replace them."""
    if len(points) <= POINTS:
        return points
    found = []
    for i in range(POINTS):
        part = points[i * len(points) // POINTS : (i + 1) * len(points) // POINTS]
        found.append((part[-1][0], sum(value for _, value in part) / len(part)))
    return found


def number(value: float) -> str:
    """Return a number as short, readable text."""
    if value == 0:
        return "0"
    if abs(value) >= 1e9 or abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


# --- axes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Frame:
    """Mapping from values to positions in the picture."""

    across: Range
    """Values of x at the left and at the right edge."""
    up: Range
    """Values at the bottom and at the top."""
    left: float
    """Position of the left edge."""

    def x(self, value: float) -> float:
        share = _share(value, self.across)
        return round(self.left + share * (WIDTH - RIGHT - self.left), 1)

    def y(self, value: float) -> float:
        share = _share(value, self.up)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(x)},{self.y(value)}" for x, value in points)


def _share(value: float, limits: Range) -> float:
    low, high = limits
    return (value - low) / ((high - low) or 1.0)


def _grid(frame: _Frame, labels: Labels, ticks: Labels) -> str:
    found = []
    for value, text in labels.items():
        ends = (frame.across[0], value), (frame.across[1], value)
        found.append(_segment(frame, *ends, "grid"))
        place = f'x="{frame.left - 5:.1f}" y="{frame.y(value) + 4:.1f}" text-anchor="end"'
        found.append(f'<text class="tick" {place}>{text}</text>')
    for x, text in _standing_apart(frame, ticks):
        place = f'x="{x:.1f}" y="{HEIGHT - 6}" text-anchor="middle"'
        found.append(f'<text class="tick" {place}>{escape(text)}</text>')
    return "".join(found)


def _standing_apart(frame: _Frame, ticks: Labels) -> list[tuple[float, str]]:
    """Return the positions and texts of labels that do not overlap. Labels at the ends take precedence."""
    first, *between = sorted(ticks)
    found: list[tuple[float, str]] = []
    for x in (first, *between[-1:], *between[:-1]):
        half = len(ticks[x]) * CHARACTER / 2
        middle = min(max(frame.x(x), half), WIDTH - half)
        if all(abs(middle - other) >= half + len(text) * CHARACTER / 2 + BETWEEN for other, text in found):
            found.append((middle, ticks[x]))
    return found


def _label(value: float, exponent: int, *, plain: bool) -> str:
    """Return a value as text, with enough digits to distinguish it from values that differ by
    10**exponent."""
    if value == 0:
        return "0"
    if plain:
        return f"{value:,.{max(0, -exponent)}f}"
    return f"{value:.{max(0, math.floor(math.log10(abs(value))) - exponent)}e}"


def _range(shapes: Sequence[Points], *, from_zero: bool) -> Range:
    values = [value for points in shapes for _, value in points]
    low, high = min(values), max(values)
    if from_zero or 0.0 <= low < high / 3:
        low = 0.0
    return low, high


def _apart(low: float, high: float) -> Range:
    """Return the range, widened if its ends are equal or differ only by a rounding error."""
    size = max(abs(low), abs(high))
    if high - low > max(1e-9 * size, 1e-300):
        return low, high
    half = size / 2 if size > 1e-300 else 0.5
    return low - half, high + half


# --- shapes --------------------------------------------------------------------------------------------


def _shapes(chart: Chart, frame: _Frame, shapes: Mapping[str, Points]) -> str:
    if chart.kind == "bars":
        return "".join(_bars(frame, points) for points in shapes.values())
    if chart.kind == "areas":
        return _areas(frame, list(shapes.values()))
    return _lines(frame, shapes, chart.whiskers)


def _shape(i: int, inside: str, kind: str = "shape") -> str:
    return f'<g class="{kind}" style="{_colour(i)}">{inside}</g>'


def _colour(i: int) -> str:
    return f"--c:var(--l{i % COLOURS})"


def _lines(frame: _Frame, lines: Mapping[str, Points], whiskers: Mapping[str, Whiskers]) -> str:
    found = []
    for i, (name, points) in enumerate(lines.items()):
        inside = f'<polyline points="{frame.path(points)}"/>' if len(points) > 1 else ""
        inside += "".join(_segment(frame, (x, low), (x, high)) for x, low, high in whiskers.get(name, ()))
        dotted = points if name in whiskers or len(points) == 1 else ()
        inside += "".join(f'<circle cx="{frame.x(x)}" cy="{frame.y(y)}" r="3"/>' for x, y in dotted)
        found.append(_shape(i, inside))
    return "".join(found)


def _bars(frame: _Frame, points: Points) -> str:
    width = 0.92 * (points[1][0] - points[0][0])
    return _shape(0, "".join(_bar(frame, x - width / 2, x + width / 2, value) for x, value in points))


def _bar(frame: _Frame, start: float, end: float, value: float) -> str:
    left, right = frame.x(start), frame.x(end)
    top, bottom = frame.y(value), frame.y(0.0)
    return f'<rect x="{left}" y="{top}" width="{right - left:.1f}" height="{bottom - top:.1f}"/>'


def _areas(frame: _Frame, sums: Sequence[Points]) -> str:
    ground = [(x, 0.0) for x, _ in sums[0]]
    between = enumerate(pairwise([ground, *sums]))
    return "".join(_shape(i, _area(frame, lower, upper)) for i, (lower, upper) in between)


def _area(frame: _Frame, lower: Points, upper: Points) -> str:
    return f'<polygon points="{frame.path(upper)} {frame.path(reversed(lower))}"/>'


def _segment(frame: _Frame, start: Range, end: Range, kind: str = "whisker") -> str:
    (x1, y1), (x2, y2) = ((frame.x(x), frame.y(y)) for x, y in (start, end))
    return f'<line class="{kind}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'


def _aligned(lines: Mapping[str, Points]) -> dict[str, Points]:
    """Return all lines with values at the same steps, where missing values are 0."""
    steps = sorted({step for points in lines.values() for step, _ in points})
    known = {name: dict(points) for name, points in lines.items()}
    return {name: [(step, known[name].get(step, 0.0)) for step in steps] for name in lines}


def _stacked(lines: Mapping[str, Points]) -> dict[str, Points]:
    """Return the running sums of aligned lines."""
    found: dict[str, Points] = {}
    below = [0.0] * len(next(iter(lines.values())))
    for name, points in lines.items():
        below = [height + value for height, (_, value) in zip(below, points, strict=True)]
        found[name] = [(x, height) for height, (x, _) in zip(below, points, strict=True)]
    return found


# --- figures, captions and legends --------------------------------------------------------------------------


def _figure(chart: Chart, lines: Mapping[str, Points], frame: _Frame, inside: str) -> str:
    said = {name: [_said(chart, point) for point in points] for name, points in lines.items()}
    points = escape(json.dumps(said, separators=(",", ":")))
    first, last = frame.across
    legend = _legend(lines) if chart.kind != "bars" else ""
    return (
        f'<figure class="chart" data-points="{points}" data-first="{first}" data-last="{last}">'
        f'{_caption(chart.title, chart.unit)}<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(_in_words(chart, lines))}">{inside}</svg>{legend}</figure>'
    )


def _said(chart: Chart, point: tuple[float, float]) -> list[float | str]:
    """Return a point as data for the script: x, the value and, if x is not a step, the name of x."""
    x, value = point
    name = [chart.names[x]] if x in chart.names else []
    return [x, float(f"{value:.5g}"), *name]


def _caption(title: str, unit: str) -> str:
    more = f" <small>({escape(unit)})</small>" if unit else ""
    return f"<figcaption>{escape(title)}{more}</figcaption>"


def _legend(lines: Mapping[str, Points]) -> str:
    items = "".join(
        f'<div><i style="{_colour(i)}"></i><span>{escape(name)} <b>{number(points[-1][1])}</b></span></div>'
        for i, (name, points) in enumerate(lines.items())
    )
    return f'<div class="legend">{items}</div>'


def _in_words(chart: Chart, lines: Mapping[str, Points]) -> str:
    if chart.kind == "bars":
        (points,) = lines.values()
        return f"{chart.title}: {'; '.join(f'{chart.names.get(x, x)}: {number(y)}' for x, y in points)}"
    said = (f"{name} from {number(p[0][1])} to {number(p[-1][1])}" for name, p in lines.items())
    return f"{chart.title}: {'; '.join(said)}"
