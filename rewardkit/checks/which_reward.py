"""Which reward would read the responses of a file: advice where nobody names one, or where all score alike.

Only rewards of text are tried, on the first rows and for some seconds; judges and the sandbox are not asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from rewardkit.checks.first_look import near_inputs
from rewardkit.errors import InputError
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import opened
from rewardkit.logs.samples import to_batch
from rewardkit.offline.report import Report
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score

_TRIED = ("choice", "gsm8k", "math", "number", "tool_call", "qa", "exact")
"""Rewards of text, the more particular first."""
_FRAMED = ("choice", "gsm8k", "math", "number")
"""Those that find an answer in few texts that hold none."""
_ROWS = 200
_AT_ONCE = 50
_SECONDS = 5.0
_MOST = 0.5
"""From this share of the rows on a reward reads a file."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a reward reads some responses."""

    source: str
    read: float
    """Share of the responses in which it finds an answer."""
    right: float
    """Share of those that it pays in full."""


def which_reward(paths: Iterable[str | Path], options: ReadOptions, scorer: Scorer) -> str:
    """Return in one line which rewards would read the first file, and how; empty where it cannot be read.

    Args:
        options: what the user says of the file, but for the data source.
    """
    samples, why = _some_samples(paths, replace(options, data_source="?"))
    if not samples:
        return f"the first rows of the file cannot be used: {why}" if why else ""
    return _told(_readings(samples, scorer), len(samples))


def second_look(paths: Iterable[str | Path], options: ReadOptions, scorer: Scorer, report: Report) -> str:
    """Return in one line what is odd where no response is right, or all are; empty for nothing.

    Some rows are scored again for it, so it looks at nothing that a reward other than those tried has scored:
    the user has chosen that one, and a call of it may take long, or cost something.

    Args:
        report: the totals of scoring these files.
    """
    scored = [name for name, source in report.sources.items() if source.scored]
    if not scored or any(scorer.reward_for(name).name not in _TRIED for name in scored):
        return ""
    shares = {source.accuracy if source.scored else 0.0 for source in report.sources.values()}
    if shares not in ({0.0}, {1.0}):
        return ""
    samples, _ = _some_samples(paths, options)
    if not samples:
        return ""
    own = _reading("it", samples, scorer)
    others = [one for one in _readings(samples, scorer) if one.source not in report.sources]
    if shares == {1.0}:
        strict = [one for one in others if one.source in _FRAMED and one.read >= _MOST > one.right]
        found = [
            f"{one.source} finds an answer in {one.read:.0%} and scores only {one.right:.0%} as right"
            for one in strict
        ]
        all_right = "all responses are scored as right, but of the first"
        return f"{all_right} {len(samples)} responses, {found[0]}" if found else ""
    if own.read >= _MOST and not any(one.right for one in others):
        return ""
    return f"no response is scored as right; {_told(others, len(samples))}"


def _told(readings: Sequence[_Reading], count: int) -> str:
    paying = sorted((one for one in readings if one.right), key=lambda one: -one.right)[:3]
    if paying:
        found = [
            f"--data-source {one.source} finds an answer in {one.read:.0%} and "
            f"scores {one.right:.0%} as right"
            for one in paying
        ]
        return f"of the first {count} responses, {', '.join(found)}"
    tried = ", ".join(one.source for one in readings)
    reading = [
        f"{one.source} finds an answer in {one.read:.0%}"
        for one in readings
        if one.source in _FRAMED and one.read
    ]
    none = f"none of the rewards {tried} scores any of the first {count} responses as right"
    return "; ".join([none, *reading])


def _readings(samples: Sequence[Sample], scorer: Scorer) -> list[_Reading]:
    return [_reading(source, samples, scorer) for source in _TRIED]


def _reading(source: str, samples: Sequence[Sample], scorer: Scorer) -> _Reading:
    """How a reward reads samples, as far as the time goes; `it`: the reward of each."""
    named = [one if source == "it" else _named(one, source) for one in samples]
    until = time.monotonic() + _SECONDS
    scores: list[Score] = []
    for start in range(0, len(named), _AT_ONCE):
        scores += scorer.score_batch(named[start : start + _AT_ONCE])
        if time.monotonic() > until:
            break
    read = [score for score in scores if score.status == "ok" and score.extracted]
    return _Reading(source, len(read) / len(scores), sum(score.score >= 1.0 for score in read) / len(scores))


def _some_samples(paths: Iterable[str | Path], options: ReadOptions) -> tuple[list[Sample], str]:
    """The first samples of the first file that say something, and why one of the others cannot be used."""
    for source in near_inputs(paths)[:1]:
        try:
            with opened(source, options) as (file, layout):
                batch = to_batch(next(file.chunks()).first(_ROWS), layout)
        except (InputError, StopIteration):
            continue
        said = (one for one in batch.usable if one.response.strip())
        return list(islice(said, _ROWS)), next(iter(batch.bad.values()), "")
    return [], ""


def _named(sample: Sample, source: str) -> Sample:
    return Sample(source, sample.response, sample.ground_truth, sample.prompt, sample.extra_info)
