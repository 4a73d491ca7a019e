"""Reward `harbor:FOLDER`, for which a Harbor task's own grader scores a response in the sandbox.

The response is a shell script that solves the task, like the task's own `solve.sh`. The last fenced block of
the response is used, or else the whole response. With the option `file`, the response is instead the text of
a file in `/app`. FOLDER contains either a task, or folders of tasks from which `extra_info.task` selects one.
"""

from __future__ import annotations

import hashlib
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
from rewardkit.sandbox import Limits, SandboxUnavailable
from rewardkit.sandbox.of_process import sandbox_of_process
from rewardkit.types import Sample, Score, failure
from rewardkit_extras.harbor.box import BoxError, command_job, grader_job, read_command, read_grade
from rewardkit_extras.harbor.task import cached_task, read_task, task_folder


@dataclass(frozen=True)
class HarborOptions:
    """Options for the task, and for the form of a response."""

    folder: str = file_option("")
    file: str = ""
    """Path in `/app` of the file to which the response is written, such as `answer.txt`. If empty, the
    response is a script that runs in `/app`."""
    cpu_s: float = 60.0
    """CPU time limit in seconds for the response's script. The grader has the limit that the task sets."""
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
        timeout_s = max(timeout_s, read_task(folder).timeout_s + 60.0)
    elif not folder.is_dir():
        raise InputError(f"no such Harbor task folder: {spec.target}")
    return made(
        spec,
        score,
        HarborOptions,
        source=_digests(folder),
        running={"runs": "sandbox", "timeout_s": timeout_s},
        presets={"folder": str(folder)},
        summary=f"The grader of the Harbor task {folder.name}",
    )


def score(sample: Sample, options: HarborOptions) -> Score:
    """Apply the response to `/app` and run the grader."""
    try:
        task = cached_task(task_folder(Path(options.folder), sample.extra_info.get("task")))
        sandbox = sandbox_of_process(options.level)
        limits = Limits(cpu_s=options.cpu_s, memory_mb=task.memory_mb)
        job = command_job(_command(sample.response, options.file), b"", limits)
        done = read_command(sandbox.run_job(job), b"")
        return read_grade(sandbox.run_job(grader_job(task, done.state)), task)
    except InputError as error:
        return failure("invalid", str(error))
    except (SandboxUnavailable, BoxError) as error:
        return failure("error", str(error))


def _digests(folder: Path) -> bytes:
    """Return the names and checksums of the files that determine scores: settings and tests of the tasks."""
    files = sorted(path for path in folder.rglob("*") if path.name == "task.toml" or "tests" in path.parts)
    lines = (
        f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in files
        if path.is_file()
    )
    return "\n".join(lines).encode()


def _command(response: str, file: str) -> str:
    if not file:
        return last_fence(response, "bash", "sh", "shell", "console")
    path = shlex.quote(file)
    return f'mkdir -p "$(dirname {path})" && printf %s {shlex.quote(response)} > {path}'
