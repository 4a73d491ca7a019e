"""Episodes: the ids that the model produced are those that are kept, and every end says why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.registry import AGENTS, Agent
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode, run_episodes
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, Observation, Reply, UserTurn
from rewardkit.errors import InputError
from rewardkit.tool_calls.call import Call
from tests.agents.conftest import Counted, Echo, Script, call_of

ASKED = [{"role": "user", "content": "What is 12 + 30?"}]
PLENTY = EpisodeLimits(2000)


class Teacher:
    """An interaction that wants 42, says so `patience` times, and counts its life."""

    def __init__(self, patience: int = 3, counted: Counted | None = None) -> None:
        self.patience = patience
        self.counted = counted or Counted()
        self.given: dict[str, Any] = {}

    async def start(self, **kwargs: Any) -> None:
        self.counted.created += 1
        self.given = kwargs

    async def respond(self, messages: Sequence[dict[str, Any]]) -> UserTurn:
        if "42" in messages[-1]["content"]:
            return UserTurn("right", 1.0, done=True)
        return UserTurn("No, try again.", -0.1, metrics={"corrections": 1})

    async def score(self) -> float | None:
        return 0.5

    async def finish(self) -> None:
        self.counted.released += 1


def run_one(
    tokenizer: Any,
    turns: Sequence[str],
    *,
    limits: EpisodeLimits = PLENTY,
    agent: str = "tool_agent",
    tool: Any = Echo,
    extra_info: dict[str, Any] | None = None,
    interaction: Any = None,
) -> tuple[Episode, Script]:
    model = Script(tokenizer, turns)
    interactions = {} if interaction is None else {"teacher": interaction}
    setting = EpisodeSetup(limits, Transcript(tokenizer), {"echo": tool}, interactions)
    row = EpisodeRow(ASKED, "gsm8k", "42", extra_info or {}, agent)
    return asyncio.run(run_episode(row, model, setting, seed=7)), model


def test_a_tool_is_called_and_its_answer_is_context(tokenizer: Any, transcript: Transcript) -> None:
    episode, model = run_one(tokenizer, [call_of("echo", text="42"), "It is 42."])
    assert (episode.ended, episode.status) == ("answered", "ok")
    assert [turn.role for turn in episode.turns] == ["assistant", "tool", "assistant"]
    assert [message["role"] for message in episode.messages] == ["user", "assistant", "tool", "assistant"]
    assert episode.answer == "It is 42."
    whole = transcript.text_of([*episode.prompt_ids, *episode.response_ids], special=True)
    assert whole == (
        "<|im_start|>system\nTools: echo<|im_end|>\n<|im_start|>user\nWhat is 12 + 30?<|im_end|>\n"
        "<|im_start|>assistant\n" + call_of("echo", text="42") + "<|im_end|>\n<|im_start|>user\n"
        "<tool_response>\n42\n</tool_response><|im_end|>\n<|im_start|>assistant\nIt is 42."
    )
    first, heard, last = episode.turns
    assert (first.start, first.end, heard.end) == (0, heard.start, last.start)
    assert episode.response_mask == (
        [1] * first.end + [0] * (heard.end - heard.start) + [1] * (last.end - last.start)
    )
    assert model.asked[1]["ids"] == [*episode.prompt_ids, *episode.response_ids[: last.start]]


def test_log_probs_stand_at_their_tokens_and_nowhere_else(tokenizer: Any) -> None:
    episode, _ = run_one(tokenizer, [call_of("echo", text="1"), "Done."])
    expected = [
        -0.5 - token_id / 1000 if mask else 0.0
        for token_id, mask in zip(episode.response_ids, episode.response_mask, strict=True)
    ]
    assert episode.log_probs == expected


def test_each_turn_has_a_seed_of_its_own_and_the_first_the_episodes(tokenizer: Any) -> None:
    _, model = run_one(tokenizer, [call_of("echo", text="1"), call_of("echo", text="2"), "Done."])
    seeds = [one["seed"] for one in model.asked]
    assert seeds[0] == 7
    assert len(set(seeds)) == 3
    _, again = run_one(tokenizer, [call_of("echo", text="1"), call_of("echo", text="2"), "Done."])
    assert [one["seed"] for one in again.asked] == seeds


def test_bad_calls_are_told_to_the_model_and_counted(tokenizer: Any) -> None:
    bad = "<tool_call>\n{not json}\n</tool_call>"
    episode, _ = run_one(tokenizer, [bad, call_of("ehco"), "I give up."])
    assert episode.ended == "answered"
    assert [turn.statuses for turn in episode.turns if turn.role == "tool"] == [["bad_call"], ["bad_call"]]
    assert "did you mean echo?" in episode.turns[3].text


def test_a_model_that_calls_for_ever_comes_to_an_end_though_nobody_counts() -> None:
    class Calls:
        async def chat(self, *_: Any, **__: Any) -> Reply:
            return Reply("", calls=[Call("echo", {"text": "\ud800"}, "c")])

    setting = EpisodeSetup(EpisodeLimits(50), None, {"echo": Echo}, default_agent="tool_agent")
    episode = asyncio.run(run_episode(EpisodeRow(ASKED), Calls(), setting))
    assert (episode.ended, episode.count("assistant")) == ("response_tokens", 50)


def test_what_a_bad_call_holds_is_text_that_can_be_written(tokenizer: Any) -> None:
    bad = '<tool_call>\n{"name": "\\ud800' + "x" * 10_000 + '", "arguments": {}}\n</tool_call>'
    episode, _ = run_one(tokenizer, [bad, "Done."], limits=EpisodeLimits(60_000))
    assert episode.turns[1].statuses == ["bad_call"]
    assert len(episode.turns[1].text.encode()) < 2_000


def test_calls_beyond_the_allowed_are_answered_too(tokenizer: Any) -> None:
    counted = Counted()
    three = "".join(call_of("echo", text=str(i)) for i in range(3))
    limits = EpisodeLimits(2000, parallel_calls=2)
    episode, _ = run_one(tokenizer, [three, "Done."], limits=limits, tool=lambda: Echo(counted))
    assert counted.executed == 2
    assert episode.turns[1].statuses == ["ok", "ok", "bad_call"]
    assert "at most 2 calls" in episode.turns[1].text


@pytest.mark.parametrize(
    ("limits", "ended"),
    [
        (EpisodeLimits(20), "response_tokens"),
        (EpisodeLimits(2000, context_tokens=90), "context_tokens"),
        (EpisodeLimits(2000, assistant_turns=2), "assistant_turns"),
        (EpisodeLimits(2000, user_turns=1), "user_turns"),
        (EpisodeLimits(2000, seconds=0.0), "seconds"),
    ],
)
def test_every_limit_ends_an_episode_and_loses_no_token(
    tokenizer: Any, limits: EpisodeLimits, ended: str
) -> None:
    episode, model = run_one(tokenizer, [call_of("echo", text="again")], limits=limits)
    assert episode.ended == ended
    assert episode.status == ("timeout" if ended == "seconds" else "ok")
    said = [turn for turn in episode.turns if turn.role == "assistant"]
    assert len(said) == len(model.asked)
    assert sum(episode.response_mask) == sum(turn.end - turn.start for turn in said)
    assert len(episode.response_ids) <= limits.response_tokens
    if limits.context_tokens:
        assert len(episode.prompt_ids) + len(episode.response_ids) <= limits.context_tokens


def test_tools_of_the_last_turn_are_executed_though_nobody_answers(tokenizer: Any) -> None:
    counted = Counted()
    limits = EpisodeLimits(2000, assistant_turns=1)
    episode, _ = run_one(tokenizer, [call_of("echo", text="1")], limits=limits, tool=lambda: Echo(counted))
    assert (episode.ended, counted.executed) == ("assistant_turns", 1)
    assert episode.response_mask[-1] == 1, "an observation that nobody reads has no tokens"
    assert episode.turns[-1].text == "1"


def test_an_answer_that_the_budget_cuts_says_so(tokenizer: Any) -> None:
    episode, _ = run_one(tokenizer, ["It is 42. " * 20], limits=EpisodeLimits(10), agent="single_turn_agent")
    assert (episode.ended, len(episode.response_ids)) == ("response_tokens", 10)


def test_an_observation_that_fills_the_budget_exactly_is_kept(tokenizer: Any) -> None:
    turns = [call_of("echo", text="1"), "Done."]
    free, _ = run_one(tokenizer, turns)
    exact = free.turns[1].end
    episode, _ = run_one(tokenizer, turns, limits=EpisodeLimits(exact))
    assert episode.ended == "response_tokens"
    assert episode.response_ids == free.response_ids[:exact]
    short, _ = run_one(tokenizer, turns, limits=EpisodeLimits(exact - 1))
    assert short.response_ids == free.response_ids[: free.turns[0].end]
    assert short.turns[1].text == "1"


def test_a_turn_that_was_cut_is_closed_by_context(tokenizer: Any) -> None:
    limits = EpisodeLimits(2000, turn_tokens=4, assistant_turns=2)
    extra = {"interaction_kwargs": {"name": "teacher"}}
    episode, _ = run_one(
        tokenizer, ["I think that it is"], limits=limits, extra_info=extra, interaction=Teacher
    )
    end = tokenizer.eos_token_id
    assert end not in episode.response_ids[:4]
    assert (episode.response_ids[4], episode.response_mask[4]) == (end, 0)
    whole, _ = run_one(tokenizer, ["It is", "It is 42"], extra_info=extra, interaction=Teacher)
    after = whole.turns[0].end
    assert (whole.response_ids[after - 1], whole.response_mask[after - 1]) == (end, 1)
    assert whole.response_ids[after] != end


def test_an_interaction_answers_rewards_and_ends(tokenizer: Any) -> None:
    counted = Counted()
    made: list[Teacher] = []

    def teacher() -> Teacher:
        made.append(Teacher(counted=counted))
        return made[-1]

    extra = {"interaction_kwargs": {"name": "teacher", "query": "12 + 30"}}
    episode, _ = run_one(tokenizer, ["40.", "41.", "42."], extra_info=extra, interaction=teacher)
    assert (episode.ended, episode.interaction_score) == ("done", 0.5)
    assert [turn.reward for turn in episode.turns if turn.role == "assistant"] == [-0.1, -0.1, 1.0]
    assert made[0].given == {"query": "12 + 30", "ground_truth": "42", "data_source": "gsm8k"}
    assert episode.metrics["corrections"] == 2
    assert counted.created == counted.released == 1


def test_a_tools_rewards_go_to_the_turn_that_called_it(tokenizer: Any) -> None:
    def answer(arguments: Any) -> Observation:
        return Observation("noted", reward=float(arguments["text"]), done=arguments["text"] == "3")

    turns = [call_of("echo", text=str(i)) for i in range(1, 5)]
    episode, _ = run_one(tokenizer, turns, tool=lambda: Echo(answer=answer))
    assert episode.ended == "done"
    assert [turn.reward for turn in episode.turns if turn.role == "assistant"] == [1.0, 2.0, 3.0]


def test_a_tool_is_tried_again_and_then_the_episode_ends(tokenizer: Any) -> None:
    tries: list[int] = []

    def fails(_: Any) -> Observation:
        tries.append(1)
        raise OSError("no connection")

    limits = EpisodeLimits(2000, tool_retries=2)
    turns = [call_of("echo", text="1"), "Done."]
    episode, _ = run_one(tokenizer, turns, limits=limits, tool=lambda: Echo(answer=fails))
    assert (episode.ended, episode.status, len(tries)) == ("tool_failed", "error", 3)
    assert "no connection" in str(episode.detail)

    def fails_once(_: Any) -> Observation:
        tries.append(1)
        return Observation("42") if len(tries) > 4 else Observation("", status="error")

    episode, _ = run_one(tokenizer, turns, limits=limits, tool=lambda: Echo(answer=fails_once))
    assert episode.ended == "answered"


def test_a_long_observation_is_cut_and_says_so(tokenizer: Any) -> None:
    texts = {}
    for side in ("left", "middle", "right"):
        limits = EpisodeLimits(2000, tool_response_chars=10, tool_response_truncate_side=side)
        turns = [call_of("echo", text="0123456789abcdefghij"), "Done."]
        episode, _ = run_one(tokenizer, turns, limits=limits)
        texts[side] = episode.turns[1].text
    assert texts == {
        "left": "(truncated)...abcdefghij",
        "middle": "01234...(truncated)...fghij",
        "right": "0123456789...(truncated)",
    }


def test_a_loop_that_raises_ends_only_its_own_episode(tokenizer: Any, agents: Any) -> None:
    async def breaks(episode: Episode) -> None:
        reply = await episode.generate()
        if "Bad" in reply.text:
            raise ValueError("loop")

    AGENTS.register(Agent("breaks", breaks))
    counted = Counted()
    setting = EpisodeSetup(
        PLENTY, Transcript(tokenizer), {"echo": lambda: Echo(counted)}, default_agent="breaks"
    )
    model = Script(tokenizer, ["Good.", "Bad.", "Good."])
    rows = [EpisodeRow(ASKED)] * 3
    found = asyncio.run(run_episodes(rows, model, setting, [1, 2, 3]))
    assert sorted(str(one.ended) for one in found) == ["answered", "answered", "error"]
    (failed,) = [one for one in found if one.ended == "error"]
    assert failed.status == "error" and str(failed.detail).startswith("ValueError: loop (test_episode.py")
    assert sum(failed.response_mask) == len(failed.response_ids) > 0, "its tokens are kept"
    assert counted.created == counted.released == 3


def test_an_unknown_agent_tool_or_interaction_is_an_error_before_anything_runs(tokenizer: Any) -> None:
    setting = EpisodeSetup(PLENTY, Transcript(tokenizer), {"echo": Echo}, {"teacher": Teacher})
    cases = {
        "did you mean tool_agent?": EpisodeRow(ASKED, agent_name="tool_agnet"),
        "did you mean echo?": EpisodeRow(
            ASKED, extra_info={"tool_selection": ["ecoh"]}, agent_name="tool_agent"
        ),
        "did you mean teacher?": EpisodeRow(
            ASKED, extra_info={"interaction_kwargs": '{"name": "teecher"}'}, agent_name="tool_agent"
        ),
    }
    for hint, row in cases.items():
        model = Script(tokenizer, ["a"])
        with pytest.raises(InputError, match=r"^row 1: ") as error:
            asyncio.run(run_episodes([EpisodeRow(ASKED), row], model, setting, [1, 2]))
        assert hint in str(error.value)
        assert not model.asked


def test_a_model_that_speaks_in_messages_keeps_its_tokens(tokenizer: Any) -> None:
    class Chat:
        def __init__(self) -> None:
            self.asked: list[Any] = []

        async def chat(self, messages: Any, tools: Any, *, seed: int, max_tokens: int) -> Reply:
            self.asked.append((list(messages), list(tools), seed, max_tokens))
            text = call_of("echo", text="42") if len(self.asked) == 1 else "It is 42."
            return Reply(text, tokens=30)

    model = Chat()
    setting = EpisodeSetup(EpisodeLimits(100), None, {"echo": Echo}, default_agent="tool_agent")
    episode = asyncio.run(run_episode(EpisodeRow(ASKED), model, setting))
    assert (episode.ended, episode.answer, episode.response_ids) == ("answered", "It is 42.", [])
    messages, tools, _, left = model.asked[1]
    assert [one["role"] for one in messages] == ["user", "assistant", "tool"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]
    assert [one["function"]["name"] for one in tools] == ["echo"]
    assert left == 70
