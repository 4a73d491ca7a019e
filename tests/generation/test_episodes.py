"""`rewardkit generate` with episodes: turns, tools and interactions, on an endpoint and on a local engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.agents.registry import AGENTS
from rewardkit.cli import run
from rewardkit.generation.answer_prompts import answer_prompts
from rewardkit.generation.types import (
    EngineSettings,
    EpisodeRow,
    EpisodeSettings,
    GenerationSettings,
)
from tests.agents.environments.served import game_server
from tests.generation.endpoints import Answer, Endpoint
from tests.trainer.running import run_module

QUESTIONS = [f"What is {i} + {i}?" for i in range(6)]


class Chat(Endpoint):
    """A server that calls the calculator on a question, and says what it is told."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        super().__init__()

    def answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        self.asked.append(body)
        return 200, self.says(body), {}

    counts = True

    def says(self, body: dict[str, Any]) -> dict[str, Any]:
        last = body["messages"][-1]
        message: dict[str, Any] = {"role": "assistant", "content": f"#### {last['content']}"}
        if last["role"] == "user" and body.get("tools"):
            expression = last["content"].removeprefix("What is ").removesuffix("?")
            function = {"name": "calculator", "arguments": json.dumps({"expression": expression})}
            message |= {
                "content": None,
                "tool_calls": [{"id": "a1", "type": "function", "function": function}],
            }
        elif last["content"] == "No.":
            message["content"] = "#### 0"
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        counted = {"usage": usage} if self.counts else {}
        return {"choices": [{"message": message, "finish_reason": "stop"}], **counted}


@pytest.fixture
def chat() -> Iterator[Chat]:
    with closing(Chat()) as server:
        yield server


def prompts_of(path: Path, **columns: Any) -> Path:
    number = len(QUESTIONS)
    given = {
        "data_source": ["gsm8k"] * number,
        "prompt": [[{"role": "user", "content": question}] for question in QUESTIONS],
        "ground_truth": [str(2 * i) for i in range(number)],
    }
    pq.write_table(pa.table({**given, **columns}), path)
    return path


def generated(prompts: Path, out: Path, *words: str) -> list[dict[str, Any]]:
    assert run(["generate", str(prompts), "--out", str(out), *words]) == 0
    rows: list[dict[str, Any]] = pq.read_table(out).to_pylist()
    return rows


def test_a_model_behind_a_server_calls_tools(
    chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extra = [{"tools_kwargs": {"calc_gsm8k_reward": {"create_kwargs": {"ground_truth": "4"}}}}] * 6
    agents = ["tool_agent"] * 5 + ["single_turn_agent"]
    prompts = prompts_of(tmp_path / "p.parquet", agent_name=agents, extra_info=extra)
    words = ["--url", chat.url, "--model", "m", "--tools", "calculator", "-n", "2", "--score"]
    rows = generated(prompts, tmp_path / "a.parquet", *words)
    said = capsys.readouterr()
    assert "episodes ended: 12 answered" in said.out
    assert "single_turn_agent" not in said.err, "it is what rows have that name no agent"
    assert "ignored: calc_gsm8k_reward" in said.err
    for i, row in enumerate(rows):
        assert row["responses"] == [f"#### {2 * i}"] * 2
        assert row["ended"] == ["answered"] * 2
        assert row["score"] == [1.0] * 2
        assert (row["prompt_tokens"], row["response_tokens"]) == ([20, 20], [10, 10])
        first, heard, last = row["turns"][0]
        assert (first["role"], heard["role"], last["role"]) == ("assistant", "tool", "assistant")
        assert (first["tokens"], heard["tokens"], last["tokens"]) == (5, None, 5)
        assert json.loads(first["calls"][0]) == {
            "name": "calculator",
            "arguments": {"expression": f"{i} + {i}"},
        }
        assert (heard["text"], heard["statuses"]) == (str(2 * i), ["ok"])
        assert row["turn_rewards"][0] == [None, None]


def test_what_the_command_says_goes_before_what_rows_say(
    chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = prompts_of(tmp_path / "p.parquet", agent_name=["tool_agent"] * 6)
    words = ["--url", chat.url, "--model", "m", "--agent", "single_turn_agent"]
    assert [len(row["turns"][0]) for row in generated(prompts, tmp_path / "a.parquet", *words)] == [1] * 6
    words += ["--tools", "calculator", "--out", str(tmp_path / "b.parquet")]
    assert run(["generate", str(prompts), *words]) == 2
    assert "row has an agent" in capsys.readouterr().err


def test_a_tool_that_exits_has_failed_and_the_run_goes_on(chat: Chat, tmp_path: Path) -> None:
    tool = tmp_path / "exits.py"
    tool.write_text(
        "import sys\nfrom rewardkit.agents.tools.declare import tool\n"
        '@tool\ndef calculator(expression: str) -> str:\n    """Exits."""\n    sys.exit(\'no arguments\')\n'
    )
    words = ["--url", chat.url, "--model", "m", "--tools", f"{tool}:calculator"]
    rows = generated(prompts_of(tmp_path / "p.parquet"), tmp_path / "a.parquet", *words)
    heard = [row["turns"][0][1] for row in rows]
    assert {tuple(turn["statuses"]) for turn in heard} == {("error",)}
    assert all("exit the process" in turn["text"] for turn in heard)


def test_an_interaction_answers_until_it_is_content(chat: Chat, tmp_path: Path) -> None:
    def says(body: dict[str, Any]) -> dict[str, Any]:
        right = len(body["messages"]) > 1
        message = {"role": "assistant", "content": "#### 42" if right else "#### 41"}
        return {"choices": [{"message": message, "finish_reason": "stop"}]}

    chat.says = says  # type: ignore[method-assign]
    of_row = {"interaction_kwargs": {"name": "gsm8k", "ground_truth": "42"}}
    filled = {"interaction_kwargs": {"name": "", "ground_truth": ""}}  # as `prep` fills rows of tools
    extra = [of_row, filled, None] * 2
    prompts = prompts_of(tmp_path / "p.parquet", extra_info=extra, ground_truth=["42"] * 6)
    words = ["--url", chat.url, "--model", "m", "--interactions", "gsm8k", "--score"]
    rows = generated(prompts, tmp_path / "a.parquet", *words)
    assert [row["ended"] for row in rows] == [["done"]] * 6
    assert [row["score"] for row in rows] == [[1.0]] * 6
    assert [len(row["turns"][0]) for row in rows] == [3] * 6, "what it says at the end nobody reads"
    assert [row["turn_rewards"][0][-1] for row in rows] == [1.0] * 6


def test_what_no_row_uses_is_refused_before_anything_is_asked(
    chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = tmp_path / "agents.yaml"
    agents.write_text(f"- name: external\n  command: [{sys.executable}]\n")
    several = tmp_path / "several.yaml"
    several.write_text(
        "interaction:\n- {name: gsm8k, class_name: gsm8k}\n- {name: other, class_name: gsm8k}\n"
    )
    named = [{"interaction_kwargs": {"name": "gsm8k"}}] * 6
    single = {"agent_name": ["math_expression"] * 6}
    selects = [{"tool_selection": ["search"]}] * 6
    for columns, words, message in (
        (single, ["--tools", "calculator"], "--tools: no row uses the tool 'calculator'"),
        ({"extra_info": selects}, ["--tools", "calculator"], "there is no tool 'search'"),
        (single, ["--interactions", "gsm8k"], "--interactions: no row uses the interaction 'gsm8k'"),
        ({"extra_info": named}, ["--interactions", str(several)], "no row uses the interaction 'other'"),
        ({}, ["--interactions", str(several)], "names none of this run's interactions"),
        ({"extra_info": named}, [], "this run is given no interactions"),
        (single, ["--env", "ors:http://127.0.0.1:9"], "--env: no row uses the environment"),
        ({}, ["--agent-file", str(agents)], "--agent-file: no row uses the agent 'external'"),
    ):
        prompts = prompts_of(tmp_path / "p.parquet", **columns)
        out = tmp_path / "a.parquet"
        server = ["--url", chat.url, "--model", "m", "--out", str(out)]
        assert run(["generate", str(prompts), *server, *words]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert message in line
        assert not out.exists()
    assert not chat.asked


def test_what_verl_s_config_says_of_agents_is_a_default(chat: Chat, tmp_path: Path) -> None:
    config = tmp_path / "generation.yaml"
    config.write_text("rollout: {agent: {default_agent_loop: single_turn_agent}}\n")
    prompts = prompts_of(tmp_path / "p.parquet", agent_name=["tool_agent", "single_turn_agent", None] * 2)
    words = ["--config", str(config), "--url", chat.url, "--model", "m", "--tools", "calculator"]
    rows = generated(prompts, tmp_path / "a.parquet", *words)
    assert [len(row["turns"][0]) for row in rows] == [3] * 6


def test_a_call_with_half_a_character_is_kept(chat: Chat, tmp_path: Path) -> None:
    usual = chat.says

    def says(body: dict[str, Any]) -> dict[str, Any]:
        answer = usual(body)
        for call in answer["choices"][0]["message"].get("tool_calls", ()):
            call["function"]["arguments"] = '{"expression": "\\ud800"}'
        return answer

    chat.says = says  # type: ignore[method-assign]
    words = ["--url", chat.url, "--model", "m", "--tools", "calculator"]
    rows = generated(prompts_of(tmp_path / "p.parquet"), tmp_path / "a.parquet", *words)
    assert rows[0]["turns"][0][1]["statuses"] == ["bad_call"]


def test_a_loop_of_a_users_own_rewards_its_turns(chat: Chat, tmp_path: Path) -> None:
    loop = tmp_path / "mine.py"
    loop.write_text(
        "from rewardkit.agents.registry import agent\n"
        "@agent('twice', tools='none')\n"
        "async def twice(episode):\n"
        "    await episode.generate()\n"
        "    episode.reward(0.25)\n"
        "    await episode.append([{'role': 'user', 'content': 'No.'}])\n"
        "    await episode.generate()\n"
        "    episode.reward(0.5)\n"
    )
    prompts = prompts_of(tmp_path / "p.parquet")
    words = ["--url", chat.url, "--model", "m", "--agent", f"{loop}:twice"]
    rows = generated(prompts, tmp_path / "a.jsonl.parquet", *words)
    assert [row["turn_rewards"] for row in rows] == [[[0.25, 0.5]]] * 6
    assert [row["responses"] for row in rows] == [["#### 0"]] * 6
    assert "tools" not in chat.asked[0]


def test_what_there_is_not_is_said_before_anything_is_asked(
    chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.parquet"
    cases: dict[str, tuple[dict[str, Any], list[str]]] = {
        "did you mean tool_agent": (
            {"agent_name": [None, None, "tool_agnet", None, None, None]},
            [],
        ),
        "did you mean calculator": ({}, ["--tools", "calculater"]),
        "hermes": ({}, ["--tools", "calculator", "--tool-format", "hermess"]),
        "row 0: there is no tool": (
            {"extra_info": [{"tool_selection": ["serach"]}] * 6},
            ["--tools", "calculator"],
        ),
    }
    for said, (columns, words) in cases.items():
        prompts = prompts_of(tmp_path / "p.parquet", **columns)
        assert (
            run(["generate", str(prompts), "--out", str(out), "--url", chat.url, "--model", "m", *words]) == 2
        )
        assert said in capsys.readouterr().err
    assert not chat.asked


def test_a_loop_that_raises_writes_nothing_and_is_tried_again(
    chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = tmp_path / "mended"
    loop = tmp_path / "breaks.py"
    loop.write_text(
        "from pathlib import Path\n"
        "async def loop(episode):\n"
        "    reply = await episode.generate()\n"
        f"    if '3 + 3' in reply.text and not Path({str(flag)!r}).exists():\n"
        "        raise ValueError('not so')\n"
    )
    prompts = prompts_of(tmp_path / "p.parquet")
    out = tmp_path / "a.parquet"
    words = ["generate", str(prompts), "--out", str(out), "--url", chat.url, "--model", "m"]
    words += ["--agent", f"{loop}:loop"]
    assert run(words) == 1
    assert "row 3: the episode ended: ValueError" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()
    flag.touch()
    chat.asked.clear()
    assert run([*words, "--resume"]) == 0
    assert len(chat.asked) == 1
    assert pq.read_table(out).column("ended").to_pylist() == [["answered"]] * 6


def test_view_shows_turns_as_a_chat(chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = prompts_of(tmp_path / "p.parquet")
    out = tmp_path / "a.parquet"
    generated(prompts, out, "--url", chat.url, "--model", "m", "--tools", "calculator", "--score")
    capsys.readouterr()
    assert run(["view", str(out), "--row", "3"]) == 0
    shown = capsys.readouterr().out
    assert "[assistant] calls calculator" in shown
    assert "calculator(" in shown and ": ok] 6" in shown
    assert "[assistant] #### 6" in shown
    assert run(["view", str(out), "--html", str(tmp_path / "page.html")]) == 0


def test_tokens_that_an_endpoint_does_not_count_are_absent(chat: Chat, tmp_path: Path) -> None:
    chat.counts = False
    words = ["--url", chat.url, "--model", "m", "--tools", "calculator"]
    for row in generated(prompts_of(tmp_path / "p.parquet"), tmp_path / "a.parquet", *words):
        assert (row["prompt_tokens"], row["response_tokens"]) == ([None], [None])
        assert [turn["tokens"] for turn in row["turns"][0]] == [None, None, None]


# --- a local engine --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    from rewardkit.demo.model import make_model, make_tokenizer, save

    tokenizer = make_tokenizer([*QUESTIONS, "1+2=3\n#### 3"], vocab_size=320)
    folder = tmp_path_factory.mktemp("tiny") / "model"
    save(make_model(tokenizer, seed=0), tokenizer, folder)
    return folder


@pytest.mark.slow
def test_episodes_run_between_the_steps_of_vllm(model_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("vllm")
    loop = tmp_path / "two.py"
    loop.write_text(
        "async def two(episode):\n"
        "    await episode.generate()\n"
        "    await episode.append([{'role': 'user', 'content': 'again'}])\n"
        "    await episode.generate()\n"
    )
    prompts = prompts_of(tmp_path / "p.parquet")
    words = ["--model", str(model_folder), "--engine", "vllm", "--dtype", "float32", "--log-probs"]
    words += ["--max-prompt-tokens", "64", "--max-tokens", "64", "--max-turn-tokens", "8", "-n", "2"]
    words += ["--agent", f"{loop}:two", "--out", str(tmp_path / "a.parquet")]
    run_module("rewardkit", "generate", prompts, *words, timeout=800)
    for row in pq.read_table(tmp_path / "a.parquet").to_pylist():
        assert row["ended"] == ["answered"] * 2
        for turns, tokens, log_probs in zip(
            row["turns"], row["response_tokens"], row["log_probs"], strict=True
        ):
            assert [turn["role"] for turn in turns] == ["assistant", "user", "assistant"]
            assert tokens == turns[0]["tokens"] + turns[2]["tokens"] == len(log_probs) <= 16
            assert max(log_probs) < 0


def test_episodes_on_a_local_model_are_the_same_after_an_interruption(
    model_folder: Path, tmp_path: Path
) -> None:
    loop = tmp_path / "three.py"
    loop.write_text(
        "from pathlib import Path\n"
        "async def three(episode):\n"
        "    for said in ('one', 'two'):\n"
        "        reply = await episode.generate()\n"
        f"        if said == 'two' and '35 +' in str(episode.messages) and Path({str(tmp_path / 'kill')!r}).exists():\n"
        "            raise SystemExit(9)\n"
        "        await episode.append([{'role': 'user', 'content': said + reply.text[:2]}])\n"
        "    await episode.generate()\n"
    )
    name = AGENTS.resolve(f"{loop}:three").name
    prompts = [[{"role": "user", "content": f"What is {i} + {i}?"}] for i in range(40)]
    rows = [EpisodeRow(one, "gsm8k", "", {}, name) for one in prompts]
    episodes = EpisodeSettings(name, max_turn_tokens=6)
    settings = GenerationSettings(max_tokens=48, log_probs=True, episodes=episodes)
    engine = EngineSettings("hf", str(model_folder), dtype="float32")
    _, whole, report = answer_prompts(prompts, tmp_path / "a.parquet", engine, settings, episodes=rows)
    assert sum(report.ended.values()) == 40
    for one in whole.values():
        assert one.episode is not None
        own = [turn for turn in one.episode.turns if turn.role == "assistant"]
        assert one.response_tokens == sum(turn.tokens for turn in own) == len(one.log_probs or ())
    out = tmp_path / "b.parquet"
    (tmp_path / "kill").touch()
    with pytest.raises(SystemExit):
        answer_prompts(prompts, out, engine, settings, episodes=rows)
    (tmp_path / "kill").unlink()
    _, resumed, report = answer_prompts(prompts, out, engine, settings, episodes=rows, resume=True)
    assert report.resumed == 32, "the slice that was done"
    assert resumed == whole


def test_a_command_plays_episodes_on_a_local_model(model_folder: Path, tmp_path: Path) -> None:
    player = tmp_path / "player.py"
    player.write_text(
        "import json, os, sys, urllib.request\n"
        "body = json.dumps({'model': 'm', 'messages': json.load(sys.stdin)['prompt']}).encode()\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "told = {'content-type': 'application/json'}\n"
        "urllib.request.urlopen(urllib.request.Request(url, body, told)).read()\n"
    )
    agents = tmp_path / "agents.yaml"
    agents.write_text(f"- name: external\n  command: [{sys.executable}, {player}]\n")
    words = ["--model", str(model_folder), "--engine", "hf", "--dtype", "float32", "--max-tokens", "16"]
    words += ["--agent", "external", "--agent-file", str(agents)]
    rows = generated(prompts_of(tmp_path / "p.parquet"), tmp_path / "a.parquet", *words)
    assert all(turn["role"] == "assistant" for row in rows for turn in row["turns"][0])
    assert {row["ended"][0] for row in rows} <= {"answered", "response_tokens"}


def test_an_environment_is_played_and_scores_what_came_of_it(tmp_path: Path) -> None:
    class Player(Chat):
        def says(self, body: dict[str, Any]) -> dict[str, Any]:
            digit = {"Which digit?": "6", "No.": "7"}.get(body["messages"][-1]["content"], "7")
            function = {
                "name": body["tools"][0]["function"]["name"],
                "arguments": json.dumps({"digit": digit}),
            }
            call = {"id": "a1", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            return {"choices": [{"message": message, "finish_reason": "stop"}]}

    columns: dict[str, Any] = {
        "data_source": ["env/digits"] * 6,
        "extra_info": [{"split": "train", "index": i + 4} for i in range(6)],
        "agent_name": ["env"] * 6,
    }
    prompts = prompts_of(tmp_path / "p.parquet", **columns)
    pq.write_table(pq.read_table(prompts).drop_columns("ground_truth"), prompts)
    with closing(Player()) as chat, game_server() as game:
        words = ["--url", chat.url, "--model", "m", "--score", "--max-assistant-turns", "3"]
        rows = generated(prompts, tmp_path / "a.parquet", *words, "--env", f"ors:{game.url}")
    scored_later = tmp_path / "later.parquet"
    assert run(["score", str(tmp_path / "a.parquet"), "--prefix", "later_", "--out", str(scored_later)]) == 0
    assert [row["later_score"] for row in pq.read_table(scored_later).to_pylist()] == [
        row["score"] for row in rows
    ]
    assert [row["score"] for row in rows] == [[0.0], [0.0], [1.0], [1.0], [0.5], [0.0]]
    assert [row["ended"][0] for row in rows].count("done") == 2
    assert rows[3]["turn_rewards"] == [[0.5, 1.0]]

    class Last(Player):
        def says(self, body: dict[str, Any]) -> dict[str, Any]:
            stack.close()
            return super().says(body)

    with closing(Last()) as chat, ExitStack() as stack:
        game = stack.enter_context(game_server())
        gone = ["generate", str(prompts), "--out", str(tmp_path / "b.parquet"), "--env", f"ors:{game.url}"]
        assert run([*gone, *words[2:], "--url", chat.url]) == 1  # nothing could be scored
    lost = pq.read_table(tmp_path / "b.parquet").to_pylist()
    assert {row["status"][0] for row in lost} == {"error"}
    assert all(game.url in row["detail"][0] for row in lost)  # why the episode failed, not only how it ended


@pytest.mark.parametrize("kind", ["ors", "openenv"])
def test_an_environment_that_cannot_be_reached_is_found_before_the_model(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine was started first, and each response then failed."""
    tasks = [{"split": "train", "index": i} for i in range(6)]
    prompts = prompts_of(tmp_path / "p.parquet", extra_info=tasks)
    words = ["--model", "m", "--env", f"{kind}:http://127.0.0.1:9", "--out", str(tmp_path / "a.parquet")]
    with closing(Chat()) as chat:
        for command in ("generate", "eval"):
            assert run([command, str(prompts), "--url", chat.url, *words]) == 2
            assert "127.0.0.1:9" in capsys.readouterr().err
        assert chat.asked == []
    assert list(tmp_path.iterdir()) == [prompts]
