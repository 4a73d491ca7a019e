"""How a recipe and `key=value` words become one checked Config, and a Config plain data or YAML again.

The settings themselves are in `config.py`; checks across settings or against files are in `preflight.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.trainer.config import Config
from rewardkit.trainer.verl_keys import holds, why_not

RECIPES = Path(__file__).parent / "recipes"


def load_config(recipe: str | Path | None = None, overrides: Sequence[str] = ()) -> Config:
    """Return the defaults, changed by a YAML recipe, changed by `key=value` overrides.

    Args:
        recipe: a YAML file, or the name of one of ours (`tiny-cpu`).
        overrides: dotted assignments, `actor_rollout_ref.rollout.n=4`; values are YAML. Hydra's `+` and `++`
            in front are taken and change nothing.

    Raises:
        ConfigError: no such file, an unknown key (names the nearest known one, or says why verl's has no
            place here), a value of the wrong type, or a required key that is not set.
    """
    whole = merged(read_layers(recipe, overrides))
    missing = sorted(OmegaConf.missing_keys(whole))
    if missing:
        raise ConfigError(f"{missing[0]} is not set; pass {missing[0]}=... or set it in the recipe")
    config = _converted(OmegaConf.to_object, whole)
    assert isinstance(config, Config)
    return config


def read_layers(recipe: str | Path | None, overrides: Sequence[str]) -> list[Any]:
    """Return the defaults, the recipe and the overrides, each as an OmegaConf node."""
    loaded = OmegaConf.create() if recipe is None else _load_recipe(Path(recipe))
    given = _converted(OmegaConf.from_dotlist, [_assignment(word) for word in overrides])
    return [OmegaConf.structured(Config), _known(loaded, str(recipe)), _known(given, "the command line")]


def merged(layers: Sequence[Any]) -> Any:
    """Return the layers merged, later ones on top.

    Raises:
        ConfigError: a value of the wrong type.
    """
    return _converted(lambda layers: OmegaConf.merge(*layers), layers)


def as_dict(config: Config) -> dict[str, Any]:
    """Return the whole resolved config as plain data."""
    plain = OmegaConf.to_container(OmegaConf.structured(config), resolve=True)
    assert isinstance(plain, dict)
    return {str(section): values for section, values in plain.items()}


def as_yaml(config: Config) -> str:
    """Return the whole resolved config as YAML, as it is written beside a run's checkpoints."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def _converted(convert: Callable[[Any], Any], given: Any) -> Any:
    try:
        return convert(given)
    except OmegaConfBaseException as error:
        where = f"{error.full_key}: " if getattr(error, "full_key", None) else ""
        raise ConfigError(where + str(error).splitlines()[0]) from None


def _assignment(word: str) -> str:
    """An override as OmegaConf takes it."""
    if word.startswith("~"):
        raise ConfigError(f"'{word}': no setting can be taken away; set it to its default, or to null")
    if "=" not in word:
        raise ConfigError(f"expected key=value, found '{word}' on the command line")
    return word.removeprefix("+").removeprefix("+")


def _load_recipe(path: Path) -> Any:
    shipped = RECIPES / f"{path.name}.yaml"
    if not path.is_file() and shipped.is_file():
        path = shipped
    if not path.is_file():
        ours = sorted(p.stem for p in RECIPES.glob("*.yaml"))
        raise ConfigError(f"no such recipe: {path}; ours are: {', '.join(ours)}")
    try:
        loaded = OmegaConf.load(path)
    except Exception as error:  # whatever the YAML parser raises
        raise ConfigError(f"{path} is not valid YAML: {str(error).splitlines()[0]}") from None
    if not OmegaConf.is_dict(loaded):
        raise ConfigError(f"{path} must hold a mapping of settings, found {type(loaded).__name__}")
    return loaded


def _leaves(section: Any, prefix: str = "") -> Iterator[str]:
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from _leaves(value, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name


def flat_keys(values: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted keys of a nested mapping; an empty mapping is a value."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat_keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _known(layer: Any, where: str) -> Any:
    """The layer without the settings of verl that hold here anyway; unknown ones are refused."""
    return OmegaConf.create(_kept(OmegaConf.to_container(layer), list(_leaves(Config())), where))


def _kept(values: Any, known: Sequence[str], where: str, prefix: str = "") -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key not in known and isinstance(value, Mapping) and value:
            if inner := _kept(value, known, where, f"{key}."):
                kept[name] = inner
        elif key in known:
            kept[name] = value
        elif inside := [k for k in known if k.startswith(f"{key}.")]:
            if value:
                raise ConfigError(f"'{key}' in {where} is a section; set one of its settings, as {inside[0]}")
        elif not holds(key, value):
            reason = why_not(key)
            hint = f": {reason}" if reason else did_you_mean(key, known) or _siblings(key, known)
            raise ConfigError(f"unknown setting '{key}' in {where}{hint}")
    return kept


def _siblings(key: str, known: Sequence[str]) -> str:
    """The settings of the same section, for a key that resembles none."""
    section = key.rpartition(".")[0] + "."
    same = [k for k in known if k.startswith(section) and "." not in k.removeprefix(section)]
    return f"; {section[:-1]} has: {', '.join(k.removeprefix(section) for k in same)}" if same else ""
