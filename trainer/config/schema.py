"""Settings of one stage of training: its dataclass, its recipes, and its names in verl's configurations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from rewardkit.trainer.config.root import Config
from rewardkit.trainer.verl import translation
from rewardkit.trainer.verl.translation import Translation, VerlNames

C = TypeVar("C")


@dataclass(frozen=True, eq=False)
class Schema(Generic[C]):
    """Settings of one stage of training."""

    root: type[C]
    """Dataclass of all settings."""
    recipes: Path
    """Folder of the YAML recipes that can be selected by name."""
    verl: VerlNames

    def translate(self, given: Mapping[str, Any], where: str, processes: int) -> Translation:
        """Translate a nested mapping of settings, as `trainer.verl.translation.translate` does."""
        return translation.translate(given, where, processes, dict(leaves(self.root())), self.verl)


PPO = Schema(
    Config, Path(__file__).parent.parent / "recipes", VerlNames.read("ppo", "ppo_trainer", "training")
)


def leaves(section: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted keys of all settings of a config or a section of it, with their values."""
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from leaves(value, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name, value
