"""A verdict from the probabilities of its token (G-Eval): sum p(v) v / sum p(v) over the verdicts.

The token is the one right after the marker or, without one, the first token; it is not searched for. The
sampled verdict must also be valid, and the verdicts need half of the probability together. Otherwise there is
no verdict; the sampled one is not used instead.
"""

from __future__ import annotations

from math import exp, isfinite

from rewardkit.rewards.judge.cache import JudgeAnswer
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.verdict import JudgeVerdict, NoVerdictError, read_verdict, scaled

LEAST_MASS = 0.5
"""Minimum probability of all verdicts together."""

TOP = 20
"""Number of alternatives requested for each token; most servers allow no more."""


def expected_verdict(answer: JudgeAnswer, marker: str, options: JudgeOptions) -> JudgeVerdict:
    """Return the mean of the verdicts, weighted by the probabilities of their tokens.

    Raises:
        NoVerdictError: the answer has no verdict, the verdict is not one token, or other tokens have most of
            the probability.
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
        end = text.rfind(marker) + len(marker)
    start = 0
    for token, top in tokens:
        if start >= end and token.strip(" \n\t*_`\"'"):
            if token.strip().casefold() != drawn.casefold():
                raise NoVerdictError(f"the verdict {drawn!r} is not one token, but begins with {token!r}")
            return [(word, exp(log)) for word, log in top if isfinite(log)]
        start += len(token)
    raise NoVerdictError("the answer's tokens end before its verdict")
