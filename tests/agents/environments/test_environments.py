"""Environments of other projects as episodes: prompt, tools and rewards are theirs; failures are statuses."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.environments.openenv import TextAction, text_action
from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.resolving import EpisodeSetup, resolve_rows
from rewardkit.agents.runner import run_episode, run_episodes
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits
from rewardkit.errors import InputError
from rewardkit.sandbox import SandboxUnavailable
from rewardkit.sandbox.of_process import sandbox_of_process
from tests.agents.conftest import Script, call_of
from tests.agents.environments.made_verifiers import write_verifiers
from tests.agents.environments.served import TOOL, GameServer, game_server
from tests.extras.test_harbor import write_task

SYSTEM = {"role": "system", "content": "Play."}
LIMITS = EpisodeLimits(4_000, tool_seconds=20.0)


@pytest.fixture
def server() -> Iterator[GameServer]:
    with game_server() as made:
        yield made


def play(
    tokenizer: Any,
    spec: str,
    turns: Sequence[str],
    limits: EpisodeLimits = LIMITS,
    prompt: str = "Be quick.",
    **extra: Any,
) -> Episode:
    row = EpisodeRow(
        [SYSTEM, {"role": "user", "content": prompt}],
        "env/digits",
        "",
        {"split": "train", "index": 7, **extra},
        "env",
    )
    setup = EpisodeSetup(limits, Transcript(tokenizer), env=spec)
    return asyncio.run(run_episode(row, Script(tokenizer, turns), setup))


def ors(*guesses: str) -> list[str]:
    return [call_of("guess", digit=guess) for guess in guesses]


KINDS = ["ors", "openenv"]


def said(kind: str, *guesses: str) -> list[str]:
    """The turns that guess: calls of a tool, or the plain text of an action."""
    return ors(*guesses) if kind == "ors" else list(guesses)


@pytest.mark.parametrize("kind", KINDS)
def test_an_episode_is_played_to_its_end(tokenizer: Any, server: GameServer, kind: str) -> None:
    episode = play(tokenizer, f"{kind}:{server.url}", said(kind, "1", "two", "6", "7"))
    assert (episode.ended, episode.status, episode.interaction_score) == ("done", "ok", 1.0)
    assert server.game.guesses == ["1", "two", "6", "7"]
    assert [turn.reward for turn in episode.turns if turn.role == "assistant"] == [0.0, None, 0.5, 1.0]
    heard = " ".join(turn.text for turn in episode.turns if turn.role != "assistant")
    assert "No." in heard and "a guess is one digit" in heard
    assert server.game.closed == 1
    prompt = tokenizer.decode(episode.prompt_ids)
    assert "Play." in prompt and "Which digit?" in prompt
    assert ("Be quick." in prompt) is (kind == "openenv")  # whose observation is not the whole prompt
    assert ("Tools: guess" in prompt) is (kind == "ors")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("guess", ["die", "fail", "hang", "gone"])
def test_a_server_that_fails_is_an_error(tokenizer: Any, server: GameServer, kind: str, guess: str) -> None:
    url = server.url if guess != "gone" else "http://127.0.0.1:9"
    limits = replace(LIMITS, tool_seconds=1.0 if guess == "hang" else 20.0)
    episode = play(tokenizer, f"{kind}:{url}", said(kind, "6", guess), limits)
    assert (episode.status, episode.interaction_score) == ("error", None)
    assert server.game.guesses.count(guess) <= 1  # a step is not applied twice
    assert ("the environment did not start" in str(episode.detail)) is (guess == "gone"), episode.detail


def test_options_say_which_reward_counts(tokenizer: Any, server: GameServer) -> None:
    url = server.url
    turns = [*ors("6", "6"), "I give up."]
    assert play(tokenizer, f"ors:{url}?reward=sum", turns).interaction_score == 1.0
    assert play(tokenizer, f"ors:{url}", turns).interaction_score == 0.5
    nothing = play(tokenizer, f"ors:{url}", ["I give up."])
    assert (nothing.ended, nothing.status, nothing.interaction_score) == ("done", "invalid", None)
    paid = play(tokenizer, f"ors:{url}?without_reward=-1", ["I give up."])
    assert (paid.status, paid.interaction_score) == ("ok", -1.0)


def test_a_row_names_its_own_environment_and_task(tokenizer: Any, server: GameServer) -> None:
    own = {"kind": "ors", "target": server.url, "name": "digits"}
    episode = play(tokenizer, "", ors("3"), env=own, env_kwargs={"split": "test", "index": 3})
    assert episode.interaction_score == 1.0
    assert server.game.opened == [{"env_name": "digits", "split": "test", "index": 3}]
    episode = play(tokenizer, f"openenv:{server.url}", ["5"], env_kwargs={"seed": 5, "level": "easy"})
    assert episode.interaction_score == 1.0
    assert server.game.opened[-1] == {"seed": 5, "level": "easy"}


def test_the_environment_of_a_run_is_that_of_every_row(tokenizer: Any, server: GameServer) -> None:
    at = {"split": "test", "index": 3}
    episode = play(tokenizer, f"ors:{server.url}", ors("3"), env="ors:http://nowhere", env_kwargs=at)
    assert episode.interaction_score == 1.0


def test_a_plain_message_goes_where_the_server_takes_it(tokenizer: Any, server: GameServer) -> None:
    server.game.plain = True
    assert play(tokenizer, f"ors:{server.url}", ["2", "7"]).interaction_score == 1.0


def test_a_prompt_that_is_too_long_is_an_error(tokenizer: Any, server: GameServer) -> None:
    episode = play(tokenizer, f"ors:{server.url}", ["7"], replace(LIMITS, prompt_tokens=5))
    assert episode.status == "error" and "prompt" in str(episode.detail) and not episode.turns


@pytest.mark.parametrize(
    ("env", "extra", "why"),
    [
        ("", {}, "no environment"),
        ("orz:http://localhost", {}, "ors"),
        ("http://localhost", {}, "KIND:TARGET"),
        ("ors:http://localhost?rewards=sum", {}, "rewards"),
        ("ors:http://localhost", {"index": None}, "index"),
        ("harbor:/nowhere", {}, "no Harbor task"),
        ("", {"env": '{"kind": "ors"'}, r"extra_info\.env is not valid JSON"),
        ("", {"env": ["ors:http://localhost"]}, r"extra_info\.env is .*; expected "),
        ("ors:http://localhost", {"env_kwargs": "{"}, r"extra_info\.env_kwargs is not valid JSON"),
    ],
)
def test_what_cannot_be_played_is_said_before_a_model_loads(
    env: str, extra: dict[str, Any], why: str
) -> None:
    row = EpisodeRow([SYSTEM], "env/digits", "", {"split": "train", "index": 7, **extra}, "env")
    with pytest.raises(InputError, match=why):
        resolve_rows([row], EpisodeSetup(LIMITS, env=env))


@pytest.mark.parametrize(
    ("action", "field"),
    [
        ({"properties": {"x": {"type": "string"}}}, "x"),
        ({"properties": {"x": {"type": "string"}, "y": {"type": "string"}}, "required": ["y"]}, "y"),
        ({"properties": {"x": {"type": "integer"}}}, ""),
        ({"properties": {"x": {"type": "string"}, "y": {"type": "string"}}}, ""),
        ({}, ""),
    ],
)
def test_an_action_of_one_text_is_what_the_model_says(action: dict[str, Any], field: str) -> None:
    assert text_action(action) == TextAction(field)


def test_an_action_of_one_choice_is_offered_with_its_choices() -> None:
    moves = {"type": "string", "enum": ["UP", "DOWN"]}
    named = text_action({"properties": {"x": {"$ref": "#/$defs/E"}}, "$defs": {"E": moves}})
    assert named == TextAction("x", ("UP", "DOWN")) and "UP, DOWN" in named.offer()
    numbers = text_action({"properties": {"x": {"type": "integer", "enum": [0, 1]}}})
    assert (numbers.of(" 1\n"), numbers.of("two")) == ({"x": 1}, {"x": "two"})


def test_the_prompt_shows_the_choices_of_an_action(tokenizer: Any, server: GameServer) -> None:
    server.game.action = {"properties": {"x": {"enum": [str(i) for i in range(10)], "type": "string"}}}
    episode = play(tokenizer, f"openenv:{server.url}", ["7"])
    assert (episode.status, episode.interaction_score) == ("ok", 1.0)
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9" in tokenizer.decode(episode.prompt_ids)


def test_results_of_mcp_tools_are_their_whole_text(tokenizer: Any, server: GameServer) -> None:
    server.game.tools = [{"name": "guess", "description": "", "input_schema": TOOL["input_schema"]}]
    long = "a line of output\n" * 40
    turns = [call_of("guess", digit=long), call_of("guess", digit="fail"), "Done."]
    episode = play(tokenizer, f"openenv:{server.url}", turns)
    heard = [turn.text for turn in episode.turns if turn.role == "tool"]
    assert heard == [long, "Error: no such digit"]


@pytest.mark.parametrize("most", [1, 3])
def test_episodes_wait_for_a_server_that_allows_few_sessions(
    tokenizer: Any, server: GameServer, most: int
) -> None:
    server.game.most = most
    rows = [EpisodeRow([SYSTEM], "env/digits", "", {"index": 7}, "env") for _ in range(8)]
    # The time limits are those of an episode that plays: waiting does not count.
    limits = replace(LIMITS, tool_seconds=5.0, seconds=10.0)
    setup = EpisodeSetup(limits, Transcript(tokenizer), env=f"openenv:{server.url}")
    model = Script(tokenizer, [lambda ids: "7" if "No." in tokenizer.decode(ids) else "6"])
    episodes = asyncio.run(run_episodes(rows, model, setup, range(8)))
    assert [(one.ended, one.interaction_score) for one in episodes] == [("done", 1.0)] * 8
    assert (len(server.game.opened), server.game.closed, server.game.at_once) == (8, 8, 0)
    assert server.game.refused > 0


def test_a_harbor_task_is_done_in_a_shell_and_graded(tokenizer: Any, tmp_path: Path) -> None:
    try:
        sandbox_of_process().prove("bash")
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    write_task(tmp_path / "greeting")
    spec = f"harbor:{tmp_path}"
    turns = [
        call_of("bash", command="mkdir -p a && echo hel > a/half; cat /tests/test.sh"),
        call_of("bash", command="echo $(cat a/half)lo > out.txt; cat out.txt; exit 3"),
        call_of("bash", command=3),
        "Done.",
    ]
    episode = play(tokenizer, spec, turns, env_kwargs={"task": "greeting"})
    assert (episode.ended, episode.status, episode.interaction_score) == ("done", "ok", 1.0)
    heard = [turn.text for turn in episode.turns if turn.role == "tool"]
    assert "No such file" in heard[0] and heard[1].startswith("hello") and "exit code 3" in heard[1]
    assert "takes a text" in heard[2]
    assert play(tokenizer, spec, ["Done."], env_kwargs={"task": "greeting"}).interaction_score == 0.0


def test_a_taskset_of_verifiers_asks_and_scores(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_verifiers(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    spec = "verifiers:sums:Sums"
    episode = play(tokenizer, spec, ["8"])
    assert (episode.ended, episode.status, episode.interaction_score) == ("done", "ok", 1.0)
    prompt = tokenizer.decode(episode.prompt_ids)
    assert "Add." in prompt and "7+1" in prompt and "Be quick" not in prompt
    assert play(tokenizer, spec, ["9"]).interaction_score == 0.0
    assert play(tokenizer, spec, ["raise"]).status == "error"
    with pytest.raises(InputError, match="index is 9, but"):
        play(tokenizer, spec, ["9"], env_kwargs={"index": 9})
    with pytest.raises(InputError, match="cannot load"):
        play(tokenizer, "verifiers:sums:Nothing", ["9"])
