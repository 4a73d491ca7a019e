"""Which option a response commits to where it announces none: its options marked for `commitment`."""

from __future__ import annotations

import re
from functools import lru_cache

from rewardkit.rewards.choice.question import ChoiceList
from rewardkit.rewards.reading.clause_words import CANDIDATES, X
from rewardkit.rewards.reading.commitment import committed
from rewardkit.rewards.reading.other_languages import between_scripts

_MAX_READ = 6_000
"""Characters at the end that are weighed."""
_LABEL = re.compile(
    r"(?<![\w+/-])(?<!\w['’])(?:(?P<open>[(\[])\s?)?(?P<label>[A-J])(?(open)\s?[)\]]|\)?)(?![\w+/-]|['’]\w)"
)
_ARTICLE_NEXT = re.compile(r"\s+[a-z]|['’]")
_LABELLED = re.compile(
    r"(?:option|choice|answer|letter|pick|with|is|it's|say|choose|select)\W{1,3}$", re.IGNORECASE
)
_VERB_NEXT = re.compile(
    r"\s+(?:the|my|is|was|seems|fits|and|or|because|since|as|for|looks|would|could|might|can|must|has|works"
    r"|it"
    r"|ist|est|es|out|off|here|lol|lmao|haha|tbh|imo|ngl|btw|nails|ticks|checks|beats|takes|gets|covers"
    r"|oder|und|kommen|sind|als|et|ou|sont|conviennent|y|como|son (?:correct|posibl|válid|posíb)\w+|che"
    r"|sono|vanno|quanto|são|zijn|komen|que|en|of|o|e"
    r"|hits|makes|describes|satisfies|captures|explains|suits"
    r"|wins|matches|does|are|over|yes|yep|no|nor|nope|nah|meh|holds|remains|stands|on|at|in|but|not|then|too"
    r"|instead|rather|cannot|should|may|(?:is|are|was|ca|do|does|wo|would|could|should)n['’]t)\b"
)
_PRONOUN_NEXT = re.compile(r"\s+(?:was|would|could|might|can|must|has|have|had|am|do|did|and|or)\b")
_SMALL = re.compile(
    r"(?P<lead>\b(?:it'?s|is|answer|choose|pick|picking|with|say|option|choice|for|on|select|be|so|then"
    r"|def|definitely)\s\(?|^)(?P<label>[a-j])(?=[)\s]*(?:[.!,]|$|\s(?:no|for|all|lol|is|because|cuz|bc"
    r"|imo|obviously|definitely)\b))",
    re.MULTILINE,
)


def weighed(text: str, choices: ChoiceList) -> frozenset[int] | None:
    """Return the one option that a text commits to, None where it commits to none."""
    if not choices.labels or len(choices.labels) > len(CANDIDATES):
        return None
    found = committed(_without_list(marked(text[-_MAX_READ:], choices), len(choices.labels)))
    return None if found is None else frozenset((found,))


def left_in_force(chosen: frozenset[int], rest: str, choices: ChoiceList) -> bool:
    """Return whether what follows an answer leaves it in force."""
    if (
        len(chosen) != 1
        or not choices.labels
        or len(choices.labels) > len(CANDIDATES)
        or not _SAYS.search(rest)
    ):
        return True
    (one,) = chosen
    return committed(_without_list(marked(rest[:_MAX_READ], choices), len(choices.labels)), state=one) == one


_SAYS = re.compile(r"[^\W_]")


def _without_list(text: str, options: int) -> str:
    """A text without its copy of the options, which says nothing of any."""
    return _echo(options).sub("\n", text)


@lru_cache(maxsize=32)
def _echo(options: int) -> re.Pattern[str]:
    return re.compile(rf"[^\w{X[1:-1]}]{{0,10}}".join(CANDIDATES[:options]) + r"(?=\W|$)")


def marked(text: str, choices: ChoiceList) -> str:
    """Return a text with each option, by label or text or both, as the one character that stands for it."""
    text = between_scripts(text)
    if found := _pattern(frozenset(choices.texts)):
        pattern, named = found
        text = pattern.sub(lambda m: CANDIDATES[choices.texts[named[m.lastgroup or ""]]], text)
    if len(items := _ITEM.findall(text)) > 1 or (items and not text.startswith(items[0])):
        text = _ITEM.sub(r"\1:", text)
    if any(map(_LETTERED.search, choices.texts)):
        text = _LETTERS_OF_SUBJECT.sub("these", text)
    text = _LABEL.sub(lambda m: _label(m, choices), text)
    text = _NEIGHBOUR.sub("another", text)
    if len(_DESCRIBED.findall(text)) > 1:
        text = _DESCRIBED.sub("", text)
    text = _SMALL.sub(lambda m: m["lead"] + _small(m, choices), text)
    return _TWICE.sub(r"\1", _OF_BOTH.sub(r"\1; ", text) if "etween" in text else text)


_NEIGHBOUR = re.compile(
    r"\b(?:the )?(?:one|option|choice|letter|item|answer|entry|line)(?: \w+)? (?:after|before|below|above"
    rf"|next to|following|preceding|beside|under)(?: option)? [*_(]{{0,3}}{X}"
)
"""One that is named by its neighbour."""
_DESCRIBED = re.compile(
    rf"(?:\b[Oo]ption )?(?:{X}|\b[A-J])[*_)]{{0,3}} (?:says|reads|states|gives|lists|contains|proposes"
    rf"|offers) [\"“'‘(*$]{{0,3}}{X}[\"”'’)*$]{{0,3}}"
)
"""What an option says, told of several."""
_LETTERED = re.compile(r"(?<![^\W_])[b-j](?![^\W_])")
"""In an option's text, a letter of its own: "B positive"."""
_AND_OTHERS = r"(?:(?:, | and | or | nor |, and |, or |/)[A-J])"
_LETTERS_OF_SUBJECT = re.compile(
    rf"\b(?:(?:no|neither|not) )?(?<![\w(\[*.:])(?<!ption )(?<!hoice )(?<!nswer )[A-J](?:{_AND_OTHERS}*"
    r"(?:(?: and| or| nor|, and|, or|, nor) [A-Z][\w'’-]+)?(?: [a-z]+)? (?:antigens?|antibod(?:y|ies)"
    r"|agglutinogens?|alleles?|genes?|proteins?|blood|cells?|notes?|strings?)"
    rf"|{_AND_OTHERS}+ (?!(?:is|has|was|does|fits|works|seems|looks)\b)[a-z]{{3,}}s)\b"
)
"""Letters before the name of what they are letters of: "neither A, B nor Rh antigens"."""
_OF_BOTH = re.compile(rf"\b([Bb]etween {X} and {X}), (?={X})")
"""Before what is said of one of two: "between A and B, B is better"."""
_TWICE = re.compile(
    rf"([{CANDIDATES[0]}-{CANDIDATES[-1]}])(?:[^\S\n]|[.,:*_`)(\[\]\"'“”=–—-]|\bi\.e\.|\bwhich is\b"
    r"|\boption\b"
    rf"|\bnamely\b|\bchoice\b){{0,12}}\1"
)
_ITEM = re.compile(
    rf"^(\s*[*_(\[]{{0,4}}[A-J])[.)](?=[*_]{{0,3}}\s+[^\s{CANDIDATES[0]}-{CANDIDATES[-1]}])", re.MULTILINE
)
"""The label of an item: what follows is about it."""
_NEVER = re.compile(r"(?!)")


_OF_SERIES = re.compile(
    r"\b(?:[Pp]lan|[Tt]ype|[Vv]itamin|[Hh]epatitis|[Ss]ection|[Pp]art|[Ff]igure|[Tt]able|[Tt]eam"
    r"|[Aa]ppendix|[Ee]xhibit"
    r"|[Nn]ote|[Cc]hord|[Gg]rade|[Vv]ertex|[Aa]ngle|[Kk]ey of|the next"
    r"|[Pp]hase|[Vv]ersion|[Ss]chedule|[Mm]ethod|[Gg]roup|[Ss]cenario|[Cc]olumn|[Rr]ow|[Bb]lock)\s$"
)
"""Before a letter: it is the name of something else."""


_BESIDE_LABEL = re.compile(
    rf"(?:{X}|\b[B-J])[*_)]{{0,3}}(?:,? (?:and|or|e|y|et|und|en|o|ou|oder)|,| &)\s(?:option |choice )?$"
)
"""Before a letter: another one, with which it is named."""


def _label(found: re.Match[str], choices: ChoiceList) -> str:
    label = found["label"]
    if label not in choices.labels:
        return found[0]
    if _OF_SERIES.search(found.string, max(0, found.start() - 20), found.start()):
        return found[0]
    if label == "I" and _PRONOUN_NEXT.match(found.string, found.end()):
        return found[0]
    if label in "AI" and not found["open"] and not found[0].endswith(")"):
        rest = found.string[found.end() : found.end() + 20]
        if _ARTICLE_NEXT.match(rest) and not _VERB_NEXT.match(rest):
            beside = _BESIDE_LABEL.search(found.string, max(0, found.start() - 20), found.start())
            return found[0] if beside is None else CANDIDATES[choices.labels.index(label)]
    return CANDIDATES[choices.labels.index(label)]


def _small(found: re.Match[str], choices: ChoiceList) -> str:
    label = found["label"].upper()
    return CANDIDATES[choices.labels.index(label)] if label in choices.labels else found["label"]


@lru_cache(maxsize=4_096)
def _pattern(texts: frozenset[str]) -> tuple[re.Pattern[str], dict[str, str]] | None:
    """A pattern of options' texts, in whatever order they are offered, the longest first; each is a group."""
    named = {f"t{i}": text for i, text in enumerate(sorted(texts, key=lambda text: (-len(text), text)))}
    parts = [
        f"{_NUMBERED if text.isdecimal() else ''}(?P<{name}>{_GAP.join(map(re.escape, text.split()))})"
        for name, text in named.items()
        if not (len(text) == 1 and text.isalpha())  # a letter is read as a label
    ]
    if not parts:
        return None
    return re.compile(rf"(?:\b(?:an?|the)\s)?{_OF_MORE}(?:{'|'.join(parts)}){_ENDS}", re.IGNORECASE), named


_GAP = r"[\W_]{0,3}(?:(?:an?|the)\s)?"
_ENDS = r"(?!\w|[.,]\d|-\w)"
_OF_MORE = r"(?<![\w.−+^-])(?<!\^\{)(?<!\d,)"
"""Before a text: it is no part of a word, a number or a power."""
_NUMBERED = r"(?<!step\s)(?<!part\s)(?<!line\s)(?<!point\s)(?<!reason\s)(?<!run\s)(?<!attempt\s)(?<!trial\s)"
"""Before a number: it counts what the response does."""
