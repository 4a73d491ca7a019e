"""verl's configuration keys, rewardkit's names for these keys, and messages about unsupported keys.

The tables are JSON files, one for each command group (training, generation, evaluation). verl's defaults by
release are in `verl_defaults/`. The modules of the commands define the meaning of the settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import ConfigError, InputError, MissingDependencyError, did_you_mean, reason_of

DEFAULTS = Path(__file__).with_name("verl_defaults")
"""Folder with verl's defaults: for each key, all default values with the releases that had them."""
SWITCHES = ("enable", "enabled")
"""Names of the verl settings that enable or disable the section that contains them."""

SHOWN = 60
"""Maximum number of characters of a value in a message."""
SHOWN_KEYS = 3
"""Maximum number of keys that one line of output lists for the same reason."""


@dataclass(frozen=True, slots=True)
class VerlKeys:
    """Tables of verl's keys for one command group. If several globs match a key, the longest one applies."""

    names: Mapping[str, str]
    """rewardkit's names by glob of verl's keys. A glob has at most one `*`. The text that it matches replaces
    a `*` in the name."""
    without_effect: Mapping[str, str]
    """Messages by glob of keys that affect speed, memory or bookkeeping but no results. Each message
    describes what rewardkit does instead."""
    refused: Mapping[str, str]
    """Messages by glob of keys that would change a result. Each message says why rewardkit has no such
    setting, or names the setting to use instead."""
    same: Mapping[str, Sequence[Any]]
    """Values by glob of keys that match rewardkit's own behaviour, in addition to verl's defaults."""
    defaults: Mapping[str, Sequence[Any]]
    """All defaults that verl's releases have had for each key, the oldest default first."""

    @classmethod
    def read(cls, tables: Path, *doors: str) -> VerlKeys:
        """Read the tables in a JSON file, and verl's defaults for the command groups in `doors`."""
        found: dict[str, Any] = json.loads(tables.read_text("utf-8"))
        defaults: dict[str, list[Any]] = {}
        for door in doors:
            held = json.loads((DEFAULTS / f"{door}.json").read_text("utf-8"))["defaults"]
            for key, values in held.items():
                defaults.setdefault(key, []).extend(value for value, _ in values)
        said = {name: found.get(name, {}) for name in ("names", "without_effect", "refused", "same")}
        return cls(**said, defaults=defaults)

    def ours(self, key: str) -> str | None:
        """Return rewardkit's name for a verl key, or None if no glob matches.

        If a glob also matches the name that was found, that name is looked up in turn.
        """
        for glob, name in self.names.items():
            if fnmatchcase(key, glob):
                before, _, after = glob.partition("*")
                named = name.replace("*", key[len(before) : len(key) - len(after)])
                return self.ours(named) or named
        return None

    def knows(self, key: str) -> bool:
        """Return True if a key is known to be verl's. A match of the catch-all glob `*` does not count."""
        line = self._line(key)
        return key in self.defaults or (line is not None and line[1] != self.without_effect.get("*"))

    def leaves_open(self, key: str, value: Any) -> bool:
        """Return True if the value is verl's default and is null, `???` or a reference to another setting."""
        open_value = value is None or (isinstance(value, str) and (value == "???" or value.startswith("${")))
        return open_value and value in self.defaults.get(key, ())

    def notes(self, keys: Iterable[str], given: Mapping[str, Any], where: str) -> list[str]:
        """Return one line for each reason why unsupported keys have no effect.

        Args:
            keys: Keys for which rewardkit has no setting.
            given: All settings by key. A section that these settings disable may contain any values.
            where: Name of the file or the command line, for error messages.

        Raises:
            ConfigError: A value asks for behaviour that rewardkit does not support.
        """
        said: dict[str, list[str]] = {}
        for key in keys:
            value = given[key]
            if self._is_default(key, value) or self._is_same(key, value) or self._is_switched_off(key, given):
                continue
            refused, line = self._line(key) or (True, "there is no such setting")
            if refused:
                way_out = self._way_out(key)
                raise ConfigError(f"{key}={_shown(value)} in {where} is not supported: {line}; {way_out}")
            said.setdefault(line, []).append(f"{key}={_shown(value)}")
        return [f"{_some(words)} no effect: {line}" for line, words in said.items()]

    def _is_default(self, key: str, value: Any) -> bool:
        """Return True if a value is one of verl's defaults, or disables a feature that is off by default."""
        defaults = self.defaults.get(key, ())
        return value is None or value in defaults or (is_off(value) and all(map(is_off, defaults)))

    def _is_same(self, key: str, value: Any) -> bool:
        glob = longest_match(self.same, key) or longest_match(self.same, self.ours(key) or "")
        same = self.same.get(glob or "", ())
        texts = [one for one in same if isinstance(one, str)] if isinstance(value, str) else []
        return value in same or any(fnmatchcase(value, glob) for glob in texts)

    def _is_switched_off(self, key: str, given: Mapping[str, Any]) -> bool:
        """Return True if another setting disables a section that contains the key, so that the key has no
        effect."""
        section = key.rpartition(".")[0]
        while section:
            switches = [switch for name in SWITCHES if (switch := f"{section}.{name}") != key]
            if any(given.get(switch, self._by_default(switch)) is False for switch in switches):
                return True
            section = section.rpartition(".")[0]
        return False

    def _by_default(self, switch: str) -> Any:
        """Return the default of a switch that is not set. A switch counts as on unless changing it is
        refused."""
        refused, _ = self._line(switch) or (False, "")
        return self.defaults[switch][-1] if refused and switch in self.defaults else True

    def _line(self, key: str) -> tuple[bool, str] | None:
        """Return the message about a key, and True if changing this key is refused.

        The result is None if the tables have no message about the key.
        """
        said = {**self.without_effect, **self.refused}
        found = [longest_match(said, name) for name in (key, self.ours(key) or key)]
        glob = max((one for one in found if one is not None), key=len, default=None)
        return None if glob is None else (glob in self.refused, said[glob])

    def _way_out(self, key: str) -> str:
        defaults = self.defaults.get(key)
        return f"use the default, {json.dumps(defaults[-1])}" if defaults else "remove the setting"


_WORD = re.compile(r"\+{0,2}[A-Za-z_]\w*(\.[\w-]+)*=")


def is_setting(word: str) -> bool:
    """Return True if a word of a command line is a `key=value` setting rather than a file, folder or glob."""
    key = _WORD.match(word)
    if key is None or Path(word).exists():
        return False
    return word.startswith("+") or "." in key[0] or not set("*?[/") & set(word)


def config_file(folder: str | None, name: str | None, built_in: str) -> Path | None:
    """Return the file for Hydra's `--config-path` and `--config-name`, or None for verl's own config.

    Args:
        folder: Value of `--config-path`, or None if not given.
        name: Value of `--config-name`, or None if not given.
        built_in: Name of verl's own config. It contains the defaults, so no file has to be read for it.

    Raises:
        ConfigError: The file does not exist.
    """
    stem = (name or built_in).removesuffix(".yaml")
    path = Path(folder or ".") / f"{stem}.yaml"
    if path.is_file():
        return path
    if stem == built_in:
        return None
    raise ConfigError(
        f"no such file: {path} (--config-path, --config-name); only verl's config {built_in} can be used "
        "without a file"
    )


def read_settings(
    keys: VerlKeys, types: Mapping[str, Any], path: Path | None, words: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Read settings from a YAML file and from `key=value` words. Return them by rewardkit's names, with
    notes.

    Args:
        keys: Tables of verl's keys.
        types: Type of each of rewardkit's settings, by name.
        path: YAML file, or None if there is no file.
        words: `key=value` words from the command line, which override the file.

    Raises:
        InputError: The file does not exist, or it is not a YAML mapping.
        ConfigError: A key is unknown, or a value has the wrong type or is not supported.
    """
    told = dict(map(_assigned, words))
    layers = {"the command line": told}
    if path is not None:
        layers = {str(path): {k: v for k, v in _flat_yaml(path).items() if k not in told}, **layers}
    given = {key: value for layer in layers.values() for key, value in layer.items()}
    notes: list[str] = []
    for where, layer in layers.items():
        foreign = [key for key in layer if keys.ours(key) not in types]
        for key in foreign:
            if not keys.knows(key):
                raise ConfigError(f"unknown key '{key}' in {where}{did_you_mean(key, keys.names)}")
        notes += keys.notes(foreign, given, where)
    values: dict[str, Any] = {}
    for key, value in given.items():
        name = keys.ours(key) or ""
        if name in types:
            values[name] = _typed(key, _resolved(key, value, given), types[name])
    return {name: value for name, value in values.items() if value is not None}, notes


def _assigned(word: str) -> tuple[str, Any]:
    key, _, value = word.lstrip("+").partition("=")
    try:
        return key, msgspec.yaml.decode(value) if value else None
    except msgspec.DecodeError as error:
        raise ConfigError(f"{key}: the value is not valid YAML: {value}") from error


def _flat_yaml(path: Path) -> dict[str, Any]:
    try:
        loaded = msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not a YAML mapping: {reason_of(error)}") from None
    return dict(flatten(loaded))


def flatten(
    values: Mapping[str, Any], known: Container[str] = (), prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield the dotted keys and values of nested mappings. Empty mappings and known keys are not divided."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key not in known and isinstance(value, Mapping) and value:
            yield from flatten(value, known, f"{key}.")
        else:
            yield key, value


def _resolved(key: str, value: Any, given: Mapping[str, Any]) -> Any:
    """Return the value of a setting, with references to other settings resolved."""
    if not isinstance(value, str) or "${" not in value:
        return None if value == "???" else value
    try:
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException
    except ImportError:
        raise MissingDependencyError(
            f"{key}={value} refers to another setting, which needs omegaconf: pip install 'rewardkit[train]' "
            f"(or set {key} to a plain value)"
        ) from None
    node = OmegaConf.create()
    for name, one in given.items():
        OmegaConf.update(node, name, one, force_add=True)
    try:
        return OmegaConf.select(node, key)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{key}={value}: {reason_of(error)}") from None


def _typed(key: str, value: Any, expected: Any) -> Any:
    try:
        return value if value is None else msgspec.convert(value, expected, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{key}={_shown(value)}: {str(error).lower()}") from None


def longest_match(globs: Mapping[str, Any] | Sequence[str], key: str) -> str | None:
    """Return the longest glob that matches a key."""
    return max((glob for glob in globs if fnmatchcase(key, glob)), key=len, default=None)


def is_off(value: Any) -> bool:
    """Return True if a value disables a feature: null, false or an empty value."""
    return value is None or value is False or value in ("", [], {})


def _shown(value: Any) -> str:
    """Format a value in one short line."""
    text = " ".join((value if isinstance(value, str) else json.dumps(value, default=str)).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _some(words: Sequence[str]) -> str:
    """Join the first words, the number of words left out, and the form of "have" that fits the total
    number."""
    more = f" and {len(words) - SHOWN_KEYS} more" if len(words) > SHOWN_KEYS else ""
    return f"{', '.join(words[:SHOWN_KEYS])}{more} {'have' if len(words) > 1 else 'has'}"
