"""Many episodes at once: none waits for another's tool, and whatever ends them, what was made is given back."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.executing import within
from rewardkit.agents.registry import AGENTS, agent, load_agent
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode, run_episodes
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, Observation, Reply
from rewardkit.errors import InputError, OptionsError
from rewardkit.tool_calls.call import Call
from tests.agents.conftest import Counted, Echo, Script, make_tokenizer
from tests.installed import install

ASKED = [{"role": "user", "content": "Go."}]


class Calls:
    """A ChatModel whose first turn calls `echo` with the question, and whose second answers."""

    async def chat(self, messages: Sequence[Any], tools: Any, *, seed: int, max_tokens: int) -> Reply:
        await asyncio.sleep(0)
        if messages[-1]["role"] == "tool":
            return Reply(f"It is {messages[-1]['content']}")
        return Reply("", calls=[Call("echo", {"text": messages[0]["content"]}, "c")])


def rows(number: int) -> list[EpisodeRow]:
    return [EpisodeRow([{"role": "user", "content": str(i)}], agent_name="tool_agent") for i in range(number)]


def setting_of(counted: Counted, answer: Any = None, **limits: Any) -> EpisodeSetup:
    return EpisodeSetup(EpisodeLimits(10_000, **limits), None, {"echo": lambda: Echo(counted, answer)})


def test_a_slow_tool_stalls_only_its_own_episode() -> None:
    counted = Counted()
    ended: list[int] = []

    async def main() -> list[Episode]:
        others = asyncio.Event()

        async def answer(arguments: Mapping[str, Any]) -> Observation:
            if arguments["text"] == "0":
                await others.wait()  # for ever, if it kept the others waiting
            return Observation(arguments["text"])

        def told(place: int, _: Episode) -> None:
            ended.append(place)
            if len(ended) == 199:
                others.set()

        setting = setting_of(counted, answer)
        return await run_episodes(rows(200), Calls(), setting, list(range(200)), ended=told)

    found = asyncio.run(main())
    assert [one.answer for one in found] == [f"It is {i}" for i in range(200)], "in the rows' order"
    assert ended[-1] == 0
    assert counted.created == counted.released == 200


def test_at_most_so_many_run_at_once() -> None:
    running: list[int] = []
    most: list[int] = []

    async def answer(_: Any) -> Observation:
        running.append(1)
        most.append(len(running))
        for _ in range(5):
            await asyncio.sleep(0)
        running.pop()
        return Observation("x")

    asyncio.run(run_episodes(rows(12), Calls(), setting_of(Counted(), answer), [0] * 12, concurrency=3))
    assert max(most) == 3


def test_a_cancelled_episode_keeps_what_it_has_and_gives_back_what_it_holds() -> None:
    counted = Counted()

    async def main() -> Episode:
        reached = asyncio.Event()

        async def hangs(_: Any) -> Observation:
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError

        task = asyncio.ensure_future(run_episode(rows(1)[0], Calls(), setting_of(counted, hangs)))
        await reached.wait()
        task.cancel()
        return await task

    episode = asyncio.run(main())
    assert (episode.ended, episode.status) == ("cancelled", "error")
    assert [turn.role for turn in episode.turns] == ["assistant"]
    assert counted.created == counted.released == 1


def test_cancelling_the_run_gives_back_everything() -> None:
    counted = Counted()

    async def main() -> None:
        reached = asyncio.Event()

        async def hangs(_: Any) -> Observation:
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError

        task = asyncio.ensure_future(
            run_episodes(rows(50), Calls(), setting_of(counted, hangs), [0] * 50, concurrency=20)
        )
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert counted.created == counted.released > 0


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_tool_that_hangs_ends_its_episode(stubborn: bool) -> None:
    counted = Counted()

    async def hangs(_: Any) -> Observation:
        waits = 2 if stubborn else 1
        for _ in range(waits):  # a stubborn one takes a first cancel for a hint
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if not stubborn:
                    raise
        raise AssertionError

    setting = setting_of(counted, hangs, tool_seconds=0.01, tool_retries=0)
    (episode,) = asyncio.run(run_episodes(rows(1), Calls(), setting, [0]))
    assert (episode.ended, episode.status) == ("tool_failed", "error")
    assert episode.turns[-1].statuses == ["timeout"]
    assert counted.created == counted.released == 1


def test_the_episodes_own_time_ends_a_tools() -> None:
    async def hangs(_: Any) -> Observation:
        await asyncio.Event().wait()
        raise AssertionError

    setting = setting_of(Counted(), hangs, seconds=0.05, tool_seconds=3600.0, tool_retries=0)
    (episode,) = asyncio.run(run_episodes(rows(1), Calls(), setting, [0]))
    assert (episode.ended, episode.status) == ("seconds", "timeout")


def test_a_tool_that_cannot_be_made_is_given_back_all_the_same() -> None:
    counted = Counted()

    class Broken(Echo):
        async def create(self, **kwargs: Any) -> None:
            await super().create(**kwargs)
            raise OSError("no such server")

    setting = EpisodeSetup(EpisodeLimits(1000), None, {"echo": lambda: Broken(counted)})
    (episode,) = asyncio.run(run_episodes(rows(1), Calls(), setting, [0]))
    assert (episode.ended, counted.created, counted.released) == ("tool_failed", 1, 1)
    assert "no such server" in str(episode.detail)


def test_a_model_that_fails_ends_the_episode_and_gives_back() -> None:
    class Dies:
        async def chat(self, *_: Any, **__: Any) -> Reply:
            raise ConnectionError("the engine has gone")

    counted = Counted()
    found = asyncio.run(run_episodes(rows(3), Dies(), setting_of(counted), [0] * 3))
    assert {one.ended for one in found} == {"error"}
    assert all(str(one.detail).startswith("ConnectionError: the engine has gone") for one in found)
    assert counted.created == counted.released == 3


def test_what_a_tool_cannot_say_of_an_episode_is_a_failure_and_no_zero() -> None:
    class Mute(Echo):
        async def reward(self) -> float | None:
            raise ValueError("state lost")

    setting = EpisodeSetup(EpisodeLimits(1000), None, {"echo": Mute})
    (episode,) = asyncio.run(run_episodes(rows(1), Calls(), setting, [0]))
    assert (episode.ended, episode.status, episode.tool_rewards) == ("answered", "error", {})


def test_a_rows_kwargs_reach_its_tool_and_its_selection_holds() -> None:
    made: list[Echo] = []

    class Kept(Echo):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    class Other(Kept):
        name = "other"

    extra = {"tools_kwargs": {"echo": {"create_kwargs": {"ground_truth": "7"}}, "other": None}}
    tools = {"echo": Kept, "other": Other}
    row = EpisodeRow(ASKED, extra_info={**extra, "tool_selection": ["echo"]}, agent_name="tool_agent")
    asyncio.run(run_episodes([row], Calls(), EpisodeSetup(EpisodeLimits(1000), None, tools), [0]))
    assert [(one.name, one.created_with) for one in made] == [("echo", {"ground_truth": "7"})]


DRIVEN = """
import asyncio, sys
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import drive, drive_beside, run_episodes
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.types import EpisodeLimits
from tests.agents.test_runner import Calls, Echo

class Told(Echo):
    async def create(self, **kwargs):
        print("created", flush=True)
    async def execute(self, arguments):
        print("waiting", flush=True)
        await asyncio.Event().wait()
    async def release(self):
        await asyncio.sleep(0.01)
        print("released", flush=True)

rows = [EpisodeRow([{"role": "user", "content": "x"}], agent_name="tool_agent")] * 5
work = run_episodes(rows, Calls(), EpisodeSetup(EpisodeLimits(100), None, {"echo": Told}), [0] * 5)
DRIVE
"""


@pytest.mark.slow
@pytest.mark.parametrize("drive", ["drive(work)", "drive_beside(work, lambda ended: ended.exception())"])
def test_sigterm_gives_back_everything_and_ends_the_process(drive: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", DRIVEN.replace("DRIVE", drive)],
        stderr=subprocess.PIPE,  # where what a tool prints goes
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert child.stderr is not None
    lines: list[str] = []
    while lines.count("echo: waiting") < 5:
        line = child.stderr.readline()
        assert line, "it ended before its tools were called"
        lines.append(line.strip())
    child.send_signal(signal.SIGTERM)
    _, rest = child.communicate(timeout=60)
    lines += rest.splitlines()
    assert child.returncode == -signal.SIGTERM
    assert lines.count("echo: created") == lines.count("echo: released") == 5


# --- loops by name ---------------------------------------------------------------------------------------


def test_a_loop_of_a_users_file_runs(tmp_path: Path, agents: Any) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from rewardkit.agents.registry import agent\n"
        "@agent('ask_twice', tools='none')\n"
        "async def ask_twice(episode):\n"
        "    await episode.generate()\n"
        "    await episode.append([{'role': 'user', 'content': 'Are you sure?'}])\n"
        "    await episode.generate()\n"
        "async def plain(episode):\n"
        "    await episode.generate()\n"
    )

    class Says:
        async def chat(self, messages: Any, *_: Any, **__: Any) -> Reply:
            return Reply(messages[-1]["content"])

    for name in (f"{path}:ask_twice", "ask_twice"):
        row = EpisodeRow(ASKED, agent_name=name)
        episode = asyncio.run(run_episode(row, Says(), EpisodeSetup(EpisodeLimits(100))))
        assert (episode.answer, episode.agent_name) == ("Are you sure?", "ask_twice")
    assert load_agent(f"{path}:plain").name == f"{path}:plain"
    with pytest.raises(InputError, match="did you mean plain"):
        AGENTS.resolve(f"{path}:plan")
    with pytest.raises(InputError, match=r"no such .*file"):
        AGENTS.resolve("nowhere.py:plain")


def test_names_are_known_and_taken_once(agents: Any) -> None:
    ours = {"single_turn_agent", "tool_agent", "react_agent", "math_expression"}
    assert ours <= set(AGENTS.names())
    with pytest.raises(InputError, match="did you mean react_agent"):
        AGENTS.resolve("raect_agent")
    with pytest.raises(OptionsError, match="already"):

        @agent("tool_agent")
        async def mine(episode: Episode) -> None: ...


@pytest.mark.parametrize("how", ["returns", "ends", "appends", "has no tokens left"])
def test_an_episode_without_a_turn_of_the_model_is_a_failure_and_no_wrong_answer(
    agents: Any, how: str
) -> None:
    @agent("nothing", tools="none")
    async def nothing(episode: Episode) -> None:
        if how == "ends":
            episode.end("done")
        elif how == "appends":
            await episode.append([{"role": "user", "content": "Well?"}])
        elif how == "has no tokens left":
            await episode.generate()

    limits = EpisodeLimits(0 if how == "has no tokens left" else 1000)
    setting = EpisodeSetup(limits, None, {}, default_agent="nothing")
    episode = asyncio.run(run_episode(EpisodeRow(ASKED), Says("never"), setting))
    assert (episode.ended, episode.status) == ("no_turn", "error")
    assert "nothing" in str(episode.detail) and "generate" in str(episode.detail)


def test_an_interaction_may_score_an_episode_in_which_the_model_had_no_turn(agents: Any) -> None:
    @agent("asks_nobody", tools="none")
    async def asks_nobody(episode: Episode) -> None:
        episode.interaction_score = 0.5

    setting = EpisodeSetup(EpisodeLimits(1000), None, {}, default_agent="asks_nobody")
    episode = asyncio.run(run_episode(EpisodeRow(ASKED), Says("never"), setting))
    assert (episode.ended, episode.status, episode.interaction_score) == ("answered", "ok", 0.5)


def test_an_installed_package_adds_an_agent(
    agents: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "from rewardkit.agents.registry import agent\n\n"
        "@agent('from_a_package')\nasync def loop(episode):\n    pass\n"
    )
    entry = {"agents": {"loop": "plugged_agent:loop"}}
    install(tmp_path, monkeypatch, entry, name="plugged_agent", source=source)
    monkeypatch.setattr(AGENTS, "_entry_points_loaded", False)
    assert AGENTS.resolve("from_a_package").name == "from_a_package"


# --- our loops -------------------------------------------------------------------------------------------


class Says:
    """A ChatModel that says its turns in order."""

    def __init__(self, *turns: str) -> None:
        self.turns = list(turns)
        self.asked: list[list[Any]] = []

    async def chat(self, messages: Any, tools: Any, **_: Any) -> Reply:
        self.asked.append(list(messages))
        assert not tools
        return Reply(self.turns[len(self.asked) - 1])


def test_react_tells_of_tools_and_observations_in_text() -> None:
    model = Says(
        'Thought: say it\nAction: echo\nAction Input: {"text": "42"}\nObservation: 7\nThought: no',
        "Thought: I know\nFinal Answer: 42",
    )
    setting = EpisodeSetup(EpisodeLimits(1000), None, {"echo": Echo}, default_agent="react_agent")
    row = EpisodeRow([{"role": "system", "content": "Be brief."}, *ASKED])
    episode = asyncio.run(run_episode(row, model, setting))
    assert episode.ended == "answered"
    prompt = model.asked[0][1]["content"]
    assert '- echo {"text": "string"}: Says it again.' in prompt
    assert prompt.endswith("Question: Go.")
    assert model.asked[1][-1] == {"role": "user", "content": "Observation: 42"}
    assert episode.turns[0].text.endswith("\nObservation:"), "what it made up behind that is gone"
    assert [turn.role for turn in episode.turns] == ["assistant", "tool", "assistant"]


def test_math_expression_rewards_the_step_that_reaches_the_target() -> None:
    asked = [{"role": "user", "content": "Reach 42 from 2, 3 and 7, one step at a time."}]
    row = EpisodeRow(asked, ground_truth="42", agent_name="math_expression")
    episode = asyncio.run(
        run_episode(row, Says("2 * 3", "5 + 6", "6 * 7"), EpisodeSetup(EpisodeLimits(1000)))
    )
    assert episode.ended == "done"
    first, second = (turn.text for turn in episode.turns if turn.role == "user")
    assert first == "= 6" and second.startswith("5 is neither given ")
    assert [turn.reward for turn in episode.turns if turn.role == "assistant"] == [0.0, None, 1.0]
    episode = asyncio.run(run_episode(row, Says("It is 42."), EpisodeSetup(EpisodeLimits(1000))))
    assert (episode.ended, episode.turns[0].reward) == ("answered", None)
    episode = asyncio.run(run_episode(row, Says("42 + 0", "7 / 0", "no"), EpisodeSetup(EpisodeLimits(1000))))
    assert [turn.reward for turn in episode.turns if turn.role == "assistant"] == [None] * 3


def test_a_turn_ends_at_the_tokens_that_end_a_call_in_the_format_of_the_run() -> None:
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(["<|call|>"])
    model = Script(tokenizer, ["#### 4"])
    tools = {"echo": lambda: Echo(Counted())}

    def asked(calls: str) -> list[int]:
        setting = EpisodeSetup(EpisodeLimits(100), Transcript(tokenizer), tools, calls=calls)
        asyncio.run(run_episode(rows(1)[0], model, setting))
        return list(model.asked[-1]["stop"])

    assert asked("harmony") == asked("gpt-oss") == [tokenizer.convert_tokens_to_ids("<|call|>")]
    assert asked("hermes") == asked("llama3") == []


def test_a_time_limit_says_how_long_it_was() -> None:
    with pytest.raises(TimeoutError, match=r"0\.01 s"):
        asyncio.run(within(asyncio.sleep(3600), 0.01))
