"""Functions for mathematical answers: `parse` finds the answer in a text, and `verify` compares two answers.

The functions have the signatures of Math-Verify and follow the rules of the reward `math`
(docs/maths_alone.md).

    >>> from rewardkit.math import parse, verify
    >>> verify(parse("$\\\\frac{1}{2}$"), parse("So the answer is 0.5."))
    True
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from rewardkit.rewards.math.comparing.grade import MathVerdict
from rewardkit.rewards.math.guards import budget
from rewardkit.rewards.math.math_reward import best_verdict
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.extraction import Extraction, extract
from rewardkit.rewards.math.reading.normalise import clean
from rewardkit.rewards.math.reading.parts import parts_of
from rewardkit.rewards.math.reading.phrases import prose_words
from rewardkit.rewards.math.reading.prepared import prepare_answer
from rewardkit.rewards.math.reading.words import LEADS

__all__ = ["MathAnswer", "MathVerdict", "explain", "parse", "verify"]

Preset = Literal["default", "strict"]


@dataclass(frozen=True, slots=True)
class MathAnswer:
    """An answer that was found in a text."""

    text: str
    """The answer as written, without the text around it."""
    found_in: str
    """Name of the place where the answer was found: `boxed`, `tags`, `marker`, `whole`, `display`, `inline`
    or `number`."""
    problem: str
    """Reason why the answer is not mathematics, so that only its text can be compared; otherwise ""."""
    extraction: Extraction
    """The answer together with the text that frames it, as `verify` needs it."""


_FRAMED = ("tags", "boxed", "marker")
_BARE = 200
"""Maximum length, in characters, of a text that may be an answer without any marker."""
_TAG = re.compile(r"<[^<>]*>")

Answers = str | int | float | MathAnswer | Sequence[str | int | float | MathAnswer]
"""One or more answers. A text may be an answer itself or contain an answer."""


def parse(
    pred: str,
    extraction_config: None = None,
    fallback_mode: Literal["no_fallback", "first_match"] = "first_match",
    extraction_mode: Literal["first_match", "any_match"] = "any_match",
    parsing_timeout: float | None = 5,
    raise_on_error: bool = False,
    *,
    preset: Preset = "default",
) -> list[MathAnswer]:
    """Return a list with the answer in a text, or an empty list if the text contains no answer.

    Args:
        pred: A response, a ground truth or a bare expression.
        extraction_config: Must be None: `preset` decides where an answer may stand.
        fallback_mode: With `first_match`, a line, or several labelled lines such as `(a) 3` and `(b) 5`, are
            an answer as a whole if they are mathematics or if no answer is found in them. With
            `no_fallback`, an answer that is not mathematics is left out.
        extraction_mode: Has no effect, because the last answer of a text counts.
        parsing_timeout: Has no effect, because reading is bounded by the length of the answer.
        raise_on_error: Raise ValueError if there is no answer or it is not mathematics.
        preset: Preset of the reward `math`; `strict` reads only boxes and answer tags.

    Raises:
        ValueError: `extraction_config` is given, or as `raise_on_error` says.
    """
    if not isinstance(pred, str):
        raise ValueError(f"expected a text, found {type(pred).__name__}")
    if preset not in get_args(Preset):
        raise ValueError(f"unknown preset '{preset}'; expected {' or '.join(get_args(Preset))}")
    if extraction_config is not None:
        raise ValueError(
            "extraction_config is not supported; pass preset='strict' to read only boxes and tags"
        )
    found = extract(pred, MathOptions(preset=preset))
    text = pred.strip()
    may_be_bare = fallback_mode == "first_match" and found.method not in _FRAMED and _is_short(text)
    if may_be_bare and (found.answer is None or _is_bare(text)):
        found = Extraction(text, "whole")
    if found.answer is None:
        if raise_on_error:
            raise ValueError(f"no answer in {pred!r:.80}: {found.method}")
        return []
    read = prepare_answer(found)
    problem = "" if read.reading is not None else read.problem or "not mathematics"
    if problem and raise_on_error:
        raise ValueError(f"cannot read {found.answer!r:.80}: {problem}")
    if problem and fallback_mode == "no_fallback":
        return []
    return [MathAnswer(found.answer, found.method, problem, found)]


def verify(
    gold: Answers,
    target: Answers,
    float_rounding: int | None = None,
    numeric_precision: int = 15,
    strict: bool = True,
    allow_set_relation_comp: bool = False,
    timeout_seconds: float | None = 5,
    raise_on_error: bool = False,
    *,
    preset: Preset = "default",
) -> bool:
    """Return True if one of the target answers equals one of the gold answers.

    Args:
        gold: Ground truth: a text or the result of `parse`.
        target: Answer to check.
        float_rounding: Significant digits that a rounded decimal needs to equal an exact value. None: 4, or
            with `preset="strict"` no rounding.
        numeric_precision: Has no effect, because values are exact.
        strict: Must be True: names of variables and the kind of brackets always count.
        allow_set_relation_comp: Has no effect: `x > 2` and `(2, \\infty)` are always compared.
        timeout_seconds: CPU seconds for SymPy; None: 2. An answer that is not decided in time is not equal.
        raise_on_error: Raise ValueError if no answer can be compared.
        preset: Preset of the reward `math`.

    Raises:
        ValueError: `strict` is False, or as `raise_on_error` says.
    """
    if not strict:
        raise ValueError("strict=False is not supported; names of variables and brackets always count")
    found = explain(
        gold, target, preset=preset, float_rounding=float_rounding, timeout_seconds=timeout_seconds
    )
    if raise_on_error and (found.outcome == "undecided" or found.tier == "none"):
        raise ValueError(f"not decided: {found.reason}")
    return found.equal


def explain(
    gold: Answers,
    target: Answers,
    *,
    preset: Preset = "default",
    float_rounding: int | None = None,
    timeout_seconds: float | None = 5,
) -> MathVerdict:
    """Return the verdict of `verify` with its tier and its reason. Takes the same arguments as `verify`."""
    options = MathOptions(preset=preset, rounding_digits=float_rounding).resolved
    golds = tuple(_text(one) for one in _each(gold))
    verdict = MathVerdict("not_equal", "none", "there is no answer to compare")
    with budget(timeout_seconds):
        for answer in _each(target):
            for one in [answer] if isinstance(answer, MathAnswer) else parse(str(answer), preset=preset):
                found = best_verdict(golds, one.extraction, options)
                if found.equal:
                    return found
                verdict = found
    return verdict


def _is_short(text: str) -> bool:
    """Return True if a text is one short line, or several short labelled lines that answer parts of a
    question."""
    return 0 < len(text) <= _BARE and ("\n" not in text or len(parts_of(clean(text))) > 1)


def _is_bare(text: str) -> bool:
    """Return True if a line is only an answer with its unit or a few words, and not a sentence."""
    inner = text[1:-1] if text[0] == text[-1] == "$" else text
    words = [word.casefold() for word in prose_words(_TAG.sub("", text))]
    if not words or len(parts_of(clean(text))) > 1:
        return True
    if _DELIMITER.search(inner) or (text[-1] in ".!?" and text[-2:-1].isalnum()):
        return False
    first = _FIRST_WORD.match(text)
    return len(words) <= _WORDS and (first is None or first[0].casefold() not in LEADS | _SUBJECTS)


_DELIMITER = re.compile(r"\$|(?<!\\)\\[(\[]")
_WORDS = 4
"""Maximum number of words of a bare answer, such as `at least 7 apples`."""
_SUBJECTS = frozenset(("it", "we", "i", "as", "then", "this", "that"))
_FIRST_WORD = re.compile(r"[A-Za-z]+")


def _each(answers: Answers) -> Sequence[str | int | float | MathAnswer]:
    """Return the answers as a sequence.

    Raises:
        ValueError: An answer is of another type.
    """
    if isinstance(answers, str | int | float | MathAnswer):
        return [answers]
    if isinstance(answers, Sequence) and all(
        isinstance(one, str | int | float | MathAnswer) for one in answers
    ):
        return answers
    raise ValueError(f"expected a text or the result of parse, found {type(answers).__name__}")


def _text(answer: str | float | MathAnswer) -> str:
    return answer.text if isinstance(answer, MathAnswer) else str(answer)
