"""Learning curves as a PNG: a panel for each kind of run, a line for each seed. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

Curve = Sequence[tuple[int, float]]


class Line(NamedTuple):
    """One run."""

    panel: str
    seed: int
    curve: Curve
    dotted: Curve = ()
    """Another curve of the same run."""


def draw(
    lines: Sequence[Line],
    path: Path,
    *,
    xlabel: str,
    columns: int = 4,
    titles: Mapping[str, str] | None = None,
    share_x: bool = True,
) -> None:
    """Draw sampled accuracy by step; `titles` replace those of panels that say more than their name."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(line.panel for line in lines))
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(3.2 * columns, 2.65 * rows), sharex=share_x, sharey=True, squeeze=False
    )
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for axis, name in zip(axes.flat, names, strict=False):
        for line in (one for one in lines if one.panel == name):
            (drawn,) = axis.plot(*zip(*line.curve, strict=True), marker=".", label=f"seed {line.seed}")
            if line.dotted:
                axis.plot(*zip(*line.dotted, strict=True), ls=":", color=drawn.get_color())
        axis.set_title((titles or {}).get(name, name), fontsize=9)
        axis.set_ylim(0, 1)
        axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=7)
    figure.supxlabel(xlabel, fontsize=9)
    figure.supylabel("sampled accuracy, held-out problems", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
