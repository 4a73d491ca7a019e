"""What agents finish with is their answer; a call of a tool, and what it returned, are none."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, qa
from rewardkit.types import Sample

CHOICES = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}
FINISHED = [
    "Thought: easy.\nAction: Finish[{}]", "Action: finish({})", 'Action: Finish("{}")', "Action 1: Finish[{}]",
    "Thought 3: I know it.\nAction 3: Finish[{}]", "Thought: I now know the final answer.\nFinal Answer: {}",
    "Action: Search[it]\nObservation: There is much about it.\nThought: Got it.\nAction: Finish[{}]",
    'Thought: done\nAction: final_answer("{}")', "Thought: done\nAction: Final Answer\nAction Input: {}",
    "Thought: done\nAction: Finish\nAction Input: {}", "Finish[{}]", "**Action:** Finish[{}]", "Action: Finish[answer={}]",
    "Action: Answer[{}]", "Action: Submit[{}]", "Action: Finish[{}]\nObservation: Episode finished, reward = 1",
    '{{"action": "Final Answer", "action_input": "{}"}}', "Action: none\nAnswer: {}", "Thought: The answer is {}.\nAction: None",
    '<tool_call>\n{{"name": "submit_answer", "arguments": {{"answer": "{}"}}}}\n</tool_call>',
    '{{"name": "submit", "arguments": {{"answer": "{}"}}}}',
    "<search>it</search>\n<information>Doc 1: much about it</information>\nThe answer is {}.",
]  # fmt: skip
ASKED = [
    "Thought: maybe {}? Let me search.\nAction: Search[{}]", "Thought: It is {}.\nAction: Lookup[{}]", "Action: Search[{}]",
    "Thought: Let me check.\nAction: search\nAction Input: {}", 'Action: search\nAction Input: {{"query": "{}"}}',
    "The answer is {}.\nAction: Search[{}]", "Action: Search[it]\nObservation: {}", "<search>{}</search>", "<search>{}",
    "<think>ok</think>\n<search> {} </search>", "I think it is {}.\n<search>{}</search>", "<query>{}</query>",
    '<tool_call>\n{{"name": "search", "arguments": {{"query": "{}"}}}}\n</tool_call>',
    '{{"name": "search", "arguments": {{"query": "{}"}}}}', '```json\n{{"tool": "wiki", "input": "{}"}}\n```',
    'search("{}")', 'I\'ll check.\nsearch("{}")', '[web_search(query="{}")]', '<function_call>search("{}")</function_call>',
    "<search>it</search>\n<information>The answer is {}.</information>", "Thought: hm.\nObservation: The answer is {}.",
    "<search>it</search>\n<information>The answer is {}.</information>\nI don't know.",
    "<|begin_search_query|>{}<|end_search_query|>", "Action: Finish[]", "Action: Finish", "Action: Finish[not {}]",
    "Action: Finish[{}]\nAction: Search[it]", "Action: Finish[{}]\nThat was wrong.",
]  # fmt: skip


@pytest.mark.parametrize("said", FINISHED)
def test_what_an_agent_finishes_with_is_its_answer(said: str) -> None:
    assert _answers(said.format("Canberra"))
    assert not _answers(said.format("Sydney"))
    assert _chooses(said.format("B"))
    assert _chooses(said.format("Lyon"))
    assert not _chooses(said.format("A"))


@pytest.mark.parametrize("said", ASKED)
def test_a_call_of_a_tool_and_what_it_returned_are_no_answer(said: str) -> None:
    assert not _answers(said.format("Canberra", "Canberra"))
    assert not _chooses(said.format("B", "B"))
    assert not _chooses(said.format("Lyon", "Lyon"))


@pytest.mark.parametrize("other", ["Sydney", "Sydney or Canberra"])
def test_another_answer_than_that_of_the_thoughts_is_the_one_given(other: str) -> None:
    assert not _answers(f"Thought: It is Canberra.\nAction: Finish[{other}]")
    assert not _answers(f"Action: Finish[Canberra]\nAction: Finish[{other}]")
    assert not _answers(f"Action: Finish[Canberra]\nObservation: wrong\nAction: Finish[{other}]")


def test_a_sentence_in_which_an_agent_finishes_is_read_and_labels_in_prose_are_none() -> None:
    assert _answers("Action: Finish[The capital of Australia is Canberra.]")
    assert _answers("Observation: the capital of Australia is large.\n\nSo the answer is Canberra.")
    assert _answers("Reactions differ. The capital of Australia is Canberra.")


def _answers(said: str) -> bool | None:
    sample = Sample("qa", said, '["Canberra"]', "What is the capital of Australia?")
    return qa.score(sample, qa.QaOptions()).correct


def _chooses(said: str) -> bool | None:
    return choice.score(Sample("choice", said, "B", None, CHOICES), choice.ChoiceOptions()).correct
