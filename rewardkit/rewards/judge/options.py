"""What a judge is asked, and how its answers are read and combined: the options of the reward. Nothing is
asked here.

What it may cost is in `spending`; templates and forms of known models are in `presets`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings, RequestFields
from rewardkit.reward_options import text_option

_ITEM_WORDS = {"yes": 1.0, "no": 0.0}
_PAIR_WORDS = {"A": 1.0, "B": 0.0, "tie": 0.5}
"""The verdicts on a criterion and on a pair, where the file names none."""

_PLACEHOLDERS = ("{response}", "{answer}", "{response_a}")


@dataclass(frozen=True)
class JudgeModel(NetworkSettings):
    """One of several models; what it leaves empty is that of the judge's file."""

    model: str
    url: Address = NO_ADDRESS
    api_key_env: str = ""


@dataclass(frozen=True)
class RubricItem:
    """One item of a rubric."""

    text: str
    name: str = ""
    weight: float = 1.0
    """Below 0: meeting it subtracts."""
    required: bool = False
    """Not met: the whole score is 0."""
    pitfall: bool = False
    """It names something bad: meeting it subtracts its weight."""

    @property
    def points(self) -> float:
        """What meeting it adds."""
        return -abs(self.weight) if self.pitfall else self.weight


@dataclass(frozen=True)
class JudgeOptions(NetworkSettings):
    """What the judge is asked and how its answers are read: the keys of the YAML file.

    Raises:
        ValueError: a value that cannot work.
    """

    url: Address = NO_ADDRESS
    """Base of the API, such as `http://localhost:8000/v1`."""
    model: str = ""
    api_key_env: str = ""
    """The environment variable with the key; empty: none is sent."""
    models: list[JudgeModel] = field(default_factory=list)
    """Several models, each of which is asked. Empty: `model` alone."""
    system: str = text_option()
    prompt: str = text_option()
    """With `{response}` or `{answer}` in it, and perhaps `{prompt}`, `{ground_truth}`, `{fence}` and
    `{marker}`. Empty: the one for the form of judging."""
    fields: dict[str, str] = field(default_factory=dict)
    """Other names of placeholders in `prompt`: `{"gold_answer": "ground_truth"}`."""
    marker: str = ""
    """What stands before the verdict where the template has no `{marker}`, such as `Final Decision:`."""
    score_pattern: str = ""
    """A regular expression with the group `score`. All its matches behind the marker (without one, in the
    answer) must say the same."""
    score_field: str = ""
    """The answer is one JSON object with the verdict in this field, `a.b` within an object."""
    structured: bool = False
    """Send the form of the JSON object as `response_format`, for servers that can guide the model."""
    logprobs: bool = False
    """The score is the mean of the verdicts, weighted with the probabilities of their tokens."""
    verdicts: dict[str, float] = field(default_factory=dict)
    """Words for scores, such as `{"yes": 1, "no": 0}`; without them the verdict is a number."""
    score_range: tuple[float, float] = (0.0, 10.0)
    """A verdict outside is none."""
    scale_to: tuple[float, float] | None = (0.0, 1.0)
    """What `score_range` becomes; null: the verdict is the score."""
    correct_from: float | None = None
    """A score from here on says that the response is correct, a lower one that it is not; a response that
    says nothing is not correct, and is not asked about. null: the judge does not say."""
    votes: int = 1
    """How often each model is asked."""
    min_agreement: float = 0.0
    """Votes that agree less are an `error`."""
    criteria: list[RubricItem] = field(default_factory=list)
    """A rubric for all samples."""
    rubric: bool = False
    """Each sample brings its rubric: HealthBench's, RaR's or a list of such items, as ground truth or in
    `extra_info`."""
    one_call: bool = False
    """Ask for all criteria at once, in one JSON object; else once for each."""
    aggregate: Literal["mean", "min", "all"] = "mean"
    """Of the criteria: the weighted mean, the lowest, or 1 if all are met."""
    allow_missing: bool = False
    """Leave out a criterion without a verdict; else the sample is an `error`."""
    pairwise: bool = False
    """Compare with the ground truth, in both orders: 1 if the response wins twice, 0 if it loses twice, else
    0.5."""
    pair_roles: list[str] = field(default_factory=list)
    """Two roles of the model's chat template, as of GenRMs: the responses are messages behind the
    prompt's."""
    temperature: float = 0.0
    max_tokens: int = 1024
    extra_body: RequestFields = field(default_factory=RequestFields)
    """More fields of the request, such as `seed`."""
    request_timeout_s: float = 60.0
    """For one attempt."""
    retries: int = 4

    @property
    def endpoints(self) -> list[JudgeModel]:
        """The models that are asked, complete."""
        return [
            JudgeModel(one.model, one.url or self.url, one.api_key_env or self.api_key_env)
            for one in self.models or [JudgeModel(self.model)]
        ]

    @property
    def of_criteria(self) -> bool:
        """The score is made of criteria."""
        return self.rubric or bool(self.criteria)

    def __post_init__(self) -> None:
        NetworkSettings.__post_init__(self)
        words = (
            _PAIR_WORDS if self.pairwise and not self.score_field else _ITEM_WORDS if self.of_criteria else {}
        )
        if words and not self.verdicts:
            object.__setattr__(self, "verdicts", dict(words))
        for one in self.endpoints:
            if not one.url.startswith(("http://", "https://")) or not one.model:
                raise ValueError(
                    f"a judge requires url (http://...) and model, found {one.url!r} and {one.model!r}"
                )
        if self.prompt and not self._names_response():
            raise ValueError("the judge's prompt must contain {response}")
        self._check_reading()
        self._check_combining()

    def _names_response(self) -> bool:
        names = [
            *_PLACEHOLDERS,
            *(f"{{{n}}}" for n, field in self.fields.items() if f"{{{field}}}" in _PLACEHOLDERS),
        ]
        return any(name in self.prompt for name in names)

    def _check_reading(self) -> None:
        try:
            groups = re.compile(self.score_pattern).groupindex
        except re.error as error:
            raise ValueError(f"score_pattern is not a regular expression: {error}") from None
        if self.score_pattern and "score" not in groups:
            raise ValueError("score_pattern must contain the group (?P<score>...)")
        if self.score_pattern and self.score_field:
            raise ValueError("score_pattern reads text and score_field reads JSON; set only one of the two")
        if self.score_range[0] >= self.score_range[1]:
            raise ValueError(f"score_range must be [low, high] with low below high, found {self.score_range}")
        if self.structured and not (self.score_field or self.one_call):
            raise ValueError(
                "`structured` requires `score_field` (the JSON field with the verdict) or `one_call`"
            )
        if self.logprobs and (self.score_field or self.one_call):
            raise ValueError(
                "logprobs cannot be combined with score_field or one_call, because the verdict must be plain "
                "text"
            )
        if self.structured and "." in self.score_field:
            raise ValueError("with `structured`, `score_field` must not contain a dot")
        low, high = self.score_range
        if self.logprobs and not self.verdicts and not (low >= 0 and high <= 9):
            raise ValueError(
                "with logprobs a verdict must be a single token; list the verdicts in the option `verdicts`, "
                "or set a score_range from 0 to at most 9"
            )

    def _check_combining(self) -> None:
        if self.votes < 1:
            raise ValueError(f"votes must be at least 1, found {self.votes}")
        if self.votes > 1 and self.temperature == 0.0:
            raise ValueError("several votes at temperature 0 are identical; set temperature above 0")
        if self.rubric and self.criteria:
            raise ValueError(
                "criteria is one rubric for all samples, and rubric: true reads a rubric from each "
                "sample; set only one of the two"
            )
        if self.one_call and not self.of_criteria:
            raise ValueError("`one_call` requires `criteria` or `rubric: true`")
        if self.of_criteria and not self.criteria_are_positive():
            raise ValueError("at least one criterion that is not a pitfall must have a weight above 0")
        if self.pair_roles and (len(self.pair_roles) != 2 or not self.pairwise):
            raise ValueError("pair_roles must have exactly two roles and requires pairwise: true")
        if self.pairwise and self.of_criteria:
            raise ValueError("pairwise and criteria cannot be combined; set only one of the two")

    def criteria_are_positive(self) -> bool:
        """Whether there is something to gain, as far as is known here."""
        return self.rubric or any(one.points > 0 for one in self.criteria)
