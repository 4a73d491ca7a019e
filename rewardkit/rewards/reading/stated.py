"""Where a response states its answer: tags, boxes, "the answer is ..." in some languages, answer headings.

Shared by rewards whose answers are short texts (`choice`, `qa`). What a statement means, each of them says
itself. Everything here is linear in the response.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rewardkit.rewards.math.reading.extraction import final_part
from rewardkit.rewards.reading.acts import acted, without_searches
from rewardkit.rewards.reading.answer_tag import last_answer
from rewardkit.rewards.reading.clause_words import REPORTED
from rewardkit.rewards.reading.denials import denied, taken_back
from rewardkit.rewards.reading.framed import framed, of_columns, of_commas
from rewardkit.rewards.reading.hearsay import told, told_abroad, told_behind, told_within
from rewardkit.rewards.reading.lazy_regex import lazy_regex
from rewardkit.rewards.reading.own_words import disowned, without_upheld
from rewardkit.rewards.reading.unwrapped import unwrapped
from rewardkit.rewards.reading.visible import without_code_comments
from rewardkit.rewards.reading.votes import voted
from rewardkit.rewards.reading.wordings import (
    ALTERNATIVE,
    BEFORE_NOW,
    CHOOSING,
    DENIAL,
    DENIED_AFAR,
    HEARSAY,
    HINTS,
    LABELLED_OTHERWISE,
    MARKED_OTHERWISE,
    MARKER,
    ONCE_SO,
    OVERTAKEN,
    SECOND_THOUGHT,
    SLIPPED,
    UNCLAIMED,
    UNSUPPORTED,
    UNSURE,
    settled_before,
)
from rewardkit.special_tokens import FILLER

StatedKind = Literal["tags", "boxed", "marker", "choosing", "heading"]

_WINDOW = 20_000
"""Characters at the end of a response that are read."""
_MAX_STATED = 2_000
"""No answer is longer; what lies beyond is not read."""
_MAX_STATEMENTS = 200
"""Statements that are looked at, from the end."""

_HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s*\**|\*\*)(?:(?:my|the)\s)?(?:final\s)?answer\**\s*:?\**\s*$", re.I | re.M
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s?\{")
_BRACE = re.compile(r"\\[{}]|[{}]")
_END = re.compile(r"[.。!?！？](?=[\s*\"”’)]|$)|[。！？]|\n")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BETWEEN_LIKES = re.compile(
    r"(?:\\[a-zA-Z]{1,8}|[\W_]|\b(?:and|or|maybe|perhaps|also|possibly|alternatively|else|it|could|be"
    r"|might|for|to|safety|safe|spare|back-?up|fall-?back|reserve|just|in|case|failing|that|as|well"
    r"|plus)\b)*",
    re.IGNORECASE,
)
_BETWEEN_SAME = re.compile(r"[\s.*_]*(?:the|my)(?:\s(?:final|correct|right))?\s", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|no|never|neither|wait|sorry|scratch|actually)\b|n['’]t\b", re.IGNORECASE)
_RETRACTION = lazy_regex(
    r"\b(?:that|this|it|(?:the|this|that|my) (?:above|answer|previous|last|quote|quotation|statement|claim"
    r"|line)(?: \w{1,12})?)"
    r"(?:'s| is| was) (?:a (?:mistake|joke|lie|slip|typo)|wrong|incorrect|an error|not right|not correct)"
    r"|\b(?:withdraw|retract|recant|revoke) (?:it|that|this|my|the)\b"
    r"|\bI disagree\b|\bdo(?: not|n['’]t) trust\b|\bhmm,? no\b|\btake (?:that|it|this) back\b|\bhold on\b"
    r"|\b(?:that|this|it) can(?:['’]?t|not| not) be (?:right|correct|true|it)\b"
    r"|\b(?:I was|I am|I'm) (?:wrong|mistaken)|\bscratch that\b|\bwait,? (?:no|actually)\b"
    r"|\bon reflection, no\b|\bno, wait\b|\bactually,? no\b|\bjust kidding\b|(?<=[.!?]\s)no[,:]\s"
    r"|(?:^|\n|[.!?]\s)[*_]{0,2}(?:edit|correction|update|erratum)[*_]{0,2}:"
    rf"|\b{SLIPPED}|\b{OVERTAKEN}|(?-i:\bNOT[.!]*\s*\Z)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One place where a response says what its answer is."""

    kind: StatedKind
    text: str
    start: int
    end: int


def visible(response: str) -> tuple[str, str]:
    """Return what is said to the reader, and the code in it: after the reasoning, before any end token,
    without comments, and of a very long text the end."""
    if "<" in response or "[" in response:
        response = FILLER.sub("", response)
        response = without_searches(response) if "<|begin_" in response else response
        response = _unfolded(response) if "<details" in response else response
    text = voted(framed(unwrapped(acted(_ROLE.sub("", final_part(response))))))
    if "|" in text:
        text = _ROW.sub(r"Answer: \1", of_columns(text))
    if "<" in text:
        text = _MARKUP.sub("", _NEW_LINE.sub("\n", text)).replace("-answer>", "_answer>")
    if "&" in text or "[^" in text or "\\n" in text:
        text = _as_shown(text)
    if "nswer," in text:
        text = of_commas(text)
    if "```" not in text:
        return text[-_WINDOW:], ""
    text = _LANGUAGE.sub("```\n", text)
    if text.count("```") == _ONE_FENCE:
        text = _ANSWER_FENCE.sub(r"\1 \2\n", text)
    code = "\n".join(_FENCE.findall(without_code_comments(text))).replace("```", " ")[-_WINDOW:]
    return _FENCE.sub(" ", text)[-_WINDOW:], code


def _as_shown(text: str) -> str:
    """A text with entities of HTML, escaped ends of lines and marks of footnotes as a reader has them."""
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    if "\n" not in text:
        text = _ESCAPED_LINES.sub("\n", text)
    return text if "]:" in text else _FOOTNOTE.sub("", text)


_ENTITY = re.compile(r"&(?:nbsp|quot|amp|apos|lsquo|rsquo|ldquo|rdquo|ensp|emsp|thinsp|#39|#34|#160);")
_ESCAPED_LINES = re.compile(r"(?:\\n)+(?=[A-Z\d\s*#>(-]|\Z)|(?:\\n){2,}")
_FOOTNOTE = re.compile(r"(?<=\S)[^\S\n]?\[\^\w{1,4}\]")
_NEW_LINE = re.compile(r"<br[^\S\n]?/?>", re.IGNORECASE)
_ONE_FENCE = 2
_ANSWER_FENCE = re.compile(
    r"(^[\s*_#>-]{0,6}(?:(?:the|my|final)\s)*answer[*_]{0,3}\s?(?:is)?:?[*_]{0,3})\s*\n"
    r"```\w*[^\S\n]*\n([^\n`]{1,200})\n```",
    re.IGNORECASE | re.MULTILINE,
)
"""An answer alone in a fence below what announces it."""
_LANGUAGE = re.compile(
    r"```(?:text|txt|plain|plaintext|answer|markdown|md|output|latex|tex|html|xml|none)[^\S\n]*\n",
    re.IGNORECASE,
)
"""The name of a fence that holds no code."""


def _unfolded(response: str) -> str:
    """A response with its one fold that is titled as the answer opened, where nothing else states one."""
    found = list(_FOLD.finditer(response))
    if len(found) != 1:
        return response
    before, after = response[: found[0].start()], response[found[0].end() :]
    if statements(final_part(before + after)[-_WINDOW:]):
        return response
    title = "Answer:\n" if found[0]["answer"] else ""
    return f"{before}\n\n{title}{found[0]['content'].strip()}\n{after}"


_FOLD = re.compile(
    r"<details(?:\sopen(?:=\"\")?)?>\s*<summary>(?:<\w{1,6}>|[^\w<])*"
    r"(?:(?:click|tap|press)(?: here)? (?:to|for) )?"
    r"(?:(?:see|show|reveal|view|open|the|my|final|correct|full) )*"
    r"(?:(?P<answer>answer(?: key)?)|solution)\s?[:.]?(?:\s|</\w{1,6}>|[*_])*</summary>"
    r"(?P<content>[^<]*(?:<(?!/?details\b)[^<]*)*)</details>",
    re.IGNORECASE,
)
_ROW = re.compile(
    r"^[^\S\n]*\|\s*\**(?:(?:the|final|correct|my)\s)*answer:?\**\s*\|\s*([^|\n]*[^|\s])\s*\|[^\S\n]*$",
    re.I | re.M,
)
"""A row of two cells, the first of which announces the answer."""


def value_of_code(code: str) -> str:
    """Return the one text or number that code returns, prints or calls the answer; other code as it is."""
    found = _CODE_VALUE.findall(code)
    return str(found[0]).strip("\"'") if len(found) == 1 else code


_CODE_VALUE = re.compile(
    r"^[^\S\n]*(?:return\b|print\s?\(|(?:answer|result|ans)\s?=)[^\S\n]*"
    r"(\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|-?\d[\d,.]*)[^\S\n]*\)?;?[^\S\n]*$",
    re.MULTILINE,
)
_ELSEWHERE = re.compile(
    r"\W*(?:see |given |stated |shown |found |comes |follows )?(?:below|above|at the (?:end|bottom)"
    r"|as follows|follows)\W*$",
    re.IGNORECASE,
)
"""In the place of an answer: where it is."""
_ROLE = re.compile(
    r"\A\s*(?:(?:assistant|model|ai|bot|gpt)\s?:?[^\S\n]*\n+|assistant[:>]\s|\#{1,3} assistant:?\s*\n"
    r"|soln?[.:]\s)",
    re.IGNORECASE,
)
"""The name of the role, left over from a chat's template."""
_MARKUP = re.compile(r"</?(?:b|i|em|strong|span|p)>", re.IGNORECASE)


def statements(text: str) -> list[Statement]:
    """Return the statements of a text in order; of two, one within the other, only the outer one.

    Markers that are denied ("I don't think the answer is") or asked about ("is the answer 5?") are none.
    """
    found = _outermost([*_tags(text), *_boxes(text), *_markers(text)])[-_MAX_STATEMENTS:]
    return [statement for statement in found if not told_within(statement.text)]


def _outermost(found: list[Statement]) -> list[Statement]:
    outer: list[Statement] = []
    for statement in sorted(found, key=lambda s: (s.start, -s.end)):
        if not outer or statement.start >= outer[-1].end:
            outer.append(statement)
    return outer


def last_group(found: list[Statement], text: str) -> list[Statement]:
    """Return the last statement and those that stand beside it with nothing said in between.

    What is stated again after an explanation is a correction, and counts alone; answers side by side are a
    list of guesses.
    """
    group = found[-1:]
    if len(found) > 1 and _aside(found[-1], text) and not _aside(found[-2], text):
        return found[-2:]
    for statement in reversed(found[:-1]):
        between = text[statement.end : group[0].start]
        same = _BETWEEN_SAME.fullmatch(between) and not _DENIES.search(statement.text)
        if len(between) > 60 or not (same or _BETWEEN_LIKES.fullmatch(between)):
            break
        group.insert(0, statement)
    return group


def _aside(statement: Statement, text: str) -> bool:
    """Whether a statement stands within round brackets that open before it on its line."""
    before = text[text.rfind("\n", 0, statement.start) + 1 : statement.start]
    opened = before.rfind("(")
    return opened >= 0 and ")" not in before[opened:] and _WORD.search(before, opened + 1) is not None


_WORD = re.compile(r"[^\W_]")


def retracted(text: str, end: int) -> bool:
    """Return True when what follows the last statement takes it back, or begins with another answer."""
    rest = text[end : end + _MAX_STATED]
    if begins_again(text, end) or disowned(rest) or told_behind(text, end):
        return True
    return _RETRACTION.search(without_upheld(rest)) is not None


def begins_again(text: str, end: int) -> bool:
    """Return True when what follows a place begins with a second thought: "Or 5", "Actually, 5"."""
    return SECOND_THOUGHT.match(text, end) is not None


def unboxed(text: str) -> str:
    """Return a text with each box replaced by what stands in it."""
    found = _outermost(list(_boxes(text)))
    for box in reversed(found):
        text = text[: box.start] + box.text + text[box.end :]
    return text


def first_box(text: str) -> str | None:
    """Return what stands in the first box."""
    return next((box.text for box in _boxes(text)), None)


def _tags(text: str) -> Iterator[Statement]:
    end = text.rfind("</answer>")
    last = text.rfind("<answer>")
    if last > end and 0 < len(rest := text[last + 8 :].strip()) <= _MAX_STATED and "\n" not in rest:
        yield Statement("tags", rest, last, len(text))  # generation may have stopped at the closing tag
    before = None
    for _ in range(_MAX_STATEMENTS):
        tag = last_answer(text, before)
        if tag is None:
            return
        if text.count("<answer>") > 1 or not denied(text, tag.start):  # of several none may vanish
            yield Statement("tags", tag.inner.partition("</answer>")[0], tag.start, tag.end)
        before = tag.start


def _boxes(text: str) -> Iterator[Statement]:
    """Boxes that close and are not empty."""
    if "\\" not in text:
        return
    for match in list(_BOX.finditer(text))[-_MAX_STATEMENTS:]:
        end = _closing(text, match.end())
        if end is None or not _box_claimed(text, match.start(), end):
            continue
        if (inner := text[match.end() : end]).strip():
            yield Statement("boxed", inner, match.start(), end + 1)


def _box_claimed(text: str, start: int, end: int) -> bool:
    """Whether the words around a box leave it a claim: not "the answer cannot be", not "?" behind it."""
    before = text[max(0, start - 100) : start].rstrip(" $\\([*_\n")
    if (
        (before.endswith(_UNEQUAL) and "boxed" not in before)
        or UNCLAIMED.search(before)
        or denied(text, start)
    ):
        return False
    return not taken_back(text, end + 1)


_UNEQUAL = ("\\neq", "\\ne", "≠", "!=")


def _closing(text: str, start: int) -> int | None:
    depth = 1
    for brace in _BRACE.finditer(text, start, start + _MAX_STATED):
        if len(brace[0]) == 1:
            depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return None


def _markers(text: str) -> Iterator[Statement]:
    if any(
        map(text.lower().replace("answer>", "").__contains__, HINTS)
    ):  # a tenth of the cost of the pattern
        for match in list(MARKER.finditer(text))[-_MAX_STATEMENTS:]:
            start = _value_start(text, match.end())
            end = _json_end(text, start) if match["quote"] else value_end(text, start)
            if not _claimed(text, match.start(), of_json=bool(match["quote"])) or text[end : end + 1] in (
                "?",
                "？",
            ):
                continue
            if match[0].endswith(_WAS) and _no_longer(text, match.start(), start, end):
                continue
            if text[start:end].strip(" *_`:：.\"'") and not _ELSEWHERE.match(text, start, end):
                kind: StatedKind = "choosing" if CHOOSING.fullmatch(match[0]) else "marker"
                tentative = ALTERNATIVE.search(text, max(0, match.start() - 30), match.start())
                listed = _listed(text, start) if "\n" in text[match.start() : start] else None
                said = listed or text[tentative.start() if tentative else start : end]
                yield Statement(kind, said, match.start(), end)
    if "#" in text or "**" in text:
        for match in _HEADING.finditer(text):
            start = _value_start(text, match.end())
            end = value_end(text, start)
            if text[end : end + 1] not in ("?", "？"):
                yield Statement("heading", _listed(text, start) or text[start:end], match.start(), end)


_WAS = (" was", " were", " will be", " shall be")


def _no_longer(text: str, marker: int, start: int, end: int) -> bool:
    """Whether an answer that was one, or will be, is said of another time than now."""
    sentence = max(marker - 80, 0, *(text.rfind(end_of, 0, marker) for end_of in _CLAUSE_ENDS))
    return ONCE_SO.match(text, start, end) is not None or BEFORE_NOW.search(text[sentence:marker]) is not None


def _listed(text: str, start: int) -> str | None:
    """The entries of a list that begins at a place, side by side; None where no list of several does."""
    found = _LIST.search(text, text.rfind("\n", 0, start) + 1, start + _MAX_STATED)
    if found is None or found.start() > start:
        return None
    return "; ".join(line.strip(" *-•") for line in found[0].splitlines())


_LIST = re.compile(r"^\s{0,3}[-*•]\s\S[^\n]*(?:\n\s{0,3}[-*•]\s\S[^\n]*)+", re.MULTILINE)


def _claimed(text: str, marker: int, *, of_json: bool = False) -> bool:
    """Whether what leads up to a marker leaves it a claim about the answer; in JSON, what its object has
    before says nothing of it."""
    ends = (*_CLAUSE_ENDS, *_VALUE_ENDS) if of_json else _CLAUSE_ENDS
    sentence = max(marker - 80, 0, *(text.rfind(end, 0, marker) for end in ends))
    if text.startswith(" but ", sentence) and text[:sentence].endswith(_ALL_BUT):
        sentence = max(sentence - 80, 0, text.rfind("\n", 0, sentence))
    if MARKED_OTHERWISE.search(text, sentence, marker) or HEARSAY.search(text, sentence, marker):
        return False
    if UNSURE.match(text, sentence, marker) or LABELLED_OTHERWISE.search(text, sentence, marker):
        return False
    if marker - sentence > _SHORT_HEAD and (
        _UNSUPPORTED.search(text, sentence, marker)
        or REPORTED.search(reported := _CONTRARY.sub("", text[sentence:marker].casefold()))
        or told(reported)
    ):
        return False
    if told_abroad(text[sentence:marker]):
        return False
    head = _PUT_RIGHT.sub("", text[sentence:marker])
    return not DENIAL.search(head) or settled_before(head)


_PUT_RIGHT = re.compile(
    r"\A(?!.*\b(?:if|whether|say|says|think|claim)\b).*\b(?:that|this|it)(?:['’]s|\s(?:is|was))\s"
    r"(?:not\s(?:right|correct|true|it|quite right)|wrong|incorrect|false|a mistake)\s?[:;–—-]\s",
    re.I | re.S,
)
"""What is put right before an answer: "that's not right: the answer is"."""


_SHORT_HEAD = 12
_UNSUPPORTED = lazy_regex(f"{UNSUPPORTED}|{DENIED_AFAR}", re.IGNORECASE)
_CONTRARY = re.compile(r"\bcontrary to [^,]*,")
_CLAUSE_ENDS = ("\n", ". ", "! ", "? ", "; ", " but ", ", so ")
_VALUE_ENDS = ('", ', "', ", '",\n')
_ALL_BUT = ("nobody", "no one", "none", "nothing", "anything", "all")
"""Before "but": no other clause begins."""


def _json_end(text: str, start: int) -> int:
    """The end of a JSON value: a text, a list, or what there is before a comma or a brace."""
    found = _JSON_VALUE.match(text, start, start + _MAX_STATED)
    return found.end() if found else start


_JSON_VALUE = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'(?=\s*[,}])|\[[^\]\n]*\]?|[^,}\]\n]*')


def _value_start(text: str, start: int) -> int:
    """Where the value begins: past decoration, on the next lines if this one is over, quoted or not."""
    limit = min(len(text), start + 60)
    at = start
    while at < limit and (
        text[at].isspace() or text[at] in "*_:：" or (text.startswith("\n> ", at - 1) and at > start)
    ):
        at += 1
    entry = _ENTRY.match(text, at) if text.find("\n", start, at) >= 0 else None
    return entry.end() if entry else at


_ENTRY = re.compile(r"(?:[-•▪‣]|1[.)](?![^\n]*\n\s*2[.)]))[^\S\n]+(?=[*_(\"]{0,3}[^\W\d])")
"""What opens the only entry of a list."""


def value_end(text: str, start: int) -> int:
    """Return the end of the sentence or line; full stops in numbers and after single letters are none."""
    for match in _END.finditer(text, start, start + _MAX_STATED):
        at = match.start()
        if match[0] == "." and at > start and _initial(text, start, at):
            continue
        return at
    return min(len(text), start + _MAX_STATED)


_TITLES = ("Dr", "Mr", "Mrs", "Ms", "Prof", "St", "Mt", "Ft", "Gen", "Col", "Capt", "Lt", "Sgt", "Rev")
"""With which an answer begins, and no sentence ends."""


def _initial(text: str, start: int, at: int) -> bool:
    """Whether the full stop at `at` ends an initial or a label with more on the line, not a sentence."""
    before = text[at - 1]
    if text[at - 3 : at].lower() in ("i.e", "e.g") or text[start:at] in _TITLES:
        return True
    alone = at - 1 == start or not text[at - 2].isalnum()
    if before.isdigit() and _SAYS.match(text, at + 2):
        return False
    return alone and before.isalnum() and text[at + 1 : at + 2] == " " and not _RETURNS.match(text, at + 2)


_SAYS = re.compile(r"[^.\n]{0,80}\b(?:is|are|was|were|does|do|did|cannot|fails?|fits?)\b")
_RETURNS = re.compile(
    r"(?:Wait|Not|Here|But|Actually|However|Hmm|So|On (?:second|reflection|closer|further|re\w+)"
    r"|Strike|Treat|Consider|Later|Reading|Looking|Sorry|Oops|Whoops|Apologies"
    r"|Correction|Scratch|Pardon|Hold on|Let me|My (?:bad|mistake|apologies)"
    r"|The (?:answer|other|correct|right|reason|rest|final|best|option)"
    r"|[A-J]\s(?:is|was|would|could|might|may|looks|seems|fits|works|deserves)"
    r"|I (?:\w+ )?(?!and\b|of\b|was (?:born|king|queen)\b)[a-z]\w*|Should|If|Please|Feel|Hope|Thanks?"
    r"|(?:This|That|These|It|My|Our|We|You|Your) [a-z]\w*"
    r"|[A-Z][a-z]+ (?:this|that|it|my|me|what I|all of|everything)"
    r"|On (?:further |closer )?\w+ ?,)\b|No[,.!;:]"
    r"|(?:Second|Third|Another|Alternative|Other|Back-?up|Fall-?back|Spare)\sanswer\s?:|Alternative\s?:"
)
