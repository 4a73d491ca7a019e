"""Counts the outcomes of a request, for the metrics and the page.

A scoring process sends the tally of a large request to the server process. The size of a tally is therefore
limited, however many samples the request has.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from rewardkit.errors import InputError
from rewardkit.scoring.jobs import encode
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import COST_PARTS, COSTS, OVERRULED, Sample, Score, Status

OTHERS = "(others)"
"""Name for all data sources beyond a limit, since clients can choose any names."""

STOPPED = ("timed_out", "over_limit")
"""Names of the score parts that count the runs stopped by the sandbox, by reason."""

_MAX_LABELS = 4_096
"""Maximum number of data sources whose labels are cached."""
_MAX_NAMES = 50
"""Maximum number of data sources in a tally."""
_NAME = 100
"""Maximum number of characters of a data source in a tally."""
_MAX_OUTCOMES = 512
"""Number of different outcomes above which similar scores are counted as their mean."""
_BINS = 20
"""Number of groups of similar scores per unit."""
_SHOWN = 120
_SHOWN_CHARACTERS = 500_000
"""Maximum number of samples from a large request that are kept for the page, and their maximum number of
characters."""


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """Number of samples with the same outcome."""

    label: str
    """Label of the data source, from a limited set of names."""
    source: str
    """Beginning of the data source's name, or `(others)`."""
    score: float
    correct: bool | None
    status: Status
    n: int


class Tally(msgspec.Struct):
    """Counts of a scored batch."""

    n: int
    """Number of samples."""
    outcomes: list[Outcome]
    costs: dict[str, dict[str, float]] = {}
    """Total cost parts, by label of the data source."""
    stopped: dict[str, float] = {}
    """Number of program runs that the sandbox stopped, by reason."""
    samples: Sequence[Sample] = ()
    scores: Sequence[Score] = ()
    """Samples that the page may show, with their scores."""


class SourceLabels:
    """Labels of data sources, from a limited set of names.

    The label is the data source itself if the registry lists it, or else the pattern that it matches, the
    name of its reward, or `unknown`.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._labels: dict[str, tuple[str, bool]] = {}

    def __call__(self, data_source: str) -> str:
        """Return the label of a data source."""
        return self.with_place(data_source)[0]

    def with_place(self, data_source: str) -> tuple[str, bool]:
        """Return the label of a data source, and True if its samples are programs that run in the sandbox."""
        found = self._labels.get(data_source)
        if found is None:
            found = self._find(data_source)
            if len(self._labels) >= _MAX_LABELS:
                self._labels.clear()
            self._labels[data_source] = found
        return found

    def _find(self, data_source: str) -> tuple[str, bool]:
        reward = self._scorer.find(data_source)
        if reward is None:
            return "unknown", False
        in_sandbox = reward.running.runs == "sandbox"
        names = (*reward.data_sources, *reward.aliases)
        if data_source in names:
            return data_source, in_sandbox
        return next((name for name in names if fnmatchcase(data_source, name)), reward.name), in_sandbox


def tally_of(samples: Sequence[Sample], scores: Sequence[Score], labels: SourceLabels) -> Tally:
    """Count the outcomes of a batch. All samples are kept for the page (see `shortened`)."""
    counts: dict[tuple[str, float, bool | None, Status], int] = {}
    costly = False
    for sample, score in zip(samples, scores, strict=True):
        key = sample.data_source, score.score, score.correct, score.status
        counts[key] = counts.get(key, 0) + 1
        costly = costly or score.parts.keys() >= COSTS
    names: dict[str, str] = {}
    merged: dict[tuple[str, str, float, bool | None, Status], int] = {}
    in_sandbox = False
    for (source, value, correct, status), n in counts.items():
        if source not in names and len(names) < _MAX_NAMES:
            names[source] = source[:_NAME]
        label, is_program = labels.with_place(source)
        in_sandbox = in_sandbox or is_program
        full = label, names.get(source, OTHERS), value, correct, status
        merged[full] = merged.get(full, 0) + n
    outcomes = [Outcome(*key, n) for key, n in merged.items()]
    found = Tally(len(samples), outcomes, samples=samples, scores=scores)
    if costly:
        found.costs = _costs(samples, scores, labels)
    if in_sandbox:
        found.stopped = {
            reason: runs for reason in STOPPED if (runs := sum(s.parts.get(reason, 0.0) for s in scores))
        }
    return found


def shortened(tally: Tally) -> Tally:
    """Return the tally of a large request, with few samples for the page and a limited number of outcomes."""
    n = len(tally.samples)
    step = -(-n // (_SHOWN // 2))
    chosen = set(range(0, n, step or 1))
    failed = [i for i in range(n) if not tally.scores[i].ok][-_SHOWN // 2 :]
    left = _SHOWN_CHARACTERS
    kept: list[tuple[Sample, Score]] = []
    for i in sorted(chosen.union(failed)):
        try:
            # Lone surrogates are removed, because they cannot be sent between processes.
            encoded = encode(tally.samples[i])
            msgspec.msgpack.encode(tally.scores[i])
        except (InputError, UnicodeEncodeError):
            continue
        size = len(memoryview(encoded))
        if size <= left:
            left -= size
            kept.append((msgspec.msgpack.decode(encoded, type=Sample), tally.scores[i]))
    return Tally(
        tally.n,
        tally.outcomes if len(tally.outcomes) <= _MAX_OUTCOMES else _similar(tally.outcomes),
        tally.costs,
        tally.stopped,
        [sample for sample, _ in kept],
        [score for _, score in kept],
    )


def _similar(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes with similar scores counted together. Sums and means stay the same."""
    groups: dict[tuple[object, ...], list[Outcome]] = {}
    for one in outcomes:
        group = max(-_BINS, min(round(one.score * _BINS), 10 * _BINS))
        groups.setdefault((one.label, one.source, group, one.correct, one.status), []).append(one)
    found = []
    for same in groups.values():
        n = sum(one.n for one in same)
        mean = sum(one.score * one.n for one in same) / n
        first = same[0]
        found.append(Outcome(first.label, first.source, mean, first.correct, first.status, n))
    return found


def _costs(
    samples: Sequence[Sample], scores: Sequence[Score], labels: SourceLabels
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for sample, score in zip(samples, scores, strict=True):
        if score.parts.keys() >= COSTS:
            total = found.setdefault(labels(sample.data_source), {})
            for name in (*COST_PARTS, OVERRULED):
                if amount := score.parts.get(name):
                    total[name] = total.get(name, 0.0) + amount
    return found
