"""A table of histories: what is scored, and what is trained on.

Each program is written as people write theirs. The table was written before the rule that fulfils it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from rewardkit.agents.endpoint.program import HarnessProgram
from rewardkit.agents.episode import Episode
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import Reply
from tests.agents.conftest import Script, call_of
from tests.agents.endpoint.playing import ECHO, chat, play, post

Program = Callable[[str, list[Any]], Awaitable[Any]]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


async def answer_then_check(base_url: str, prompt: list[Any]) -> None:
    said = await chat(base_url, prompt)
    await chat(base_url, [*prompt, said, user("Is this fine?")])


async def answer_then_check_and_say_so(base_url: str, prompt: list[Any]) -> None:
    said = await chat(base_url, prompt)
    await chat(base_url, [*prompt, said, user("Is this fine?")])
    await post(base_url, "/complete", {"answer": said["content"]})


async def guard(base_url: str, prompt: list[Any]) -> None:
    said = await chat(base_url, prompt)
    await chat(base_url, [user(f"Is this fine? {said['content']}")])
    await post(base_url.removesuffix("/v1"), "/complete", {"answer": said["content"]})


async def guard_that_is_not_trained(base_url: str, prompt: list[Any]) -> None:
    _, first = await post(base_url, "/chat/completions", {"messages": prompt})
    said = first["choices"][0]["message"]
    await chat(base_url, [user(f"Is this fine? {said['content']}")])
    done = {"reward": 0.25, "metrics": {"steps": 2}, "train": [first["id"]]}
    await post(base_url, "/complete", done)


async def sub_agent(base_url: str, prompt: list[Any]) -> None:
    asked = await chat(base_url, prompt, tools=[ECHO])
    found = await chat(base_url, [user("Say it.")])
    heard = {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": found["content"]}
    await chat(base_url, [*prompt, asked, heard], tools=[ECHO])


async def hang_up(base_url: str, messages: Sequence[Any], seconds: float = 0.1) -> None:
    """Ask, and close the connection before the answer is there, as clients do at their time limit."""
    limit = aiohttp.ClientTimeout(total=seconds)
    async with aiohttp.ClientSession(timeout=limit) as session:
        with pytest.raises(TimeoutError):
            await session.post(f"{base_url}/chat/completions", json={"messages": messages})


async def hang_up_and_ask_again(base_url: str, prompt: list[Any]) -> None:
    await hang_up(base_url, prompt)
    assert (await post(base_url, "/chat/completions", {"messages": prompt}))[0] == 200


async def hang_up_and_ask_otherwise(base_url: str, prompt: list[Any]) -> None:
    await hang_up(base_url, prompt)
    await chat(base_url, [user("Shorter: 12 + 30?")])


async def hang_up_at_the_end(base_url: str, prompt: list[Any]) -> None:
    said = await chat(base_url, prompt)
    await hang_up(base_url, [*prompt, said, user("Are you sure?")])
    await asyncio.sleep(0.5)


async def resend(base_url: str, prompt: list[Any]) -> None:
    """The first answer arrived, but the program could not read it."""
    await chat(base_url, prompt)
    said = await chat(base_url, prompt)
    await chat(base_url, [*prompt, said, user("Sure?")])


async def reject(base_url: str, prompt: list[Any]) -> None:
    """A turn without a call is left out of the history, and only the complaint stays."""
    await chat(base_url, prompt)
    await chat(base_url, [*prompt, user("Use a tool.")])


async def best_of_three(base_url: str, prompt: list[Any]) -> None:
    said = [await chat(base_url, prompt) for _ in range(3)]
    await chat(base_url, [*prompt, said[1], user("Go on.")])


async def vote(base_url: str, prompt: list[Any]) -> None:
    """Two of three answers are shown to a judge."""
    said = await asyncio.gather(*(chat(base_url, prompt) for _ in range(3)))
    shown = sorted(one["content"] for one in said)[:2]
    await chat(base_url, [user(f"Which is better? {shown[0]} or {shown[1]}")])


async def compaction(base_url: str, prompt: list[Any]) -> None:
    """The first summary is refused, the second begins the new history."""
    said = await chat(base_url, prompt)
    history = [*prompt, said, user("Summarise.")]
    await chat(base_url, history)
    summary = await chat(base_url, history)
    await chat(base_url, [user(f"So far: {summary['content']}")])


async def streaming(base_url: str, prompt: list[Any]) -> None:
    status, text = await post(base_url, "/chat/completions", {"messages": prompt, "stream": True})
    assert status == 200 and "It is 1." in text
    await chat(base_url, [*prompt, {"role": "assistant", "content": "It is 1."}, user("Sure?")])


ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}


async def forced_tool(base_url: str, prompt: list[Any]) -> None:
    """By name, and then any of two, as structured output is asked for by many harnesses."""
    named = {"type": "function", "function": {"name": "echo"}}
    said = await chat(base_url, prompt, tools=[ECHO, ADD], tool_choice=named)
    call = said["tool_calls"][0]
    assert (call["function"]["name"], call["function"]["arguments"]) == ("echo", '{"text": "a"}')
    heard = {"role": "tool", "tool_call_id": call["id"], "content": "a"}
    said = await chat(base_url, [*prompt, said, heard], tools=[ECHO, ADD], tool_choice="required")
    assert said["tool_calls"][0]["function"]["name"] == "add"


async def final_answer_without_tools(base_url: str, prompt: list[Any]) -> None:
    """As smolagents asks when its steps are used up."""
    said = await chat(base_url, prompt, tools=[ECHO])
    heard = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "a"}
    await chat(base_url, [*prompt, said, heard, user("Answer now.")])


async def structured_output(base_url: str, prompt: list[Any]) -> None:
    form = {"name": "answer", "schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    await chat(base_url, prompt, response_format={"type": "json_schema", "json_schema": form}, min_tokens=2)


async def parallel(base_url: str, prompt: list[Any]) -> None:
    said = [await chat(base_url, [user(f"{i}?")]) for i in range(2)]
    more = zip(range(2), said, strict=True)
    await asyncio.gather(*(chat(base_url, [user(f"{i}?"), one, user("More.")]) for i, one in more))


@dataclass(frozen=True)
class Wanted:
    answer: str
    """What is scored."""
    trained: list[list[str]]
    """Turns that are trained on, in each branch; the episode's own branch is the last."""
    unused: int = 0
    ended: str = "answered"


ONE, TWO, THREE, FOUR = ("It is 1.", "It is 2.", "It is 3.", "It is 4.")
CALL = call_of("echo", text="a")
HISTORIES: dict[str, tuple[Program, list[str], Wanted]] = {
    "answer then check": (answer_then_check, [ONE, TWO], Wanted(TWO, [[ONE, TWO]])),
    "answer then check, reported": (
        answer_then_check_and_say_so,
        [ONE, TWO],
        Wanted(ONE, [[ONE, TWO]], ended="done"),
    ),
    "guard": (guard, [ONE, TWO], Wanted(ONE, [[TWO], [ONE]], ended="done")),
    "guard that is not trained": (
        guard_that_is_not_trained,
        [ONE, TWO],
        Wanted(TWO, [[ONE], []], unused=1, ended="done"),
    ),
    "sub-agent": (sub_agent, [CALL, TWO, THREE], Wanted(THREE, [[TWO], [CALL, THREE]])),
    "hang-up, the same again": (hang_up_and_ask_again, [ONE, TWO], Wanted(ONE, [[ONE]])),
    "hang-up, something else": (hang_up_and_ask_otherwise, [ONE, TWO], Wanted(TWO, [[TWO]], unused=1)),
    "hang-up at the end": (hang_up_at_the_end, [ONE, TWO], Wanted(ONE, [[ONE]], unused=1)),
    "resend": (resend, [ONE, TWO, THREE], Wanted(THREE, [[TWO, THREE]], unused=1)),
    "reject": (reject, [ONE, TWO], Wanted(TWO, [[TWO]], unused=1)),
    "best of three": (best_of_three, [ONE, TWO, THREE, FOUR], Wanted(FOUR, [[TWO, FOUR]], unused=2)),
    "vote": (vote, [ONE, TWO, THREE, FOUR], Wanted(FOUR, [[ONE], [TWO], [FOUR]], unused=1)),
    "compaction": (compaction, [ONE, TWO, THREE, FOUR], Wanted(FOUR, [[ONE], [THREE], [FOUR]], unused=1)),
    "forced tool": (
        forced_tool,
        ['{"text": "a"}}\n</tool_call>', 'add", "arguments": {}}\n</tool_call>'],
        Wanted(
            '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>',
            [['{"text": "a"}}\n</tool_call>', 'add", "arguments": {}}\n</tool_call>']],
        ),
    ),
    "final answer without tools": (final_answer_without_tools, [CALL, TWO], Wanted(TWO, [[CALL], [TWO]])),
    "structured output": (structured_output, ['{"n": 42}'], Wanted('{"n": 42}', [["n 42}"]])),
    "streaming": (streaming, [ONE, TWO], Wanted(TWO, [[ONE, TWO]])),
    "parallel": (parallel, [ONE, TWO, THREE, FOUR], Wanted(FOUR, [[ONE, THREE], [TWO, FOUR]])),
}


async def by_messages(
    base_url: str, messages: Sequence[Any], *, tools: Sequence[Any] = (), tool_choice: Any = None
) -> dict[str, Any]:
    """Ask by Anthropic's API for what `chat` asks for; return the turn as chat completions have it."""
    asked = []
    for one in messages:
        blocks: list[Any] = [{"type": "text", "text": one["content"]}] if one["content"] else []
        if one["role"] == "tool":
            blocks = [{"type": "tool_result", "tool_use_id": one["tool_call_id"], "content": one["content"]}]
        for call in one.get("tool_calls") or ():
            function = call["function"]
            used = {"name": function["name"], "input": json.loads(function["arguments"])}
            blocks.append({"type": "tool_use", "id": call["id"], **used})
        asked.append({"role": "assistant" if one["role"] == "assistant" else "user", "content": blocks})
    body: dict[str, Any] = {"model": "m", "max_tokens": 500, "messages": asked}
    functions = [one["function"] for one in tools]
    body["tools"] = [{"name": one["name"], "input_schema": one["parameters"]} for one in functions]
    if tool_choice is not None:
        named = tool_choice != "required"
        body["tool_choice"] = (
            {"type": "tool", "name": tool_choice["function"]["name"]} if named else {"type": "any"}
        )
    status, said = await post(base_url, "/messages", body)
    assert status == 200, said
    text = "".join(block["text"] for block in said["content"] if block["type"] == "text")
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    calls = [block for block in said["content"] if block["type"] == "tool_use"]
    if calls:
        message["tool_calls"] = [
            {"id": one["id"], "function": {"name": one["name"], "arguments": json.dumps(one["input"])}}
            for one in calls
        ]
    return message


class Played(Script):
    """A model that is slow at some turns, and whose engine restricts tokens as it is asked to.

    Quotes, colons and the opening brace are then the only choice, and have the log-probability 0.
    """

    constrains = True

    def __init__(self, tokenizer: Any, turns: Sequence[str], slow: Sequence[int]) -> None:
        super().__init__(tokenizer, turns)
        self.slow = slow
        self.constraints: list[Any] = []

    async def generate(self, token_ids: Sequence[int], constraint: Any = None, **asked: Any) -> Reply:
        place = len(self.asked)
        reply = await super().generate(token_ids, **asked)
        if place in self.slow:
            await asyncio.sleep(0.3)
        if constraint is None:
            return reply
        self.constraints.append(constraint)
        texts = [self.tokenizer.decode([one]) for one in reply.token_ids]
        given = [0.0 if set(text) <= set('{": ') else -1.0 for text in texts]
        return replace(reply, log_probs=given)


def trained(episode: Episode) -> list[str]:
    """What is trained on of each turn, without the token that ends it; nothing else is trained on."""
    found = []
    for turn in episode.turns:
        own = [i for i in range(turn.start, turn.end) if episode.response_mask[i]]
        assert turn.role == "assistant" or not own
        assert all(episode.log_probs[i] < 0 for i in own)
        text = episode.speaking.transcript.text_of([episode.response_ids[i] for i in own])
        found += [text] * bool(own)
    own = [i for turn in episode.turns for i in range(turn.start, turn.end) if episode.response_mask[i]]
    assert len(own) == sum(episode.response_mask)
    return found


@pytest.mark.parametrize("dialect", ["chat", "messages"])
@pytest.mark.parametrize("name", HISTORIES)
def test_what_is_scored_and_trained_on_equals_the_table(
    tokenizer: Any, name: str, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dialect == "messages":
        if name == "structured output":
            pytest.skip("Anthropic's API has no field for it that the endpoint takes")
        monkeypatch.setattr(sys.modules[__name__], "chat", by_messages)
    program, turns, wanted = HISTORIES[name]
    slow = {"hang-up, the same again": [0], "hang-up, something else": [0], "hang-up at the end": [1]}
    model = Played(tokenizer, turns, slow.get(name, []))
    episode, _ = play(tokenizer, turns, program, model=model)
    assert (episode.status, episode.detail) == ("ok", None)
    assert (episode.ended, episode.answer) == (wanted.ended, wanted.answer)
    assert [trained(one) for one in [*episode.branches, episode]] == wanted.trained
    assert episode.unused_turns == wanted.unused
    if name == "guard that is not trained":
        assert (episode.interaction_score, dict(episode.metrics)) == (0.25, {"steps": 2.0})
    if name == "structured output":
        (asked,) = model.constraints
        assert (asked["structured_outputs"]["json"]["type"], asked["min_tokens"]) == ("object", 2)


def test_an_engine_that_restricts_no_tokens_says_so_once(
    tokenizer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from rewardkit.agents.endpoint import program_requests

    program_requests._said.clear()
    for _ in range(2):
        episode, _ = play(tokenizer, ['{"n": 42}'], structured_output)
        assert (episode.status, episode.answer) == ("ok", '{"n": 42}')
    assert capsys.readouterr().err.count("are not enforced") == 1


def test_arguments_of_the_chat_template_are_those_of_the_branch(tokenizer: Any) -> None:
    asked: list[dict[str, Any]] = []

    class Rendered(Transcript):
        def render(self, messages: Any, schemas: Any = (), *, prompt: bool = True) -> str:
            asked.append(dict(self.template_kwargs))
            return super().render(messages, schemas, prompt=prompt)

    async def program(base_url: str, prompt: list[Any]) -> None:
        more = {"chat_template_kwargs": {"enable_thinking": False}}
        said = await chat(base_url, prompt, **more)
        await chat(base_url, [*prompt, said, user("Sure?")], **more)
        await chat(base_url, [*prompt, said, user("Really?")])

    episode, _ = play(tokenizer, [ONE, TWO, THREE], program, transcript=Rendered(tokenizer))
    assert [trained(one) for one in [*episode.branches, episode]] == [[ONE, TWO], [THREE]]
    assert {"enable_thinking": False} in asked and asked[-1] == {}


def test_a_failure_that_the_program_reports_is_a_status(tokenizer: Any) -> None:
    async def program(base_url: str, prompt: list[Any]) -> None:
        await chat(base_url, prompt)
        await post(base_url, "/complete", {"status": "timeout", "detail": "the task's grader hung"})
        raise ValueError("and now it is over")

    episode, _ = play(tokenizer, [ONE], program)
    assert (episode.ended, episode.status) == ("error", "timeout")
    assert (episode.detail, episode.interaction_score) == ("the task's grader hung", None)


def test_a_report_that_cannot_be_used_is_refused(tokenizer: Any) -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"reward": "1"}, "reward"),
        ({"reward": float("nan")}, "reward"),
        ({"reward": True}, "reward"),
        ({"answer": 3}, "answer"),
        ({"status": "fine"}, "status"),
        ({"metrics": {"steps": "many"}}, "metrics"),
        ({"train": ["chatcmpl-9"]}, "train"),
        ({"train": "chatcmpl-1"}, "train"),
        ({"score": 1.0}, "score"),
    ]

    async def program(base_url: str, prompt: list[Any]) -> None:
        await chat(base_url, prompt)
        for body, param in bad:
            status, said = await post(base_url, "/complete", body)
            assert (status, said["error"]["param"]) == (400, param)

    episode, _ = play(tokenizer, [ONE], program)
    assert (episode.ended, episode.detail) == ("answered", None)


@pytest.mark.parametrize(("answer", "scored"), [("stdout", "42"), ("turn", "It is 42.")])
def test_the_last_line_of_the_output_is_the_answer_if_it_is_asked_for(
    tokenizer: Any, tmp_path: Path, answer: str, scored: str
) -> None:
    (tmp_path / "program.py").write_text(
        "import json, os, sys, urllib.request\n"
        "body = json.dumps({'messages': json.load(sys.stdin)['prompt']}).encode()\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "request = urllib.request.Request(url, body, {'Content-Type': 'application/json'})\n"
        "urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()\n"
        "print('working ...'); print('42\\n')\n"
    )
    program = HarnessProgram([sys.executable, str(tmp_path / "program.py")], answer=answer)
    episode, _ = play(tokenizer, ["It is 42."], program)
    assert (episode.status, episode.answer) == ("ok", scored)


def clock(names: Sequence[str] = ()) -> Program:
    """A program whose system prompt has the time, or whose tools change, at every request."""

    async def program(base_url: str, prompt: list[Any]) -> None:
        history: list[Any] = list(prompt)
        for i in range(9):
            tools = [{**ECHO, "function": {**ECHO["function"], "name": f"echo{i}"}}] if names else []
            time = "at noon" if names else f"Answer in short sentences. It is 12:00:0{i}."
            system = {"role": "system", "content": time}
            history += [await chat(base_url, [system, *history], tools=tools), user("More.")]

    return program


def test_a_single_change_of_the_history_is_not_told(
    tokenizer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from rewardkit.agents.endpoint import program_requests

    program_requests._said.discard("drift")
    episode, _ = play(tokenizer, [CALL, TWO], final_answer_without_tools)
    assert (episode.status, len(episode.branches)) == ("ok", 1)
    assert "new branches" not in capsys.readouterr().err


@pytest.mark.parametrize(("tools", "shown"), [((), "12:00:01"), (("echo",), "echo1")])
def test_a_history_that_changes_at_every_request_is_told_and_no_score(
    tokenizer: Any, tools: Sequence[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from rewardkit.agents.endpoint import program_requests
    from tests.agents.endpoint.playing import Plays

    program_requests._said.discard("drift")
    episode, _ = play(tokenizer, [ONE], Plays(clock(tools), max_branches=4))
    assert (episode.ended, episode.status) == ("branches", "error")
    told = [line for line in capsys.readouterr().err.splitlines() if "new branches" in line]
    assert len(told) == 1 and shown in told[0]
