"""Rewards `bleu`, `rouge_l` and `chrf`, for the similarity of a text to the ground truth, from 0 to 1.

BLEU and chrF are sacrebleu's sentence scores. BLEU uses the effective order, without which a response of two
right tokens would score 0. ROUGE-L is the F-measure of the longest common subsequence of words, computed with
rapidfuzz. Words are sequences of letters and digits in any script, whereas rouge-score recognises only a-z
and 0-9. If there are several ground truths (a JSON list), BLEU and chrF use all of them as references, and
ROUGE-L uses the most similar.

Because these rewards measure similarity, a text with one wrong word gets almost the full score. Use them for
translations and summaries. For ROUGE-L, a number with its sign is one word (`-3.5`), and currency, percent
and comparison signs are words, because otherwise a different amount could score 1. `correct` is True if the
score reaches `correct_from`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.answers.place import reply, without_comments
from rewardkit.rewards.structure.ground_truth import texts
from rewardkit.types import Sample, Score, failure

_MAX_CHARS = 20_000
"""Number of characters to compare, from the start of a text."""
_WORD = re.compile(r"(?:(?<![\w)\]])-)?\d+(?:[.,:]\d+)+|(?:(?<![\w)\]])-(?=\d))?[^\W_]+|[$€£¥₹₩%‰<>=≤≥≠≈±]")
_CJK = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")


@dataclass(frozen=True)
class OverlapOptions:
    """Options for the bleu, rouge_l and chrf rewards."""

    correct_from: float = 1.0
    """Lowest score at which a response counts as correct. This does not change the score itself."""
    lowercase: bool = False
    """True to ignore case. ROUGE-L always ignores case."""

    def __post_init__(self) -> None:
        """Check that the bound is above 0 and can be reached."""
        if not 0.0 < self.correct_from <= 1.0:
            raise ValueError(f"correct_from is {self.correct_from:g}; expected more than 0, up to 1")


def bleu(sample: Sample, options: OverlapOptions) -> Score:
    """Score a response by sentence BLEU."""
    return _with_sacrebleu(sample, options, "BLEU")


def chrf(sample: Sample, options: OverlapOptions) -> Score:
    """Score a response by sentence chrF."""
    return _with_sacrebleu(sample, options, "CHRF")


def _with_sacrebleu(sample: Sample, options: OverlapOptions, metric: str) -> Score:
    references = texts(sample.ground_truth)
    said = without_comments(reply(sample.response))[:_MAX_CHARS].strip()
    if not references:
        return failure("invalid", "the ground truth is empty")
    if not said:
        return _made(0.0, options)
    found = _metric(metric, options.lowercase).sentence_score(said, list(references))
    return _made(min(1.0, found.score / 100.0), options)


@cache
def _metric(name: str, lowercase: bool) -> Any:
    try:
        from sacrebleu import metrics
    except ImportError:
        raise MissingDependencyError(
            "BLEU and chrF need the package sacrebleu: pip install 'rewardkit[metrics]'"
        ) from None
    if name == "BLEU":
        return metrics.BLEU(effective_order=True, lowercase=lowercase)
    return metrics.CHRF(lowercase=lowercase)


def rouge_l(sample: Sample, options: OverlapOptions) -> Score:
    """Score a response by the F-measure of ROUGE-L.

    Raises:
        MissingDependencyError: The extra `metrics` is not installed.
    """
    references = texts(sample.ground_truth)
    if not any(map(words, references)):
        return failure("invalid", "the ground truth has no words")
    said = words(without_comments(reply(sample.response))[:_MAX_CHARS])
    return _made(max(_f_measure(said, words(reference)) for reference in references), options)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case. Each Chinese, Japanese or Korean character is a word."""
    return _WORD.findall(_CJK.sub(r" \1 ", text[:_MAX_CHARS].lower().replace("−", "-")))


def _f_measure(said: list[str], reference: list[str]) -> float:
    try:
        from rapidfuzz.distance import LCSseq
    except ImportError:
        raise MissingDependencyError(
            "ROUGE-L needs the package rapidfuzz: pip install 'rewardkit[metrics]'"
        ) from None
    if not said or not reference:
        return 0.0
    common = LCSseq.similarity(said, reference)
    return 2.0 * common / (len(said) + len(reference))


def _made(value: float, options: OverlapOptions) -> Score:
    why = f"score {value:.4f} against the nearest reference; correct from {options.correct_from:g}"
    return Score(value, "ok", value >= options.correct_from - 1e-9, detail=why)
