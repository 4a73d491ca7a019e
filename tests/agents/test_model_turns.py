"""A turn's calls are those outside of its thinking."""

from __future__ import annotations

from rewardkit.agents.model_turns import parse

CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'


def test_calls_within_the_thinking_are_none() -> None:
    thought = "<think>I could write " + CALL + "</think>"
    assert parse("hermes", thought + "4") == (thought + "4", [])
    assert len(parse("hermes", thought + CALL)[1]) == 1


def test_calls_in_no_thought_are_made_and_those_outside_of_all_are() -> None:
    call = CALL
    for text in (f"<think>a</think>{call}<think>b</think>c", f"{call}<think>b</think>c"):
        assert [made.name for made in parse("hermes", text)[1]] == ["add"]
    content, calls = parse("hermes", f"<think>a</think>b<think>{call}</think>c")
    assert content.startswith("<think>a</think>") and content.endswith("bc") and not calls


def test_thoughts_that_do_not_end_are_read_in_one_pass() -> None:
    thoughts = "<think></think>" + "<think>" * 200_000
    assert parse("hermes", thoughts) == (thoughts, [])
