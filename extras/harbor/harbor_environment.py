"""Environment `harbor:FOLDER`, in which the model works on a Harbor task in a shell and is then graded.

FOLDER contains either a task, or folders of tasks from which the row's `env_kwargs.task` selects one. The
shell and the grader run in the sandbox, or in a container if the task needs an image of its own.
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
from rewardkit.agents.types import Busy, Observation
from rewardkit.sandbox import Job, Outcome
from rewardkit.types import Score
from rewardkit_extras.harbor.box import BoxError, grade
from rewardkit_extras.harbor.boxes import box_for
from rewardkit_extras.harbor.container_box import image_of
from rewardkit_extras.harbor.task import cached_task, task_folder

SHELL = "bash"
_TOOL = {
    "type": "function",
    "function": {
        "name": SHELL,
        "description": "Run a command in the shell. Files are kept from call to call.",
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
        self._cpu_s = spec.cpu_s
        self._box = box_for(self._task, self._run, network=spec.network)
        self._has_image = not self._task.in_container

    async def open(self) -> Opening:
        """Start the box, and return the task's instruction and the shell tool.

        Raises:
            Busy: The image must be built or pulled first. The time for this does not count for the episode.
        """
        if not self._has_image:
            raise Busy(self._prepare)
        try:
            await self._box.start()
        except BoxError as error:
            raise EnvironmentFailed(str(error)) from None
        return Opening([{"role": "user", "content": self._task.instruction}], tools=[_TOOL])

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Run a shell command and return its output."""
        command = arguments.get("command")
        if not isinstance(command, str):
            return Observation("Error: bash takes a text, command", status="bad_call")
        try:
            ran = await self._box.exec(command, self._cpu_s, user=self._task.user)
        except BoxError as error:
            raise EnvironmentFailed(str(error)) from None
        return Observation(ran.text or "(no output)")

    async def say(self, text: str) -> None:
        """Return None, so that the episode ends."""

    async def grade(self) -> Score:
        """Run the task's grader and return its score."""
        return await grade(self._box, self._task)

    async def close(self) -> None:
        """Remove the box."""
        await self._box.stop()

    async def _run(self, job: Job) -> Outcome:
        return await shared_pool().arun(job, caller=id(self))

    async def _prepare(self) -> None:
        try:
            await image_of(self._task)
        except BoxError as error:
            raise EnvironmentFailed(str(error)) from None
        self._has_image = True
