"""Advice on rewards for a file whose data source has no reward, or whose responses are all right or wrong.

Only rewards for text are tried, on the first rows. Judges and the sandbox are not used. `logs.trial` handles
logs without a data source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rewardkit.checks.first_look import near_inputs
from rewardkit.errors import InputError
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import opened
from rewardkit.logs.samples import to_batch
from rewardkit.logs.trial import ROWS, is_right
from rewardkit.offline.report import Report
from rewardkit.registry import REGISTRY
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

_MOST = 0.5
"""Minimum share of responses in which a reward must find an answer to be suitable for a file."""
_OFFERED = 0.2
"""Minimum share of right responses for a reward to be suggested."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """Result of scoring responses with one reward."""

    source: str
    read: float
    """Share of the responses in which the reward finds an answer."""
    right: float
    """Share of the responses that the reward scores as right."""


def which_reward(paths: Iterable[str | Path], options: ReadOptions, scorer: Scorer) -> str:
    """Return a line that suggests rewards for the first file, best first, or "" if no reward is suitable.

    Args:
        paths: Files with responses.
        options: Options for reading the files. Their data source is ignored.
        scorer: Scorer for the responses.
    """
    samples = _some_samples(paths, replace(options, data_source="?"))
    offered = _advised(_readings(samples, scorer)) if samples else []
    return f"of the first {len(samples)} responses, {', '.join(offered)}" if offered else ""


def second_look(paths: Iterable[str | Path], options: ReadOptions, scorer: Scorer, report: Report) -> str:
    """Return a line of advice if no response or all responses are right, or "" if there is no advice.

    Some rows are scored again. There is no advice if rewards other than rewards for text have scored the
    files, since calls of these rewards may be slow or expensive.

    Args:
        paths: Files with responses.
        options: Options for reading the files.
        scorer: Scorer for the responses.
        report: Totals of scoring the files.
    """
    scored = [name for name, source in report.sources.items() if source.scored]
    if not scored or not all(scorer.reward_for(name).readings for name in scored):
        return ""
    shares = {source.accuracy if source.scored else 0.0 for source in report.sources.values()}
    if shares not in ({0.0}, {1.0}):
        return ""
    samples = _some_samples(paths, options)
    if not samples:
        return ""
    own = _reading("it", samples, scorer)
    others = [one for one in _readings(samples, scorer) if one.source not in report.sources]
    if shares == {1.0}:
        strict = [one for one in others if _is_framed(one.source) and one.read >= _MOST > one.right]
        found = [
            f"{one.source} finds an answer in {one.read:.0%} and scores only {one.right:.0%} as right"
            for one in strict
        ]
        all_right = "all responses are scored as right, but of the first"
        return f"{all_right} {len(samples)} responses, {found[0]}" if found else ""
    if own.read >= _MOST and not any(one.right for one in others):
        return ""
    offered = _advised(others) or ["no other reward of text scores more as right"]
    return f"no response is scored as right; of the first {len(samples)} responses, {', '.join(offered)}"


def other_rewards(samples: Sequence[Sample], scorer: Scorer) -> list[str]:
    """Return a line for each other reward for text that scores some of the samples as right, the best first.

    The result is empty if a sample has a reward of another kind, since calls of it may be slow or expensive.
    """
    tried = {one.data_source for one in samples}
    if not samples or not all(scorer.reward_for(name).readings for name in tried):
        return []
    return _offered([one for one in _readings(samples, scorer) if one.source not in tried])


def _is_framed(source: str) -> bool:
    """Return True if the reward requires a format, so that it rarely finds answers in other texts."""
    reward = REGISTRY.find(source)
    return reward is not None and "format" in reward.parts


def _advised(readings: Sequence[_Reading]) -> list[str]:
    return [f"--data-source {said}" for said in _offered(readings)]


def _offered(readings: Sequence[_Reading]) -> list[str]:
    paying = sorted((one for one in readings if one.right >= _OFFERED), key=lambda one: -one.right)[:3]
    return [f"{one.source} scores {one.right:.0%} as right" for one in paying]


def _readings(samples: Sequence[Sample], scorer: Scorer) -> list[_Reading]:
    """Return the results of all rewards for text, without options, since options may let a reward guess."""
    return [_reading(source, samples, scorer) for source in REGISTRY.readings() if ":" not in source]


def _reading(source: str, samples: Sequence[Sample], scorer: Scorer) -> _Reading:
    """Return the result of one reward. The source `it` means the reward of each sample."""
    scores = scorer.score_batch([one if source == "it" else _named(one, source) for one in samples])
    read = [score for score in scores if score.status == "ok" and score.extracted]
    return _Reading(source, len(read) / len(scores), sum(map(is_right, read)) / len(scores))


def _some_samples(paths: Iterable[str | Path], options: ReadOptions) -> list[Sample]:
    """Return the usable samples with a non-empty response in the first rows of the first file."""
    for source in near_inputs(paths)[:1]:
        try:
            with opened(source, options) as (file, layout):
                batch = to_batch(next(file.chunks()).first(ROWS), layout)
        except (InputError, StopIteration):
            continue
        return [one for one in batch.usable if one.response.strip()]
    return []


def _named(sample: Sample, source: str) -> Sample:
    return Sample(source, sample.response, sample.ground_truth, sample.prompt, sample.extra_info)
