"""OpenAI's graders: what each kind is worth, and that what cannot be graded is a status and never 0."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Sample, Score
from rewardkit.arithmetic import BadExpression, Expression
from rewardkit.cli import run
from rewardkit.errors import InputError, OptionsError
from rewardkit.foreign.spec import ForeignSpec
from rewardkit.registry import Registry, Reward
from rewardkit.scoring.scorer import Scorer
from rewardkit_extras.openai_graders.grader import openai_grader
from tests.foreign.servers import Answer, serving

ANSWER = Sample("test/shop", '{"answer": "72", "why": "6 * 12"}', "72", "How many?", {"unit": "pens"})


def grader(tmp_path: Path, form: dict[str, Any], **options: Any) -> Reward:
    path = tmp_path / "grader.json"
    path.write_text(json.dumps({"name": "g", **form}))
    spec = ForeignSpec(str(path), "openai-grader", options=options, data_sources=("test/shop",))
    return openai_grader(spec)


def test_errors_in_a_grader_name_its_file(tmp_path: Path) -> None:
    for form in ({}, {"type": "strng_check"}, check("eq", "{{ item }}", "x")):
        with pytest.raises(InputError, match=r"grader\.json"):
            grader(tmp_path, form)


def graded(reward: Reward, sample: Sample = ANSWER) -> Score:
    """What the reward says in this process."""
    found = reward.function(sample, reward.make_options({}))
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


def scored(reward: Reward, samples: list[Sample]) -> list[Score]:
    """What an asynchronous reward says of samples, all at once."""

    async def all_of() -> list[Score]:
        options = reward.make_options({})
        return await asyncio.gather(*(reward.function(sample, options) for sample in samples))

    return asyncio.run(all_of())


def check(operation: str, said: str, reference: str) -> dict[str, Any]:
    return {"type": "string_check", "operation": operation, "input": said, "reference": reference}


SAID = "{{ sample.output_json.answer }}"


@pytest.mark.parametrize(
    ("operation", "said", "reference", "value"),
    [
        ("eq", SAID, "{{item.ground_truth}}", 1.0),
        ("eq", SAID, "{{ item.unit }}", 0.0),
        ("ne", SAID, "{{ item.unit }}", 1.0),
        ("like", "{{sample.output_text}}", "6 *", 1.0),
        ("like", "PENS", "{{ item.unit }}", 0.0),
        ("ilike", "PENS", "{{ item.unit }}", 1.0),
        ("eq", "{{ sample.choices[0].message.role }}", "assistant", 1.0),
        ("eq", "{{ item['unit'] }} {{ sample.output_json }}", 'pens {"answer": "72", "why": "6 * 12"}', 1.0),
        ("eq", "{{ sample.output_json.missing }}", "72", 0.0),  # the response's doing
    ],
)
def test_string_checks(tmp_path: Path, operation: str, said: str, reference: str, value: float) -> None:
    score = graded(grader(tmp_path, check(operation, said, reference)))
    assert (score.score, score.status, score.correct) == (value, "ok", value == 1.0)


def test_a_field_that_the_row_lacks_makes_it_invalid(tmp_path: Path) -> None:
    score = graded(grader(tmp_path, check("eq", SAID, "{{ item.missing }}")))
    assert score.status == "invalid" and "item.missing" in str(score.detail)


def test_text_that_is_filled_in_is_no_template(tmp_path: Path) -> None:
    sample = Sample("test/shop", "{{ item.ground_truth }}", "72")
    made = grader(tmp_path, check("eq", "{{ sample.output_text }}", "72"))
    assert graded(made, sample).score == 0.0


@pytest.mark.parametrize(
    ("metric", "said", "value"),
    [
        ("fuzzy_match", "the cat sat on the mat", 1.0),
        ("fuzzy_match", "the cat sat on the man", 2 * 21 / 44),
        ("bleu", "the cat sat on the mat", 1.0),
        ("gleu", "the cat sat", 6 / 18),  # 3+2+1 of 6+5+4+3 that the reference has
        ("rouge_1", "the cat sat", 2 * 3 / 9),
        ("rouge_2", "the cat sat", 2 * 2 / 7),
        ("rouge_l", "on the mat", 2 * 3 / 9),
        ("rouge_5", "a", 0.0),
    ],
)
def test_similarities(tmp_path: Path, metric: str, said: str, value: float) -> None:
    form = {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.ground_truth}}",
    }
    made = grader(tmp_path, {**form, "evaluation_metric": metric, "pass_threshold": 0.9})
    score = graded(made, Sample("test/shop", said, "the cat sat on the mat"))
    assert score.score == pytest.approx(value)
    assert score.correct is (value >= 0.9)


FORMULAS = [
    ("1 + 2 * 3", 7.0),
    ("(1 + 2) * 3 - 4 / 2", 7.0),
    ("-2 ^ 2", -4.0),
    ("2 ^ 3 ^ 2", 512.0),
    ("2 ^ -1", 0.5),
    ("right + 0.5 * tidy", 1.25),
    ("min(1, right, tidy) + max(tidy)", 1.0),
    ("abs(-.5) + floor(1.7) + ceil(0.2) + sqrt(4) + exp(0) + log(1)", 5.5),
    ("1e-1 * 10", 1.0),
    ("+".join(["1"] * 300), 300.0),
]


@pytest.mark.parametrize(("text", "value"), FORMULAS)
def test_formulas(text: str, value: float) -> None:
    formula = Expression(text, {"right", "tidy"})
    assert float(formula.value({"right": 1.0, "tidy": 0.5})) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1 +", "(1", "1)", "unknown", "right right", "__import__('os')", "right.x", "abs(1, 2)"),
        *("min()", "1 if right else 2", "right[0]", "(" * 300 + ")" * 300, "right = 1"),
        "+".join(["1"] * 3_000),
    ],
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        Expression(text, {"right"})


@pytest.mark.parametrize(
    "text", ["1 / (right - 1)", "log(0)", "sqrt(-1)", "(-8) ^ 0.5", "10 ^ 2000", "exp(999)"]
)
def test_a_formula_without_a_value_is_an_error(text: str) -> None:
    with pytest.raises(BadExpression):
        Expression(text, {"right"}).value({"right": 1.0})


@given(st.text("0123456789.+-*/^(),abs min right", max_size=30))
def test_any_text_is_a_formula_or_refused(text: str) -> None:
    with contextlib.suppress(BadExpression):
        Expression(text, {"right"}).value({"right": 1.0})


def python(body: str) -> dict[str, Any]:
    return {"type": "python", "name": "p", "source": f"def grade(sample, item):\n    {body}\n"}


BOTH = {
    "type": "multi",
    "calculate_output": "0.8 * right + 0.2 * min(1, tidy)",
    "graders": {
        "right": check("eq", SAID, "{{ item.ground_truth }}"),
        "tidy": python("return len(sample['output_text']) < 200 and item['unit'] == 'pens'"),
    },
}


def test_several_graders_become_one_number_through_a_scorer(tmp_path: Path) -> None:
    registry = Registry()
    registry.register(grader(tmp_path, BOTH))
    wrong = Sample("test/shop", '{"answer": "73"}', "72", None, {"unit": "pens"})
    with Scorer(registry=registry, workers=1) as scorer:
        right, low = scorer.score_batch([ANSWER, wrong])
    assert (right.score, right.parts) == (pytest.approx(1.0), {"right": 1.0, "tidy": 1.0})
    assert (low.score, low.parts) == (pytest.approx(0.2), {"right": 0.0, "tidy": 1.0})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("raise ValueError('no')", "error"),
        ("import os; os._exit(3)", "error"),
        ("return float('nan')", "error"),
        ("return None", "error"),
        ("return 'high'", "error"),
        ("while True: pass", "timeout"),
    ],
)
def test_a_python_grader_that_fails_is_a_status(tmp_path: Path, body: str, status: str) -> None:
    made = grader(tmp_path, {**BOTH, "graders": {**BOTH["graders"], "tidy": python(body)}}, cpu_s=0.5)
    score = graded(made)
    assert score.status == status and score.score == 0.0


MODEL = {"model": "m", "input": [{"role": "developer", "content": "Grade {{ sample.output_text }}"}]}
LABEL = {"type": "label_model", "labels": ["good", "bad"], "passing_labels": ["good"], **MODEL}
SCORE = {"type": "score_model", "range": [0, 5], **MODEL}


@pytest.mark.parametrize(
    ("form", "answers", "value"),
    [
        (SCORE, ['{"score": 4}'], 4.0),
        (SCORE, ["Four.", '```json\n{"score": 4.5}\n```'], 4.5),
        (SCORE, ['{"score": 7}', '{"score": "high"}'], None),
        (LABEL, ['{"label": "good"}'], 1.0),
        (LABEL, ['{"label": "bad"}'], 0.0),
        (LABEL, ["good or bad", "both"], None),
    ],
)
def test_model_graders_read_one_json_object(
    tmp_path: Path, form: dict[str, Any], answers: list[str], value: float | None
) -> None:
    said = list(answers)

    def answer(path: str, body: Any, headers: Any) -> Answer:
        assert body["messages"][0] == {"role": "system", "content": "Grade so and so"}
        return 200, {"choices": [{"message": {"content": said.pop(0)}, "finish_reason": "stop"}]}

    with serving(answer) as server:
        made = grader(tmp_path, form, url=f"{server.url}/v1")
        score = graded(made, Sample("test/shop", "so and so", "72"))
    assert (score.status, score.score) == (("error", 0.0) if value is None else ("ok", value))


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"type": "vibes"}, "vibes"),
        (check("equals", "a", "b"), "equals"),
        (check("eq", "{{ secret.key }}", "b"), "secret.key"),
        (check("eq", "{{ item.__class__() }}", "b"), "item"),
        (
            {"type": "text_similarity", "input": "a", "reference": "b", "evaluation_metric": "cosine"},
            "embeddings",
        ),
        ({"type": "text_similarity", "input": "a", "reference": "b", "evaluation_metric": "blue"}, "bleu"),
        ({**LABEL, "passing_labels": ["fine"]}, "fine"),
        ({**BOTH, "calculate_output": "right + tidy2"}, "tidy2"),
    ],
)
def test_a_grader_that_cannot_be_run_is_refused_when_it_is_loaded(
    tmp_path: Path, form: dict[str, Any], why: str
) -> None:
    with pytest.raises((InputError, OptionsError), match=why):
        grader(tmp_path, form, url="http://localhost/v1")


def test_a_model_grader_needs_an_address_a_model_and_its_key(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="url"):
        grader(tmp_path, SCORE)
    with pytest.raises(OptionsError, match="model"):
        grader(tmp_path, {**SCORE, "model": ""}, url="http://localhost/v1")
    with pytest.raises(OptionsError, match="NO_SUCH_KEY"):
        grader(tmp_path, SCORE, url="http://localhost/v1", api_key_env="NO_SUCH_KEY")


def test_models_of_graders_have_the_cache_the_limits_and_the_budget_of_judges(tmp_path: Path) -> None:
    asked: list[Any] = []

    def answer(path: str, body: Any, headers: Any) -> Answer:
        asked.append(body)
        content = '{"reason": "so", "score": 4}'
        usage = {"prompt_tokens": 90, "completion_tokens": 10}
        return 200, {
            "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
            "usage": usage,
        }

    samples = [Sample("test/shop", f"response {n % 10}", "72") for n in range(60)]
    with serving(answer) as server:
        made = grader(tmp_path, SCORE, url=f"{server.url}/v1", cache=str(tmp_path / "answers.sqlite"))
        scores = scored(made, samples)
        assert {(score.status, score.score) for score in scores} == {("ok", 4.0)}
        assert len(asked) == 10 and sum(score.parts["cached"] for score in scores) == 50
        assert sum(score.parts["input_tokens"] for score in scores) == 900

        poor = grader(tmp_path, SCORE, url=f"{server.url}/v1", cache="off", budget_tokens=2500)
        scores = scored(poor, samples)
    statuses = [score.status for score in scores]
    assert 1 <= statuses.count("ok") <= 24 and set(statuses) == {"ok", "error"}
    assert {score.parts["over_budget"] for score in scores if not score.ok} == {1.0}


def test_the_command_line_takes_a_grader_for_a_data_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grader(tmp_path, check("eq", "{{ sample.output_text }}", "{{ item.ground_truth }}"))
    spec = f"my/set=openai-grader:{tmp_path / 'grader.json'}"
    assert run(["explain", "--reward", spec, "--gold", "72", "--response", "72"]) == 0
    assert "1.0" in capsys.readouterr().out
