"""Rewards `exact`, `contains`, `regex` and `number`, which compare a text or number with the ground truth.

- `exact`: the response equals the ground truth (or one item if that is a JSON list), apart from white space
  at the ends.
- `contains`: the ground truth occurs in the response as a whole word (for a JSON list, all or any of its
  texts). Every mention counts, even in a denial, so use this for words that must occur, not for answers.
- `regex`: the ground truth is a pattern that the whole response (or, with `match="search"`, a part of it)
  matches. The engine stops after `cpu_s` of CPU time, and a response that takes longer does not match.
- `number`: the only number in the response's last frame (`answers/place.py`), or the response itself, is
  within the tolerance of the ground truth. Several numbers do not count as an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.answers import reasons
from rewardkit.rewards.answers.number import StatedNumber, Value, number_in, stated_number
from rewardkit.rewards.answers.place import FRAME_KINDS, own_text, reply, without_comments
from rewardkit.rewards.structure.ground_truth import texts
from rewardkit.types import Sample, Score, failure


@dataclass(frozen=True)
class ExactOptions:
    """Options for the exact reward."""

    ignore_case: bool = False
    """True to ignore case."""
    ignore_blanks: bool = False
    """True to treat any sequence of spaces and line breaks as one space."""


def exact(sample: Sample, options: ExactOptions) -> Score:
    """Score 1.0 if the response is one of the accepted texts."""
    accepted = texts(sample.ground_truth)
    if not accepted:
        return failure("invalid", "the ground truth is empty")
    text = reply(sample.response)
    said = _folded(text, options)
    right = said in _all_folded(accepted, options)
    why = f"one of the {len(accepted)} accepted texts" if right else _why_not_exact(text, accepted, options)
    return Score(float(right), "ok", right, said[:200], detail=f"the response {'is ' * right}{why}")


def _why_not_exact(text: str, accepted: Sequence[str], options: ExactOptions) -> str:
    """Return what the response is and is not, and the options that would accept it."""
    why = f"{reasons.quoted(text)} is not {reasons.quoted(accepted[0])}"
    why += f" or another of the {len(accepted)} accepted texts" if len(accepted) > 1 else ""
    unset = [name for name in ("ignore_case", "ignore_blanks") if not getattr(options, name)]
    for names in [unset[:1], unset[1:], unset] if unset else ():
        other = replace(options, **dict.fromkeys(names, True))
        if names and _folded(text, other) in _all_folded(accepted, other):
            return f"{why}; {' and '.join(f'{name}=true' for name in names)} would accept it"
    return why


def _all_folded(accepted: Sequence[str], options: ExactOptions) -> set[str]:
    return {_folded(text, options) for text in accepted}


def _folded(text: str, options: ExactOptions) -> str:
    text = " ".join(text.split()) if options.ignore_blanks else text.strip()
    return text.casefold() if options.ignore_case else text


@dataclass(frozen=True)
class ContainsOptions:
    """Options for the contains reward."""

    need: Literal["all", "any"] = "all"
    """Strings that are required if the ground truth is a list, either `all` of them or `any` one."""
    ignore_case: bool = True
    """True to ignore case."""
    words: bool = True
    """True to match whole words only, so that `concatenate` does not contain `cat`."""
    max_chars: int = 0
    """Maximum number of characters, not counting the reasoning. Longer responses score 0.0, so a response
    cannot simply list everything. 0 means no limit."""

    def __post_init__(self) -> None:
        """Check that the limit is not negative."""
        if self.max_chars < 0:
            raise ValueError(f"max_chars is {self.max_chars}; expected 0 or more")


def contains(sample: Sample, options: ContainsOptions) -> Score:
    """Score 1.0 if the response contains all (or any) of the texts."""
    wanted = texts(sample.ground_truth)
    if not wanted:
        return failure("invalid", "the ground truth is empty")
    said = without_comments(reply(sample.response))
    if options.max_chars and len(said) > options.max_chars:
        return Score(0.0, "ok", False, detail=f"the response is longer than {options.max_chars} characters")
    missing = _missing(said, wanted, options)
    right = not missing if options.need == "all" else len(missing) < len(wanted)
    why = f"{len(wanted) - len(missing)} of {len(wanted)} texts found"
    why += "" if right else f"; {_why_missing(said, missing[0], options)}"
    return Score(float(right), "ok", right, detail=why)


def _why_missing(said: str, text: str, options: ContainsOptions) -> str:
    """Return a missing text, the response, and the option that would find the text."""
    why = f"{reasons.quoted(text)} is missing, the response is {reasons.quoted(said)}"
    others = {
        "ignore_case=true": replace(options, ignore_case=True),
        "words=false": replace(options, words=False),
    }
    enough = [name for name, other in others.items() if not _missing(said, [text], other)]
    return f"{why}; {enough[0]} would find it" if enough else why


def _missing(said: str, wanted: Sequence[str], options: ContainsOptions) -> list[str]:
    """Return the texts that a response does not contain."""
    if not options.ignore_case:
        return [text for text in wanted if not _holds(said, text, options.words)]
    said = said.casefold()
    return [text for text in wanted if not _holds(said, text.casefold(), options.words)]


def _holds(said: str, text: str, words: bool) -> bool:
    if text not in said:
        return False
    return not words or _word(text).search(said) is not None


_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Character ranges of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which put no spaces between words."""
_unspaced = re.compile(f"[{_UNSPACED}]").match


@lru_cache(maxsize=16_384)
def _word(text: str) -> re.Pattern[str]:
    left = rf"(?<![^\W{_UNSPACED}])" if text[0].isalnum() and not _unspaced(text[0]) else ""
    right = rf"(?![^\W{_UNSPACED}])" if text[-1].isalnum() and not _unspaced(text[-1]) else ""
    return re.compile(left + re.escape(text) + right)


@dataclass(frozen=True)
class RegexOptions:
    """Options for the regex reward."""

    match: Literal["full", "search"] = "full"
    """`full` requires the whole response to match. `search` requires a match anywhere in the response."""
    ignore_case: bool = False
    """True to ignore case."""
    dot_all: bool = True
    """True to let `.` also match line breaks."""
    cpu_s: float = 1.0
    """CPU time limit for matching one response, in seconds. A response that exceeds it scores 0.0."""

    def __post_init__(self) -> None:
        """Check that the time limit is positive."""
        if self.cpu_s <= 0.0:
            raise ValueError(f"cpu_s is {self.cpu_s:g}; expected more than 0")


def regex(sample: Sample, options: RegexOptions) -> Score:
    """Score 1.0 if the response matches the pattern.

    Raises:
        MissingDependencyError: The extra `structure` is not installed.
    """
    if not sample.ground_truth:
        return failure("invalid", "the ground truth is empty; expected a regular expression")
    pattern = compile_pattern(sample.ground_truth, options.ignore_case, options.dot_all)
    if isinstance(pattern, str):
        return failure("invalid", f"the ground truth is not a regular expression: {pattern}")
    said = reply(sample.response).strip()
    try:
        method = pattern.fullmatch if options.match == "full" else pattern.search
        right = bool(said) and method(said, timeout=options.cpu_s) is not None
    except TimeoutError:
        return Score(0.0, "ok", False, detail=f"not matched within {options.cpu_s:g} s of CPU time")
    why = f"matched ({options.match})" if right else _why_no_match(sample.ground_truth, said, options)
    return Score(float(right), "ok", right, said[:200], detail=why)


def _why_no_match(pattern: str, said: str, options: RegexOptions) -> str:
    if not said:
        return f"{reasons.EMPTY}; expected a match of {reasons.quoted(pattern)}"
    shown = f"{reasons.quoted(said)} does not match {reasons.quoted(pattern)}"
    return f"{shown} as a whole; match=search accepts a part" if options.match == "full" else shown


@lru_cache(maxsize=4_096)
def compile_pattern(pattern: str, ignore_case: bool = False, dot_all: bool = True) -> Any:
    """Return a compiled pattern whose matching can be stopped, or an error message if the pattern is invalid.

    Raises:
        MissingDependencyError: The extra `structure` is not installed.
    """
    try:
        import regex as engine
    except ImportError:
        raise MissingDependencyError(
            "patterns need the package regex: pip install 'rewardkit[structure]'"
        ) from None
    flags = (engine.IGNORECASE if ignore_case else 0) | (engine.DOTALL if dot_all else 0)
    try:
        return engine.compile(pattern, flags)
    except (engine.error, ValueError, OverflowError, RecursionError) as error:
        return str(error)


@dataclass(frozen=True)
class NumberOptions:
    """Options for the number reward."""

    abs_tol: float = 0.0
    """Largest accepted absolute difference from the ground truth. If both tolerances are set, the larger
    one applies."""
    rel_tol: float = 0.0
    """Largest accepted relative difference from the ground truth. If both tolerances are set, the larger
    one applies."""

    def __post_init__(self) -> None:
        """Check that the tolerances are not negative."""
        if self.abs_tol < 0.0 or self.rel_tol < 0.0:
            raise ValueError(f"abs_tol is {self.abs_tol:g} and rel_tol {self.rel_tol:g}; expected 0 or more")


def number(sample: Sample, options: NumberOptions) -> Score:
    """Score 1.0 if the number in the last frame equals the ground truth within the tolerance."""
    accepted = _numbers(sample.ground_truth)
    if not accepted or None in accepted:
        return failure("invalid", f"the ground truth {sample.ground_truth!r:.80} is not a number")
    text = own_text(sample.response, sample.prompt)
    said, kind = stated_number(text, *FRAME_KINDS)
    said = _alone(text) if kind is None else said
    where = reasons.place(kind or "whole response")
    if said is None:
        missing = f"number {reasons.IN_A_FRAME}, and no number alone"
        return Score(0.0, "ok", False, None, detail=reasons.no_answer(text, missing))
    if said.value is None:
        why = f"{where}: several numbers, or a number that is changed, at {reasons.quoted(said.text)}"
        return Score(0.0, "ok", False, said.text, detail=why)
    right = any(_close(said.value, wanted, options) for wanted in accepted if wanted is not None)
    why = where if right else reasons.wrong_answer(kind or "whole response", said.text, sample.ground_truth)
    return Score(float(right), "ok", right, said.text, detail=why)


def _alone(text: str) -> StatedNumber | None:
    """Return the number that makes up a whole response of one line, or None."""
    text = text.strip()
    return number_in(text) if "\n" not in text else None


@lru_cache(maxsize=65_536)
def _numbers(ground_truth: str) -> tuple[Value | None, ...]:
    found = map(number_in, texts(ground_truth))
    return tuple(number.value if number is not None else None for number in found)


def _close(value: Value, wanted: Value, options: NumberOptions) -> bool:
    if value == wanted or not (options.abs_tol or options.rel_tol) or _digits(value) > _MOST_DIGITS:
        return value == wanted
    off = abs(Fraction(value) - Fraction(wanted))
    return off <= max(Fraction(options.abs_tol), Fraction(options.rel_tol) * abs(Fraction(wanted)))


_MOST_DIGITS = 400
"""Maximum number of digits for a comparison with a tolerance. Comparing longer numbers takes seconds."""


def _digits(value: Value) -> int:
    return len(value.as_tuple().digits) + abs(value.adjusted()) if isinstance(value, Decimal) else 0
