"""Sorting of scored rows, and summaries by prompt. Callers print the results."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import pstdev
from typing import Any

from rewardkit.evaluation.scored import ScoredResponse, ScoredRow, scored_response

ReadRows = Callable[[], Iterator[ScoredRow]]
"""Function that returns a new iterator over all rows."""

ORDERS = ("score", "length", "disagreement")
"""Sort orders for rows: lowest score first, longest response first, or prompts with the most disagreement
first. In all orders, rows without a score are last."""


@dataclass(slots=True)
class PromptSummary:
    """Summary of the responses to one prompt."""

    data_source: str
    row: int
    """Number of the row with the first response."""
    prompt: Any
    responses: int = 0
    right: int = 0
    """Number of correct responses."""
    decided: int = 0
    """Number of responses whose score reports correctness."""
    scores: list[float] = field(default_factory=list)
    """Scores of the scored responses."""
    characters: int = 0
    """Total length of the responses."""

    @property
    def score(self) -> float | None:
        """Mean score of the scored responses, or None if no response is scored."""
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def length(self) -> float:
        """Mean length of the responses."""
        return self.characters / self.responses

    @property
    def disagreement(self) -> float:
        """Standard deviation of the scores."""
        return pstdev(self.scores) if len(self.scores) > 1 else 0.0


def in_order(rows: ReadRows, order: str, limit: int) -> Iterator[ScoredRow]:
    """Yield the first `limit` rows in the given order (one of `ORDERS`), or all rows if `limit` is 0.

    Only the first `limit` rows are kept in memory. Rows with equal sort keys stay in the order of the files.
    """
    divided = _disagreements(rows) if order == "disagreement" else {}

    def key(row: ScoredRow) -> tuple[float, int]:
        one = scored_response(row)
        if order == "score":
            return (float("inf") if one.score is None else one.score), row["row"]
        if order == "length":
            return -one.length, row["row"]
        return -divided[_problem(one)], row["row"]

    yield from heapq.nsmallest(limit, rows(), key) if limit else sorted(rows(), key=key)


def by_prompt(rows: ReadRows, order: str | None) -> list[PromptSummary]:
    """Return a summary for each prompt, in the given order (one of `ORDERS`) or in the order of the files."""
    found: dict[_Problem, PromptSummary] = {}
    for row in rows():
        one = scored_response(row)
        made = PromptSummary(one.data_source, row["row"], row.get("prompt") or one.prompt)
        summary = found.setdefault(_problem(one), made)
        summary.responses += 1
        summary.characters += one.length
        if one.score is not None:
            summary.scores.append(one.score)
        if one.correct is not None:
            summary.decided += 1
            summary.right += one.correct
    summaries = list(found.values())
    if order == "score":
        return sorted(summaries, key=lambda one: float("inf") if one.score is None else one.score)
    if order is not None:
        return sorted(summaries, key=lambda one: -float(getattr(one, order)))
    return summaries


_Problem = tuple[str, str, str]
"""Data source, prompt and ground truth of a problem. Several problems may have the same prompt."""


def _problem(one: ScoredResponse) -> _Problem:
    return one.data_source, one.prompt, one.ground_truth


def _disagreements(rows: ReadRows) -> dict[_Problem, float]:
    scores: dict[_Problem, list[float]] = {}
    for row in rows():
        one = scored_response(row)
        mine = scores.setdefault(_problem(one), [])
        if one.score is not None:
            mine.append(one.score)
    return {key: pstdev(mine) if len(mine) > 1 else 0.0 for key, mine in scores.items()}
