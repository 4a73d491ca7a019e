"""Interface between a Harbor task and the system in which the task runs, and the function that grades a task.

A box has five calls. `sandbox_box` implements them with rewardkit's sandbox, and `container_box` with Docker
or Podman. The caller runs one call at a time and always calls `stop` last.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec

from rewardkit.foreign.reward_of_spec import number
from rewardkit.json_objects import NOT_JSON
from rewardkit.sandbox.outcome import TIMED_OUT, OutcomeStatus
from rewardkit.types import Score, failure
from rewardkit_extras.harbor.task import HarborTask

LOGS = "/logs/verifier"
REWARD_JSON = f"{LOGS}/reward.json"
REWARD_TEXT = f"{LOGS}/reward.txt"
_SAID = f"{LOGS}/test-stdout.txt"


class BoxError(RuntimeError):
    """Raised if the system of a task fails, through no fault of the model. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Result of a command."""

    output: str
    """Standard output, followed by standard error."""
    status: OutcomeStatus
    exit_code: int | None

    @property
    def text(self) -> str:
        """Output of the command, followed by the status if the command failed."""
        said = self.output.strip()
        ended = "" if self.status == "ok" else f"[{self.status}, exit code {self.exit_code}]"
        return "\n".join(part for part in (said, ended) if part)


class Box(Protocol):
    """System in which the commands of one attempt at a task run. Each method raises BoxError if it fails."""

    async def start(self) -> None:
        """Start the system."""
        ...

    async def exec(
        self, command: str, cpu_s: float, wall_s: float | None = None, user: str | None = None
    ) -> Ran:
        """Run a command with bash in the task's working directory. A command that takes too long is killed.

        Args:
            command: Command, whose standard input is empty.
            cpu_s: Limit on CPU time in seconds.
            wall_s: Limit on elapsed time in seconds. If None, the box derives this limit from `cpu_s`.
            user: User that runs the command. If None, the system's default user is used.
        """
        ...

    async def put(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Replace a folder with executable files, given by relative path, before the next command."""
        ...

    async def get(self, path: str) -> bytes | None:
        """Return a file in `LOGS` after the last command, or None if it does not exist."""
        ...

    async def stop(self) -> None:
        """Remove the system, and kill everything that runs in it."""
        ...


async def grade(box: Box, task: HarborTask) -> Score:
    """Run the grader of a task, and return its score. A failed grader has a status other than `ok`."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in task.grader_env.items()]
    lines.append(f"{task.grader} > {_SAID} 2>&1; tail -c 2000 {_SAID}")
    try:
        await box.put(LOGS, {})  # The model may have written a reward file itself, so the folder is emptied.
        await box.put("/tests", dict(task.tests))
        ran = await box.exec("\n".join(lines), task.timeout_s, task.timeout_s, task.grader_user)
        if ran.status in TIMED_OUT:
            return failure("timeout", f"the grader did not finish within {task.timeout_s:g} s")
        as_json = await box.get(REWARD_JSON)
        as_text = await box.get(REWARD_TEXT) if as_json is None else None
    except BoxError as error:
        return failure("error", str(error))
    return read_reward(as_json, as_text, " ".join(ran.text.split())[-300:])


def read_reward(as_json: bytes | None, as_text: bytes | None, said: str = "") -> Score:
    """Read the score from a grader's files.

    `reward.json` takes precedence over `reward.txt`. The score is the number `reward` in `reward.json`, or
    else the only number in that file.
    """
    if as_json is None and as_text is None:
        return failure("error", f"the grader wrote neither reward.json nor reward.txt; its output: {said}")
    try:
        if as_json is not None:
            found = msgspec.json.decode(as_json, type=dict[str, float | bool])
        else:
            found = {"reward": float((as_text or b"").decode())}
    except NOT_JSON as error:
        return failure("error", f"cannot read the grader's reward: {error}")
    numbers = {name: value for name, one in found.items() if (value := number(one)) is not None}
    if len(numbers) < len(found) or not numbers:
        return failure("error", f"the grader's reward is {json.dumps(found)[:100]}; expected finite numbers")
    name = "reward" if "reward" in numbers else next(iter(numbers))
    if name != "reward" and len(numbers) > 1:
        return failure(
            "invalid", f"the grader wrote several numbers, but none named 'reward': {', '.join(numbers)}"
        )
    parts = {key: value for key, value in numbers.items() if key != name}
    return Score(numbers[name], parts=parts, detail=said or None)
