"""Reads answers in English or Chinese words: choice letters, yes and no, names, weekdays, times, synonyms."""

from __future__ import annotations

import re
import unicodedata

from rewardkit.rewards.math.reading.macros import FONTS

_SYNONYMS = {
    "no solution": "no solutions|no solution exists|no real solution|no real solutions|there is no solution|"
    "there are no solutions|has no solution|nosolution|无解|empty set|the empty set|emptyset|none|空集|"
    "no solutions exist|no such number|nonexistent solution|no real roots|no roots",
    "does not exist": "dne|doesn't exist|do not exist|不存在|nonexistent|does not exists",
    "undefined": "not defined|is undefined|无意义|未定义",
    "infinity": "infinite|positive infinity|+infinity|正无穷|无穷大|正无穷大|infty|inf|∞",
    "negative infinity": "-infinity|minus infinity|负无穷|负无穷大",
    "infinitely many": "infinitely many solutions|infinite solutions|infinite number of solutions|无数个|"
    "无穷多|无数|infinite many|an infinite number|无穷多个",
    "all real numbers": "all reals|all real number|any real number|every real number|全体实数|所有实数|"
    "任意实数|the set of all real numbers|reals|the real numbers",
    "all positive real numbers": "all positive reals|all positive real number|positive real numbers|"
    "any positive real number|every positive real number|positive reals|the set of all positive real numbers|"
    "全体正实数|所有正实数|任意正实数|正实数",
    "all negative real numbers": "all negative reals|negative real numbers|any negative real number|"
    "every negative real number|negative reals|the set of all negative real numbers|全体负实数|所有负实数",
    "all nonnegative real numbers": "all nonnegative reals|all non negative real numbers|"
    "all non negative reals|nonnegative real numbers|non negative real numbers|any nonnegative real number|"
    "nonnegative reals|the set of all nonnegative real numbers|全体非负实数|所有非负实数|非负实数",
    "all nonpositive real numbers": "all nonpositive reals|all non positive real numbers|"
    "all non positive reals|nonpositive real numbers|non positive real numbers|全体非正实数|所有非正实数",
    "all nonzero real numbers": "all nonzero reals|all non zero real numbers|all non zero reals|"
    "nonzero real numbers|non zero real numbers|any nonzero real number|全体非零实数|所有非零实数|非零实数",
    "all integers": "integers|any integer|every integer|all the integers|全体整数|所有整数|任意整数",
    "yes": "是|是的|对|可以|能",
    "no": "否|不是|不能|不可以",
    "true": "正确|correct|真",
    "false": "错误|incorrect|错|假",
    "even": "偶数|偶|an even number|even number",
    "odd": "奇数|奇|an odd number|odd number",
    "monday": "mon|星期一|周一", "tuesday": "tue|tues|星期二|周二", "wednesday": "wed|星期三|周三",
    "thursday": "thu|thur|thurs|星期四|周四", "friday": "fri|星期五|周五", "saturday": "sat|星期六|周六",
    "sunday": "sun|星期日|星期天|周日",
    "max": "maximum",
    "min": "minimum",
    "neither": "neither even nor odd|neither odd nor even|非奇非偶",
}  # fmt: skip
_CANONICAL = {variant: name for name, row in _SYNONYMS.items() for variant in (name, *row.split("|"))}
_ARTICLES = re.compile(r"(?:\b(?:[Tt]he|THE|an|a)|\A(?:An?))\b (?=[^\W\d_]{2,})(?!(?:and|or|AND|OR)\b)")
"""Pattern of an article before another word. A letter that is a choice or a name is not an article."""
_PUNCTUATION = re.compile(r"[\s\-_.,;:!?'\"`*~{}()\[\]$\\]+")
_COMMAND = re.compile(rf"\\(?:{'|'.join(sorted(FONTS))})(?![a-zA-Z])")
_SPACE = re.compile(r"\\[ ,()\[\]]")
"""Pattern of spaces and of the delimiters of mathematics."""
_CHOICE = re.compile(
    r"^(?:(?:so |thus |hence )?(?:the )?(?:correct |right |best |final )?(?:option|choice|answer)(?: is)?"
    r"|选项|选|答案)?\s*[:：]?\s*[\(\[（]?\s*([A-Ja-j])\s*[\)\]）]?\s*[.:：。]?$",
    re.IGNORECASE,
)
_LED_CHOICE = re.compile(
    r"^(?:[\(\[（]\s*([A-J])\s*[\)\]）](?=[^\S\n]|\\)|([A-J])\s*[.:：)）](?=[^\S\n]|\\|[^\x00-\x7f]))\s*(?P<rest>[^\s,;].*)$",
    re.DOTALL,
)
_CIRCLED = re.compile(r"[①-⑳]")
_CLOCK = re.compile(
    r"^(\d{1,2})\s*[:：]\s*(\d{2})(?:\s*[:：]\s*(\d{2}))?\s*(?:([ap])\s*\.?\s*m?\s*\.*|o'?clock)?$",
    re.IGNORECASE,
)
_NAMED_HOUR = re.compile(r"^(?:12(?::00)?\s*)?(noon|midnight)$", re.IGNORECASE)
_HOUR = re.compile(r"^(\d{1,2})\s*(?:([ap])\s*\.?\s*m\s*\.?|o'?clock)$", re.IGNORECASE)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS)
_DATE_FORMS = (
    re.compile(
        rf"^(?P<m>{_MONTH})\.? ?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,? ?(?P<y>\d{{4}}))?$", re.IGNORECASE
    ),
    re.compile(
        rf"^(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})\.?(?:,? ?(?P<y>\d{{4}}))?$",
        re.IGNORECASE,
    ),
    re.compile(r"^(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})$"),
    re.compile(r"^(?:(?P<y>\d{4})年)?(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]$"),
)


def unwrap(text: str) -> str:
    """Return the words of an answer without LaTeX text commands, braces or surrounding punctuation."""
    if "\\" in text:
        text = _SPACE.sub(" ", _COMMAND.sub(" ", text))
    text = text.replace("~", " ").replace("{", " ").replace("}", " ").replace("$", " ")
    joined = " ".join(text.split())
    edges = ' .,;:!。，；：*`"' if _PRIMED.fullmatch(joined) else " .,;:!。，；：*`\"'"
    return joined.strip(edges).rstrip("\\")


_PRIMED = re.compile(r"[^'‘’`\"].*(?<![^\W\d_]{3})['’′]+[ .,;:!]*")
"""Pattern of a primed name such as `A'`, which differs from `A`. The mark neither closes a quotation nor
follows a longer word."""


def fold(text: str, *, keep_case: bool = False) -> str:
    """Return words in a form for comparison, without articles, accents, punctuation or spaces.

    All synonyms have the same form. Case is folded unless `keep_case` is true.
    """
    words = _ARTICLES.sub("", " ".join(_PUNCTUATION.sub(" ", text).split()))
    words = words if keep_case else words.casefold()
    canonical = _CANONICAL.get(words) or _CANONICAL.get(text.strip().casefold())
    if canonical:
        return canonical
    if not words.isascii():
        words = "".join(c for c in unicodedata.normalize("NFKD", words) if not unicodedata.combining(c))
    return words.replace(" ", "")


def case_matters(a: str, b: str) -> bool:
    """Return True if two texts are short and differ in case, such as `Co` and `CO` or `AaBb` and `aabb`."""
    if a == b or not (a.isascii() and b.isascii()) or " " in a or a.casefold() in _SHORT:
        return False
    length = max(len(a), len(b))
    mixed = any(not (word.islower() or word.isupper() or word.istitle()) for word in (a, b))
    return length <= _SHORTEST_WORD or (mixed and length <= _LONGEST_FORMULA)


_SHORTEST_WORD = 3
_LONGEST_FORMULA = 6
_SHORT = frozenset({"yes", "no", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "dne", "odd", "all"})


def same(a: str, b: str) -> bool:
    """Return True if two texts consist of the same words."""
    return fold(a) == fold(b) and not case_matters(a, b)


def is_truth(text: str) -> bool:
    """Return True if a text is a truth value: true, false, yes or no."""
    return fold(text) in ("true", "false", "yes", "no")


def is_known_phrase(text: str) -> bool:
    """Return True if a text is a phrase with known synonyms, such as "all reals" or "no solution"."""
    return " " in text and text.strip().casefold() in _CANONICAL


def choice(text: str) -> str | None:
    """Return the letter of a multiple-choice answer (`B`, `(B)`, `B.`, `Option b`), or None."""
    found = _CHOICE.match(text)
    return found.group(1).upper() if found else None


def led_choice(text: str) -> tuple[str, str] | None:
    """Return the letter and the content of a choice (`(B) 12`, `B. 12`), or None."""
    found = _LED_CHOICE.match(text)
    return ((found.group(1) or found.group(2)).upper(), found.group("rest")) if found else None


def choice_run(text: str) -> tuple[str, ...] | None:
    """Return the letters of choices without separators, such as `ABD`, or None if they do not ascend."""
    run = tuple(text)
    return run if 1 < len(run) < 8 and set(run) <= set(_LISTED) and list(run) == sorted(set(run)) else None


_LISTED = "ABCDEFGH"
"""Letters of choices in a list. `I` and `J` are excluded because they are also numbers and variables."""
_LISTING = re.compile(r"[,、，]| and ")
_BRACKETED_LETTER = re.compile(rf"\(([{_LISTED}])\)")


def choice_list(text: str, source: str) -> tuple[str, ...] | None:
    """Return the sorted letters of a list of choices, such as `A, B and D` or `(A) and (D)`, or None.

    If `source` is LaTeX, adjacent letters are a product and not a list.
    """
    if "\\" in source and _LISTING.search(text) is None:
        return None
    text = _BRACKETED_LETTER.sub(r"\1", text)
    letters = text.replace(" and ", ",").replace("、", ",").replace("，", ",").replace(" ", ",").split(",")
    found = tuple(sorted(letter for letter in letters if letter))
    return found if len(found) > 1 and all(len(x) == 1 and x in _LISTED for x in found) else None


def circled(text: str) -> str | None:
    """Return circled digits, such as `②③`, as a list in plain digits, or None for any other text."""
    marks = _CIRCLED.findall(text)
    rest = _CIRCLED.sub("", text).strip(" ,、，和and.。")
    if not marks or rest:
        return None
    return ",".join(str(ord(mark) - ord("①") + 1) for mark in marks)


def clock(text: str) -> tuple[int, str] | None:
    """Return the minutes and the half of the day (`a`, `p` or "") for a time such as `4:30 p.m.`, or None.

    The minutes count from midnight, or from noon if the half of the day is `p`.
    """
    text = text.strip()
    if (named := _NAMED_HOUR.match(text)) is not None:
        return 0, "p" if named[1].casefold() == "noon" else "a"
    found = _CLOCK.match(text)
    if found:
        hour = int(found[1])
        minute = int(found[2])
        mark = (found[4] or "").lower()
    else:
        found = _HOUR.match(text)
        if not found:
            return None
        hour = int(found[1])
        minute = 0
        mark = (found[2] or "").lower()
    if hour > 24 or minute > 59:
        return None
    return (hour % 12 if mark else hour) * 60 + minute, mark


def date(text: str) -> tuple[int | None, int, int] | None:
    """Return the year (None if missing), month and day of a date, or None if the text is not a date."""
    for form in _DATE_FORMS:
        found = form.match(text.strip())
        if found:
            month = found["m"]
            number = int(month) if month.isdigit() else 1 + [m[:3] for m in _MONTHS].index(month[:3].lower())
            day = int(found["d"])
            year = found["y"]
            if 1 <= number <= 12 and 1 <= day <= 31:
                return (int(year) if year else None), number, day
    return None
