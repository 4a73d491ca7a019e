"""Where a response stops answering: models that are not stopped go on with a question or a turn of their own.

What they answer there is the answer to something else. A question that is the prompt's is a restatement, and
cuts nothing. A question that opens the response, and has no word of the prompt, is another one: no answer.
"""

from __future__ import annotations

import re

from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.lazy_regex import lazy_regex
from rewardkit.rewards.reading.visible import question_of
from rewardkit.types import Message

_NAMES = ("uestion", "\nQ", "uman", "ser", "roblem", "nstruction", "UESTION", "*Q", "xercise:", "nput:")
"""Parts of the words below, looked for first: a response without any is not searched."""
_TURN = lazy_regex(
    r"^[ \t>*_]{0,6}(?P<heading>\#{1,6}\s?)?[*_]{0,3}(?:(?:next|new|another|follow-?up)\s)?"
    r"(?P<name>question|q|problem|exercise|human|user|instruction"
    r"|input(?=[^\n]*\n+[^\n]{0,6}output))(?:\s?\#?\d{1,3})?[*_]{0,3}"
    r"(?:\s?[:：][*_]{0,3}|(?(heading)[^\S\n]*$|(?!)))(?P<said>(?:\s*[^\n]{0,400})?)",
    re.IGNORECASE | re.MULTILINE,
)
_HEADER = lazy_regex(
    r"^[^\S\n]{0,40}(?:the following (?:is|are) (?:a |some |more )?(?:multiple.choice )?(?:questions?"
    r"|problems?|exercises?)"
    r"|(?:here|below) (?:is|are) (?:a |an |some |more |the next |another |further )?(?:multiple.choice "
    r"|similar )?(?:questions?|problems?|exercises?)"
    r"|answer the (?:following|next) (?:multiple.choice )?(?:questions?|problems?))\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What opens a sheet of questions."""
_CONTENT = lazy_regex(r"\d[\d,.]*\d|\d|[^\W\d_]{4,}")
_PLAIN = table(
    "what which when where whose that this these those following with from have does will would could there "
    "their they into your options choose correct answer question "
)
_SAYS = lazy_regex(r"\w")


def before_next_turn(response: str, prompt: str | list[Message] | None) -> str:
    """Return a response up to the first question or turn after its beginning that is not the prompt's."""
    if ":" in response:
        response = before_users_turn(response)
        if any(map(response.__contains__, _WITHIN)):
            response = _before_question_within(response, prompt)
    if "\n" not in response or not any(map(response.__contains__, _NAMES)):
        return response
    start = max(response.rfind("</think>"), response.rfind("<|message|>"), 0) if "<" in response else 0
    if "<think>" in response and start == 0:
        return response
    if _opens_with_another(response, prompt):
        return ""
    if _DIALOGUE.match(response):
        return response
    if "uestions" in response or "roblem" in response or "xercise" in response or "next question" in response:
        sheet = _HEADER.search(response, start)
        if sheet and _SAYS.search(response[start : sheet.start()]):
            response = response[: sheet.start()]
    for turn in _TURN.finditer(response, start):
        before = response[start : turn.start()].removeprefix("</think>").removeprefix("<|message|>")
        if _SAYS.search(before) and not _restates(turn["said"], _words(question_of(prompt))):
            return response[: turn.start()]
    return response


def own_part(response: str, prompt: str | list[Message] | None) -> str:
    """Return a response up to a turn of the user's, and up to the next question where it has answered before.

    For numbers and formulas, which may stand under the question that a response repeats in other words.
    """
    if len(response) < _SHORTEST or not (":" in response or "#" in response or "：" in response):
        return response  # as most: what announces a turn has one of these
    response = before_users_turn(response, on_lines=True)
    if not (
        _MAY_OPEN_LINE.search(response)
        or "Q" in response
        or " Problem" in response
        or " Exercise" in response
    ):
        return response
    before = before_next_turn(response, prompt)
    return before if before != response and _ANSWERED.search(before) else response


_MAY_OPEN_LINE = lazy_regex(
    r"\n[\s>*_#]{0,40}+(?=[abefhinpqtu])(?:(?:next|new|another|follow-?up)\s)?(?:q|problem|exercise|human|user"
    r"|instruction|input|the following (?:is|are)|(?:here|below) (?:is|are)|answer the)",
    re.IGNORECASE,
)
"""What every turn and sheet begins with that is not within a line; it fails in a look at each line."""
_SHORTEST = 20
"""Characters of an answer, another question and its answer."""
_ANSWERED = lazy_regex(
    r"boxed\s?\{|####\s?\S|</answer>|\banswer\b[*_]{0,3}\s?(?:is\b|[:=])"
    r"|\A\W{0,4}\d[\d.,/]{0,40}[^\w\n]{0,4}(?:\n|\Z)",
    re.IGNORECASE,
)


def _before_question_within(response: str, prompt: str | list[Message] | None) -> str:
    """A response up to another question and its answer that follow on one line."""
    start = max(response.rfind("</think>"), 0)
    found = _QUESTION_WITHIN.search(response, start)
    if found is None or not _SAYS.search(response[start : found.start()]):
        return response
    return response if _restates(found["said"], _words(question_of(prompt))) else response[: found.start()]


_WITHIN = (" Question", " Problem", " Q:", " Exercise", " **Q")
_QUESTION_WITHIN = lazy_regex(
    r"(?<=[.!?…\"'”’)\]}>*])[^\S\n]+[*_]{0,3}(?:(?:Next|New|Another) )?(?:Question|Problem|Exercise"
    r"|Q)(?:\s?\#?\d{1,3})?"
    r"[*_]{0,3}:[*_]{0,3}\s(?P<said>[^\n]{1,400}?)\s[*_]{0,3}(?:Answer|Solution|A|Ans)[*_]{0,3}\s?:"
)


def before_users_turn(response: str, *, on_lines: bool = False) -> str:
    """Return a response up to a turn of the user's that begins within a line: "I don't know. User: Paris".

    `on_lines`: or with a line, where nobody else asks whether that repeats the prompt.
    """
    if not names_user(response):
        return response
    start = max(response.rfind("</think>"), 0)
    if _DIALOGUE.match(response):
        *_, last = _ROLES.finditer(response)
        return response[: last.start()] if last["user"] else response
    turn = (_ANYWHERE if on_lines else _WITHIN_LINE).search(response, start)
    if turn is None or ("<think>" in response and start == 0):
        return response
    return response[: turn.start()] if _SAYS.search(response[start : turn.start()]) else response


_USERS = r"[*_]{0,3}(?:User|Human|USER|HUMAN)[*_]{0,3}:[*_]{0,3}(?=\s)"
names_user = re.compile(r":(?<=[rRnN]:)(?:(?<=ser:)|(?<=man:)|(?<=SER:)|(?<=MAN:))").search
"""Whether a text may hold a turn of the user's: one look, at colons, before all others."""
_WITHIN_LINE = re.compile(rf"(?<=[.!?…\"'”’)\]}}>*])[^\S\n]+{_USERS}")
_ANYWHERE = lazy_regex(rf"{_WITHIN_LINE.pattern}|\n\s*{_USERS}")
"""A turn that opens behind the end of a sentence."""


def without_own_question(response: str) -> str:
    """Return a response with "Q: ... A:" as what it means: the answer follows."""
    return _QUESTION_AND_ANSWER.sub("Answer: ", _ASKED_AND_ANSWERED.sub(r"\1 ", response))


_ASKED_AND_ANSWERED = lazy_regex(r"^Q:\s([^\n]{1,500}?\?)[^\S\n]+A:\s(?=\S)", re.MULTILINE)
_QUESTION_AND_ANSWER = lazy_regex(r"Q:\s[^\n]{1,2000}\n\s*A:\s(?=\S)")


def _opens_with_another(response: str, prompt: str | list[Message] | None) -> bool:
    """Whether a response opens with a question that has no word of the prompt."""
    if response[0] not in _OPENERS or (opening := _TURN.match(response)) is None:
        return False
    asked = _words(question_of(prompt))
    said = _words(opening["said"])
    return bool(asked and said) and not said & asked


_DIALOGUE = lazy_regex(r"\s*[*_]{0,3}(?:human|user)[*_]{0,3}\s?:", re.IGNORECASE)
"""A response that opens with somebody else's turn is a whole dialogue: what is said last counts."""
_ROLES = lazy_regex(
    r"(?:^|(?<=[.!?])[^\S\n])\s*[*_]{0,3}(?:(?P<user>human|user)|assistant|ai|bot|model|gpt)[*_]{0,3}\s?:",
    re.IGNORECASE | re.MULTILINE,
)
_OPENERS = frozenset("QqPpHhUuIiNnAaFf#*>_ \t")
"""With which a question may begin that is called one."""


def _restates(said: str, asked: frozenset[str]) -> bool:
    """Whether a question has no word that the prompt has not."""
    words = _words(said)
    return bool(words) and words <= asked


def _words(text: str) -> frozenset[str]:
    return frozenset(_CONTENT.findall(text.casefold())) - _PLAIN
