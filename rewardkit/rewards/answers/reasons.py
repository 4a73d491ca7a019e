"""Reasons why a response has no answer, for `Score.detail`.

A reason names the expected answer and the text found instead.
"""

from __future__ import annotations

_SHOWN = 60
EMPTY = "the response is empty or is all a thought, which may not be closed"
IN_A_FRAME = 'in a frame (<answer>, \\boxed{}, ####, "Answer:" or JSON)'

_FRAMES = {
    "tags": "in <answer> tags",
    "box": "in \\boxed{}",
    "hash": "after ####",
    "marker": 'after "Answer:"',
    "json": "in a JSON object",
}


def no_answer(text: str, wanted: str, advice: str = "") -> str:
    """Return one line for a response without an answer.

    Args:
        text: Final answer text of the response.
        wanted: Description of the answer that the reward looked for.
        advice: Advice on how to score the response anyway, or empty.
    """
    said = " ".join(text[-4 * _SHOWN :].split())
    shown = f"the response ends with {quoted(said, end=True)}" if said else EMPTY
    return f"no {wanted}; {shown}{f'; {advice}' if advice else ''}"


def wrong_answer(kind: str, said: str, ground_truth: str) -> str:
    """Return one line for an answer that is not the ground truth.

    Args:
        kind: Kind of the frame that contains the answer, or another place in words.
        said: Answer in the response.
        ground_truth: Right answer.
    """
    return f"{_FRAMES.get(kind, kind)}: {quoted(said)} is not {quoted(ground_truth)}"


def place(kind: str) -> str:
    """Return a description of the place that contains an answer, such as "after ####"."""
    return _FRAMES.get(kind, kind)


def quoted(text: str, *, end: bool = False) -> str:
    """Return a text in quotation marks on one line, shortened at its end or, with `end`, at its beginning."""
    text = " ".join(text[-4 * _SHOWN :].split() if end else text[: 4 * _SHOWN].split())
    if len(text) > _SHOWN:
        text = f"…{text[-_SHOWN:]}" if end else f"{text[:_SHOWN]}…"
    return f'"{text}"'
