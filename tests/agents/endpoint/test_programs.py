"""Programs that do what programs do: end well or not, hang, never ask, leave children behind."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.agent_files import register_agents
from rewardkit.agents.endpoint.program import HarnessProgram
from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.registry import AGENTS
from rewardkit.agents.resolving import EpisodeSetup, resolve_rows
from rewardkit.agents.runner import run_episodes
from rewardkit.agents.transcript import Transcript
from rewardkit.errors import ConfigError, InputError
from tests.agents.conftest import Script
from tests.agents.endpoint.playing import ASKED, PLENTY, chat, give, play

HEAD = """
import json, os, sys, time, urllib.request
def ask(messages, **more):
    body = json.dumps({"messages": messages, **more}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    key = "Bearer " + os.environ["OPENAI_API_KEY"]
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", "Authorization": key})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return json.load(opener.open(request, timeout=60))["choices"][0]["message"]
row = json.load(sys.stdin)
prompt = row["prompt"]
exec(row["extra_info"]["code"])
"""
CASES = {
    "ends well": ("ask(prompt)", "answered", "ok", None),
    "fails": (
        "ask(prompt); print('what a pity', file=sys.stderr); sys.exit(3)",
        *("error", "error"),
        "exit code 3",
    ),
    "says why": ("ask(prompt); raise ValueError('what a pity')", "error", "error", "ValueError: what a pity"),
    "says much": ("ask(prompt); print('x' * 10**6, file=sys.stderr, flush=True)", "answered", "ok", None),
    "is killed": ("ask(prompt); os.kill(os.getpid(), 9)", "error", "error", "killed by signal 9"),
    "hangs": ("ask(prompt); time.sleep(1000)", "seconds", "timeout", "did not end"),
    "never asks": ("pass", "error", "error", "without requesting a turn"),
    "fails with exit code 0": ("print('no such task', file=sys.stderr)", "error", "error", "no such task"),
    "stops at a limit": (
        "m = prompt\nwhile True: m = [*m, ask(m), prompt[0]]",
        "assistant_turns",
        "ok",
        None,
    ),
}


def run(tokenizer: Any, folder: Path, codes: Sequence[str], seconds: float) -> list[Episode]:
    """Play an episode for each code, all at once."""
    (folder / "program.py").write_text(HEAD)
    give(HarnessProgram(command=[sys.executable, str(folder / "program.py")], timeout_s=seconds))
    setting = EpisodeSetup(replace(PLENTY, assistant_turns=3), Transcript(tokenizer))
    rows = [EpisodeRow(ASKED, extra_info={"code": code}, agent_name="external") for code in codes]
    return asyncio.run(run_episodes(rows, Script(tokenizer, ["It is 42."]), setting, range(len(rows))))


def test_how_a_program_ends_is_how_its_episode_ends(tokenizer: Any, tmp_path: Path) -> None:
    # Time for a busy machine to start Python and ask, where that is needed.
    names = [name for name in CASES if name != "hangs"]
    episodes = run(tokenizer, tmp_path, [CASES[name][0] for name in names], 120.0)
    names.append("hangs")
    episodes += run(tokenizer, tmp_path, [CASES["hangs"][0]], 3.0)
    for name, episode in zip(names, episodes, strict=True):
        _, ended, status, detail = CASES[name]
        assert (episode.ended, episode.status) == (ended, status), (name, episode.detail)
        assert (detail or "") in (episode.detail or ""), name
        assert len((episode.detail or "").splitlines()) <= 1, name
        assert "Traceback" not in (episode.detail or "") and 'File "' not in (episode.detail or ""), name


def test_what_a_program_leaves_behind_is_killed_and_a_cancel_kills_it(tokenizer: Any, tmp_path: Path) -> None:
    child = tmp_path / "child"
    code = f"""
import subprocess
kept = subprocess.Popen(["sleep", "1000"])
open({str(child)!r} + ".new", "w").write(str(kept.pid)); os.rename({str(child)!r} + ".new", {str(child)!r})
"""
    (episode,) = run(tokenizer, tmp_path, [code + "ask(prompt)"], 120.0)
    assert (episode.ended, episode.detail) == ("answered", None)
    await_end(int(child.read_text()))
    child.unlink()
    program = HarnessProgram(command=[sys.executable, str(tmp_path / "program.py")])
    row = EpisodeRow(ASKED, extra_info={"code": code + "time.sleep(1000)"})

    async def main() -> None:
        running = asyncio.ensure_future(program.run("http://127.0.0.1:9/key/v1", row))
        while not child.exists():
            await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())
    await_end(int(child.read_text()))


def await_end(pid: int) -> None:
    """Wait until a process is gone, or has ended."""
    while True:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
        time.sleep(0.05)


def test_a_program_that_goes_on_where_no_turn_is_left_is_ended(tokenizer: Any) -> None:
    async def program(base_url: str, prompt: list[Any]) -> None:
        await chat(base_url, prompt)
        while True:
            try:
                await chat(base_url, prompt)
            except RuntimeError:
                await asyncio.sleep(0.01)

    limits = replace(PLENTY, assistant_turns=1, tool_seconds=0.2)
    episode, _ = play(tokenizer, ["It is 42."], program, limits)
    assert (episode.ended, episode.status) == ("assistant_turns", "ok")


def test_a_coroutine_function_plays_as_a_command_does(tokenizer: Any, tmp_path: Path) -> None:
    (tmp_path / "player.py").write_text(
        "import aiohttp\n"
        "async def play(base_url, row):\n"
        "    async with aiohttp.ClientSession() as session:\n"
        "        await session.post(base_url + '/chat/completions', json={'messages': row['prompt']})\n"
        "async def fails(base_url, row):\n"
        "    raise ValueError('what a pity')\n"
        "def plain(base_url, row): ...\n"
    )
    agents = tmp_path / "agents.yaml"
    agents.write_text(f"- name: external\n  function: {tmp_path}/player.py:play\n")
    register_agents(str(agents), "--agent-file")
    episode, _ = play(tokenizer, ["It is 42."], AGENTS.resolve("external").given)
    assert (episode.ended, episode.answer) == ("answered", "It is 42.")
    episode, _ = play(tokenizer, ["It is 42."], HarnessProgram(function=f"{tmp_path}/player.py:fails"))
    said = "the program failed: ValueError: what a pity (player.py, line 6)"
    assert (episode.status, episode.detail) == ("error", said)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("command: python agent.py", "must be a list of strings"),
        ("command: [no-such-program-here]", "the program 'no-such-program-here'"),
        ("timeout_s: 3", "command.*function"),
        ("{command: [sh], function: x.py:f}", "command.*function"),
        ("{command: [sh], timeout_s: 0}", "timeout_s.* above 0"),
        ("{command: [sh], max_branches: many}", "max_branches.* above 0"),
        ("{command: [sh], top: 3}", "unexpected keyword argument 'top'; the agent takes command"),
        ("function: nowhere.py:f", "nowhere.py"),
    ],
)
def test_settings_that_do_not_fit_are_refused_before_a_run(tmp_path: Path, entry: str, message: str) -> None:
    agents = tmp_path / "agents.yaml"
    inner = entry.strip("{}").replace(", ", "\n  ") if entry.startswith("{") else entry
    agents.write_text(f"- name: external\n  {inner}\n")
    with pytest.raises(ConfigError, match=f"agent 'external': .*{message}"):
        register_agents(str(agents), "--agent-file")


def test_an_external_agent_without_a_program_is_refused_before_a_run() -> None:
    give(None)
    with pytest.raises(InputError, match="'external' needs settings"):
        resolve_rows([EpisodeRow([], agent_name="external")], EpisodeSetup(PLENTY))
