"""Reads the instruction and the grader of a Harbor task, and checks that the sandbox supports the task.

Images are neither built nor pulled, so a task whose image contains more than a basic system is rejected with
a reason. This module only reads files. `box` runs the task's commands.
"""

from __future__ import annotations

import functools
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError

_BASES = ("alpine", "bash", "busybox", "debian", "python", "ubuntu")
"""Images for which the sandbox's own system is a substitute, provided that the tests are scripts."""
_HARMLESS = ("FROM", "WORKDIR", "CMD", "LABEL")
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_MOST_BYTES = 4 << 20
"""Limit on the total size in bytes of the test files."""


@dataclass(frozen=True, slots=True)
class HarborTask:
    """One Harbor task."""

    folder: Path
    instruction: str
    tests: tuple[tuple[str, bytes], ...]
    """Relative paths and contents of the test files, including `test.sh`."""
    timeout_s: float = 600.0
    """Time limit in seconds for the grader."""
    agent_timeout_s: float | None = None
    memory_mb: int = 1024
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for the grader, with references resolved from this process's environment."""


def read_task(folder: Path) -> HarborTask:
    """Read a task from its folder.

    Raises:
        InputError: The folder does not contain a task, or the sandbox cannot run the task.
    """
    try:
        said = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
        instruction = (folder / "instruction.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot read the Harbor task {folder}: {error}") from None
    why = _why_not_here(folder, said)
    if why is not None:
        raise InputError(f"the Harbor task {folder} cannot run here: {why}")
    verifier, environment = _table(said, "verifier"), _table(said, "environment")
    agent_s = _table(said, "agent").get("timeout_sec")
    return HarborTask(
        folder,
        instruction,
        _files_of(folder / "tests"),
        float(verifier.get("timeout_sec", 600.0)),
        None if agent_s is None else float(agent_s),
        int(environment.get("memory_mb", 1024)),
        {name: _resolved(str(value)) for name, value in _table(verifier, "env").items()},
    )


cached_task = functools.lru_cache(maxsize=256)(read_task)
"""`read_task` with a cache, so that each process reads a folder only once."""


def task_folder(root: Path, name: Any) -> Path:
    """Return the folder of a row's task: `root` if it contains a task, or else the folder `name` in `root`.

    Raises:
        InputError: The task does not exist.
    """
    if (root / "task.toml").is_file():
        return root
    found = root / str(name or "")
    if not name or not found.resolve().is_relative_to(root.resolve()) or not (found / "task.toml").is_file():
        raise InputError(
            f"{root} has no Harbor task '{name or ''}'; set extra_info.task to the name of a task folder"
        )
    return found


def _why_not_here(folder: Path, said: Mapping[str, Any]) -> str | None:
    """Return why the sandbox cannot run a task, or None if it can."""
    environment = _table(said, "environment")
    image = str(environment.get("docker_image") or "")
    if (folder / "steps").is_dir() or said.get("steps"):
        return "the task has several steps"
    if image and not _is_base(image):
        return f"the task needs the image {image}"
    if str(environment.get("os") or "linux").lower() != "linux" or environment.get("gpus"):
        return "the task needs a GPU or another system than Linux"
    if not (folder / "tests" / "test.sh").is_file():
        return "the task has no tests/test.sh"
    workdir = str(environment.get("workdir") or "/app")
    if workdir != "/app":
        return f"the task's files are in {workdir}; only /app is supported"
    return _why_image(folder / "environment")


def _why_image(folder: Path) -> str | None:
    """Return why an environment needs its own image, or None if it does not."""
    if any(folder.glob("docker-compose.y*ml")):
        return "the task has several containers"
    try:
        lines = (folder / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    except OSError:
        return None
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        if word.upper() not in _HARMLESS:
            return f"the task's image has to be built: '{line.strip()[:60]}'"
        if word.upper() == "FROM" and not _is_base(rest.strip()):
            return f"the task needs the image {rest.strip()}"
        if word.upper() == "WORKDIR" and rest.strip().rstrip("/") != "/app":
            return f"the task's files are in {rest.strip()}; only /app is supported"
    return None


def _is_base(image: str) -> bool:
    return image.split()[0].split(":")[0].split("@")[0].removeprefix("docker.io/library/") in _BASES


def _table(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = said.get(name)
    return found if isinstance(found, Mapping) else {}


def _files_of(folder: Path) -> tuple[tuple[str, bytes], ...]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = tuple((str(path.relative_to(folder)), path.read_bytes()) for path in paths)
    if sum(len(content) for _, content in files) > _MOST_BYTES:
        raise InputError(f"the tests in {folder} are larger than {_MOST_BYTES >> 20} MB")
    return files


def _resolved(text: str) -> str:
    return _VARIABLE.sub(lambda found: os.environ.get(found[1], found[2] or ""), text)
