"""Options of a judge: its questions, and the parsing and combination of its answers.

`spending` defines the limits on requests and costs, and `presets` defines the templates and answer formats
for known models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings, RequestFields
from rewardkit.reward_options import text_option

_ITEM_WORDS = {"yes": 1.0, "no": 0.0}
_PAIR_WORDS = {"A": 1.0, "B": 0.0, "tie": 0.5}
"""Default verdicts on a criterion (`_ITEM_WORDS`) and on a pair of responses, with their scores."""

_PLACEHOLDERS = ("{response}", "{answer}", "{response_a}")


@dataclass(frozen=True)
class JudgeModel(NetworkSettings):
    """One of several models of a judge. Empty fields default to the judge's own options."""

    model: str
    url: Address = NO_ADDRESS
    api_key_env: str = ""


@dataclass(frozen=True)
class RubricItem:
    """Criterion in a rubric."""

    text: str
    name: str = ""
    weight: float = 1.0
    """Weight of the criterion. A negative weight lowers the score if the criterion is met."""
    required: bool = False
    """True if the score is at most 0 unless the criterion is met."""
    pitfall: bool = False
    """True if the criterion describes a flaw. Its weight is then subtracted if the criterion is met."""

    @property
    def points(self) -> float:
        """Return the points for meeting the criterion."""
        return -abs(self.weight) if self.pitfall else self.weight


@dataclass(frozen=True)
class JudgeOptions(NetworkSettings):
    """Options of a judge. The fields are keys in the judge's YAML file.

    Raises:
        ValueError: A value is invalid, or options cannot be combined.
    """

    url: Address = NO_ADDRESS
    """Base URL of the API, such as `http://localhost:8000/v1`."""
    model: str = ""
    api_key_env: str = ""
    """Environment variable with the API key. Empty: no key is sent."""
    models: list[JudgeModel] = field(default_factory=list)
    """Models that are each asked every question. Empty: only `model` is asked."""
    system: str = text_option()
    prompt: str = text_option()
    """Template with `{response}` or `{answer}`, and optionally `{prompt}`, `{ground_truth}`, `{fence}` and
    `{marker}`. Empty: the default template for this kind of judge."""
    fields: dict[str, str] = field(default_factory=dict)
    """Additional placeholder names in `prompt`, such as `{"gold_answer": "ground_truth"}`."""
    marker: str = ""
    """Text before the verdict if the template has no `{marker}`, such as `Final Decision:`."""
    score_pattern: str = ""
    """Regular expression with the group `score`. All matches after the marker must agree. Without a marker,
    the whole answer is searched."""
    score_field: str = ""
    """Field with the verdict in the answer's JSON object, or `a.b` in a nested object."""
    structured: bool = False
    """Send the schema of the JSON object as `response_format`, for servers with guided decoding."""
    logprobs: bool = False
    """Use the mean of the verdicts as the score, weighted by the probabilities of their tokens."""
    verdicts: dict[str, float] = field(default_factory=dict)
    """Scores of words, such as `{"yes": 1, "no": 0}`. Empty: the verdict is a number."""
    score_range: tuple[float, float] = (0.0, 10.0)
    """Range of valid verdicts. A verdict outside the range does not count."""
    scale_to: tuple[float, float] | None = (0.0, 1.0)
    """Range to which `score_range` is scaled. null: the verdict is the score."""
    correct_from: float | None = None
    """Minimum score at which a response counts as correct. An empty response is then incorrect, and the judge
    is not asked about it. null: the judge does not decide correctness."""
    votes: int = 1
    """Number of times that each model is asked."""
    min_agreement: float = 0.0
    """Minimum agreement of the votes. If the agreement is lower, the status is `error`."""
    criteria: list[RubricItem] = field(default_factory=list)
    """Rubric used for all samples."""
    rubric: bool = False
    """Read the rubric from each sample's ground truth or `extra_info`, in the format of HealthBench, RaR or a
    list of criteria."""
    one_call: bool = False
    """Ask about all criteria in one request, with a JSON object as answer. Otherwise each criterion is asked
    about separately."""
    aggregate: Literal["mean", "min", "all"] = "mean"
    """Aggregation of the criteria: the weighted mean, the minimum, or 1 if all are met and otherwise 0."""
    allow_missing: bool = False
    """Ignore criteria without a verdict. Otherwise they give the sample the status `error`."""
    pairwise: bool = False
    """Compare the response with the ground truth in both orders. The score is 1 if the response wins twice, 0
    if it loses twice, and otherwise 0.5."""
    pair_roles: list[str] = field(default_factory=list)
    """Two roles in the model's chat template, as used by GenRMs. The responses are then sent as messages with
    these roles after the messages of the prompt."""
    temperature: float = 0.0
    max_tokens: int = 1024
    extra_body: RequestFields = field(default_factory=RequestFields)
    """Additional fields of the request, such as `seed`."""
    request_timeout_s: float = 60.0
    """Time limit of one attempt, in seconds."""
    retries: int = 4

    @property
    def endpoints(self) -> list[JudgeModel]:
        """Return the models to ask, with all fields filled in."""
        return [
            JudgeModel(one.model, one.url or self.url, one.api_key_env or self.api_key_env)
            for one in self.models or [JudgeModel(self.model)]
        ]

    @property
    def of_criteria(self) -> bool:
        """Return True if the score is computed from criteria."""
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
        """Return True if a criterion has points above 0, or if the samples contain the rubric."""
        return self.rubric or any(one.points > 0 for one in self.criteria)
