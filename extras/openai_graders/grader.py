"""OpenAI's graders as a reward. Each part is graded, and `multi` combines the results with its formula.

If a part cannot be graded, the whole score is a failure instead of 0. A part is graded as 0 only because of a
defect in the response, for example if a template refers to `sample.output_json.x` and the response has no
such JSON field.
"""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.arithmetic import BadExpression
from rewardkit.errors import InputError, OptionsError
from rewardkit.foreign.reward_of_spec import made
from rewardkit.foreign.spec import ForeignSpec
from rewardkit.http_addresses import address_of
from rewardkit.registry import Reward
from rewardkit.rewards.judge.budget import share_budget
from rewardkit.rewards.judge.file import check_spending
from rewardkit.rewards.judge.judge_reward import load
from rewardkit.rewards.judge.spending import JudgeBill, OverBudgetError
from rewardkit.sandbox import Limits, SandboxUnavailable
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.of_process import sandbox_of_process
from rewardkit.types import COST_PARTS, Sample, Score, Status, failure
from rewardkit_extras.openai_graders.forms import (
    AnyGrader,
    LabelModel,
    ModelGrader,
    Multi,
    PythonGrader,
    StringCheck,
    TextSimilarity,
    asking_members,
    formula_of,
    members,
    read_grader,
)
from rewardkit_extras.openai_graders.model import judge_of, question_of
from rewardkit_extras.openai_graders.options import GraderOptions
from rewardkit_extras.openai_graders.similarity import similarity
from rewardkit_extras.openai_graders.template import FieldMissing, fields_of, fill

_CHECK: Mapping[str, Callable[[str, str], bool]] = {
    "eq": lambda said, reference: said == reference,
    "ne": lambda said, reference: said != reference,
    "like": lambda said, reference: reference in said,
    "ilike": lambda said, reference: reference.casefold() in said.casefold(),
}


class GradeFailed(RuntimeError):
    """Raised if a grader could not grade a response. `status` is the status of the resulting score."""

    def __init__(self, status: Status, why: str) -> None:
        super().__init__(why)
        self.status = status


ModelAnswers = Mapping[str, float | GradeFailed]
"""Results from models, by the path of the grader that called the model."""


def openai_grader(spec: ForeignSpec) -> Reward:
    """Return the reward for a grader in a JSON file.

    Raises:
        InputError: The file cannot be read, or contains no supported grader.
        OptionsError: The grader calls a model, and the option `url` is not set.
        MissingDependencyError: A package that the grader needs is not installed.
    """
    text = _text(Path(spec.target))
    try:
        grader = read_grader(text)
    except InputError as error:
        raise InputError(f"{spec.target}: {error}") from None
    parts = dict(members(grader))
    about: dict[str, Any] = {
        "source": text.encode(),
        "presets": {"grader": text},
        "parts": tuple(filter(None, parts)),
        "summary": f"OpenAI's grader {getattr(grader, 'name', '') or Path(spec.target).stem}",
    }
    runs = "sandbox" if any(isinstance(one, PythonGrader) for one in parts.values()) else "process"
    asking = asking_members(grader)
    if not asking:
        return made(spec, score, GraderOptions, running={"runs": runs}, **about)
    _check_endpoint(spec)
    about["parts"] += COST_PARTS
    running = {"runs": runs, "load": load, "processes": 1}
    reward = made(spec, score_by_model, GraderOptions, running=running, **about)
    options: GraderOptions = reward.make_options({})
    for one in asking.values():
        try:
            judge = judge_of(one, options)
        except (ValueError, TypeError) as error:
            raise OptionsError(f"{spec.target}: {error}") from None
        check_spending(judge, options, reward.name)
    share_budget(options, f"the grader '{reward.name}'")
    return reward.with_running(chunk=options.concurrency)


def score(sample: Sample, options: GraderOptions) -> Score:
    """Score a sample with a grader that calls no model."""
    return _scored(sample, options, {})


async def score_by_model(sample: Sample, options: GraderOptions) -> Score:
    """Score a sample with a grader that calls models. All models are called concurrently."""
    asked = asking_members(_grader(options.grader))
    bill = JudgeBill()
    answers = await asyncio.gather(*(_ask(one, sample, options, bill) for one in asked.values()))
    made = _scored(sample, options, dict(zip(asked, answers, strict=True)))
    return msgspec.structs.replace(made, parts={**made.parts, **bill.parts})


def _scored(sample: Sample, options: GraderOptions, answers: ModelAnswers) -> Score:
    grader = _grader(options.grader)
    run = _Grading(fields_of(sample), answers, options)
    try:
        value = run.value_of(grader, "")
    except GradeFailed as error:
        return failure(error.status, str(error))
    parts = {path: value for path, value in run.parts.items() if path}
    detail = "; ".join(run.notes) or None
    return Score(value, correct=_correct(grader, value), parts=parts, detail=detail)


def _correct(grader: AnyGrader, value: float) -> bool | None:
    if isinstance(grader, StringCheck | LabelModel):
        return value == 1.0
    bound = getattr(grader, "pass_threshold", None)
    return None if bound is None else value >= bound


class _Grading:
    """Evaluation of a grader on one response."""

    def __init__(self, fields: Mapping[str, Any], answers: ModelAnswers, options: GraderOptions) -> None:
        self.fields = fields
        self.answers = answers
        self.options = options
        self.parts: dict[str, float] = {}
        self.notes: list[str] = []

    def value_of(self, grader: AnyGrader, path: str) -> float:
        """Return the result of a grader and record it under its path.

        Raises:
            GradeFailed: The grader could not grade the response.
        """
        try:
            value = self._value(grader, path)
        except FieldMissing as error:
            if not error.of_response:
                raise GradeFailed("invalid", f"sample_parse_error: {error.args[0]}") from None
            self.notes.append(f"{path or 'grader'}: {error.args[0]}")
            value = 0.0
        if not math.isfinite(value):
            where = f"the grader '{path}'" if path else "the grader"
            raise GradeFailed("error", f"{where} returned {value}; expected a finite number")
        self.parts[path] = value
        return value

    def _value(self, grader: AnyGrader, path: str) -> float:
        match grader:
            case StringCheck():
                said, reference = fill(grader.input, self.fields), fill(grader.reference, self.fields)
                return float(_CHECK[grader.operation](said, reference))
            case TextSimilarity():
                said, reference = fill(grader.input, self.fields), fill(grader.reference, self.fields)
                return similarity(grader.evaluation_metric, said, reference)
            case PythonGrader():
                return _call(grader.source, self.fields, self.options)
            case Multi():
                return self._combined(grader, path)
        answer = self.answers[path]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _combined(self, grader: Multi, path: str) -> float:
        names = frozenset(grader.graders)
        values = {
            name: self.value_of(one, f"{path}.{name}".lstrip(".")) for name, one in grader.graders.items()
        }
        try:
            return float(formula_of(grader.calculate_output, names).value(values))
        except (BadExpression, OverflowError) as error:
            raise GradeFailed("error", f"the formula {grader.calculate_output!r:.80}: {error}") from None


async def _ask(
    grader: ModelGrader, sample: Sample, options: GraderOptions, bill: JudgeBill
) -> float | GradeFailed:
    from rewardkit.rewards.judge.asking_models import NO_ANSWER, JudgeAsking
    from rewardkit.rewards.judge.calls import calls_within

    judge = judge_of(grader, options)
    asking = JudgeAsking(judge, calls_within(options.spending, options.grader), bill)
    try:
        return (await asking.verdict(question_of(grader, fields_of(sample), judge))).score
    except FieldMissing as error:
        return 0.0 if error.of_response else GradeFailed("invalid", f"sample_parse_error: {error.args[0]}")
    except OverBudgetError as error:
        bill.add(over_budget=1)
        return GradeFailed("error", str(error))
    except NO_ANSWER as error:
        return GradeFailed("error", f"model_grader_error: {error}")


def _call(source: str, fields: Mapping[str, Any], options: GraderOptions) -> float:
    """Run the function `grade(sample, item)` from a Python source in the sandbox.

    Raises:
        GradeFailed: The function raised an exception, took too long, or returned no number.
    """
    limits = Limits(cpu_s=options.cpu_s, memory_mb=options.memory_mb)
    try:
        sandbox = sandbox_of_process(options.level)
        (answer,) = sandbox.call(source, "grade", [[fields["sample"], fields["item"]]], limits)
    except (SandboxUnavailable, ValueError) as error:
        raise GradeFailed("error", f"python_grader_server_error: {error}") from None
    if answer.status != "ok":
        status: Status = "timeout" if answer.status.endswith("_timeout") else "error"
        raise GradeFailed(status, f"python_grader_runtime_error: {answer.error}")
    try:
        return float(values.decode(values.loads(answer.value)["value"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise GradeFailed("error", "python_grader_runtime_error: grade() returned no number") from None


@functools.lru_cache(maxsize=64)
def _grader(text: str) -> AnyGrader:
    return read_grader(text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the grader {path}: {error}") from None


def _check_endpoint(spec: ForeignSpec) -> None:
    from rewardkit.model_api.client import require_openai

    require_openai("a grader that asks a model")
    url = str(spec.options.get("url") or "")
    try:
        address_of(url)
    except ValueError:
        raise OptionsError(
            f"the grader {spec.target} calls a model; set the option url to an OpenAI-compatible API"
        ) from None
