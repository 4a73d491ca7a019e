"""Chooses the box for a Harbor task: a container if the task needs its own image, or else the sandbox."""

from __future__ import annotations

import functools
import sys

from rewardkit_extras.harbor.box import Box
from rewardkit_extras.harbor.container_box import ContainerBox
from rewardkit_extras.harbor.sandbox_box import RunJob, SandboxBox
from rewardkit_extras.harbor.task import HarborTask


def box_for(task: HarborTask, run: RunJob, *, network: bool) -> Box:
    """Return a new box for one attempt at a task.

    Args:
        task: Task.
        run: Function that runs a job in the sandbox.
        network: Whether a task has network access in a container if its settings do not say so.

    Raises:
        InputError: The task needs a container, and there is no container tool.
    """
    if not task.in_container:
        return SandboxBox(run, task.memory_mb or 1024)
    box = ContainerBox(task, network=network if task.network is None else task.network)
    if task.network is None and not network:
        _say_offline()
    return box


@functools.cache
def _say_offline() -> None:
    """Print once per process that tasks, unlike in Harbor, have no network access by default."""
    print(
        "note: Harbor tasks that do not set environment.network_mode run without network access; if a grader "
        "downloads anything, add ?network=true to the spec, since it may otherwise write the reward 0",
        file=sys.stderr,
        flush=True,
    )
