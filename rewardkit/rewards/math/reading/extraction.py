"""Finding the answer in a response: which piece of text the model committed to, and by what form it did.

Only the text after the reasoning counts. Everything is `str.find`, a brace counter or a regex without
nested repetition over a bounded window, so a 10 MB response costs no more than finding its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rewardkit.rewards.counted import UNIT_POWER, changed_in_prose
from rewardkit.rewards.denials import DENIAL, denied, taken_back
from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS
from rewardkit.rewards.math.policies import DEFAULT, Method, Options
from rewardkit.rewards.math.reading.words import CONSTANTS, FUNCTIONS
from rewardkit.rewards.visible import outside_code, visible

_WINDOW = 20_000
"""Characters of one box, and of the tail that the looser methods read."""
_MAX_BOXES = 64
_RUN_TOGETHER = re.compile(r"\\(?:begin|left|big|display|math|text)boxed(?![a-zA-Z])")
"""A layout command that a missing brace or space made one with the box after it."""
_BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\s*([^\s{}$,.]{1,40})")
_BLANK_JOINT = re.compile(r"(?:[^\w.!?]|quad|text|and|or|和|或|与)*")
_BREAKS_JOINT = re.compile(
    r"\b(?:then|wait|no|not|but|actually|hmm|instead|so|thus|therefore|because|hence)\b|\.\s", re.IGNORECASE
)
_MARKER = re.compile(
    r"(?:final\s{1,3}answer|answers?|result|réponse|respuesta|antwort|risposta)[*_\s]{0,4}"
    r"(?:is|are|was|:|：|=|(?:could|may|might|must|would|should)\s{1,3}be|est|es)[\s*_:：]{0,6}"
    r"|(?:final\s{1,3}answer)[\s*_]{1,4}"
    r"|####\s{0,4}|答案[\s*]{0,3}(?:应该)?(?:是|为|选|:|：)?[\s*:：]{0,4}|(?:故选|应选|选)[\s:：]{0,3}(?=[A-J])",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"(?:(?:is|are|thus|therefore|simply|just|that|then|the|est|:|：|=|\*|that is)\s{0,3}|[\s*:：,])*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"\.(?=\s|$|[A-Z][a-z])|[。\n！]|(?<=[!?？])(?=\s|$)|(?<=\$)\s(?=[A-Z][a-z]+ )")
_TRAILING_UNIT = re.compile(
    r"\s{0,2}(?:\\?%|percent(?:age)?\b|pct\b|[°元米度]"
    r"|(?:square |cubic )?[a-zA-Z]{1,12}(?=\s{0,2}[.\n]|\s{0,2}$)|\s(?:or|and)\s.{0,80})"
)
_NUMBER = re.compile(
    r"[-+−]?\s?(?:\\?[$€£¥])?\s?(?:\d+\\?[dt]?frac|\\[dt]?frac)\s?\{[^{}]{1,40}\}\s?\{[^{}]{1,40}\}"
    r"|(?<![A-Za-z0-9_.])[-+−]?(?:\\?[$€£¥])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?"
    r"(?:\s?/\s?\d+(?![\d/]))?(?:\s?\\?%)?(?![a-zA-Z_]*\d)"
    r"|(?<![A-Za-z0-9_.])[-+−]?\.\d+(?:\s?\\?%)?"
)
_NUMBER_UNIT = re.compile(r"(?:\s?(?:percent|pct|percentage|\\%|%|km|cm|mm|kg|m²|m\^2)(?![a-zA-Z]))?")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_MATH_SPAN = re.compile(
    r"\$\$(.{1,2000}?)\$\$|\$([^$\n]{1,2000})\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]", re.DOTALL
)


@dataclass(frozen=True)
class Extraction:
    """The answer found in a response. `answer` is None when there is none."""

    answer: str | None
    method: str
    """`tags`, `boxed`, `marker`, `display`, `inline`, `number`, `whole`, or why nothing was found."""
    parts: tuple[str, ...] = ()
    """The boxes that stand side by side, when there were several; the answer is the last."""
    slot: str = ""
    """The whole of what stood in the tags or after the marker, where the answer is a part of it."""
    denied: tuple[tuple[int, int], ...] = ()
    """Where answers stand that the response denies, the last first: no later method takes them from there."""


NOTHING = Extraction(None, "none")
_STATING_METHODS = ("tags", "boxed", "marker")
"""What states an answer. After one that is denied, the last formula or number of a text is none."""


def extract(response: str, options: Options = DEFAULT) -> Extraction:
    """Return the answer that a response gives, looking in the order of `options.methods`."""
    text = final_part(response)
    if not text or text.isspace():
        return Extraction(None, "empty")
    denied_one = False
    for method in options.methods:
        if denied_one and method not in _STATING_METHODS:
            break
        found = _METHODS[method](text, options)
        if found is not None and found.denied:
            text = _without(text, found.denied)
            denied_one = True
        elif found is not None:
            if found.answer is not None and len(found.answer) > 4 * MAX_ANSWER_CHARS:
                return Extraction(None, f"{found.method}, but too long")
            return found
    return NOTHING


def _without(text: str, spans: tuple[tuple[int, int], ...]) -> str:
    """The text without some places in it, of which the last comes first."""
    for start, end in spans:
        text = f"{text[:start]} {text[end:]}"
    return text


def final_part(response: str) -> str:
    """Return what a reader sees of a response, without code where an answer stands outside of it."""
    text = visible(response)
    if "\\" in text and _has_run_together(text):
        text = _RUN_TOGETHER.sub(r"\\boxed", text)
    if "`" in text:
        outside = outside_code(text)
        stated = (method(outside, DEFAULT) for method in (_tags, _boxed, _marker))
        if any(found is not None and not found.denied for found in stated):
            return outside
    return text


def _has_run_together(text: str) -> bool:
    """Whether any "boxed" has something else than its backslash before it."""
    at = text.find("boxed")
    while at > 0 and text[at - 1] == "\\":
        at = text.find("boxed", at + 5)
    return at > 0


def states_verbatim(response: str, ground_truth: str, options: Options = DEFAULT) -> bool:
    """Return whether a response gives a ground truth character for character, in tags or after a marker.

    It is for answers that reading would cut: sentences, and formulas of several lines.
    """
    wanted = ground_truth.strip(_AROUND)
    text = final_part(response).rstrip(_AROUND)
    if not wanted:
        return False
    if "tags" in options.methods and text.endswith("</answer>"):
        start = text.rfind("<answer>")
        return start >= 0 and text[start + 8 : -9].strip(_AROUND) == wanted and not denied(text, start)
    if "marker" not in options.methods or not text.endswith(wanted):
        return False
    before = text[: -len(wanted)].rstrip(_AROUND)
    stated = [m for m in _MARKER.finditer(before + " ", max(0, len(before) - 60)) if m.end() >= len(before)]
    return bool(stated) and not any(denied(before, at) for at in stated[0].span())


_AROUND = " \t\r\n$.*"


# Answer tags.


def _tags(text: str, options: Options) -> Extraction | None:
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, end) if end >= 0 else -1
    if start < 0:
        return None
    if denied(text, start) or taken_back(text, end + 9):
        return Extraction(None, "denied", denied=((start, end + 9),))
    inner = text[start + 8 : end]
    boxed = _boxed(inner, options) if "boxed" in inner or "fbox" in inner else None
    answer = boxed.answer if boxed else refine(inner)
    slot = "" if boxed or len(inner) > MAX_ANSWER_CHARS else inner.strip()
    return Extraction(
        answer if answer and answer.strip() else None, "tags", boxed.parts if boxed else (), slot
    )


# Boxes.


def _boxed(text: str, options: Options) -> Extraction | None:
    """The last box, with the boxes it forms one list with; empty and fenced ones are passed over."""
    if "\\" not in text:
        return None
    if options.box == "first":
        return _first_box(text)
    found: list[str] = []
    refused: list[tuple[int, int]] = []
    edge = last_end = -1
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
        if not content.strip() or content.strip() in ("...", "\\ldots", "\\cdots"):
            continue
        if not found and (denied(text, position) or taken_back(text, end)):
            refused.append((position, end))
            continue
        if edge < 0:
            found = [content]
            edge = position
            last_end = end
        elif end <= edge and (options.box == "only" or _joined(text[end:edge])):
            found.insert(0, content)
            edge = position
        else:
            break
    if not found:
        denied_ones = Extraction(None, "denied", denied=tuple(refused)) if refused else None
        return denied_ones or _unclosed(text, unclosed, options)
    if (later := _restated(text[last_end:], options)) is not None:
        return later
    if len(found) == 1:
        return Extraction(found[0].strip(), "boxed")
    unique = tuple(dict.fromkeys(part.strip() for part in found))
    return Extraction(", ".join(unique) if options.box == "only" else found[-1].strip(), "boxed", unique)


_RESTATING = re.compile(
    r"(?:final|correct|right|actual|real|true|proper)\s{1,3}(?:answer|result|value)\b"
    r"|\b(?:the|my|our)\s{1,3}answer\s{1,3}(?:is|should|must)\b|^[#*\s]{0,6}answer\s{0,2}:|####",
    re.IGNORECASE | re.MULTILINE,
)


_SHORTEST_STATEMENT = 6
_STATING = ("nswer", "NSWER", "####", "esult", "alue")


def _restated(rest: str, options: Options) -> Extraction | None:
    """An answer stated after the last box, if it is a value and not a sentence about the answer."""
    if len(rest) < _SHORTEST_STATEMENT or not any(mark in rest for mark in _STATING):
        return None
    stated = _RESTATING.search(rest)
    found = _marker(rest[stated.start() :], options) if stated else None
    wordy = found is None or not found.answer or _prose_words(found.answer)
    return None if wordy else found


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


_LABEL = re.compile(r"[a-zA-Z](?:_\{?\w{1,3}\}?)?\s?=\s?\$?$")


def _ends_in_connective(gap: str) -> bool:
    words = _LABEL.sub("", gap.rstrip()).replace("}", " ").replace("$", " ").replace("\\(", " ").split()
    return bool(words) and words[-1].casefold() in ("and", "or", ",", "和", "或")


def _unclosed(text: str, position: int | None, options: Options) -> Extraction | None:
    if position is None:
        return None
    if not options.unclosed_box:
        return Extraction(None, "a box that never closes")
    rest = text[position:].partition("{")[2]
    line = rest[:MAX_ANSWER_CHARS].partition("\n")[0].strip(" $.")
    return Extraction(line or None, "boxed")


# Looser forms.


_ANOTHER_LINE = re.compile(r"[^\S\n]*\n\s{0,5}(?:[-•]\s)?([-+]?\$?\d[\d.,/]{0,40})\$?[^\S\n]*(?=\n|$)")
"""A line after the answer's that is a bare number too."""


def _marker(text: str, _: Options) -> Extraction | None:
    tail = text[-_WINDOW:]
    last = None
    for match in _MARKER.finditer(tail):
        if tail[match.end() : match.end() + 400].strip(" *.:\n"):
            last = match
    if last is None:
        return None
    start = _skip_leading(tail, last.end())
    segment = _segment(tail, start)
    end = start + len(segment)
    if denied(tail, last.start()) or denied(tail, last.end()) or taken_back(tail, end):
        skipped = len(text) - len(tail)
        return Extraction(None, "denied", denied=((skipped + last.start(), skipped + end),))
    if (another := _ANOTHER_LINE.match(tail, end)) is not None:
        return Extraction(f"{segment.strip()}, {another[1]}", "marker")  # candidates, one a line
    answer = refine(segment)
    slot = tail[last.end() : end].strip()
    return Extraction(answer, "marker", slot=slot) if answer else None


def _skip_leading(text: str, position: int) -> int:
    found = _LEADING.match(text, position, position + 60)
    return found.end() if found else position


_UNBROKEN = re.compile(
    _MATH_SPAN.pattern + r"|\\begin\s?\{[a-z]{1,12}\*?\}.{0,2000}?\\end\s?\{[a-z]{1,12}\*?\}"
    r"|\\(?:text|textbf|mbox|mathrm)\s?\{[^{}]{0,400}\}",
    re.DOTALL,
)
"""Maths with its delimiters, an environment, and words within a formula: none is prose, none is cut."""


def _segment(text: str, start: int) -> str:
    """The rest of the sentence from `start`: maths is taken whole, whatever it contains."""
    position = start
    limit = min(len(text), start + 2_000)
    while position < limit:
        span = _UNBROKEN.search(text, position, limit)
        end = _SENTENCE_END.search(text, position, limit)
        if span is None or (end is not None and end.start() < span.start()):
            return text[start : end.start() if end else limit]
        position = span.end()
    return text[start:limit]


def _prose_words(text: str) -> list[str]:
    """The words of a text that are neither within maths nor names of functions and commands."""
    bare = _COMMAND_NAME.sub(" ", _UNBROKEN.sub(" ", text))
    return [w for w in _WORDS.findall(bare) if w not in FUNCTIONS and w not in CONSTANTS]


def refine(segment: str) -> str:
    """Return the answer within a phrase: the whole of a short one, the one formula or number in a long one.

    A phrase that denies anything, or has several numbers, is returned whole: no part may stand for it.
    """
    segment = segment.strip().strip("*_`").strip()
    outside = _UNBROKEN.sub(" ", segment)
    verb = _last_verb(segment)
    if verb is not None and segment[verb:].strip(" :：."):
        return segment if denied(segment, verb) else segment[verb:].strip()
    if DENIAL.search(outside) or len(_prose_words(segment)) <= 3:
        return segment
    spans = list(_MATH_SPAN.finditer(segment))
    numbers = list(_NUMBER.finditer(_MATH_SPAN.sub(" ", segment)))
    if len(spans) + len(numbers) != 1 or _CHANGING.search(outside):
        return segment
    return _span_text(segment, spans[0]) if spans else _last_number(segment) or segment


_VERB = re.compile(r"\b(?:is|are|equals|be)\b(?:\s(?:equal to|exactly))?|应该是|等于|[是为]")


def _last_verb(segment: str) -> int | None:
    """Where the last verb outside of maths ends: what follows it is what is said of the subject before it."""
    masked = _UNBROKEN.sub(lambda m: " " * len(m.group()), segment)
    found = [m.end() for m in _VERB.finditer(masked)]
    return found[-1] if found else None


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
    if "\n\n" in inner or len(inner) > 2_000 or _NUMBER.search(tail, opening + 2):
        return None
    if denied(tail, start) or taken_back(tail, opening + 2) or _asked_for(tail, start):
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
    if _NUMBER.search(after) or "\n\n" in after:
        return None
    if denied(tail, last.start()) or taken_back(tail, last.end()) or _asked_for(tail, last.start()):
        return None
    return Extraction(_last_side(_span_text(tail, last)), "inline")


_REQUEST = re.compile(
    r"(?:^|[.!?:]\s{1,3}|\n\s{0,3}|asks:\s)(?:please\s)?(?:find|compute|evaluate|simplify|expand|calculate|determine|solve|express"
    r"|factor|prove|show|convert|rationalize|write|give|what|which|how|for\s(?:what|how|which))\b[^.!?\n]*$",
    re.IGNORECASE,
)


_QUESTION = re.compile(r"\b(?:what|which|how\s(?:many|much))\b[^.!?\n]*$", re.IGNORECASE)


def _asked_for(text: str, position: int) -> bool:
    """Whether the sentence so far asks for what stands here: a question repeated is no answer to it."""
    before = _MATH_SPAN.sub(" ", text[max(0, position - 400) : position])
    return _REQUEST.search(before) is not None or _QUESTION.search(before) is not None


def _is_bare(text: str) -> bool:
    """Whether a short response is nothing but its answer: maths, with at most one word to it."""
    if "$" not in text or "\n" in text:
        return False
    outside = _MATH_SPAN.sub(" ", text)
    others = _WORDS.findall(outside)
    if "$" in outside:
        return False
    return len(others) == 0 or (len(others) == 1 and others[0].casefold() not in _LEAD_WORDS)


_LEAD_WORDS = frozenset({"answer", "so", "thus", "hence", "therefore", "is", "then", "we"})


def _last_side(text: str) -> str:
    """What a worked line comes to: its last side, unless it only names or restricts a variable."""
    text = text.strip().rstrip(".")
    if text.count("=") == 0 or "\\begin" in text:
        return text
    head, _, last = text.rpartition("=")
    if head[-1:] in "<>!\\" or (text.count("=") == 1 and not re.search(r"[-+*/\d]|\\cdot|\\times", head)):
        return text
    return last.strip() or text


def _number(text: str, _: Options) -> Extraction | None:
    if len(text) < MAX_ANSWER_CHARS and _is_formula(text.strip()):
        return Extraction(text.strip(), "whole")
    found = _last_number(text[-2_000:])
    return Extraction(found, "number") if found else None


_CHANGING = re.compile(
    r"\b(?:twice|thrice|half|double|triple|sum|product|difference|quotient|square|squared|cube|cubed|root|power"
    r"|reciprocal|inverse|opposite|negative|factorial|plus|minus|times|divided|multiplied|more|less|fewer|greater"
    r"|between|hundred|thousand|million|billion|trillion|dozen|or)\b",
    re.IGNORECASE,
)
"""Words with which the one number of a sentence is not what the sentence comes to."""
_CONTRAST = re.compile(r"\b(?:but|however|instead|rather|actually)\b", re.IGNORECASE)
_SCALE = re.compile(r"(?:\s{1,3}(?:hundred|thousand|million|billion|trillion)s?\b)+", re.IGNORECASE)
_WITHIN_FORMULA = ")]}^_+=&"
_STANDS_ALONE = re.compile(r"[=(]\s*$")


def _is_formula(text: str) -> bool:
    """Whether a response is one line of maths and no words, so that no number in it may stand for it."""
    if "boxed" in text:
        return False
    return "\n" not in text and not _prose_words(text) and ":" not in text


_COMMAND_NAME = re.compile(r"\\[a-zA-Z]+")


def _last_number(text: str) -> str | None:
    last = None
    for match in _NUMBER.finditer(text):
        last = match
    if last is None:
        return None
    before = text[max(0, last.start() - 40) : last.start()]
    after = text[last.end() : last.end() + 2].lstrip()
    scale = _SCALE.match(text, last.end())
    end = scale.end() if scale else last.end()
    if denied(text, last.start()) or taken_back(text, end) or changed_in_prose(text, last.start(), end):
        return None
    if after[:1] in _WITHIN_FORMULA and after and not _STANDS_ALONE.search(before):
        return None
    if _CONTRAST.search(text, last.end()):
        return None
    if any(map(str.isdigit, UNIT_POWER.sub("", text[last.end() :]))):
        return None  # a number in another notation follows
    unit = scale or _NUMBER_UNIT.match(text, last.end())
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
