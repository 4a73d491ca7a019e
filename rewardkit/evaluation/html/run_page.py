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
_CHARTED_PREFIXES = ("val-core/", "reward/failed/", "reward/part/", "alarm/")
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
    parts = {
        "headline": _headline(steps, total_steps),
        "alarms": _alarms(folder / ALARMS, steps),
        "charts": "".join(map(draw, _charts(steps))),
        "further": _further(steps),
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


def _charts(steps: Steps) -> Iterator[Chart]:
    """The charts that everyone looks for, in the order in which they are looked at."""

    def below(prefix: str) -> dict[str, Points]:
        found = [key for key in _keys(steps) if key.startswith(prefix)]
        return {key.removeprefix(prefix): _points(steps, key) for key in found}

    def with_band(title: str, name: str, unit: str = "") -> Chart:
        extremes = _points(steps, f"{name}/min"), _points(steps, f"{name}/max")
        band = extremes if extremes[0] and extremes[1] else None
        return Chart(title, {"mean": _points(steps, f"{name}/mean")}, unit, band=band)

    yield Chart(
        "Loss",
        {"training": _points(steps, "train/loss"), "held out": _points(steps, "val/loss")},
        "per token",
    )
    yield with_band("Score", "critic/score", "per response: mean, min, max")
    yield Chart("Validation", below("val-core/"))
    yield Chart("Score components", below("reward/part/"), unit="mean")
    yield Chart(
        "Divergence", {said: _points(steps, name) for name, said in _KL.items()}, unit="KL, nats per token"
    )
    yield Chart("Entropy", {"mean": _points(steps, "actor/entropy")}, unit="nats per token")
    yield with_band("Response length", "response_length", "tokens: mean, min, max")
    yield Chart("Truncated responses", {"share": _points(steps, "response_length/clip_ratio")})
    failed = {key.removeprefix("reward/failed/"): _or_none(steps, key) for key in _failed(steps)}
    yield Chart("Not scored, by status", failed, unit="responses per step")
    shares = {said: _points(steps, f"ledger/{name}") for name, said in _LEDGER.items()}
    yield Chart("Where the gradient comes from", shares, unit="share")
    yield Chart("Step time by phase", _phases(steps), "seconds", "areas")
    yield Chart("Actor loss", {"loss": _points(steps, "actor/pg_loss")})
    yield Chart("Critic loss", {"loss": _points(steps, "critic/vf_loss")})
    yield Chart(
        "Gradient norm",
        {name: _points(steps, f"{name}/grad_norm") for name in ("actor", "critic", "train")},
    )
    yield Chart("Throughput", {"per process": _points(steps, "perf/throughput")}, "tokens per second")


def _phases(steps: Steps) -> dict[str, Points]:
    return {said: _points(steps, f"timing_s/{name}") for name, said in _PHASES.items()}


def _further(steps: Steps) -> str:
    """A small chart of every other metric, the three of one quantity together."""
    shown = {"critic/score/mean", "critic/score/min", "critic/score/max", "actor/entropy", STEP, *_KL}
    shown |= {"actor/pg_loss", "critic/vf_loss", "actor/grad_norm", "critic/grad_norm", "perf/throughput"}
    shown |= {"train/loss", "val/loss", "train/grad_norm"}
    shown |= {f"timing_s/{name}" for name in _PHASES} | {f"ledger/{name}" for name in _LEDGER}
    groups: dict[str, dict[str, Points]] = {}
    for key in _keys(steps):
        if key in shown or key.startswith(_CHARTED_PREFIXES):
            continue
        stem, _, kind = key.rpartition("/")
        title, name = (stem, kind) if kind in ("mean", "min", "max") else (key, "value")
        groups.setdefault(title, {})[name] = _points(steps, key)
    return "".join(draw(Chart(title, lines)) for title, lines in sorted(groups.items()))


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
