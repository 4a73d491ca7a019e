"""Rows of an audit, answers that are wrong on purpose, and other spellings of right answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rewardkit.checks.items import Item
from rewardkit.labels.solutions import boxes_in
from rewardkit.messages import prompt_text
from rewardkit.rewards.answers.same_value import same_value
from rewardkit.types import Sample

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}")
_LETTER = re.compile(r"\(?([A-Z])\)?")
_TAGGED = re.compile(r"\s*<answer>(.*?)</answer>\s*", re.DOTALL)
_LONGEST = 200
OTHER_OPTION = "other option"
NUMERATOR = "numerator"
"""Kind of wrong answer that does not count if the reward ignores any text behind a number."""
NOWHERE = ("98765", "zzqx")
"""Answers that are right in no row: a number and a word."""


@dataclass(slots=True)
class AuditRow:
    """Row with its answer and the responses that are known to it."""

    item: Item
    answer: str | None = None
    """Right answer as a policy would write it. None if the ground truth is no answer, as with tests."""
    accepted: tuple[str, ...] = ()
    """All answers that the ground truth accepts."""
    solution: str = ""
    """Worked solution or reference program."""
    responses: list[str] = field(default_factory=list)
    best: str = ""
    """Real response that earns the most, if any."""

    @property
    def prompt(self) -> str:
        """Text of the prompt."""
        return prompt_text(self.item.prompt)

    def sample(self, response: str) -> Sample:
        """Return a response to this row as a sample."""
        item = self.item
        return Sample(item.data_source, response, item.ground_truth, item.prompt, dict(item.extra_info))


def row_of(item: Item, responses: Sequence[str] = ()) -> AuditRow:
    """Return the row of an audit for a row of a file."""
    solution = str(item.extra_info.get("answer") or item.raw.get("solution") or "")
    accepted = answers_in(item.ground_truth)
    answer = accepted[0] if accepted else None
    return AuditRow(item, answer, tuple(accepted), solution if solution != answer else "", list(responses))


def answers_in(ground_truth: str) -> list[str]:
    """Return the answers that a ground truth accepts, without a solution or tags around them."""
    text = ground_truth.strip()
    if text.startswith(("[", "{", '"')):
        try:
            return _accepted(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError):
            pass
    text = text.rpartition("####")[2].strip()
    tagged = _TAGGED.fullmatch(text)
    boxes = boxes_in(text)
    text = tagged[1].strip() if tagged else boxes[-1] if boxes else text
    return [text] if 0 < len(text) <= _LONGEST else []


def _accepted(value: Any) -> list[str]:
    """Return the answers in decoded JSON, or none if it is neither an answer nor a list of answers."""
    if isinstance(value, dict):
        value = value.get("target", value.get("answer"))
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int | float) for one in values):
        return []
    return [str(one) for one in values if 0 < len(str(one)) <= _LONGEST]


def letter_of(answer: str) -> str | None:
    """Return the letter of an option that is given by its index, or None for any other answer."""
    return chr(ord("A") + int(answer)) if answer.isdigit() and len(answer) == 1 else None


def differ(one: AuditRow, other: AuditRow) -> bool:
    """Return True if the answers of two rows differ in value."""
    if one.answer is None or other.answer is None:
        return one.item.ground_truth != other.item.ground_truth
    return not any(is_accepted(one, text) for text in {other.answer, *other.accepted})


def is_accepted(row: AuditRow, answer: str) -> bool:
    """Return True if an answer has the value of the row's answer, or of another one that is accepted."""
    right = {row.answer, *row.accepted}
    return answer in right or any(text is not None and same_value(text, answer) for text in right)


def nowhere(rows: Sequence[AuditRow]) -> str:
    """Return an answer that is right in none of the rows, of the kind that most of them have."""
    numbers = sum(row.answer is not None and bool(_NUMBER.fullmatch(row.answer)) for row in rows)
    return NOWHERE[numbers < len(rows) / 2]


def wrong_answers(answer: str, options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield wrong answers that look like the right answer, each with the kind of change.

    Args:
        answer: Right answer.
        options: All answers of the rows, if the questions have few different answers.
    """
    yield from ((OTHER_OPTION, option) for option in options if option != answer)
    if _NUMBER.fullmatch(answer):
        yield from _wrong_numbers(answer)
    elif _is_formula(answer):
        yield "digit", _digit_changed(answer)
        if re.fullmatch(r"-?(?:\d+/\d+|\\d?frac\{\d+\}\{\d+\}|\d*\\sqrt\{\d+\})", answer):
            yield "sign", answer[1:] if answer.startswith("-") else f"-{answer}"
    elif not _LETTER.fullmatch(answer):
        yield "negated", f"not {answer}"


def _wrong_numbers(answer: str) -> Iterator[tuple[str, str]]:
    digits = answer.lstrip("-")
    zero = not digits.strip("0.,")
    if not zero:
        yield "sign", digits if answer.startswith("-") else f"-{answer}"
        yield "fraction", rf"\frac{{{answer}}}{{7}}"
        yield NUMERATOR, f"{answer}/7"
    yield "digit", _digit_changed(answer)
    if digits.isdigit():
        yield "first digit", answer[: -len(digits)] + str(int(digits[0]) % 9 + 1) + digits[1:]
        yield "digit behind", f"{answer}1"
        yield "digit before", answer[: -len(digits)] + "3" + digits
        yield "decimals", f"{answer}.4"
        yield "one more", str(int(answer) + 1)
        if len(digits) > 1:
            yield "cut", answer[:-1]
            if digits != digits[::-1] and digits[-1] != "0":
                yield "reversed", answer[: -len(digits)] + digits[::-1]
            yield "point", f"{answer[:-1]}.{answer[-1]}"


def _digit_changed(answer: str) -> str:
    """Return an answer with its last digit changed."""
    last = max(i for i, c in enumerate(answer) if c.isdigit() and c.isascii())
    return f"{answer[:last]}{(int(answer[last]) + 3) % 10}{answer[last + 1 :]}"


def _is_formula(answer: str) -> bool:
    return any(c.isdigit() and c.isascii() for c in answer) and not _WORD.search(answer)


SPELLINGS: dict[str, tuple[Callable[[str], bool], str, str]] = {
    "full stop": (lambda a: True, "{}.", ""),
    "spaces": (lambda a: True, " {} ", ""),
    "bold": (lambda a: True, "**{}**", ""),
    "dollars": (lambda a: _is_number(a) or _is_formula(a), "${}$", ""),
    "decimal zero": (lambda a: a.lstrip("-").isdigit(), "{}.0", ""),
    "plus sign": (lambda a: a.isdigit(), "+{}", ""),
    "brackets": (lambda a: bool(_LETTER.fullmatch(a)), "({})", ""),
    "words before": (lambda a: True, "{}", "I work it out, and it comes to this.\n\n{}"),
    "words after": (lambda a: True, "{}", "{}\n\nI hope this helps."),
}
"""Other spellings of a right answer, by name: the answers to which each applies, the spelling in the frame,
and the text around the frame, if any."""


def _is_number(answer: str) -> bool:
    return bool(_NUMBER.fullmatch(answer))
