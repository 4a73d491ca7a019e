"""Writes the model card of an exported model from its training run. The card names files without folders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf

from rewardkit.errors import InputError
from rewardkit.identity.run_folders import read_identities
from rewardkit.trainer.checkpoint.find import flat, read_facts
from rewardkit.trainer.config.stages import SCHEMAS, schema_named

_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_VALIDATION = ("val-core/", "val/")
"""Beginnings of the names of the validation metrics that the card shows."""
_ELSEWHERE = tuple(
    f"trainer.{name}" for name in ("default_local_dir", "experiment_name", "project_name", "logger")
)
"""Settings that do not affect the model."""


def write_card(checkpoint: Path, folder: Path, pipeline: str = "text-generation") -> None:
    """Write the model card of a checkpoint's model to `README.md` in a folder.

    Args:
        checkpoint: Folder of the checkpoint.
        folder: Folder to write to.
        pipeline: Pipeline of transformers that runs the model.

    Raises:
        ConfigError: The checkpoint is damaged.
    """
    facts = read_facts(checkpoint)
    config = facts["config"]
    stage = _stage(config)
    base = _base_model(config)
    head = {
        "library_name": "transformers",
        "pipeline_tag": pipeline,
        **({"base_model": base} if _HUB_NAME.fullmatch(base) and not Path(base).exists() else {}),
        "tags": ["rewardkit", stage],
    }
    run, step = checkpoint.parent, facts["step"]
    parts = [
        f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n",
        f"# {config['trainer']['experiment_name']}\n",
        f"`{_named(base)}`, trained for {step} steps with rewardkit (`rewardkit {_command(stage)}`).\n",
        *_section("Validation", ("figure", "first", "last"), _validation(run / "metrics.jsonl", step)),
        *_section("Data", ("file", "digest of the rows"), _data(facts["loader"]["files"])),
        *_section("Rewards", ("data source", "reward"), _rewards(run)),
        "## Settings\n\nThese settings differ from the defaults:\n",
        f"```yaml\n{yaml.safe_dump(_changed(config, stage), sort_keys=False, allow_unicode=True)}```\n",
    ]
    (folder / "README.md").write_text("\n".join(parts), encoding="utf-8")


def _stage(config: Mapping[str, Any]) -> str:
    """Return the name of the stage whose settings have these sections."""
    sections = {name: OmegaConf.structured(schema_named(name).root()) for name in SCHEMAS}
    return next(name for name in sections if set(sections[name]) == set(config))


def _command(stage: str) -> str:
    return "train" if stage == "ppo" else stage


def _base_model(config: Mapping[str, Any]) -> str:
    model: Mapping[str, Any] = config.get("actor_rollout_ref", config)["model"]
    return str(model["path"])


def _named(path: str) -> str:
    """Return the name of a hub's model, or the last part of a path."""
    return path if _HUB_NAME.fullmatch(path) and not Path(path).exists() else Path(path).name


def _section(title: str, heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield a section with a table, or nothing if there are no rows."""
    if lines := ["| " + " | ".join(row) + " |" for row in rows]:
        heads = list(heads)
        yield "\n".join([f"## {title}\n", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines, ""])


def _validation(log: Path, step: int) -> Iterator[tuple[str, ...]]:
    """Yield the first and the last value of each validation metric up to a step."""
    values: dict[str, list[float]] = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.is_file() else ():
        metrics = json.loads(line)
        for name, value in metrics.items():
            if name.startswith(_VALIDATION) and value is not None and metrics["training/global_step"] <= step:
                values.setdefault(name, []).append(value)
    for name, found in sorted(values.items()):
        yield f"`{name}`", f"{found[0]:.4g}", f"{found[-1]:.4g}"


def _data(files: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for path, digest in files:
        yield f"`{Path(path).name}`", f"`{digest[:16]}`"


def _rewards(run: Path) -> Iterator[tuple[str, str]]:
    """Yield the rewards of a run with their versions. Stages without rewards have none."""
    try:
        identities = read_identities(run)
    except InputError:
        return
    for source, identity in identities.items():
        yield f"`{source}`", f"`{identity['reward']}`"


def _changed(config: Mapping[str, Any], stage: str) -> dict[str, Any]:
    """Return the settings that differ from the defaults, with names instead of paths."""
    plain: Any = OmegaConf.to_container(OmegaConf.structured(schema_named(stage).root()), resolve=False)
    defaults = dict(flat(plain))
    now = dict(flat(config))

    def default(key: str) -> Any:
        value = defaults.get(key)
        return now.get(value[2:-1]) if isinstance(value, str) and value.startswith("${") else value

    return {
        key: _without_folders(value)
        for key, value in now.items()
        if key not in _ELSEWHERE and value != default(key)
    }


def _without_folders(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_folders(one) for one in value]
    return _named(value) if isinstance(value, str) and "/" in value else value
