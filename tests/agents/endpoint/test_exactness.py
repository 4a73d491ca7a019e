"""Programs of other people's clients: what is recorded of them is what our own loop records of the same
play."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode
from rewardkit.agents.transcript import Transcript
from tests.agents.conftest import Echo, Script, call_of
from tests.agents.endpoint.playing import ASKED, ECHO, PLENTY, play, recorded

TURNS = [call_of("echo", text="1 <|im_end|>"), " Let me see. " + call_of("echo", text="é"), "It is 42."]


def own(tokenizer: Any) -> Episode:
    """What `tool_agent` makes of the same turns."""
    setting = EpisodeSetup(PLENTY, Transcript(tokenizer), {"echo": Echo})
    row = EpisodeRow(ASKED, agent_name="tool_agent")
    return asyncio.run(run_episode(row, Script(tokenizer, TURNS), setting, seed=7))


async def by_chat(base_url: str, prompt: list[Any], *, stream: bool) -> None:
    """A loop over chat completions, by OpenAI's client."""
    openai = pytest.importorskip("openai")
    messages = list(prompt)
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:
        while True:
            given = {"model": "policy", "messages": messages, "tools": [ECHO]}
            if stream:
                async with client.chat.completions.stream(**given) as events:
                    async for _ in events:
                        pass
                    said = (await events.get_final_completion()).choices[0]
            else:
                said = (await client.chat.completions.create(**given)).choices[0]
            if not said.message.tool_calls:
                assert said.finish_reason == "stop"
                return
            messages.append(said.message.model_dump(exclude_none=not stream))
            for call in said.message.tool_calls:
                text = json.loads(call.function.arguments)["text"]
                parts = [{"type": "text", "text": text}] if stream else text
                messages.append({"role": "tool", "tool_call_id": call.id, "content": parts})


async def by_responses(base_url: str, prompt: list[Any], *, stream: bool, by_id: bool) -> None:
    """A loop over the responses API, by OpenAI's client; it sends all items, or what is new behind an id."""
    openai = pytest.importorskip("openai")
    function = {"type": "function", "strict": False, **ECHO["function"]}
    items: list[Any] = list(prompt)
    last: dict[str, Any] = {}
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:
        while True:
            given = {"model": "policy", "input": items, "tools": [function], **last}
            if stream:
                async with client.responses.stream(**given) as events:
                    async for _ in events:
                        pass
                    said = await events.get_final_response()
            else:
                said = await client.responses.create(**given)
            calls = [item for item in said.output if item.type == "function_call"]
            if not calls:
                assert said.output_text == "It is 42."
                return
            items = [] if by_id else [*items, *(item.model_dump(exclude_none=True) for item in said.output)]
            last = {"previous_response_id": said.id} if by_id else {}
            for call in calls:
                text = json.loads(call.arguments)["text"]
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": text})


async def by_messages(base_url: str, prompt: list[Any], *, stream: bool) -> None:
    """A loop over the messages API, by Anthropic's client."""
    anthropic = pytest.importorskip("anthropic")
    function = ECHO["function"]
    tool = {"name": function["name"], "description": function["description"]}
    tools = [{**tool, "input_schema": function["parameters"]}]
    messages: list[Any] = list(prompt)
    url = base_url.removesuffix("/v1")
    async with anthropic.AsyncAnthropic(base_url=url, api_key="none") as client:
        while True:
            given = {"model": "policy", "max_tokens": 1000, "messages": messages, "tools": tools}
            if stream:
                async with client.messages.stream(**given) as events:
                    said = await events.get_final_message()
            else:
                said = await client.messages.create(**given)
            calls = [block for block in said.content if block.type == "tool_use"]
            if not calls:
                assert (said.stop_reason, said.content[0].text) == ("end_turn", "It is 42.")
                return
            assert said.stop_reason == "tool_use" and said.usage.output_tokens > 0
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": one.input["text"]} for one in calls
            ]
            messages += [
                {"role": "assistant", "content": [one.model_dump(exclude_none=True) for one in said.content]},
                {"role": "user", "content": results},
            ]


@pytest.mark.parametrize(
    "way",
    [
        *("chat", "chat stream", "responses", "responses stream", "responses by id"),
        *("messages", "messages stream"),
    ],
)
def test_a_client_s_loop_is_recorded_token_for_token_as_our_own(tokenizer: Any, way: str) -> None:
    async def program(base_url: str, prompt: list[Any]) -> None:
        if way.startswith("chat"):
            await by_chat(base_url, prompt, stream="stream" in way)
        elif way.startswith("messages"):
            await by_messages(base_url, prompt, stream="stream" in way)
        else:
            await by_responses(base_url, prompt, stream="stream" in way, by_id="id" in way)

    expected = own(tokenizer)
    episode, _ = play(tokenizer, TURNS, program)
    assert (episode.ended, episode.status, episode.detail) == ("answered", "ok", None)
    assert recorded(episode) == recorded(expected)
    assert (episode.answer, episode.branches) == ("It is 42.", [])
    assert [turn.role for turn in episode.turns] == [turn.role for turn in expected.turns]
