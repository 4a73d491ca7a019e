"""What requests ask for besides messages: honoured, or refused as the API refuses."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.agents.conftest import call_of
from tests.agents.endpoint.playing import ECHO, play, post

USER = [{"role": "user", "content": "Go."}]
PICTURE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]
FORCED = {"type": "function", "function": {"name": "echo"}}
CHAT: list[tuple[dict[str, Any], str]] = [
    ({"n": 2}, "n"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": FORCED}, "tool_choice"),
    ({"logprobs": True}, "logprobs"),
    ({"logit_bias": {"1": 5}}, "logit_bias"),
    ({"response_format": {"type": "grammar"}}, "response_format"),
    ({"response_format": {"type": "json_schema"}}, "response_format"),
    ({"min_tokens": -1}, "min_tokens"),
    ({"chat_template_kwargs": "thinking"}, "chat_template_kwargs"),
    ({"functions": [ECHO["function"]]}, "functions"),
    ({"made_up": 1}, "made_up"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": "many"}, "max_tokens"),
    ({"stop": 3}, "stop"),
    ({"tools": [{"type": "web_search"}]}, "tools"),
    ({"tools": {}}, "tools"),
    ({"messages": PICTURE}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "Go."}, "messages"),
    ({"messages": [{"role": "narrator", "content": "Go."}]}, "messages"),
    ({"messages": [*USER, {"role": "assistant", "tool_calls": [{"id": "c"}]}]}, "messages"),
    ({"messages": [*USER, {"role": "assistant", "tool_calls": [{"function": "f"}]}]}, "messages"),
]
RESPONSES: list[tuple[dict[str, Any], str]] = [
    ({"previous_response_id": "resp_9"}, "previous_response_id"),
    ({"previous_response_id": [1]}, "previous_response_id"),
    ({"background": True}, "background"),
    ({"text": {"format": {"type": "grammar"}}}, "text"),
    ({"conversation": "c"}, "conversation"),
    ({"tools": [{"type": "web_search"}]}, "tools"),
    ({"input": [{"type": "input_image"}]}, "input"),
    ({"input": []}, "input"),
    ({"top_logprobs": 3}, "top_logprobs"),
]

MESSAGES: list[tuple[dict[str, Any], str]] = [
    ({"messages": [{"role": "system", "content": "Go."}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages"),
    ({"messages": []}, "messages"),
    ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools"),
    ({"tool_choice": {"type": "tool", "name": "echo"}}, "tool_choice"),
    ({"stop_sequences": 3}, "stop_sequences"),
    ({"mcp_servers": [{"url": "x"}]}, "mcp_servers"),
]


def test_what_would_be_ignored_is_refused_in_the_api_s_form(tokenizer: Any) -> None:
    found = []

    async def program(base_url: str, prompt: list[Any]) -> None:
        apis = (("/chat/completions", "messages", CHAT), ("/responses", "input", RESPONSES))
        for path, key, cases in (*apis, ("/messages", "messages", MESSAGES)):
            for more, param in cases:
                found.append((more, param, *await post(base_url, path, {key: USER, **more})))
        for path, body, wanted in (("/completions", {}, 404), ("/chat/completions", [], 400)):
            status, said = await post(base_url, path, body)
            assert (status, said["error"]["type"]) == (wanted, "invalid_request_error")
        other = base_url.replace("/v1", "0/v1")
        status, said = await post(other, "/chat/completions", {"messages": USER})
        assert (status, said["error"]["code"]) == (400, "episode_ended")
        await post(base_url, "/chat/completions", {"messages": USER})

    episode, model = play(tokenizer, ["It is 42."], program)
    assert (episode.ended, episode.detail) == ("answered", None)
    assert len(model.asked) == 1
    for more, param, status, said in found:
        error = said["error"]
        assert (status, error["type"], error["param"]) == (400, "invalid_request_error", param), more
        assert len(error["message"].splitlines()) == 1
    assert len(found) == len(CHAT) + len(RESPONSES) + len(MESSAGES)


def test_limits_and_stops_of_a_request_are_honoured(tokenizer: Any) -> None:
    said: list[Any] = []

    async def program(base_url: str, prompt: list[Any]) -> None:
        given: list[dict[str, Any]] = [
            {"max_tokens": 2},
            {"stop": ["is"]},
            {
                "stop": "never",
                "max_completion_tokens": 90,
                "temperature": 0.0,
                "logit_bias": {},
                "user": "me",
            },
            {"tools": [ECHO], "parallel_tool_calls": False},
            {"tools": [ECHO], "tool_choice": "none"},
        ]
        for number, more in enumerate(given):
            asked = [{"role": "user", "content": f"Go {number}."}]
            said.append((await post(base_url, "/chat/completions", {"messages": asked, **more}))[1])
        _, cut = await post(base_url, "/responses", {"input": "Go.", "max_output_tokens": 2})
        assert (cut["status"], cut["incomplete_details"]) == (
            "incomplete",
            {"reason": "max_output_tokens"},
        )

    two = call_of("echo", text="1") + call_of("echo", text="2")
    episode, model = play(tokenizer, ["It is 42.", "It is 42.", "It is 42.", two, "It is 42."], program)
    choices = [one["choices"][0] for one in said]
    assert [one["finish_reason"] for one in choices] == ["length", "stop", "stop", "tool_calls", "stop"]
    assert [one["max_tokens"] for one in model.asked][::5] == [2, 2]
    assert [choices[i]["message"]["content"] for i in (1, 2, 4)] == ["It ", "It is 42.", "It is 42."]
    assert [call["function"]["arguments"] for call in choices[3]["message"]["tool_calls"]] == [
        '{"text": "1"}'
    ]
    assert said[0]["usage"]["completion_tokens"] == 2
    stopped = [*episode.branches, episode][1]
    assert stopped.speaking.transcript.text_of(stopped.response_ids) == "It is"  # what completed the stop too


def test_a_request_that_is_sent_again_is_one_turn_and_says_so_by_its_marks(tokenizer: Any) -> None:
    async def program(base_url: str, prompt: list[Any]) -> None:
        body = {"messages": prompt}
        first = await post(base_url, "/chat/completions", body)
        again = await post(base_url, "/chat/completions", body, **{"x-stainless-retry-count": "1"})
        assert again[1]["choices"] == first[1]["choices"]
        for _ in range(2):
            await post(base_url, "/chat/completions", body, **{"Idempotency-Key": "k"})
        await post(base_url, "/chat/completions", body)

    episode, model = play(tokenizer, ["1", "2", "3"], program)
    assert len(model.asked) == 3
    assert (episode.answer, episode.branches, episode.unused_turns) == ("3", [], 2)


def test_requests_at_once_are_turns_one_after_the_other(tokenizer: Any) -> None:
    async def program(base_url: str, prompt: list[Any]) -> None:
        asked = [{"messages": [{"role": "user", "content": str(i)}]} for i in range(5)]
        found = await asyncio.gather(*(post(base_url, "/chat/completions", body) for body in asked))
        assert [status for status, _ in found] == [200] * 5

    episode, _ = play(tokenizer, ["1"], program)
    assert len(episode.branches) == 4


SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-agents 0.24": ("/responses", {"include": [], "instructions": "You add."}),
    "pydantic-ai 2.68": ("/responses", {"stream": False, "instructions": "You add.", "tool_choice": "auto"}),
    "langchain-openai 1.7": ("/chat/completions", {"stream": False}),
    "verifiers 0.4": ("/chat/completions", {"stream": True, "stream_options": {"include_usage": True}}),
}
"""Fields that public harnesses send beside the messages and tools, as seen from the packages themselves."""


@pytest.mark.parametrize("name", SENT)
def test_the_requests_of_a_public_harness_are_one_history(tokenizer: Any, name: str) -> None:
    path, fields = SENT[name]
    call = {"name": "echo", "arguments": '{"text":"a"}'}
    if path == "/responses":
        key, tools = "input", [{"type": "function", "strict": True, **ECHO["function"]}]
        text = {"type": "output_text", "text": "I look. ", "annotations": []}
        said = [
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [text]},
            {"type": "function_call", "call_id": "call_1_0", "id": "fc_1_0", **call},
            {"type": "function_call_output", "call_id": "call_1_0", "output": "a"},
        ]
    else:
        key, tools = "messages", [ECHO]
        calls = [{"type": "function", "id": "call_1_0", "function": call}]
        said = [
            {"role": "assistant", "content": "I look. ", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "call_1_0", "content": "a"},
        ]

    async def program(base_url: str, prompt: list[Any]) -> None:
        for messages in (prompt, [*prompt, *said]):
            body = {"model": "policy", key: messages, "tools": tools, **fields}
            status, answer = await post(base_url, path, body)
            assert status == 200, answer

    turns = ["I look. " + call_of("echo", text="a"), "It is 42."]
    episode, _ = play(tokenizer, turns, program)
    assert (episode.status, episode.detail, episode.branches) == ("ok", None, [])
    assert [turn.role for turn in episode.turns] == ["assistant", "tool", "assistant"]
    assert episode.answer == turns[-1]


def test_a_stream_ends_with_its_usage_where_that_is_asked_for(tokenizer: Any) -> None:
    async def program(base_url: str, prompt: list[Any]) -> None:
        body = {"messages": prompt, "stream": True, "stream_options": {"include_usage": True}}
        _, text = await post(base_url, "/chat/completions", body)
        lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        assert lines[-1] == "[DONE]"
        assert json.loads(lines[-2])["usage"]["total_tokens"] > 0
        assert json.loads(lines[-3])["choices"][0]["finish_reason"] == "stop"

    assert play(tokenizer, ["It is 42."], program)[0].detail is None


def test_calls_that_cannot_be_read_stay_text(tokenizer: Any) -> None:
    bad = "<tool_call>\n{not json}\n</tool_call>"

    async def program(base_url: str, prompt: list[Any]) -> None:
        _, said = await post(base_url, "/chat/completions", {"messages": prompt, "tools": [ECHO]})
        message = said["choices"][0]["message"]
        assert "tool_calls" not in message
        assert "{not json}" in message["content"]
        more = [*prompt, message, {"role": "user", "content": "No."}]
        await post(base_url, "/chat/completions", {"messages": more, "tools": [ECHO]})

    episode, _ = play(tokenizer, [bad, "It is 42."], program)
    assert (episode.detail, episode.branches) == (None, [])


def test_an_engine_that_fails_ends_the_episode_as_an_error(tokenizer: Any) -> None:
    def breaks(ids: Any) -> str:
        raise ValueError("the engine is broken")

    async def program(base_url: str, prompt: list[Any]) -> None:
        status, _ = await post(base_url, "/chat/completions", {"messages": prompt})
        assert status == 400
        await asyncio.sleep(60)

    episode, _ = play(tokenizer, [breaks], program)
    assert (episode.ended, episode.status) == ("error", "error")
    assert "the engine is broken" in str(episode.detail)
    with pytest.raises(IndexError):
        episode.branches[0]
