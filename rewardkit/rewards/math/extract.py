"""Finding the answer in a response: which piece of text the model committed to, and by what form it did.

Only the text after the reasoning counts. Everything is `str.find`, a brace counter or a regex without
nested repetition over a bounded window, so a 10 MB response costs no more than finding its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS
from rewardkit.rewards.math.policies import DEFAULT, Method, Options

_WINDOW = 20_000
"""Characters of one box, and of the tail that the looser methods read."""
_MAX_BOXES = 64
_STOPS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "</s>", "<|im_start|>", "<|end_of_text|>", "<｜")
_BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\s*([^\s{}$,.]{1,40})")
_JOINT = re.compile(
    r"[\s$,;.()\\\[\]、，；&]*(?:(?:\\text|\\mbox|\\quad|\\qquad|\\,|\\;|\{|\}|\$|\s|,|[A-Za-z]{1,12}|\([a-z]\)|和|或|与){0,8}?"
    r"(?:and|or|和|或|与|,|;|、)[\s{}$\\,;()\[\]]*(?:quad|qquad|text)?[\s{}$\\,;()\[\]]*)?"
)
_BLANK_JOINT = re.compile(r"(?:[\s$,;、，；&{}\\()\[\]]|quad|text|and|or|和|或|与)*")
_BREAKS_JOINT = re.compile(r"\b(?:then|wait|no|not|but|actually|hmm|instead|so|thus|therefore|because|hence)\b|\.\s", re.IGNORECASE)
_MARKER = re.compile(
    r"(?:final\s{1,3}answer|answers?|result|réponse|respuesta|antwort|risposta)[*_\s]{0,4}"
    r"(?:is|are|was|:|：|=|(?:could|may|might|must|would|should)\s{1,3}be|est|es)[\s*_:：]{0,6}"
    r"|(?:final\s{1,3}answer)[\s*_]{1,4}"
    r"|####\s{0,4}|答案[\s*]{0,3}(?:应该)?(?:是|为|选|:|：)?[\s*:：]{0,4}|(?:故选|应选|选)[\s:：]{0,3}(?=[A-J])",
    re.IGNORECASE,
)
_LEADING = re.compile(r"(?:(?:is|are|thus|therefore|simply|just|that|then|the|est|:|：|=|\*|that is)\s{0,3}|[\s*:：,])*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"\.(?=\s|$|[A-Z][a-z])|[。\n!?！？]|(?<=\$)\s(?=[A-Z][a-z]+ )")
_TRAILING_UNIT = re.compile(
    r"\s{0,2}(?:\\?%|percent(?:age)?\b|pct\b|[°元米度]|(?:square |cubic )?[a-zA-Z]{1,12}(?=\s{0,2}[.\n]|\s{0,2}$)|\s(?:or|and)\s.{0,80})"
)
_NUMBER = re.compile(
    r"[-+−]?\s?(?:\\?[$€£¥])?\s?(?:\d+\\?[dt]?frac|\\[dt]?frac)\s?\{[^{}]{1,40}\}\s?\{[^{}]{1,40}\}"
    r"|(?<![\w.])[-+−]?(?:\\?[$€£¥])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?"
    r"(?:\s?/\s?\d+(?![\d/]))?(?:\s?\\?%)?(?![a-zA-Z_]*\d)"
    r"|(?<![\w.])[-+−]?\.\d+(?:\s?\\?%)?"
)
_NUMBER_UNIT = re.compile(r"(?:\s?(?:percent|pct|percentage|\\%|%|km|cm|mm|kg|m²|m\^2)(?![a-zA-Z]))?")
_DENIED = re.compile(
    r"(?:\b(?:not|never|isn't|aren't|except|neither|nor|rule out|ruled out|exclude|wrong)|不是|并非|n't)[^.;。\d]{0,16}$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]{2,}")
_MATH_SPAN = re.compile(r"\$\$(.{1,2000}?)\$\$|\$([^$\n]{1,2000})\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]", re.DOTALL)
_COMMENT = re.compile(r"^\[//\]: # ?.*$", re.MULTILINE)


@dataclass(frozen=True)
class Extraction:
    """The answer found in a response. `answer` is None when there is none."""

    answer: str | None
    method: str
    """`tags`, `boxed`, `marker`, `display`, `inline`, `number`, `whole`, or why nothing was found."""
    parts: tuple[str, ...] = ()
    """The boxes that were joined into the answer, when there were several."""


NOTHING = Extraction(None, "none")


def extract(response: str, options: Options = DEFAULT) -> Extraction:
    """Return the answer that a response gives, looking in the order of `options.methods`."""
    text = final_part(response)
    if not text or text.isspace():
        return Extraction(None, "empty")
    for method in options.methods:
        found = _METHODS[method](text, options)
        if found is not None:
            if found.answer is not None and len(found.answer) > 4 * MAX_ANSWER_CHARS:
                return Extraction(None, f"{found.method}, but too long")
            return found
    return NOTHING


def final_part(response: str) -> str:
    """Return what follows the reasoning and precedes any end-of-text token."""
    closing = response.rfind("</think>")
    if closing >= 0:
        text = response[closing + 8 :]
    elif "<think>" in response:
        return ""
    else:
        text = response
    if "\\beginboxed" in text:
        text = text.replace("\\beginboxed", "\\boxed")
    if "<" in text:
        text = text.removeprefix("<|im_start|>assistant")
        for stop in _STOPS:
            cut = text.find(stop)
            if cut >= 0:
                text = text[:cut]
        if "<!--" in text:
            text = _drop_comments(text)
    return _COMMENT.sub("", text) if "[//]: #" in text else text


def _drop_comments(text: str) -> str:
    kept, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("-->", start)
        if end < 0:
            return "".join(kept)
        position = end + 3
    return "".join([*kept, text[position:]])


# Answer tags.


def _tags(text: str, options: Options) -> Extraction | None:
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, end) if end >= 0 else -1
    if start < 0:
        return None
    inner = text[start + 8 : end]
    boxed = _boxed(inner, options) if "boxed" in inner or "fbox" in inner else None
    answer = boxed.answer if boxed else refine(inner)
    return Extraction(answer if answer and answer.strip() else None, "tags", boxed.parts if boxed else ())


# Boxes.


def _boxed(text: str, options: Options) -> Extraction | None:
    """The last box, with the boxes it forms one list with; empty and fenced ones are passed over."""
    if options.box == "first":
        return _first_box(text)
    found: list[str] = []
    edge = -1
    unclosed = None
    position = len(text)
    framed = "\\fbox" in text
    for _ in range(_MAX_BOXES):
        last_box = text.rfind("\\boxed", 0, position)
        position = max(last_box, text.rfind("\\fbox", 0, position)) if framed else last_box
        if position < 0:
            break
        content, end = _box_at(text, position)
        if content is None:
            unclosed = position if unclosed is None and not found else unclosed
            continue
        if not content.strip() or content.strip() in ("...", "\\ldots", "\\cdots") or _fenced(text, position):
            continue
        if edge < 0:
            found, edge = [content], position
        elif end <= edge and (options.box == "only" or _joined(text[end:edge])):
            found.insert(0, content)
            edge = position
        else:
            break
    if not found:
        return _unclosed(text, unclosed, options)
    if len(found) == 1:
        return Extraction(found[0].strip(), "boxed")
    unique = tuple(dict.fromkeys(part.strip() for part in found))
    return Extraction(", ".join(unique), "boxed", unique)


def _first_box(text: str) -> Extraction | None:
    for match in _BOX.finditer(text):
        content, _ = _box_at(text, match.start())
        if content is not None and content.strip():
            return Extraction(content.strip(), "boxed", (content,))
    return None


def _box_at(text: str, position: int) -> tuple[str | None, int]:
    """Return a box's content and where it ends; None when it never closes."""
    match = _BOX.match(text, position)
    if match is None:
        return None, position
    start = match.end()
    while text[start : start + 1] == " ":
        start += 1
    if text[start : start + 1] != "{":
        bare = _BARE_BOX.match(text, start)
        return (bare.group(1), bare.end()) if bare else (None, position)
    depth = 0
    for brace in _BRACE.finditer(text, start, start + _WINDOW):
        sign = brace.group()
        depth += (sign == "{") - (sign == "}")
        if depth == 0 and sign == "}":
            return text[start + 1 : brace.start()], brace.end()
    return None, position


def _joined(gap: str) -> bool:
    """Whether two boxes with this between them form one list rather than a correction."""
    if len(gap) > 60:
        return False
    if _BLANK_JOINT.fullmatch(gap):
        return True
    return _BREAKS_JOINT.search(gap) is None and _ends_in_connective(gap)


def _ends_in_connective(gap: str) -> bool:
    words = gap.replace("}", " ").replace("$", " ").replace("\\(", " ").split()
    return bool(words) and words[-1].casefold() in ("and", "or", ",", "和", "或")


def _fenced(text: str, position: int) -> bool:
    """Whether a code fence is open here, while there is a box outside of code."""
    fence = text.find("```")
    if fence < 0 or fence > position:
        return False
    return text.count("```", fence, position) % 2 == 1 and _BOX.search(text, 0, fence) is not None


def _unclosed(text: str, position: int | None, options: Options) -> Extraction | None:
    if position is None:
        return None
    if not options.unclosed_box:
        return Extraction(None, "a box that never closes")
    rest = text[position:].partition("{")[2]
    line = rest[:MAX_ANSWER_CHARS].partition("\n")[0].strip(" $.")
    return Extraction(line or None, "boxed")


# Looser forms.


def _marker(text: str, _: Options) -> Extraction | None:
    tail = text[-_WINDOW:]
    last = None
    for match in _MARKER.finditer(tail):
        if tail[match.end() : match.end() + 400].strip(" *.:\n"):
            last = match
    if last is None:
        return None
    start = _skip_leading(tail, last.end())
    answer = refine(_segment(tail, start))
    return Extraction(answer, "marker") if answer else None


def _skip_leading(text: str, position: int) -> int:
    found = _LEADING.match(text, position, position + 60)
    return found.end() if found else position


def _segment(text: str, start: int) -> str:
    """The rest of the sentence from `start`: maths is taken whole, whatever it contains."""
    position = start
    limit = min(len(text), start + 2_000)
    while position < limit:
        span = _MATH_SPAN.search(text, position, limit)
        end = _SENTENCE_END.search(text, position, limit)
        if span is None or (end is not None and end.start() < span.start()):
            return text[start : end.start() if end else limit]
        position = span.end()
    return text[start:limit]


def refine(segment: str) -> str:
    """Return the answer within a phrase: the whole of a short one, the maths or the number in a long one."""
    segment = segment.strip().strip("*_`").strip()
    outside = _MATH_SPAN.sub(" ", segment)
    if len(_WORDS.findall(outside)) <= 3:
        return segment
    spans = list(_MATH_SPAN.finditer(segment))
    if spans:
        after = _last_number(segment[spans[-1].end() :])
        if after is not None:
            return after
        return segment if _DENIED.search(segment[: spans[-1].start()]) else _span_text(segment, spans[-1])
    return _last_number(segment) or segment


def _span_text(text: str, span: re.Match[str]) -> str:
    inner = next(group for group in span.groups() if group is not None)
    unit = _TRAILING_UNIT.match(text, span.end())
    return inner.strip() + (unit.group() if unit else "")


def _display(text: str, _: Options) -> Extraction | None:
    tail = text[-_WINDOW:]
    opening, closing = max((tail.rfind("\\]"), "\\["), (tail.rfind("$$"), "$$"))
    if opening < 0:
        return None
    start = tail.rfind(closing, 0, opening)
    if start < 0:
        return None
    inner = tail[start + 2 : opening]
    if "\n\n" in inner or len(inner) > 2_000 or len(tail) - opening > 400:
        return None
    return Extraction(_last_side(inner), "display") if inner.strip() else None


def _inline(text: str, _: Options) -> Extraction | None:
    if len(text) < 200 and _is_bare(text.strip()):
        return Extraction(text.strip(), "inline")
    tail = text[-2_000:]
    spans = [m for m in _MATH_SPAN.finditer(tail) if any(g and g.strip() for g in m.groups())]
    if not spans:
        return None
    last = spans[-1]
    after = tail[last.end() :]
    if _NUMBER.search(after) or "\n\n" in after or _DENIED.search(tail[max(0, last.start() - 40) : last.start()]):
        return None
    return Extraction(_last_side(_span_text(tail, last)), "inline")


def _is_bare(text: str) -> bool:
    """Whether a short response is nothing but its answer: maths, with at most one word to it."""
    if "$" not in text or "\n" in text:
        return False
    others = _WORDS.findall(_MATH_SPAN.sub(" ", text))
    return len(others) == 0 or (len(others) == 1 and others[0].casefold() not in _LEAD_WORDS)


_LEAD_WORDS = frozenset({"answer", "so", "thus", "hence", "therefore", "is", "then", "we"})


def _last_side(text: str) -> str:
    """What a worked line comes to: its last side, unless it only names or restricts a variable."""
    text = text.strip().rstrip(".")
    if text.count("=") == 0 or "\\begin" in text:
        return text
    head, _, last = text.rpartition("=")
    if head[-1:] in "<>!\\" or text.count("=") == 1 and not re.search(r"[-+*/\d]|\\cdot|\\times", head):
        return text
    return last.strip() or text


def _number(text: str, _: Options) -> Extraction | None:
    if len(text) < MAX_ANSWER_CHARS and _is_formula(text.strip()):
        return Extraction(text.strip(), "whole")
    found = _last_number(text[-2_000:])
    return Extraction(found, "number") if found else None


_HEDGED = re.compile(r"\bor\s*$", re.IGNORECASE)
_WITHIN_FORMULA = ")]}^_+=&"
_STANDS_ALONE = re.compile(r"[=(]\s*$")


def _is_formula(text: str) -> bool:
    """Whether a response is one line of maths and no words, so that no number in it may stand for it."""
    return "\n" not in text and not _WORDS.search(_COMMAND_NAME.sub(" ", text)) and ":" not in text


_COMMAND_NAME = re.compile(r"\\[a-zA-Z]+")


def _last_number(text: str) -> str | None:
    last = None
    for match in _NUMBER.finditer(text):
        last = match
    if last is None:
        return None
    before, after = text[max(0, last.start() - 40) : last.start()], text[last.end() : last.end() + 2].lstrip()
    if _DENIED.search(before) or _HEDGED.search(before):
        return None
    if after[:1] in _WITHIN_FORMULA and after and not _STANDS_ALONE.search(before):
        return None
    unit = _NUMBER_UNIT.match(text, last.end())
    return last.group().strip() + (unit.group() if unit else "")


def _whole(text: str, _: Options) -> Extraction | None:
    return Extraction(text.strip(), "whole")


_METHODS: dict[Method, Callable[[str, Options], Extraction | None]] = {
    "tags": _tags,
    "boxed": _boxed,
    "marker": _marker,
    "display": _display,
    "inline": _inline,
    "number": _number,
    "whole": _whole,
}
_ = _JOINT
