"""Comparison of two scored files over the same prompts: paired differences, and prompts that changed.

`intervals.py` computes the differences and their tests. `scored.py` reads the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from rewardkit.errors import InputError
from rewardkit.evaluation.evaluation import OVERALL
from rewardkit.evaluation.intervals import Difference, difference
from rewardkit.evaluation.scored import Groups, ScoredResponse


@dataclass(frozen=True, slots=True)
class PromptFlip:
    """Prompt for which the share of correct responses differs between the two files.

    If the reward does not report correctness, the mean scores differ instead.
    """

    data_source: str
    prompt: str
    before: float
    """Share of correct responses, or mean score, in the first file."""
    after: float
    """Share of correct responses, or mean score, in the second file."""


@dataclass(frozen=True, slots=True)
class SourceComparison:
    """Comparison of one data source. A difference is the second file's value minus the first file's."""

    prompts: int
    """Number of prompts with a scored response in both files."""
    score: Difference | None
    accuracy: Difference | None
    """Difference in accuracy, or None if a reward does not report correctness."""
    not_scored: int = 0
    """Number of prompts in both files that have no scored response in at least one of the files."""

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two files over the prompts with a scored response in both files."""

    sources: dict[str, SourceComparison]
    flips: list[PromptFlip]
    """Changed prompts, sorted by data source and then from the largest loss to the largest gain."""
    only_first: int
    """Number of prompts that are only in the first file. It is 0 unless missing prompts are allowed."""
    only_second: int
    not_scored: int
    """Number of prompts in both files that have no scored response in at least one of the files."""

    @property
    def problems(self) -> tuple[str, ...]:
        """One message for each data source in which no prompt has a scored response in both files."""
        lost = [name for name, source in self.sources.items() if not source.prompts and name != OVERALL]
        return tuple(f"{name}: no prompt has a scored response in both files" for name in lost)

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary."""
        return asdict(self)


def compare(first: Groups, second: Groups, *, allow_missing: bool = False) -> Comparison:
    """Compare two files of scored responses.

    Args:
        allow_missing: True to compare only the prompts that are in both files. If it is False, files with
            different prompts are an error.

    Raises:
        InputError: The files have no prompt in common, or they have different prompts and `allow_missing` is
            False.
    """
    keys_first, keys_second = _keys(first), _keys(second)
    common = [key for key in keys_first if key in keys_second]
    only_first = len(keys_first) - len(common)
    only_second = len(keys_second) - len(common)
    if not common:
        raise InputError(
            f"the two files have no prompt in common ({len(keys_first)} and {len(keys_second)} prompts). "
            "Prompts are matched by data source and text, or by an id if there is no prompt column"
        )
    if (only_first or only_second) and not allow_missing:
        raise InputError(
            f"the files have different prompts: {only_first} only in the first, {only_second} only in the "
            f"second, {len(common)} in both; pass --allow-missing to compare only the prompts in both"
        )
    pairs = [(key, _scored(first, key), _scored(second, key)) for key in common]
    kept = [(key, a, b) for key, a, b in pairs if a and b]
    sources = {source: _source(pairs, source) for source in sorted({source for (source, _), _, _ in pairs})}
    if len(sources) > 1:
        sources[OVERALL] = _source(pairs, None)
    return Comparison(sources, _flips(kept), only_first, only_second, len(pairs) - len(kept))


Key = tuple[str, str]
PromptPair = tuple[Key, list[ScoredResponse], list[ScoredResponse]]


def _keys(groups: Groups) -> dict[Key, None]:
    return {(source, prompt): None for source, prompts in groups.items() for prompt in prompts}


def _scored(groups: Groups, key: Key) -> list[ScoredResponse]:
    source, prompt = key
    return [one for one in groups[source][prompt] if one.ok]


def _source(pairs: Sequence[PromptPair], source: str | None) -> SourceComparison:
    both = [(a, b) for (name, _), a, b in pairs if source is None or name == source]
    of_source = [(a, b) for a, b in both if a and b]
    scores = [([x.score or 0.0 for x in a], [x.score or 0.0 for x in b]) for a, b in of_source]
    decided = [(_correct(a), _correct(b)) for a, b in of_source]
    decided = [(a, b) for a, b in decided if a and b]
    return SourceComparison(
        len(of_source),
        difference(*zip(*scores, strict=True)) if scores else None,
        difference(*zip(*decided, strict=True)) if decided else None,
        len(both) - len(of_source),
    )


def _correct(group: Sequence[ScoredResponse]) -> list[float]:
    return [float(one.correct) for one in group if one.correct is not None]


def _flips(pairs: Sequence[PromptPair]) -> list[PromptFlip]:
    found = []
    for (source, prompt), a, b in pairs:
        before, after = _correct(a), _correct(b)
        if not (before and after):
            before, after = ([one.score or 0.0 for one in group] for group in (a, b))
        if fmean(before) != fmean(after):
            found.append(PromptFlip(source, prompt, fmean(before), fmean(after)))
    return sorted(found, key=lambda flip: (flip.data_source, flip.after - flip.before))
