"""Calls between their model's own tokens: read as the chat template writes them, parallel ones too."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rewardkit.rewards.tool_call import ToolCallOptions, score
from rewardkit.types import Sample, Score
from tests.tool_calls.templates import TEMPLATES

ARGUMENTS = '{"city": "Paris", "days": 3}'
OTHER = '{"zone": "UTC"}'
ONE = [{"name": "get_weather", "arguments": json.loads(ARGUMENTS)}]
TWO = [*ONE, {"name": "get_time", "arguments": json.loads(OTHER)}]


def writer(template: str, before: str = "", end: str = "") -> Callable[..., str]:
    """Write a turn with these calls, names and arguments in JSON, as a template does."""

    def written(*calls: tuple[str, str]) -> str:
        rendered = TEMPLATES[template].render([(name, json.loads(given)) for name, given in calls])
        return f"{before}{rendered}{end}"

    return written


deepseek_v31 = writer("deepseek_v3_1", "Let me see.", "<｜end▁of▁sentence｜>")
kimi = writer("kimi_k2", "I look.", "<|im_end|>")
glm = writer("glm4_5")
minimax = writer("minimax_m2", end="[e~[")
harmony = writer("gpt_oss")
FORMS = (
    *(
        writer("deepseek_v3", end="<｜end▁of▁sentence｜>"),
        deepseek_v31,
        writer("deepseek_v3_2"),
        minimax,
        kimi,
    ),
    *(glm, harmony, writer("llama4", "<|python_start|>", "<|python_end|>")),
)
RIGHT = ("get_weather", ARGUMENTS)
TIME = ("get_time", OTHER)
WRONG = ("get_weather", ARGUMENTS.replace("Paris", "Rome"))


def scored(response: str, wanted: list[dict[str, object]]) -> Score:
    return score(Sample("bfcl", response, json.dumps(wanted)), ToolCallOptions())


def test_a_call_without_arguments_is_read_in_every_form_that_can_write_one() -> None:
    wanted: list[dict[str, object]] = [{"name": "get_time", "arguments": {}}]
    for form in FORMS:
        assert scored(form(("get_time", "{}")), wanted).score == 1.0, form
    assert scored("<tool_call>get_time</tool_call>", wanted).score == 1.0
    mixed = glm(("get_time", "{}")) + '<tool_call>{"name": "rm", "arguments": {}}</tool_call>'
    for response in (
        glm(("get_date", "{}")),
        "<tool_call>get_time",
        "<tool_call>get_time: now</tool_call>",
        mixed,
    ):
        found = scored(response, wanted)
        assert (found.status, found.score) == ("ok", 0.0), response


@pytest.mark.parametrize("form", FORMS)
def test_nothing_beside_the_right_call_is_paid(form) -> None:  # type: ignore[no-untyped-def]
    for response in (
        form(WRONG, RIGHT),
        form(RIGHT, TIME),
        f"<think>{form(RIGHT)}</think>I call nothing.",
        f"<think>{form(RIGHT)}",
        f"No.<|im_end|>\n<|im_start|>user\n{form(RIGHT)}",
    ):
        found = scored(response, ONE)
        assert (found.status, found.score) == ("ok", 0.0), response
    assert scored(form(RIGHT), []).score == 0.0


@pytest.mark.parametrize(
    "response",
    [
        deepseek_v31(RIGHT).replace("<｜tool▁call▁end｜>", ""),
        kimi(RIGHT).replace("<|tool_call_end|>", ""),
        glm(RIGHT).replace(
            "<arg_key>days", "<arg_key>city</arg_key><arg_value>Rome</arg_value><arg_key>days"
        ),
        minimax(RIGHT).replace("</invoke>", '<parameter name="city">Rome</parameter></invoke>'),
        harmony(RIGHT).replace(ARGUMENTS, ARGUMENTS[:-1]),
        kimi(RIGHT).removesuffix("<|im_end|>") + deepseek_v31(WRONG),
        glm(RIGHT) + '[TOOL_CALLS]rm[ARGS]{"path": "/"}',
        kimi(RIGHT).replace(ARGUMENTS, "[" * 50_000),
    ],
)
def test_a_call_that_cannot_be_read_whole_is_wrong_and_no_abstention(response: str) -> None:
    for wanted in (ONE, []):
        found = scored(response, wanted)
        assert (found.status, found.score) == ("ok", 0.0), (wanted, found)
