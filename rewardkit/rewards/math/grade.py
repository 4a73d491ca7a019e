"""The cascade: string, number, words, tree, SymPy. Prepares each side once and lets each tier decide or pass.

No tier raises: what a guard stops or the grammar does not cover is `undecided`, with the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

from rewardkit.rewards.math import text as words
from rewardkit.rewards.math.extract import Extraction, extract
from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS, TooLarge, Unparsable
from rewardkit.rewards.math.normalize import clean
from rewardkit.rewards.math.policies import DEFAULT, Options, resolve
from rewardkit.rewards.math.tree import Node, Num, Seq, Text, Time

Outcome = Literal["equal", "not_equal", "undecided"]
Tier = Literal["string", "number", "words", "tree", "symbolic", "none"]
_CACHED_ANSWERS = 4_096


@dataclass(frozen=True)
class Verdict:
    """What came of comparing two answers."""

    outcome: Outcome
    tier: Tier
    reason: str
    failure: Literal["", "timeout", "error"] = ""
    """Set when the SymPy worker ran out of time or died, rather than finding no answer."""

    @property
    def equal(self) -> bool:
        return self.outcome == "equal"


def compare(gold: str, answer: str, options: Options = DEFAULT) -> Verdict:
    """Return whether two answers are the same. The order of the two never matters."""
    options = resolve(options)
    return judge(prepare(gold), prepare(answer), options)


class Prepared:
    """One side, cleaned once and parsed when first needed; held in a cache, so never changed."""

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        """As it stood in the box, tag or ground truth."""
        self.text = text
        """In canonical spelling."""
        spaced = len(text) > MAX_ANSWER_CHARS or _DIGIT_GAP.search(text)
        self.key = text if spaced else text.replace(" ", "")

    @cached_property
    def number(self) -> Num | None:
        """The value, when the text is nothing but a plain number."""
        return _plain_number(self.text)

    @cached_property
    def words(self) -> str:
        return words.unwrap(self.source)

    @cached_property
    def choice(self) -> str | None:
        return words.choice(self.words)

    @cached_property
    def is_wordy(self) -> bool:
        """Whether there is nothing here but words."""
        return bool(_WORDY.fullmatch(self.words)) and (len(self.words) > 1 or not self.words.isascii())

    @cached_property
    def readings(self) -> tuple[Node, ...]:
        """The trees this text can stand for, likeliest first; empty when it is not in the grammar."""
        return self._parsed[0]

    @cached_property
    def problem(self) -> str:
        """Why there is no tree, or nothing."""
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[tuple[Node, ...], str]:
        from rewardkit.rewards.math.parse import parse

        special = _special(self.words)
        if special is not None:
            return (special,), ""
        found: list[Node] = []
        problem = ""
        led = words.led_choice(self.words)
        spellings = _spellings(self.text) + ([clean(led[1])] if led else [])
        for reading in spellings:
            try:
                tree = parse(reading)
            except (Unparsable, TooLarge) as error:
                problem = problem or str(error)
            except (ValueError, RecursionError, OverflowError, IndexError) as error:
                problem = problem or f"{type(error).__name__}"
            else:
                if tree not in found:
                    found.append(tree)
        if self.is_wordy and len(self.words) > 3:
            found = [Text(self.words), *found]
        return tuple(found), problem if not found else ""


_DIGIT_GAP = re.compile(r"\d \d")
_WORDY = re.compile(r"[^\W\d_][^\W\d_\s]*(?:[\s'’,.-]+[^\W\d_]+)*[.!]?")
_PLAIN = re.compile(r"([-+]?)\s?(\d+|\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+)?(?:\.(\d+))?")
_PLAIN_FRACTION = re.compile(r"(-?)\\frac ?(?:\{(-?)(\d{1,18})\}|(\d)) ?(?:\{(\d{1,18})\}|(\d))|(-?)(\d{1,18}) ?/ ?(\d{1,18})")


def _plain_number(text: str) -> Num | None:
    if len(text) > 1_500:
        return None
    found = _PLAIN.fullmatch(text)
    if found:
        sign, whole, decimals = found.groups()
        if whole is None and decimals is None:
            return None
        digits = int((whole or "0").replace(",", "").replace(" ", "") + (decimals or ""))
        value = Fraction(-digits if sign == "-" else digits, 10 ** len(decimals or ""))
        return Num(value.numerator, value.denominator, len(decimals) if decimals else None)
    found = _PLAIN_FRACTION.fullmatch(text)
    if found:
        sign, inner, top, digit, bottom, last, plain_sign, plain_top, plain_bottom = found.groups()
        above, below = int(top or digit or plain_top), int(bottom or last or plain_bottom)
        if below:
            minus = (sign == "-") ^ (inner == "-") ^ (plain_sign == "-")
            value = Fraction(-above if minus else above, below)
            return Num(value.numerator, value.denominator)
    return None


_THOUSANDS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,]\d)(?!\d)")
_SPACED_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?: \d{3})+(?![\d.]*\d)")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_BRACKETED = re.compile(r"[(\[{]")


def _spellings(text: str) -> list[str]:
    """The readings of commas between digits: thousands, a list, or a decimal comma."""
    if len(text) > MAX_ANSWER_CHARS:
        return []
    if " " in text and _SPACED_THOUSANDS.fullmatch(text.lstrip("+-$ ")):
        text = text.replace(" ", "")
    if "," not in text:
        return [text]
    joined = _THOUSANDS.sub(lambda m: m.group().replace(",", ""), text)
    if _DECIMAL_COMMA.fullmatch(text) and (joined == text or text.lstrip("+-").startswith("0")):
        return [text, text.replace(",", ".")]
    if joined == text:
        return [text]
    if _BRACKETED.search(text) and ", " not in joined and "\\text" not in text:
        return [text, joined] if _only_calls(text) else [text]
    return [joined, text]


def _only_calls(text: str) -> bool:
    """Whether the brackets hold no comma of their own: `\\text{}`, `f(x)`, a power."""
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth > 0:
            return False
    return True


def _special(text: str) -> Node | None:
    """Answers with a notation of their own: clock times, dates, circled digits."""
    if len(text) > 40:
        return None
    time = words.clock(text) if ":" in text or "m" in text.casefold() or "clock" in text else None
    if time is not None and (time[1] or _looks_like_clock(text)):
        return Time(*time)
    day = words.date(text)
    if day is not None:
        year, month, date = day
        return Text(f"{month}-{date}" if year is None else f"{year}-{month}-{date}")
    marks = words.circled(text)
    return Seq("", "", tuple(Num(int(m)) for m in marks.split(","))) if marks else None


def _looks_like_clock(text: str) -> bool:
    """`12:00` and `4:05` are times; `3:2` and `4:30` could be ratios, and 4:30 compares alike as either."""
    minutes = text.strip().partition(":")[2]
    return len(minutes) == 2 and (minutes.startswith("0") or minutes in ("15", "30", "45"))


@lru_cache(maxsize=_CACHED_ANSWERS)
def prepare(source: str) -> Prepared:
    """Return one side, ready for comparison; the last few thousand are kept, so a gold is parsed once."""
    inner = _answer_within(source)
    return Prepared(inner, clean(inner[: 4 * MAX_ANSWER_CHARS]) if len(inner) <= 4 * MAX_ANSWER_CHARS else inner)


def prepare_answer(extraction: Extraction) -> Prepared:
    """Return an extracted answer, ready for comparison."""
    assert extraction.answer is not None
    return _prepare_extracted(extraction.answer)


@lru_cache(maxsize=_CACHED_ANSWERS)
def _prepare_extracted(answer: str) -> Prepared:
    return Prepared(answer, clean(answer))


_SENTENCE = re.compile(r"(?:\b[^\W\d_]{2,}[\s,]+){5}")
_WORKED = re.compile(r"\d[^=\n]{0,12}= ?[\d*]|\d\*\*")
_PROSE = re.compile(r"[\u0370-\uffef]{4}|\b[a-z]{3,} [a-z]{2,}|[。；]|\. [A-Z]")
_LOOKED_AT = 4_000


_STATED_METHODS = Options(methods=("tags", "boxed", "marker", "display", "inline"))
_WORKED_METHODS = Options()
"""A sentence is only searched for its last number when it works something out: `all multiples of 4` is not 4."""


def _answer_within(source: str) -> str:
    """What a bare answer string says: its box, or its last statement when it is whole sentences."""
    if len(source) < 12:
        return source
    if "\\boxed" in source or "\\fbox" in source:
        found = extract(source, Options(methods=("boxed",)))
        return found.answer if found.answer is not None else source
    end = source[-_LOOKED_AT:]
    worked = _WORKED.search(end) is not None
    if _SENTENCE.search(end) or (worked and _PROSE.search(end)) or "answer" in end.casefold() or "答案" in end:
        found = extract(source, _WORKED_METHODS if worked else _STATED_METHODS)
        return found.answer if found.answer is not None else source
    return source


def judge(gold: Prepared, answer: Prepared, options: Options) -> Verdict:
    """Run the cascade on two prepared sides."""
    if not gold.text or not answer.text:
        return Verdict("not_equal", "string", "an empty answer equals nothing")
    for tier in (_by_string, _by_number, _by_words, _by_tree):
        found = tier(gold, answer, options)
        if found is not None:
            return found
    return Verdict("undecided", "none", "no tier could tell")


def _by_string(gold: Prepared, answer: Prepared, options: Options) -> Verdict | None:
    if gold.key == answer.key:
        return Verdict("equal", "string", "the same text up to notation")
    if max(len(gold.text), len(answer.text)) > MAX_ANSWER_CHARS:
        return Verdict("not_equal", "string", f"longer than {MAX_ANSWER_CHARS} characters and not the same text")
    return None


def _by_number(gold: Prepared, answer: Prepared, options: Options) -> Verdict | None:
    first, second = gold.number, answer.number
    if first is None or second is None or options.simplified:
        return None
    if first.num == second.num and first.den == second.den:
        return Verdict("equal", "number", "the same rational number")
    if first.places is None and second.places is None and not options.rel_tol:
        return _plain_unequal(gold, answer)
    from rewardkit.rewards.math.scalar import equal

    if equal(first, second, options):
        return Verdict("equal", "number", "equal when correctly rounded")
    return _plain_unequal(gold, answer)


def _plain_unequal(gold: Prepared, answer: Prepared) -> Verdict | None:
    return None if "," in gold.text + answer.text else Verdict("not_equal", "number", "different numbers")


def _by_words(gold: Prepared, answer: Prepared, options: Options) -> Verdict | None:
    """Choice letters, and answers that are nothing but words."""
    found = _choices(gold, answer, options)
    if found is None and gold.is_wordy and answer.is_wordy:
        same = words.fold(gold.words, keep_case=options.text_case) == words.fold(
            answer.words, keep_case=options.text_case
        )
        if same and _case_matters(gold.words, answer.words):
            return None
        if same or max(len(gold.words), len(answer.words)) > 4:
            found = same
    if found is None:
        return None
    return Verdict("equal" if found else "not_equal", "words", "the same words" if found else "different words")


def _case_matters(a: str, b: str) -> bool:
    """Short runs of letters that differ in case are variables."""
    return a != b and len(a) <= 3 and len(b) <= 3 and a.isascii() and " " not in a and a.casefold() not in _SHORT


_SHORT = frozenset({"yes", "no", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "dne", "odd", "all"})


def _choices(gold: Prepared, answer: Prepared, options: Options) -> bool | None:
    letters = gold.choice, answer.choice
    if letters[0] and letters[1]:
        if options.text_case and gold.words != answer.words:
            return None
        certain = any(side.words != side.words.casefold() or len(side.words) > 1 for side in (gold, answer))
        return letters[0] == letters[1] if certain else None
    for this, other in ((gold, answer), (answer, gold)):
        if other.choice and (led := words.led_choice(this.words)):
            return led[0] == other.choice
    for this, other in ((gold, answer), (answer, gold)):
        if (listed := words.choice_list(other.words)) and words.choice_run(this.words) == listed:
            return True
    led_both = words.led_choice(gold.words), words.led_choice(answer.words)
    if led_both[0] and led_both[1]:
        return led_both[0][0] == led_both[1][0]
    return None


def _by_tree(gold: Prepared, answer: Prepared, options: Options) -> Verdict | None:
    from rewardkit.rewards.math.compare import equal

    outcome: bool | None = False
    for first in gold.readings:
        for second in answer.readings:
            try:
                found = equal(first, second, options)
            except TooLarge as error:
                return Verdict("undecided", "tree", f"too large to work out: {error}")
            if found:
                return Verdict("equal", "tree", "the same value or object")
            outcome = None if found is None else outcome
    if not gold.readings or not answer.readings:
        side, problem = ("gold", gold.problem) if not gold.readings else ("answer", answer.problem)
        return _unparsed(gold, answer, f"the {side} is not in the grammar: {problem}")
    if outcome is False:
        return Verdict("not_equal", "tree", "different values or objects")
    return _by_sympy(gold, answer, options)


def _unparsed(gold: Prepared, answer: Prepared, reason: str) -> Verdict:
    same = words.fold(gold.words) == words.fold(answer.words) and _is_prose(gold.words)
    return Verdict("equal", "words", "the same words") if same else Verdict("undecided", "tree", reason)


def _is_prose(text: str) -> bool:
    return len(re.findall(r"[^\W\d_]{3,}", text)) >= 2 and not re.search(r"[\^_=<>+*/]|\d", text)


def _by_sympy(gold: Prepared, answer: Prepared, options: Options) -> Verdict:
    """Ask about the likeliest reading of both; the order is fixed so that both directions ask the same."""
    if not options.symbolic:
        return Verdict("undecided", "tree", "left open by the tree tier; the symbolic tier is off")
    from rewardkit.rewards.math import symbolic
    from rewardkit.rewards.math.compare import write_signs

    first, second = write_signs(gold.readings[0]), write_signs(answer.readings[0])
    if answer.key < gold.key:
        first, second = second, first
    found = symbolic.decide(first, second, options.deadline_s)
    if found.equal is None:
        return Verdict("undecided", "symbolic", found.reason, found.failure)
    return Verdict("equal" if found.equal else "not_equal", "symbolic", found.reason)
