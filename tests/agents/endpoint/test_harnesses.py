"""Public harnesses, as they are: what is recorded of their episodes is what our own loop records with the same turns
and the same observations.

The programs are those of `examples/harnesses`. Each runs with the first interpreter that has its package: the one that
runs the tests, or one of those that the environment variable `REWARDKIT_HARNESS_PYTHONS` names, separated by colons.
"""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.endpoint.program import HarnessProgram
from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, Observation, UserTurn
from tests.agents.conftest import Echo, Script, call_of
from tests.agents.endpoint.playing import play, recorded

LIMITS = EpisodeLimits(20_000, tool_response_chars=10_000)
PROGRAMS = Path(__file__).parents[3] / "examples" / "harnesses"
STREAMED = """
import asyncio, json, sys
import agents, openai

agents.set_tracing_disabled(True)
agents.set_default_openai_api("chat_completions")

@agents.function_tool
def add(a: int, b: int) -> str:
    '''Add two numbers.'''
    return f"{a} + {b} = {a + b}"

async def main():
    agent = agents.Agent(name="Adder", instructions="You add.", model="policy", tools=[add])
    async for _ in agents.Runner.run_streamed(agent, json.load(sys.stdin)["prompt"]).stream_events():
        pass

asyncio.run(main())
"""
"""A program that uses OpenAI's chat completions, and streams."""


@functools.cache
def interpreter(module: str) -> str:
    """Return the interpreter that has a package, or skip the test."""
    find = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    for python in [sys.executable, *filter(None, os.environ.get("REWARDKIT_HARNESS_PYTHONS", "").split(":"))]:
        if not subprocess.run([python, "-c", find]).returncode:
            return python
    pytest.skip(f"no interpreter in REWARDKIT_HARNESS_PYTHONS has the package {module}")


def played(tokenizer: Any, module: str, program: Path, turns: list[str]) -> tuple[Episode, Script]:
    command = [interpreter(module), str(program)]
    return play(tokenizer, turns, HarnessProgram(command, timeout_s=600.0), LIMITS)


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
    # A harness may stop asking after the model's turn, such as mini-swe-agent after the command that submits.
    limits = replace(LIMITS, assistant_turns=sum(turn.role == "assistant" for turn in episode.turns))
    setting = EpisodeSetup(limits, Transcript(tokenizer), makers, {"user": User})
    return asyncio.run(run_episode(row, Script(tokenizer, turns), setting, seed=7))


ADDS = ["I add. " + call_of("add", a=12, b=30), call_of("add", a=1, b=2), "It is 42."]
LOOKS = [
    "I look. " + call_of("bash", command="echo '<tool_call>' é 12 + 30 = 42"),
    call_of("bash", command="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
]
HARNESSES = {
    "openai_agents": ("agents", ADDS),
    "openai_agents, streamed": ("agents", ADDS),
    "langgraph_agent": ("langchain", ADDS),
    "pydantic_ai_agent": ("pydantic_ai", ADDS),
    "mini_swe_agent": ("minisweagent", LOOKS),
}
"""The package of each program, and turns that it is to play."""


@pytest.mark.parametrize("name", HARNESSES)
def test_a_harness_is_recorded_as_our_own(tokenizer: Any, tmp_path: Path, name: str) -> None:
    module, turns = HARNESSES[name]
    program = PROGRAMS / f"{name}.py"
    if not program.exists():
        program = tmp_path / "streamed.py"
        program.write_text(STREAMED)
    episode, model = played(tokenizer, module, program, turns)
    assert (episode.ended, episode.detail, episode.branches) == ("answered", None, [])
    assert len(model.asked) == len(turns) and episode.answer == turns[-1]
    assert "12 + 30 = 42" in episode.turns[1].text
    assert recorded(episode) == recorded(as_our_own(tokenizer, episode, turns))
    said = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) + 1 for text in turns]
    assert sum(episode.response_mask) == sum(said)


@pytest.mark.parametrize("name", ["openai_agents", "langgraph_agent", "pydantic_ai_agent"])
def test_a_mistake_of_the_model_is_no_failure_of_the_program(tokenizer: Any, name: str) -> None:
    wrong = [call_of("add", a="twelve"), call_of("nothing", b=1)]
    episode, model = played(tokenizer, HARNESSES[name][0], PROGRAMS / f"{name}.py", [*wrong, *wrong])
    assert (episode.ended, episode.status, episode.detail) == ("answered", "ok", None)
    assert len(model.asked) > 1


def test_a_turn_that_mini_swe_agent_leaves_out_is_not_trained_on(tokenizer: Any) -> None:
    turns = [LOOKS[0], "No call.", LOOKS[1]]
    episode, model = played(tokenizer, "minisweagent", PROGRAMS / "mini_swe_agent.py", turns)
    (left,) = episode.branches
    assert (episode.detail, left.turns[-1].text, episode.unused_turns) == (None, "No call.", 1)
    assert model.asked[2]["ids"] == [*episode.prompt_ids, *episode.response_ids[: episode.turns[-1].start]]
    said = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) + 1 for text in LOOKS]
    assert sum(left.response_mask) + sum(episode.response_mask) == sum(said)


def test_smolagents_which_rewrites_its_turns_is_recorded_in_branches(tokenizer: Any) -> None:
    turns = [
        "I compute.\n<code>\nx = 12 + 30\nprint(x)\n</code>",
        "Done.\n<code>\nfinal_answer(x)\n</code>",
    ]
    episode, model = played(tokenizer, "smolagents", PROGRAMS / "smolagents_code.py", turns)
    assert (episode.detail, episode.answer) == (None, turns[-1])
    spoken = [*episode.branches, episode]
    for one, asked in zip(spoken, model.asked[-len(spoken) :], strict=True):
        assert asked["ids"] == [*one.prompt_ids, *one.response_ids[: one.turns[-1].start]]
