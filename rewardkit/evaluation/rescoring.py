"""Compares two scorers on the same responses: which verdicts flip, and how the advantages change. Also keeps
pinned responses, whose verdicts must not change.

The command is in `commands/diff.py`; lock files pin whole groups of responses (`rewardkit.lock.pins`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rewardkit.errors import InputError
from rewardkit.evaluation.gradient import grpo
from rewardkit.files.inputs import find_inputs
from rewardkit.files.publishing import published
from rewardkit.json_objects import NOT_JSON
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import opened
from rewardkit.logs.samples import SampleBatch, to_batch
from rewardkit.registry import Reward
from rewardkit.types import STATUSES, Sample, Score

T = TypeVar("T")
ScoreBatch = Callable[[Sequence[Sample]], list[Score]]
EQUAL = 1e-9
"""Scores that differ by less than this are equal."""
MODEL_TOLERANCE = 0.01
"""Scores of neural reward models that differ by no more are equal: devices round otherwise."""
_NAMED = {"right", "wrong", *STATUSES}
"""Verdicts that are not the score itself."""
_TOLD = 5
"""Rows that are left out whose reasons are noted."""


@dataclass(frozen=True, slots=True)
class ScorerFlip:
    """A response on which the scorers differ."""

    row: int
    data_source: str
    ground_truth: str
    response: str
    first: Score
    second: Score


@dataclass
class SourceDifference:
    """Difference between two scorers on the responses of one data source."""

    n: int = 0
    flips: Counter[str] = field(default_factory=Counter)
    """Counts by `first to second`. A verdict is `right`, `wrong`, a status, or a score that does not say
    either."""
    changed: int = 0
    """Responses with another verdict or score."""
    groups: int = 0
    """Groups of several responses that both scorers score."""
    groups_changed: int = 0
    """Number of these groups in which some advantage changes."""
    signs_changed: int = 0
    """Responses whose advantage under GRPO has the other sign."""
    advantage_change: float = 0.0
    """Mean absolute change of the advantage under GRPO, over the responses of `groups`."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"flips": dict(self.flips.most_common())}


@dataclass
class Rescoring:
    """The differences of two scorers on the same responses."""

    sources: dict[str, SourceDifference]
    examples: list[ScorerFlip]
    """Some of the responses on which they differ."""


@dataclass(frozen=True, slots=True)
class GroupedSample:
    """A response, and the key of the group of its prompt."""

    row: int
    sample: Sample
    group: str


def read_grouped(
    files: Iterable[str | Path], options: ReadOptions, on_note: Callable[[str], None]
) -> Iterator[GroupedSample]:
    """Yield the responses of files with their groups. A row that cannot be scored is left out, and noted.

    Raises:
        InputError: as `read_samples`.
    """
    left_out = 0
    for path, batch in _samples_by_file(files, options):
        for row, sample in zip(batch.rows, batch.samples, strict=True):
            if sample.known is not None:  # no scorer decides it
                left_out += 1
                if left_out <= _TOLD:
                    on_note(f"{path}, row {row} skipped: {sample.known.detail or 'its episode has a score'}")
                continue
            group = sample.group or prompt_text(sample.prompt) or f"row {row}"
            yield GroupedSample(row, sample, group)
    if left_out > _TOLD:
        on_note(f"skipped {left_out:,} rows in total")


def _samples_by_file(files: Iterable[str | Path], options: ReadOptions) -> Iterator[tuple[str, SampleBatch]]:
    """Yield the samples of files, each batch with the path of its file."""
    for source in find_inputs(files):
        with opened(source, options) as (file, layout):
            for records in file.chunks():
                yield source.path, to_batch(records, layout)


def prompt_text(prompt: Any) -> str:
    """Return a prompt as one text, by which the responses to it are known; empty if there is none."""
    return prompt if isinstance(prompt, str) else json.dumps(prompt, default=str) if prompt else ""


def tolerance(reward: Reward) -> float:
    """Return by how much two equal scores of a reward may differ."""
    composition = getattr(reward.target, "composition", None)
    rewards = [member.reward for member in composition.members] if composition is not None else [reward]
    return MODEL_TOLERANCE if any(one.running.runs == "model" for one in rewards) else EQUAL


def verdict(score: Score) -> str:
    """Return a score's verdict: `right`, `wrong`, a status, or the number."""
    if not score.ok:
        return score.status
    if score.correct is None:
        return f"{score.score:g}"
    return "right" if score.correct else "wrong"


def same(first: Score, second: Score) -> bool:
    """Return whether two scores have the same verdict and value."""
    return verdict(first) == verdict(second) and abs(first.score - second.score) <= EQUAL


def rescore(
    asked: Iterable[GroupedSample],
    first: ScoreBatch,
    second: ScoreBatch,
    *,
    examples: int = 20,
    batch: int = 1024,
) -> Rescoring:
    """Score every response with both scorers, and return the differences."""
    sources: dict[str, SourceDifference] = defaultdict(SourceDifference)
    groups: dict[tuple[str, str], list[tuple[Score, Score]]] = defaultdict(list)
    shown: list[ScorerFlip] = []
    for some in _batches(asked, batch):
        samples = [one.sample for one in some]
        for one, a, b in zip(some, first(samples), second(samples), strict=True):
            source = one.sample.data_source
            found = sources[source]
            found.n += 1
            groups[source, one.group].append((a, b))
            if same(a, b):
                continue
            found.changed += 1
            found.flips[f"{verdict(a)} to {verdict(b)}"] += 1
            if len(shown) < examples:
                shown.append(ScorerFlip(one.row, source, one.sample.ground_truth, one.sample.response, a, b))
    for (source, _), pairs in groups.items():
        _compare_advantages(sources[source], pairs)
    for found in sources.values():
        found.advantage_change /= found.groups or 1
    return Rescoring(dict(sorted(sources.items())), shown)


def _compare_advantages(found: SourceDifference, pairs: Sequence[tuple[Score, Score]]) -> None:
    scored = [(a, b) for a, b in pairs if a.ok and b.ok]
    if len(scored) < 2:
        return
    before = grpo([a.score for a, _ in scored])
    after = grpo([b.score for _, b in scored])
    found.groups += 1
    changes = [abs(x - y) for x, y in zip(before, after, strict=True)]
    found.groups_changed += max(changes) > EQUAL
    found.signs_changed += sum(x * y < 0 for x, y in zip(before, after, strict=True))
    found.advantage_change += sum(changes) / len(changes)


def _batches(asked: Iterable[GroupedSample], size: int) -> Iterator[list[GroupedSample]]:
    some: list[GroupedSample] = []
    for one in asked:
        some.append(one)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some


# --- pinned responses -----------------------------------------------------------------------------------


class Pin(msgspec.Struct, frozen=True, omit_defaults=True):
    """A response whose verdict must not change."""

    data_source: str
    response: str
    ground_truth: str
    score: float
    verdict: str
    prompt: Any = None
    extra_info: dict[str, Any] = msgspec.field(default_factory=dict)
    group: str = ""
    """Pins of one prompt have the same, where whole groups are pinned."""

    def sample(self) -> Sample:
        """Return what is scored."""
        return Sample(self.data_source, self.response, self.ground_truth, self.prompt, self.extra_info)


def pick(
    asked: Iterable[GroupedSample],
    scorer: ScoreBatch,
    others: Sequence[ScoreBatch],
    n: int,
    *,
    batch: int = 1024,
) -> list[Pin]:
    """Return the `n` responses by which changes of a scorer are found best, with its verdicts.

    Responses on which other graders of the same family disagree with each other or with it come first, since
    a change affects what is near the line between right and wrong. They are taken from each pattern of
    disagreement in turn, so that no frequent pattern displaces the others. Then come responses of each
    verdict, evenly.
    """
    kept: dict[tuple[str, ...], list[tuple[str, Pin]]] = defaultdict(list)
    for some in _batches(asked, batch):
        samples = [one.sample for one in some]
        mine = scorer(samples)
        opinions = [other(samples) for other in others]
        for i, one in enumerate(some):
            pattern = (one.sample.data_source, *(verdict(s[i]) for s in (mine, *opinions)))
            _keep(kept[pattern], n, one.sample, mine[i])
    disagreeing = [p for p in kept if len(set(p[1:])) > 1]
    agreeing = [p for p in kept if len(set(p[1:])) == 1]
    chosen = in_turn([kept[p] for p in sorted(disagreeing)], n)
    return chosen + in_turn([kept[p] for p in sorted(agreeing)], n - len(chosen))


def _keep(some: list[tuple[str, Pin]], n: int, sample: Sample, score: Score) -> None:
    """Keep at most `n` of a pattern: those with the smallest hashes, whatever the order of the file."""
    key = hashlib.blake2b(f"{sample.ground_truth}\0{sample.response}".encode("utf-8", "replace")).hexdigest()
    pin = Pin(
        sample.data_source,
        sample.response,
        sample.ground_truth,
        score.score,
        verdict(score),
        sample.prompt,
        sample.extra_info,
    )
    some.append((key, pin))
    if len(some) > 2 * n + 64:
        some.sort(key=lambda item: item[0])
        del some[n:]


def in_turn(patterns: Sequence[list[tuple[str, T]]], n: int) -> list[T]:
    """Return `n` items, one of each pattern in turn, those with the smallest keys first."""
    ordered = [[item for _, item in sorted(some, key=lambda one: one[0])] for some in patterns]
    turns = (item for turn in zip_longest(*ordered) for item in turn if item is not None)
    return [item for item, _ in zip(turns, range(max(0, n)), strict=False)]


def write_pins(pins: Sequence[Pin], path: Path) -> None:
    """Write pinned responses as jsonl, whole or not at all."""
    with published(path) as file:
        file.writelines(msgspec.json.encode(pin) + b"\n" for pin in pins)


def read_pins(path: Path) -> list[Pin]:
    """Return the pinned responses of a file.

    Raises:
        InputError: there is no such file, or a line is no pinned response.
    """
    decoder = msgspec.json.Decoder(Pin)
    remedy = f"to write this file, run `rewardkit diff FILES --pin {path}`"
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; {remedy}") from None
    pins = []
    for i, line in enumerate(lines, 1):
        try:
            pins.append(decoder.decode(line))
        except NOT_JSON as error:
            raise InputError(f"{path}, line {i} is not a pinned response: {error}; {remedy}") from None
    return pins


def moved(
    pins: Sequence[Pin], scorer: ScoreBatch, tolerance: Callable[[str], float] = lambda source: EQUAL
) -> list[tuple[int, Pin, Score]]:
    """Return the pinned responses whose verdict or score has changed, with their line numbers from 1.

    Args:
        tolerance: of a data source: scores that differ by no more are equal.
    """
    scores = scorer([pin.sample() for pin in pins])
    return [
        (i, pin, score)
        for i, (pin, score) in enumerate(zip(pins, scores, strict=True), 1)
        if not _as_pinned(pin, score, tolerance(pin.data_source))
    ]


def _as_pinned(pin: Pin, score: Score, tolerance: float) -> bool:
    now = verdict(score)
    alike = now == pin.verdict or (now not in _NAMED and pin.verdict not in _NAMED)
    return alike and abs(score.score - pin.score) <= tolerance
