"""Finds the answer in a response, and the method that found the answer.

All rewards use the same frames (`answers/place.py`). If a response has no frame, its answer is the whole
response if that is one line of maths, or else its last displayed formula, inline formula or number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rewardkit.rewards.answers.place import (
    Frame,
    FrameKind,
    Group,
    Prompt,
    boxes,
    last_group,
    own_text,
    question_of,
    without_prompt,
)
from rewardkit.rewards.math.guards import MAX_ANSWER_CHARS
from rewardkit.rewards.math.policies import DEFAULT, MathOptions, Method
from rewardkit.rewards.math.reading.phrases import (
    MATH_SPAN,
    NUMBER,
    last_number,
    prose_words,
    refine,
    span_text,
)
from rewardkit.rewards.math.reading.spelled import spelled_number

_FRAMES: dict[Method, tuple[FrameKind, ...]] = {
    "tags": ("tags",),
    "boxed": ("box",),
    "marker": ("hash", "marker", "json"),
}
_WINDOW = 20_000
"""Number of characters at the end of a response that are searched for a displayed formula."""


@dataclass(frozen=True)
class Extraction:
    """Answer found in a response. `answer` is None if the response has no answer."""

    answer: str | None
    method: str
    """Method that found the answer (`tags`, `boxed`, `marker`, `whole`, `display`, `inline` or `number`), or
    the reason why there is no answer."""
    parts: tuple[str, ...] = ()
    """Contents of adjacent boxes if they differ. The answer is then a list of these contents."""
    slot: str = ""
    """Whole content of the tags, or whole text after the marker, from which the answer was taken."""
    beside: tuple[str, ...] = ()
    """Contents of adjacent frames of other kinds. They must equal the answer."""


def extract(response: str, options: MathOptions = DEFAULT, prompt: Prompt = None) -> Extraction:
    """Return the answer in the last frame of a response, or else the first answer by `options.methods`."""
    options = options.resolved
    methods = options.methods or ()
    text = own_text(response, prompt)
    if not text or text.isspace():
        return Extraction(None, "empty")
    found = _framed(text, methods, every_box=options.preset == "strict")
    question = question_of(prompt)
    if found is None and question:
        text = without_prompt(text, prompt)
    if found is None and _is_line_of_maths(text.strip()) and not _FRAMES.keys() >= set(methods):
        found = Extraction(_LEADING_ARROW.sub("", text.strip()), "whole")
    for method in methods:
        if found is None and method in _METHODS:
            found = _METHODS[method](text, question)
    if found is None:
        return Extraction(None, "none")
    if found.answer is not None and len(found.answer) > 4 * MAX_ANSWER_CHARS:
        return Extraction(None, f"{found.method}, but too long")
    return found


# Frames.


def _framed(text: str, methods: tuple[Method, ...], *, every_box: bool) -> Extraction | None:
    if every_box and "boxed" in methods and (found := _all_boxes(text)):
        return found
    kinds = [kind for method in methods for kind in _FRAMES.get(method, ())]
    group = last_group(text, *kinds, holds=_is_maths) or last_group(text, *kinds)
    if group and group[-1].kind == "marker" and _within_a_box(text, group[-1].start) and "box" in kinds:
        group = last_group(text, "box")  # An example is \\boxed{\\text{The answer is }5}.
    if group:
        return _of_group(group)
    return _unclosed(text) if "boxed" in methods else None


def _within_a_box(text: str, place: int) -> bool:
    return any(box.start < place < box.end for box in boxes(text))


def _is_maths(text: str) -> bool:
    """Return True if the text after a marker has a digit or sign, unlike "so our answer is correct"."""
    return _PLAIN_WORDS.fullmatch(text) is None


_PLAIN_WORDS = re.compile(r"[^\d$\\^=+*/<>|{}]*")


def _of_group(group: Group) -> Extraction:
    last = group[-1]
    if last.kind == "box":
        side_by_side = [frame for frame in group if frame.kind == "box"]
        beside = tuple(map(_said, (frame for frame in group if frame.kind != "box")))
        return _of_boxes(side_by_side, beside)
    beside = tuple(map(_said, group[:-1]))
    method = "tags" if last.kind == "tags" else "marker"
    slot = "" if len(last.text) > MAX_ANSWER_CHARS else last.text
    answer = refine(last.text) if slot else last.text
    return Extraction(answer or None, method, slot=slot, beside=beside)


def _said(frame: Frame) -> str:
    return (
        refine(frame.text) if frame.kind == "marker" and len(frame.text) <= MAX_ANSWER_CHARS else frame.text
    )


def _of_boxes(found: list[Frame], beside: tuple[str, ...] = ()) -> Extraction:
    parts = tuple(dict.fromkeys(frame.text for frame in found))
    return Extraction(", ".join(parts), "boxed", parts if len(parts) > 1 else (), beside=beside)


def _all_boxes(text: str) -> Extraction | None:
    """Return the contents of all boxes in a text as one answer, or None if the text has no box."""
    found = list(boxes(text))[::-1]
    return _of_boxes(found) if found else None


def _unclosed(text: str) -> Extraction | None:
    """Return an extraction without an answer if the last box is not closed, or None.

    The content of an unclosed box may be cut off.
    """
    start = text.rfind("\\boxed{")
    line = text[start + 7 :][:MAX_ANSWER_CHARS].partition("\n")[0].strip(" $.") if start >= 0 else ""
    if not line or line.startswith("}"):
        return None
    return Extraction(None, "a box that is not closed")


# Answers without a frame.

_LEADING_ARROW = re.compile(r"^(?:[-=]+>|[→⇒⟹]|\\(?:Rightarrow|implies|to)\b)\s{0,3}")
_AROUND = " \t\r\n$.*"
_JOINT = re.compile(r",?\s{1,3}(?:and|or)\s{1,3}|[,;]\s{1,3}")
_LONGEST_LINE = 200


def _is_line_of_maths(text: str) -> bool:
    """Return True if a response is a number in words, or one line of maths with at most one word, a unit."""
    if "\n" in text or len(text) > MAX_ANSWER_CHARS or "boxed" in text:
        return False
    words = [word for word in prose_words(text) if word not in ("or", "and")]
    if not words:
        return ":" not in text
    if spelled_number(text.strip(_AROUND)) is not None:
        return True
    outside = MATH_SPAN.sub(" ", text)
    return len(text) < _LONGEST_LINE and text.startswith("$") and "$" not in outside and len(words) == 1


def _display(text: str, question: str) -> Extraction | None:
    tail = text[-_WINDOW:]
    opening, closing = max((tail.rfind("\\]"), "\\["), (tail.rfind("$$"), "$$"))
    start = tail.rfind(closing, 0, opening) if opening >= 0 else -1
    while start > 0 and tail[start - 1] == "\\":  # The brackets are space after a row: `\\\\[2pt]`.
        start = tail.rfind(closing, 0, start)
    if start < 0:
        return None
    inner = tail[start + 2 : opening]
    if "\n\n" in inner or len(inner) > 2_000 or not inner.strip() or NUMBER.search(tail, opening + 2):
        return None
    return None if _is_asked(inner, question) else Extraction(_last_side(inner), "display")


def _inline(text: str, question: str) -> Extraction | None:
    tail = text[-2_000:]
    spans = [m for m in MATH_SPAN.finditer(tail) if any(g and g.strip() for g in m.groups())]
    if not spans:
        return None
    after = tail[spans[-1].end() :]
    if NUMBER.search(after) or "\n\n" in after or _is_asked(_inner(spans[-1]), question):
        return None
    run = _joined_with_last(tail, spans)
    said = [*map(_inner, run[:-1]), span_text(tail, spans[-1])]
    return Extraction(", ".join(map(_last_side, said)), "inline")


def _number(text: str, _: str) -> Extraction | None:
    found = last_number(text[-2_000:])
    return Extraction(found, "number") if found else None


def _whole(text: str, _: str) -> Extraction | None:
    return Extraction(text.strip(), "whole")


def _is_asked(formula: str, question: str) -> bool:
    """Return True if the question contains this formula, because a repeated formula is not an answer."""
    return formula.strip().rstrip(".") in question


def _joined_with_last(text: str, spans: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the last formula and the formulas joined to it only by "and", "or" or commas.

    If some of these formulas are calculations and others are not, return only the last formula.
    """
    first = len(spans) - 1
    while first > 0 and _JOINT.fullmatch(text, spans[first - 1].end(), spans[first].start()):
        first -= 1
    run = spans[first:]
    worked = {_last_side(inner) != inner.strip().rstrip(".") for inner in map(_inner, run)}
    return run if len(worked) == 1 else run[-1:]


def _inner(span: re.Match[str]) -> str:
    return str(next(filter(None, span.groups())))


def _last_side(text: str) -> str:
    """Return the result of a line of working, which is the last side of the equation.

    If a line only names or restricts a variable, return the whole line.
    """
    text = text.strip().rstrip(".")
    if text.count("=") == 0 or "\\begin" in text:
        return text
    head, _, last = text.rpartition("=")
    if head[-1:] in "<>!\\" or (text.count("=") == 1 and not re.search(r"[-+*/\d]|\\cdot|\\times", head)):
        return text
    return last.strip() or text


_METHODS: dict[Method, Callable[[str, str], Extraction | None]] = {
    "display": _display,
    "inline": _inline,
    "number": _number,
    "whole": _whole,
}
