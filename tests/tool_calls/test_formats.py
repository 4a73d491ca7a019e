"""Calls in a model's text: read in every format, and never lost where they are malformed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.tool_calls.call import MAX_CALLS, PLAIN
from rewardkit.tool_calls.formats import FORMATS, detect, read, read_any

PIECES = (
    *("<tool_call>", "</tool_call>", "<function=f>", "<function=", "</function>", "<parameter=x>"),
    *("</parameter>", "<|python_tag|>", '{"name": "f"', ', "parameters": {}}', "Action: ", "Action Input: "),
    *("\n", ";", "{", "}", "</think>"),
)
ADD = {"name": "add", "arguments": {"a": 1, "b": [2, {"c": None}]}}
WRITTEN = {
    "hermes": "<tool_call>\n" + json.dumps(ADD) + "\n</tool_call>",
    "llama3": json.dumps({"name": "add", "parameters": ADD["arguments"]}),
    "qwen3_coder": "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
    "react": 'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": [2, {"c": null}]}\n',
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_call_is_read_with_what_is_said_before_it(name: str) -> None:
    content, calls = read(name, "Let me see.\n" + WRITTEN[name])
    assert content.startswith("Let me see.")
    assert "add" not in content.replace("I add.", "")
    (call,) = calls
    assert (call.name, call.id, call.error) == ("add", "call_0", None)
    assert call.arguments == ({"a": "1"} if name == "qwen3_coder" else ADD["arguments"])


@pytest.mark.parametrize("name", FORMATS)
def test_a_turn_without_a_call_is_left_as_it_is(name: str) -> None:
    assert read(name, 'The answer is {"x": 4}, or <b>4</b>.\n#### 4') == (
        'The answer is {"x": 4}, or <b>4</b>.\n#### 4',
        [],
    )


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("hermes", '<tool_call>{"name": "add", "arguments": {"a": 1}</tool_call>', "not JSON"),
        ("hermes", "<tool_call>", "no JSON"),
        ("hermes", '<tool_call>{"arguments": {}}</tool_call>', 'no "name"'),
        ("hermes", '<tool_call>{"name": "add", "arguments": [1]}</tool_call>', "not a JSON object"),
        (
            "hermes",
            '<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>',
            "'a' appears twice",
        ),
        (
            "hermes",
            '<tool_call>{"name": "f", "arguments": {"a": "\\ud800"}}</tool_call>',
            "not valid Unicode",
        ),
        ("hermes", '{"name": "add", "arguments": {}}</tool_call>', "without <tool_call>"),
        ("hermes", '<tool_call>{"name": "a"} and so on</tool_call>', "after the JSON object"),
        ("hermes", "<tool_call>" + "[" * 100_000, "nested too deeply"),
        (
            "hermes",
            '<tool_call>{"name": "f", "arguments": {"a": ' + "9" * 5_000 + "}}</tool_call>",
            "not JSON",
        ),
        ("llama3", '{"name": "add", "parameters": {"a": 1}', "not JSON"),
        ("llama3", "<|python_tag|>", "<|python_tag|>"),
        ("qwen3_coder", "<tool_call>\n<function=add>\n<parameter=a>\n1\n", "</parameter> is missing"),
        ("qwen3_coder", "<tool_call>add(1)</tool_call>", "<function=NAME>"),
        ("qwen3_coder", "<function=f>x=1</function>", "between <parameter=NAME> blocks"),
        ("mistral", "[TOOL_CALLS]", "no JSON"),
        ("mistral", "[TOOL_CALLS][]", "empty"),
        ("deepseek", "<｜tool▁calls▁begin｜>", "not finished"),
        ("deepseek", "<｜tool▁call▁begin｜>f{}<｜tool▁call▁end｜>", "<｜tool▁call▁begin｜> NAME"),
        ("kimi", "<|tool_call_begin|>f:0<|tool_call_argument_begin|>{}", "not finished"),
        ("kimi", "<|tool_call_begin|>f:0 {}<|tool_call_end|>", "functions.NAME:0"),
        ("glm", "<tool_call>f", "not finished"),
        ("glm", '<tool_call>{"name": "f"}</tool_call>', "<tool_call> NAME"),
        ("minimax", '<invoke name="f"><parameter name="a">1</parameter>', "not finished"),
        (
            "minimax",
            '<invoke name="f"><parameter name="a" string="false">x</parameter></invoke>',
            "not JSON",
        ),
        ("pythonic", "[f(1)]", "named arguments"),
        ("pythonic", "[f(a=g())]", "not a literal"),
        ("pythonic", "[f(a=1, a=2)]", "twice"),
        ("pythonic", "[f(a=" + "9" * 5_000 + ")]", "not Python"),
        ("pythonic", "[f(a=" + "[" * 3_000 + "]" * 3_000 + ")]", "not Python"),
        ("pythonic", "[f(a=1", "not finished"),
        ("json", "{'name': 'f', 'arguments': {}}", "single quotes"),
        ("json", 'Do not run {"name": "f", "arguments": {}}', "only mentioned"),
        ("json", '{"name": "f", "arguments": {"__input__": 1}}', "have the name __input__"),
        ("react", "Action: add", "without an Action Input"),
        ("react", "Action Input: 3", "without an Action before"),
    ],
)
def test_a_malformed_call_is_a_call_that_says_why(name: str, text: str, why: str) -> None:
    _, calls = read(name, text)
    assert len(calls) == 1
    assert calls[0].error is not None
    assert why in calls[0].error
    assert calls[0].arguments == {}


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("hermes", '<tool_call>{"name": "f", </tool_call>', '<tool_call>{"name": "g"}</tool_call>'),
        ("hermes", '<tool_call>{"name": "f", ', '<tool_call>{"name": "g"}'),
        ("qwen3_coder", "<tool_call>f(1)</tool_call>", "<tool_call><function=g></function></tool_call>"),
    ],
)
def test_a_good_call_beside_a_malformed_one_is_kept(name: str, bad: str, good: str) -> None:
    for text, order in ((bad + "\n" + good, ["f", "g"]), (good + "\n" + bad, ["g", "f"])):
        _, calls = read(name, text)
        assert [call.error is None for call in calls] == [at == "g" for at in order], text
        assert [call.id for call in calls] == ["call_0", "call_1"]


def test_several_calls_keep_their_order() -> None:
    assert [c.name for c in read("hermes", WRITTEN["hermes"] * 3)[1]] == ["add"] * 3
    text = (
        '<|python_tag|>{"name": "f", "parameters": {}}; {"name": "g", "parameters": {"x": "a;b"}}<|eom_id|>'
    )
    assert [(c.name, dict(c.arguments)) for c in read("llama3", text)[1]] == [
        ("f", {}),
        ("g", {"x": "a;b"}),
    ]


def test_a_tag_within_an_argument_ends_nothing() -> None:
    code = 'print("</tool_call><tool_call>")'
    text = "<tool_call>" + json.dumps({"name": "run", "arguments": {"code": code}}) + "</tool_call> done"
    content, (call,) = read("hermes", text)
    assert (call.arguments["code"], content) == (code, "done")
    text = f"<tool_call>\n<function=run>\n<parameter=code>\n{code}\n</function>\n</parameter>\n</function></tool_call>"
    _, (call,) = read("qwen3_coder", text)
    assert call.arguments["code"] == code + "\n</function>"


def test_react_reads_plain_text_and_brackets_and_no_observation_of_the_models_own() -> None:
    text = "Thought: x\nAction: search\nAction Input: who is it\nObservation: nobody\nFinal Answer: no"
    content, (call,) = read("react", text)
    assert (call.name, call.arguments, content) == ("search", {PLAIN: "who is it"}, "Thought: x")
    assert read("react", "Action: search[who is it]")[1][0].arguments == {PLAIN: "who is it"}
    assert read("react", 'Action: search("who is it")')[1][0].arguments == {PLAIN: "who is it"}
    (called,) = read("react", "Thought: x\nAction: search(query='who', top=3)")[1]
    assert (called.name, called.arguments) == ("search", {"query": "who", "top": 3})
    assert read("react", "Action: search(who is it)")[1][0].error
    assert read("react", 'Action: `f`\nAction Input: ```json\n{"a": 1}\n```')[1][0].arguments == {"a": 1}
    assert read("react", "Thought: I know.\nFinal Answer: 4\nAction: f\nAction Input: 1")[1] == []


@pytest.mark.parametrize(
    "text",
    [
        '**Thought:** I add.\n**Action:** add\n**Action Input:** {"a": 1}',
        'Thought 1: I add.\nAction 1: add\nAction Input 1: {"a": 1}',
        '### Thought: I add.\n### Action: add\n### Action Input: {"a": 1}',
    ],
)
def test_react_reads_labels_in_markdown_and_with_numbers(text: str) -> None:
    content, (call,) = read("react", text)
    assert (call.name, call.arguments, call.error) == ("add", {"a": 1}, None)
    assert "I add." in content and "add\n" not in content


def test_only_an_object_with_arguments_is_a_call_within_prose() -> None:
    for text in (
        'One is\n{"name": "Ann"}\nof them.',
        'x\n{"name": "Ann", "age": 3}',
        'x\n{"name": "Ann", "ag',
    ):
        assert read("llama3", text) == (text, [])
    (call,) = read("llama3", 'x\n{"name": "Ann"}\n{"name": "f", "parameters": {"a": 1}}')[1]
    assert (call.name, call.arguments) == ("f", {"a": 1})
    assert read("llama3", '{"name": "f"}')[1][0].name == "f"
    assert read("llama3", 'x\n{"name": "f", "parameters": {"a": ')[1][0].error


@pytest.mark.parametrize(
    ("before", "fence"),
    [("", "```json\n%s\n```"), ("Thought: x\n", "%s"), ("Thought: x\nAction:\n", "```\n%s\n```")],
)
def test_react_reads_langchains_object(before: str, fence: str) -> None:
    content, (call,) = read("react", before + fence % '{"action": "search", "action_input": {"q": "x"}}')
    assert (content, call.name, call.arguments, call.error) == (before[:10], "search", {"q": "x"}, None)
    (call,) = read("react", before + fence % '{"action": "search", "action_input": "x"}')[1]
    assert call.arguments == {PLAIN: "x"}
    text = before + fence % '{"action": "Final Answer", "action_input": "4"}'
    assert read("react", text) == (text, [])


def test_a_turn_of_calls_alone_is_bounded() -> None:
    for name in ("hermes", "qwen3_coder", "llama3"):
        _, calls = read(name, (WRITTEN[name] + ";" * (name == "llama3")) * 1_000)
        assert len(calls) == MAX_CALLS + 1
        assert "at most 64" in (calls[-1].error or "")


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean hermes"):
        read("hermez", "")


def test_the_format_is_told_by_the_chat_template() -> None:
    assert detect('{{ tools }}<tool_call>{"name": ...}</tool_call>') == "hermes"
    assert detect("{{ tools }}<tool_call>\n<function=f>") == "qwen3_coder"
    assert detect("{{ tools }}<|python_tag|>") == "llama3"
    assert detect("{% if tools %}[TOOL_CALLS]") == "mistral"
    assert detect("{% if tools %}<tool_call>{name}\n<arg_key>") == "glm"
    assert detect("{% if tools %}<|action_start|>") is None
    assert detect("{{ tools }}<|start|>assistant<|channel|>final") == "harmony"
    assert detect("{{ messages }}") == "react"
    assert detect(None) == "react"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(PIECES),
            st.text(max_size=5),
        ),
        max_size=20,
    )
)
def test_any_text_is_read_without_an_error_and_marks_leave_a_call(pieces: list[str]) -> None:
    text = "".join(pieces)
    for name in FORMATS:
        _, calls = read(name, text)
        assert all(call.name or call.error for call in calls)
    if "<tool_call>" in text:
        assert read("hermes", text)[1]
        assert read("qwen3_coder", text)[1]


_FINAL = "<|start|>assistant<|channel|>final<|message|>It is 5.<|return|>"


def _calling(name: str, body: str, end: str = "<|call|>") -> str:
    return f" to=functions.{name}<|channel|>commentary json<|message|>{body}{end}"


def test_gpt_oss_makes_calls_of_its_messages_to_tools() -> None:
    thought = "<|channel|>analysis<|message|>Perhaps to=functions.f {}<|end|><|start|>assistant"
    look = "<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant"
    later = '<|start|>assistant<|channel|>commentary to=functions.g <|constrain|>json<|message|>{"y": [2]}'
    said, calls = read("harmony", thought + look + _calling("f", '{"x": "<|"}') + later)
    assert said == "I will look."
    assert [(c.name, c.arguments, c.error) for c in calls] == [
        ("f", {"x": "<|"}, None),
        ("g", {"y": [2]}, None),  # the token that ends a turn is no part of its text
    ]
    assert read("harmony", thought + _FINAL.removeprefix("<|start|>assistant")) == ("It is 5.", [])
    made_up = "<|start|>functions.f to=assistant<|channel|>commentary<|message|>72<|end|>"
    assert [c.name for c in read("harmony", _calling("f", "{}") + made_up)[1]] == ["f"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (_calling("f", '{"x": 1', ""), "not JSON"),
        ("<|channel|>commentary to=functions.f", "not finished"),
    ],
)
def test_a_call_of_gpt_oss_that_cannot_be_read_says_why(text: str, why: str) -> None:
    (call,) = read("harmony", text)[1]
    assert call.name == "f" and why in str(call.error)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (WRITTEN["hermes"] + "[TOOL_CALLS]f[ARGS]{}", "several formats: hermes, mistral"),
        ("<start_function_call>call:f{}<end_function_call>", "none of the formats"),
        ("x" * 100_001, "too long"),
    ],
)
def test_calls_in_several_formats_or_in_none_cannot_be_read(text: str, why: str) -> None:
    (call,) = read_any(text)
    assert why in str(call.error)


def test_only_the_formats_that_are_named_are_read() -> None:
    assert read_any(WRITTEN["llama3"], ("hermes", "react")) == []
    (call,) = read_any(WRITTEN["hermes"], ("mistral", "json"))
    assert "mistral, json" in str(call.error)
    assert [call.error for call in read_any(WRITTEN["hermes"], ("hermes",))] == [None]


def test_labels_within_an_argument_are_no_second_format() -> None:
    text = WRITTEN["hermes"].replace('"add"', '"Action"')
    assert [call.name for call in read_any(text)] == ["Action"]
    note = "<function=f><parameter=x>\nAction: f\nAction Input: 1\n</parameter></function>"
    assert [call.error for call in read_any(note)] == [None]


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>", "<function=f>", "[TOOL_CALLS]f[ARGS]", "<｜tool▁call▁begin｜>", "<|tool_call_begin|>", " to=functions.f<|message|>", "<|python_tag|>",
        '{"name": ', "Action: ", "\nAction: f\n", "[f(\n", "```", '<invoke name="f"><parameter name="a">', "<tool_call>f<arg_key>a</arg_key><arg_value>",
    ],
)  # fmt: skip
def test_one_thing_over_and_over_is_read_in_one_pass(piece: str) -> None:
    text = piece * (90_000 // len(piece))
    for name in FORMATS:
        assert all(call.error is None or call.error for call in read(name, text)[1])
