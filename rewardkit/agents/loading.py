"""Loading of a run's tools and interactions. Mistakes are reported before the model is loaded.

A source is a comma-separated list of names and YAML files with a `tools:` or `interaction:` list as in verl.
A name refers to a built-in tool or interaction, or to an entry point in the group `rewardkit.tools` or
`rewardkit.interactions`. Users refer to their own code as `path.py:name` or by its import path, and to all
`@tool` functions in a file as `path.py`.

An interaction is a class with the method `respond` and, optionally, `start`, `score` and `finish`. Any of
these may be a coroutine function. A class with verl's methods also works.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import yaml

from rewardkit.agents import verl
from rewardkit.agents.interactions.interaction import InteractionParts, OpenInteraction
from rewardkit.agents.tools.declare import Declared, OpenTool, ToolKind, declared, kind_of
from rewardkit.errors import ConfigError, InputError, MissingDependencyError, did_you_mean, reason_of
from rewardkit.extensions import added_rows

T = TypeVar("T")
SourceNames = str | Path | Sequence[str]
"""A path, a comma-separated string of names and paths, or a list of names and paths."""
Maker = Callable[[], OpenInteraction]
"""Function that creates the interaction for an episode."""

TOOLS = {
    "calculator": "rewardkit.agents.tools.calculator:calculator",
    "code_interpreter": "rewardkit.agents.tools.code_interpreter:CodeInterpreter",
    "search": "rewardkit.agents.tools.search:Search",
    "calc_gsm8k_reward": "rewardkit.agents.tools.answer_rewards:Gsm8kAnswer",
    "calc_geo3k_reward": "rewardkit.agents.tools.answer_rewards:Geo3kAnswer",
}
"""Import paths of the built-in tools, by name."""
MCP = "mcp"
"""Name that stands for all tools of the configured MCP servers. It requires a configuration."""
INTERACTIONS = {
    "gsm8k": "rewardkit.agents.interactions.gsm8k:Gsm8k",
    "simulated_user": "rewardkit.agents.interactions.simulated_user:SimulatedUser",
}
"""Import paths of the built-in interactions, by name."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Properties of one kind of object that can be loaded, either tools or interactions."""

    what: str
    """Singular noun for the kind in messages."""
    key: str
    """Key of the list of entries in a YAML file."""
    fields: tuple[str, ...]
    """Keys that an entry may have. `class_name` is required."""
    mappings: tuple[str, ...]
    """Fields whose value is a mapping or null."""
    shipped: Mapping[str, str]
    table: str
    """Name of the table to which other packages can add rows."""
    own: str
    """Syntax by which users refer to their own tool or interaction."""


_TOOL = _Kind(
    *("tool", "tools", ("class_name", "config", "tool_schema", "mcp"), ("config", "tool_schema", "mcp")),
    *({**TOOLS, MCP: ""}, "tools", "path.py:name"),
)
_INTERACTION = _Kind(
    *("interaction", "interaction", ("name", "class_name", "config"), ("config",)),
    *(INTERACTIONS, "interactions", "path.py:Class"),
)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools of a run, by name."""

    kinds: Mapping[str, ToolKind]

    @property
    def schemas(self) -> list[Mapping[str, Any]]:
        """Return the OpenAI function schemas of the tools."""
        return [kind.schema for kind in self.kinds.values()]

    @property
    def makers(self) -> dict[str, Callable[[], OpenTool]]:
        """Return functions by tool name. Each function creates a new tool for an episode."""
        return {name: kind.open for name, kind in self.kinds.items()}

    def open(self, names: Iterable[str] | None = None) -> list[OpenTool]:
        """Create tools for one episode.

        Args:
            names: Names of the tools, or None for all tools of the run.

        Raises:
            InputError: The run has no tool with one of the names.
        """
        chosen = self.kinds if names is None else names
        return [_of(self.kinds, name, "tool").open() for name in chosen]


def load_tools(source: SourceNames) -> Toolbox:
    """Load the tools in a source. Loading imports their code, reads search indexes and queries MCP servers.

    Args:
        source: Names and YAML files of tools.

    Raises:
        ConfigError: A tool does not exist, or its configuration is invalid.
        InputError: A file cannot be read.
        MissingDependencyError: A tool requires an extra that is not installed.
    """
    return _load_tools(_parts(source))


def open_tools(source: SourceNames, extra_info: Mapping[str, Any] | None = None) -> list[OpenTool]:
    """Create tools for one episode.

    Args:
        source: Source as in `load_tools`. It is loaded once per process.
        extra_info: The row's `extra_info`. If it has `tool_selection`, only the selected tools are created.

    Raises:
        ConfigError: See `load_tools`.
        MissingDependencyError: See `load_tools`.
        InputError: The row selects a tool that is not in `source`, or a file cannot be read.
    """
    selected = (extra_info or {}).get("tool_selection")
    return load_tools(source).open(None if selected is None else list(selected))


def tool_names(path: Path) -> list[str]:
    """Return the names of the tools in a YAML file, without importing the tools.

    The name of a tool comes from the schema in its entry. Without a schema, it is the name of the built-in
    tool that replaces the verl class, or else the name of the class.

    Args:
        path: YAML file with a list of tools.

    Raises:
        InputError: The file cannot be read.
        ConfigError: The file does not contain a list of tools.
    """
    names = []
    for entry in _entries(path, _TOOL.key):
        function = (entry.get("tool_schema") or {}).get("function") or {}
        class_name = str(entry.get("class_name") or "")
        names.append(str(function.get("name") or verl.ours(class_name) or class_name.rpartition(":")[2]))
    return names


def load_interactions(source: SourceNames) -> Mapping[str, Maker]:
    """Load the interactions in a source. Return functions that create an interaction, by interaction name.

    Args:
        source: Names and YAML files of interactions.

    Raises:
        ConfigError: An interaction does not exist, or its configuration is invalid.
        InputError: A file cannot be read.
    """
    return _load_interactions(_parts(source))


def open_interaction(source: SourceNames, name: str) -> OpenInteraction:
    """Create an interaction for one episode.

    Args:
        source: Source as in `load_interactions`. It is loaded once per process.
        name: Name in the row's `interaction_kwargs`.

    Raises:
        ConfigError: See `load_interactions`.
        InputError: The row names an interaction that is not in `source`, or a file cannot be read.
    """
    return _of(load_interactions(source), name, "interaction")()


def interaction_names(path: Path) -> list[str]:
    """Return the names of the interactions in a YAML file, without importing the interactions.

    Args:
        path: YAML file with a list of interactions.

    Raises:
        InputError: The file cannot be read.
        ConfigError: The file does not contain a list of interactions.
    """
    return [_name_of(entry) for entry in _entries(path, _INTERACTION.key)]


def _of(known: Mapping[str, T], name: str, what: str) -> T:
    """Return the tool or interaction that a row names, or raise InputError if the run does not have it."""
    if name in known:
        return known[name]
    raise InputError(
        f"a row uses the {what} '{name}', but this run loads only {', '.join(known) or 'none'}"
        f"{did_you_mean(name, known)}"
    )


# Tools.


@functools.cache
def _load_tools(parts: tuple[str, ...]) -> Toolbox:
    return Toolbox(_open(parts, _TOOL, lambda entry: ((kind.name, kind) for kind in _kinds(entry))))


def _kinds(entry: Mapping[str, Any]) -> list[ToolKind]:
    """Return the tools for one entry, whose `class_name` is a name, an import path or a file."""
    name = verl.ours(entry["class_name"]) or entry["class_name"]
    config, schema = entry.get("config") or {}, entry.get("tool_schema")
    if entry.get("mcp"):  # verl's files list the MCP servers beside the config
        if name != MCP:
            raise ConfigError(f"{name} does not accept MCP servers; the key 'mcp' requires class_name {MCP}")
        config = {**config, **entry["mcp"]}
    if name not in _TOOL.shipped:
        config = {key: value for key, value in config.items() if key != "type" or value != "native"}
        return [_kind(target, config, schema) for target in _targets(name)]
    config = verl.settings_for(name, config)
    if name == MCP:
        from rewardkit.agents.tools.mcp import mcp_kinds

        return mcp_kinds(config)
    return [_kind(target, config, schema) for target in _targets(name)]


def _kind(target: Any, config: Mapping[str, Any], schema: Mapping[str, Any] | None) -> ToolKind:
    if declared(target) is None and verl.is_verl_tool(target):
        return verl.verl_kind(target, config, schema)
    return kind_of(target, config, schema)


def _targets(name: str) -> list[Any]:
    """Return the functions and classes that a name refers to."""
    module, attribute, where = _found(name, _TOOL)
    if module is None:
        return [attribute]
    declarations = _declarations(module)
    if not attribute:
        return [one.target for one in declarations] or _none_declared(module, where)
    by_name = {one.name: one.target for one in declarations}
    target = by_name.get(attribute, getattr(module, attribute, None))
    if callable(target):
        return [target]
    near = did_you_mean(attribute, [*by_name, *(key for key, one in vars(module).items() if callable(one))])
    raise ConfigError(f"{where} has no tool '{attribute}'{near}")


def _none_declared(module: ModuleType, where: str) -> list[Any]:
    names = [key for key, one in vars(module).items() if inspect.isfunction(one)]
    hint = f"; add @tool to one of its functions: {', '.join(names)}" if names else ""
    raise ConfigError(f"{where} has no function or class that is decorated with @tool{hint}")


def _declarations(module: ModuleType) -> list[Declared]:
    """Return the tools that `@tool` or verl's `@function_tool` declares in a module."""
    own = [one for one in map(declared, vars(module).values()) if one is not None]
    return [*own, *(verl.function_declared(one) for one in verl.function_tools(module))]


# Interactions.


@functools.cache
def _load_interactions(parts: tuple[str, ...]) -> Mapping[str, Maker]:
    return _open(parts, _INTERACTION, lambda entry: [(_name_of(entry), _maker(entry))])


def _name_of(entry: Mapping[str, Any]) -> str:
    """Return an entry's `name` or, as in verl, its class name in lower case without `Interaction`."""
    class_name = str(entry.get("class_name") or "")
    if entry.get("name") or class_name in INTERACTIONS:
        return str(entry.get("name") or class_name)
    last = class_name.replace(":", ".").rpartition(".")[2]
    return (last.removesuffix("Interaction") or last).lower()


def _maker(entry: Mapping[str, Any]) -> Maker:
    name, config = entry["class_name"], entry.get("config") or {}
    target = _class(name)
    if hasattr(target, "generate_response"):
        shared = _made(target, name, {"config": dict(config)})
        return lambda: OpenInteraction(lambda: verl.interaction_parts(shared))
    _made(target, name, config)  # create an instance now, so that a broken class is reported early
    if not callable(getattr(target, "respond", None)):
        raise ConfigError(f"the interaction class {name} has no method 'respond'")
    return lambda: OpenInteraction(lambda: InteractionParts.of(target(**config)))


def _made(target: Any, name: str, config: Mapping[str, Any]) -> Any:
    if not inspect.isclass(target):
        raise ConfigError(f"{name} is not a class; an interaction must be a class")
    try:
        inspect.signature(target).bind(**config)
    except TypeError as error:
        takes = ", ".join(inspect.signature(target).parameters) or "nothing"
        raise ConfigError(f"{name}: invalid config: {error}; the class takes {takes}") from None
    return target(**config)


def _class(name: str) -> Any:
    module, attribute, where = _found(verl.INTERACTIONS.get(name, name), _INTERACTION)
    if module is None:
        return attribute
    if not attribute:
        raise ConfigError(f"an interaction must be a class; write {where}:CLASS")
    found = getattr(module, attribute, None)
    if found is None:
        classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
        raise ConfigError(f"{where} has no class '{attribute}'{did_you_mean(attribute, classes)}")
    return found


# Names and files of both kinds.


def _found(name: str, kind: _Kind) -> tuple[ModuleType | None, Any, str]:
    """Return the module and attribute that a name refers to, and the module's name for messages.

    For an entry point, the module is None and the attribute is the loaded object.
    """
    if name in kind.shipped:
        module, _, attribute = kind.shipped[name].partition(":")
        return importlib.import_module(module), attribute, module
    path, _, attribute = name.partition(":")
    if path.endswith(".py"):
        return verl.import_user_file(Path(path)), attribute, path
    if name in (added := added_rows(kind.table, kind.shipped)):
        return None, added[name].load(), name
    if "." not in name:
        names = [*kind.shipped, *added]
        hint = did_you_mean(name, names) or f"; known: {', '.join(names)}"
        raise ConfigError(f"unknown {kind.what} '{name}'{hint}; for your own {kind.what}, pass {kind.own}")
    package, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        return verl.import_user_module(package), attribute, package
    except ImportError as error:
        own = f"; add the package's folder to PYTHONPATH, or pass {kind.own}"
        hint = (
            f"; of verl's classes, these are available: {', '.join(verl.OURS)}"
            if name.startswith("verl.")
            else own
        )
        raise ConfigError(f"cannot import {name}: {error}{hint}") from None


def _parts(source: SourceNames) -> tuple[str, ...]:
    if isinstance(source, Path):
        return (str(source),)
    parts = source.split(",") if isinstance(source, str) else source
    return tuple(part.strip() for part in parts if part.strip())


def _open(
    parts: Sequence[str], kind: _Kind, opened: Callable[[Mapping[str, Any]], Iterable[tuple[str, T]]]
) -> dict[str, T]:
    """Load the objects that names and files refer to, by name. A plain name is an entry without settings."""
    found: dict[str, T] = {}
    for part in parts:
        for where, entry in _checked(Path(part), kind) if _is_file(part) else [("", {"class_name": part})]:
            with _said_of(where):
                made = list(opened(entry))
            for name, one in made:
                if name in found:
                    raise ConfigError(f"two {kind.what}s have the name '{name}'; rename or remove one")
                found[name] = one
    return found


def _is_file(part: str) -> bool:
    return part.endswith((".yaml", ".yml"))


def _entries(path: Path, key: str) -> list[Mapping[str, Any]]:
    """Return the list of mappings under a key in a YAML file."""
    try:
        found = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {reason_of(error)}") from None
    entries = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ConfigError(f"'{key}' in {path} must be a list of mappings that each have a class_name")
    return entries


def _checked(path: Path, kind: _Kind) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Check each entry in a file, and yield it with its position as a prefix for error messages."""
    for place, entry in enumerate(_entries(path, kind.key), 1):
        where = f"{path}, {kind.what} {place}: "
        unknown = entry.keys() - set(kind.fields)
        if unknown or not isinstance(entry.get("class_name"), str):
            what = f"unknown key '{sorted(unknown)[0]}'" if unknown else "class_name is missing"
            known = f"{', '.join(kind.fields[:-1])} and {kind.fields[-1]}"
            raise ConfigError(f"{where}{what}; valid keys are {known}")
        for key in kind.mappings:
            if not isinstance(entry.get(key, {}), Mapping | None):
                raise ConfigError(f"{where}{key} is {entry[key]!r:.40}; expected a mapping")
        yield where, entry


@contextlib.contextmanager
def _said_of(where: str) -> Iterator[None]:
    """Prefix the message of an error that is raised within the block with the position `where`."""
    try:
        yield
    except (ConfigError, InputError, MissingDependencyError) as error:
        raise type(error)(f"{where}{error}") from error
