"""HTML page of a training run with its curves and some of its responses by step. The page works offline.

The page is built from the run's files (metrics.jsonl, samples.jsonl, alarms.jsonl), so it also works for runs
that were resumed or have crashed. `rewardkit train` updates the page, and `rewardkit view RUN` writes it on
demand.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import InputError
from rewardkit.evaluation.html.charts import Chart, Points, draw, number
from rewardkit.evaluation.html.page import cards, pack, write_page
from rewardkit.evaluation.overoptimization import PREFIX, SCORE, STEP
from rewardkit.json_objects import NOT_JSON

METRICS = "metrics.jsonl"
SAMPLES = "samples.jsonl"
ALARMS = "alarms.jsonl"
PAGE = "metrics.html"

MetricValues = dict[str, float | None]
Steps = Mapping[int, MetricValues]
"""Metrics by step, in order."""

_PHASES = {
    "gen": "generation",
    "gen_max": "greedy generation",
    "reward": "waiting for scores",
    "old_log_prob": "log-probabilities",
    "ref": "reference",
    "teacher": "teacher",
    "values": "values",
    "adv": "advantages",
    "update_critic": "critic update",
    "update_actor": "actor update",
    "update_weights": "weight sync",
    "testing": "validation",
    "save_checkpoint": "checkpoint",
}
_KL = {
    "actor/reward_kl_penalty": "KL in the reward",
    "actor/kl_loss": "KL loss",
    "distillation/kl": "teacher",
    "actor/trained_rows/approx_kl": "update",
    "training/rollout_actor_kl": "rollout vs. policy",
}
_LEDGER = {
    "failures": "failures, if scored 0",
    "nobody_right": "groups without a right response",
    "format": "equally correct responses",
    "length": "length",
}


def write_run_page(
    folder: Path, out: Path | None = None, *, total_steps: int | None = None, running: bool = False
) -> Path:
    """Write the page for the run in `folder`, atomically, and return its path.

    Args:
        folder: Folder of the run.
        out: File to write, or None to write a file in the same folder as the metrics.
        total_steps: Planned number of steps in the run.
        running: True if the run is not finished. The page then reloads itself regularly.

    Raises:
        InputError: There are no metrics, or the page cannot be written.
    """
    steps = read_metrics(folder / METRICS)
    out = out or folder / PAGE
    samples = read_samples(folder / SAMPLES, max(steps))
    charts, further = charts_of(steps)
    parts = {
        "headline": _headline(steps, total_steps),
        "alarms": _alarms(folder / ALARMS, steps),
        "charts": "".join(map(draw, charts)),
        "further": "".join(map(draw, further)),
        "hidden": "" if samples else "hidden",
    }
    about = {"running": running, "written": round(time.time()), "last": max(steps)}
    with_maths = any(mark in json.dumps(samples) for mark in ("$", "\\\\(", "\\\\["))
    packed = {"samples": pack(samples)}
    write_page(out, "run_page", _title(folder), parts, about, packed, with_maths=with_maths)
    return out


def read_metrics(path: Path) -> dict[int, MetricValues]:
    """Return the metrics of a run by step, in order. If a step was logged twice, the last entry counts.

    Raises:
        InputError: The file cannot be read, or contains no step yet.
    """
    found: dict[int, MetricValues] = {}
    for row in _lines(path):
        step = row.get(STEP)
        if isinstance(step, int | float):
            found[int(step)] = {k: v for k, v in row.items() if v is None or isinstance(v, int | float)}
    if not found:
        raise InputError(f"{path} contains no training step yet")
    return dict(sorted(found.items()))


def read_samples(path: Path, last_step: int) -> list[dict[str, Any]]:
    """Return the saved responses up to the last step. Later steps belong to an interrupted run and are
    omitted."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for row in _lines(path) if path.exists() else ():
        step = row.get("step")
        if isinstance(step, int) and step <= last_step and isinstance(row.get("rows"), list):
            found[step, str(row.get("kind"))] = row
    return [found[key] for key in sorted(found)]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSONL file. Incomplete lines are skipped."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    for line in text.splitlines():
        try:
            row = msgspec.json.decode(line)
        except NOT_JSON:
            continue
        if isinstance(row, dict):
            yield row


def _title(folder: Path) -> str:
    """Return the name of a run from its config or, by default, the name of its folder."""
    try:
        trainer = msgspec.yaml.decode((folder / "config.yaml").read_bytes())["trainer"]
        return f"{trainer['project_name']}: {trainer['experiment_name']}"
    except (OSError, KeyError, TypeError, *NOT_JSON):
        return folder.resolve().name


# --- figures -----------------------------------------------------------------------------------------------


def _headline(steps: Steps, total: int | None) -> str:
    last = max(steps)
    facts = [("step", f"{last:,}" + (f" of {total:,}" if total else ""), "")]
    score = _points(steps, "critic/score/mean")
    if score:
        tenth = max(1, len(score) // 10)
        first, now = (sum(value for _, value in part) / tenth for part in (score[:tenth], score[-tenth:]))
        facts.append(("score", number(now), f"initially {number(first)}"))
    for name in (key for key in _keys(steps) if key.startswith(("val-core/", "val/", "train/loss"))):
        points = _points(steps, name)
        if not points:  # The metric has no finite value.
            continue
        before = f"initially {number(points[0][1])}" if len(points) > 1 else ""
        facts.append((name.removeprefix("val-core/"), number(points[-1][1]), before))
    failed = sum(value for key in _failed(steps) for _, value in _points(steps, key))
    if score or failed:
        facts.append(("not scored", f"{failed:,.0f}", "responses"))
    seconds = [value for _, value in _points(steps, "timing_s/step")][-10:]
    if seconds:
        facts.append(("step time", f"{sum(seconds) / len(seconds):.3g} s", "mean of the last 10"))
    return cards(facts)


def _alarms(path: Path, steps: Steps) -> str:
    """Return the alarms at the logged steps as an HTML list, or "" if there are no alarms."""
    found = {}
    for row in _lines(path) if path.exists() else ():
        step, rule = row.get("step"), str(row.get("rule"))
        if isinstance(step, int) and steps.get(step, {}).get(f"alarm/{rule}"):
            found[step, rule] = str(row.get("line"))
    lines = "".join(f"<li>step {step}: {escape(line)}</li>" for (step, _), line in sorted(found.items()))
    return f'<section id="alarms" class="box"><h2>Alarms</h2><ul>{lines}</ul></section>' if lines else ""


class _Metrics:
    """Metrics of a run. The object remembers which metrics are drawn, so that each is drawn only once."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._drawn = {STEP}

    def points(self, key: str) -> Points:
        """Return the points of a metric and mark it as drawn."""
        self._drawn.add(key)
        return _points(self._steps, key)

    def below(self, prefix: str) -> dict[str, Points]:
        """Return the points of all undrawn metrics with this prefix, by name without the prefix."""
        return {key.removeprefix(prefix): self.points(key) for key in self._left(prefix)}

    def counts_below(self, prefix: str) -> dict[str, Points]:
        """Return counts in the same form as `below`. A step at which a count was not logged gets the value
        0."""
        self._drawn.update(found := self._left(prefix))
        return {key.removeprefix(prefix): _or_none(self._steps, key) for key in found}

    def band(self, title: str, name: str, unit: str = "") -> Chart:
        """Return a chart of a mean, with a band from minimum to maximum if all three metrics exist."""
        edges = f"{name}/min", f"{name}/max"
        whole = {f"{name}/mean", *edges} <= set(self._left(name))
        band = (self.points(edges[0]), self.points(edges[1])) if whole else None
        return Chart(title, {"mean": self.points(f"{name}/mean")}, unit, band=band)

    def left(self) -> list[str]:
        """Return the names of the metrics that have not been drawn."""
        return self._left("")

    def _left(self, prefix: str) -> list[str]:
        return [key for key in _keys(self._steps) if key.startswith(prefix) and key not in self._drawn]


def charts_of(steps: Steps) -> tuple[list[Chart], list[Chart]]:
    """Return the main charts, and small charts of all other metrics. Each metric is in only one chart."""
    metrics = _Metrics(steps)
    metrics.below("alarm/")  # Alarms are marked as drawn because the page lists them separately.
    return list(_charts(metrics)), _further(metrics)


def _charts(metrics: _Metrics) -> Iterator[Chart]:
    """Yield the main charts in the order in which the page shows them."""
    points = metrics.points
    yield Chart("Loss", {"training": points("train/loss"), "held out": points("val/loss")}, "per token")
    yield metrics.band("Score", "critic/score", "per response: mean, min, max")
    yield Chart("Validation", metrics.below("val-core/"))
    truths = [key for key in metrics.left() if key.startswith(PREFIX) and key.endswith("/truth")]
    compared = {"score": SCORE} | {key.removeprefix(PREFIX).removesuffix("/truth"): key for key in truths}
    lines = {name: _scaled(points(key)) for name, key in compared.items()} if truths else {}
    yield Chart("Score and truth", lines, "each from lowest to highest")
    yield Chart("Score components", metrics.below("reward/part/"), unit="mean")
    yield Chart("Divergence", {said: points(name) for name, said in _KL.items()}, unit="KL, nats per token")
    yield Chart("Entropy", {"mean": points("actor/entropy")}, unit="nats per token")
    yield metrics.band("Response length", "response_length", "tokens: mean, min, max")
    yield Chart("Truncated responses", {"share": points("response_length/clip_ratio")})
    yield Chart("Not scored, by status", metrics.counts_below("reward/failed/"), unit="responses per step")
    shares = {said: points(f"ledger/{name}") for name, said in _LEDGER.items()}
    yield Chart("Where the gradient comes from", shares, unit="share")
    phases = {said: points(f"timing_s/{name}") for name, said in _PHASES.items()}
    yield Chart("Step time by phase", phases, "seconds", "areas")
    yield Chart("Actor loss", {"loss": points("actor/pg_loss")})
    yield Chart("Critic loss", {"loss": points("critic/vf_loss")})
    norms = {name: points(f"{name}/grad_norm") for name in ("actor", "critic", "train")}
    yield Chart("Gradient norm", norms)
    yield Chart("Throughput", {"per process": points("perf/throughput")}, "tokens per second")


def _further(metrics: _Metrics) -> list[Chart]:
    """Return small charts of all metrics not yet drawn. A mean, minimum and maximum share one chart."""
    groups: dict[str, dict[str, Points]] = {}
    for key in metrics.left():
        stem, _, kind = key.rpartition("/")
        title, name = (stem, kind) if kind in ("mean", "min", "max") else (key, "value")
        groups.setdefault(title, {})[name] = metrics.points(key)
    return [Chart(title, lines) for title, lines in sorted(groups.items())]


def _scaled(points: Points) -> Points:
    """Return a line with its values rescaled so that the lowest is 0 and the highest is 1."""
    values = [value for _, value in points]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(step, (value - low) / ((high - low) or 1.0)) for step, value in points]


def _keys(steps: Steps) -> list[str]:
    return list(dict.fromkeys(key for metrics in steps.values() for key in metrics))


def _failed(steps: Steps) -> list[str]:
    return [key for key in _keys(steps) if key.startswith("reward/failed/")]


def _or_none(steps: Steps, key: str) -> list[tuple[float, float]]:
    """Return the points of a count at all training steps. A step at which it was not logged gets the value
    0."""
    trained = ((step, metrics) for step, metrics in steps.items() if "timing_s/step" in metrics)
    return [(step, float(metrics.get(key) or 0.0)) for step, metrics in trained]


def _points(steps: Steps, key: str) -> list[tuple[float, float]]:
    return [(step, float(v)) for step, metrics in steps.items() if (v := metrics.get(key)) is not None]
