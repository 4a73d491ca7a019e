"""Turns of an episode as they are read: folded where others spoke, and never a terminal's commands."""

from __future__ import annotations

from rewardkit.evaluation.chat import FOLDED, chat_lines, is_chat


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
    assert lines[1].startswith("[tool: ok, bad_call] a") and "\x1b" not in lines[1]
    assert "[no name]" in lines[2] and "no json" in lines[2]
    assert "[... 100 characters ...]" in lines[3]
    assert lines[4] == "[assistant] " + "y" * (FOLDED + 100), "what the model said is shown whole"


def test_what_is_no_chat_is_left_alone() -> None:
    for value in (None, 3, [], ["a"], [{"role": "user"}], {"role": "user", "text": ""}):
        assert not is_chat(value)
