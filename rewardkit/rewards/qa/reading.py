"""What a ground truth accepts and what a response answers. No comparing here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from rewardkit.rewards.qa.equal import MAX_ANSWER, ComparedForm, form
from rewardkit.rewards.reading.denials import denied
from rewardkit.rewards.reading.numbered import numbered_apart
from rewardkit.rewards.reading.stated import (
    last_group,
    retracted,
    statements,
    unboxed,
    value_of_code,
    visible,
)
from rewardkit.rewards.reading.wordings import before_verb, contrasted

_KEYS = (
    "target",
    "answers",
    "aliases",
    "answer",
    "value",
    "text",
    "spans",
    "normalized_aliases",
    "golden_answers",
)
"""Where accepted answers stand in a ground truth that is a mapping; all that are there count."""
_MAX_ACCEPTED = 1_000
_SPLIT = re.compile(r"\s*[,;\n]\s*(?:and\s+)?|\s+and\s+")


@dataclass(frozen=True, slots=True)
class Accepted:
    """One accepted answer: the spans that it consists of, one for most questions."""

    spans: tuple[ComparedForm, ...]


@dataclass(frozen=True, slots=True)
class QaAnswer:
    """What a response answers, None for nothing, and how that was found."""

    text: str | None
    stated: bool
    why: str
    rest: str = ""
    """What follows the statement."""
    since: str = ""
    """What there is from the line or sentence of the statement on."""

    @property
    def bare(self) -> str | None:
        """The answer out of the sentence that it is given in, None where there is no such sentence."""
        return None if self.text is None else _bare(self.text)


@lru_cache(maxsize=65_536)
def accepted(ground_truth: str) -> tuple[Accepted, ...]:
    """Return the accepted answers; none when the ground truth holds nothing that can be compared.

    A ground truth is a text, a JSON list (any of them; a list in it: all of its spans), or a JSON object as
    Search-R1 (`target`), TriviaQA (`value`, `aliases`) or DROP (`number`, `spans`, `date`) have it.
    """
    found = [Accepted(tuple(map(form, spans))) for spans in _given(ground_truth)]
    return tuple(a for a in found if a.spans and not any(span.empty for span in a.spans))


@lru_cache(maxsize=65_536)
def wordings(ground_truth: str) -> tuple[str, ...]:
    """Return the accepted answers as they are written, none where an answer has several spans."""
    found = _given(ground_truth)
    return tuple(spans[0] for spans in found) if all(len(spans) == 1 for spans in found) else ()


def _given(ground_truth: str) -> list[tuple[str, ...]]:
    """The accepted answers of a ground truth, each by its spans."""
    value: Any = ground_truth
    if ground_truth.strip()[:1] in ("[", "{"):
        try:
            value = msgspec.json.decode(ground_truth.encode())
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            value = ground_truth
    return _answers(value)[:_MAX_ACCEPTED]


def _answers(value: Any) -> list[tuple[str, ...]]:
    if isinstance(value, Mapping):
        return _in_mapping(value)
    if not isinstance(value, list):
        return [] if value is None else [(_text(value),)]
    found: list[tuple[str, ...]] = []
    for item in value:
        found += [tuple(map(_text, item))] if isinstance(item, list) else _answers(item)
    return found


def _in_mapping(value: Mapping[str, Any]) -> list[tuple[str, ...]]:
    if {"number", "spans"} <= value.keys():
        return _as_drop(value)
    return [answer for key in _KEYS if key in value for answer in _answers(value[key])]


def _as_drop(value: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """DROP's: the number, else the spans (all of them), else the date."""
    if str(value["number"]).strip():
        return [(_text(value["number"]),)]
    if value["spans"]:
        return [tuple(map(str, value["spans"]))]
    date = value.get("date") or {}
    return [(" ".join(str(date.get(k, "")) for k in ("day", "month", "year")).strip(),)]


def _text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def answer(response: str) -> QaAnswer:
    """Return what a response answers: what it states last, or all of it if it is short and states nothing.

    Answers side by side are one with all of them, which equals none of them.
    """
    quick = _quick(response)
    if quick is not None:
        return QaAnswer(tidy(quick), True, "tags")
    text, code = visible(response)
    if numbered_apart(text):
        return QaAnswer(None, True, "several numbered answers")
    code = _PRINTED.sub("", code) if "print" in code else code
    for part, after in ((text, ""), (code, _after_code(response))):
        said = [s for s in statements(part) if unboxed(s.text).strip(" \t\r\n*_`\"'.:：$")]
        if said:
            group = last_group(said, part)
            if retracted(part, group[-1].end) or (after.strip() and retracted(after, 0)):
                instead = part[group[-1].end :] + "\n" + after
                return QaAnswer(None, True, "taken back afterwards", since=instead)
            if any(_DENIED_BY_SIGN.search(s.text) for s in group):
                return QaAnswer(None, True, "denied by a sign")
            texts = {tidy(unboxed(s.text)) for s in group}
            if (more := _ANOTHER.match(part, group[-1].end)) and group[-1].kind == "marker":
                texts.add(tidy(more["more"]))
            if any(_LIST_OF_TEXTS.fullmatch(s.text) for s in group):
                return QaAnswer("; ".join(sorted(texts)), True, "several in a list")
            since = part[_sentence_start(part, group[0].start) :]
            if part[group[0].start] in "\"'":  # a key of JSON: what others hold is beside the answer
                behind = _OBJECT_END.search(part, group[-1].end)
                since = "; ".join(s.text for s in group) + ("\n" + part[behind.end() :] if behind else "")
            rest = part[group[-1].end :] + ("\n" + after if after.strip() else "")
            return QaAnswer("; ".join(sorted(texts)), True, group[-1].kind, rest, since + "\n" + after)
        if part and "<answer>" in part and "</answer>" in part:
            return QaAnswer(None, True, "empty tags")
    whole = text.strip() or value_of_code(code).strip()
    if whole.startswith(("print(", "return ")) and "\n" not in whole:
        whole = value_of_code(whole)
    if not whole or len(whole) > MAX_ANSWER:
        return QaAnswer(None, False, "no answer stated")
    if _DENIED_BY_SIGN.search(whole):
        return QaAnswer(None, False, "denied by a sign")
    return QaAnswer(tidy(whole), False, "the whole response")


def without_latex_numbers(response: str, accepted: tuple[str, ...]) -> str:
    """Return a response with 12{,}600 and fractions of whole numbers in plain writing, unless an accepted
    answer has LaTeX."""
    if any("\\" in wording or "{" in wording for wording in accepted):
        return response
    plain = response.replace("{,}", ",").replace("\\!", "")
    return _FRACTION.sub(lambda m: f"{m[1] or m[3]}/{m[2] or m[4]}", plain)


_FRACTION = re.compile(
    r"(?<![\w)}^])(?<![\w)}^] )\\[dt]?frac\s?(?:\{(\d{1,6})\}\s?\{(\d{1,6})\}|(\d)(\d))(?!\s?[\w{^(\\])"
)
"""Of whole numbers, not a part of a larger formula."""


def _after_code(response: str) -> str:
    """What follows the last block of code that closes."""
    pieces = response.split("```")
    return pieces[-1] if len(pieces) % 2 else ""


def _sentence_start(text: str, at: int) -> int:
    return max(
        0,
        *(found + len(end) for end in ("\n", ". ", "! ", "? ") if (found := text.rfind(end, 0, at)) >= 0),
        0,
    )


_DENIED_BY_SIGN = re.compile(r"^[\s*_`]*[!¬~≠](?=\s?\w)|[❌✗✘🚫⛔👎]")
_LIST_OF_TEXTS = re.compile(r'\s*\[?\s*"[^"\n]*"(?:\s*,\s*"[^"\n]*")+\s*\]?\s*')
_OBJECT_END = re.compile(r"[}\]]\s*(?![\s,}\]\"'])")
"""The end of data, behind which something else may follow."""
_PRINTED = re.compile(r"^[^\S\n]*print\s?\(\s?(?:answer|result|ans)\s?\)[^\S\n]*$", re.MULTILINE)
"""In code: the answer that a line before it gives."""
_ANOTHER = re.compile(
    r"\n[ \t]*(?P<more>(?!print\()[^\s:.!?<>`\\#*_$-]"
    r"(?:[^\n:.!?<>`\\]|\.(?=\d)){0,60})(?=\n\s*\n|\s*\Z|\s*<)"
)
"""A line under an answer that is nothing but a few words: another answer."""


def _quick(response: str) -> str | None:
    """What most responses are: one pair of tags at the very end, with no other statement close before it."""
    response = response.rstrip()
    if (
        not response.endswith("</answer>")
        or response.count("<answer>") != 1
        or response.count("</answer>") != 1
    ):
        return None
    start = response.index("<answer>")
    inner = response[start + 8 : -9]
    before = response[max(0, start - _NEAR) : start]
    closed = "<think>" not in response or response.rfind("</think>", 0, start) >= 0
    unclear = "\\" in inner or "<" in inner or ":" in inner or "nswer" in inner or "```" in response
    if unclear or not closed or "<!--" in response or "<|" in response or "[//]" in response:
        return None
    last = before.rstrip()[-1:]
    if (last.isalnum() or last in (":", "=")) and denied(response, start):
        return None
    if not inner.strip(" \t\r\n*_`\"'.") or _STATES.search(before) or _STATES.search(inner):
        return None
    return inner


_NEAR = 200
_STATES = re.compile(
    r"nswer|NSWER|boxed|choose|pick|select|go with|(?<!ques)tion|ponse|sta\b|答|ответ", re.IGNORECASE
)


def tidy(text: str) -> str:
    """Return an answer without the marks around it."""
    text = text.strip()
    if "\\" in text:
        text = _LATEX_TEXT.sub(r"\1", _LATEX_TEXT.sub(r"\1", text))
        text = _LATEX_BLANK.sub(" ", text)
        text = _DISPLAYED.sub(r"\1", text)
    text = text.strip("*_` \t\r\n…").strip('"“”「」').strip()
    if _BRACKETED.fullmatch(text):
        text = text[1:-1].strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == "$" else text


_DISPLAYED = re.compile(r"\A\s*(?:\\\[(?=.*\\\]\s*\Z)|\\\((?=.*\\\)\s*\Z))\s*(.*?)\s*\\[\])]\s*\Z", re.S)
_LATEX_BLANK = re.compile(r"\\[ ,;:!~](?=\S|\s)|(?<=\d)~(?=\w)")
_BRACKETED = re.compile(r"\([^()\[\]]+\)|\[[^()\[\]]+\]")


def _bare(text: str) -> str | None:
    """The answer in "the answer is 5", "it is 5", "5, not 6", "not 6 but 5"."""
    whole = text
    text = before_verb(text)
    found = statements(text)
    if len(found) == 1 and _NO_ANSWER.fullmatch(text[: found[0].start] + text[found[0].end :]):
        text = tidy(found[0].text)
    pair = contrasted(text)
    text = _IT_IS.sub("", text)
    pair = pair or contrasted(text)
    if pair and tidy(pair[0]).casefold() == tidy(pair[1]).casefold():
        return None
    text = tidy(pair[0] if pair else _short_of_reason(text))
    return text if text != whole else None


def without_unit(text: str, question: str) -> str | None:
    """The number in "212 degrees Fahrenheit" where the question asks for it in that unit, None elsewhere."""
    found = _WITH_UNIT.fullmatch(tidy(text).rstrip("✅✔☑\ufe0f "))
    if found is None:
        return None
    unit = " ".join(found["unit"].casefold().split())
    asked = question.casefold()
    percent = unit in ("percent", "per cent") and "percent" in asked
    years = unit in ("years", "years old") and "how old" in asked
    if not (percent or years) and unit not in asked:
        return None
    of_unit = re.search(rf"\b(?:how many|in) {re.escape(unit)}s?\b", asked)
    counted = _HOW_MANY.search(asked) and re.search(rf"\d\s{re.escape(unit)}\b", asked)
    return found["number"] if percent or years or of_unit or counted else None


_HOW_MANY = re.compile(
    r"\bhow many (?:does|do|did|are|were|is|was|will|can|of (?:them|these|those)|remain|has|have)\b"
)
"""Of what, the sentences before it say."""


_WITH_UNIT = re.compile(
    r"(?P<number>-?\d[\d,.]*|[a-z]{3,9}(?:-[a-z]{3,5})?|[A-Z][a-z]{2,8}(?:-[a-z]{3,5})?)\s+"
    r"(?P<unit>[^\W\d_]+(?:[ /][^\W\d_]+){0,3})\.?"
)


def _short_of_reason(text: str) -> str:
    """The answer in "Paris, because the text says so", "Paris (see it)"; all of it if that may deny it."""
    found = _REASON.search(text)
    if found is None or _NO_REASON.search(text, found.start()):
        return text
    return text[: found.start()]


_REASON = re.compile(
    r"[,;]?\s(?:because|since|as\s(?:the|it|we|this|that|stated|shown|mentioned|explained|described"
    r"|noted|written|given|seen))\b.*"
    r"|[,;]\s(?:there\sis\sno|without\s(?:a|any))\sdoubt\b.*"
    r"|\s\((?:(?:I|we|that|this|which)\s|see|cf\.?|source|according\sto|as|per|from|confidence|the\s(?:text"
    r"|passage|document"
    r"|article|source))\b[^()]*\)?[.\s]*$",
    re.IGNORECASE | re.DOTALL,
)
_NO_REASON = re.compile(
    r"\b(?:or|nor|wrong|incorrect|false|maybe|perhaps|possibly|actually|but|however|unless|except"
    r"|instead|rather|if|some|many|others|people|students?|distractors?|misconception|myth|claim\w*"
    r"|guess\w*|decoys?|could|might|may|can|also|else|other|another|probably|unsure|idea|error)\b|[?？]"
    r"|(?:\bnot|n['’]t)(?:\s(?:it|right|correct|true|so|sure|know|certain|think|believe|remember|recall)\b|\W*\Z)|\bno[,.]",
    re.IGNORECASE,
)
"""In a reason: it may take the answer back."""


_NO_ANSWER = re.compile(
    r"(?:[\W_]|\b(?:so|thus|therefore|hence|the|my|final|correct|right)\b)*", re.IGNORECASE
)
_IT_IS = re.compile(
    r"\A\s*(?:(?:it|this|that)(?:['’]s|\s(?:is|was))\s(?=\S)|(?:(?:so|thus|hence|therefore),?\s)?(?:(?:on"
    r"|in|at)\s)?"
    r"(?=(?:the\s)?\d|A\.?D\b|(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov"
    r"|dec)[a-z]{0,6}\.?\s(?:the\s)?\d))",
    re.IGNORECASE,
)
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|underline|emph|mathit)\s?\{([^{}]*)\}")


def spans_of(text: str) -> list[str]:
    """Return the pieces of an answer that lists several."""
    return [piece for piece in _SPLIT.split(text[:MAX_ANSWER]) if piece.strip()]
