"""Which option a piece of text names: its label, its text, both, or several of them."""

from __future__ import annotations

import re
from typing import Literal

from rewardkit.rewards.choice.question import DECORATION, LATEX, ChoiceList, fold
from rewardkit.rewards.choice.weighing import left_in_force
from rewardkit.rewards.reading.denials import taken_back
from rewardkit.rewards.reading.stated import retracted
from rewardkit.rewards.reading.wordings import REST_OF_REASON, SECOND_THOUGHT, before_verb, contrasted

Named = frozenset[int] | Literal["several"] | None
"""The options that a text names; `several`: it speaks of options but commits to none; None: of none."""

_AROUND = DECORATION + "()[]"
_LEAD = re.compile(
    r"(?:(?:(?:the|la|le|el|il|lo|die|der|das|de|het|l['’]|a|o) ?)?(?:answer (?:choice|option)|option"
    r"|choice|letter"
    r"|answer|opción|opção|respuesta|resposta|risposta|réponse|lettre|letra|lettera|antwort|alternativa"
    r"|alternative"
    r"|opzione|inciso|buchstabe|antwoord|optie|odpowiedź|opcja|svar|alternativ|opsi|вариант|ответ|보기"
    r"|선택지)s?:?\s+"
    r"(?:(?:labell?ed|lettered|marked|with (?:the )?(?:label|letter))\s+(?:as\s+)?)?"
    r"|(?:选项|選項|選択肢)[:：]?\s*|(?:la|le|el|die) (?=[*_(]{0,4}[A-J]\b)"
    r"|(?-i:a|o) (?=[*_(]{0,4}[A-J][*_)]{0,4}$))?"
    r"[*_`]{0,3}(?P<open>[(\[]{0,2})[*_]{0,3}(?P<label>[A-Za-z]"
    r"|\d{1,2})[*_]{0,3}(?P<close>[)\]]{0,2})(?P<mark>[.:：、]?)(?![\w'’])",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?P<text>.{1,400}?)(?:[\s,;:–—*_-]|[(\[])\s{0,2}(?:(?:which|that|this)\s(?:is|corresponds\sto"
    r"|matches),?|i\.e\.,?|namely|(?:so|therefore|thus|hence)"
    r"(?:\s(?:I|we)\s(?:choose|pick|select|answer|mark|say|go\swith)|\s(?:my|the|our)\s(?:final\s|correct\s)?"
    r"(?:answer|choice|option|letter)\sis)?)?\s{0,2}"
    r"(?:(?:the\s)?(?:option|choice|letter|answer)\s)?[*_]{0,2}[(\[]?(?P<label>[A-J])[)\]]?[*_]{0,2}",
    re.DOTALL,
)
"""An option's text and then its label: "Paris (B)", "Paris, which is option B", "Paris, so I choose B"."""
_EXPLAINED = re.compile(r"^(?:that is|which is|i\.e\.|namely|meaning|=)[,:]?\s*", re.IGNORECASE)
_EXCLUSION = re.compile(
    r",?\s*\(?(?:and |but )?(?:not|rather than|instead of)\s+(?:option\s+)?[(\[]?[A-J][)\]]?(?!\w)", re.I
)
HEDGE = re.compile(
    r"\b(?:or|nor|not|wrong|incorrect|false|isn't|isn’t|maybe|perhaps|possibly|probably|either|neither"
    r"|unless|except|mistake|when (?:pigs|hell)|half the|only on|for half"
    r"|if|would|avoid|guess|between|otherwise|out|probability|chance|another|disagree|doubts?|misgivings"
    r"|qualms"
    r"|withdraw|retract|recant|revoke|(?:said|says) (?:nobody|no one))\b|[?？]",
    re.IGNORECASE,
)
_KNOWN_WRONG = re.compile(
    r"\W*which (?:I|we|you|they|every\w+|most|is)\b[^,.;]{0,40}\b(?:wrong|false|incorrect|untrue|a lie"
    r"|mistaken)\b",
    re.IGNORECASE,
)
_AS_WELL = re.compile(r"\W*(?:as well|too|also|likewise|equally)\W*", re.IGNORECASE)
"""After an answer: it is one of several."""
_NEGATED = re.compile(r"[\s*_`$({\[]*[!¬~]\s?[^\s!]")
"""A sign of logic denies what it stands before."""
_LIST = re.compile(r"[(\[]?([A-J])[)\]]?(?:\s*(?:,|;|&|\band\b|和|、)?\s*[(\[]?([A-J])[)\]]?)*")
_CALLED = re.compile(r"(?:(?:the )?(?:option|choice|answer)s?:? )+", re.IGNORECASE)
_BECAUSE = re.compile(
    r"\W*(?:because|since|as|due to|for the|(?:all )?(?:the )?(?:others?|rest|remaining))\b", re.IGNORECASE
)
_BECAUSE_OF = re.compile(
    r",?\s(?:because|since|due to|as (?:explained|shown|seen|it|the|we))\b", re.IGNORECASE
)
"""Opens a reason in which other options may be named."""
_DENIED_OTHER = re.compile(
    r"(?!.{0,200}\b(?:if|or|unless|only)\b)[^\n]{0,200}?(?:\b(?:not|wrong|incorrect|false|fails?|cannot)"
    r"|n['’]t)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[\s*_)\]]*[.!]\s")
_ASKED = re.compile(r"[?？][\s*_)\]}$\"”?？]*$")
_BOUNDARY = re.compile(r"\b")
_WORDS = 60
_WORD_FOLLOWS = r"(?:\s+(?!because\b|since\b|is\b|as\b|for\b|and\b|or\b|not\b)[a-z]|['’])"
_NOUN_FOLLOWS = (
    r"(?!\s+(?:also|works|fits|would|could|might|can|seems|applies|holds|does|was|has|fails)\b)"
    + _WORD_FOLLOWS
)
"""After an article; a verb follows a label."""
_LETTER = re.compile(rf"(?<![\w'’])(?:[B-HJ](?![\w'’])|A(?!\w|{_NOUN_FOLLOWS})|I(?!\w|{_WORD_FOLLOWS}))")
"""Letters that stand alone, short of the pronoun and the article."""
_NO_LETTER = re.compile(rf"A{_NOUN_FOLLOWS}|I{_WORD_FOLLOWS}")


def named(text: str, choices: ChoiceList, *, alone: bool = False) -> Named:
    """Return what a text names that is meant to name an option; `alone`: nothing says it is meant so."""
    plain = _plain(text)
    if not plain:
        return None
    if _NEGATED.match(text) or (_ASKED.search(text) and mentions(plain, choices)):
        return "several"
    whole = exactly(plain, choices)
    if whole is not None:
        return whole
    if (one := _contrasted(plain, choices)) is not None:
        return one
    if not alone and (said := _with_reason(plain, choices) or _with_sentence(plain, choices)) is not None:
        return said
    lead = _LEAD.match(plain)
    if lead is not None and _is_label(lead, plain, choices):
        rest = plain[lead.end() :].strip(DECORATION)
        rest = rest.lstrip("–—-") if rest[1:2] in (" ", "-") else rest
        if alone and rest and choices.texts and fold(rest) not in choices.texts:
            return _listed(plain, choices) or "several"
        label = choices.labels.index(lead["label"].upper())
        return _with_rest(label, rest, choices, "?" in text, lead["mark"])
    listed = _listed(plain, choices)
    if listed is not None:
        return listed
    return "several" if mentions(plain, choices) else None


def exactly(text: str, choices: ChoiceList) -> frozenset[int] | None:
    """Return the option that a text is nothing but: "(B)", "option B", "B. Paris", "Paris", "Paris (B)"."""
    plain = _plain(text)
    by_text = choices.texts.get(fold(_CALLED.sub("", plain)))
    if by_text is not None:
        return frozenset((by_text,))
    lead = _LEAD.match(plain)
    if lead is not None and _is_label(lead, plain, choices):
        label = choices.labels.index(lead["label"].upper())
        rest = plain[lead.end() :].strip(_AROUND)
        bare = not rest and "?" not in text
        return frozenset((label,)) if bare or choices.texts.get(fold(rest)) == label else None
    trailing = _TRAILING.fullmatch(plain) if choices.texts else None
    if trailing is None or trailing["label"] not in choices.labels:
        return None
    label = choices.labels.index(trailing["label"])
    return frozenset((label,)) if choices.texts.get(fold(trailing["text"])) == label else None


def _plain(text: str) -> str:
    """Without LaTeX's and Markdown's decoration."""
    if "\\" in text or "$" in text or "{" in text or "}" in text:
        text = LATEX.sub("", text)
    return before_verb(text.strip(DECORATION))


_AND_OR = re.compile(r",?\s(?:and|or|nor)\s|,\s")


def _contrasted(plain: str, choices: ChoiceList) -> frozenset[int] | None:
    """The one option of "not A but B" and "B, not A"; None where these are not two options."""
    pair = contrasted(plain)
    if pair is None:
        return None
    own = exactly(pair[0], choices)
    others = [exactly(other, choices) for other in _AND_OR.split(pair[1])]
    return own if own is not None and None not in others and own not in others else None


def _with_reason(plain: str, choices: ChoiceList) -> frozenset[int] | None:
    """The one option of "Paris, because it fits"."""
    because = _BECAUSE_OF.search(plain)  # before a dash, which may be a minus sign
    if because and (one := exactly(plain[: because.start()], choices)) is not None:
        return one
    one = exactly(REST_OF_REASON.sub("", plain), choices)
    return one if one is not None and exactly(_short_of_reason(plain, one, choices), choices) else None


def _with_sentence(plain: str, choices: ChoiceList) -> Named:
    """The one option of "Paris (B). This fits best."; None where the first sentence is not one option."""
    first, stop, rest = plain.partition(". ")
    own = exactly(first, choices) if stop and len(first) > 1 else None
    if own is None:
        return None
    others = _mentioned(rest, choices) - own
    doubted = SECOND_THOUGHT.match(rest) or taken_back(rest, 0) or (others and not _DENIED_OTHER.match(rest))
    return own if not doubted and left_in_force(own, rest + ".", choices) else "several"


def _is_label(lead: re.Match[str], plain: str, choices: ChoiceList) -> bool:
    """Whether a leading letter is a label: a small one only if it stands alone or is marked as one."""
    label = lead["label"]
    if label.upper() not in choices.labels:
        return False
    if _NO_LETTER.match(plain, lead.start("label")):
        return False
    if label.isupper() or label.isdecimal():
        return True
    return bool(lead["close"] or lead.end() == len(plain) or lead.start("label") > len(lead["open"]))


def _with_rest(label: int, rest: str, choices: ChoiceList, asked: bool, mark: str) -> Named:
    """A label and what follows it: nothing, the option's own text, a reason, a sentence about it."""
    own = frozenset((label,))
    if not rest:
        return "several" if asked else own
    by_text = choices.texts.get(fold(_EXPLAINED.sub("", rest, count=1).strip(_AROUND)))
    if by_text is not None:
        return own if by_text == label else "several"
    after_own = _after_own_text(rest, label, choices)
    if taken_back(after_own, 0) or (mark == "." and retracted(rest, 0)):
        return "several"
    if mark == "." and (rest == after_own or _SENTENCE_END.match(after_own)):  # "B. Paris is wrong"
        return own if not SECOND_THOUGHT.match(rest) and left_in_force(own, after_own, choices) else "several"
    claim = _EXCLUSION.sub("", _short_of_reason(after_own, own, choices))
    if not claim.strip(_AROUND):
        return own
    if HEDGE.search(claim) or _AS_WELL.fullmatch(claim) or _mentioned(claim, choices) - own:
        listed = _listed(choices.labels[label] + " " + rest, choices)
        return listed if listed is not None else "several"
    return own if claim == after_own or left_in_force(own, claim + ".", choices) else "several"


def _after_own_text(rest: str, label: int, choices: ChoiceList) -> str:
    """What follows an option's own text, where a text begins with it."""
    for end in [match.start() for match in _BOUNDARY.finditer(rest)][:_WORDS]:
        if choices.texts.get(fold(rest[:end])) == label:
            return rest[end:]
    return rest


def _short_of_reason(text: str, own: frozenset[int], choices: ChoiceList) -> str:
    """A text without the reason that it ends with: what takes the answer back is none."""
    claim = REST_OF_REASON.sub("", text)
    reason = text[len(claim) :]
    if taken_back(reason, 0) or SECOND_THOUGHT.match(reason) or _KNOWN_WRONG.match(reason):
        return text
    cut_apart = _mentioned(text, choices) - _mentioned(claim, choices) - _mentioned(reason, choices)
    if cut_apart:
        return text  # an option such as "It stays as it is"
    return claim if _BECAUSE.match(reason) or not _mentioned(reason, choices) - own else text


def _listed(plain: str, choices: ChoiceList) -> Named:
    """Several labels and nothing else (`A, C and D`, `ACD`): all of them."""
    if _LIST.fullmatch(plain) is None:
        return None
    labels = [letter for letter in plain if letter in choices.labels]
    found = frozenset(choices.labels.index(letter) for letter in labels)
    return found if len(found) == len(labels) > 1 else "several"


def is_list(line: str) -> bool:
    """Whether a line is labels and nothing else."""
    return _LIST.fullmatch(_plain(line)) is not None


def mentions(text: str, choices: ChoiceList) -> bool:
    """Whether labels or options' texts stand in a text."""
    return bool(_mentioned(text, choices))


def _mentioned(text: str, choices: ChoiceList) -> set[int]:
    """The options whose labels or texts stand in a text; of texts within one another the longest."""
    found = {choices.labels.index(letter) for letter in _LETTER.findall(text) if letter in choices.labels}
    folded = f" {fold(text)} "
    for option, index in sorted(choices.texts.items(), key=lambda item: -len(item[0])):
        if f" {option} " in folded:
            found.add(index)
            folded = folded.replace(f" {option} ", "  ")
    return found
