"""Harbor tasks with an image of their own, in real containers: limits, failures, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.environments.environment import Environment, make_environment, read_spec
from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.resolving import EpisodeSetup, resolve_rows
from rewardkit.agents.runner import run_episode
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits
from rewardkit.errors import InputError
from rewardkit.foreign import foreign_reward, parse_spec
from rewardkit_extras.harbor.box import BoxError, Ran, grade
from rewardkit_extras.harbor.container_box import TOOL, ContainerBox, image_of
from rewardkit_extras.harbor.task import read_task
from tests.agents.conftest import Script, call_of, make_tokenizer
from tests.extras.containers import IMAGE, called, containers, tool_that_runs
from tests.extras.test_harbor import scored, write_task
from tests.living import until

pytestmark = pytest.mark.slow

DOCKERFILE = f"FROM {IMAGE}\nRUN mkdir /work && echo made > /work/made.txt\nWORKDIR /work\n"
GRADER = """#!/bin/bash
echo checking
if [ "$(cat out.txt)" = "$WANTED" ]; then
  echo '{"reward": 1, "tidy": 0.5}' > /logs/verifier/reward.json
else
  echo 0 > /logs/verifier/reward.txt
fi
"""
TOML = """
[verifier]
timeout_sec = 20.0
env = { WANTED = "hello" }
[environment]
memory_mb = 64
network_mode = "no-network"
env = { COLOUR = "light $(blue)" }
"""
LIMITS = EpisodeLimits(4_000, tool_seconds=60.0, tool_response_chars=10_000)


@pytest.fixture
def tool() -> Iterator[str]:
    found = tool_that_runs()
    yield found
    assert containers(found) == []  # whatever a test has done


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


def task(folder: Path, dockerfile: str = DOCKERFILE, grader: str = GRADER, toml: str = TOML) -> Path:
    return write_task(folder, grader, toml, dockerfile)


def in_box(folder: Path, *commands: str, seconds: float = 30.0, **more: Any) -> list[Ran]:
    async def run() -> list[Ran]:
        box = ContainerBox(read_task(folder), network=False)
        try:
            await box.start()
            return [await box.exec(command, seconds, **more) for command in commands]
        finally:
            await box.stop()

    return asyncio.run(run())


def play(tokenizer: Any, folder: Path, *turns: str, limits: EpisodeLimits = LIMITS) -> Episode:
    row = EpisodeRow([{"role": "user", "content": "Be quick."}], "env/harbor", "", {}, "env")
    setup = EpisodeSetup(limits, Transcript(tokenizer), env=f"harbor:{folder}")
    return asyncio.run(run_episode(row, Script(tokenizer, [*turns, "Done."]), setup))


def test_an_episode_is_played_in_the_image_and_graded(tool: str, tokenizer: Any, tmp_path: Path) -> None:
    folder = task(tmp_path / "greeting")
    turns = [
        call_of("bash", command="cat made.txt; echo $COLOUR; echo hel > half; cat /tests/test.sh"),
        call_of("bash", command="echo $(cat half)lo > out.txt; cat out.txt; exit 3"),
        call_of("bash", command=3),
    ]
    # Building the image takes longer than the time limits, which do not include it.
    episode = play(tokenizer, folder, *turns)
    assert (episode.ended, episode.status, episode.interaction_score) == ("done", "ok", 1.0)
    heard = [turn.text for turn in episode.turns if turn.role == "tool"]
    assert "made" in heard[0] and "light $(blue)" in heard[0] and "No such file" in heard[0]
    assert heard[1].startswith("hello") and "exit code 3" in heard[1]
    assert play(tokenizer, folder).interaction_score == 0.0  # a new container


def test_building_an_image_does_not_count_for_the_episode(tool: str, tokenizer: Any, tmp_path: Path) -> None:
    slow = f"{DOCKERFILE}RUN sleep 12; echo {tmp_path.name} > /once\n"
    limits = EpisodeLimits(4_000, tool_seconds=10.0)
    assert play(tokenizer, task(tmp_path / "slow", slow), limits=limits).interaction_score == 0.0


def test_a_script_is_scored_in_the_image(tool: str, tmp_path: Path) -> None:
    folder = task(tmp_path / "greeting")
    score = scored(folder, "```bash\n[ -e made.txt ] && echo hello > out.txt\n```")
    assert (score.status, score.score, score.parts) == ("ok", 1.0, {"tidy": 0.5})
    assert scored(folder, "echo 1 > /logs/verifier/reward.json; echo bye > out.txt").score == 0.0
    assert scored(folder, "hello", "?file=out.txt").score == 1.0
    assert scored(folder, "hello", "?file=/proc/out.txt").status == "error"
    version = foreign_reward(parse_spec(f"harbor:{folder}")).version
    (folder / "environment" / "more").write_text("")
    assert foreign_reward(parse_spec(f"harbor:{folder}")).version != version


def test_a_command_is_only_read_by_the_shell_in_the_container(tool: str, tmp_path: Path) -> None:
    folder = task(tmp_path / "greeting")
    outside = tmp_path / "outside"
    long = "x=" + "a" * 300_000 + "; echo ${#x}"
    hostile = f"'\"; touch {outside} #\n$(touch {outside})`touch {outside}`; cat; exit 7"
    ran = in_box(folder, long, hostile, "echo 'a\"b'; echo \udc80", "echo one\0echo two")
    assert (ran[0].output, ran[0].status) == ("300000\n", "ok")
    assert ran[1].status == "runtime_error" and not outside.exists()
    assert [one.output.splitlines()[0] for one in ran[2:]] == ['a"b', "one"]


def test_limits_are_those_of_the_task(tool: str, tmp_path: Path) -> None:
    folder = task(tmp_path / "greeting")
    hungry = "x=$(head -c 200000000 /dev/zero | tr '\\0' a); echo ${#x}"
    ran = in_box(folder, hungry, "cat /proc/net/dev")
    assert ran[0].exit_code == 137  # killed by the kernel, which leaves the container's main program alone
    assert "lo:" in ran[1].output and "eth0" not in ran[1].output
    more = task(tmp_path / "more", toml=TOML.replace("64", "1024"))
    assert "fork" in in_box(more, "for i in {1..2000}; do sleep 50 & done")[0].output
    assert in_box(folder, "rm made.txt; exit $?", user="1234")[0].exit_code == 1


def test_a_command_that_takes_too_long_is_killed_and_the_files_are_kept(tool: str, tmp_path: Path) -> None:
    folder = task(tmp_path / "greeting")
    ran = in_box(folder, "echo a > a; sleep 77 & sleep 88", "cat a; ps -eo args", seconds=4.0)
    assert (ran[0].status, ran[1].status) == ("wall_timeout", "ok")
    assert ran[1].output.startswith("a\n") and "sleep" not in ran[1].output


@pytest.mark.parametrize(
    ("dockerfile", "toml", "why"),
    [
        (f"FROM {IMAGE}\nRUN exit 9\n", TOML, "cannot build"),
        ("", f'{TOML}docker_image = "localhost:9/none:1"\n', "cannot pull"),
        (f"FROM {IMAGE}\nRUN rm /bin/bash\n", TOML, "cannot start a container"),
        (f'FROM {IMAGE}\nENTRYPOINT ["bash", "-c", "cat /nowhere"]\n', TOML, "nowhere"),
    ],
)
def test_a_container_that_cannot_start_is_an_error(
    tool: str, tokenizer: Any, tmp_path: Path, dockerfile: str, toml: str, why: str
) -> None:
    folder = task(tmp_path / "broken", dockerfile, toml=toml)
    episode = play(tokenizer, folder)
    assert (episode.status, episode.interaction_score, len(episode.turns)) == ("error", None, 0)
    assert why in str(episode.detail)
    score = scored(folder, "true")
    assert score.status == "error" and why in str(score.detail)


def test_a_build_that_takes_too_long_is_killed(tool: str, tokenizer: Any, tmp_path: Path) -> None:
    seconds = str(100_000 + os.getpid() % 100_000)
    slow = f"FROM {IMAGE}\nRUN sleep {seconds}\n"
    episode = play(tokenizer, task(tmp_path / "slow", slow, toml=f"{TOML}build_timeout_sec = 4\n"))
    assert episode.status == "error" and "longer than 4 s" in str(episode.detail)
    until(lambda: not any(seconds in command for command in _commands()))


def _commands() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_text(errors="replace")


@pytest.mark.parametrize(
    ("grader", "status"),
    [
        ("exit 1", "error"),
        ("#!/bin/bash -e\nfalse\necho 1 > /logs/verifier/reward.txt", "error"),
        ("sleep 100", "timeout"),
        ("mkdir /logs/verifier/reward.json", "error"),
        ("head -c 9000000 /dev/zero > /logs/verifier/reward.json", "error"),
    ],
)
def test_a_grader_without_a_reward_is_a_status(tool: str, tmp_path: Path, grader: str, status: str) -> None:
    toml = TOML.replace("20.0", "5.0")
    score = scored(task(tmp_path / "broken", grader=grader, toml=toml), "true")
    assert (score.status, score.score) == (status, 0.0)


def test_a_container_that_dies_during_an_episode_is_an_error(tool: str, tmp_path: Path) -> None:
    folder = task(tmp_path / "greeting")

    async def die(in_grader: bool) -> None:
        box = ContainerBox(read_task(folder), network=False)
        try:
            await box.start()
            run = grade(box, read_task(folder)) if in_grader else box.exec("sleep 100", 60.0)
            running = asyncio.ensure_future(run)
            await asyncio.sleep(1.0)
            (name,) = containers(tool)
            assert called(tool, "kill", name).returncode == 0
            if in_grader:
                assert (await running).status == "error"
            else:
                with pytest.raises(BoxError, match="ended"):
                    await running
        finally:
            await box.stop()

    asyncio.run(die(False))
    (folder / "tests" / "test.sh").write_text("sleep 100; echo 1 > /logs/verifier/reward.txt")
    asyncio.run(die(True))


def test_a_full_disk_is_an_error(tool: str, tmp_path: Path) -> None:
    folder = task(tmp_path / "greeting")

    async def fill() -> None:
        box = ContainerBox(read_task(folder), network=False)
        try:
            await box.start()
            await box.put("/dev/shm/few", {"a": b"a"})
            with pytest.raises(BoxError, match="cannot write"):
                await box.put("/dev/shm/many", {"a": bytes(80 << 20)})  # the file system has 64 MB
        finally:
            await box.stop()

    asyncio.run(fill())


_PLAYS = """
import asyncio, sys
from pathlib import Path
from rewardkit_extras.harbor.container_box import ContainerBox
from rewardkit_extras.harbor.task import read_task

async def play():
    box = ContainerBox(read_task(Path(sys.argv[1])), network=False)
    await box.start()
    print("started", flush=True)
    await box.exec("sleep 1000", 900.0)

asyncio.run(play())
"""


@pytest.mark.parametrize("client", [False, True])
def test_a_process_that_is_killed_leaves_no_container(tool: str, tmp_path: Path, client: bool) -> None:
    folder = task(tmp_path / "greeting")
    asyncio.run(image_of(read_task(folder)))
    command = [sys.executable, "-c", _PLAYS, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"started\n"
        assert len(containers(tool)) == 1
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        for child in children if client else []:  # the container tool too, as by a killed control group
            os.kill(int(child), signal.SIGKILL)
    until(lambda: not containers(tool))


def environment(folder: Path) -> Environment:
    row = EpisodeRow([], "env/harbor", "", {}, "env")
    return make_environment(read_spec(f"harbor:{folder}"), row)


@pytest.mark.parametrize("named", ["", "no-such-tool"])
def test_a_missing_container_tool_is_reported_before_a_model_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(TOOL, named)
    folder = task(tmp_path / "greeting")
    row = EpisodeRow([], "env/harbor", "", {}, "env")
    with pytest.raises(InputError, match=f"{named}.*podman or docker"):
        resolve_rows([row], EpisodeSetup(LIMITS, env=f"harbor:{folder}"))
    with pytest.raises(InputError, match="podman or docker"):
        foreign_reward(parse_spec(f"harbor:{folder}"))


def test_a_tool_that_fails_is_an_error_with_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "docker"
    broken.write_text('#!/bin/sh\necho "Error of $1" >&2\nexit 1\n')
    broken.chmod(0o755)
    monkeypatch.setenv(TOOL, str(broken))
    score = scored(task(tmp_path / "greeting"), "true")
    assert score.status == "error" and "Error of ps" in str(score.detail)  # not of the build


@pytest.mark.parametrize(
    ("toml", "network", "memory_mb"),
    [
        ("", None, None),
        ('network_mode = "public"\nmemory_mb = 512', True, 512),
        ('network_mode = "no-network"', False, None),
        ('allow_internet = true\nmemory = "2G"', True, 2048),
        ("allow_internet = false", False, None),
    ],
)
def test_limits_are_read_from_the_task(
    tmp_path: Path, toml: str, network: bool | None, memory_mb: int | None
) -> None:
    found = read_task(task(tmp_path / "one", toml=f"[environment]\ncpus = 2\n{toml}\n"))
    assert (found.network, found.memory_mb, found.cpus, found.in_container) == (network, memory_mb, 2.0, True)
