"""The example that plays tasks of verifiers, with a program of the shape of `vf-eval` in its place."""

from __future__ import annotations

import asyncio
import os
import sys
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
from tests.agents.conftest import Script, call_of
from tests.agents.endpoint.playing import PLENTY, give

HARNESS = Path(__file__).parents[3] / "examples" / "verifiers_harness" / "harness.py"
VF_EVAL = """#!{python}
import argparse, json, os, pathlib, urllib.request
words = argparse.ArgumentParser()
words.add_argument("taskset")
one_task = ("select.include.idx", "num-rollouts", "output-dir")
for name in (*one_task, "model", "client.base-url", "client.api-key-var"):
    words.add_argument(f"--{{name}}", required=True)
for name in ("no-rich", "no-push"):
    words.add_argument(f"--{{name}}", action="store_true", required=True)
given = vars(words.parse_args())
assert os.environ[given["client.api_key_var"]]
messages = [{{"role": "user", "content": "What is a policy? Look it up."}}]
tool = {{"type": "function", "function": {{"name": "look_up", "parameters": {{"type": "object"}}}}}}
trace = {{"rewards": {{}}, "metrics": {{"turns": 0}}, "errors": []}}
while True:
    body = {{"model": given["model"], "messages": messages, "tools": [tool]}}
    url = given["client.base_url"] + "/chat/completions"
    asked = urllib.request.Request(url, json.dumps(body).encode(), {{"Content-Type": "application/json"}})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
    said = json.load(opener.open(asked))["choices"][0]["message"]
    trace["metrics"]["turns"] += 1
    messages.append(said)
    if not said.get("tool_calls"):
        break
    for call in said["tool_calls"]:
        messages.append({{"role": "tool", "tool_call_id": call["id"], "content": "A map to actions."}})
if said["content"] == "crash":
    trace["errors"] = [{{"type": "SandboxError", "message": "the runtime is gone"}}]
else:
    found = {{"score": float("map" in said["content"]), "weight": 1.0}}
    trace["rewards"] = {{"found": found, "short": {{"score": 1.0, "weight": 0.5}}, "none": None}}
folder = pathlib.Path(given["output_dir"], "run")
folder.mkdir(parents=True)
episode = {{"ok": not trace["errors"], "is_timeout": False, "errors": [], "traces": [trace]}}
(folder / "traces.jsonl").write_text(json.dumps(episode) + "\\n")
print("done")
"""


@pytest.fixture
def vf_eval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "vf-eval"
    program.write_text(VF_EVAL.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def played(tokenizer: Any, turns: list[str]) -> Episode:
    give(HarnessProgram([sys.executable, str(HARNESS)]))
    extra = {"taskset": "glossary", "index": 4}
    row = EpisodeRow([{"role": "user", "content": "-"}], "env/glossary", "", extra, "external")
    setting = EpisodeSetup(replace(PLENTY, tool_seconds=60.0), Transcript(tokenizer))
    return asyncio.run(run_episode(row, Script(tokenizer, turns), setting))


@pytest.mark.usefixtures("vf_eval")
def test_a_task_is_played_with_its_tools_and_scored_by_its_own_rewards(tokenizer: Any) -> None:
    turns = [call_of("look_up", term="policy"), "It is a map."]
    episode = played(tokenizer, turns)
    assert (episode.ended, episode.status, episode.detail) == ("done", "ok", None)
    assert (episode.interaction_score, episode.metrics["turns"]) == (1.5, 2.0)
    assert [turn.text for turn in episode.turns if turn.role == "assistant"] == turns
    assert (episode.branches, episode.unused_turns) == ([], 0)


@pytest.mark.usefixtures("vf_eval")
def test_a_rollout_that_failed_is_a_status(tokenizer: Any) -> None:
    episode = played(tokenizer, ["crash"])
    assert (episode.status, episode.interaction_score) == ("error", None)
    assert "the runtime is gone" in str(episode.detail)
