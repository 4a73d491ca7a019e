"""Reward `harbor:FOLDER`, which scores a response with the grader of a Harbor task.

The response is a shell script that solves the task, like the task's own `solve.sh`. The last fenced block of
the response is used, or else the whole response. With the option `file`, the response is instead the text of
a file in the working directory. FOLDER contains either a task, or folders of tasks from which
`extra_info.task` selects one. The script and the grader run in the sandbox, or in a container if the task
needs an image of its own.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rewardkit.errors import InputError
from rewardkit.fences import last_fence
from rewardkit.foreign.reward_of_spec import made
from rewardkit.foreign.spec import ForeignSpec
from rewardkit.registry import Reward
from rewardkit.reward_options import file_option
from rewardkit.sandbox import Job, Outcome, SandboxUnavailable
from rewardkit.sandbox.of_process import sandbox_of_process
from rewardkit.types import Sample, Score, failure
from rewardkit_extras.harbor.box import Box, BoxError, grade
from rewardkit_extras.harbor.boxes import box_for
from rewardkit_extras.harbor.container_box import container_tool
from rewardkit_extras.harbor.task import HarborTask, cached_task, read_task, task_folder

_GRADING = b"2\n"
"""Version of the way in which graders run, which changes the version of all Harbor rewards."""


@dataclass(frozen=True)
class HarborOptions:
    """Options for the task, and for the form of a response."""

    folder: str = file_option("")
    file: str = ""
    """Path in the working directory of the file to which the response is written, such as `answer.txt`. If
    empty, the response is a script that runs in the working directory."""
    cpu_s: float = 60.0
    """CPU time limit in seconds for the response's script. In a container, it limits elapsed time. The grader
    has the limit that the task sets."""
    network: bool = False
    """True to give network access to tasks with their own image that do not set `network_mode`."""
    level: Literal["auto", "warm"] = "auto"
    """Isolation level of the sandbox. Scripts run only at levels with namespaces."""


def harbor(spec: ForeignSpec) -> Reward:
    """Return the reward for a task's folder, or for a folder of tasks.

    Raises:
        InputError: The folder does not exist, or contains a task that is not supported.
    """
    folder = Path(spec.target).resolve()
    timeout_s = spec.timeout_s
    if (folder / "task.toml").is_file():
        task = read_task(folder)
        timeout_s = max(timeout_s, task.timeout_s + 60.0)
        if task.in_container:
            container_tool()
            timeout_s += task.build_s
    elif not folder.is_dir():
        raise InputError(f"no such Harbor task folder: {spec.target}")
    return made(
        spec,
        score,
        HarborOptions,
        source=_GRADING + _digests(folder),
        running={"runs": "sandbox", "timeout_s": timeout_s},
        presets={"folder": str(folder)},
        summary=f"The grader of the Harbor task {folder.name}",
    )


def score(sample: Sample, options: HarborOptions) -> Score:
    """Apply the response to the task's working directory and run the grader."""

    async def run(job: Job) -> Outcome:
        return sandbox_of_process(options.level).run_job(job)

    try:
        task = cached_task(task_folder(Path(options.folder), sample.extra_info.get("task")))
        box = box_for(task, run, network=options.network)
        return asyncio.run(_attempt(box, task, sample.response, options))
    except InputError as error:
        return failure("invalid", str(error))
    except (SandboxUnavailable, BoxError) as error:
        return failure("error", str(error))


async def _attempt(box: Box, task: HarborTask, response: str, options: HarborOptions) -> Score:
    try:
        await box.start()
        done = await box.exec(_command(response, options.file), options.cpu_s, user=task.user)
        if options.file and done.status != "ok":
            raise BoxError(f"cannot write the response to {options.file}: {done.text}")
        return await grade(box, task)
    finally:
        await box.stop()


def _digests(folder: Path) -> bytes:
    """Return the names and checksums of the files that determine scores: settings, images and tests."""
    folders = {"environment", "tests"}
    files = sorted(path for path in folder.rglob("*") if path.name == "task.toml" or folders & {*path.parts})
    lines = (
        f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in files
        if path.is_file()
    )
    return "\n".join(lines).encode()


def _command(response: str, file: str) -> str:
    if not file:
        return last_fence(response, "bash", "sh", "shell", "console")
    folder, path = shlex.quote(os.path.dirname(file) or "."), shlex.quote(file)
    return f"mkdir -p {folder} && printf %s {shlex.quote(response)} > {path}"
