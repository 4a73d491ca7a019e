"""Answers in sentences of other languages: "Die Hauptstadt ist Canberra", "首都是Canberra。".

The words of such a sentence are not those of the question: the answer must be all that its verb takes, at its
end, and nothing in it may deny, doubt or ask. Read in texts in which answers stand as single characters.
"""

from __future__ import annotations

import re
from functools import partial

from rewardkit.rewards.qa.marking import unaccented
from rewardkit.rewards.reading.clause_words import X
from rewardkit.rewards.reading.lazy_regex import lazy_regex

_NO_X = X[1:-1]
_OPEN = lazy_regex(
    r"\b(?:nicht|kein\w*|nie|niemals|oder|entweder|weder|vielleicht|falsch\w*|wenn|ob|pas|jamais|ni|ou|peut"
    r"|faux|fausse"
    r"|si|no|nunca|tampoco|o|quizás?|tal vez|puede|podría|falso|incorrect\w+|equivocad\w+|non|né|forse|se"
    r"|não|nem|talvez"
    r"|errad\w+|sbagliat\w+|niet|geen|of|misschien|nie|lub|albo|może|bukan|tidak|atau|mungkin|không|hoặc|có"
    r" thể|inte|eller"
    r"|ikke|eller|не|нет|или|либо|может|возможно|если|неправильн\w+|неверн\w+|not|or|never|wrong|maybe"
    r"|if)\b"
    r"|\b(?:falsch|mauvais|erreur|error|beispiel|exempl|ejempl|esempi|früher|einst|ehemal|angeblich"
    r"|verwechs|irrtum|hypoth|autrefois|antes|antig|ancien|supuest|fehler|err[oô]|faute|mythe|zweit|dritt"
    r"|segund|deuxième|second|втор|denken|glauben|meinen|sagen|pensent|croient|disent"
    r"|piensan|creen|dicen"
    r"|думают|считают|говорят)\w*|第二|误|干扰|以前|曾|有人|不知道|例|假|猜|誤|間違|오답|예|이전|틀"
    r"|ошиб|пример|раньше|бывш|якобы"
    r"|предполо|उदाहरण|पहले|خاط|مثال|سابق|人们|很多人|许多人|दूसर|लोग|الثاني|يعتقد"
    r"|n['’]|[?？؟]|不|非|或|吗|嗎|可能|也许|如果|错|以为|ない|ません|か[。]|または|아니|아닙|또는"
    r"|नहीं|(?<=\s)(?:न|या)\s|शायद|अगर|गलत"
    r"|ليس|ليست|(?<=\s)لا\s|\bأو\b|ربما|إذا|خطأ",
    re.IGNORECASE,
)
_START = r"(?:^|(?<=[.!。！]\s)|(?<=[。！]))"
_SAID = rf"{_START}(?P<said>[^.!?。！？;\n{_NO_X}]{{2,80}}?)"
_END = r"(?P<end>[*_\"”»」)]{0,3}\s*(?:[.!。！।]|(?=\n)|\Z))"
_ARTICLE = r"(?:(?:die|der|das|den|la|le|el|il|lo|les|los|las|de|het|a|o) |l['’])?"
_ANSWER = rf"[*_\"“«「(]{{0,3}}(?P<own>{_ARTICLE}{X})"
_FRAMES = (
    rf"{_SAID}\b(?:ist|war|lautet|heißt|est|était|es|fue|è|é|foi|jest|adalah|ialah|là|är|являе?тся"
    rf"|был[ао]?)\s{_ANSWER}{_END}",
    rf"{_START}(?P<said>[А-Яа-яЁё][А-Яа-яЁё «»,-]{{2,80}}?)\s[—–-]\s(?:это\s)?{_ANSWER}{_END}",
    rf"{_START}(?:根据[^，。\n]{{1,20}}，)?(?P<said>[^。！？，,;\n{_NO_X}]{{2,40}}?)(?:是在?|为|為"
    rf"|叫)\s?{_ANSWER}{_END}",
    rf"{_START}(?P<said>[^。！？、,;\n{_NO_X}]{{2,40}}?)は\s?{_ANSWER}\s?(?:です|だ|である)?{_END}",
    rf"{_START}(?P<said>[^.!?\n{_NO_X}]{{2,40}}?)[은는]\s{_ANSWER}\s?(?:입니다|이다|예요|이에요)?{_END}",
    rf"{_START}(?P<said>[^।?!\n{_NO_X}]{{2,60}}?)\s{_ANSWER}\s(?:है|हैं|था|थे|थी){_END}",
    rf"{_START}(?P<said>[^.!?؟\n{_NO_X}]{{2,60}}?)\s(?:هي|هو)\s{_ANSWER}{_END}",
    rf"{_START}[*_\"“«「(]{{0,3}}(?P<own>{X})[*_\"”»」)]{{0,3}}\s(?:ist|est|es|è|é|jest|adalah|là)\s"
    rf"(?P<said>(?:(?:die|der|das|la|le|el|il|lo|a|o)\s|l['’])[^.!?,;\n{_NO_X}]{{3,80}}){_END}",
)
_IT_IS = re.compile(
    rf"{_START}(?:[Ee]s|[Ss]e trata de|[Ii]l s['’]agit d(?:e\s|['’])|[Ee]s handelt sich um|Это|[Dd]as war"
    rf"|[Ee]s war|[Ff]ue(?: en)?"
    rf"|[Cc]['’]était(?: en)?|È|É|To|[Dd]as ist|[Cc]['’]est|是|那是|这是|就是|[Dd]it is|[Hh]et is"
    rf"|[Cc]evap:?|[Yy]anıt:?|[Jj]awaban(?:nya)?:?"
    rf"|[Đđ]áp án:?(?: là)?|[Đđ]ó là|[Ii]tu(?: adalah)?|[Tt]o jest|Ответ:?|이것은|그것은|それは)"
    rf"(?:\s(?:die Stadt|la ville de|la ciudad de|a cidade de|la città di"
    rf"|город))?\s?{_ANSWER}(?:[^\S\n]?(?:です|입니다))?{_END}",
    re.MULTILINE,
)
_COUNTED = re.compile(
    rf"{_START}(?:[Ee]s (?:sind|waren|gibt)|[Dd]as sind|[Cc]e sont|[Ii]l y (?:en )?a|[Ss]on|[Hh]ay"
    rf"|[Ss]ono|[Cc]i sono|[Ss]ão"
    rf"|[Hh]á|[Hh]et zijn|[Ee]r zijn)\s[*_]{{0,3}}(?P<own>{X})[*_]{{0,3}}(?:\s(?!(?:weniger|mehr|zu"
    rf"|plus|moins|más|menos|di|più"
    rf"|meno|mais|meer|minder|sur|von|de|oder|ou|o|of)\b)[^\W\d_]{{3,20}})?{_END}",
    re.MULTILINE,
)
"""A count: "Es sind 42 Stück"."""
_BORN = re.compile(
    rf"{_START}(?:(?:[Ee]r|[Ss]ie) wurde (?:am [^.,!?\n{_NO_X}]{{4,24}} )?in (?P<de>{X}) geboren"
    rf"|(?:[Ii]l|[Ee]lle) (?:est|était)"
    rf" née? (?:à|en|au) (?P<fr>{X})|[Nn]ació en (?P<es>{X})|(?:[Ee]le |[Ee]la )?[Nn]asceu em (?P<pt>{X})"
    rf"|(?:È|[Ll]ui è|[Ll]ei è) nat[oa] (?:a|in|ad) (?P<it>{X})|(?:Он|Она) родил(?:ся|ась) в (?P<ru>{X})"
    rf"|(?:[Hh]ij|[Zz]ij) (?:is|werd) geboren in (?P<nl>{X})|(?:他|她)?出生[于在]\s?(?P<zh>{X})){_END}",
    re.MULTILINE,
)
_ASKS_BIRTH = re.compile(r"\bborn\b|\bbirth", re.IGNORECASE)
_PATTERNS = tuple(re.compile(frame, re.MULTILINE) for frame in _FRAMES)
_NAME = re.compile(r"(?<!^)\b[A-Z]\w{3,}")
_ALIKE = 3
"""Letters that the names of one thing have in common in two languages: Australia, Australien."""
_FOREIGN = lazy_regex(
    r"[^\x00-\u02ff\u2000-\u2bff\ue000-\ufeff\U0001f000-\U0001faff]|[éèàäöüßñ¿ł]"
    r"|\b(?:ist|est|es|war|fue|foi|jest|adalah|lautet|die|der|das|la|le|el|il|het"
    r"|s['’]agit|trata|sont|sind|c['’]est|son|hay|sono|são|nació|nasceu|nat[oa]|geboren|cevap|itu"
    r"|jawaban(?:nya)?)\b",
    re.IGNORECASE,
)
_NATIVE = re.compile(rf"[^\x00-\u024f\s\W{_NO_X}]+\s?[（(]\s?(?P<own>{X})\s?[)）]")
"""A name in the letters of its language, and the answer in brackets behind it."""


def answered(text: str, question: str) -> str:
    """Return a text with sentences of other languages that answer as "the answer is" and what they name.

    In Latin letters a sentence must have a name of the question, of which the beginning is the same.
    """
    if _FOREIGN.search(text) is None:
        return text
    text = _NATIVE.sub(r"\g<own>", text)
    asked = tuple(name[:_ALIKE].casefold().replace("c", "k") for name in _NAME.findall(question))
    for pattern in _PATTERNS:
        text = pattern.sub(partial(_in_english, asked=asked), text)
    if _ASKS_BIRTH.search(question):
        text = _BORN.sub(lambda m: f"the answer is {next(filter(None, m.groups()))}{m['end']}", text)
    return _IT_IS.sub(r"the answer is \g<own>\g<end>", _COUNTED.sub(r"the answer is \g<own>\g<end>", text))


def _in_english(found: re.Match[str], *, asked: tuple[str, ...]) -> str:
    said = found["said"]
    if _OPEN.search(said) or _ENGLISH.search(said):
        return found[0]
    if not _OTHER_SCRIPT.search(said) and not any(
        w.startswith(asked) for w in _WORDS.findall(unaccented(said.casefold()).replace("c", "k"))
    ):
        return found[0]
    return f"the answer is {found['own'][-1]}{found['end']}"


_OTHER_SCRIPT = lazy_regex(r"[\u0370-\u1fff\u3040-\ud7a3]")
_WORDS = re.compile(r"[^\W\d_]+")
_ENGLISH = re.compile(r"\b(?:the|of|and|that|this)\b", re.IGNORECASE)
