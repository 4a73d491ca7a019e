"""Comparison of two scorers on the same responses, and pinned responses as a regression test for a scorer.

A comparison reports flipped verdicts and changed advantages. The command is in `commands/diff.py`. Lock files
pin whole groups of responses (`rewardkit.lock.pins`).
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

from rewardkit.composition.tree import members_of
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
"""Largest difference between two scores that count as equal."""
MODEL_TOLERANCE = 0.01
"""Largest difference between two scores from a neural reward model that count as equal. The tolerance is
larger than `EQUAL` because devices round differently."""
_NAMED = {"right", "wrong", *STATUSES}
"""All verdicts that are not numbers."""
_TOLD = 5
"""Maximum number of skipped rows whose reasons are reported."""


@dataclass(frozen=True, slots=True)
class ScorerFlip:
    """Response on which the two scorers differ."""

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
    """Number of flips for each `<first verdict> to <second verdict>`. A verdict is `right`, `wrong` or a
    status. If the reward does not report correctness, the verdict is the score."""
    changed: int = 0
    """Number of responses whose verdict or score differs."""
    groups: int = 0
    """Number of groups with at least two responses that both scorers can score."""
    groups_changed: int = 0
    """Number of groups among `groups` in which an advantage changes."""
    signs_changed: int = 0
    """Number of responses whose advantage under GRPO changes sign."""
    advantage_change: float = 0.0
    """Mean absolute change of the advantage under GRPO, over the responses in `groups`."""

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as a dictionary."""
        return asdict(self) | {"flips": dict(self.flips.most_common())}


@dataclass
class Rescoring:
    """Differences between two scorers on the same responses."""

    sources: dict[str, SourceDifference]
    examples: list[ScorerFlip]
    """First responses on which the scorers differ."""


@dataclass(frozen=True, slots=True)
class GroupedSample:
    """Response with the key of its group. A group contains the responses to one prompt."""

    row: int
    sample: Sample
    group: str


def read_grouped(
    files: Iterable[str | Path], options: ReadOptions, on_note: Callable[[str], None]
) -> Iterator[GroupedSample]:
    """Yield the responses in files with their groups. Rows with a fixed score are skipped and reported.

    Raises:
        InputError: A file is missing or cannot be read, or a column is missing.
    """
    left_out = 0
    for path, batch in _samples_by_file(files, options):
        for row, sample in zip(batch.rows, batch.samples, strict=True):
            if sample.known is not None:  # The score is fixed, so no scorer would change it.
                left_out += 1
                if left_out <= _TOLD:
                    on_note(f"{path}, row {row} skipped: {sample.known.detail or 'its episode has a score'}")
                continue
            group = sample.group or prompt_text(sample.prompt) or f"row {row}"
            yield GroupedSample(row, sample, group)
    if left_out > _TOLD:
        on_note(f"skipped {left_out:,} rows in total")


def _samples_by_file(files: Iterable[str | Path], options: ReadOptions) -> Iterator[tuple[str, SampleBatch]]:
    """Yield batches of samples, each with the path of its file."""
    for source in find_inputs(files):
        with opened(source, options) as (file, layout):
            for records in file.chunks():
                yield source.path, to_batch(records, layout)


def prompt_text(prompt: Any) -> str:
    """Return a prompt as text, for use as the key of its group, or "" if there is no prompt."""
    return prompt if isinstance(prompt, str) else json.dumps(prompt, default=str) if prompt else ""


def tolerance(reward: Reward) -> float:
    """Return the largest difference between two scores from a reward that count as equal."""
    rewards = [member.reward for member in members_of(reward)] or [reward]
    return MODEL_TOLERANCE if any(one.running.runs == "model" for one in rewards) else EQUAL


def verdict(score: Score) -> str:
    """Return the verdict of a score: `right`, `wrong`, a status, or the number as text."""
    if not score.ok:
        return score.status
    if score.correct is None:
        return f"{score.score:g}"
    return "right" if score.correct else "wrong"


def same(first: Score, second: Score) -> bool:
    """Return True if two scores have the same verdict and the same value."""
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
    """Pinned response. A change of its verdict makes the regression test fail."""

    data_source: str
    response: str
    ground_truth: str
    score: float
    verdict: str
    prompt: Any = None
    extra_info: dict[str, Any] = msgspec.field(default_factory=dict)
    group: str = ""
    """Key of the group. If whole groups are pinned, all pins for one prompt have the same key."""

    def sample(self) -> Sample:
        """Return the response as a sample to score."""
        return Sample(self.data_source, self.response, self.ground_truth, self.prompt, self.extra_info)


def pick(
    asked: Iterable[GroupedSample],
    scorer: ScoreBatch,
    others: Sequence[ScoreBatch],
    n: int,
    *,
    batch: int = 1024,
) -> list[Pin]:
    """Return the `n` responses most likely to reveal changes in a scorer, with the scorer's verdicts.

    Responses on which the scorer disagrees with other graders of the same family are chosen first, because
    changes affect responses near the boundary between right and wrong. They are taken from each pattern of
    disagreement in turn, so that a frequent pattern does not displace rare patterns. All graders agree on the
    remaining responses, which are taken from each verdict in turn.
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
    """Add a response to the candidates with the same pattern, and drop surplus candidates.

    Candidates with the smallest hashes are kept, so that the result does not depend on the order of the file.
    """
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
    """Return up to `n` items, taken from each pattern in turn, in the order of their keys."""
    ordered = [[item for _, item in sorted(some, key=lambda one: one[0])] for some in patterns]
    turns = (item for turn in zip_longest(*ordered) for item in turn if item is not None)
    return [item for item, _ in zip(turns, range(max(0, n)), strict=False)]


def write_pins(pins: Sequence[Pin], path: Path) -> None:
    """Write pinned responses as a JSONL file, atomically."""
    with published(path) as file:
        file.writelines(msgspec.json.encode(pin) + b"\n" for pin in pins)


def read_pins(path: Path) -> list[Pin]:
    """Return the pinned responses in a file.

    Raises:
        InputError: The file cannot be read, or a line is not a pinned response.
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
        pins: Pinned responses.
        scorer: Function that scores the responses.
        tolerance: Function that returns the tolerance for the scores of a data source.
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
