"""Compositions, which are rewards made up of other rewards.

`compose` registers one composition, and `load_compositions` registers all compositions in a YAML file, which
may also import rewards from other projects (`import: SPEC`). The module `tree` reads compositions, `running`
runs their members, `combining` combines the scores, and `check` warns about badly balanced compositions.

    >>> from rewardkit.composition import compose
    >>> compose("mix", {"sum": ["gsm8k", {"reward": "think_format", "weight": 0.1}]}, ["my/data"]).name
    'mix'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rewardkit.rewards  # noqa: F401  (registers the rewards that compositions use)
from rewardkit.composition.check import warnings
from rewardkit.composition.reading import read_yaml
from rewardkit.composition.running import reward_from
from rewardkit.composition.tree import compose_tree
from rewardkit.errors import InputError, OptionsError
from rewardkit.foreign import register, spec_of_entry
from rewardkit.registry import REGISTRY, Registry, Reward

__all__ = ["check", "compose", "load_compositions"]


def compose(
    name: str,
    spec: Mapping[str, Any],
    data_sources: Sequence[str] = (),
    *,
    registry: Registry = REGISTRY,
    replace_existing: bool = True,
) -> Reward:
    """Register a composition as a reward, and return the reward.

    Args:
        name: Name of the reward, unless the spec has a `name`.
        spec: Composition as plain data, as in YAML.
        data_sources: Data sources to score, by default the spec's own `data_sources`.
        registry: Registry to which the reward is added.
        replace_existing: True to replace an existing reward for these data sources; False to raise an error.

    Raises:
        OptionsError: The spec is not valid, names no data source, or has the name of an existing reward.
    """
    composition = compose_tree(spec, name, data_sources, registry)
    where = f"{place}: " if (place := getattr(spec, "place", "")) else ""
    if not composition.data_sources:
        raise OptionsError(
            f"{where}composition '{composition.name}' has no data_sources; list the data sources to score"
        )
    holder = registry.by_name(composition.name)
    if holder is not None and not hasattr(holder.target, "composition"):
        raise OptionsError(
            f"{where}composition '{composition.name}' has the same name as an existing reward; "
            "set another `name`"
        )
    return registry.register(reward_from(composition), replace_existing=replace_existing)


def check(reward: Reward) -> list[str]:
    """Return warnings about a composition, or an empty list for any other reward."""
    composition = getattr(reward.target, "composition", None)
    return warnings(composition) if composition is not None else []


def load_compositions(path: str | Path, *, registry: Registry = REGISTRY) -> list[Reward]:
    """Register the compositions and imported rewards in a YAML file, and return them as rewards.

    The file contains one composition or import, or several as a list or as a mapping from names. Compositions
    can use the imported rewards.

    Raises:
        InputError: The file cannot be read or is not YAML, two compositions have the same name or data
            source, or an import fails.
        OptionsError: A composition is not valid. The message names the place in the file.
    """
    path = Path(path)
    given = read_yaml(path)
    named = _named(given, path)
    _refuse_shared(named, path)
    imports = [(name, spec) for name, spec in named if "import" in spec]
    made = {name: register(spec_of_entry(name, spec), registry) for name, spec in imports}
    made |= {name: compose(name, spec, registry=registry) for name, spec in named if name not in made}
    return [made[name] for name, _ in named]


def _refuse_shared(named: Sequence[tuple[str, Mapping[str, Any]]], path: Path) -> None:
    """Raise an InputError if two compositions in a file have the same name or data source."""
    holders: dict[str, str] = {}
    for stem, spec in named:
        name = str(spec.get("name") or stem)
        sources = spec.get("data_sources")
        several = [sources] if isinstance(sources, str) else sources if isinstance(sources, list) else []
        for shared in (f"name '{name}'", *dict.fromkeys(f"data source '{source}'" for source in several)):
            if shared in holders:
                both = f"'{holders[shared]}' and '{name}'"
                raise InputError(
                    f"{path}: the compositions {both} have the same {shared}; change one of them"
                )
            holders[shared] = name


def _named(given: Any, path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    if isinstance(given, Mapping) and ("data_sources" in given or isinstance(given.get("import"), str)):
        return [(path.stem, given)]
    if isinstance(given, list):
        named = [(f"{path.stem}_{i + 1}", spec) for i, spec in enumerate(given)]
    elif isinstance(given, Mapping):
        named = [(str(name), spec) for name, spec in given.items()]
    else:
        named = []
    if not named or not all(isinstance(spec, Mapping) for _, spec in named):
        raise InputError(
            f"{path} contains no composition. A composition has either data_sources and a tree (`gate: ...`) "
            "or `import: SPEC`. For several compositions, write a list or a mapping of them"
        )
    return named
