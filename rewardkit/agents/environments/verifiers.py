"""Environment `verifiers:TASKSET`, in which the model answers a task from a verifiers 0.4 taskset.

The model has one turn, and the task's own rewards score its answer. The Python interpreter that the setting
`python` names must have verifiers installed. It lists and scores the tasks. Tasks that need a runtime or a
harness from verifiers are not supported: their episodes get the status `invalid`, and never the score 0.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.agents.environments.environment import EnvironmentSpec, Opening, row_arguments
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.types import Observation
from rewardkit.errors import InputError
from rewardkit.foreign import ForeignSpec, foreign_reward
from rewardkit.json_objects import NOT_JSON
from rewardkit.registry import Registry
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Message, Sample, Score

_SCRIPT = Path(__file__).with_name("verifiers_tasks.py")
_LOAD_S = 600.0
"""Time limit in seconds for loading a taskset. Some tasksets download their data."""
_MOST = 100_000
"""Maximum number of tasks to read from a taskset. Some tasksets are infinite."""
_loading = threading.Lock()


class VerifiersEnvironment:
    """Environment for one row. The row's `index` selects the task from the taskset."""

    def __init__(self, spec: EnvironmentSpec, row: EpisodeRow) -> None:
        with _loading:  # one thread loads the tasks while the others wait
            tasks = _tasks(spec.target, spec.python or sys.executable)
            self._scorer = _scorer(spec.target, spec.python)
        index = row_arguments(row).get("index")
        if not isinstance(index, int) or not 0 <= index < len(tasks):
            raise InputError(
                f"the row's index is {index!r}, but the taskset {spec.target} has {len(tasks)} tasks, "
                "numbered from 0"
            )
        self._data = tasks[index]
        self._source = row.data_source
        self._answer = ""

    async def open(self) -> Opening:
        """Return the task's prompt."""
        return Opening(_prompt(self._data))

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Return an error, since there are no tools."""
        return Observation(f"Error: there is no tool '{name}'", status="bad_call")

    async def say(self, text: str) -> Observation:
        """Store the answer and end the episode."""
        self._answer = text
        return Observation("", done=True)

    async def grade(self) -> Score:
        """Score the answer with the task's rewards."""
        sample = Sample(self._source, self._answer, "", _prompt(self._data), dict(self._data))
        return await self._scorer.ascore(sample)

    async def close(self) -> None:
        """Do nothing, since all episodes in the process share the scorer."""


def _prompt(data: Mapping[str, Any]) -> list[Message]:
    prompt = data.get("prompt") or ""
    system = data.get("system_prompt")
    asked = (
        [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(one) for one in prompt]
    )
    return [{"role": "system", "content": system}, *asked] if system else asked


@functools.cache
def _tasks(target: str, python: str) -> list[dict[str, Any]]:
    """Return the data of the tasks in a taskset.

    Raises:
        InputError: The interpreter cannot load the taskset.
    """
    # `-P` keeps the script's folder off the module search path, because it contains a module named verifiers.
    command = [python, "-P", str(_SCRIPT), target, str(_MOST)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_LOAD_S, stdin=subprocess.DEVNULL)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise InputError(f"{python} cannot load the taskset {target}: {said[:200]}")
        found = [msgspec.json.decode(line, type=dict[str, Any]) for line in done.stdout.splitlines()]
    except (OSError, subprocess.TimeoutExpired, *NOT_JSON) as error:
        raise InputError(f"{python} cannot load the taskset {target}: {error}") from None
    return found


@functools.cache
def _scorer(target: str, python: str) -> Scorer:
    """Return the scorer for a taskset. All episodes in this process share the scorer."""
    registry = Registry()
    spec = ForeignSpec(
        target, "verifiers", python=python or None, name="task", data_sources=("*",), timeout_s=60.0
    )
    registry.use_for_all(foreign_reward(spec))
    return Scorer(registry=registry, workers=1)
