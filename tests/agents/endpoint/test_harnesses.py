"""Public harnesses, as they are, where they are installed: what is recorded of their episodes is what our own
loop records with the same turns and the same observations."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, Observation, UserTurn
from tests.agents.conftest import Echo, Script, call_of
from tests.agents.endpoint.playing import play, recorded

LIMITS = EpisodeLimits(20_000, tool_response_chars=10_000)


def as_our_own(tokenizer: Any, episode: Episode, turns: list[str]) -> Episode:
    """Play with `tool_agent` what a harness has asked and heard: its prompt, tools, and each turn's answer."""
    heard = [turn.text for turn in episode.turns if turn.role != "assistant"]

    class Replayed(Echo):
        def __init__(self, schema: Mapping[str, Any]) -> None:
            super().__init__()
            self.schema = dict(schema)
            self.name = self.schema["function"]["name"]

        async def execute(self, arguments: Mapping[str, Any]) -> Observation:
            return Observation(heard.pop(0))

    class User:
        async def start(self, **kwargs: Any) -> None: ...
        async def respond(self, messages: Any) -> UserTurn:
            return UserTurn(heard.pop(0)) if heard else UserTurn(done=True)

        async def score(self) -> None: ...
        async def finish(self) -> None: ...

    tools = {one["function"]["name"]: one for one in episode.schemas}
    makers = {name: lambda schema=schema: Replayed(schema) for name, schema in tools.items()}
    extra = {} if tools else {"interaction_kwargs": {"name": "user"}}
    row = EpisodeRow(episode.messages[: episode.prompt_messages], extra_info=extra, agent_name="tool_agent")
    setting = EpisodeSetup(LIMITS, Transcript(tokenizer), makers, {"user": User})
    return asyncio.run(run_episode(row, Script(tokenizer, turns), setting, seed=7))


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_openai_agents_is_recorded_as_our_own(tokenizer: Any, api: str) -> None:
    agents = pytest.importorskip("agents", reason="openai-agents is not installed")
    openai = pytest.importorskip("openai")

    @agents.function_tool
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        return f"{a} + {b} = {a + b}, <|im_end|>"

    async def program(base_url: str, prompt: list[Any]) -> None:
        agents.set_tracing_disabled(True)
        async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:
            kind = {"chat": agents.OpenAIChatCompletionsModel, "responses": agents.OpenAIResponsesModel}[api]
            model = kind(model="policy", openai_client=client)
            agent = agents.Agent(name="Adder", instructions="You add.", model=model, tools=[add])
            result = agents.Runner.run_streamed(agent, prompt) if api == "chat" else None
            if result is None:
                result = await agents.Runner.run(agent, prompt)
            else:
                async for _ in result.stream_events():
                    pass
            assert result.final_output == "It is 42."

    turns = ["I add. " + call_of("add", a=12, b=30), call_of("add", a=1, b=2), "It is 42."]
    episode, _ = play(tokenizer, turns, program, LIMITS)
    assert (episode.detail, episode.branches) == (None, [])
    assert [message["role"] for message in episode.messages[:2]] == ["system", "user"]
    assert recorded(episode) == recorded(as_our_own(tokenizer, episode, turns))
    assert "12 + 30 = 42" in episode.turns[1].text


def test_mini_swe_agent_is_recorded_as_our_own(tokenizer: Any, tmp_path: Path) -> None:
    pytest.importorskip("minisweagent", reason="mini-swe-agent is not installed")
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.openrouter_model import OpenRouterModel

    def work(base_url: str, prompt: list[Any]) -> None:
        model = OpenRouterModel(model_name="policy", cost_tracking="ignore_errors")
        model._api_url = f"{base_url}/chat/completions"
        templates = {"system_template": "You use a shell.", "instance_template": "{{task}}"}
        agent = DefaultAgent(model, LocalEnvironment(cwd=str(tmp_path)), **templates)
        assert agent.run(prompt[0]["content"])["exit_status"] == "Submitted"

    async def program(base_url: str, prompt: list[Any]) -> None:
        await asyncio.to_thread(work, base_url, prompt)

    look = "I look. " + call_of("bash", command="echo '<tool_call>' é")
    done = call_of("bash", command="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
    episode, _ = play(tokenizer, [look, look, done], program, LIMITS)
    assert (episode.detail, episode.branches) == (None, [])
    assert "<tool_call> é" in episode.turns[1].text
    assert recorded(episode) == recorded(as_our_own(tokenizer, episode, [look, look, done]))
    # A turn without a call it leaves out of its history, and says what was wrong: so it begins a branch.
    episode, model = play(tokenizer, [look, "No call.", done], program, LIMITS)
    (left,) = episode.branches
    assert left.turns[-1].text == "No call."
    assert model.asked[2]["ids"] == [*episode.prompt_ids, *episode.response_ids[: episode.turns[-1].start]]
    assert sum(left.response_mask) + sum(episode.response_mask) == sum(
        len(tokenizer(text, add_special_tokens=False)["input_ids"]) + 1 for text in (look, "No call.", done)
    )


def test_smolagents_which_rewrites_its_turns_is_recorded_in_branches(tokenizer: Any) -> None:
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")

    def work(base_url: str, prompt: list[Any]) -> None:
        model = smolagents.OpenAIModel("policy", api_base=base_url, api_key="none")
        agent = smolagents.CodeAgent([], model, verbosity_level=smolagents.LogLevel.OFF)
        assert agent.run(prompt[0]["content"]) == 42

    async def program(base_url: str, prompt: list[Any]) -> None:
        await asyncio.to_thread(work, base_url, prompt)

    turns = [
        "I compute.\n<code>\nx = 12 + 30\nprint(x)\n</code>",
        "Done.\n<code>\nfinal_answer(x)\n</code>",
    ]
    episode, model = play(tokenizer, turns, program, LIMITS)
    assert (episode.detail, episode.answer) == (None, turns[-1])
    spoken = [*episode.branches, episode]
    for one, asked in zip(spoken, model.asked[-len(spoken) :], strict=True):
        assert asked["ids"] == [*one.prompt_ids, *one.response_ids[: one.turns[-1].start]]
