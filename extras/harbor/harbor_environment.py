"""Environment `harbor:FOLDER`, in which the model works on a Harbor task in a shell and is then graded.

FOLDER contains either a task, or folders of tasks from which the row's `env_kwargs.task` selects one. The
shell and the grader run in the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardkit.agents.environments.environment import (
    EnvironmentFailed,
    EnvironmentSpec,
    Opening,
    row_arguments,
)
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.tools.code_interpreter import shared_pool
from rewardkit.agents.types import Observation
from rewardkit.sandbox import Limits
from rewardkit.types import Score, failure
from rewardkit_extras.harbor.box import BoxError, command_job, grader_job, read_command, read_grade
from rewardkit_extras.harbor.task import cached_task, task_folder

SHELL = "bash"
_TOOL = {
    "type": "function",
    "function": {
        "name": SHELL,
        "description": "Run a command in the shell, in /app. Files there are kept from call to call.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "What to run."}},
            "required": ["command"],
        },
    },
}


class HarborEnvironment:
    """One attempt at a task. A turn without a call ends the attempt, and then the task's own grader runs."""

    def __init__(self, spec: EnvironmentSpec, row: EpisodeRow) -> None:
        self._task = cached_task(task_folder(Path(spec.target), row_arguments(row).get("task")))
        self._limits = Limits(cpu_s=spec.cpu_s, memory_mb=self._task.memory_mb)
        self._state = b""

    async def open(self) -> Opening:
        """Return the task's instruction and the shell tool."""
        return Opening([{"role": "user", "content": self._task.instruction}], tools=[_TOOL])

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Run a shell command and return its output."""
        command = arguments.get("command")
        if not isinstance(command, str):
            return Observation("Error: bash takes a text, command", status="bad_call")
        job = command_job(command, self._state, self._limits)
        try:
            done = read_command(await shared_pool().arun(job, caller=id(self)), self._state)
        except BoxError as error:
            raise EnvironmentFailed(str(error)) from None
        self._state = done.state
        return Observation(done.text or "(no output)")

    async def say(self, text: str) -> None:
        """Return None, so that the episode ends."""

    async def grade(self) -> Score:
        """Run the task's grader and return its score."""
        job = grader_job(self._task, self._state)
        try:
            return read_grade(await shared_pool().arun(job, caller=id(self)), self._task)
        except BoxError as error:
            return failure("error", str(error))

    async def close(self) -> None:
        """Do nothing, since the environment holds no resources."""
