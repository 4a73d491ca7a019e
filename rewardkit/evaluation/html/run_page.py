"""A training run as one HTML page that needs no network: its curves, and some responses step by step.

Made from what the run writes (metrics.jsonl, samples.jsonl, alarms.jsonl), so it is right for one that was
resumed, and can be made of one that has crashed. `rewardkit train` keeps it fresh; `rewardkit view RUN` makes
it.
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
from rewardkit.json_objects import NOT_JSON

METRICS = "metrics.jsonl"
SAMPLES = "samples.jsonl"
ALARMS = "alarms.jsonl"
PAGE = "metrics.html"
STEP = "training/global_step"

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
    "actor/approx_kl": "update",
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
    """Write the page of the run in `folder`, whole or not at all, to `out` or beside its metrics.

    Args:
        total_steps: how many it is to have.
        running: the page looks for a newer one of itself.

    Raises:
        InputError: there are no metrics, or the page cannot be written.
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
    """Return the metrics of a run by step, in order; of a step logged twice the last.

    Raises:
        InputError: there is no such file, or nothing in it yet.
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
    """Return the responses kept of steps up to the last: what is after it is of a run that was cut off."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for row in _lines(path) if path.exists() else ():
        step = row.get("step")
        if isinstance(step, int) and step <= last_step and isinstance(row.get("rows"), list):
            found[step, str(row.get("kind"))] = row
    return [found[key] for key in sorted(found)]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, but for one that is cut off."""
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
    """The name of a run: what its config calls it, or its folder."""
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
        if not points:  # no value of it is finite
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
    """The alarms of the steps in the log, as a list; nothing where there is none."""
    found = {}
    for row in _lines(path) if path.exists() else ():
        step, rule = row.get("step"), str(row.get("rule"))
        if isinstance(step, int) and steps.get(step, {}).get(f"alarm/{rule}"):
            found[step, rule] = str(row.get("line"))
    lines = "".join(f"<li>step {step}: {escape(line)}</li>" for (step, _), line in sorted(found.items()))
    return f'<section id="alarms" class="box"><h2>Alarms</h2><ul>{lines}</ul></section>' if lines else ""


class _Metrics:
    """The metrics of a run, which knows those that have been drawn: each is drawn once."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._drawn = {STEP}

    def points(self, key: str) -> Points:
        """Take a metric to draw it."""
        self._drawn.add(key)
        return _points(self._steps, key)

    def below(self, prefix: str) -> dict[str, Points]:
        """Take all metrics whose names begin so, by the rest of the name."""
        return {key.removeprefix(prefix): self.points(key) for key in self._left(prefix)}

    def counts_below(self, prefix: str) -> dict[str, Points]:
        """Take counts as `below` does that are logged where they are not 0."""
        self._drawn.update(found := self._left(prefix))
        return {key.removeprefix(prefix): _or_none(self._steps, key) for key in found}

    def band(self, title: str, name: str, unit: str = "") -> Chart:
        """Take a mean, with the band from its minimum to its maximum if all three are there."""
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
    """Return the charts that everyone looks for, and small ones of every other metric; none is in two."""
    metrics = _Metrics(steps)
    metrics.below("alarm/")  # these are listed as lines
    return list(_charts(metrics)), _further(metrics)


def _charts(metrics: _Metrics) -> Iterator[Chart]:
    """Yield the charts that everyone looks for, in the order in which they are looked at."""
    points = metrics.points
    yield Chart("Loss", {"training": points("train/loss"), "held out": points("val/loss")}, "per token")
    yield metrics.band("Score", "critic/score", "per response: mean, min, max")
    yield Chart("Validation", metrics.below("val-core/"))
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
    """Return a small chart of every metric that is left, the three of one quantity together."""
    groups: dict[str, dict[str, Points]] = {}
    for key in metrics.left():
        stem, _, kind = key.rpartition("/")
        title, name = (stem, kind) if kind in ("mean", "min", "max") else (key, "value")
        groups.setdefault(title, {})[name] = metrics.points(key)
    return [Chart(title, lines) for title, lines in sorted(groups.items())]


def _keys(steps: Steps) -> list[str]:
    return list(dict.fromkeys(key for metrics in steps.values() for key in metrics))


def _failed(steps: Steps) -> list[str]:
    return [key for key in _keys(steps) if key.startswith("reward/failed/")]


def _or_none(steps: Steps, key: str) -> list[tuple[float, float]]:
    """A count that is logged where it is not 0."""
    trained = ((step, metrics) for step, metrics in steps.items() if "timing_s/step" in metrics)
    return [(step, float(metrics.get(key) or 0.0)) for step, metrics in trained]


def _points(steps: Steps, key: str) -> list[tuple[float, float]]:
    return [(step, float(v)) for step, metrics in steps.items() if (v := metrics.get(key)) is not None]
