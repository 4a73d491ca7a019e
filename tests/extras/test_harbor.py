"""A Harbor task's grader in our sandbox: which file is the reward, and that a broken grader is never 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Score
from rewardkit.errors import InputError
from rewardkit.foreign import foreign_reward, parse_spec
from rewardkit.sandbox import Sandbox, SandboxUnavailable
from rewardkit.sandbox.of_process import sandbox_of_process
from rewardkit_extras.harbor.box import read_reward
from rewardkit_extras.harbor.task import read_task

TOML = """
schema_version = "1.4"
[task]
name = "test/greeting"
[verifier]
timeout_sec = 20.0
env = { WANTED = "${REWARDKIT_TEST_NAME:-hello}" }
"""
GRADER = """#!/bin/bash
cd /app
if [ "$(cat out.txt 2> /dev/null)" = "$WANTED" ] && python3 /tests/more.py; then
  echo '{"reward": 1, "tidy": 0.5}' > /logs/verifier/reward.json
else
  echo 0 > /logs/verifier/reward.txt
fi
"""


def write_task(folder: Path, grader: str = GRADER, toml: str = TOML, dockerfile: str = "") -> Path:
    (folder / "tests").mkdir(parents=True)
    (folder / "environment").mkdir()
    (folder / "task.toml").write_text(toml)
    (folder / "instruction.md").write_text("Write hello to out.txt.")
    (folder / "tests" / "test.sh").write_text(grader)
    (folder / "tests" / "more.py").write_text("print('more is fine')\n")
    if dockerfile:
        (folder / "environment" / "Dockerfile").write_text(dockerfile)
    return folder


@pytest.fixture(scope="module", autouse=True)
def sandbox() -> Sandbox:
    found = sandbox_of_process()
    try:
        found.prove("bash")
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    return found


def scored(folder: Path, response: str, options: str = "", **extra: Any) -> Score:
    made = foreign_reward(parse_spec(f"harbor:{folder}{options}"))
    score: Score = made.function(Sample("test/tasks", response, "", None, extra), made.make_options({}))
    return score


STOLEN = """
mkdir -p deep && ln -s /tests deep/tests && ln -s ../tests/test.sh test.sh
echo '{"reward": 1}' > /logs/verifier/reward.json 2> /dev/null; mkdir -p /logs/verifier
echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh; echo 'exit 0' > main.sh
"""


def test_scripts_are_run_and_graded(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "greeting", dockerfile="FROM ubuntu:24.04\nWORKDIR /app\n")
    rows = [
        ("```bash\necho hello > out.txt\n```", 1.0, {"tidy": 0.5}),
        ("echo hello > out.txt", 1.0, {"tidy": 0.5}),
        ("```bash\necho bye > out.txt\n```", 0.0, {}),
        ("I cannot do this.", 0.0, {}),
        (STOLEN, 0.0, {}),
    ]
    for response, value, parts in rows:
        score = scored(folder, response)
        assert (score.status, score.score, score.parts) == ("ok", value, parts), response
    assert scored(tmp_path, "echo hello > out.txt", task="greeting").score == 1.0
    assert scored(tmp_path, "echo hello > out.txt", task="../greeting").status == "invalid"
    assert scored(folder, "hello", "?file=out.txt").score == 1.0


def test_a_changed_test_is_another_version(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "greeting")
    before = foreign_reward(parse_spec(f"harbor:{folder}")).version
    assert foreign_reward(parse_spec(f"harbor:{folder}")).version == before
    (folder / "tests" / "more.py").write_text("print('less')\n")
    assert foreign_reward(parse_spec(f"harbor:{folder}")).version != before
    assert foreign_reward(parse_spec(f"harbor:{folder}?file=a.txt")).version != before


@pytest.mark.parametrize(
    ("grader", "status"),
    [
        ("exit 1", "error"),
        ("echo > /logs/verifier/reward.txt", "error"),
        ("while true; do :; done", "timeout"),
        ("echo '{}' > /logs/verifier/reward.json", "error"),
    ],
)
def test_a_grader_that_gives_no_reward_is_a_status(tmp_path: Path, grader: str, status: str) -> None:
    toml = TOML.replace("20.0", "1.0")
    score = scored(write_task(tmp_path / "broken", grader, toml), "true")
    assert (score.status, score.score) == (status, 0.0)


@pytest.mark.parametrize(
    ("as_json", "as_text", "status", "value"),
    [
        (b'{"reward": 0.5, "tidy": 1}', b"1", "ok", 0.5),
        (b'{"solved": true}', None, "ok", 1.0),
        (b'{"a": 1, "b": 0}', None, "invalid", 0.0),
        (b'{"reward": NaN}', None, "error", 0.0),
        (b'{"reward": 1e309}', None, "error", 0.0),
        (b'{"reward": "1"}', None, "error", 0.0),
        (b"1", None, "error", 0.0),
        (b"", b"1", "error", 0.0),
        (None, b" 0.25\n", "ok", 0.25),
        (None, b"nan", "error", 0.0),
        (None, b"good", "error", 0.0),
        (None, b"\xff", "error", 0.0),
        (None, None, "error", 0.0),
    ],
)
def test_which_file_is_the_reward(
    as_json: bytes | None, as_text: bytes | None, status: str, value: float
) -> None:
    score = read_reward(as_json, as_text)
    assert (score.status, score.score) == (status, value)


@pytest.mark.parametrize(
    ("toml", "dockerfile", "in_container"),
    [
        (TOML, "", False),
        (TOML, "FROM ubuntu:24.04\nWORKDIR /app", False),
        (TOML, "FROM ubuntu:24.04\nRUN apt-get install -y tmux", True),
        (TOML, "FROM mine/special:1", True),
        (TOML, "FROM ubuntu:24.04\nWORKDIR /testbed", True),
        (TOML + '[environment]\ndocker_image = "mine/special:1"', "", True),
        (TOML + '[environment]\nworkdir = "/testbed"', "", True),
    ],
)
def test_a_task_with_an_image_of_its_own_needs_a_container(
    tmp_path: Path, toml: str, dockerfile: str, in_container: bool
) -> None:
    assert (
        read_task(write_task(tmp_path / "big", toml=toml, dockerfile=dockerfile)).in_container is in_container
    )


@pytest.mark.parametrize(
    ("toml", "why"),
    [
        (TOML + "[environment]\ngpus = 1", "GPU"),
        (TOML + '[environment]\nmcp_servers = [{ name = "a" }]', "mcp_servers"),
        (TOML + '[environment]\nworkdir = "/a"\nnetwork_mode = "allowlist"', "network_mode"),
        (TOML + '[environment]\nworkdir = "/a"\n[agent]\nnetwork_mode = "public"', "network_mode"),
        (TOML + '[environment]\nmemory_mb = "much"', "much"),
        (TOML + '[verifier.environment]\ndocker_image = "a"', "grader"),
        (TOML + '[[steps]]\nname = "one"', "steps"),
        ("[task", "Harbor task"),
    ],
)
def test_a_task_that_cannot_run_is_refused_in_words(tmp_path: Path, toml: str, why: str) -> None:
    folder = write_task(tmp_path / "big", toml=toml)
    with pytest.raises(InputError, match=why):
        foreign_reward(parse_spec(f"harbor:{folder}"))
