"""Reads a Harbor task: its instruction, its grader, its limits, and whether it needs a container.

A task whose image contains more than a basic system needs a container. A task that neither the sandbox nor a
single container can run is rejected with a reason. This module only reads files.
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
_UNITS_MB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}
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
    grader: str
    """Shell command that runs `/tests/test.sh` with the interpreter that the script names."""
    timeout_s: float = 600.0
    """Time limit in seconds for the grader."""
    memory_mb: int | None = None
    grader_env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for the grader, with references resolved from this process's environment."""
    in_container: bool = False
    """True if the task needs an image of its own, so that the sandbox's system is no substitute."""
    image: str = ""
    """Name of the image. If empty, the image is built from the Dockerfile in `environment`."""
    build_s: float = 600.0
    """Time limit in seconds for building or pulling the image."""
    cpus: float | None = None
    network: bool | None = None
    """True if commands have network access, or None if the task does not say."""
    workdir: str = ""
    """Working directory in the container. If empty, the working directory of the image is used."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for all commands in the container."""
    user: str | None = None
    """User that runs the model's commands in the container."""
    grader_user: str | None = None


def read_task(folder: Path) -> HarborTask:
    """Read a task from its folder.

    Raises:
        InputError: The folder does not contain a task, or the task cannot run here.
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
    try:
        return HarborTask(
            folder,
            instruction,
            tests := _files_of(folder / "tests"),
            _grader(dict(tests)["test.sh"]),
            timeout_s=float(verifier.get("timeout_sec", 600.0)),
            memory_mb=_memory_mb(environment),
            grader_env=_env(verifier),
            in_container=_needs_container(folder, environment),
            image=str(environment.get("docker_image") or ""),
            build_s=float(environment.get("build_timeout_sec", 600.0)),
            cpus=_number(environment.get("cpus")),
            network=_network(environment),
            workdir=str(environment.get("workdir") or ""),
            env=_env(environment),
            user=_user(_table(said, "agent")),
            grader_user=_user(verifier),
        )
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"a value in {folder / 'task.toml'} has the wrong form: {error}") from None


cached_task = functools.lru_cache(maxsize=256)(read_task)
"""`read_task` with a cache, so that each process reads a folder only once."""


def task_folder(root: Path, name: Any) -> Path:
    """Return the folder of a row's task.

    The task's folder is `root` if `root` contains a task, or else the folder `name` in `root`.

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
    """Return why a task can run neither in the sandbox nor in a single container, or None if it can run."""
    environment, verifier = _table(said, "environment"), _table(said, "verifier")
    if (folder / "steps").is_dir() or said.get("steps"):
        return "the task has several steps"
    if any((folder / "environment").glob("docker-compose.y*ml")):
        return "the task has several containers"
    if verifier.get("environment_mode") == "separate" or verifier.get("environment"):
        return "the task's grader needs its own container"
    accelerated = environment.get("gpus") or environment.get("tpu")
    if str(environment.get("os") or "linux").lower() != "linux" or accelerated:
        return "the task needs a GPU, a TPU or another system than Linux"
    if not (folder / "tests" / "test.sh").is_file():
        return "the task has no tests/test.sh"
    for name in ("healthcheck", "mcp_servers"):
        if environment.get(name):
            return f"environment.{name} is not supported"
    modes = {str(_table(said, name).get("network_mode")) for name in ("environment", "agent", "verifier")}
    own = not modes <= {"None", str(environment.get("network_mode"))} or "allowlist" in modes
    if own and _needs_container(folder, environment):  # The sandbox has no network.
        return "network_mode must be 'public' or 'no-network', and the same for the model and the grader"
    return None


def _needs_container(folder: Path, environment: Mapping[str, Any]) -> bool:
    """Return True if the sandbox's system is no substitute for a task's image."""
    image = str(environment.get("docker_image") or "")
    if str(environment.get("workdir") or "/app") != "/app" or (image and not _is_base(image)):
        return True
    try:
        lines = (folder / "environment" / "Dockerfile").read_text(encoding="utf-8")
    except OSError:
        return False
    for line in lines.replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        word, rest = word.upper(), rest.strip()
        if word and not word.startswith("#") and word not in _HARMLESS:
            return True
        if (word == "FROM" and not _is_base(rest)) or (word == "WORKDIR" and rest.rstrip("/") != "/app"):
            return True
    return False


def _is_base(image: str) -> bool:
    return image.split()[0].split(":")[0].split("@")[0].removeprefix("docker.io/library/") in _BASES


def _table(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = said.get(name)
    return found if isinstance(found, Mapping) else {}


def _grader(script: bytes) -> str:
    first = script.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return f"{first[2:].strip() if first.startswith('#!') else 'bash'} /tests/test.sh"


def _env(table: Mapping[str, Any]) -> dict[str, str]:
    return {name: _resolved(str(value)) for name, value in _table(table, "env").items()}


def _user(table: Mapping[str, Any]) -> str | None:
    return None if table.get("user") is None else str(table["user"])


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _network(environment: Mapping[str, Any]) -> bool | None:
    if (mode := environment.get("network_mode")) is not None:
        return bool(mode == "public")
    given = environment.get("allow_internet")  # This was the name of the setting before Harbor's schema 1.3.
    return None if given is None else bool(given)


def _memory_mb(environment: Mapping[str, Any]) -> int | None:
    if (given := environment.get("memory_mb")) is not None:
        return int(given)
    # This was the name of the setting before Harbor's schema 1.3.
    text = str(environment.get("memory") or "")
    return int(float(text[:-1]) * _UNITS_MB[text[-1].upper()]) if text else None


def _files_of(folder: Path) -> tuple[tuple[str, bytes], ...]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = tuple((str(path.relative_to(folder)), path.read_bytes()) for path in paths)
    if sum(len(content) for _, content in files) > _MOST_BYTES:
        raise InputError(f"the tests in {folder} are larger than {_MOST_BYTES >> 20} MB")
    return files


def _resolved(text: str) -> str:
    return _VARIABLE.sub(lambda found: os.environ.get(found[1], found[2] or ""), text)
