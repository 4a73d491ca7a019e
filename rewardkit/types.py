"""The two contracts everything else speaks: what is scored (`Sample`) and what came of it (`Score`).

Plain immutable data, no behaviour beyond turning a Score into what other trainers expect. They are
msgspec structs rather than dataclasses because every row of every batch makes two of them: building one
costs a fifth, and they go over a pipe or HTTP without being copied into dicts first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Literal

import msgspec

Message = dict[str, Any]
"""One chat turn: `{"role": ..., "content": ...}`."""

Status = Literal["ok", "timeout", "error", "invalid"]
"""`ok`: it was scored. `timeout`, `error`: the reward did not finish. `invalid`: the sample itself cannot
be scored (no such data source, malformed ground truth). Only `ok` says anything about the response."""

STATUSES: tuple[Status, ...] = ("ok", "timeout", "error", "invalid")


COST_PARTS = ("calls", "cached", "asked_again", "input_tokens", "output_tokens", "cost_usd", "over_budget")
"""The parts of a Score that say what asking models has cost: requests answered by a server and by the cache,
those of them that asked for a verdict again, tokens, US dollars as far as prices are known, and requests that
the budget did not allow. A failed score may have them too."""

OVERRULED = "overruled"
"""The part of a composition's score that is 1 where a model said "right" after a rule had not."""

COSTS = frozenset(COST_PARTS)
"""`COSTS <= parts.keys()` tells whether a score's parts hold what asking models has cost."""


class Sample(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """One response to be scored against one ground truth.

    Attributes:
        data_source: name of the dataset; it determines the reward.
        response: text to score.
        ground_truth: always a string; test cases and alternative answers are encoded as JSON.
        prompt: text or list of chat messages; None if not given.
        extra_info: other values of the row, by name, for rewards that read them.
        group: identity of the prompt within the data source, if the row names one; None: the prompt itself.
        known: the Score that the row has already: of an episode whose tool broke, of a row without a
            response, of an episode that was scored while it was played. Every scorer returns it as it is.
            None: the response is to be scored.
    """

    data_source: str
    response: str
    ground_truth: str
    prompt: str | list[Message] | None = None
    extra_info: dict[str, Any] = msgspec.field(default_factory=dict)
    group: str | None = None
    known: Score | None = None


FIELD_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("data_source", "response", "ground_truth"), (str,)),
    "prompt": (str, list, tuple, type(None)),
    "extra_info": (dict,),
    "group": (str, type(None)),
    "known": (type(None),),
}
"""Types of the fields of a Sample that is to be scored, without what is in them."""


def fits(sample: Sample) -> bool:
    """Return whether the sample is to be scored and can be: its fields have their types."""
    return all(isinstance(getattr(sample, name), types) for name, types in FIELD_TYPES.items())


def with_exact_texts(sample: Sample) -> Sample:
    """Return the sample with its texts as `str` where they are of a subclass, such as NumPy's: whoever gets
    it, here or in another process, gets the same."""
    texts = {name: value for name in FIELD_TYPES if isinstance(value := getattr(sample, name), str)}
    others = {name: exact_text(text) for name, text in texts.items() if type(text) is not str}
    return msgspec.structs.replace(sample, **others) if others else sample


def exact_text(text: str) -> str:
    """Return a text as a `str`, with the same characters; `str(text)` is what a subclass says of itself."""
    return str.__str__(text)


def sendable(value: Any) -> Any:
    """Return what a text of a subclass of `str`, or a number or array of NumPy, is sent as: msgspec's
    `enc_hook` for Samples.

    Raises:
        TypeError: it is anything else.
    """
    if isinstance(value, str):
        return exact_text(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


class Score(msgspec.Struct, frozen=True, gc=False):
    """The result of scoring one sample. `score` is meaningful only when `status == "ok"`.

    Attributes:
        score: the reward, a finite number; 0.0 if the status is not `ok`.
        status: `ok` if the response was scored, `timeout` or `error` if the reward did not finish, and
            `invalid` if the sample itself cannot be scored.
        correct: whether the response is correct; None if the reward does not decide this.
        extracted: the answer that was read from the response; None if there is none.
        parts: named components of the score; each reward has a fixed set of names.
        detail: one line that explains the result; None if there is nothing to explain.
        scorer: name and version of the reward, such as `gsm8k@1`. The version increases whenever any score
            can change.
        seconds: wall time spent on this sample.
    """

    score: float
    status: Status = "ok"
    correct: bool | None = None
    extracted: str | None = None
    parts: dict[str, float] = msgspec.field(default_factory=dict)
    detail: str | None = None
    scorer: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """True if the response was scored; False if scoring failed (`timeout`, `error`, `invalid`)."""
        return self.status == "ok"

    def __float__(self) -> float:
        return self.score

    def as_dict(self) -> dict[str, Any]:
        """Return every field as plain JSON-ready data."""
        return msgspec.structs.asdict(self) | {"parts": dict(self.parts)}


SCORE_FIELDS: tuple[str, ...] = Score.__struct_fields__
"""Names of the fields of a Score, in order."""
VERDICT_FIELDS = tuple(name for name in SCORE_FIELDS if name not in ("scorer", "seconds"))
"""Names of the fields that a reward itself decides."""


def failure(status: Status, detail: str, *, scorer: str = "", seconds: float = 0.0) -> Score:
    """Return the Score of a sample that could not be scored."""
    return Score(0.0, status, detail=detail, scorer=scorer, seconds=seconds)


def to_score(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples that are to be scored: all but those whose score is known."""
    return [s for s in samples if s.known is None] if any(map(_KNOWN, samples)) else samples


def with_known(samples: Sequence[Sample], scores: Iterable[Score]) -> list[Score]:
    """Return a Score for each sample: the one that is known, or the next of those of `to_score(samples)`."""
    if not any(map(_KNOWN, samples)):
        return list(scores)
    scored = iter(scores)
    return [next(scored) if one.known is None else one.known for one in samples]


_KNOWN = attrgetter("known")
