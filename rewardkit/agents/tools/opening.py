"""Tools by name or by a file -> those of an episode. What can be wrong is said here, before a model loads.

A source is the path of a YAML (verl's `tools:` list), or names, with commas between: shipped ones, those that
`@tool` has declared in `path.py` or `path.py:name`, or in a package behind an entry point of the group
`rewardkit.tools`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from rewardkit.agents.tools import verl
from rewardkit.agents.tools.declaring import Declared, OpenTool, ToolKind, declared, kind_of
from rewardkit.agents.verl_modules import function_tools, import_user_file, import_user_module
from rewardkit.errors import ConfigError, InputError, MissingDependencyError, did_you_mean

ENTRY_POINT_GROUP = "rewardkit.tools"
SHIPPED = {
    "calculator": "rewardkit.agents.tools.calculator:calculator",
    "code_interpreter": "rewardkit.agents.tools.code_interpreter:CodeInterpreter",
    "search": "rewardkit.agents.tools.search:Search",
    "calc_gsm8k_reward": "rewardkit.agents.tools.answers:Gsm8kAnswer",
    "calc_geo3k_reward": "rewardkit.agents.tools.answers:Geo3kAnswer",
}
MCP = "mcp"
"""Stands for all tools of MCP servers; it needs a configuration."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a run."""

    kinds: Mapping[str, ToolKind]

    @property
    def schemas(self) -> list[Mapping[str, Any]]:
        """OpenAI's function schema of each."""
        return [kind.schema for kind in self.kinds.values()]

    @property
    def makers(self) -> dict[str, Callable[[], OpenTool]]:
        """What makes a fresh tool, by name."""
        return {name: kind.open for name, kind in self.kinds.items()}

    def open(self, names: Iterable[str] | None = None) -> list[OpenTool]:
        """Return tools for one episode.

        Args:
            names: Of these; None: all.

        Raises:
            InputError: there is none of a name.
        """
        return [self._kind(name).open() for name in (self.kinds if names is None else names)]

    def _kind(self, name: str) -> ToolKind:
        if name not in self.kinds:
            hint = did_you_mean(name, self.kinds) or f"; this run has {', '.join(self.kinds) or 'none'}"
            raise InputError(f"a row selects the tool '{name}', which is not there{hint}")
        return self.kinds[name]


def open_tools(
    source: str | Path | Sequence[str], extra_info: Mapping[str, Any] | None = None
) -> list[OpenTool]:
    """Return fresh tools for one episode: those of `source` that the row selects, or all.

    Args:
        source: A YAML's path, or names. Read once.
        extra_info: The row's; its `tool_selection` restricts the tools.

    Raises:
        ConfigError: `load_tools` says why.
        InputError: the row selects a tool that is not there.
    """
    selected = (extra_info or {}).get("tool_selection")
    return load_tools(source).open(None if selected is None else list(selected))


def load_tools(source: str | Path | Sequence[str]) -> Toolbox:
    """Return the tools of a YAML's path or of names: their code imported, their indexes and servers opened.

    Raises:
        ConfigError: there is no such tool, or its configuration does not fit.
        InputError: a file cannot be read.
        MissingDependencyError: a tool needs an extra that is not installed.
    """
    if isinstance(source, Path):
        return _load((str(source),))
    parts = source.split(",") if isinstance(source, str) else source
    return _load(tuple(part.strip() for part in parts if part.strip()))


@functools.cache
def _load(parts: tuple[str, ...]) -> Toolbox:
    kinds: dict[str, ToolKind] = {}
    for part in parts:
        is_file = part.endswith((".yaml", ".yml"))
        for kind in _from_file(Path(part)) if is_file else _named(part, {}, None):
            if kind.name in kinds:
                raise ConfigError(f"there are two tools of the name '{kind.name}'")
            kinds[kind.name] = kind
    return Toolbox(kinds)


def check_tools(source: str) -> None:
    """Make sure that all tools of a source are there; nothing is opened.

    Raises:
        ConfigError, InputError: one is not there, or a file cannot be read.
    """
    for name, where in names_in(source, "tools"):
        if verl.ours(name) is None and name not in SHIPPED and name != MCP:
            with said_of(where):
                _targets(name)


def names_in(source: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield the names in a source and the classes in its files' list under `key`, with where they stand.

    Raises:
        ConfigError, InputError: a file cannot be read.
    """
    for part in filter(None, map(str.strip, source.split(","))):
        if not part.endswith((".yaml", ".yml")):
            yield part, ""
            continue
        for place, entry in enumerate(read_entries(Path(part), key), 1):
            yield str(entry.get("class_name") or ""), f"{part}, entry {place} of '{key}': "


@contextlib.contextmanager
def said_of(where: str) -> Iterator[None]:
    """Within it, errors begin with where what they are about stands."""
    try:
        yield
    except (ConfigError, InputError, MissingDependencyError) as error:
        raise type(error)(f"{where}{error}") from error


def tool_names(path: Path) -> list[str]:
    """Return the names of a YAML's tools as far as the file says them; nothing is opened.

    Raises:
        ConfigError, InputError: the file cannot be read.
    """
    names = []
    for entry in read_entries(path, "tools"):
        function = (entry.get("tool_schema") or {}).get("function") or {}
        class_name = str(entry.get("class_name") or "")
        names.append(str(function.get("name") or verl.ours(class_name) or class_name.rpartition(":")[2]))
    return names


def read_entries(path: Path, key: str) -> list[Mapping[str, Any]]:
    """Return the list of mappings under a key of a YAML.

    Raises:
        InputError: the file cannot be read.
        ConfigError: it is no YAML, or has no such list.
    """
    try:
        found = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no YAML: {' '.join(str(error).split())[:200]}") from None
    entries = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ConfigError(f"{path} has no list '{key}' of mappings with a class_name each")
    return entries


def _from_file(path: Path) -> list[ToolKind]:
    kinds = []
    for place, entry in enumerate(read_entries(path, "tools"), 1):
        name = entry.get("class_name")
        config = entry.get("config")
        schema = entry.get("tool_schema")
        where = f"{path}, tool {place}"
        unknown = entry.keys() - {"class_name", "config", "tool_schema"}
        if unknown or not isinstance(name, str):
            what = f"there is no key '{sorted(unknown)[0]}'" if unknown else "class_name is missing"
            raise ConfigError(f"{where}: {what}; an entry has class_name, config and tool_schema")
        for key, value in (("config", config), ("tool_schema", schema)):
            if value is not None and not isinstance(value, Mapping):
                raise ConfigError(f"{where}: {key} is {value!r:.40}; expected a mapping")
        with said_of(f"{where}: "):
            kinds += _named(name, config or {}, schema)
    return kinds


def _named(name: str, config: Mapping[str, Any], schema: Mapping[str, Any] | None) -> list[ToolKind]:
    """The tools of one name, class path or file."""
    shipped = verl.ours(name)
    if shipped is None and name not in SHIPPED and name != MCP:
        config = {key: value for key, value in config.items() if key != "type" or value != "native"}
        targets = _targets(name)
        return [_kind(target, config, schema) for target in targets]
    config = verl.settings_for(shipped or name, config)
    if (shipped or name) == MCP:
        from rewardkit.agents.tools.mcp import mcp_kinds

        return mcp_kinds(config)
    return [kind_of(_imported(SHIPPED[shipped or name]), config, schema)]


def _kind(target: Any, config: Mapping[str, Any], schema: Mapping[str, Any] | None) -> ToolKind:
    if declared(target) is None and verl.is_verl_tool(target):
        return verl.verl_kind(target, config, schema)
    return kind_of(target, config, schema)


def _targets(name: str) -> list[Any]:
    """The functions and classes behind a name that is not ours."""
    path, _, attribute = name.partition(":")
    if path.endswith(".py"):
        module = import_user_file(Path(path))
        return [_attribute(module, attribute, path)] if attribute else _declared_in(module, path)
    for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP, name=name):
        return [entry.load()]
    if "." not in name:
        known = [*SHIPPED, MCP]
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise ConfigError(f"there is no tool '{name}' (one of your own is path.py:name){hint}")
    package, _, attribute = name.replace(":", ".").rpartition(".")
    return [_attribute(_module(package, name), attribute, package)]


def _module(package: str, name: str) -> ModuleType:
    try:
        return import_user_module(package)
    except ImportError as error:
        raise ConfigError(f"{name} cannot be imported: {error}") from None


def _attribute(module: ModuleType, name: str, where: str) -> Any:
    found = getattr(module, name, None)
    by_name = {one.name: one.target for one in _declarations(module)}
    found = by_name.get(name, found)
    if not callable(found):
        near = did_you_mean(name, [*by_name, *(key for key, one in vars(module).items() if callable(one))])
        raise ConfigError(f"{where} has no tool '{name}'{near}")
    return found


def _declared_in(module: ModuleType, path: str) -> list[Any]:
    found = [one.target for one in _declarations(module)]
    if not found:
        names = [key for key, one in vars(module).items() if inspect.isfunction(one)]
        hint = f"; it has {', '.join(names)}" if names else ""
        raise ConfigError(f"{path} has no function or class with @tool above it{hint}")
    return found


def _declarations(module: ModuleType) -> list[Declared]:
    """What stands under `@tool`, or under verl's `@function_tool`."""
    own = [one for one in map(declared, vars(module).values()) if one is not None]
    return [*own, *(verl.function_declared(one) for one in function_tools(module))]


def _imported(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)
