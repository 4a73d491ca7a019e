"""Metrics of a `text_similarity` grader, from 0 to 1, computed from two texts without a model.

`fuzzy_match` is rapidfuzz's ratio, `bleu` is sacrebleu's sentence BLEU with effective order, and `rouge_l` is
the F-measure of rapidfuzz's longest common subsequence. `gleu` is the lesser of precision and recall for
sequences of 1 to 4 words (Wu et al. 2016), and `rouge_N` is the F-measure for sequences of N words. OpenAI
does not publish its own settings, so the last digits of a result may differ from OpenAI's service.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from rewardkit.errors import require
from rewardkit.rewards.structure.overlap import words

_MAX_CHARS = 20_000
"""Maximum number of characters of each text that are compared.

The time grows with the product of the lengths.
"""
PACKAGES = {"fuzzy_match": "rapidfuzz", "rouge_l": "rapidfuzz", "bleu": "sacrebleu"}
"""Packages that metrics need, by metric. The extra `metrics` installs the packages."""
REFUSED = {
    "cosine": "cosine needs OpenAI's own embeddings, which rewardkit does not have",
    "meteor": "meteor needs WordNet's data, which rewardkit does not have",
}


def similarity(metric: str, said: str, reference: str) -> float:
    """Return the similarity of two texts."""
    return METRICS[metric](said[:_MAX_CHARS], reference[:_MAX_CHARS])


def require_metric(metric: str) -> None:
    """Raise MissingDependencyError unless the package that a metric needs is installed."""
    if metric in PACKAGES:
        require(f"the metric {metric}", PACKAGES[metric], "metrics")


def _fuzzy(said: str, reference: str) -> float:
    from rapidfuzz import fuzz

    return float(fuzz.ratio(said, reference)) / 100.0


def _bleu(said: str, reference: str) -> float:
    from sacrebleu import metrics

    score = metrics.BLEU(effective_order=True).sentence_score(said, [reference]).score
    return min(1.0, float(score) / 100.0)


def _rouge_l(said: str, reference: str) -> float:
    from rapidfuzz.distance import LCSseq

    left, right = words(said), words(reference)
    return _f_measure(LCSseq.similarity(left, right), len(left), len(right))


def _rouge(size: int) -> Callable[[str, str], float]:
    def measure(said: str, reference: str) -> float:
        left, right = _grams(words(said), size), _grams(words(reference), size)
        return _f_measure((left & right).total(), left.total(), right.total())

    return measure


def _gleu(said: str, reference: str) -> float:
    left, right = words(said), words(reference)
    common = total = wanted = 0
    for size in range(1, 5):
        mine, theirs = _grams(left, size), _grams(right, size)
        common += (mine & theirs).total()
        total += mine.total()
        wanted += theirs.total()
    longest = max(total, wanted)
    return common / longest if longest else 0.0


def _grams(text: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(text[i : i + size]) for i in range(len(text) - size + 1))


def _f_measure(common: int, said: int, reference: int) -> float:
    return 2.0 * common / (said + reference) if common else 0.0


METRICS: Mapping[str, Callable[[str, str], float]] = {
    "fuzzy_match": _fuzzy,
    "bleu": _bleu,
    "gleu": _gleu,
    "rouge_l": _rouge_l,
    **{f"rouge_{size}": _rouge(size) for size in range(1, 6)},
}
