"""Builds the questions for a grader's model.

A judge sends the questions, and applies its cache, limits and budget. The model answers with a JSON object.
Nothing in an answer is executed. The grader's messages are sent unchanged, followed by a message that
describes the form of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.question import JudgeQuestion
from rewardkit.rewards.judge.templates import how_to_answer
from rewardkit_extras.openai_graders.forms import LabelModel, ModelGrader, ScoreModel
from rewardkit_extras.openai_graders.options import GraderOptions
from rewardkit_extras.openai_graders.template import fill


def question_of(grader: ModelGrader, fields: Mapping[str, Any], judge: JudgeOptions) -> JudgeQuestion:
    """Build the question for the grader's model.

    Raises:
        FieldMissing: A path in a template does not exist.
    """
    messages = [
        {
            "role": one.role.replace("developer", "system"),
            "content": "\n".join(fill(text, fields) for text in one.texts),
        }
        for one in grader.input
    ]
    form = how_to_answer(judge, [judge.score_field])
    return JudgeQuestion([*messages, {"role": "user", "content": form}], marker="")


def judge_of(grader: ModelGrader, options: GraderOptions) -> JudgeOptions:
    """Return the judge settings for a grader, which specify the model and the form of its answer.

    Raises:
        ValueError: A setting is invalid.
    """
    asked: dict[str, Any] = {
        "url": options.url,
        "model": options.model or grader.model,
        "api_key_env": options.api_key_env,
        "request_timeout_s": options.request_timeout_s,
        "retries": options.retries,
        "scale_to": None,
    }
    if isinstance(grader, LabelModel):
        passing = set(grader.passing_labels)
        labels = {label: float(label in passing) for label in grader.labels}
        return JudgeOptions(**asked, score_field="label", verdicts=labels)
    return JudgeOptions(**asked, score_field="score", score_range=grader.range, **_sampling(grader))


def _sampling(grader: ScoreModel) -> dict[str, Any]:
    given = grader.sampling_params or {}
    return {
        "temperature": float(given.get("temperature", 0.0)),
        "max_tokens": int(given.get("max_completions_tokens", 1024)),
        "extra_body": {name: given[name] for name in ("top_p", "seed") if name in given},
    }
