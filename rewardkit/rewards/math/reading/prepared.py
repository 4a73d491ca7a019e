"""One side of a comparison: its text in canonical spelling, and the tree of that text.

The tree depends only on the text, never on the other side. This module compares nothing.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cached_property, lru_cache

from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS, TooLarge, Unparsable
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading import text as words
from rewardkit.rewards.math.reading.extraction import Extraction, extract
from rewardkit.rewards.math.reading.normalise import clean
from rewardkit.rewards.math.reading.parts import parts_of
from rewardkit.rewards.math.reading.residues import congruence_in_words
from rewardkit.rewards.math.reading.spelled import spelled_number
from rewardkit.rewards.math.reading.words import is_formula
from rewardkit.rewards.math.tree.nodes import (
    App,
    Based,
    Const,
    Date,
    Logic,
    Node,
    Num,
    Part,
    Quantity,
    Seq,
    SetOp,
    Sym,
    Text,
    Time,
    negate,
)

_CACHED_ANSWERS = 4_096
_KEPT_CHARS = 400
"""Length of the longest text that is cached. The limit stops hostile answers from filling the memory."""


class PreparedAnswer:
    """One side of a comparison, cleaned on creation and parsed when its tree is first needed.

    Instances are cached, so they must not be changed.
    """

    def __init__(self, source: str, text: str, kind: str = "") -> None:
        self.kind = kind
        """Kind of answer that the dataset specifies (`number`, `list` or `text`), or empty."""
        self.source = source
        """Text as written in the box, tags or ground truth."""
        self.text = text
        """Text in canonical spelling."""
        spaced = len(text) > MAX_ANSWER_CHARS or _DIGIT_GAP.search(text)
        self.key = text if spaced else text.replace(" ", "")

    @cached_property
    def number(self) -> Num | None:
        """Return the value of the text, or None if the text is not a plain number."""
        if self.kind == "text" or (self.kind == "list" and "," in self.text):
            return None
        found = _plain_number(self.text)
        return self.as_decimal() if found is None and self.kind == "number" else found

    @cached_property
    def words(self) -> str:
        return words.unwrap(self.source)

    @cached_property
    def choice(self) -> str | None:
        return words.choice(self.words)

    @cached_property
    def led_choice(self) -> tuple[str, str] | None:
        """Return the letter and the content of a choice such as `(B) 12`, or None for any other text."""
        return words.led_choice(self.words) if self._parts is None else None

    @cached_property
    def is_wordy(self) -> bool:
        """Return True if the text consists of words."""
        return (
            not is_formula(self.words)
            and bool(_WORDY.fullmatch(self.words))
            and (len(self.words) > 1 or not self.words.isascii())
        )

    @cached_property
    def reading(self) -> Node | None:
        """Return the tree of the text, or None if the grammar does not cover a part of the text."""
        return self._parsed[0]

    @cached_property
    def problem(self) -> str:
        """Return the reason why the text has no tree, or "" if it has a tree."""
        return self._parsed[1]

    @cached_property
    def is_list(self) -> bool:
        """Return True if the answer has several unordered values: a bare list, set, union or alternatives."""
        reading = self.reading
        loose = isinstance(reading, Seq) and reading.opening in ("", "{")
        return loose or isinstance(reading, (SetOp, Logic))

    @cached_property
    def _parsed(self) -> tuple[Node | None, str]:
        if self.kind == "text":
            return None, "answer_kind is text"
        if self.kind == "number" and self.number is not None:
            return self.number, ""
        # Most answers are whole numbers. This shortcut reads them ten times as fast as the grammar.
        if self.source == self.text and _WHOLE.fullmatch(self.text):
            return Num(int(self.text)), ""
        if (parts := self._parts) is not None:
            return parts, ""
        special = _special(self.words, self.text)
        if special is not None:
            return special, ""
        if _RESIDUES.search(self.words) and (congruence := congruence_in_words(self.words)):
            return _tree(congruence)
        problem = ""
        own = self.text if self.kind == "list" else _spelled(self.text)
        for spelling in (*_worded_spellings(self.text, self.words), own):
            tree, problem = _tree(spelling)
            if tree is not None:
                break
        listed = isinstance(tree, Logic) and tree.op in ("both", "either")
        loose = self._is_phrase and not listed and not isinstance(tree, (Seq, Sym, Const, Quantity))
        if loose or (self.is_wordy and self._has_meaning):
            return Text(self.words), ""
        return tree, problem

    @cached_property
    def _parts(self) -> Node | None:
        """Return the answers to the parts of a question as a tuple.

        Return None if the text has no parts or a part cannot be parsed.
        """
        if self.kind or len(self.text) > MAX_ANSWER_CHARS:
            return None
        found = [(part.label, prepare(part.text).reading) for part in parts_of(self.text)]
        items = tuple(Part(label, reading) for label, reading in found if reading is not None)
        return Seq("(", ")", items) if items and len(items) == len(found) else None

    @property
    def _is_phrase(self) -> bool:
        """Return True if the text consists of words and is too long to be a product of variables."""
        return self.is_wordy and len(self.words) > 3

    @property
    def _has_meaning(self) -> bool:
        """Return True if the words denote a value: a spelled number or a phrase such as "all reals"."""
        return spelled_number(self.words) is not None or words.is_known_phrase(self.words)

    def as_decimal(self) -> Num | None:
        """Return the value of a text with a decimal comma, such as `1000,99`, or None for any other text.

        Only a ground truth such as 1000.99 justifies this reading.
        """
        return _plain_number(self.text.replace(",", ".")) if _DECIMAL_COMMA.fullmatch(self.text) else None


def _tree(spelling: str) -> tuple[Node | None, str]:
    from rewardkit.rewards.math.reading.parse import parse

    if len(spelling) > MAX_ANSWER_CHARS:
        return None, "too long"
    try:
        return parse(spelling), ""
    except (Unparsable, TooLarge) as error:
        return None, str(error)
    except (ValueError, RecursionError, OverflowError, IndexError) as error:
        return None, type(error).__name__


_WHOLE = re.compile(r"[0-9]{1,18}")
_DIGIT_GAP = re.compile(r"\d \d|\d, \d{3}(?!\d)")
_WORDY = re.compile(r"[^\W\d_][^\W\d_\s]*(?:[\s'’,.-]+[^\W\d_]+)*[.!]?")
_PLAIN = re.compile(r"([-+]?)\s?(\d+|\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+)?(?:\.(\d+))?")
_PLAIN_FRACTION = re.compile(
    r"(-?)\\frac ?(?:\{(-?)(\d{1,18})\}|(\d)) ?(?:\{(\d{1,18})\}|(\d))|(-?)(\d{1,18}) ?/ ?(\d{1,18})"
)


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


_RESIDUES = re.compile(r"\b(?:odd|even|remainders?|congruent)\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,]\d)(?!\d)")
_SPACED_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?: \d{3})+(?![\d.]*\d)")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_SMALL_DECIMAL = re.compile(r"[-+]?0,\d{3,}")
"""Pattern of a number with a decimal comma after a zero, which cannot be grouped digits."""
_GROUPS_AND_BRACKETS = re.compile(
    rf"(?P<number>{_THOUSANDS.pattern})|(?P<open>\\langle|\\\{{|[(\[{{])"
    r"|(?P<close>\\rangle|\\\}|[)\]}])|(?P<spaced>, )"
)
_LIST_BRACKETS = ("(", "[", "\\{", "\\langle")


def _spelled(text: str) -> str:
    """Return the text with grouped digits joined.

    `1,234` is a number unless brackets make it a list.
    """
    if len(text) > MAX_ANSWER_CHARS:
        return text
    if " " in text and _SPACED_THOUSANDS.fullmatch(text.lstrip("+-$ ")):
        return text.replace(" ", "")
    if _SMALL_DECIMAL.fullmatch(text):
        return text.replace(",", ".")
    if "," not in text or _THOUSANDS.search(text) is None:
        return text
    commas: set[int] = set()
    levels = [_Level("")]
    for found in _GROUPS_AND_BRACKETS.finditer(text):
        if found["number"]:
            levels[-1].commas += [at for at in range(*found.span()) if text[at] == ","]
        elif found["open"]:
            levels.append(_Level(found["open"]))
        elif found["spaced"]:
            levels[-1].spaced = True
        elif len(levels) > 1:
            commas.update(levels.pop().joined())
    for level in levels:
        commas.update(level.joined())
    return "".join(char for at, char in enumerate(text) if at not in commas)


class _Level:
    """Commas between digits within one pair of brackets, and whether a space follows any comma."""

    def __init__(self, bracket: str) -> None:
        self.bracket = bracket
        self.commas: list[int] = []
        self.spaced = False

    def joined(self) -> list[int]:
        """Return the positions of commas that group digits: two in `(1,000, 2,000)`, none in `(46,204)`."""
        return [] if self.bracket in _LIST_BRACKETS and not self.spaced else self.commas


_FOR_ALL = re.compile(
    r"(?:,|\\text ?\{,?)? ?(?:\bfor (?:all|any|every|each)\b|\\forall)(?! \w+ (?:except|but))[^=<>]*$"
)
_EXCEPT = re.compile(
    r"all (?:reals|real (?:numbers|values))(?: \w)? (?:except|other than)(?: for)? ", re.IGNORECASE
)
_ABOUT = re.compile(
    r"(?<=\S)(?:,? ?\\text ?\{)?,? ?\( ?(?:about|approximately|approx\.?|roughly|around) ?(?:\} ?)?"
    r"(?P<value>\d[\d.,]*)(?: [a-zA-Z]{1,12})?\)\}?\.?$"
)
r"""Pattern of a closing `\text{(about }18.9)`, which approximates the value before it."""


def _worded_spellings(text: str, plain: str) -> list[str]:
    """Return alternative spellings of a text with words, to be tried before the text itself.

    The spellings turn "(about 18.9)" into an approximation, "where n is an integer" into an item of a list,
    and "all real numbers except 1" into a set. They omit a closing "for all n".
    """
    found = []
    if text.endswith((")", ")}")) and (about := _ABOUT.search(text)) is not None:
        found.append(_spelled(f"{text[: about.start()]} \\approx {about['value']}"))
    if _may_declare(text) and (declared := _integer_declared(text)):
        found.append(_spelled(declared))
    if "for" in text:
        shorter = _FOR_ALL.sub("", text)
        found += [_spelled(shorter)] if shorter != text else []
    if "all real" in text.casefold():
        excluded = _EXCEPT.sub("", plain)
        found += [f"\\mathbb{{R}}\\setminus\\{{{clean(excluded)}\\}}"] if excluded != plain else []
    return found


_TEXT_GROUP = re.compile(r"\\text ?\{([^{}]*)\}")
_INTEGER = re.compile(
    r"(?:(?<![A-Za-z]{3})(?<![A-Za-z]{3} )|(?<=circ)|(?<=circ ))[\s,;(]*(?<![A-Za-z])"
    r"(?:(?:where|with|for|and|all|any|every|each|some|\\forall) ?){0,3}"
    r"(?:(?P<before>[a-zA-Z]) (?:is |= )?(?:an |any |some )?(?:arbitrary )?integer"
    r"|(?:(?:any|all|every|each|some|an) )?integers? (?:values? (?:of )?)?(?P<after>[a-zA-Z])"
    r"|(?P<within>[a-zA-Z]) ?\\in ?\\math(?:bb|bf|rm) ?(?:\{[{ ]{0,4}Z[ }]{0,4}\}|Z)"
    r"|(?P<counted>[a-zA-Z]) ?= ?0(?: ?, ?(?:\\pm ?[1-9])+){1,4} ?, ?\\ldots)[\s).]*$"
)
r"""Pattern of a closing declaration of an integer: `(n \in \mathbb{Z})`, `n = 0, \pm 1, \ldots`."""


def _may_declare(text: str) -> bool:
    return "integer" in text or "\\ldots" in text or ("\\math" in text and "\\in" in text)


def _integer_declared(text: str) -> str:
    r"""Return the text with its closing declaration of an integer as the last item of a list.

    The declaration is "where n is an integer" or "(n \in \mathbb{Z})". Return "" if the text has none.
    """
    plain = " ".join(_TEXT_GROUP.sub(r" \1 ", text).split())
    found = _INTEGER.search(plain)
    if found is None or not plain[: found.start()].strip(" ("):
        return ""
    return f"{plain[: found.start()]}, {found[found.lastgroup or 0]} \\in \\mathbb{{Z}}"


_DIVISION = re.compile(r"(\d{1,18}) (?:[Rr]|rem(?:ainder|\.)?) ?(\d{1,18})")
"""Pattern of a quotient with its remainder: `17 R 3`."""


def _special(text: str, canonical: str) -> Node | None:
    """Parse an answer in a notation outside the grammar, or return None.

    The text is in words without commands.

    These notations are clock times, numerals in a stated base, dates, quotients with a remainder and circled
    digits.
    """
    if len(text) > 40:
        return None
    time = words.clock(text) if _TIMELY.search(text) else None
    if time is not None and (time[1] or _looks_like_clock(text)):
        return Time(*time)
    if _MAY_HAVE_BASE.search(canonical) and (found := _numeral(words.unwrap(canonical))) is not None:
        return found
    day = words.date(text)
    if day is not None:
        return Date(*day)
    division = _DIVISION.fullmatch(text)
    if division is not None:
        return App("remainder", (Num(int(division[1])), Num(int(division[2]))))
    marks = words.circled(text)
    return Seq("", "", tuple(Num(int(m)) for m in marks.split(","))) if marks else None


_BASED = re.compile(
    r"(?P<sign>-?) ?\(? ?(?P<inner>-?)(?P<digits>[0-9A-Fa-f]{1,30}(?:\.[0-9A-Fa-f]{1,30})?) ?\)? ?"
    r"(?:_ ?\(? ?(?:base[- ]?)?|\(?(?:in )?base[- ])(?P<base>[a-z]{3,11}|\d{1,2})\)?"
)
"""Pattern of a numeral in a stated base: `(1A)_{16}`, `1011 (base 2)`, `11_\\text{two}`."""


_MAY_HAVE_BASE = re.compile(r"_|base|0[bBoOxX]")
_PREFIXED = re.compile(r"0(?P<prefix>[bBoOxX])(?P<digits>[0-9A-Fa-f]{1,60})")
_PREFIXES = {"b": 2, "o": 8, "x": 16}


def _numeral(text: str) -> Node | None:
    """Return a numeral whose base is stated by a subscript, in words or by a prefix, or None."""
    if (prefixed := _PREFIXED.fullmatch(text)) is not None:
        return Based(prefixed["digits"].upper(), _PREFIXES[prefixed["prefix"].lower()])
    found = _BASED.fullmatch(text)
    if found is None:
        return None
    in_words = not found["base"].isdigit()
    spelled = spelled_number(found["base"]) if in_words else found["base"]
    base = int(spelled) if spelled is not None else 0
    digits = found["digits"].upper()
    # `EB_{16}` may be a variable.
    certain = in_words or "base" in text or any(map(str.isdigit, digits))
    numeral: Node = Based(digits, base)
    numeral = negate(numeral) if (found["sign"] == "-") != (found["inner"] == "-") else numeral
    return numeral if 2 <= base <= 36 and certain else None


_TIMELY = re.compile(r":|m|clock|noon", re.IGNORECASE)


def _looks_like_clock(text: str) -> bool:
    """Return True if a text looks like a time, such as `12:00`, `4:05` or `4:30`, rather than a ratio.

    `4:30` could also be a ratio, but the comparison has the same result in both cases.
    """
    minutes = text.strip().partition(":")[2]
    return len(minutes) == 2 and (minutes.startswith("0") or minutes in ("15", "30", "45"))


def prepare(source: str, kind: str = "") -> PreparedAnswer:
    """Return a text prepared for comparison. The last few thousand results are cached."""
    return _prepare_kept(source, kind) if len(source) <= _KEPT_CHARS else _prepare(source, kind)


def prepare_answer(extraction: Extraction, kind: str = "") -> PreparedAnswer:
    """Return an extracted answer prepared for comparison, without searching it for a box or marker again."""
    answer = extraction.answer
    assert answer is not None
    if len(answer) <= _KEPT_CHARS:
        return _prepare_extracted(answer, kind)
    return PreparedAnswer(answer, _cleaned(answer), kind)


def _prepare(source: str, kind: str) -> PreparedAnswer:
    inner = _answer_within(source)
    return PreparedAnswer(inner, _cleaned(inner), kind)


def _cleaned(text: str) -> str:
    return clean(text) if len(text) <= 4 * MAX_ANSWER_CHARS else text


_prepare_kept = lru_cache(maxsize=_CACHED_ANSWERS)(_prepare)


@lru_cache(maxsize=_CACHED_ANSWERS)
def _prepare_extracted(answer: str, kind: str) -> PreparedAnswer:
    return PreparedAnswer(answer, _cleaned(answer), kind)


_SENTENCE = re.compile(r"(?:\b[^\W\d_]{2,}[\s,]+){5}")
_WORKED = re.compile(
    r"\d[^=\n]{0,12}= ?[\d*]|\d\*\*"
    r"|\n[^\S\n]*\S{0,3}\d[\d.,]*\s*$|(?:\bis|=|\best|[是为有]) ?\S{0,3}\d[\d.,]*\S{0,6}\s*$"
)
_PROSE = re.compile(r"[\u0370-\uffef]{4}|\b[^\W\d_]{3,} [a-z]{2,}|[。；]|\. [A-Z]")
_EMPTY_BOX = re.compile(r"\$*\\(?:boxed|fbox) ?\{\s*\}\$*")
_LOOKED_AT = 4_000


_STATED_METHODS = MathOptions(methods=("tags", "boxed", "marker", "display", "inline"))
_WORKED_METHODS = MathOptions()
"""Extraction methods for sentences that compute a result. In other sentences, the last number is not the
answer: `all multiples of 4` is not 4."""


def _answer_within(source: str) -> str:
    """Return the answer in a ground truth or bare answer.

    The answer is the content of a box, the text after "final answer", or the whole text.
    """
    if len(source) < 7:
        return source
    if "\\" in source and ("boxed{" in source or "\\boxed" in source or "\\fbox" in source):
        found = extract(source, MathOptions(methods=("boxed",)))
        if found.answer is not None:
            return ", ".join(found.parts) or found.answer
        return "" if _EMPTY_BOX.fullmatch(source.strip()) else source
    if "inal answer" in source:
        found = extract(source, MathOptions(methods=("marker",)))
        return found.answer if found.answer is not None else source
    return source


def prepare_statement(source: str) -> PreparedAnswer | None:
    """Return the answer that a text in prose states, or None if the text is not prose or states no answer.

    Use this only for answers. A ground truth in prose is compared as a whole.
    """
    if len(source) < 7:
        return None
    stated = source.partition(" because ")[0] if len(source) <= _LOOKED_AT else source
    end = stated[-_LOOKED_AT:]
    worked = _WORKED.search(end) is not None
    prose = _SENTENCE.search(end) or (worked and _PROSE.search(end))
    if prose or "answer" in end.casefold() or "答案" in end:
        found = extract(stated, _WORKED_METHODS if worked else _STATED_METHODS)
        return None if found.answer is None else prepare_answer(found)
    return prepare(stated) if stated != source else None


def clear_caches() -> None:
    """Clear the caches of prepared answers, so that parsing can be timed."""
    _prepare_kept.cache_clear()
    _prepare_extracted.cache_clear()
