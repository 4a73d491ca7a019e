"""`harbor:FOLDER`: an episode of a Harbor task in our sandbox: the model has a shell, and then it is graded.

FOLDER is a task, or holds tasks, of which the row's `env_kwargs.task` names one.
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
    """One try at a task. A turn without a call ends it; then the task's own grader looks at `/app`."""

    def __init__(self, spec: EnvironmentSpec, row: EpisodeRow) -> None:
        self._task = cached_task(task_folder(Path(spec.target), row_arguments(row).get("task")))
        self._limits = Limits(cpu_s=spec.cpu_s, memory_mb=self._task.memory_mb)
        self._state = b""

    async def open(self) -> Opening:
        """Ask for what the task asks for."""
        return Opening([{"role": "user", "content": self._task.instruction}], tools=[_TOOL])

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Run a command."""
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
        """End the episode."""

    async def grade(self) -> Score:
        """Run the grader."""
        job = grader_job(self._task, self._state)
        try:
            return read_grade(await shared_pool().arun(job, caller=id(self)), self._task)
        except BoxError as error:
            return failure("error", str(error))

    async def close(self) -> None:
        """Release nothing: what is kept is kept here."""
