"""Figures over several responses to one prompt: pass@k, best@k, maj@k.

Each is the expectation over k of the n responses drawn without replacement, so none depends on which
responses came first, and best@n is what the best of the n got. (Drawn with replacement, as a bootstrap
does, one right answer in eight would give a best@8 of 0.66.)
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb

from rewardkit.types import Score

DRAWS = 200
"""maj@k is exact up to this many ways to choose k of n; beyond, the mean over so many seeded draws."""

Vote = tuple[str | None, bool]
"""An answer, None where there was none to extract, and whether it is correct."""


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Return the probability that one of k responses is correct, `correct` of n being so.

    Chen et al., Evaluating Large Language Models Trained on Code, 2021.
    """
    return 1.0 - comb(n - correct, k) / comb(n, k)


def best_at_k(scores: Sequence[float], k: int) -> float:
    """Return the expected highest of k scores."""
    ordered = sorted(scores)
    weighted = sum(score * comb(below, k - 1) for below, score in enumerate(ordered))
    return weighted / comb(len(scores), k)


def maj_at_k(votes: Sequence[Vote], k: int) -> float:
    """Return the probability that the commonest answer among k is correct; of a tie, one is drawn."""
    if comb(len(votes), k) <= DRAWS:
        draws: Iterable[Sequence[Vote]] = combinations(votes, k)
    else:
        generator = random.Random(0)
        draws = (generator.sample(votes, k) for _ in range(DRAWS))
    outcomes = [_majority(draw) for draw in draws]
    return sum(outcomes) / len(outcomes)


def _majority(votes: Sequence[Vote]) -> float:
    counts = Counter(answer for answer, _ in votes if answer is not None)
    if not counts:
        return 0.0
    most = max(counts.values())
    right = dict(votes)
    tied = [answer for answer, count in counts.items() if count == most]
    return sum(right[answer] for answer in tied) / len(tied)


def group_metrics(groups: Sequence[Sequence[Score]]) -> dict[str, float]:
    """Return the figures of one data source. Only judged responses (status `ok`) count.

    Args:
        groups: the responses to each prompt.

    Returns:
        `reward/mean@n`, `acc/mean@n` and `<part>/mean@n` over all responses, n being the size of the largest
        group; for k = 2, 4, ... and n `reward/best@k`, `acc/pass@k` and `acc/maj@k`, means over the prompts
        that have k responses. `acc` only where the reward says what is correct.
    """
    n = max((len(group) for group in groups), default=0)
    found: dict[str, list[float]] = defaultdict(list)
    for group in groups:
        judged = [score for score in group if score.ok]
        votes = [(score.extracted, score.correct) for score in judged if score.correct is not None]
        for score in judged:
            found[f"reward/mean@{n}"].append(score.score)
            for part, value in score.parts.items():
                found[f"{part}/mean@{n}"].append(value)
        found[f"acc/mean@{n}"] += [float(correct) for _, correct in votes]
        for k in _sizes(n):
            if len(judged) >= k:
                found[f"reward/best@{k}"].append(best_at_k([score.score for score in judged], k))
            if len(votes) >= k:
                right = sum(correct for _, correct in votes)
                found[f"acc/pass@{k}"].append(pass_at_k(len(votes), right, k))
                found[f"acc/maj@{k}"].append(maj_at_k(votes, k))
    return {name: sum(values) / len(values) for name, values in sorted(found.items()) if values}


def _sizes(n: int) -> list[int]:
    """2, 4, 8, ... and n."""
    powers = [2**i for i in range(1, n.bit_length()) if 2**i < n]
    return [*powers, n] if n > 1 else []
