"""Cascade of comparison tiers: string, number, words, tree and SymPy.

Each tier decides or calls the next tier. No exception leaves the cascade. If a guard stops a tier, the
grammar does not cover the text or the code fails, the verdict is `undecided` and states the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rewardkit import faults
from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS, Exhausted, TooLarge, budget
from rewardkit.rewards.math.policies import DEFAULT, MathOptions
from rewardkit.rewards.math.reading import text as words
from rewardkit.rewards.math.reading.prepared import PreparedAnswer, prepare, prepare_statement
from rewardkit.rewards.math.tree.nodes import Logic, Text, walk

MathOutcome = Literal["equal", "not_equal", "undecided"]
Tier = Literal["string", "number", "words", "tree", "symbolic", "none"]


@dataclass(frozen=True)
class MathVerdict:
    """Result of comparing two answers."""

    outcome: MathOutcome
    tier: Tier
    reason: str
    failure: Literal["", "error"] = ""
    """`error` if SymPy could not be run, or else empty."""

    @property
    def equal(self) -> bool:
        return self.outcome == "equal"


def compare(ground_truth: str, answer: str, options: MathOptions = DEFAULT) -> MathVerdict:
    """Compare an answer with a ground truth.

    The order of the arguments matters in three cases. A ground truth in prose is never shortened. A bare list
    as ground truth equals neither a point nor an interval in brackets. A decimal comma in the answer is
    recognised if the ground truth has a decimal point.
    """
    options = options.resolved
    verdict = compare_prepared(prepare(ground_truth), prepare(answer), options)
    if not verdict.equal and (stated := prepare_statement(answer)) is not None:
        found = compare_prepared(prepare(ground_truth), stated, options)
        return found if found.equal else verdict
    return verdict


def compare_prepared(
    ground_truth: PreparedAnswer, answer: PreparedAnswer, options: MathOptions
) -> MathVerdict:
    """Run the cascade of tiers on two prepared sides."""
    if not ground_truth.text or not answer.text:
        return MathVerdict("not_equal", "string", "one of the sides is empty")
    for tier in (_by_string, _by_number, _by_words, _by_tree):
        try:
            found = tier(ground_truth, answer, options)
        except Exhausted as error:
            return MathVerdict("undecided", "tree", f"not shown to be equal: {error}")
        except TooLarge as error:
            return MathVerdict("undecided", "tree", f"too large to compute: {error}")
        except Exception as error:
            faults.note("a comparison", error, f"{ground_truth.source} <- {answer.source}")
            return MathVerdict("undecided", "tree", f"could not be computed: {type(error).__name__}")
        if found is not None:
            return found
    return MathVerdict("undecided", "none", "no tier could decide")


def _by_string(
    ground_truth: PreparedAnswer, answer: PreparedAnswer, options: MathOptions
) -> MathVerdict | None:
    if ground_truth.key == answer.key:
        return MathVerdict("equal", "string", "the same text up to notation")
    if max(len(ground_truth.text), len(answer.text)) > MAX_ANSWER_CHARS:
        return MathVerdict(
            "not_equal", "string", f"longer than {MAX_ANSWER_CHARS} characters, and the texts differ"
        )
    return None


def _by_number(
    ground_truth: PreparedAnswer, answer: PreparedAnswer, options: MathOptions
) -> MathVerdict | None:
    first = ground_truth.number
    second = answer.number
    if first is not None and first.places and options.preset == "default" and second is None:
        second = answer.as_decimal()
    if first is None or second is None:
        return None
    if first.num == second.num and first.den == second.den:
        return MathVerdict("equal", "number", "the same rational number")
    if first.places is None and second.places is None:
        return _plain_unequal(ground_truth, answer)
    from rewardkit.rewards.math.comparing.scalar import equal

    if equal(first, second, options):
        return MathVerdict("equal", "number", "equal when correctly rounded")
    return _plain_unequal(ground_truth, answer)


def _plain_unequal(ground_truth: PreparedAnswer, answer: PreparedAnswer) -> MathVerdict | None:
    return (
        None
        if "," in ground_truth.text + answer.text
        else MathVerdict("not_equal", "number", "different numbers")
    )


def _by_words(
    ground_truth: PreparedAnswer, answer: PreparedAnswer, options: MathOptions
) -> MathVerdict | None:
    """Compare choice letters and answers that consist of words."""
    if (ordered := _ordered(ground_truth.words, answer.words)) is not None:
        return ordered
    found = _choices(ground_truth, answer, options)
    if found is None and ground_truth.is_wordy and answer.is_wordy:
        same = words.fold(ground_truth.words) == words.fold(answer.words)
        if same and words.case_matters(ground_truth.words, answer.words):
            return None
        listed = any(_SEPARATOR.search(side.words) for side in (ground_truth, answer))
        if listed and not same and _same_items(ground_truth.words, answer.words):
            same = True
        if same or (max(len(ground_truth.words), len(answer.words)) > 4 and not listed):
            found = same
    if found is None:
        return None
    return MathVerdict(
        "equal" if found else "not_equal", "words", "the same words" if found else "different words"
    )


_ROMAN = re.compile(r"(?=.*[IVX])(?=..)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")


"""Pattern of Roman numerals that contain I, V or X. `CD` is excluded because it may name a line segment."""
_LONGEST_RUN = 20
_CAPITALS = re.compile(r"[A-Z]{3,}")


def _ordered(first: str, second: str) -> MathVerdict | None:
    """Compare letters in order because they are not a product: `IV` and `VI`, `HTH` and `HHT`."""
    if max(len(first), len(second)) > _LONGEST_RUN:
        return None
    joined = [side.replace(" ", "") for side in (first, second)]
    if all(map(_ROMAN.fullmatch, joined)):
        outcome: MathOutcome = "equal" if joined[0] == joined[1] else "not_equal"
        return MathVerdict(outcome, "words", "Roman numerals")
    if first != second and _CAPITALS.fullmatch(first) and _CAPITALS.fullmatch(second):
        return MathVerdict("not_equal", "words", "different letters, or another order of the letters")
    return None


_SEPARATOR = re.compile(r",|;|\b(?:and|or)\b", re.IGNORECASE)
_BETWEEN_ITEMS = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")


def _same_items(first: str, second: str) -> bool:
    """Return True if two lists of words have the same items in order: "red, green" and "red and green"."""
    if any(re.search(r"\b(?:or|not|nor|but)\b", side) for side in (first, second)):
        return False
    found = [
        [words.fold(item, keep_case=True) for item in _BETWEEN_ITEMS.split(side)] for side in (first, second)
    ]
    if all(len(item) > 2 for items in found for item in items):
        found = [[item.casefold() for item in items] for items in found]
    return len(found[0]) > 1 and "" not in found[0] and found[0] == found[1]


def _choices(ground_truth: PreparedAnswer, answer: PreparedAnswer, options: MathOptions) -> bool | None:
    """Compare multiple-choice letters, with or without the text of the option."""
    if ground_truth.choice and answer.choice:
        certain = any(
            side.words != side.words.casefold() or len(side.words) > 1 for side in (ground_truth, answer)
        )
        return ground_truth.choice == answer.choice if certain else None
    lists = [words.choice_list(side.words, side.source) for side in (ground_truth, answer)]
    if lists[0] and lists[1]:
        return set(lists[0]) == set(lists[1])
    for this, listed in ((ground_truth, lists[1]), (answer, lists[0])):
        if listed and words.choice_run(this.words) == listed:
            return True
    first = ground_truth.led_choice
    second = answer.led_choice
    if first and second:
        return first[0] == second[0] and compare(first[1], second[1], options).equal
    if second and ground_truth.choice:
        return second[0] == ground_truth.choice and _is_plain_content(second[1])
    if first and answer.choice:
        return first[0] == answer.choice
    if (
        first
        and not words.led_choice(first[1])
        and compare_prepared(prepare(first[1]), answer, options).equal
    ):
        return True
    alone = second is not None and not words.led_choice(second[1])  # `(B) (C) 12` names two options.
    return (
        True
        if second and alone and compare_prepared(ground_truth, prepare(second[1]), options).equal
        else None
    )


_COMMANDS = re.compile(r"\\[a-zA-Z]+|\b(?:cm|mm|km|kg|sin|cos|tan|log|ln|sqrt|pi|units?)\b")
_WORD = re.compile(r"[^\W\d_]{2,}")


def _is_plain_content(text: str) -> bool:
    """Return True if the text of an option is a value and not a statement: "(C) 12", not "(C) or (D)"."""
    if words.fold(text) in ("true", "yes"):
        return True
    reading = prepare(text).reading
    return (
        _WORD.search(_COMMANDS.sub(" ", text)) is None
        and reading is not None
        and words.choice(text) is None
        and not any(isinstance(part, (Text, Logic)) for part in walk(reading))
    )


def _by_tree(
    ground_truth: PreparedAnswer, answer: PreparedAnswer, options: MathOptions
) -> MathVerdict | None:
    with budget():
        return _compared(ground_truth, answer, options)


def _compared(ground_truth: PreparedAnswer, answer: PreparedAnswer, options: MathOptions) -> MathVerdict:
    from rewardkit.rewards.math.comparing import sequences
    from rewardkit.rewards.math.comparing.equality import equal

    first = ground_truth.reading
    second = answer.reading
    if first is None or second is None:
        side, problem = (
            ("ground truth", ground_truth.problem) if first is None else ("answer", answer.problem)
        )
        return _unparsed(ground_truth, answer, f"the {side} could not be parsed: {problem}")
    if sequences.is_point_for_list(first, second):
        return MathVerdict("not_equal", "tree", "a point or an interval is not a list")
    found = equal(first, second, options)
    if not found and sequences.is_restated(first, second, options, equal):
        found = True
    if found is None:
        return _by_sympy(ground_truth, answer)
    return MathVerdict(
        "equal" if found else "not_equal",
        "tree",
        f"{'the same' if found else 'different'} values or objects",
    )


def _unparsed(ground_truth: PreparedAnswer, answer: PreparedAnswer, reason: str) -> MathVerdict:
    same = _as_prose(ground_truth.text) == _as_prose(answer.text) or (
        words.fold(ground_truth.words) == words.fold(answer.words)
        and _is_prose(ground_truth.words)
        and _is_prose(answer.words)
    )
    return (
        MathVerdict("equal", "words", "the same words") if same else MathVerdict("undecided", "tree", reason)
    )


def _as_prose(text: str) -> str:
    """Return an unparsable text with single spaces, and with capitalised words in lower case."""
    return _CAPITALISED.sub(lambda m: m.group().lower(), " ".join(text.split()))


_CAPITALISED = re.compile(r"(?<![\\a-zA-Z])[A-Z][a-z]+\b")


def _is_prose(text: str) -> bool:
    return len(re.findall(r"[^\W\d_]{3,}", text)) >= 2 and not re.search(r"[\\^_=<>+*/]|\d", text)


def _by_sympy(ground_truth: PreparedAnswer, answer: PreparedAnswer) -> MathVerdict:
    """Compare with SymPy, with the sides in a fixed order so that swapping them gives the same verdict."""
    from rewardkit.rewards.math.comparing.signs import write_signs
    from rewardkit.rewards.math.sympy import client

    assert ground_truth.reading is not None and answer.reading is not None

    first, second = write_signs(ground_truth.reading), write_signs(answer.reading)
    if answer.key < ground_truth.key:
        first, second = second, first
    if not client.can_decide(first, second):
        return MathVerdict(
            "undecided", "tree", "not decided by the tree tier, and SymPy does not support these expressions"
        )
    with budget() as left:
        if left.cpu_s <= 0:
            return _exhausted("the time was used up before")
        found = client.decide(first, second, left.cpu_s)
        left.cpu_s -= found.spent_s
    if found.failure == "exhausted":
        return _exhausted(found.reason)
    if found.failure or found.equal is None:
        return MathVerdict("undecided", "symbolic", found.reason, found.failure)
    return MathVerdict("equal" if found.equal else "not_equal", "symbolic", found.reason)


def _exhausted(reason: str) -> MathVerdict:
    """Return the verdict for a comparison that exceeds SymPy's time limit.

    Such a comparison is not a failure.
    """
    return MathVerdict("undecided", "symbolic", f"not shown to be equal within SymPy's time limit ({reason})")
