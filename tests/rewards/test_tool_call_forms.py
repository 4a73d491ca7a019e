"""Calls between their model's own tokens: read as the chat template writes them, parallel ones too."""

from __future__ import annotations

import json

import pytest

from rewardkit.rewards.tool_call import ToolCallOptions, score
from rewardkit.types import Sample, Score

ARGUMENTS = '{"city": "Paris", "days": 3}'
OTHER = '{"zone": "UTC"}'
ONE = [{"name": "get_weather", "arguments": json.loads(ARGUMENTS)}]
TWO = [*ONE, {"name": "get_time", "arguments": json.loads(OTHER)}]


def deepseek_v3(*calls: tuple[str, str]) -> str:
    each = "".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{given}\n```<｜tool▁call▁end｜>"
        for name, given in calls
    )
    return f"<｜tool▁calls▁begin｜>{each}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"


def deepseek_v31(*calls: tuple[str, str]) -> str:
    each = "".join(
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{given}<｜tool▁call▁end｜>" for name, given in calls
    )
    return f"Let me see.<｜tool▁calls▁begin｜>{each}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"


def _parameters(given: str, mark: str) -> str:
    return "".join(
        f'<{mark}parameter name="{key}"'
        + (f' string="{str(isinstance(value, str)).lower()}"' if mark else "")
        + f">{value}</{mark}parameter>\n"
        for key, value in json.loads(given).items()
    )


def deepseek_v32(*calls: tuple[str, str]) -> str:
    each = "".join(
        f'<｜DSML｜invoke name="{name}">\n{_parameters(given, "｜DSML｜")}</｜DSML｜invoke>\n'
        for name, given in calls
    )
    return f"<｜DSML｜function_calls>\n{each}</｜DSML｜function_calls>"


def minimax(*calls: tuple[str, str]) -> str:
    each = "".join(f'<invoke name="{name}">\n{_parameters(given, "")}</invoke>\n' for name, given in calls)
    return f"<minimax:tool_call>\n{each}</minimax:tool_call>[e~["


def kimi(*calls: tuple[str, str]) -> str:
    each = "".join(
        f"<|tool_call_begin|>functions.{name}:{i}<|tool_call_argument_begin|>{given}<|tool_call_end|>"
        for i, (name, given) in enumerate(calls)
    )
    return f"I look.<|tool_calls_section_begin|>{each}<|tool_calls_section_end|><|im_end|>"


def glm(*calls: tuple[str, str]) -> str:
    return "\n".join(
        f"<tool_call>{name}\n"
        + "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"
            for key, value in json.loads(given).items()
        )
        + "</tool_call>"
        for name, given in calls
    )


def harmony(*calls: tuple[str, str]) -> str:
    return "<|channel|>analysis<|message|>Look.<|end|>" + "".join(
        f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{given}<|call|>"
        for name, given in calls
    )


def llama4(*calls: tuple[str, str]) -> str:
    each = (
        f"{name}({', '.join(f'{key}={value!r}' for key, value in json.loads(given).items())})"
        for name, given in calls
    )
    return f"<|python_start|>[{', '.join(each)}]<|python_end|>"


FORMS = (deepseek_v3, deepseek_v31, deepseek_v32, minimax, kimi, glm, harmony, llama4)
RIGHT = ("get_weather", ARGUMENTS)
TIME = ("get_time", OTHER)
WRONG = ("get_weather", ARGUMENTS.replace("Paris", "Rome"))


def scored(response: str, wanted: list[dict[str, object]]) -> Score:
    return score(Sample("bfcl", response, json.dumps(wanted)), ToolCallOptions())


@pytest.mark.parametrize("form", FORMS)
def test_a_call_in_a_models_own_tokens_is_read(form) -> None:  # type: ignore[no-untyped-def]
    assert scored(form(RIGHT), ONE).score == 1.0
    assert scored(form(RIGHT, TIME), TWO).score == scored(form(TIME, RIGHT), TWO).score == 1.0


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
        form(WRONG),
        form(RIGHT, WRONG),
        form(WRONG, RIGHT),
        form(RIGHT, RIGHT),
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
        kimi(("get_weather", "[" * 50_000)),
    ],
)
def test_a_call_that_cannot_be_read_whole_is_wrong_and_no_abstention(response: str) -> None:
    for wanted in (ONE, []):
        found = scored(response, wanted)
        assert (found.status, found.score) == ("ok", 0.0), (wanted, found)
