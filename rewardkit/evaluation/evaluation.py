"""Figures of a scored file, by data source and overall. Confidence intervals are clustered by prompt.

`metrics.py` computes pass@k and related metrics, and `intervals.py` computes the intervals. The commands
print the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rewardkit.evaluation.intervals import Estimate, estimate, within_unit
from rewardkit.evaluation.metrics import (
    AnswerVote,
    at_k_sizes,
    best_at_k,
    maj_at_k,
    names_answers,
    pass_at_k,
    pass_hat_k,
)
from rewardkit.evaluation.scored import Groups, ScoredResponse
from rewardkit.types import UNDECIDED

OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class AtK:
    """Value of a metric over k responses to each prompt."""

    k: int
    estimate: Estimate
    left_out: int
    """Number of prompts omitted because fewer than k of their responses have the values that the metric
    needs."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures for one data source. A figure is None if the reward does not report the values that it
    needs."""

    prompts: int
    responses: int
    scored: int
    """Number of responses with the status `ok`. Scores and correctness are averaged over these responses."""
    failures: dict[str, int]
    """Number of responses with each status other than `ok`. Responses without a score count as `unscored`."""
    score: Estimate | None
    accuracy: Estimate | None
    format_rate: Estimate | None
    undecided: int
    """Number of scored responses whose answer could not be read or compared. They count as wrong."""
    mean_length: float | None
    truncated: float | None
    """Share of responses truncated at the length limit, among the responses with a finish reason."""
    solved: int
    """Number of prompts with at least one correct response."""
    at_k: dict[str, list[AtK]]
    """Values of `pass@k`, `pass^k`, `maj@k` and `best@k` for each k."""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary."""
        return asdict(self)


def figures_by_source(groups: Groups) -> dict[str, Figures]:
    """Return the figures for each data source and, if there are several, for all of them together."""
    found = {source: figures(list(prompts.values())) for source, prompts in sorted(groups.items())}
    if len(groups) > 1:
        found[OVERALL] = figures([group for prompts in groups.values() for group in prompts.values()])
    return found


def figures_by_flag(groups: Groups) -> dict[str, Figures]:
    """Return figures for the prompts with each flag, and for those without flags, in data sources with
    flags."""
    found: dict[str, Figures] = {}
    for source, prompts in sorted(groups.items()):
        flags = sorted({flag for group in prompts.values() for one in group for flag in one.flags})
        for flag in flags:
            found[f"{source}: {flag}"] = figures(
                [group for group in prompts.values() if any(flag in one.flags for one in group)]
            )
        if flags:
            found[f"{source}: no flags"] = figures(
                [group for group in prompts.values() if not any(one.flags for one in group)]
            )
    return found


def figures(groups: Sequence[Sequence[ScoredResponse]]) -> Figures:
    """Return the figures for responses that are grouped by prompt."""
    everyone = [one for group in groups for one in group]
    scored = [[one for one in group if one.ok] for group in groups]
    decided = [[float(one.correct) for one in group if one.correct is not None] for group in scored]
    in_format = [[one.parts["format"] for one in group if "format" in one.parts] for group in scored]
    cut = [one.truncated for one in everyone if one.truncated is not None]
    failures = Counter(one.status for one in everyone if not one.ok)
    scores = [[one.score or 0.0 for one in group] for group in scored]
    return Figures(
        prompts=len(groups),
        responses=len(everyone),
        scored=sum(map(len, scored)),
        failures=dict(sorted(failures.items())),
        score=estimate(scores, share=within_unit(scores)),
        accuracy=estimate(decided, share=True),
        format_rate=estimate(in_format, share=True),
        undecided=sum(one.parts.get(UNDECIDED, 0.0) > 0 for group in scored for one in group),
        mean_length=sum(one.length for one in everyone) / len(everyone) if everyone else None,
        truncated=sum(cut) / len(cut) if cut else None,
        solved=sum(1 for group in decided if any(group)),
        at_k=_at_k(scored),
    )


def _at_k(scored: Sequence[Sequence[ScoredResponse]]) -> dict[str, list[AtK]]:
    scores = [[one.score or 0.0 for one in group] for group in scored]
    votes = [_votes(group) for group in scored]
    nameless = {one.data_source for group in scored for one in group if not names_answers(_votes([one]))}
    voting = [_votes(group) for group in scored if not nameless & {one.data_source for one in group}]
    found: dict[str, list[AtK]] = {}
    for k in at_k_sizes(max(map(len, scored), default=0)):
        full = [(len(group), sum(right for _, right in group)) for group in votes if len(group) >= k]
        per_prompt = {
            "pass@k": [pass_at_k(n, right, k) for n, right in full],
            "pass^k": [pass_hat_k(n, right, k) for n, right in full],
            "maj@k": [maj_at_k(group, k) for group in voting if len(group) >= k],
        }
        for name, values in per_prompt.items():
            _add(found, name, k, values, len(scored) - len(values), share=True)
        best = [best_at_k(group, k) for group in scores if len(group) >= k]
        _add(found, "best@k", k, best, len(scored) - len(best), share=within_unit(scores))
    return found


def _votes(group: Sequence[ScoredResponse]) -> list[AnswerVote]:
    """Return the answer of each response and True if it is correct. Skip responses of unknown correctness."""
    return [(one.extracted, one.correct) for one in group if one.correct is not None]


def _add(
    found: dict[str, list[AtK]], name: str, k: int, values: list[float], left_out: int, *, share: bool
) -> None:
    of_prompts = estimate([[value] for value in values], share=share)
    if of_prompts is not None:
        found.setdefault(name, []).append(AtK(k, of_prompts, left_out))
