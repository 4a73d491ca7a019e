"""Types for the JSON of OpenAI's graders, which is checked before scoring starts. `grader` runs the graders.

Fields that have no effect on the score, such as an image tag or display settings, are ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from rewardkit.arithmetic import BadExpression, Expression
from rewardkit.errors import InputError, did_you_mean
from rewardkit.json_objects import NOT_JSON
from rewardkit_extras.openai_graders.similarity import METRICS, REFUSED, require_metric
from rewardkit_extras.openai_graders.template import check_template

_DEEPEST = 5
"""Maximum nesting depth of `multi` graders."""


class StringCheck(msgspec.Struct, frozen=True, tag="string_check"):
    """Grader that compares the input with a reference. The result is 1 or 0.

    `eq` and `ne` compare exactly. `like` and `ilike` search for the reference in the input.
    """

    input: str
    reference: str
    operation: Literal["eq", "ne", "like", "ilike"]
    name: str = ""


class TextSimilarity(msgspec.Struct, frozen=True, tag="text_similarity"):
    """Grader that computes the similarity of two texts, from 0 to 1."""

    input: str
    reference: str
    evaluation_metric: str
    name: str = ""
    pass_threshold: float | None = None


class PythonGrader(msgspec.Struct, frozen=True, tag="python"):
    """Python source with a function `grade(sample, item) -> float`, which runs in the sandbox."""

    source: str
    name: str = ""


class ModelMessage(msgspec.Struct, frozen=True):
    """Message to the model that grades the response."""

    content: str | dict[str, Any] | list[Any]
    role: Literal["user", "assistant", "system", "developer"] = "user"

    @property
    def texts(self) -> list[str]:
        """Templates in the message. ValueError is raised for a part that is not text."""
        parts = self.content if isinstance(self.content, list) else [self.content]
        return [_text_of(part) for part in parts]


class LabelModel(msgspec.Struct, frozen=True, tag="label_model"):
    """Grader that asks a model for a label. The result is 1 for a passing label and 0 for any other label."""

    input: list[ModelMessage]
    labels: list[str]
    passing_labels: list[str]
    model: str = ""
    name: str = ""


class ScoreModel(msgspec.Struct, frozen=True, tag="score_model"):
    """Grader that asks a model for a number within `range`. The number is not rescaled."""

    input: list[ModelMessage]
    model: str = ""
    name: str = ""
    range: tuple[float, float] = (0.0, 1.0)
    sampling_params: dict[str, Any] | None = None
    pass_threshold: float | None = None


class Multi(msgspec.Struct, frozen=True, tag="multi"):
    """Grader that computes a formula from the results of other graders."""

    graders: dict[str, AnyGrader]
    calculate_output: str
    name: str = ""


AnyGrader = StringCheck | TextSimilarity | PythonGrader | LabelModel | ScoreModel | Multi
ModelGrader = LabelModel | ScoreModel
_decoder: msgspec.json.Decoder[AnyGrader] = msgspec.json.Decoder(AnyGrader)


def read_grader(text: str | bytes) -> AnyGrader:
    """Parse a grader's JSON, and check every template, formula and metric in it.

    Raises:
        InputError: The text is not a grader, or the grader is not supported. The message gives the reason.
        MissingDependencyError: A metric needs an extra that is not installed.
    """
    try:
        found = _decoder.decode(text)
    except NOT_JSON as error:
        raise InputError(f"not a valid OpenAI grader: {error}") from None
    _check(found, "", _DEEPEST)
    return found


def members(grader: AnyGrader, path: str = "") -> Iterator[tuple[str, AnyGrader]]:
    """Yield a grader and all graders within it, each preceded by its path, such as `tidy` or `both.tidy`."""
    yield path, grader
    if isinstance(grader, Multi):
        for name, one in grader.graders.items():
            yield from members(one, f"{path}.{name}".lstrip("."))


def asking_members(grader: AnyGrader) -> dict[str, ModelGrader]:
    """Return the members that call a model, by path."""
    return {path: one for path, one in members(grader) if isinstance(one, ModelGrader)}


@functools.lru_cache(maxsize=64)
def formula_of(text: str, names: frozenset[str]) -> Expression:
    """Parse a formula whose variables are the names of graders. Parsed formulas are cached.

    Raises:
        BadExpression: The text is not a formula, or contains an unknown name.
    """
    return Expression(text, names)


def _check(grader: AnyGrader, path: str, depth: int) -> None:
    try:
        _CHECKS[type(grader)](grader)
    except (ValueError, BadExpression) as error:
        where = f"the grader '{path}'" if path else "the grader"
        raise InputError(f"{where}: {error}") from None
    if isinstance(grader, Multi):
        if not depth:
            raise InputError(f"the graders are nested more than {_DEEPEST} levels deep")
        for name, one in grader.graders.items():
            _check(one, f"{path}.{name}".lstrip("."), depth - 1)


def _check_string(grader: StringCheck) -> None:
    check_template(grader.input)
    check_template(grader.reference)


def _check_similarity(grader: TextSimilarity) -> None:
    check_template(grader.input)
    check_template(grader.reference)
    metric = grader.evaluation_metric
    if metric in REFUSED:
        raise ValueError(f"the metric {metric} cannot be computed here: {REFUSED[metric]}")
    if metric not in METRICS:
        raise ValueError(f"there is no metric '{metric}'{did_you_mean(metric, METRICS)}")
    require_metric(metric)


def _check_label(grader: LabelModel) -> None:
    _check_messages(grader.input)
    if not grader.passing_labels:
        raise ValueError(f"passing_labels is empty; expected one or more of {grader.labels}")
    if strange := sorted(set(grader.passing_labels) - set(grader.labels)):
        raise ValueError(f"passing_labels contains {strange}; expected only labels from {grader.labels}")


def _check_score(grader: ScoreModel) -> None:
    _check_messages(grader.input)
    if not grader.range[0] < grader.range[1]:
        raise ValueError(f"range must be [low, high] with low below high, found {list(grader.range)}")


def _check_messages(messages: list[ModelMessage]) -> None:
    for message in messages:
        for text in message.texts:
            check_template(text)


def _check_multi(grader: Multi) -> None:
    formula_of(grader.calculate_output, frozenset(grader.graders))


def _text_of(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    raise ValueError(f"a message part of the type {kind} has no 'text'; graders support only text")


_CHECKS: dict[type, Any] = {
    StringCheck: _check_string,
    TextSimilarity: _check_similarity,
    PythonGrader: lambda grader: None,
    LabelModel: _check_label,
    ScoreModel: _check_score,
    Multi: _check_multi,
}
