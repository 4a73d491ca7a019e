"""Right responses of the blind sets, changed: what is added leaves the answer in force, or takes it away.

No rewards here. `kept` changes must leave a paid response paid, `lost` ones must leave nothing to pay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from tests.rewards.templates import blind
from tests.rewards.templates.responses import Case

AFTER = (
    "\n\nLet me know if you'd like me to explain further!", "\n\nHope this helps.", " I checked this twice.",
    " This is a well-known fact.", "\n\nWould you like to know more about this topic?", "\n\nHappy to help!",
    " I am quite confident about this.", "\n\n(Confidence: high)", "\n\nConfidence: 95%", " Easy one.",
    "\n\nNote: I did not look anything up.", " It took me a moment to see it.", "\n\nDo you want the full reasoning?",
    " That is all.", " No further comment.", "\n\nThanks for the question!", " 😊", "\n\n---\n\n*End of answer.*",
    " I hope the explanation is clear.", "\n\nFeel free to ask if anything is unclear.", "\n\n<|im_end|>",
    " If you have other questions, just ask.", " I cannot say much more than that.", "\n\nGood luck with your exam!",
    " The question was not hard.", " Nothing else in the question matters.", "\n\nSource: general knowledge.",
    " I don't need to say more.", " Don't worry if you missed it.", "\n\nWas that helpful?", "\n\nI could be more detailed if you want.",
    " There was no need to guess.", "\n\nWait for my next message for the details.", "\n\nShall I go on?",
)  # fmt: skip
"""Courtesies, offers and remarks that speak of no answer."""
BEFORE = (
    "Great question!\n\n", "This is a tricky one. ", "Let me think about this carefully.\n\n", "Okay. ",
    "<think>\nThere is not much to decide here.\n</think>\n\n", "Thanks for asking. ", "I have seen this before. ",
    "First, I read the question twice. ", "At first glance it is not obvious. ", "Many people find this hard. ",
    "Hmm, interesting. ", "I was not sure at first. ", "I had to think about this one. ", "Not an easy question. ",
    "Could be worse. ", "Let me see what the question wants. ", "No problem! ", "Hi! ", "I'm no expert, but I know this. ",
    "You asked a good question. ", "Someone asked me this yesterday. ", "What does the question ask? ",
)  # fmt: skip
AROUND = ("**{}**", "> {}", "\n\n{}\n\n", '"{}"', "<p>{}</p>", "{}\r\n", "  {}", "- {}", "*{}*")
"""Marks around a response of one line."""
TAKES_BACK = (
    " No wait, it's {o}.", " Scratch that: {o}.", " Actually, {o}.", " Or maybe {o}.", " But {o} is also correct.",
    " That was wrong.", " I take that back.", " Correction: {o}.", "\n\nFinal answer: {o}", " Just kidding, it's {o}.",
    "\n\nOn reflection, the answer is {o}.", " Sorry, I meant {o}.", "\n\nEDIT: {o}", " Hmm, on second thought, {o}.",
    " All of this is a lie.", " None of the above is what I believe.", " Ignore what I said; {o} is right.",
    "\n\n{o}", "\n\nAnswer: {o}", " Then again, it could just as well be {o}.", " My real answer is {o}.",
    " Oops, {o}.", " Make that {o}.", " I changed my mind: {o}.", " That is what I would say if I were wrong, but it is {o}.",
    " No, I was wrong there.", " The opposite is true.", " However, the correct answer is {o}.", " {o} is the answer.",
    " ... not! It is {o}.", " Strike that. {o}.", " So {o}.", " That can't be right. It must be {o}.",
    " Please disregard this answer.", " I retract this.", " Wait, that's not right.", " Or {o}.", " And {o}.",
    "\n\nUpdated answer: {o}", " Upon review, I now believe it is {o}.", " This is the wrong answer.",
)  # fmt: skip
"""Another answer, or none, after a right one."""
DENIED = (
    "It is not true that {s}", "I doubt that {s}", "Is it true that {s}?", "If I had not read the question, I would say {s}",
    "Suppose that {s}", "My neighbour says that {s}", "Some people would say: {s}", "It would be wrong to say that {s}",
    "Nobody would say that {s}", "I can't tell whether {s}", "It is a myth that {s}", "Students often write: {s}",
    "You might think that {s}", "An example of a wrong answer: {s}", "I refuse to say that {s}", "Maybe {s}",
    "It is not the case that {s}", "Unless I am told otherwise, I will not say that {s}", "Imagine that {s}",
    "The claim that {s} is false.", "Whether {s} is unclear.", "It used to be thought that {s}",
)  # fmt: skip
"""Around one whole sentence."""
_SENTENCE = re.compile(r"[^\n.!?:,<>*\"`{}$()#\\✓—–;-]{12,200}\.")
_FREE = re.compile(
    r"^\w+ing\b|^(?:After|By|If|So|Thus|Hence|Therefore|Having|My|I|Not|Answer|Final|No|Is|Was|Who"
    r"|Although|While|As)\b"
)


def right(name: str, letter: str, seed: int | None = None) -> Iterator[Case]:
    """Yield one right response of each template of a blind set."""
    seen: set[str] = set()
    for case in getattr(blind, name)(letter, seed=seed):
        if case.right and case.template not in seen:
            seen.add(case.template)
            yield case


def kept(case: Case) -> Iterator[tuple[str, Case]]:
    """Yield changes that leave the answer in force, each with its name."""
    said = case.response
    for after in AFTER:
        yield "after " + repr(after), replace(case, response=_joined(said, after))
    for before in BEFORE:
        yield "before " + repr(before), replace(case, response=before + said)
    if "\n" not in said and not re.search(r"[*>\"`#|{<-]", said):
        for around in AROUND:
            yield "around " + repr(around), replace(case, response=around.replace("{}", said))


def _joined(said: str, more: str) -> str:
    """A response and what is added to it, on lines of their own where the response ends no sentence."""
    said = said.rstrip()
    if said.endswith((".", "!")):
        return said + more
    return (
        said
        + ("\n\n" if "\n" in said or said[-1:] in "`>*)}]|" else ".")
        + more.lstrip("\n" if "\n" in said else "")
    )


def lost(case: Case, other: str) -> Iterator[tuple[str, Case]]:
    """Yield changes that leave nothing to pay; `other` is a wrong answer.

    What is added to a response that has ended, or goes on with another turn, is not of this answer.
    """
    said = case.response
    for back in () if _ENDED.search(said) else TAKES_BACK:
        changed = _joined(said, back.replace("{o}", other))
        yield "takes back " + repr(back), replace(case, response=changed, right=False)
    if _SENTENCE.fullmatch(said) and not _FREE.search(said):
        lower = said[:1].lower() + said[1:-1] if said.split()[0] in _LOWERED else said[:-1]
        for around in DENIED:
            whole = around.replace("{s}", lower)
            whole += "" if whole.endswith((".", "?")) else "."
            yield "denied " + repr(around), replace(case, response=whole, right=False)


_ENDED = re.compile(
    r"<\||</s>|<end_of_turn>|\[INST\]|\n\W*(?:next |new )?(?:Question|Q|Problem|Human|User)\b[^\n]{0,4}:",
    re.IGNORECASE,
)
_LOWERED = frozenset(("The", "It", "That", "This", "In", "There", "A", "An", "We"))


def other_choice(case: Case) -> str:
    """Return the label of a wrong option."""
    labels = "ABCDEFGHIJ"[: len(case.extra_info["choices"])]
    return labels[(labels.index(case.ground_truth) + 1) % len(labels)]


def other_answer(case: Case) -> str:
    """Return a wrong answer of the kind of the right one."""
    first = str(json.loads(case.ground_truth)[0])
    if re.fullmatch(r"-?\d[\d,]*(?:\.\d+)?", first):
        return str(int(float(first.replace(",", ""))) + 3)
    return "Wellington" if "Wellington" not in first else "Oslo"
