"""Metrics over several responses to one prompt: pass@k, pass^k, best@k and maj@k.

Each metric is an expected value over k of the n responses, drawn without replacement. No metric depends on
the order of the responses, and best@n is the highest of the n scores. (Drawing with replacement, as in a
bootstrap, would give a best@8 of 0.66 if one of eight answers is right.)
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb

from rewardkit.types import Score

DRAWS = 200
"""Maximum number of ways to choose k of n responses for an exact maj@k. If there are more ways, maj@k is the
mean over this number of seeded random draws."""

AnswerVote = tuple[str | None, bool]
"""Extracted answer (None if the response has no answer), and True if the response is correct."""


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Return the probability that at least one of k responses is correct if `correct` of n are correct.

    Source: Chen et al., Evaluating Large Language Models Trained on Code, 2021.
    """
    return 1.0 - comb(n - correct, k) / comb(n, k)


def pass_hat_k(n: int, correct: int, k: int) -> float:
    """Return pass^k, the probability that all k responses are correct if `correct` of n are correct.

    Source: Yao et al., tau-bench, 2024 (arXiv:2406.12045).
    """
    return comb(correct, k) / comb(n, k)


def best_at_k(scores: Sequence[float], k: int) -> float:
    """Return the expected maximum of k scores drawn from `scores`."""
    ordered = sorted(scores)
    weighted = sum(score * comb(below, k - 1) for below, score in enumerate(ordered))
    return weighted / comb(len(scores), k)


def maj_at_k(votes: Sequence[AnswerVote], k: int) -> float:
    """Return the probability that the most common answer of k responses is correct. Ties are broken evenly.

    The same answer may be correct in some responses and wrong in others, for instance if the reward also
    checks the format. The answer then counts as correct in proportion to the drawn responses in which it is
    correct.
    """
    counts = Counter(vote for vote in votes if vote[0] is not None)
    answers = {answer for answer, _ in counts}
    split = sorted(((counts[a, True], counts[a, False]) for a in answers), key=lambda n: (n[1] > 0, n))
    return _majority_of_k(tuple(split), len(votes) - counts.total(), k)


def names_answers(votes: Iterable[AnswerVote]) -> bool:
    """Return True if every correct response has an extracted answer, so that the responses can vote."""
    return not any(correct and answer is None for answer, correct in votes)


@lru_cache(maxsize=65_536)
def _majority_of_k(split: tuple[tuple[int, int], ...], silent: int, k: int) -> float:
    """Return maj@k for the given counts. Results are cached, since many prompts have the same counts.

    Args:
        split: Number of correct and number of wrong responses for each answer.
        silent: Number of responses without an answer.
        k: Number of responses in a vote.
    """
    answers = [(i, True) for i, (right, _) in enumerate(split) for _ in range(right)]
    answers += [(i, False) for i, (_, wrong) in enumerate(split) for _ in range(wrong)]
    answers += [(-1, False)] * silent
    if comb(len(answers), k) <= DRAWS:
        draws: Iterable[Sequence[tuple[int, bool]]] = combinations(answers, k)
    else:
        generator = random.Random(0)
        draws = (generator.sample(answers, k) for _ in range(DRAWS))
    outcomes = [_majority(draw) for draw in draws]
    return sum(outcomes) / len(outcomes)


def _majority(answers: Sequence[tuple[int, bool]]) -> float:
    """Return the share of correct votes for the most common answer. An answer of -1 means no answer.

    If several answers are equally common, their shares are averaged.
    """
    counts = Counter(answer for answer, _ in answers if answer >= 0)
    if not counts:
        return 0.0
    most = max(counts.values())
    right = Counter(answer for answer, correct in answers if correct)
    tied = [right[answer] / most for answer, count in counts.items() if count == most]
    return sum(tied) / len(tied)


def group_metrics(groups: Sequence[Sequence[Score]]) -> dict[str, float]:
    """Return the metrics for one data source. Only scored responses (status `ok`) count.

    Args:
        groups: Scores of the responses to each prompt.

    Returns:
        `reward/mean@n`, `acc/mean@n` and `<part>/mean@n` are means over all responses, where n is the size of
        the largest group. `reward/best@k`, `acc/pass@k` and `acc/maj@k` for k = 2, 4, ... and n are means
        over the prompts that have k responses. `acc` is present only if the reward reports correctness of all
        responses, and `maj` only if the reward extracts answers.
    """
    n = max((len(group) for group in groups), default=0)
    found: dict[str, list[float]] = defaultdict(list)
    named = names_answers((one.extracted, bool(one.correct)) for group in groups for one in group if one.ok)
    decides = all(one.correct is not None for group in groups for one in group if one.ok)
    for group in groups:
        scored = [score for score in group if score.ok]
        votes = [(score.extracted, bool(score.correct)) for score in scored if decides]
        for score in scored:
            found[f"reward/mean@{n}"].append(score.score)
            for part, value in score.parts.items():
                found[f"{part}/mean@{n}"].append(value)
        found[f"acc/mean@{n}"] += [float(correct) for _, correct in votes]
        for k in at_k_sizes(n):
            if len(scored) >= k:
                found[f"reward/best@{k}"].append(best_at_k([score.score for score in scored], k))
            if len(votes) >= k:
                right = sum(correct for _, correct in votes)
                found[f"acc/pass@{k}"].append(pass_at_k(len(votes), right, k))
                if named:
                    found[f"acc/maj@{k}"].append(maj_at_k(votes, k))
    return {name: sum(values) / len(values) for name, values in sorted(found.items()) if values}


def at_k_sizes(n: int) -> list[int]:
    """Return the values of k for metrics over k of n responses: 2, 4, 8, ... and n, or none if n is 1."""
    powers = [2**i for i in range(1, n.bit_length()) if 2**i < n]
    return [*powers, n] if n > 1 else []
