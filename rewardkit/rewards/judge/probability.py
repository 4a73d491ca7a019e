"""Expected verdict from the probabilities of its token (G-Eval): sum p(v) v / sum p(v) over the verdicts v.

The verdict's token directly follows the marker or, without a marker, is the first token. The sampled verdict
must be valid, and all verdicts together must have at least half of the probability. Otherwise the answer has
no verdict, and the sampled verdict is not used instead.
"""

from __future__ import annotations

from math import exp, isfinite

from rewardkit.rewards.judge.cache import JudgeAnswer
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.place import markers
from rewardkit.rewards.judge.verdict import JudgeVerdict, NoVerdictError, read_verdict, scaled

LEAST_MASS = 0.5
"""Minimum total probability of all verdicts."""

TOP = 20
"""Number of alternatives requested for each token, which is the maximum on most servers."""


def expected_verdict(answer: JudgeAnswer, marker: str, options: JudgeOptions) -> JudgeVerdict:
    """Return the mean of the verdicts, weighted by the probabilities of their tokens.

    Raises:
        NoVerdictError: The answer has no verdict, the verdict is not a single token, or other tokens have
            most of the probability.
    """
    drawn = read_verdict(answer.text, marker, options)
    values = _values(options)
    weights: dict[str, float] = {}
    for token, probability in _alternatives(answer, marker, drawn.text):
        word = token.strip().casefold()
        if word in values:
            weights[word] = weights.get(word, 0.0) + probability
    mass = sum(weights.values())
    if mass < LEAST_MASS:
        raise NoVerdictError(
            f"the total probability of the verdicts is {mass:.2f}, below the minimum {LEAST_MASS}"
        )
    value = sum(values[word] * weight for word, weight in weights.items()) / mass
    return JudgeVerdict(drawn.text, value, scaled(value, options), drawn.reason, mass)


def _values(options: JudgeOptions) -> dict[str, float]:
    if options.verdicts:
        return {str(word).casefold(): value for word, value in options.verdicts.items()}
    low, high = options.score_range
    return {str(n): float(n) for n in range(10) if low <= n <= high}


def _alternatives(answer: JudgeAnswer, marker: str, drawn: str) -> list[tuple[str, float]]:
    """Return the tokens at the verdict's position with their probabilities."""
    tokens = answer.tokens or []
    end = 0
    if marker:
        text = "".join(token for token, _ in tokens)
        end = max((end for _, end in markers(text, marker)), default=0)
    start = 0
    for token, top in tokens:
        if start >= end and token.strip(" \n\t*_`\"'"):
            if token.strip().casefold() != drawn.casefold():
                raise NoVerdictError(f"the verdict {drawn!r} is not one token, but begins with {token!r}")
            return [(word, exp(log)) for word, log in top if isfinite(log)]
        start += len(token)
    raise NoVerdictError("the answer's tokens end before its verdict")
