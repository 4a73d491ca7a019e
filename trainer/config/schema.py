"""The schema of a training stage's settings: a dataclass, recipes, and verl's names for the settings."""

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
    """Schema of the settings for one training stage."""

    root: type[C]
    """Dataclass of all settings."""
    recipes: Path
    """Folder with the YAML recipes that can be selected by name."""
    verl: VerlNames

    def translate(self, given: Mapping[str, Any], where: str, processes: int) -> Translation:
        """Translate a nested mapping of settings with `trainer.verl.translation.translate`."""
        return translation.translate(given, where, processes, dict(leaves(self.root())), self.verl)


PPO = Schema(
    Config, Path(__file__).parent.parent / "recipes", VerlNames.read("ppo", "ppo_trainer", "training")
)


def leaves(section: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted key and the value of each setting in a config or a section."""
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from leaves(value, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name, value
