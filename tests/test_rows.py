"""A ground truth reads the same wherever it comes from: a file, an adapter, a trainer's request."""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rewardkit.errors import NoResponseError
from rewardkit.rows import (
    find_names,
    ground_truth_text,
    has_value,
    response_text,
    responses_of,
    to_sample,
    value_at,
)
from rewardkit.tables import type_of, values_of


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        ("72", "72"),
        (72.0, "72"),
        (0.1, "0.1"),
        (2.0**60, "1.152921504606847e+18"),
        (float("nan"), None),
        (None, None),
        (True, "true"),
        (["a", "é"], '["a", "é"]'),
        (np.int64(72), "72"),
        ({"inputs": np.array(["1"]), "n": np.int64(2)}, '{"inputs": ["1"], "n": 2}'),
        (1 + 2j, "(1+2j)"),
        (MappingProxyType({"n": 1}), '{"n": 1}'),
        (b"72", "72"),
        (Decimal("72.00"), "72"),
        (Decimal("NaN"), None),
        ({np.int64(1): "a", (2, 3): "b"}, '{"1": "a", "(2, 3)": "b"}'),
    ],
)
def test_a_ground_truth_is_text_or_nothing(truth: Any, text: str | None) -> None:
    assert ground_truth_text(truth) == text


_CALL = {"type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
_CALLED = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("#### 72", "#### 72"),
        (float("nan"), None),
        (np.float64("nan"), None),
        ([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], "ab"),
        ([{"role": "assistant", "content": None, "tool_calls": [_CALL]}], _CALLED),
        (
            [
                {"role": "assistant", "content": "", "tool_calls": [_CALL]},
                {"role": "tool", "content": "1"},
                {"role": "assistant", "content": "a"},
            ],
            "a",
        ),
        ({"role": "assistant", "content": "so", "tool_calls": [_CALL]}, f"so\n{_CALLED}"),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "so"},
                    {"type": "tool_use", "name": "f", "input": {"x": 1}},
                ],
            },
            f"so\n{_CALLED}",
        ),
        ({"choices": [{"message": {"content": "a"}, "index": 0}]}, "a"),
        (
            {
                "output": [
                    {"type": "reasoning"},
                    {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
                ]
            },
            "a",
        ),
        ({"object": "response", "output": [{"type": "reasoning", "summary": [{"text": "#### 7"}]}]}, ""),
        (
            {
                "output": [
                    {"type": "message", "role": "assistant", "content": "so"},
                    {"type": "message", "role": "user", "content": "#### 7"},
                    {"type": "function_call", "name": "g", "arguments": "{}", "call_id": "1"},
                    {"type": "function_call_output", "call_id": "1", "output": "#### 7"},
                    {"type": "function_call", "name": "f", "arguments": '{"x": 1}', "call_id": "2"},
                ]
            },
            f"so\n{_CALLED}",
        ),
        ({"candidates": [{"content": {"parts": [{"text": "7", "thought": True}, {"text": "a"}]}}]}, "a"),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}], "usageMetadata": {"n": 7}}, ""),
        ({"message": {"role": "assistant", "content": "a", "thinking": "#### 7"}, "done": True}, "a"),
        ({"output": {"message": {"role": "assistant", "content": [{"text": "a"}]}}, "stopReason": "x"}, "a"),
        ({"response": "a", "done": True, "model": "m"}, "a"),
        ({"generated_text": "a"}, "a"),
        ({"text": "a", "meta_info": {"finish_reason": {"type": "stop"}}}, "a"),
        (
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"x": 1}'}},
            _CALLED,
        ),
        (
            {"output": {"choices": [{"message": {"role": "assistant", "content": "a"}}]}, "request_id": "r"},
            "a",
        ),
        ([{"type": "human", "content": "#### 7"}, {"type": "ai", "content": "a"}], "a"),
        ([{"from": "human", "value": "#### 7"}, {"from": "gpt", "value": "a"}], "a"),
        (
            {
                "role": "assistant",
                "content": [{"type": "reasoning", "text": "#### 7"}, {"type": "text", "text": "a"}],
            },
            "a",
        ),
        (
            [
                {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "#### 7"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
            ],
            "a",
        ),
        (
            {
                "generated_text": [
                    {"role": "user", "content": "#### 7"},
                    {"role": "assistant", "content": "a"},
                ]
            },
            "a",
        ),
        ({"choices": [{"index": "A", "text": "a"}]}, "a"),
        ({"choices": [{"message": {"content": None, "refusal": "I won't"}}]}, "I won't"),
        (
            {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I won't"}]}]},
            "I won't",
        ),
        ({"choices": [{"message": {"content": None, "reasoning_content": "#### 7"}}]}, ""),
        ({"choices": [{"message": {"content": None}, "finish_reason": "length"}]}, ""),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}, ""),
        ('{"error": {"message": "x"}}', '{"error": {"message": "x"}}'),
        ({"role": "assistant", "content": "a", "tool_calls": True}, "a"),
        ({"status_code": 200, "body": {"choices": [{"message": {"content": "a"}}]}}, "a"),
        ({"custom_id": "q", "response": {"status_code": 200, "body": {"choices": [{"text": "a"}]}}}, "a"),
        ({"type": "succeeded", "message": {"role": "assistant", "content": "a"}}, "a"),
        ({"name": "f", "arguments": {}}, '{"name": "f", "arguments": {}}'),
        (
            [{"function": {"name": "f", "arguments": "{}"}}],
            '[{"function": {"name": "f", "arguments": "{}"}}]',
        ),
    ],
)
def test_a_response_is_what_the_assistant_said(value: Any, text: str | None) -> None:
    assert response_text(value) == text


_ERROR = {"message": "Overloaded\ntry later", "type": "overloaded_error", "code": 529}
_SAID = "the API answered with an error: Overloaded try later"
_SILENT = "the message's content is null"
_WITHHELD = "filter withheld the answer"
_OTHERS = "no message has the role assistant"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"choices": [], "prompt": "#### 7"}, "has no choices"),
        ({"error": _ERROR}, _SAID),
        ({"object": "error", **_ERROR, "param": None}, _SAID),
        ({"error": _ERROR, "choices": [{"message": {"role": "assistant", "content": "#### 7"}}]}, _SAID),
        ({"choices": [{"error": _ERROR, "message": {"content": "#### 7"}}]}, _SAID),
        ({"error": {"code": 503, "status": "UNAVAILABLE"}}, "with an error: 503"),
        ({"detail": "Not Found"}, "an error: Not Found"),
        (
            {"detail": [{"loc": ["body"], "msg": "required", "type": "x"}]},
            "an error: required",
        ),
        (
            {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}},
            "the API refused the prompt: SAFETY",
        ),
        (
            {"object": "response", "status": "cancelled", "output": []},
            "the status cancelled",
        ),
        ({"choices": [{"text": "#### 7", "finish_reason": "abort"}]}, "ended the request: abort"),
        (
            {"text": "", "meta_info": {"finish_reason": {"type": "abort", "message": "out of memory"}}},
            ": out of memory",
        ),
        (
            {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "#### 7"}}]},
            "a streamed answer",
        ),
        ({"choices": [{"message": None}]}, "without a message"),
        ({"choices": [{"message": {"content": None, "tool_calls": []}, "finish_reason": "stop"}]}, _SILENT),
        ({"role": "assistant", "content": None}, _SILENT),
        ([{"role": "user", "content": "#### 7"}, {"role": "assistant", "content": None}], _SILENT),
        (
            {"choices": [{"message": {"content": "#### 7"}, "finish_reason": "content_filter"}]},
            f"{_WITHHELD}: content_filter",
        ),
        (
            {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "SAFETY"}]},
            f"{_WITHHELD}: SAFETY",
        ),
        (
            {"role": "assistant", "content": [{"type": "text", "text": "a"}], "stop_reason": "refusal"},
            f"{_WITHHELD}: refusal",
        ),
        (
            {
                "object": "response",
                "output": [{"type": "message", "content": "a"}],
                "incomplete_details": {"reason": "content_filter"},
            },
            f"{_WITHHELD}: content_filter",
        ),
        ({"message": None, "done": False}, "'message' is null"),
        ({"role": "user", "content": "#### 7"}, _OTHERS),
        ({"output": [{"type": "message", "role": "user", "content": "#### 7"}]}, _OTHERS),
        ([{"from": "human", "value": "#### 7"}], _OTHERS.replace("user", "human")),
        ([], "list of responses"),
    ],
)
def test_what_no_model_wrote_is_no_response(value: Any, why: str) -> None:
    with pytest.raises(NoResponseError) as found:
        response_text(value)
    assert why in str(found.value)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"error": "is 5 %", "answer": 7}, "the keys error, answer"),
        ({"status": "failed", "answer": 7}, "the keys status, answer"),
        ({"output": "a"}, "the keys output"),
        ({}, "no keys"),
        ([{"final": "#### 7"}], "that begins with {'final': '#### 7'}"),
        ([["#### 7"], 7], "a list of 2"),
        ([16, 27, 198], "3 that begins with 16"),
        (np.array([0.5, 0.1]), "2 that begins with 0.5"),
        (True, "response is True"),
        (7, "response is 7"),
        (np.float64(0.5), "response is 0.5"),
        (["a", 7][1:], "1 that begins with 7"),
        (object(), "response is <object"),
    ],
)
def test_a_value_that_nobody_knows_is_no_response(value: Any, what: str) -> None:
    with pytest.raises(NoResponseError, match=r"expected .* API answer") as found:
        responses_of(value)
        response_text(value)
    assert what in str(found.value)


@pytest.mark.parametrize(
    ("value", "several"),
    [
        (None, None),
        ([{"role": "assistant", "content": "a"}], None),
        ({"choices": [{"index": 1, "text": "b"}, {"index": 0, "text": "a"}]}, ["a", "b"]),
        (np.array(["a", "b"]), ["a", "b"]),
        ([None], [None]),
        (
            [{"generated_text": "a"}, {"generated_text": "b"}],
            [{"generated_text": "a"}, {"generated_text": "b"}],
        ),
        ([], []),
        ([[{"content": "a"}], [{"content": "b"}]], [[{"content": "a"}], [{"content": "b"}]]),
    ],
)
def test_a_list_of_texts_or_conversations_is_several_responses(value: Any, several: Any) -> None:
    assert responses_of(value) == several


def test_the_first_name_that_is_there_counts() -> None:
    row = {"answer": "long text", "solution": "1", "reward_model": {"ground_truth": "2"}, "output": "x"}
    names = find_names(lambda name: has_value(row, name))
    assert (names.ground_truth, names.response, names.prompt) == ("reward_model.ground_truth", "output", None)
    assert value_at(row, names.ground_truth) == "2"


def test_dotted_names_go_into_lists_of_rows_and_of_tables() -> None:
    rows = [{"choices": [{"text": "a"}, {"text": "b"}]}, {"choices": [{"text": "c"}]}, {"choices": None}]
    table = pa.Table.from_pylist(rows)
    for name, values in (("choices.0.text", ["a", "c", None]), ("choices.1.text", ["b", None, None])):
        assert [value_at(row, name) for row in rows] == values
        assert [has_value(row, name) for row in rows] == [value is not None for value in values]
        assert type_of(table.schema, name) == pa.string()
        assert values_of(table, name) == values
    for name in ("choices.x.text", "choices.0.other", "choices.0.text.more", "other.0"):
        assert not has_value(rows[0], name) and value_at(rows[0], name) is None
        assert type_of(table.schema, name) is None


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ('{"budget": 3}', {"budget": 3}), ({"budget": 3}, {"budget": 3}), ("", {}), ("{broken", {}),
        ("[1]", {}), (None, {}), ('{"a":' * 100_000, {}),
    ],
)  # fmt: skip
def test_extra_info_in_a_cell_of_text_is_read(held: Any, found: dict[str, Any]) -> None:
    assert to_sample("x", "r", "t", None, held).extra_info == found
