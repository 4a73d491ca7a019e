"""Finds the answer in a response: the final answer text, and the frames in this text (rules in
docs/frames.md).

All rewards for text use this module. This module does not interpret prose. The text around a frame does not
matter, and each reward interprets the text in the frame. All steps use `str.find` or patterns without nested
repetition, so that a response of 10 MB costs a few passes in C. Searches for several characters first look
for the rarest of them, which is ten times as fast because most responses do not contain it.
"""

from __future__ import annotations

import heapq
import html
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Literal, get_args

import msgspec

from rewardkit.json_objects import object_of_pairs
from rewardkit.messages import message_text
from rewardkit.special_tokens import END_OF_TEXT, behind_thoughts, strip_end, strip_start
from rewardkit.types import Message

Prompt = str | list[Message] | None
FrameKind = Literal[
    "tags",
    "box",
    "hash",
    "marker",
    "json",
]
FRAME_KINDS: tuple[FrameKind, ...] = get_args(FrameKind)


class Frame(msgspec.Struct, frozen=True, gc=False):
    """Place in a text that contains an answer."""

    kind: FrameKind
    text: str
    """Content without surrounding whitespace.

    In a line, surrounding Markdown marks are removed as well. The content is never empty.
    """
    start: int
    """Offset of the beginning of the frame, including its tags or marker, in the searched text."""
    end: int
    """Offset of the end of the frame."""


# --- own text: the final answer text of the response, which addresses the user in this turn ---

_TAG = re.compile(r"<[a-zA-Z/|｜]")
_BRACKET = re.compile(r"\[(?:[/|A-Z]{2}|gM|e~|end of)")
"""Patterns of the beginning of a reasoning block, channel or special token.

A joint pattern is four times as slow.
"""
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_UNMARKED_CHANNEL = re.compile(r"analysis(?=[A-Z\d\"'(\[*`\\$])")
"""Pattern of the beginning of `<|channel|>analysis<|message|>We add...` decoded without special tokens."""
_COMMENTS = (("<!--", "-->"), ("<\\!--", "-->"))
_MARKDOWN_COMMENT = re.compile(r"^[ \t]{0,3}\[//\]:[ \t]?#.*$", re.MULTILINE)
_TURN = re.compile(
    r"\n[ \t>*_]{0,8}+(?=\#|q|pr|ex|us|hu|ins|ne|an|问|题)"  # Most lines fail to match at this point.
    r"(?:(?P<heading>\#{1,6})[ \t]?)?[*_]{0,3}(?:(?:next|new|another)\s)?"
    r"(?:question|q|problem|exercise|user|human|instruction|问题|题目)(?:\s?\#?(?P<number>\d{1,3}))?[*_]{0,3}"
    r"(?:\s?[:：]|(?(heading)[ \t]*(?=\n|\Z)|(?!)))[*_]{0,3}\s*(?P<said>[^\n]{0,400})",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\n\#{1,6}+[ \t]?[*_]{0,3}[a-zA-Z问题]")
"""Pattern of a Markdown heading. A line that opens a turn contains a colon or is a heading."""
_SAYS = re.compile(r"\w")
_SHORT_PROMPT = 20
"""Maximum length of a prompt that could itself be an answer and is not removed, in characters."""
_DRAWN_AS_NOTHING = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_LETTER_OR_DIGIT = re.compile(rf"[^\W_{''.join(_DRAWN_AS_NOTHING)}]")


def own_text(response: str, prompt: Prompt = None) -> str:
    """Return the final answer text of a response, or "" if a reasoning block never ends.

    The final answer text is the `reply` without comments, up to a line that opens another turn.
    """
    text = reply(response)
    if ("!" in text and "!--" in text) or ("[" in text and "[//]" in text):
        text = without_comments(text)
    if ":" in text or "：" in text or ("#" in text and _HEADING.search(text)):
        text = _before_next_turn(text, prompt)
    return text


def not_all_own(responses: Sequence[str]) -> set[int]:
    """Return the indices of the responses from which `own_text` may remove text.

    All responses are searched as one text, which takes a fraction of the time of separate searches.
    """
    joined = _BETWEEN.join(responses)
    cut = [match.start() for match in _TAG.finditer(joined)]
    for sign, pattern in _SIGNS:
        cut += [place for place in _places(sign, joined) if pattern.match(joined, place)]
    found = _texts_at(cut, responses)
    found.update([i for i, text in enumerate(responses) if text.startswith("analysis")])
    may_turn = _texts_at([match.start() for match in _HEADING.finditer(joined)], responses)
    may_turn.update([i for i, text in enumerate(responses) if ":" in text])
    if "：" in joined:
        may_turn.update([i for i, text in enumerate(responses) if "：" in text])
    found.update([i for i in may_turn if _TURN.search(responses[i])])
    return found


def _texts_at(places: Sequence[int], texts: Sequence[str]) -> set[int]:
    """Convert offsets in texts joined with `_BETWEEN` to the indices of the texts that contain them."""
    if not places:
        return set()
    starts = list(accumulate([len(text) + len(_BETWEEN) for text in texts], initial=0))
    return {bisect_right(starts, place) - 1 for place in places}


_BETWEEN = "\0"
"""Separator between texts that are searched as one. No match can extend across the separator."""
_SIGNS = (
    ("[", re.compile(rf"{_BRACKET.pattern}|\[//\]")),
    ("◁", re.compile("◁")),
    ("]", re.compile(r"\]~")),
    ("!", re.compile("!--")),
)
"""Further patterns for `reply` and `own_text`. Each is paired with its first character."""


def _places(char: str, text: str) -> Iterator[int]:
    place = text.find(char)
    while place >= 0:
        yield place
        place = text.find(char, place + 1)


def without_prompt(text: str, prompt: Prompt) -> str:
    """Remove verbatim copies of the prompt from a text, because a repeated question is not an answer."""
    question = question_of(prompt).strip()
    return text.replace(question, " ") if len(question) > _SHORT_PROMPT else text


def reply(response: str) -> str:
    """Return a response's final channel, or the text after its last reasoning block, up to the first end
    token."""
    if response.startswith("analysis"):
        response = _without_unmarked_channels(response)
    if not (
        ("<" in response and _TAG.search(response))
        or ("[" in response and _BRACKET.search(response))
        or ("◁" in response or ("~" in response and "]~" in response))
    ):
        return response
    text = response
    if "<|channel|>" in text:
        text = text.rpartition(_FINAL_CHANNEL)[2] if _FINAL_CHANNEL in text else ""
    said = behind_thoughts(text)
    if said is None:
        return ""
    text = strip_start(said)
    ended = END_OF_TEXT.search(text)
    return strip_end(text[: ended.start()] if ended else text)


def without_comments(text: str) -> str:
    """Remove HTML and Markdown comments from a text. An unclosed comment extends to the end."""
    if "!--" in text:
        for opening, closing in _COMMENTS:
            text = _cut(text, opening, closing)
    return _MARKDOWN_COMMENT.sub("", text) if "[//]" in text else text


def question_of(prompt: Prompt) -> str:
    """Return the text of a prompt, or of the last message of a prompt with several messages."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return message_text(prompt[-1]) if prompt else ""


def seen(text: str) -> bool:
    """Return True if a text contains a visible character."""
    shown = html.unescape(text)
    return any(char.isprintable() and not char.isspace() and char not in _DRAWN_AS_NOTHING for char in shown)


def says(text: str) -> bool:
    """Return True if a text has a letter, a digit or a symbol such as an emoji, or is `{}` or `[]`."""
    shown = html.unescape(text)
    if _LETTER_OR_DIGIT.search(shown) is not None or text.strip() in ("{}", "[]"):
        return True
    return not shown.isascii() and any(
        unicodedata.category(char)[0] == "S" and not char.isascii() and char not in _DRAWN_AS_NOTHING
        for char in shown
    )


def _without_unmarked_channels(text: str) -> str:
    """Return the final channel of `analysisWe add.assistantfinal72`, or a text with tool calls unchanged."""
    if _UNMARKED_CHANNEL.match(text) is None or "assistantcommentary to=" in text:
        return text
    return text.rpartition("assistantfinal")[2] if "assistantfinal" in text else ""


def _cut(text: str, opening: str, closing: str) -> str:
    """Remove each text between two marks, together with the marks.

    If the second mark is missing, remove everything up to the end.
    """
    kept = []
    position = 0
    while (start := text.find(opening, position)) >= 0:
        kept.append(text[position:start])
        end = text.find(closing, start + len(opening))
        if end < 0:
            return "".join(kept)
        position = end + len(closing)
    return "".join([*kept, text[position:]])


def _before_next_turn(text: str, prompt: Prompt) -> str:
    """Return the text before a line that opens another turn, unless the prompt contains the line.

    Lines numbered from 1 (`Question 1:`, `Question 2:`) are a list in the response and do not open a turn.
    """
    asked: str | None = None
    listed = 0
    for turn in _TURN.finditer(text):
        if turn["number"] and int(turn["number"]) == listed + 1:
            listed += 1
            continue
        if _SAYS.search(text, 0, turn.start()) is None:
            continue
        asked = " ".join(question_of(prompt).split()) if asked is None else asked
        said = " ".join(turn["said"].split())
        if not said or said not in asked:
            return text[: turn.start()]
    return text


# --- frames ---

_TAGS = tuple((f"<{name}>", f"</{name}>") for name in ("answer", "Answer", "ANSWER"))
_BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])[ \t]*")
_BARE_BOX = re.compile(r"([^\s{}$,.]{1,40})")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BOX_TOKENS = ("<|begin_of_box|>", "<|end_of_box|>")
"""Tokens around the answers of GLM models."""
_LONGEST = 20_000
"""Maximum number of characters in a box."""
_LONGEST_LINE = 20_000
_MOST = 64
"""Maximum number of places that are searched for each kind of frame, and maximum number of frames in one
group."""
_AROUND = " \t\r\n*_`"
_EMPTY = re.compile(r"(?:[}\s*_`\"'.,:;…#$-]|\\(?:[lc]?dots|[()\[\]!,;: ]|q?quad))*")
_BLANK = r"(?:[\s,;；/.。，、()\[\]{}$*_`|&\\]|\\(?:text|q?quad))*"
_JOINT = re.compile(
    rf"{_BLANK}(?:(?:\b(?:or|and)\b|[或和]){_BLANK})?(?:[a-zA-Z](?:_\{{?\w{{1,3}}\}}?)?\s?=\s?\$?)?"
)
"""Pattern of the text between adjacent frames: whitespace, commas, brackets, "or", "and", or the name of the
next value (`x = `)."""
_JOINT_BEHIND = re.compile(rf"(?:\s(?:or|and)|[或和]){_BLANK}\Z")
"""Pattern of a connecting word at the end of a line before the next frame.

The word belongs to neither frame.
"""
_ENCLOSED = ("tags", "box")
"""Kinds of frames that enclose a value.

Frames that enclose a value are never grouped with frames that are lines or sentences.
"""
_JOINTS = ("or", "and", "或", "和")
_LONGEST_JOINT = 60
_BLANKS = " \t\r\n*_:："
_FENCE_LINE = re.compile(r"```[^\n`]*")

_ANSWER = re.compile(
    r"[Aa](?:nswers?|NSWERS?)[*_\"'`]{0,4}(?:\s?(?:\([^()\n]{1,80}\)|\[[^\[\]\n]{1,80}\]))?[*_ \t]{0,4}"
    r"(?P<verb>[:：=]|\b(?:is|are|IS|ARE)\b[ \t]?[:：]?|(?=\n|\Z))[*_ \t}]{0,4}"
)
_CHINESE = re.compile(
    r"【?(?:最终|正确|参考)?答案】?[*_ \t]{0,4}(?:应?该?[是为选][:：]?|[:：]|(?<=】))[*_ \t]{0,4}"
    r"|(?:故|因此|所以|应)选择?[:：]?[ \t]{0,4}(?=[(（]?[A-Za-z])"
)
_ALONE = re.compile(
    r"(?:^|[.!?:;,)}\]$。！；，>\"'–—-]\s)(?P<lead>)(?:[^\w\n]|_){0,12}(?:text(?:bf)?\{)?"
    r"(?:(?:\d{1,2}[.)]|step \d{1,2}:)\s)?[*_]{0,3}(?:(?:so|thus|therefore|hence|then|and),?\s)?"
    r"(?:(?:the|my|our)\s)?(?:(?:final|correct|best|right)\s){0,2}[*_\"'`]{0,3}$",
    re.IGNORECASE,
)
"""Pattern of the text before a marker at the beginning of a line or a sentence."""
_WITHIN = re.compile(
    r"\b(?P<lead>)(?:the|my|our|so|thus|therefore|hence|then)[,:]?\s(?:[^\W\d_]+[ -]){0,5}[*_\"'`]{0,3}$",
    re.IGNORECASE,
)
"""Pattern of the text before "answer is" in a sentence, as in "we see that the correct answer is"."""
_LEAD = 60
_NAME_FOLLOWS = (
    r"(?:(?<=\b[A-Z]\.)|(?<=\b[A-Z][a-z]\.)|(?<=\bMrs\.))\s"
    r"(?:[A-Z]\.\s|[A-Z][\w'’-]+,?\s){0,4}[A-Z][\w'’-]+[\"')\]*_]{0,3}(?=[.!?,]|\s*(?:\n|\Z))"
)
"""Pattern of a name after an initial or title: capitalised words up to the end of the sentence."""
_SENTENCE_END = re.compile(
    r"\$\$[^$]{1,2000}\$\$|\$(?=\S)[^$\n]{1,2000}(?<=\S)\$(?!\d)"
    r"|\\\((?:[^\\]|\\(?![()])){1,2000}+\\\)|(?<!\\)\\\[(?:[^\\]|\\(?![\[\]])){1,2000}+\\\]"
    r"|\\begin\s?\{(?P<name>[a-z]{1,12}\*?)\}(?:[^\\]|\\(?!begin|end)){0,2000}+\\end\s?\{(?P=name)\}"
    r"|(?P<end>[。！？；\n]|(?<=[^\\][!?])(?=\s)|</[aA]"
    rf"|\.(?<!\.\.)(?!\.)(?!{_NAME_FOLLOWS})(?!\s(?:[Oo]r\b|或))"
    r"(?=[\"')\]*_]{0,4}(?:\s|\Z))|\.(?=[\"')\]*_\s]*\Z))",
    re.DOTALL,
)
"""Pattern of a whole formula or the end of a sentence. The full stop after an initial or a title does not end
a sentence."""


Group = tuple[Frame, ...]
"""Adjacent frames in text order. All must contain the same value. The last frame is the answer."""


def last_group(text: str, *kinds: FrameKind, holds: Callable[[str], bool] | None = None) -> Group:
    """Return the last nonempty frame with its adjacent frames, or an empty tuple if there is no frame.

    Of nested frames, only the inner one counts. Frames inside code fences count only if no frame is outside.
    If the text has code fences, the offsets refer to a modified text.

    Args:
        text: Text to search.
        kinds: Kinds of frames to search for.
        holds: Function that returns True if the text of a marker or a `####` line is a value for the reward.
            It rejects texts such as "our answer is correct" and `#### Explanation`.
    """
    if ("`" not in text or "```" not in text) and "json" not in kinds:
        return _last_group(text, kinds, holds)
    if "json" in kinds and (whole := _json_frame(text)):
        return (whole,)
    pieces = text.split("```")
    outside = "\n…\n".join(pieces[::2])
    group = _last_group(outside, kinds, holds)
    if group or len(pieces) == 1 or next(_frames(outside, kinds), None) is not None:
        return group
    if "json" in kinds and (inside := _json_frame(pieces[-1 - len(pieces) % 2].partition("\n")[2])):
        return (inside,)
    return _last_group(_FENCE_LINE.sub("", text), kinds, holds)


def _last_group(text: str, kinds: tuple[FrameKind, ...], holds: Callable[[str], bool] | None) -> Group:
    group: list[Frame] = []
    start = len(text)
    for frame in _frames(text, kinds):
        if group:
            if frame.end > start:
                continue
            joined = start - frame.end <= _LONGEST_JOINT and _JOINT.fullmatch(text, frame.end, start)
            if (frame.kind in _ENCLOSED) != (group[-1].kind in _ENCLOSED) or not joined:
                if kept := _with_values(group, holds):
                    return kept
                group = []
        group.append(frame)
        start = frame.start
    return _with_values(group, holds)


def _with_values(group: list[Frame], holds: Callable[[str], bool] | None) -> Group:
    """Return the frames of a reversed group in text order, without frames that `holds` rejects."""
    if holds is not None:
        group = [frame for frame in group if frame.kind not in ("marker", "hash") or holds(frame.text)]
    return tuple(group[::-1])


def _frames(text: str, kinds: tuple[FrameKind, ...]) -> Iterator[Frame]:
    """Yield the frames of these kinds, last first."""
    if len(kinds) == 1:
        return _FINDERS[kinds[0]](text)
    found = (_FINDERS[kind](text) for kind in kinds if kind != "json")
    return heapq.merge(*found, key=_nearest_the_end)


def _nearest_the_end(frame: Frame) -> int:
    return -frame.start


def tags(text: str) -> Iterator[Frame]:
    """Yield the innermost pairs of answer tags, last first."""
    if "nswer>" not in text and "NSWER>" not in text:
        return
    edge = len(text)
    for _ in range(_MOST):
        close, (opening, closing) = max((text.rfind(tags[1], 0, edge), tags) for tags in _TAGS)
        start = max(text.rfind(tags[0], 0, close) for tags in _TAGS) if close >= 0 else -1
        if start < 0:
            return
        content = text[start + len(opening) : close]
        if not _EMPTY.fullmatch(content):
            yield Frame("tags", content.strip(), start, close + len(closing))
        edge = close


def boxes(text: str) -> Iterator[Frame]:
    """Yield the LaTeX boxes and the boxes of GLM models in a text, last first."""
    edge = len(text)
    tokens = _BOX_TOKENS[0] in text
    for _ in range(_MOST):
        start = max(text.rfind("\\boxed", 0, edge), text.rfind("\\fbox", 0, edge))
        if tokens:
            start = max(start, text.rfind(_BOX_TOKENS[0], 0, edge))
        if start < 0:
            return
        content, end = _box_at(text, start)
        if content is not None and not _EMPTY.fullmatch(content):
            yield Frame("box", content.strip(), start, end)
        edge = start


def _box_at(text: str, start: int) -> tuple[str | None, int]:
    """Return the content and the end of the box at `start`.

    The box may have braces, no braces, or box tokens.

    The result is None and `start` if the box is malformed or does not close within `_LONGEST` characters.
    """
    box = _BOX.match(text, start)
    if box is None:
        inside = start + len(_BOX_TOKENS[0])
        end = text.find(_BOX_TOKENS[1], inside, start + _LONGEST) if text[start] == "<" else -1
        return (None, start) if end < 0 else (text[inside:end], end + len(_BOX_TOKENS[1]))
    if text[box.end() : box.end() + 1] != "{":
        bare = _BARE_BOX.match(text, box.end())
        return (bare[1], bare.end()) if bare else (None, start)
    depth = 0
    for brace in _BRACE.finditer(text, box.end(), box.end() + _LONGEST):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if depth == 0 and brace[0] == "}":
            return text[box.end() + 1 : brace.start()], brace.end()
    return None, start


def _hashes(text: str) -> Iterator[Frame]:
    """Yield the lines after `####`, last first. After a bare `####`, the next nonblank line counts."""
    edge = len(text)
    for _ in range(_MOST):
        start = text.rfind("####", 0, text.rfind("#", 0, edge) + 1)
        if start < 0:
            return
        begins, ends = _first_line(text, start + 4, edge)
        line = text[begins : min(ends, begins + _LONGEST_LINE)]
        if "<" in line and (tag := _CLOSING_TAG.search(line)):
            line = line[: tag.start()]
        while start and text[start - 1] == "#":
            start -= 1
        edge = start
        content = _without_joint(line)
        if content[:1].isalnum() or not _EMPTY.fullmatch(content):
            yield Frame("hash", _bare(content), start, begins + len(line))
        if not start:
            return


def _markers(text: str) -> Iterator[Frame]:
    """Yield the texts after `Answer:`, "the answer is" and similar markers, last first."""
    found: list[re.Match[str]] = []
    if "nswer" in text or "NSWER" in text:
        found += _ANSWER.finditer(text)
    if "答案" in text or "选" in text:
        found += _CHINESE.finditer(text)
    edge = len(text)
    for marker in sorted(found, key=re.Match.start, reverse=True):
        start = _announced_from(text, marker) if marker.re is _ANSWER else marker.start()
        if start < 0 or marker.end() > edge:
            continue
        content, end = _sentence_from(text, marker.end(), edge)
        edge = start
        announces_more = content.endswith((":", "："))
        if not announces_more and not _EMPTY.fullmatch(content):
            yield Frame("marker", _bare(content), start, end)


def _announced_from(text: str, marker: re.Match[str]) -> int:
    """Return the start of a marker that opens a line or states the answer in a sentence, or -1."""
    begin = max(0, marker.start() - _LEAD)
    begin = text.rfind("\n", begin, marker.start()) + 1 or begin
    before = text[begin : marker.start()]
    lead = _ALONE.search(before)
    plural = marker[0][6:7] in "sS"  # "The other answers are" does not announce the answer.
    if lead is None and not plural and marker["verb"][:1].isalpha():
        lead = _WITHIN.search(before)
    return -1 if lead is None else begin + lead.start("lead")


def _sentence_from(text: str, start: int, edge: int) -> tuple[str, int]:
    """Return the first sentence after `start`, up to `edge` and with whole formulas, and its end offset."""
    start, _ = _first_line(text, start, edge)
    limit = min(edge, start + _LONGEST_LINE)
    for found in _SENTENCE_END.finditer(text, start, limit):
        if found["end"] is not None:
            limit = found.start()
            break
    return _without_joint(text[start:limit]), limit


def _first_line(text: str, start: int, edge: int) -> tuple[int, int]:
    """Return the start and end of the first nonblank line, without a list bullet."""
    end = text.find("\n", start, edge)
    first = edge if end < 0 else end
    said = text[start:first].lstrip(_BLANKS)
    if said or end < 0:
        return first - len(said), first
    while end >= 0 and not text[start:end].strip(_BLANKS):
        start = end + 1
        end = text.find("\n", start, edge)
    end = edge if end < 0 else end
    bullet = _BULLET.match(text, start, end)
    return bullet.end() if bullet else start, end


_BULLET = re.compile(r"[ \t*_]*(?:[-•](?=\s)[ \t]*)?[ \t*_:：]*")


def _without_joint(text: str) -> str:
    text = text.rstrip()
    return _JOINT_BEHIND.sub("", text) if text.endswith(_JOINTS) else text


_CLOSING_TAG = re.compile(r"</answer>", re.IGNORECASE)


def _bare(text: str) -> str:
    """Remove Markdown marks and quotation marks that surround the whole text."""
    text = text.strip(_AROUND)
    return text[1:-1].strip() if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'" else text


_KEYS = ("final_answer", "answer", "final answer")


def _json_frame(text: str) -> Frame | None:
    """Return the answer in a text that is a single JSON object, or None. Numbers remain as written."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")) or "nswer" not in text:
        return None
    try:
        found = json.loads(
            text, strict=False, parse_int=str, parse_float=str, object_pairs_hook=object_of_pairs
        )
    except (ValueError, RecursionError):
        return None
    values = {
        value for key, value in found.items() if str(key).casefold() in _KEYS and isinstance(value, str)
    }
    value = values.pop().strip() if len(values) == 1 else ""
    return Frame("json", value, 0, len(text)) if value else None


_FINDERS = {
    "tags": tags,
    "box": boxes,
    "hash": _hashes,
    "marker": _markers,
}
