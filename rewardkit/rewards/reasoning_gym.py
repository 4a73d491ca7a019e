"""Scores reasoning_gym's tasks with their own verifiers (github.com/open-thought/reasoning-gym, 0.1.25).

The ground truth is the dataset's entry as JSON (`question`, `answer`, `metadata`), or the answer, with the
rest of the entry in `extra_info`. The response's answer is the content of its last frame
(`answers/place.py`), or the whole response if it is short and has no frame. If a verifier's score is below 1,
the task counts as unsolved, because most verifiers give partial scores for wrong answers (`127` gets a third
for `7`). `pay="partial"` uses the score unchanged.

- A sample is `invalid` if its verifier gives full marks to nonsense, or less than full marks to the entry's
  own answer. Two verifiers that fail on entries read from JSON are repaired (`arc_agi` and `rearc`, whose
  grids were tuples). Two other verifiers are repaired as well. `game_of_life_halting` compares the truth of
  two non-empty texts, and `coin_flip` accepts any number that starts like the right number. An answer is
  wrong if it contains "not" or "or", has several numbers where one is expected, or has the wrong sign,
  because some verifiers merely search the answer for the right text.
- Some verifiers evaluate the answer with `eval` or SymPy. They receive only answers without names, attributes
  and calls, except calls to a few functions. Any other answer counts as wrong without being evaluated.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isclose, isfinite
from typing import Any, Literal

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.answers.number import number_in
from rewardkit.rewards.answers.place import FRAME_KINDS, last_group, own_text
from rewardkit.rewards.qa.qa_reward import tidy
from rewardkit.types import Sample, Score, failure

_TUPLE_GRIDS = frozenset({"arc_agi", "rearc"})
_TRUTHS = {"true": "True", "false": "False"}
_EVALUATES = re.compile(r"\b(?:eval|exec)\s*\(|\bsympy\b")
_HARMLESS = re.compile(r"[0-9A-Za-z\s+\-*/^().,\[\]'\"=]{1,500}")
_HARMFUL = re.compile(
    r"__|\.\s*[A-Za-z_]|[\])'\"]\s*\(|(?:\*\*|\^)\s*\(?-?\d{3}|(?:\*\*|\^)[^+\-,]*(?:\*\*|\^)"
    r"|\b(?!(?:sin|cos|tan|exp|log|sqrt|asin|acos|atan|sinh|cosh|tanh)\b)[A-Za-z]\w+\s*\("
)
_NONSENSE = ("zzz", "DEFINITELY_WRONG_12345")
_HEDGES = re.compile(
    r"\b(?:not|or|nor|either|neither|maybe|perhaps|wrong|incorrect|unless|nan|inf|infinity)\b|n['’]t\b",
    re.IGNORECASE,
)
_LARGE = re.compile(r"\d[eE][-+]?\d{4}")
"""Pattern for exponents with which the conversion to a fraction takes too long."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NUMBERS = re.compile(r"-?\d+(?:[.,]\d+)*(?:\s*/\s*\d+)?")


@dataclass(frozen=True)
class ReasoningGymOptions:
    """Options for the reasoning_gym reward."""

    pay: Literal["solved", "partial"] = "solved"
    """`solved` gives 1.0 if the task's verifier gives full marks, otherwise 0.0. `partial` gives the
    verifier's score, from 0 to 1."""


def score(sample: Sample, options: ReasoningGymOptions) -> Score:
    """Score one response with its task's verifier.

    Raises:
        MissingDependencyError: reasoning_gym is not installed.
    """
    entry = _entry(sample)
    if isinstance(entry, str):
        return failure("invalid", entry)
    unsound = _unsound(json.dumps(entry, sort_keys=True))
    if unsound:
        return failure("invalid", unsound)
    said = _answer(own_text(sample.response, sample.prompt))
    if not said:
        return Score(0.0, "ok", False, detail="no answer")
    if _hedges(said, entry["answer"]):
        why = f"{_name(entry)}: several answers, a denial or another sign"
        return Score(0.0, "ok", False, said[:200], detail=why)
    # Brackets, quotes and marks may be part of a list or a board, so try the answer with and without them.
    texts = {said, tidy(said)}
    # The entry's own answer is right, even if it contains text that must not be evaluated in other answers.
    value = 1.0 if entry["answer"] in texts else max(_verified(entry, text) for text in texts)
    solved = value >= 1.0
    paid = value if options.pay == "partial" else float(solved)
    return Score(paid, "ok", solved, said[:200], detail=f"{_name(entry)}: {value:g}")


def _answer(text: str) -> str:
    """Return the content of the last frame if adjacent frames agree or, without a frame, a short response."""
    held = {frame.text for frame in last_group(text, *FRAME_KINDS)}
    if held:
        return held.pop() if len(held) == 1 else ""
    whole = text.strip()
    return whole if len(whole) <= _LONGEST_ANSWER else ""


_LONGEST_ANSWER = 1_000


def _hedges(text: str, ground_truth: Any) -> bool:
    """Return True if an answer denies itself or gives several answers, which many verifiers would miss."""
    wanted = str(ground_truth)
    if ground_truth is None or _HEDGES.search(wanted):
        return False
    if _NUMBER.fullmatch(wanted) is not None:
        number = number_in(text)
        value = number and number.value
        other_sign = bool(value) and (value < 0) != wanted.startswith("-")  # type: ignore[operator]
        if other_sign or len(set(_NUMBERS.findall(text))) > 1:
            return True
    return _HEDGES.search(text) is not None


def _entry(sample: Sample) -> dict[str, Any] | str:
    """Return the dataset's entry with its metadata, or an error message."""
    given: Any = None
    if sample.ground_truth.lstrip().startswith("{"):
        try:
            given = json.loads(sample.ground_truth)
        except (ValueError, RecursionError):
            return "the ground truth is not JSON"
    if not isinstance(given, Mapping) or "metadata" not in given:
        given = {"answer": sample.ground_truth, **sample.extra_info}
    metadata = given.get("metadata")
    if isinstance(metadata, str):
        metadata = json.loads(metadata)
    if not isinstance(metadata, Mapping) or not metadata.get("source_dataset"):
        return "the row has no metadata with source_dataset, neither in the ground truth nor in extra_info"
    question = given.get("question", "")
    return {"question": question, "answer": given.get("answer"), "metadata": dict(metadata)}


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry["metadata"]["source_dataset"])


@lru_cache(maxsize=4_096)
def _unsound(entry_text: str) -> str | None:
    """Return the reason why an entry cannot be scored with its verifier, or None if it can."""
    entry = json.loads(entry_text)
    name = _name(entry)
    try:
        _verifier(name)
    except ValueError:
        return f"reasoning_gym has no task '{name}' whose answers can be scored"
    paid = next((text for text in _NONSENSE if _verified(entry, text) >= 1.0), None)
    if paid:
        return f"the verifier of '{name}' scores nonsense as right"
    if entry["answer"] is not None and _verified(entry, str(entry["answer"]), ours=True) < 1.0:
        return f"the verifier of '{name}' does not score the entry's own answer as right"
    return None


def _verified(entry: dict[str, Any], text: str, *, ours: bool = False) -> float:
    """Return the verifier's score from 0 to 1, or 0 if the verifier fails on the answer.

    `ours` means that the text does not come from a response, and can be evaluated safely.
    """
    name = _name(entry)
    if _LARGE.search(text):
        return 0.0
    if name == "coin_flip" and not _is_near(text, str(entry["answer"])):
        return 0.0
    if name == "game_of_life_halting":
        return float(_TRUTHS.get(text.strip().lower()) == str(entry["answer"]))
    verify, evaluates = _verifier(name)
    if evaluates and not ours and (not _HARMLESS.fullmatch(text) or _HARMFUL.search(text)):
        return 0.0
    if name in _TUPLE_GRIDS:
        grid = tuple(map(tuple, entry["metadata"]["output"]))
        entry = {**entry, "metadata": {**entry["metadata"], "output": grid}}
    try:
        value = float(verify(text, entry))
        return max(0.0, min(1.0, value)) if isfinite(value) else 0.0
    except Exception:  # Verifiers may raise any exception when they parse an answer.
        return 0.0


def _is_near(text: str, ground_truth: str) -> bool:
    """Return True if two probabilities agree to three digits.

    The task's own verifier compares only the first characters.
    """
    try:
        given, wanted = (float(Fraction(number.replace(",", "").strip())) for number in (text, ground_truth))
    except (ValueError, ZeroDivisionError, OverflowError):
        return False
    return isclose(given, wanted, rel_tol=1e-3)


@lru_cache(maxsize=256)
def _verifier(name: str) -> tuple[Any, bool]:
    """Return a task's verifier, and True if the verifier evaluates the answer.

    Raises:
        ValueError: The task does not exist.
    """
    try:
        import reasoning_gym
    except ImportError:
        raise MissingDependencyError(
            "reasoning_gym is not installed: pip install 'rewardkit[reasoning-gym]'"
        ) from None
    try:
        verify = reasoning_gym.get_score_answer_fn(name)
    except (AssertionError, TypeError) as error:
        raise ValueError(str(error)) from None
    module = inspect.getmodule(type(verify.__self__))
    return verify, module is None or _EVALUATES.search(inspect.getsource(module)) is not None
