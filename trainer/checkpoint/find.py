"""Finds the checkpoint to resume from, publishes new checkpoints, and removes old checkpoints.

A folder named `global_step_N` is created or removed only by renaming, so it is always complete. While the
folder is being written or removed, its name starts with a dot. `save.py` describes the contents of a
checkpoint. This module does not import torch.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rewardkit.errors import ConfigError, InputError, reason_of
from rewardkit.evaluation.html.run_page import ALARMS, SAMPLES
from rewardkit.files.publishing import published, sync
from rewardkit.trainer.config.root import RunConfig, StageConfig

TRACKER = "latest_checkpointed_iteration.txt"
FACTS = "trainer.json"
"""File in a checkpoint that contains all values except tensors."""
RESTARTED = "REWARDKIT_RESTARTED"
"""Environment variable that marks a process as the replacement for a process that died."""
RESUME_ANOTHER = (
    "set trainer.resume_mode=resume_path and trainer.resume_from_path to another checkpoint, or "
    "trainer.resume_mode=disable to start from scratch"
)
"""Advice in error messages about a checkpoint that cannot be resumed."""


def to_export(checkpoint: Path, out: Path) -> Path:
    """Return the checkpoint in a folder, or the last checkpoint in the folder of a run.

    Raises:
        InputError: There is no checkpoint, or the folder `out` exists.
    """
    found = checkpoint if (checkpoint / FACTS).is_file() else latest(checkpoint)
    if found is None:
        raise InputError(
            f"{checkpoint} is neither a checkpoint (a folder with {FACTS}) nor the folder of a run with a "
            "checkpoint"
        )
    if out.exists():
        raise InputError(f"{out} already exists; choose another folder")
    return found


def find_checkpoint(config: RunConfig) -> Path | None:
    """Return the checkpoint that `trainer.resume_mode` selects for resuming, or None.

    Restarted processes always resume from a checkpoint of their own run if it has one.

    Raises:
        ConfigError: The checkpoint that the mode selects does not exist.
    """
    given = config.trainer
    folder = Path(given.default_local_dir)
    if given.resume_mode == "auto" or (restarted() and (folder / TRACKER).exists()):
        return latest(folder)
    if given.resume_mode == "disable":
        return None
    if given.resume_from_path is None:
        raise ConfigError("trainer.resume_mode=resume_path needs trainer.resume_from_path=.../global_step_N")
    path = Path(given.resume_from_path)
    if not (path / FACTS).is_file():
        raise ConfigError(f"trainer.resume_from_path={path} is not a checkpoint: the file {FACTS} is missing")
    return path


def restarted() -> bool:
    """Return True if this process replaces a process that died."""
    return RESTARTED in os.environ or os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


def latest(folder: Path) -> Path | None:
    """Return the checkpoint that a run's tracker file names, or None if there is no tracker file.

    Raises:
        ConfigError: The checkpoint that the tracker file names does not exist.
    """
    tracker = folder / TRACKER
    if not tracker.is_file():
        return None
    name = f"global_step_{tracker.read_text(encoding='utf-8', errors='replace').strip()}"
    path = folder / name
    if not (path / FACTS).is_file():
        raise ConfigError(
            f"{tracker} refers to {name}, which does not exist or has no {FACTS}; {RESUME_ANOTHER}"
        )
    return path


def prepare(folder: Path, start: Path | None) -> None:
    """Before a run resumes, remove incomplete checkpoints and all log lines after `start` from its folder."""
    for leftover in folder.glob(".global_step_*"):
        shutil.rmtree(leftover)
    if start is not None and start.parent.resolve() == folder.resolve():
        write_whole(folder / TRACKER, start.name.rpartition("_")[2])
    else:
        (folder / TRACKER).unlink(missing_ok=True)
    if start is None:
        for name in (SAMPLES, ALARMS):
            (folder / name).unlink(missing_ok=True)
    _trim_log(folder / "metrics.jsonl", None if start is None else read_facts(start))


def read_facts(checkpoint: Path) -> dict[str, Any]:
    """Read all values in a checkpoint except tensors.

    Raises:
        ConfigError: The file is damaged or was not written by this program.
    """
    file = checkpoint / FACTS
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(facts, dict):
            raise ValueError("expected a JSON object")
    except (ValueError, OSError) as error:
        raise ConfigError(f"cannot read {file}: {reason_of(error)}; {RESUME_ANOTHER}") from None
    return facts


def temporary(folder: Path, step: int) -> Path:
    """Return the folder in which a step's checkpoint is written before it is renamed."""
    return folder / f".global_step_{step}.tmp"


def put_in_place(folder: Path, step: int, keep: int | None) -> None:
    """Rename a step's complete checkpoint, mark it as the latest, and remove all but the last `keep`."""
    written = temporary(folder, step)
    final = folder / f"global_step_{step}"
    for path in (*written.rglob("*"), written):
        sync(path)
    # A folder of this name is from an earlier run or was never marked as the latest (see `prepare`).
    if final.exists():
        _remove(final)
    written.rename(final)
    sync(folder)
    write_whole(folder / TRACKER, str(step))
    older = sorted((p for p in folder.glob("global_step_*") if _step_of(p) < step), key=_step_of)
    for path in older[: max(len(older) - keep + 1, 0)] if keep else []:
        _remove(path)


def number_to_keep(config: StageConfig) -> int | None:
    """Return the number of checkpoints to keep, or None to keep all checkpoints."""
    numbers = (config.max_ckpt_to_keep, config.max_actor_ckpt_to_keep, config.max_critic_ckpt_to_keep)
    return max((n for n in numbers if n is not None), default=None)


def changed_settings(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return `key old -> new` for changed settings, except for paths, run length and speed."""
    old = dict(flat(saved))
    new = dict(flat(json.loads(json.dumps(now))))
    harmless = ("reward.url", "reward_model.url", "micro_batch_size", "_files", "checkpoint.", "model.path")
    return [
        f"{key} {old.get(key)} -> {new.get(key)}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
        and (not key.startswith("trainer.") or key == "trainer.critic_warmup")
        and not any(h in key for h in harmless)
    ]


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically, so that it contains its old or its new text even if the machine stops."""
    with published(path) as file:
        file.write(text.encode())


def _trim_log(log: Path, facts: Mapping[str, Any] | None) -> None:
    """Remove steps after the checkpoint's step from the log, and add the checkpoint's step if missing."""
    if facts is None:
        log.unlink(missing_ok=True)
        return
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    kept = {step: line for line in lines if (step := _logged_step(line)) <= facts["step"]}
    kept.pop(-1, None)
    kept.setdefault(facts["step"], json.dumps(facts["metrics"]))
    write_whole(log, "".join(f"{line}\n" for line in kept.values()))


def _logged_step(line: str) -> int:
    """Return the step in a log line, or -1 if the line is incomplete or contains no step."""
    try:
        return int(json.loads(line)["training/global_step"])
    except (ValueError, KeyError, TypeError):
        return -1


def _remove(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint.rename(checkpoint.with_name(f".{checkpoint.name}.gone")), ignore_errors=True)


def _step_of(path: Path) -> int:
    step = path.name.rpartition("_")[2]
    return int(step) if step.isdecimal() else -1


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted key and the value of each setting in a nested mapping."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
