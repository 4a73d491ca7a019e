"""A text that is one number, with a unit or not -> its value. No tolerances here.

What may stand around the number is listed, not what may not: a sign, an operator, a function or a word of
size makes it another number (`5!`, `5x`, `\\sqrt{5}`, `5 million`, `at least 5`), and such ways have no end.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from rewardkit.rewards.reading.lazy_regex import lazy_regex

_MAX_CHARS = 1_000
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUPERSCRIPT = re.compile(r"[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_LATEX = (
    (re.compile(r"\\(?:text(?:rm|bf|it)?|math(?:rm|bf|it)|rm|operatorname)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\(?:[()\[\],;:! ]|q?quad\b|left\b|right\b|displaystyle\b)"), " "),
    (re.compile(r"(?<=[\d}])~(?=[\\a-zA-Z])"), " "),
    (re.compile(r"\^?\s*\{?\\(?:circ|degree)\b\s*\}?|\^\{?°\}?"), "°"),
    (re.compile(r"\\(?:times)\b"), "×"),
    (re.compile(r"\\cdot\b|⋅"), "·"),
    (re.compile(r"\\approx\b"), "≈"),
    (re.compile(r"\\(?:Omega|ohm)\b"), "Ω"),
    (re.compile(r"\\mu\b"), "µ"),
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\^\{([-+]?\d{1,3})\}"), r"^\1"),
)  # fmt: skip
_LETTERS = r"[^\W\d_]"
_LEAD = (
    r"(?:(?:so|thus|therefore|hence),?\s+)?"
    r"(?:(?:it|this|that|there|which)\s+(?:is|are|was|were|equals)\s+"
    rf"|the\s+(?P<what>{_LETTERS}+(?:\s{_LETTERS}+){{0,6}})\s+(?:is|was|equals)\s+)?"
    rf"(?:{_LETTERS}(?:_\{{?\w{{1,8}}\}}?)?\s*(?=[=≈]))?(?:[=≈]\s*)?"
    r"(?:(?:about|approximately|approx\.?|around|roughly|exactly|precisely|only)\s+)?"
)
_VALUE = (
    r"(?P<sign>[-+]?)\s?[$€£¥]?(?P<sign2>-?)\s?(?:"
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,400})(?:\.\d{0,400})?"
    r"|\.\d{1,400})(?:[eE](?P<exponent>[-+]?\d{1,3}))?"
    r"(?:\s*[×*·xX]\s*10\s*(?:\^|\*\*)\s*\(?(?P<power>[-+]?\d{1,3})\)?)?"
    r"|10\s*(?:\^|\*\*)\s*\(?(?P<alone>[-+]?\d{1,3})\)?)(?!\d)"
)
_ONE_UNIT = rf"(?:{_LETTERS}{{1,30}}|[µΩ]{_LETTERS}{{0,5}}|°{_LETTERS}?)(?:\^\(?-?\d\)?)?"
_UNIT = (
    rf"(?P<unit>(?:\s*(?:[%‰€$£¥°]|{_ONE_UNIT}(?:\s*[·*/]\s*{_ONE_UNIT}|[-\s]{_ONE_UNIT}){{0,6}})){{0,2}})"
)
_STATED = lazy_regex(rf"{_LEAD}{_VALUE}{_UNIT}\s*(?P<end>[.!]?)", re.IGNORECASE)


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ATTACHED = _listed("""
    kg km cm mm dm nm pm µm um mg µg ug ml dl cl ms ns ps µs us min mins hr hrs sec secs lb lbs oz
    ft in yd mi mph kph kmh rpm hz khz mhz ghz kw mw gw kwh wh kj mj ev kev mev pa kpa mpa hpa atm
    bar mol mmol cal kcal rad deg db px pt gb mb kb tb usd eur gbp ohm kn mv kv ma kohm cc ha kω mω
    nc µc pc µf nf pf uf °c °f °k ° % ‰ € $ £ ¥
    """)
_ATTACHED_LETTERS = _listed("m s g h l d A V W J N C F Ω")
"""What counts as a unit right behind the digits, where a letter may be a factor (`5x`) or a size (`5k`)."""
_LETTER_UNITS = _listed("m s g h l d A K V W J N C F T L M P Q Ω Å °")
"""Units of one letter behind a blank; other letters are variables."""
_OTHER_NUMBER = lazy_regex(
    r"\b(?:hundreds?|thousands?|thsd|mio|mln|millions?|bn|mrd|billions?|trillions?|tn|dozens?|scores?"
    r"|gross|lakhs?|crores?"
    r"|squared?|cubed?|factorial|times|minus|plus|negative|modulo|mod|choose|infty|infinity|pi|sqrt|root"
    r"|log|half"
    r"|halves|thirds?|quarters?|fourths?|fifths?|tenths?|hundredths?|thousandths?|twice|doubled?|tripled?"
    r"|pairs?"
    r"|opposite|inverse|reciprocal|negat\w+|st|nd|rd|th|more|less|fewer|greater|smaller|larger|than|least"
    r"|most"
    r"|my|your|said|says?|thinks?|believes?|claims?|has it|fools?|until|till|another|naive|trick"
    r"|tempting|previous|initial|former|common|usual"
    r"|second best|kidding"
    r"|when|only|before|prior|back|(?<!-)(?<!years )(?<!months )(?<!weeks )(?<!days )old|once|then"
    r"|formerly|previously|anymore"
    r"|over|under|above|below|up|down|plus|or|nor|too|off|per\s?cent\s+of|not|no|never|wrong"
    r"|incorrect|false|if"
    r"|untrue|mistaken|but|maybe|perhaps|except|unless|instead|rather|unknown|undefined|impossible|cannot)\b|n['’]t\b"
    r"|(?:is|are|was|were|been|got)\s+(?:\w+\s+)?(?:ruled|excluded|rejected|eliminated|discarded|dismissed"
    r"|refuted"
    r"|disproved|retracted|withdrawn|considered|assumed|claimed|suggested|guessed|invalid|unlikely|doubtful)"
    r"|%\s*of\b|[一-鿿]",
    re.IGNORECASE,
)
"""What makes the number beside it another one, or none."""
_UNIT_SQUARED = re.compile(
    rf"(?<={_LETTERS})\s+(?:squared|cubed)\b|^\s+square(?=\s{_LETTERS})", re.IGNORECASE
)


def only_number(text: str) -> Decimal | None:
    """Return the value of a text that is one number, with a unit or not; None for any other text."""
    if len(text) > _MAX_CHARS or not any(map(str.isdigit, text)):
        return None
    found = _STATED.fullmatch(_plain(text))
    if found is None or not _is_unit(found["unit"]) or _OTHER_NUMBER.search(found["what"] or ""):
        return None
    if found["end"] == "!" and not found["unit"]:
        return None
    if found["unit"].strip() and (found["number"] or "").endswith("."):
        return None  # another sentence
    return _value(found)


def _plain(text: str) -> str:
    """The text without LaTeX around the number and marks around the whole."""
    text = text.replace("−", "-")
    text = _SUPERSCRIPT.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text)
    if any(sign in text for sign in "\\^{~"):
        for pattern, replacement in _LATEX:
            text = pattern.sub(replacement, text)
    text = text.strip(" \t\r\n*_`\"'")
    if len(text) > 2 and text[0] == text[-1] == "$":
        text = text[1:-1]
    return text.strip()


def _is_unit(text: str) -> bool:
    """Whether what follows the digits only says of what there are so many."""
    if not text.strip():
        return True
    if _OTHER_NUMBER.search(_UNIT_SQUARED.sub("", text)):
        return False
    words = re.findall(r"[^\s·*/^()\d-]+", text)
    if not text[0].isspace() and not (words[0].lower() in _ATTACHED or words[0] in _ATTACHED_LETTERS):
        return False
    behind_blank = words if text[0].isspace() else words[1:]
    return all(len(word) > 1 or not word.isalpha() or word in _LETTER_UNITS for word in behind_blank)


def _value(found: re.Match[str]) -> Decimal | None:
    if found["sign"] and found["sign2"]:
        return None
    digits = found["number"].replace(",", "") if found["number"] else "1"
    power = found["power"] or found["alone"] or "0"
    sign = "-" if "-" in (found["sign"], found["sign2"]) else ""
    try:
        return Decimal(f"{sign}{digits}e{int(found['exponent'] or '0') + int(power)}")
    except InvalidOperation:
        return None
