"""Selection of the responses that a lock file pins.

For each data source, some prompts are pinned with all their responses, so that advantages can be computed.
For prepared prompts without responses, reference answers are pinned. The selection depends only on the texts
and not on the order of the rows.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rewardkit.checks.forms import form_of
from rewardkit.checks.items import Item, read_items
from rewardkit.errors import InputError
from rewardkit.evaluation.rescoring import (
    GroupedSample,
    Pin,
    in_turn,
    prompt_text,
    read_grouped,
    verdict,
)
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.logs.layout import ReadOptions
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score

_TRIED = 16
"""Number of prompts that are scored for each prompt that is pinned."""

ScoredGroup = list[tuple[Sample, Score]]


def pins_of(
    files: Sequence[str | Path],
    options: ReadOptions,
    scorer: Scorer,
    n: int,
    on_note: Callable[[str], None] = lambda line: None,
) -> tuple[list[str], list[Pin]]:
    """Return the data sources in files, and pins for the responses to `n` prompts of each data source.

    For files without responses, reference answers that are not scored as wrong are pinned.

    Args:
        files: Files with responses or prepared prompts.
        options: Options for reading the files.
        scorer: Scorer that scores the responses.
        n: Number of prompts to pin for each data source.
        on_note: Function that is called with notes about the files.

    Raises:
        InputError: The files cannot be read.
        UnknownDataSourceError: A data source has no reward.
    """
    try:
        found = _smallest(read_grouped(files, options, on_note), n * _TRIED)
        only_right = False
    except InputError as error:
        try:
            found = _smallest(_references(files, options), n * _TRIED)
        except InputError:
            raise error from None
        only_right = True
    scorer.check(found)
    pins: list[Pin] = []
    for source in sorted(found):
        reads = _reads(scorer, source)
        for key, group in _choose(_scored(found[source], scorer), n, only_right=only_right):
            pins += [_pin(*one, key, reads) for one in sorted(group, key=lambda one: one[0].response)]
    return sorted(found), pins


def _references(files: Sequence[str | Path], options: ReadOptions) -> Iterator[GroupedSample]:
    """Yield a sample for each prompt, with `extra_info.answer` or the ground truth as the response."""
    for source in find_inputs(files):
        file = open_rows(source)
        try:
            names = form_of(file, options.names).names
            for rows in read_items(file, names, options.data_source):
                yield from (_reference(row) for row in rows if isinstance(row, Item))
        finally:
            file.close()


def _reference(row: Item) -> GroupedSample:
    answer = str(row.extra_info.get("answer") or row.ground_truth)
    sample = Sample(row.data_source, answer, row.ground_truth, row.prompt, dict(row.extra_info))
    return GroupedSample(row.row, sample, prompt_text(row.prompt) or f"row {row.row}")


def _smallest(asked: Iterable[GroupedSample], count: int) -> dict[str, dict[str, list[Sample]]]:
    """Return the groups with the smallest hash keys, at most `count` for each data source."""
    found: dict[str, dict[str, list[Sample]]] = defaultdict(dict)
    largest: dict[str, str] = {}
    for one in asked:
        source = one.sample.data_source
        key = hashlib.sha256(f"{source}\0{one.group}".encode("utf-8", "replace")).hexdigest()[:12]
        if key > largest.get(source, key):
            continue
        groups = found[source]
        groups.setdefault(key, []).append(one.sample)
        if len(groups) > 2 * count:
            found[source] = {kept: groups[kept] for kept in sorted(groups)[:count]}
            largest[source] = max(found[source])
    return {source: {key: groups[key] for key in sorted(groups)[:count]} for source, groups in found.items()}


def _scored(groups: dict[str, list[Sample]], scorer: Scorer) -> dict[str, ScoredGroup]:
    samples = [sample for group in groups.values() for sample in group]
    scores = iter(scorer.score_batch(samples))
    return {key: [(sample, next(scores)) for sample in group] for key, group in groups.items()}


def _choose(groups: dict[str, ScoredGroup], n: int, *, only_right: bool) -> list[tuple[str, ScoredGroup]]:
    """Choose groups without failures, taking each pattern of verdicts in turn, mixed patterns first."""
    patterns: dict[tuple[str, ...], list[tuple[str, tuple[str, ScoredGroup]]]] = defaultdict(list)
    for key, group in groups.items():
        wanted = all(score.ok and not (only_right and score.correct is False) for _, score in group)
        if wanted:
            pattern = tuple(sorted({verdict(score) for _, score in group}))
            patterns[pattern].append((key, (key, group)))
    ordered = sorted(patterns, key=lambda pattern: (len(pattern) == 1, pattern))
    return sorted(in_turn([patterns[pattern] for pattern in ordered], n), key=lambda one: one[0])


def _reads(scorer: Scorer, data_source: str) -> set[str]:
    """Return the names of the fields that a pin needs in addition to response and ground truth."""
    reward = scorer.reward_for(data_source)
    return {*reward.reads, "prompt"} if reward.running.by_group else set(reward.reads)


def _pin(sample: Sample, score: Score, group: str, reads: set[str]) -> Pin:
    return Pin(
        sample.data_source,
        sample.response,
        sample.ground_truth,
        score.score,
        verdict(score),
        sample.prompt if "prompt" in reads else None,
        sample.extra_info if "extra_info" in reads else {},
        group,
    )
