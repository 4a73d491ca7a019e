"""Turns of an episode as they are read: folded where others spoke, and never a terminal's commands."""

from __future__ import annotations

import json

from rewardkit.evaluation.chat import FOLDED, chat_lines, is_chat, shown_prompt, with_calls
from rewardkit.evaluation.pictures import PromptPictures


def test_turns_calls_statuses_and_rewards_are_lines() -> None:
    turns = [
        {"role": "assistant", "text": "so", "calls": [{"name": "f", "arguments": {"x": 1}}], "reward": -0.5},
        {"role": "tool", "text": "a\x1b[2Jb", "statuses": ["ok", "bad_call"]},
        {"role": "assistant", "text": "", "calls": ['{"name": "", "error": "no name"}', "no json"]},
        {"role": "user", "text": "x" * (FOLDED + 100)},
        {"role": "assistant", "text": "y" * (FOLDED + 100), "reward": None},
    ]
    assert is_chat(turns)
    lines = chat_lines(turns)
    assert lines[0] == '[assistant] calls f({"x": 1}) (reward -0.5): so'
    assert lines[1].startswith('[tool f({"x": 1}): ok, bad_call] a') and "\x1b" not in lines[1]
    assert "[no name]" in lines[2] and "no json" in lines[2]
    assert "[... 100 characters ...]" in lines[3]
    assert lines[4] == "[assistant] " + "y" * (FOLDED + 100), "what the model said is shown whole"


def test_messages_name_the_tools_that_they_call_and_answer() -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": '{"x": 1}'}}
    messages = [
        {"role": "user", "content": "q", "tool_calls": None},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
        {"role": "tool", "name": "g", "content": "8"},
    ]
    roles = ["user", 'assistant calls f({"x": 1})', 'tool f({"x": 1})', "tool g"]
    assert [one["role"] for one in with_calls(messages)] == roles
    assert shown_prompt(json.dumps(messages)) == "[user] q  [{}]   [{}] 7  [{}] 8".format(*roles[1:])
    assert [one["role"] for one in PromptPictures(0).prompt({"prompt": messages})] == roles
    assert with_calls(with_calls(messages)) == with_calls(messages)
    assert with_calls(["a"]) == ["a"]


def test_what_is_no_chat_is_left_alone() -> None:
    for value in (None, 3, [], ["a"], [{"role": "user"}], {"role": "user", "text": ""}):
        assert not is_chat(value)
