"""Histories that a program writes anew: what goes on with a branch, what leaves one, and what begins another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rewardkit.agents.transcript import Transcript
from tests.agents.conftest import call_of
from tests.agents.endpoint.playing import ECHO, PLENTY, Plays, chat, play

AGAIN = {"role": "user", "content": "Again."}
CALL = {"id": "c", "type": "function", "function": {"name": "echo", "arguments": '{"text": "1",  "a": [2]}'}}
HEARD = {"role": "tool", "tool_call_id": "c", "content": "1"}


def told_anew(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message as clients write it when they send it again."""
    calls = message.get("tool_calls")
    text = message["content"] or ""
    forms = [message, {**message, "refusal": None, "audio": None, "annotations": []}]
    forms += [{**message, "content": [{"type": "text", "text": text}]}, {**message, "content": f"{text}\n"}]
    if calls:
        forms += [{"role": "assistant", "tool_calls": [{**CALL, "id": calls[0]["id"]}]}]
    return forms


@pytest.mark.parametrize("form", range(5))
def test_what_clients_write_otherwise_goes_on_with_the_same_tokens(tokenizer: Any, form: int) -> None:
    async def program(base_url: str, prompt: list[Any]) -> None:
        said = await chat(base_url, prompt, tools=[ECHO])
        heard = {**HEARD, "tool_call_id": said["tool_calls"][0]["id"]}
        told = told_anew(said)[form]
        said = await chat(base_url, [*prompt, told, heard, AGAIN], tools=[{**ECHO, "strict": None}])
        await chat(base_url, [*prompt, told, heard, AGAIN, said, AGAIN], tools=[ECHO])

    episode, model = play(tokenizer, [call_of("echo", text="1", a=[2]), "No.", "Yes."], program)
    assert episode.status == "ok", episode.detail
    assert episode.branches == []
    assert model.asked[2]["ids"][: len(model.asked[1]["ids"])] == model.asked[1]["ids"]
    assert len(episode.turns) == 5


async def fork(base_url: str, prompt: list[Any]) -> None:
    """Two ways to go on after the first turn."""
    said = await chat(base_url, prompt)
    for text in ("One.", "Two."):
        await chat(base_url, [*prompt, said, {"role": "user", "content": text}])


async def rewrite(base_url: str, prompt: list[Any]) -> None:
    """A summary in the place of what was said."""
    said = await chat(base_url, prompt)
    await chat(base_url, [*prompt, said, AGAIN])
    await chat(base_url, [{"role": "user", "content": "So far: nothing."}])


async def drop_thought(base_url: str, prompt: list[Any]) -> None:
    """The model's thoughts are left out, as many programs do."""
    said = await chat(base_url, prompt)
    await chat(base_url, [*prompt, {**said, "content": said["content"].rpartition("</think>")[2]}, AGAIN])


async def other_tools(base_url: str, prompt: list[Any]) -> None:
    said = await chat(base_url, prompt)
    await chat(base_url, [*prompt, said, AGAIN], tools=[ECHO])


@pytest.mark.parametrize(
    ("program", "own"),
    [(fork, [2, 1]), (rewrite, [2, 1]), (drop_thought, [1, 1]), (other_tools, [1, 1])],
)
def test_another_history_is_a_branch_and_no_token_is_trained_on_twice(
    tokenizer: Any, program: Any, own: list[int]
) -> None:
    transcript = Transcript(tokenizer)
    episode, model = play(tokenizer, ["<think>x</think>It is 1.", "It is 2.", "It is 3."], program)
    assert (episode.status, episode.answer) == ("ok", f"It is {sum(own)}.")
    branches = [*episode.branches, episode]
    assert len(branches) == len(own)
    drawn = 0
    for branch, turns in zip(branches, own, strict=True):
        made = [turn for turn in branch.turns if turn.role == "assistant"]
        new = [turn for turn in made if branch.response_mask[turn.start]]
        assert len(new) == turns
        assert sum(branch.response_mask) == sum(turn.end - turn.start for turn in new)
        for turn in new:  # what each turn followed when it was drawn is what stands before it
            asked = model.asked[drawn]["ids"]
            assert asked == [*branch.prompt_ids, *branch.response_ids[: turn.start]]
            drawn += 1
        assert all(
            value < 0 for value, kept in zip(branch.log_probs, branch.response_mask, strict=True) if kept
        )
        assert len(branch.weight_versions) == len(branch.response_ids)
    assert drawn == len(model.asked)
    assert len({one["seed"] for one in model.asked}) == len(model.asked)
    if program is fork:
        assert transcript.text_of(episode.response_ids).startswith("<think>x</think>It is 1.")
        assert len(episode.turns) == 3


def test_limits_are_those_of_an_episode_and_a_harness_may_shorten_its_history(tokenizer: Any) -> None:
    told: list[str] = []

    async def program(base_url: str, prompt: list[Any]) -> None:
        messages = list(prompt)
        while True:
            try:
                said = await chat(base_url, messages)
            except RuntimeError as error:
                told.append(str(error))
                if "context length" not in str(error):
                    raise
                messages = [AGAIN]
                continue
            messages += [said, AGAIN]

    cases = [
        (replace(PLENTY, assistant_turns=3), 16, "assistant_turns"),
        (replace(PLENTY, response_tokens=60), 3, "branches"),
        (replace(PLENTY, context_tokens=90), 2, "branches"),
        (replace(PLENTY, assistant_turns=4, response_tokens=60), 16, "assistant_turns"),
    ]
    for limits, branches, ended in cases:
        episode, model = play(tokenizer, ["It is 42."], Plays(program, max_branches=branches), limits)
        assert (episode.ended, episode.status) == (ended, "ok"), limits
        assert limits.assistant_turns in (None, len(model.asked))
        spoken = [*episode.branches, episode]
        assert len(spoken) == branches or ended != "branches"
        assert max(len(one.response_ids) for one in spoken) <= limits.response_tokens
    assert any("context length" in line for line in told)


def test_a_prompt_that_is_too_long_is_refused_as_programs_know_it(tokenizer: Any) -> None:
    async def program(base_url: str, prompt: list[Any]) -> None:
        with pytest.raises(RuntimeError, match="maximum context length is 40 tokens"):
            await chat(base_url, [{"role": "user", "content": "42 " * 40}])
        await chat(base_url, prompt)

    episode, _ = play(tokenizer, ["It is 42."], program, replace(PLENTY, prompt_tokens=40))
    assert (episode.ended, episode.status) == ("answered", "ok")
    assert len(episode.prompt_ids) <= 40
