"""Asks a model for the label or the number of a grader, and reads its answer. Nothing in an answer is run.

The grader's messages go out as they stand, and one more says in which form to answer: one JSON object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.foreign.openai.forms import LabelModel, ModelGrader, ScoreModel
from rewardkit.foreign.openai.template import fill
from rewardkit.model_api.client import Endpoint, EndpointError, complete_text
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.verdict import NoVerdictError, read_verdict

_FIELD = {LabelModel: "label", ScoreModel: "score"}
_SAMPLING = {"temperature", "top_p", "seed"}


class NoGrade(RuntimeError):
    """The model's answer is no grade, or there is none; the message says why."""


async def ask_model(grader: ModelGrader, fields: Mapping[str, Any], endpoint: Endpoint) -> float:
    """Return the number of a grader: asked once more where the answer holds none.

    Raises:
        NoGrade: the server failed, or neither answer is a grade.
        FieldMissing: a template's path leads nowhere.
    """
    messages = [
        {
            "role": one.role.replace("developer", "system"),
            "content": "\n".join(fill(text, fields) for text in one.texts),
        }
        for one in grader.input
    ]
    messages.append({"role": "user", "content": _form(grader)})
    reading = _reading(grader, endpoint)
    try:
        answer = await _answer(grader, messages, endpoint)
        try:
            return read_verdict(answer, "", reading).score
        except NoVerdictError as error:
            again = f"Your answer cannot be read: {error}. {_form(grader)}"
            more = [{"role": "assistant", "content": answer}, {"role": "user", "content": again}]
            return read_verdict(await _answer(grader, [*messages, *more], endpoint), "", reading).score
    except (EndpointError, NoVerdictError) as error:
        raise NoGrade(str(error)) from None


def _form(grader: ModelGrader) -> str:
    if isinstance(grader, LabelModel):
        return (
            f'Answer with one JSON object, {{"label": one of {", ".join(grader.labels)}}}, and nothing else.'
        )
    low, high = grader.range
    return f'Answer with one JSON object, {{"score": a number from {low:g} to {high:g}}}, and nothing else.'


async def _answer(grader: ModelGrader, messages: list[dict[str, str]], endpoint: Endpoint) -> str:
    given = (grader.sampling_params if isinstance(grader, ScoreModel) else None) or {}
    return await complete_text(
        endpoint,
        messages,
        temperature=float(given.get("temperature", 0.0)),
        max_tokens=int(given.get("max_completions_tokens", 1024)),
        extra_body={name: given[name] for name in _SAMPLING - {"temperature"} if name in given},
    )


def _reading(grader: ModelGrader, endpoint: Endpoint) -> JudgeOptions:
    """How the judge reads such an answer: the field of one JSON object, a number in its range or a label."""
    common: dict[str, Any] = {"url": endpoint.url, "model": endpoint.model, "scale_to": None}
    common["score_field"] = _FIELD[type(grader)]
    if isinstance(grader, ScoreModel):
        return JudgeOptions(**common, score_range=grader.range)
    passing = set(grader.passing_labels)
    return JudgeOptions(**common, verdicts={label: float(label in passing) for label in grader.labels})
