"""The two central data types: a response to score (`Sample`) and its result (`Score`).

Both are plain immutable data. Samples and Scores are msgspec structs rather than dataclasses because every
row of every batch needs one of each. Creating a struct takes a fifth of the time, and structs are sent over a
pipe or HTTP without first being copied into dicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Literal, TypeVar

import msgspec

Message = dict[str, Any]
"""One chat message: `{"role": ..., "content": ...}`."""

Status = Literal["ok", "timeout", "error", "invalid"]
"""Status of a Score. `ok`: the response was scored. `timeout`, `error`: the reward did not finish. `invalid`:
the sample itself cannot be scored (unknown data source, malformed ground truth). A score describes the
response only if the status is `ok`."""

STATUSES: tuple[Status, ...] = ("ok", "timeout", "error", "invalid")


COST_PARTS = ("calls", "cached", "asked_again", "input_tokens", "output_tokens", "cost_usd", "over_budget")
"""Parts of a Score that report the cost of calling models: the number of requests that a server answered, the
number that the cache answered, the number that asked again for a verdict, tokens, US dollars, and the number
of requests beyond the budget. The dollars include only models with a known price. A failed Score may also
have these parts."""

OVERRULED = "overruled"
"""Name of the composition part that is 1 if a model accepted a response that a rule had not accepted."""

UNDECIDED = "undecided"
"""Name of the Score part that is 1 if the reward could not read or compare the answer and scored it as wrong.
Metrics count these responses, and a composition passes such a response on to its next item."""

COSTS = frozenset(COST_PARTS)
"""Names of the cost parts. `COSTS <= parts.keys()` is true if a Score reports the cost of calling models."""


class Sample(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """One response to be scored against one ground truth.

    Attributes:
        data_source: Name of the dataset, which determines the reward.
        response: Text to score.
        ground_truth: Correct answer. It is always a string; test cases and alternative answers are encoded as
            JSON.
        prompt: Text or list of chat messages, or None if not given.
        extra_info: Other values of the row by name, for rewards that read them.
        group: Identity of the prompt within the data source. If None, the prompt itself identifies the group.
        known: Score that the row already has, or None if the response has to be scored. The row has a Score
            if a tool failed in the episode, if the row has no response, or if the episode was scored while it
            ran. Every scorer returns this Score unchanged.
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
"""Allowed types of each field in a Sample to score. The types of list items and dict values are not
checked."""


def fits(sample: Sample) -> bool:
    """Return True if a sample has no known Score and all its fields have the right types."""
    return all(isinstance(getattr(sample, name), types) for name, types in FIELD_TYPES.items())


def with_exact_texts(sample: Sample) -> Sample:
    """Return the sample with texts of subclasses of `str`, such as NumPy's, converted to `str`.

    Rewards then receive the same sample in this process and in any other process.
    """
    texts = {name: value for name in FIELD_TYPES if isinstance(value := getattr(sample, name), str)}
    others = {name: exact_text(text) for name, text in texts.items() if type(text) is not str}
    return msgspec.structs.replace(sample, **others) if others else sample


def exact_text(text: str) -> str:
    """Return a text as a plain `str` with the same characters, because `str(text)` may differ for a
    subclass."""
    return str.__str__(text)


def sendable(value: Any) -> Any:
    """Convert a text of a subclass of `str`, or a NumPy number or array, to plain data.

    Serves as msgspec's `enc_hook` for Samples.

    Raises:
        TypeError: The value is of any other type.
    """
    if isinstance(value, str):
        return exact_text(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


class Score(msgspec.Struct, frozen=True, gc=False):
    """The result of scoring one sample. `score` is meaningful only when `status == "ok"`.

    Attributes:
        score: The reward, a finite number. It is 0.0 if the status is not `ok`.
        status: `ok` if the response was scored, `timeout` or `error` if the reward did not finish, and
            `invalid` if the sample itself cannot be scored.
        correct: True if the response is correct, False if not, and None if the reward does not decide this.
        extracted: Answer that was read from the response, or None if no answer was found.
        parts: Named components of the score. Each reward has a fixed set of names.
        detail: One line that explains the result, or None if no explanation is needed.
        scorer: Name and version of the reward, such as `gsm8k@1`. The version increases whenever any score
            can change.
        seconds: Wall time spent on this sample.
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
        """True if the response was scored, and False if scoring failed (`timeout`, `error`, `invalid`)."""
        return self.status == "ok"

    def __float__(self) -> float:
        return self.score

    def as_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON-ready data."""
        return msgspec.structs.asdict(self) | {"parts": dict(self.parts)}


SCORE_FIELDS: tuple[str, ...] = Score.__struct_fields__
"""Names of the fields of a Score, in order."""
VERDICT_FIELDS = tuple(name for name in SCORE_FIELDS if name not in ("scorer", "seconds"))
"""Names of the fields of a Score that the reward itself determines."""


def failure(status: Status, detail: str, *, scorer: str = "", seconds: float = 0.0) -> Score:
    """Return a Score for a sample that could not be scored."""
    return Score(0.0, status, detail=detail, scorer=scorer, seconds=seconds)


def to_score(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples without a known Score, which have to be scored."""
    return [s for s in samples if s.known is None] if any(map(_KNOWN, samples)) else samples


S = TypeVar("S", Score, "Score | None")


def with_known(samples: Sequence[Sample], scores: Iterable[S]) -> list[S]:
    """Return a Score for each sample: its known Score, or else the next of `scores`, which may be None.

    Args:
        samples: Samples with and without known Scores.
        scores: Scores of `to_score(samples)`, in order.
    """
    if not any(map(_KNOWN, samples)):
        return list(scores)
    scored = iter(scores)
    return [next(scored) if one.known is None else one.known for one in samples]


_KNOWN = attrgetter("known")
