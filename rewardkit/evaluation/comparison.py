"""Compares two scored files over the same prompts: paired differences, and the prompts that flipped.

Differences and their tests are in `intervals.py`; reading is in `scored.py`.
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
    """A prompt on which one file is right more often than the other."""

    data_source: str
    prompt: str
    before: float
    """Share of its responses that are correct in the first file."""
    after: float


@dataclass(frozen=True, slots=True)
class SourceComparison:
    """One data source in both files; differences are the second less the first."""

    prompts: int
    """Prompts with a scored response in both files."""
    score: Difference | None
    accuracy: Difference | None
    """None if a reward does not say what is correct."""
    not_scored: int = 0
    """Prompts in both files, of which one file has no scored response."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two files, on the prompts for which both have a scored response."""

    sources: dict[str, SourceComparison]
    flips: list[PromptFlip]
    """Flips by data source, those that got worse first."""
    only_first: int
    """Prompts that only the first file has; 0 unless that was allowed."""
    only_second: int
    not_scored: int
    """Prompts in both, of which one file has no scored response."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Data sources of which one file has no scored response."""
        lost = [name for name, source in self.sources.items() if not source.prompts and name != OVERALL]
        return tuple(f"{name}: no prompt has a scored response in both files" for name in lost)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def compare(first: Groups, second: Groups, *, allow_missing: bool = False) -> Comparison:
    """Compare two files of scored responses.

    Args:
        allow_missing: If a file has prompts that the other lacks, compare the others. Otherwise that is an
            error.

    Raises:
        InputError: the files hold different prompts and `allow_missing` is false; or have none in common.
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
        before = _correct(a)
        after = _correct(b)
        if before and after and fmean(before) != fmean(after):
            found.append(PromptFlip(source, prompt, fmean(before), fmean(after)))
    return sorted(found, key=lambda flip: (flip.data_source, flip.after - flip.before))
