"""Loads the tools of a run from names and files. Whatever is wrong with them is an error before a model
loads.

A source is YAML files (verl's `tools:` list) and names, with commas between them. A name is that of a tool
that ships with rewardkit, `path.py` or `path.py:name` for tools of your own (`@tool`), or that of an entry
point of the group `rewardkit.tools`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.agents.sources import SourceForm, names_in, open_parts, parts_of, read_entries, said_of
from rewardkit.agents.tools import verl
from rewardkit.agents.tools.declaring import Declared, OpenTool, ToolKind, declared, kind_of
from rewardkit.agents.verl_modules import function_tools, import_user_file, import_user_module
from rewardkit.errors import ConfigError, InputError, did_you_mean

ENTRY_POINT_GROUP = "rewardkit.tools"
SHIPPED = {
    "calculator": "rewardkit.agents.tools.calculator:calculator",
    "code_interpreter": "rewardkit.agents.tools.code_interpreter:CodeInterpreter",
    "search": "rewardkit.agents.tools.search:Search",
    "calc_gsm8k_reward": "rewardkit.agents.tools.answers:Gsm8kAnswer",
    "calc_geo3k_reward": "rewardkit.agents.tools.answers:Geo3kAnswer",
}
_FORM = SourceForm("tools", "tool", ("class_name", "config", "tool_schema"), ("config", "tool_schema"))
MCP = "mcp"
"""The name of all tools of MCP servers together. It needs a configuration."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a run, by name."""

    kinds: Mapping[str, ToolKind]

    @property
    def schemas(self) -> list[Mapping[str, Any]]:
        """OpenAI's function schema of each."""
        return [kind.schema for kind in self.kinds.values()]

    @property
    def makers(self) -> dict[str, Callable[[], OpenTool]]:
        """By name, a function that makes a new tool for an episode."""
        return {name: kind.open for name, kind in self.kinds.items()}

    def open(self, names: Iterable[str] | None = None) -> list[OpenTool]:
        """Return new tools for one episode.

        Args:
            names: Which; None: all of the run.

        Raises:
            InputError: the run has no tool of that name.
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
    """Return new tools for one episode.

    Args:
        source: As for `load_tools`. It is read once in a process.
        extra_info: Of the row. If it has `tool_selection`, only those tools are returned.

    Raises:
        ConfigError, MissingDependencyError: as `load_tools`.
        InputError: the row selects a tool that `source` does not have, or a file cannot be read.
    """
    selected = (extra_info or {}).get("tool_selection")
    return load_tools(source).open(None if selected is None else list(selected))


def load_tools(source: str | Path | Sequence[str]) -> Toolbox:
    """Return the tools of a source. Their code is imported, their indexes are read and their servers asked.

    Args:
        source: The path of a YAML file, or names and such paths, in a list or with commas between them.

    Raises:
        ConfigError: a tool does not exist, or its configuration does not fit.
        InputError: a file cannot be read.
        MissingDependencyError: a tool needs an extra that is not installed.
    """
    return _load(parts_of(source))


@functools.cache
def _load(parts: tuple[str, ...]) -> Toolbox:
    return Toolbox(open_parts(parts, _FORM, _opened))


def _opened(entry: Mapping[str, Any]) -> Iterator[tuple[str, ToolKind]]:
    kinds = _named(entry["class_name"], entry.get("config") or {}, entry.get("tool_schema"))
    return ((kind.name, kind) for kind in kinds)


def check_tools(source: str) -> None:
    """Make sure that all tools of a source exist. No index is read and no server is asked.

    Args:
        source: Names and paths of YAML files, with commas between them.

    Raises:
        ConfigError: a tool does not exist, or a file is no list of tools.
        InputError: a file cannot be read.
    """
    for name, where in names_in(source, _FORM.key):
        if verl.ours(name) is None and name not in SHIPPED and name != MCP:
            with said_of(where):
                _targets(name)


def tool_names(path: Path) -> list[str]:
    """Return the names of the tools of a YAML file, without importing them.

    A name is that of the entry's schema, else that of our tool for a class of verl's, else that of the class.

    Raises:
        InputError: the file cannot be read.
        ConfigError: it is no list of tools.
    """
    names = []
    for entry in read_entries(path, _FORM.key):
        function = (entry.get("tool_schema") or {}).get("function") or {}
        class_name = str(entry.get("class_name") or "")
        names.append(str(function.get("name") or verl.ours(class_name) or class_name.rpartition(":")[2]))
    return names


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
    """Return what is declared by `@tool` or by verl's `@function_tool`."""
    own = [one for one in map(declared, vars(module).values()) if one is not None]
    return [*own, *(verl.function_declared(one) for one in function_tools(module))]


def _imported(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)
