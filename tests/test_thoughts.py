"""Whatever reads a model's text knows each form of thought: what is thought is neither run nor judged."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.model_turns import parse
from rewardkit.agents.runner import EpisodeSetup, run_episode
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, Reply
from rewardkit.rewards.answers.place import own_text, reply
from rewardkit.rewards.code.extract import extract, mark_of_program
from rewardkit.rewards.instructions.instruction_reward import InstructionOptions
from rewardkit.rewards.instructions.instruction_reward import score as instructions
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.verdict import NoVerdictError, json_verdicts, read_verdict
from rewardkit.rewards.structure import data
from rewardkit.rewards.tool_call import ToolCallOptions
from rewardkit.rewards.tool_call import score as tool_calls
from rewardkit.server.chat import prompt_turns
from rewardkit.special_tokens import (
    THOUGHTS,
    begins_with_thought,
    behind_first_thought,
    behind_thoughts,
    outside_thoughts,
    thoughts_and_said,
)
from tests.agents.conftest import Script, make_tokenizer
from tests.agents.test_runner import Counted, Echo, Says
from tests.agents.test_transcript import DROPS_THINKING

each_form = pytest.mark.parametrize(("opens", "closes"), THOUGHTS)
CALL = '<tool_call>{"name": "echo", "arguments": {"text": "a"}}</tool_call>'
PROGRAM = "```python\nprint(%d)\n```"


@each_form
def test_the_shared_functions_know_the_form(opens: str, closes: str) -> None:
    assert behind_thoughts(f"{opens}a{closes}b{opens}c{closes}d") == behind_thoughts(f"a{closes}d") == "d"
    assert behind_thoughts(f"b{opens}a") is None and behind_thoughts("b") == "b"
    assert outside_thoughts(f"{opens}a{closes}b{opens}c{closes}d") == "b\nd"
    assert outside_thoughts(f"a{closes}b{opens}c") == "b" and outside_thoughts(f"{opens}a") == ""
    assert thoughts_and_said(f"a{closes}b{opens}c{closes}d") == (f"a{closes}{opens}c{closes}", "bd")
    assert thoughts_and_said(f"b{opens}c") == ("", f"b{opens}c"), "never closed: it may stand in an argument"
    assert begins_with_thought(f"\n{opens}a") and not begins_with_thought(f"a{opens}")
    assert (
        behind_first_thought(f" {opens}a{closes}b{opens}") == f"b{opens}" and behind_first_thought("a") == "a"
    )


@each_form
def test_a_tag_of_another_form_within_a_thought_is_a_part_of_it(opens: str, closes: str) -> None:
    for other_opens, other_closes in THOUGHTS:
        if other_opens == opens:
            continue
        for tags in (other_opens, other_closes, other_closes + other_opens, other_opens + other_closes):
            assert behind_thoughts(f"{opens}a{tags}b{closes}c") == "c", tags
            assert outside_thoughts(f"a{opens}b{tags}{closes}c") == "a\nc", tags
            assert behind_thoughts(f"{opens}a{tags}b") is None, tags
        assert behind_thoughts(f"as in {other_opens} {closes}c") == "c", "the prompt opened the thought"


@each_form
@pytest.mark.parametrize("format", ["hermes", "json", "react", "pythonic", "mistral"])
def test_an_agent_runs_no_call_within_a_thought(format: str, opens: str, closes: str) -> None:
    call = {
        "json": '{"name": "echo", "arguments": {"text": "a"}}',
        "react": 'Action: echo\nAction Input: {"text": "a"}',
        "pythonic": "[echo(text='a')]",
        "mistral": '[TOOL_CALLS][{"name": "echo", "arguments": {"text": "a"}}]',
    }.get(format, CALL)
    for thought in (f"{opens}\n{call}\n{closes}", f"{call}\n{closes}"):
        content, calls = parse(format, f"{thought}\n4")
        assert content.startswith(thought) and content.endswith("4") and not calls
        content, calls = parse(format, f"{thought}\n{call}")
        assert [made.name for made in calls] == ["echo"] and content.startswith(thought)


class Calls(Says):
    """A ChatModel that is offered tools."""

    async def chat(self, messages: Any, tools: Any, **options: Any) -> Reply:
        return await super().chat(messages, None, **options)


@each_form
@pytest.mark.parametrize("by_ids", [False, True])
def test_an_episode_calls_the_tool_only_outside_of_the_thought(by_ids: bool, opens: str, closes: str) -> None:
    counted = Counted()
    tokenizer = make_tokenizer()
    turns = [f"{opens}{CALL}{closes}{CALL}", f"{opens}{CALL}{closes}#### 4"]
    transcript = Transcript(tokenizer) if by_ids else None
    setup = EpisodeSetup(EpisodeLimits(4_000), transcript, {"echo": lambda: Echo(counted)})
    row = EpisodeRow([{"role": "user", "content": "So?"}], agent_name="tool_agent")
    episode = asyncio.run(run_episode(row, Script(tokenizer, turns) if by_ids else Calls(*turns), setup))
    assert (episode.ended, [turn.role for turn in episode.turns]) == (
        "answered",
        ["assistant", "tool", "assistant"],
    )


@each_form
def test_a_step_within_a_thought_is_no_step_of_math_expression(opens: str, closes: str) -> None:
    row = EpisodeRow(
        [{"role": "user", "content": [{"type": "text", "text": "Reach 42 from 6 and 7."}]}],
        ground_truth="42",
        agent_name="math_expression",
    )
    for turn, reward in ((f"{opens}6 * 7{closes}6 + 7", 0.0), (f"{opens}6 + 7{closes}6 * 7", 1.0)):
        episode = asyncio.run(run_episode(row, Says(turn, "no"), EpisodeSetup(EpisodeLimits(1_000))))
        assert episode.turns[0].reward == reward


def _judge(**changes: Any) -> JudgeOptions:
    return JudgeOptions(**{"url": "http://localhost/v1", "model": "m", **changes})


@each_form
def test_a_judge_that_is_cut_off_in_a_thought_gives_no_verdict(opens: str, closes: str) -> None:
    pattern = _judge(score_pattern=r"Score: (?P<score>\d+)")
    by_field = _judge(score_field="score")
    for options, verdict in ((_judge(), "7"), (pattern, "Score: 7"), (by_field, '{"score": 7}')):
        assert read_verdict(f"{opens}a 3{closes}{verdict}", "", options).value == 7.0
        assert read_verdict(f"Score: 3{closes}{verdict}", "", options).value == 7.0
        for cut_off in (f"{opens}a\n{verdict}", f"{verdict}\n{opens}", f"{verdict}\n{opens}or 6{closes}"):
            with pytest.raises(NoVerdictError):
                read_verdict(cut_off, "", options)
    with pytest.raises(NoVerdictError):
        json_verdicts(f'{opens}{{"a": 1}}', ["a"], by_field)


@each_form
def test_a_program_behind_the_thought_goes_before_those_in_it(opens: str, closes: str) -> None:
    right = "print(2)\n"
    for response in (
        f"{opens}\n{PROGRAM % 1}\n{closes}\n{PROGRAM % 2}",
        f"{PROGRAM % 1}\n{closes}\n{PROGRAM % 2}",
        f"{opens}\nMaybe\n```python\nprint(\n{closes}\nSo:\n{PROGRAM % 2}",
        f"{opens}\na\n{closes}\n{PROGRAM % 2}\n{opens}\n{PROGRAM % 1}\n{closes}\nThat is it.",
        f"```python\nprint(2)\n{closes}",
    ):
        assert extract(response) == right, response
    assert (
        mark_of_program(f"{opens}\n{PROGRAM % 1}\n{closes}\n```cpp\n1\n```", "last", [re.compile("cpp")])
        == "cpp"
    )


@each_form
def test_data_and_calls_within_a_thought_are_not_paid(opens: str, closes: str) -> None:
    for kind, right in (("json", '{"a": 1}'), ("yaml", "a: 1"), ("xml", "<a>1</a>")):
        score = getattr(data, kind)
        truth = "" if kind == "xml" else json.dumps({"value": {"a": 1}})

        def correct(text: str, kind: str = kind, truth: str = truth, score: Any = score) -> bool:
            return bool(score(Sample(kind, text, truth), data.DataOptions()).correct)

        assert correct(f"{opens}\n{{}}\n{closes}\n{right}") and correct(f"a{closes}{right}")
        assert (
            not correct(f"{opens}{right}")
            and not correct(f"{opens}{right}{closes}")
            and not correct(f"{right}{closes}")
        )
    text = json.dumps({"a": f"{opens}b{closes}"})  # a tag in a value is a part of it
    whole = Sample("json", f"{opens}1{closes}{text}", json.dumps({"value": json.loads(text)}))
    assert data.json(whole, data.DataOptions()).correct
    wanted = json.dumps([{"name": "echo", "arguments": {"text": "a"}}])
    for said, paid in (
        (f"{opens}{CALL}{closes}", 0.0),
        (f"{opens}{CALL}", 0.0),
        (f"{opens}a{closes}{CALL}", 1.0),
    ):
        assert tool_calls(Sample("tool_call", said, wanted), ToolCallOptions()).score == paid, said
    abstains = Sample("tool_call", f"{opens}{CALL}{closes}I cannot.", "[]")
    assert tool_calls(abstains, ToolCallOptions()).score == 1.0


@each_form
def test_instructions_and_answers_are_read_behind_the_thought(opens: str, closes: str) -> None:
    truth = json.dumps({"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["cat"]}]})
    for said, paid in (("%scat%sdog", 0.0), ("%scat%s", 0.0), ("%sdog%scat", 1.0)):
        sample = Sample("ifeval", said % (opens, closes), truth)
        assert instructions(sample, InstructionOptions()).score == paid, said
    assert instructions(Sample("ifeval", f"{opens}cat", truth), InstructionOptions()).score == 0.0
    assert own_text(f"{opens}#### 7{closes}#### 8") == reply(f"#### 7{closes}#### 8") == "#### 8"
    assert own_text(f"#### 7\n{opens}") == reply(f"{opens}#### 7") == ""


@each_form
def test_a_thought_that_a_template_opens_is_no_turn_of_its_own(opens: str, closes: str) -> None:
    asked = {"role": "user", "content": "So?"}
    for prefill in (opens, f"{opens}\n\n{closes}\n\n", ""):
        assert [turn.role for turn in prompt_turns([asked, {"role": "assistant", "content": prefill}])] == [
            "user"
        ]
        assert [turn.role for turn in prompt_turns(f"<|im_start|>user\nSo?<|im_end|>\n<|im_start|>assistant\n{prefill}")] == ["user"]  # fmt: skip
    assert len(prompt_turns([asked, {"role": "assistant", "content": f"{opens}a{closes}b"}])) == 2


@each_form
def test_a_template_that_drops_the_form_is_reported(opens: str, closes: str) -> None:
    from rewardkit.agents.probe import probe

    report = probe(Transcript(make_tokenizer(DROPS_THINKING.replace("</think>", closes))))
    assert "dropped" in report.rewrites["reasoning in the content"]


@each_form
def test_tags_without_end_are_read_in_one_pass(opens: str, closes: str) -> None:
    """Twice the text costs about twice the work, not four times: else the last of these would take hours."""
    for text in (opens * 200_000, closes * 200_000, f"{opens}{closes}" * 100_000, f"a{opens}" * 200_000):
        for read in (behind_thoughts, outside_thoughts, thoughts_and_said):
            read(text)


def test_the_documented_forms_are_those_that_are_read() -> None:
    page = (
        (Path(__file__).parent.parent / "docs/frames.md")
        .read_text()
        .partition("## Thoughts")[2]
        .partition("\n## ")[0]
    )
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", page, re.MULTILINE)
    assert tuple((a.replace("\\|", "|"), b.replace("\\|", "|")) for a, b in rows) == THOUGHTS
