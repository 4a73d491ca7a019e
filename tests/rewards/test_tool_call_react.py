"""ReAct's calls in plain text: what is one, and what is a quote, an example, a thought, two calls or none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewardkit.rewards.tool_call import ToolCallOptions, score
from rewardkit.types import Sample, Score

SEARCH = [{"search": {"query": ["Ulm"], "limit": [5, ""]}}]
ADD = [{"name": "add", "arguments": {"a": 1, "b": "x"}}]
NOW = [{"name": "now", "arguments": {}}]
STEPS = [{"name": "wait", "arguments": {"steps": 5}}]


def scored(response: str, wanted: list[dict[str, Any]]) -> Score:
    return score(Sample("bfcl", response, json.dumps(wanted)), ToolCallOptions())


@pytest.mark.parametrize(
    ("response", "wanted"),
    [
        ('Thought: I look.\nAction: search\nAction Input: {"query": "Ulm"}', SEARCH),
        ('Action: search\nAction Input: {"query": "Ulm", "limit": 5}\nObservation:', SEARCH),
        ('<think>\nAction: other\nAction Input: {}\n</think>\nAction: search\nAction Input: {"query": "Ulm"}', SEARCH),
        ('Action:\nsearch\nAction Input:\n```json\n{"query": "Ulm"}\n```', SEARCH),
        ('```\nThought: x\nAction: search\nAction Input: {"query": "Ulm"}\n```', SEARCH),
        ('**Action**: `search`\n**Action Input:** {"query": "Ulm"}', SEARCH),
        ('Action: search\nAction Input: "Ulm"', SEARCH),
        ("Action: search[Ulm]", SEARCH),
        ('Action: search("Ulm")', SEARCH),
        ("Action: search(query='Ulm', limit=5)", SEARCH),
        ('Action: search[{"query": "Ulm"}]', SEARCH),
        ('Action:\n```json\n{"action": "search", "action_input": {"query": "Ulm"}}\n```', SEARCH),
        ('Action: {"action": "search", "action_input": "Ulm"}', SEARCH),
        ('Action: add\nAction Input: {"a": 1, "b": "x"}', ADD),
        ("Action: now\nAction Input:", NOW),
        ("Action: now()", NOW),
        ("Action: wait\nAction Input: 5", STEPS),
        ("Thought: nothing to do.\nFinal Answer: 4", []),
        ("You write it so:\n> Action: search\n> Action Input: Ulm\nNo tool is needed.", []),
        ("Action: none\nNo tool is needed.", []),
        ("Action: take the bus to Ulm.", []),
    ],
)  # fmt: skip
def test_a_call_in_plain_text_is_read(response: str, wanted: list[dict[str, Any]]) -> None:
    assert scored(response, wanted).score == 1.0, scored(response, wanted).detail


@pytest.mark.parametrize(
    "response",
    [
        'Action: search\nAction Input: {"query": "Ulm"}\nAction: search\nAction Input: {"query": "Bonn"}',
        'Action: search\nAction Input: {"query": "Bonn"}\nObservation: x\nAction: search\nAction Input: {"query": "Ulm"}',
        'Action: search\nAction Input: {"query": "Ulm"}\nAction Input: {"query": "Bonn"}',
        'Action Input: {"query": "Ulm"}\nAction: search',
        "Action: search",
        'Action: search\nAction Input: {"query": "Ulm"}\nFinal Answer: Ulm',
        'Final Answer: Ulm\nAction: search\nAction Input: {"query": "Ulm"}',
        'Action: search\nAction Input: {"query": "Ulm"',
        "Action: search\nAction Input: {'query': 'Ulm'}",
        'Action: search\nAction Input: {"query": "Bonn", "query": "Ulm"}',
        'Action: search\nAction Input: {"query": "Ulm"} or {"query": "Bonn"}',
        'Action: search\nAction Input: {"query": "Ulm", "limit": "5"}',
        'Action: search\nAction Input: {"__input__": "Ulm"}',
        'Action: search or other\nAction Input: {"query": "Ulm"}',
        'Action: search\nAction Input: {"query": "Ulm"}\n<tool_call>{"name": "search", "arguments": {"query": "Bonn"}}</tool_call>',
        '<tool_call>{"name": "search", "arguments": {"query": "Ulm"}}</tool_call>\nAction: search\nAction Input: {"query": "Bonn"}',
        '<tool_call>{"name": "search", "arguments": {"__input__": "Ulm"}}</tool_call>',
        'For example:\n```\nAction: search\nAction Input: {"query": "Ulm"}\n```\nThat is how.',
        '> Action: search\n> Action Input: {"query": "Ulm"}',
        '"Action: search\nAction Input: {"query": "Ulm"}"',
        '<think>\nAction: search\nAction Input: {"query": "Ulm"}\n</think>\nIt is Ulm.',
        '<think>\nAction: search\nAction Input: {"query": "Ulm"}',
        'I would write Action: search and Action Input: {"query": "Ulm"}.',
        "Action: search[Ulm] and then search[Bonn]",
        'Action: search("Ulm", 5)',
        'Action: search(__import__("os"))',
        'Action: {"action": "search", "action_input": "Ulm", "then": "more"}',
    ],
)  # fmt: skip
def test_what_is_no_single_call_in_plain_text_is_not_paid(response: str) -> None:
    assert scored(response, SEARCH).score == 0.0


@pytest.mark.parametrize("response", ["Action: search", 'Action: search\nAction Input: {"q', "Action: now()"])
def test_an_attempted_call_is_no_abstention(response: str) -> None:
    assert scored(response, []).score == 0.0


def test_lines_within_another_forms_text_are_no_calls() -> None:
    noted = "Action: call Ulm\nAction Input: none"
    wanted = [{"name": "note", "arguments": {"text": noted}}]
    response = (
        f"<tool_call>\n<function=note>\n<parameter=text>\n{noted}\n</parameter>\n</function>\n</tool_call>"
    )
    assert scored(response, wanted).score == 1.0


def test_a_text_without_a_name_is_only_the_argument_of_a_tool_that_has_one() -> None:
    assert scored("Action: add\nAction Input: 1", ADD).score == 0.0
    assert scored("Action: now\nAction Input: 1", NOW).score == 0.0


@pytest.mark.parametrize(
    "response",
    [
        '```json\n{"action": "search", "action_input": "Ulm"}\n```',
        '```\n{"action": "search", "action_input": {"query": "Ulm"}}\n```',
        'Thought: I look it up.\n```json\n{"action": "search", "action_input": {"query": "Ulm"}}\n```',
        'Thought: I look it up.\nAction:\n```json\n{"action": "search", "action_input": {"query": "Ulm"}}\n```',
        '{"thought": "I look it up", "action": "search", "action_input": "Ulm"}',
    ],
)
def test_langchains_object_is_a_call_with_and_without_its_label(response: str) -> None:
    assert scored(response, SEARCH).score == 1.0
    assert scored(response.replace("Ulm", "Bonn"), SEARCH).score == 0.0
    assert scored(response, []).score == 0.0


@pytest.mark.parametrize(
    "response",
    [
        "Thought: I know.\nAction: None\nFinal Answer: 4",
        "Action: None needed\nAction Input: N/A\nFinal Answer: 4",
        '```json\n{"action": "Final Answer", "action_input": "4"}\n```',
        'Action:\n```json\n{"action": "Final Answer", "action_input": "4"}\n```',
    ],
)
def test_an_action_that_is_none_or_the_final_answer_calls_nothing(response: str) -> None:
    assert scored(response, []).score == 1.0
    assert scored(response, SEARCH).score == 0.0
