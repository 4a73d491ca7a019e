"""Finding the answer in a response: which piece of text the model committed to, and by what form it did.

Only the text after the reasoning counts. Everything is `str.find`, a brace counter or a regex without
nested repetition over a bounded window, so a 10 MB response costs no more than finding its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS
from rewardkit.rewards.math.policies import DEFAULT, MathOptions, Method
from rewardkit.rewards.math.reading.boxes import BOX, WINDOW, box_at, joined
from rewardkit.rewards.math.reading.json_answer import answer_in_json
from rewardkit.rewards.math.reading.phrases import (
    MATH_SPAN,
    NUMBER,
    WORDS,
    last_number,
    prose_words,
    refine,
    sentence_from,
    skip_leading,
    span_text,
)
from rewardkit.rewards.math.reading.spelled import spelled_number
from rewardkit.rewards.reading.answer_tag import last_answer
from rewardkit.rewards.reading.behind_units import taken_back_behind_unit
from rewardkit.rewards.reading.denials import denied, taken_back
from rewardkit.rewards.reading.numbered import numbered_apart
from rewardkit.rewards.reading.visible import outside_code, visible, without_code_comments
from rewardkit.rewards.reading.wordings import ONCE_SO

_MAX_BOXES = 64
_RUN_TOGETHER = re.compile(r"\\(?:begin|left|big|display|math|text)boxed(?![a-zA-Z])")
"""A layout command that a missing brace or space made one with the box after it."""
_MARKER = re.compile(
    r"(?:final\s{1,3}answer|answers?|result|réponse|respuesta|antwort|risposta)[*_\s]{0,4}"
    r"(?:ist|lautet|is|are|was|:|：|=|(?:could|may|might|must|would|should)\s{1,3}be|est|es|è)[\s*_:：]{0,6}"
    r"|(?:final\s{1,3}answer)[\s*_]{1,4}"
    r"|####\s{0,4}|答案[\s*]{0,3}(?:应该)?(?:是|为|选|:|：)?[\s*:：]{0,4}|(?:故选|应选"
    r"|选)[\s:：]{0,3}(?=[A-J])",
    re.IGNORECASE,
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


def extract(response: str, options: MathOptions = DEFAULT) -> Extraction:
    """Return the answer that a response gives, looking in the order of `options.methods`."""
    text = final_part(response)
    if "`" in text:
        text = without_code_comments(text)
    if not text or text.isspace():
        return Extraction(None, "empty")
    if numbered_apart(text):
        return Extraction(None, "several numbered answers")
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


def states_verbatim(response: str, ground_truth: str, options: MathOptions = DEFAULT) -> bool:
    """Return whether a response gives a ground truth character for character, in tags or after a marker.

    It is for answers that reading would cut: sentences, and formulas of several lines.
    """
    wanted = ground_truth.strip(_AROUND)
    text = final_part(response).rstrip(_AROUND)
    if not wanted:
        return False
    if "tags" in options.methods and text.endswith("</answer>"):
        tag = last_answer(text)
        return tag is not None and tag.inner.strip(_AROUND) == wanted and not denied(text, tag.start)
    if "marker" not in options.methods or not text.endswith(wanted):
        return False
    before = text[: -len(wanted)].rstrip(_AROUND)
    stated = [m for m in _MARKER.finditer(before + " ", max(0, len(before) - 60)) if m.end() >= len(before)]
    return bool(stated) and not any(denied(before, at) for at in stated[0].span())


_AROUND = " \t\r\n$.*"


# Answer tags.


def _tags(text: str, options: MathOptions) -> Extraction | None:
    tag = last_answer(text)
    if tag is None:
        return None
    if denied(text, tag.start) or taken_back_behind_unit(text, tag.end):
        return Extraction(None, "denied", denied=((tag.start, tag.end),))
    inner = tag.inner
    boxed = _boxed(inner, options) if "boxed" in inner or "fbox" in inner else None
    answer = boxed.answer if boxed else refine(inner)
    slot = "" if boxed or len(inner) > MAX_ANSWER_CHARS else inner.strip()
    return Extraction(
        answer if answer and answer.strip() else None, "tags", boxed.parts if boxed else (), slot
    )


# Boxes.


def _boxed(text: str, options: MathOptions) -> Extraction | None:
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
        content, end = box_at(text, position)
        if content is None:
            unclosed = position if unclosed is None and not found else unclosed
            continue
        if not content.strip() or content.strip() in ("...", "\\ldots", "\\cdots"):
            continue
        if not found and (denied(text, position) or taken_back_behind_unit(text, end)):
            refused.append((position, end))
            continue
        if edge < 0:
            found = [content]
            edge = position
            last_end = end
        elif end <= edge and (options.box == "only" or joined(text[end:edge])):
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


def _restated(rest: str, options: MathOptions) -> Extraction | None:
    """An answer stated after the last box, if it is a value and not a sentence about the answer."""
    if len(rest) < _SHORTEST_STATEMENT or not any(mark in rest for mark in _STATING):
        return None
    stated = _RESTATING.search(rest)
    found = _marker(rest[stated.start() :], options) if stated else None
    wordy = found is None or not found.answer or prose_words(found.answer)
    return None if wordy else found


def _first_box(text: str) -> Extraction | None:
    for match in BOX.finditer(text):
        content, _ = box_at(text, match.start())
        if content is not None and content.strip():
            return Extraction(content.strip(), "boxed", (content,))
    return None


def _unclosed(text: str, position: int | None, options: MathOptions) -> Extraction | None:
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


def _marker(text: str, _: MathOptions) -> Extraction | None:
    if (in_json := answer_in_json(text)) is not None:
        return Extraction(in_json, "marker")
    tail = text[-WINDOW:]
    last = None
    for match in _MARKER.finditer(tail):
        if tail[match.end() : match.end() + 400].strip(" *.:\n"):
            last = match
    if last is None:
        return None
    start = skip_leading(tail, last.end())
    segment = sentence_from(tail, start)
    end = start + len(segment)
    once = last[0].rstrip(" \n*_:").endswith(("was", "be")) and ONCE_SO.match(segment) is not None
    if once or denied(tail, last.start()) or denied(tail, last.end()) or taken_back(tail, end):
        skipped = len(text) - len(tail)
        return Extraction(None, "denied", denied=((skipped + last.start(), skipped + end),))
    if (another := _ANOTHER_LINE.match(tail, end)) is not None:
        return Extraction(f"{segment.strip()}, {another[1]}", "marker")  # candidates, one a line
    answer = refine(segment)
    slot = tail[last.end() : end].strip()
    return Extraction(answer, "marker", slot=slot) if answer else None


def _display(text: str, _: MathOptions) -> Extraction | None:
    tail = text[-WINDOW:]
    opening, closing = max((tail.rfind("\\]"), "\\["), (tail.rfind("$$"), "$$"))
    if opening < 0:
        return None
    start = tail.rfind(closing, 0, opening)
    if start < 0:
        return None
    inner = tail[start + 2 : opening]
    if "\n\n" in inner or len(inner) > 2_000 or NUMBER.search(tail, opening + 2):
        return None
    if denied(tail, start) or taken_back_behind_unit(tail, opening + 2) or _asked_for(tail, start):
        return None
    return Extraction(_last_side(inner), "display") if inner.strip() else None


def _inline(text: str, _: MathOptions) -> Extraction | None:
    if len(text) < 200 and _is_bare(text.strip()):
        return Extraction(text.strip(), "inline")
    tail = text[-2_000:]
    spans = [m for m in MATH_SPAN.finditer(tail) if any(g and g.strip() for g in m.groups())]
    if not spans:
        return None
    last = spans[-1]
    after = tail[last.end() :]
    if NUMBER.search(after) or "\n\n" in after:
        return None
    run = _joined_with_last(tail, spans)
    if denied(tail, run[0].start()) or denied(tail, last.start()) or taken_back_behind_unit(tail, last.end()):
        return None
    if _asked_for(tail, run[0].start()):
        return None
    said = [*map(_inner, run[:-1]), span_text(tail, last)]
    return Extraction(", ".join(map(_last_side, said)), "inline")


def _joined_with_last(text: str, spans: list[re.Match[str]]) -> list[re.Match[str]]:
    """The last formula with those that only "and", "or" and commas join to it: all are what is said.

    What "since $x=3$ and $y=4$, $x+y=7$" or "$x^2 = 49$, $x = 7$" begins with is the way to the last one:
    formulas that work something out and those that only say or name it are no list.
    """
    first = last = len(spans) - 1
    while first > 0 and _JOINT.fullmatch(text, spans[first - 1].end(), spans[first].start()):
        first -= 1
    run = spans[first:]
    worked = {_last_side(inner) != inner.strip().rstrip(".") for inner in map(_inner, run)}
    by_comma = text[spans[last - 1].end() : spans[last].start()].strip() in (",", ";")
    if by_comma and _PREMISE.search(text[max(0, run[0].start() - _PREMISE_CHARS) : run[0].start()]):
        return run[-1:]
    return run if len(worked) == 1 else run[-1:]


def _inner(span: re.Match[str]) -> str:
    return str(next(filter(None, span.groups())))


_PREMISE_CHARS = 40
_PREMISE = re.compile(
    r"(?:\A|[.!?:;,\n]\s{0,3})(?:(?:so|then|thus|now|and|but|hence|or)\s)?(?:since|because|if|when|with"
    r"|as|given|for)"
    r"\s(?:that\s)?$",
    re.IGNORECASE,
)
"""Opens a clause before formulas from which the last one follows."""
_JOINT = re.compile(r",?\s{1,3}(?:and|or)\s{1,3}|[,;]\s{1,3}")
_REQUEST = re.compile(
    r"(?:^|[.!?:]\s{1,3}|\n\s{0,3}|asks:\s)(?:please\s)?(?:find|compute|evaluate|simplify|expand"
    r"|calculate|determine|solve|express"
    r"|factor|prove|show|convert|rationalize|write|give|what|which|how|for\s(?:what|how|which))\b[^.!?\n]*$",
    re.IGNORECASE,
)


_QUESTION = re.compile(r"\b(?:what|which|how\s(?:many|much))\b[^.!?\n]*$", re.IGNORECASE)


def _asked_for(text: str, position: int) -> bool:
    """Whether the sentence so far asks for what stands here: a question repeated is no answer to it."""
    before = MATH_SPAN.sub(" ", text[max(0, position - 400) : position])
    return _REQUEST.search(before) is not None or _QUESTION.search(before) is not None


def _is_bare(text: str) -> bool:
    """Whether a short response is nothing but its answer: maths, with at most one word to it."""
    if "$" not in text or "\n" in text:
        return False
    outside = MATH_SPAN.sub(" ", text)
    others = WORDS.findall(outside)
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


def _number(text: str, _: MathOptions) -> Extraction | None:
    if len(text) < MAX_ANSWER_CHARS and (_is_formula(text.strip()) or _is_spelled(text)):
        return Extraction(_LEADING_ARROW.sub("", text.strip()), "whole")
    found = last_number(text[-2_000:])
    return Extraction(found, "number") if found else None


_LEADING_ARROW = re.compile(r"^(?:[-=]+>|[→⇒⟹]|\\(?:Rightarrow|implies|to)\b)\s{0,3}")


def _is_spelled(text: str) -> bool:
    """Whether a response is nothing but a number in words."""
    return spelled_number(text.strip(_AROUND)) is not None


def _is_formula(text: str) -> bool:
    """Whether a response is one line of maths and no words, so that no number in it may stand for it."""
    if "boxed" in text:
        return False
    return "\n" not in text and not prose_words(text) and ":" not in text


def _whole(text: str, _: MathOptions) -> Extraction | None:
    return Extraction(text.strip(), "whole")


_METHODS: dict[Method, Callable[[str, MathOptions], Extraction | None]] = {
    "tags": _tags,
    "boxed": _boxed,
    "marker": _marker,
    "display": _display,
    "inline": _inline,
    "number": _number,
    "whole": _whole,
}
