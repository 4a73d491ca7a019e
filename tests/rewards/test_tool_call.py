"""Tool calls: every form is read, BFCL's rules decide, and a malformed call is no abstention."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewardkit.rewards.tool_call import ToolCallOptions, score
from rewardkit.types import Sample, Score

GOLD = [{"weather": {"city": ["Paris", "paris, FR"], "days": [3], "unit": ["celsius", ""]}}]


def scored(response: str, truth: Any = GOLD, **options: Any) -> Score:
    return score(Sample("bfcl", response, json.dumps(truth)), ToolCallOptions(**options))


def hermes(*calls: tuple[str, dict[str, Any]]) -> str:
    blocks = (json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls)
    return "\n".join(f"<tool_call>\n{block}\n</tool_call>" for block in blocks)


@pytest.mark.parametrize(
    "response",
    [
        hermes(("weather", {"city": "Paris", "days": 3})), '<tool_call>{"name": "weather", "arguments": {"days": 3, "city": "paris"}}',
        '<|python_tag|>{"name": "weather", "parameters": {"city": "Paris", "days": 3}}', '{"name": "weather", "parameters": {"city": "Paris", "days": 3}}',
        "<tool_call><function=weather><parameter=city>\nParis\n</parameter><parameter=days>\n3\n</parameter></function></tool_call>",
        "[weather(city='Paris', days=3)]", '[TOOL_CALLS]weather[ARGS]{"city": "Paris", "days": 3}',
        '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Paris", "days": 3}}]', '[{"name": "weather", "arguments": "{\\"city\\": \\"Paris\\", \\"days\\": 3}"}]',
        '```json\n{"function": {"name": "weather", "arguments": {"city": "Paris", "days": 3, "unit": "Celsius"}}}\n```',
        "<think>Which city?</think>" + hermes(("weather", {"city": "PARIS", "days": 3})), "Let me look.\n" + hermes(("weather", {"city": "Paris", "days": 3})),
    ],
)  # fmt: skip
def test_a_right_call_is_right_in_every_form(response: str) -> None:
    assert scored(response).score == 1.0, scored(response)


@pytest.mark.parametrize(
    "call",
    [
        ("weather", {"city": "Paris"}), ("weather", {"city": "Paris", "days": "3"}), ("weather", {"city": "Paris", "days": 3.5}),
        ("weather", {"city": "Paris", "days": True}), ("weather", {"city": "Rome", "days": 3}), ("forecast", {"city": "Paris", "days": 3}),
        ("weather", {"city": "Paris", "days": 3, "hour": 1}), ("weather", {"city": ["Paris"], "days": 3}), ("weather", {"city": "Paris", "days": 3, "unit": "kelvin"}),
        ("weather", {}), ("Weather", {"city": "Paris", "days": 3}), ("weather", {"city": "Paris or Rome", "days": 3}),
    ],
)  # fmt: skip
def test_a_wrong_name_value_type_or_argument_is_wrong(call: tuple[str, dict[str, Any]]) -> None:
    assert scored(hermes(call)).score == 0.0
    assert 0.0 <= scored(hermes(call), pay="share").score < 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "response",
    [
        "", "no call", "<tool_call>{bad}</tool_call>", "<tool_call></tool_call>", "[weather('Paris', 3)]", "[weather(city=open('x'), days=3)]",
        "[weather(**{'city': 'Paris', 'days': 3})]", "<think>" + hermes(("weather", {"city": "Paris", "days": 3})),
        hermes(("weather", {"city": "Paris", "days": 3})) * 2, hermes(("weather", {"city": "Paris", "days": 3}), ("weather", {"city": "Rome", "days": 3})),
        '<tool_call>{"name": "weather", "name": "x", "arguments": {}}</tool_call>', "<tool_call>" * 10_000, "[" * 50_000, "{" * 50_000,
        '{"name": "a"}' * 1_000, "[f(" + "(" * 5_000 + ")]",
    ],
)  # fmt: skip
def test_anything_else_is_wrong_and_scored(response: str) -> None:
    found = scored(response)
    assert (found.status, found.score) == ("ok", 0.0), found


def test_calling_nothing_is_right_only_where_nothing_is_asked_for() -> None:
    assert scored("I cannot help with tools here.", []).score == 1.0
    for wrong in (hermes(("weather", {})), "<tool_call>{bad", "", "[TOOL_CALLS]"):
        assert scored(wrong, []).score == 0.0, wrong


def test_parallel_calls_are_matched_as_a_whole_in_any_order() -> None:
    either = [{"f": {"x": [1, 2]}}, {"f": {"x": [1]}}]
    for values in ((1, 2), (2, 1)):
        assert scored(hermes(*(("f", {"x": v}) for v in values)), either).score == 1.0
    assert scored(hermes(("f", {"x": 2}), ("f", {"x": 2})), either).score == 0.0
    assert scored(hermes(("f", {"x": 1})), either).score == 0.0
    assert scored(hermes(("f", {"x": 1})), either, pay="share").score == 0.5


def test_strings_keep_their_numbers_and_values_their_types_at_any_depth() -> None:
    for value, truth, right in (
        ("-5", "5", False), ("1.5", "15", False), ("New York, NY", "new york ny", True), ([1, 2], [2, 1], False), ({"a": True}, {"a": 1}, False),
        ({"a": 1}, {"a": 1.0}, True), ([["x"]], [["X"]], True), (None, None, True), (0, False, False), (5.0, 5, False), (5, 5.0, True), ("", "x", False),
    ):  # fmt: skip
        call = hermes(("f", {"x": value}))
        assert scored(call, {"name": "f", "arguments": {"x": truth}}).correct is right, (value, truth)


def test_a_ground_truth_that_is_no_call_is_invalid() -> None:
    for truth in ("x", 3, {"f": 3}, [{"f": {"x": 1}}], [["f"]], None):
        assert scored("y", truth).status == "invalid", truth


def test_parts_tell_format_names_and_calls_apart() -> None:
    assert scored(hermes(("weather", {"city": "Rome"}))).parts == {"format": 1.0, "names": 1.0, "calls": 0.0}
    assert scored("<tool_call>{").parts == {"format": 0.0, "names": 0.0, "calls": 0.0}
    assert scored(hermes(("weather", {"city": "Rome"})), format_score=0.1).score == 0.1


CALL = '{"name": "weather", "arguments": {"city": "Paris", "days": 3}}'
PYTHON = "weather(city='Paris', days=3)"


@pytest.mark.parametrize(
    "response",
    [
        f"Here is the call:\n```json\n{CALL}\n```\nDone.", f"Sure!\n\n{CALL}\n\nLet me know.", f"<answer>{CALL}</answer>", f"<tool_call>\n[{CALL}]\n</tool_call>",
        f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>", PYTHON, f"```python\n[{PYTHON}]\n```", f"```tool_code\n{PYTHON}\n```", f"Here you go:\n[{PYTHON}]", f"`[{PYTHON}]`",
        '<function=weather>{"city": "Paris", "days": 3}</function>', '[TOOL_CALLS]weather{"city": "Paris", "days": 3}',
        '[TOOL_CALLS]weather[CALL_ID]a1[ARGS]{"city": "Paris", "days": 3}', '{"tool_calls": [{"function": {"name": "weather", "arguments": "{\\"city\\": \\"Paris\\", \\"days\\": 3}"}}]}',
    ],
)  # fmt: skip
def test_calls_are_found_in_prose_fences_and_answers(response: str) -> None:
    assert scored(response).score == 1.0, scored(response)
    assert scored(response, []).score == 0.0


@pytest.mark.parametrize(
    "response",
    [
        "<think>hmm", "<think>x</think>", "<|im_end|>", "{'name': 'weather', 'arguments': {}}", "I'll check.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f",
        '<function_calls><invoke name="weather"></invoke></function_calls>', "<start_function_call>call:weather{}<end_function_call>", '{"name": "f", "arguments": {bad',
    ],
)  # fmt: skip
def test_saying_nothing_and_calls_that_cannot_be_read_are_no_abstention(response: str) -> None:
    found = scored(response, [])
    assert (found.status, found.score) == ("ok", 0.0), found


def test_prose_with_brackets_is_an_abstention() -> None:
    for response in (
        "I can't help with that {as asked}.", "You could use f(x) = 3.", "```python\nprint('hi')\n```", '{"answer": 3}', "The list [1, 2] is fine.",
    ):  # fmt: skip
        assert scored(response, []).score == 1.0, response


@pytest.mark.parametrize(
    "response",
    [
        "[weather(city='Paris', days=4, days=3)]", "weather(city='Paris', days=3)\nweather(city='Paris', days=3)", f"{CALL}\n{CALL}", f"```json\n{CALL}\n```\n```json\n{CALL}\n```",
        "<tool_call><function=weather><parameter=city>Paris</parameter><parameter=days>4</parameter><parameter=days>3</parameter></function></tool_call>",
        "weather('Paris', 3)", "x = weather(city='Paris', days=3)", "weather(city='Paris', days=1+2)", f"{CALL} {{\"name\": \"x\"",
    ],
)  # fmt: skip
def test_what_stands_twice_or_is_no_literal_is_wrong_in_every_form(response: str) -> None:
    found = scored(response)
    assert (found.status, found.score) == ("ok", 0.0), found


@pytest.mark.parametrize(
    ("value", "truth", "right"),
    [
        ("2-5", "25", False), ("x^2", "x*2", False), ("x/2", "x2", False), ("x-y", "xy", False), ("m/s", "ms", False), ("2*x", "2x", False), ("http://a.b", "http://ab", False),
        ("f(x)=x^2-1", "f(x)=x2-1", False), ("f(x)=x^2-1", "f(x) = x**2 - 1", True), ("new-york", "New York", True), ("gpt-4", "GPT4", True), ("e-mail", "email", True),
        ("user_name", "user name", True), ("2024/01/05", "2024-01-05", True), ("1,000", "1000", True), ("U.S.A", "USA", True), ("a</s>b", "a</s>b", True),
    ],
)  # fmt: skip
def test_signs_count_where_they_say_something(value: str, truth: str, right: bool) -> None:
    call = hermes(("f", {"x": value}))
    assert scored(call, {"name": "f", "arguments": {"x": truth}}).correct is right, (value, truth)


def test_values_within_objects_have_alternatives_and_may_be_optional() -> None:
    truth = [
        {
            "f": {
                "a": [{"n": [3], "k": ["house", "home"], "o": [True, ""]}],
                "b": [[{"q": [1, 2]}, {"q": [3]}]],
            }
        }
    ]
    right = {"a": {"n": 3, "k": "home"}, "b": [{"q": 2}, {"q": 3}]}
    assert scored(hermes(("f", right)), truth).score == 1.0
    assert scored(hermes(("f", right | {"a": {"n": 3, "k": "house", "o": True}})), truth).score == 1.0
    for wrong in (
        {"a": {"n": 3}}, {"a": {"n": 4, "k": "home"}}, {"a": {"n": 3, "k": "home", "x": 1}}, {"a": {"n": 3, "k": "home", "o": False}}, {"b": [{"q": 3}, {"q": 2}]},
        {"b": [{"q": 2}]}, {"a": {"n": [3], "k": ["house"]}},
    ):  # fmt: skip
        assert scored(hermes(("f", right | wrong)), truth).score == 0.0, wrong


def test_forms_without_types_mean_what_they_write() -> None:
    call = "<function=f><parameter=l>['a']</parameter><parameter=b>True</parameter><parameter=n>null</parameter></function>"
    assert scored(call, {"name": "f", "arguments": {"l": ["a"], "b": True, "n": None}}).score == 1.0
    assert scored("f(b=true, n=null)", {"name": "f", "arguments": {"b": True, "n": None}}).score == 1.0
    assert scored("f(x=1)\ng(y='a')", [{"g": {"y": ["A"]}}, {"f": {"x": [1]}}]).score == 1.0


@pytest.mark.parametrize("piece", ['{"id":', "```\n", "'name' {'name':", "\n", "<function=<tool_call>"])
def test_a_response_of_one_thing_over_and_over_is_scored_in_one_pass(piece: str) -> None:
    found = scored(piece * (90_000 // len(piece)) + "x")
    assert (found.status, found.score) == ("ok", 0.0), found


def test_an_object_or_list_may_stand_as_its_json_within_json() -> None:
    wanted = json.dumps([{"name": "f", "arguments": {"a": {"x": 1}, "b": [1, 2], "c": 3}}])

    def paid(**arguments: object) -> float:
        call = json.dumps({"name": "f", "arguments": json.dumps(arguments)})
        return score(Sample("tool_call", f"<tool_call>{call}</tool_call>", wanted), ToolCallOptions()).score

    assert paid(a='{"x": 1}', b="[1, 2]", c=3) == 1.0
    assert paid(a='{"x": 2}', b=[1, 2], c=3) == 0.0
    assert paid(a={"x": 1}, b="[1, 2", c=3) == 0.0
    assert paid(a={"x": 1}, b=[1, 2], c="3") == 0.0


def test_a_call_before_a_later_thought_is_made() -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    for response in (f"<think>a</think>{call}<think>b</think>I cannot.", f"{call}<think>b</think>I cannot."):
        assert score(Sample("tool_call", response, "[]"), ToolCallOptions()).score == 0.0
        assert score(Sample("tool_call", response, call[11:-12]), ToolCallOptions()).score == 1.0
    inside = f"<think>a</think>b<think>{call}</think>I cannot."
    assert score(Sample("tool_call", inside, "[]"), ToolCallOptions()).score == 1.0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("name", "args"), ("function", "arguments"), ("tool", "input"), ("tool_name", "tool_input"), ("function_name", "parameters"),
    ],
)  # fmt: skip
def test_a_call_is_read_under_the_usual_names_of_its_parts(name: str, arguments: str) -> None:
    call = json.dumps({name: "weather", arguments: {"city": "Paris", "days": 3}})
    for response in (call, f"Sure.\n```json\n{call}\n```", f"<tool_call>{call}</tool_call>"):
        assert scored(response).score == 1.0, response
        assert scored(response.replace("Paris", "Rome")).score == 0.0
        assert scored(response, []).score == 0.0
    assert scored(json.dumps({"tool": "a hammer", "input": "a nail"}), []).score == 1.0


@pytest.mark.parametrize(
    "said", ["Do not run: %s", "For example `%s`?", "You shouldn't call %s here.", "Never send %s"]
)
def test_a_call_that_is_only_mentioned_is_neither_made_nor_an_abstention(said: str) -> None:
    call = json.dumps({"name": "weather", "arguments": {"city": "Paris", "days": 3}})
    assert scored(said % call).score == 0.0
    assert scored(said % call, []).score == 0.0
    for said in ("I call it now: %s", "`%s`", "I don't know yet, so I look.\n%s"):
        assert scored(said % call).score == 1.0, said


@pytest.mark.parametrize(
    "said",
    [
        "I don't have the forecast, so I call: %s", "I'm not sure, let me check: %s", "They travel without pets. %s",
        "I could not call it before, but now: %s", "It is not known yet: %s",
    ],
)  # fmt: skip
def test_a_call_behind_words_that_deny_something_else_is_made(said: str) -> None:
    call = json.dumps({"name": "weather", "arguments": {"city": "Paris", "days": 3}})
    assert scored(said % call).score == 1.0
    assert scored(said % call, []).score == 0.0


@pytest.mark.parametrize("between", [" ", "; ", ", ", "\n"])
def test_what_stands_in_a_call_does_not_deny_the_next_one(between: str) -> None:
    calls = [
        {"name": "say", "arguments": {"text": "do not run"}},
        {"name": "go", "arguments": {"to": "example"}},
    ]
    assert scored(between.join(map(json.dumps, calls)), calls).score == 1.0


def test_punctuation_alone_is_no_abstention() -> None:
    assert scored("...", []).score == 0.0
    assert scored("No.", []).score == 1.0


@pytest.mark.parametrize(
    "call",
    [
        '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>',
        "<function=f><parameter=x>1</parameter></function>",
    ],
)
@pytest.mark.parametrize("said", ["I cannot help. <!-- {} -->", "<!--\n{}", "[//]: # ({})", "<\\!-- {} -->"])
def test_a_call_in_a_comment_is_neither_made_nor_an_abstention(said: str, call: str) -> None:
    wanted = '[{"name": "f", "arguments": {"x": 1}}]'
    response = said.replace("{}", call)
    assert not score(Sample("tool_call", response, wanted), ToolCallOptions()).correct
    assert not score(Sample("tool_call", response, "[]"), ToolCallOptions()).correct


def test_a_comment_beside_a_call_or_in_an_argument_leaves_the_call() -> None:
    call = json.dumps({"name": "f", "arguments": {"x": "<!-- a --> b"}})
    wanted = f"[{call}]"
    for said in (f"<tool_call>{call}</tool_call>", f"<!-- why --> <tool_call>{call}</tool_call>", call):
        assert score(Sample("tool_call", said, wanted), ToolCallOptions()).correct
