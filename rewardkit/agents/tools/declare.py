"""Declaration of tools with `@tool`, for a typed function, or for a class if the tool has state.

The schema is derived from the name, type hints and docstring of the function, or of the class's `execute`. A
class may also have the methods `create`, `reward` and `release`. For each episode, `ToolKind` creates a new
instance from the tool's configuration. Functions and methods may be coroutine functions. A type hint may be
any type that msgspec can convert: numbers, strings, lists, dicts, `Literal`, enums, dataclasses, and unions
with None.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar, overload

import msgspec

from rewardkit.agents.tools.arguments import BadCall, fit, usage
from rewardkit.agents.tools.results import called, number, observation_of
from rewardkit.agents.types import Observation
from rewardkit.errors import ConfigError, did_you_mean

T = TypeVar("T")
_MARK = "__rewardkit_tool__"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$", re.MULTILINE
)
_ENTRY = re.compile(r"^(\s+)\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class ToolParts:
    """Functions of a tool in one episode. Optional functions may be None."""

    execute: Callable[..., Any]
    """Function that executes a call. It receives the arguments of the call as keyword arguments."""
    create: Callable[..., Any] | None = None
    reward: Callable[[], Any] | None = None
    release: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolKind:
    """A configured tool, with its schema for the model and the function that creates it for an episode."""

    name: str
    schema: Mapping[str, Any]
    """OpenAI function schema."""
    make: Callable[[], ToolParts]
    convert: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Function that converts the arguments of a call for `execute`, or raises BadCall if they are invalid."""
    inline: bool = False
    """True to run the tool in the event loop instead of a thread. See the function `tool`."""

    def open(self) -> OpenTool:
        """Create a tool for one episode."""
        return OpenTool(self)


class OpenTool:
    """Tool in one episode. See `rewardkit.agents.types.Tool`."""

    def __init__(self, kind: ToolKind) -> None:
        self.name = kind.name
        self.schema = kind.schema
        self._kind = kind
        self._parts: ToolParts | None = None

    async def create(self, **kwargs: Any) -> None:
        """Initialise the tool's state. Drop arguments that are null or that the tool does not accept."""
        self._parts = self._kind.make()
        if self._parts.create is not None:
            await self._called(self._parts.create, **accepted(self._parts.create, kwargs))

    async def execute(self, arguments: Mapping[str, Any]) -> Observation:
        """Execute one call. If the arguments are invalid, the observation gives the reason."""
        try:
            fitted = self._kind.convert(arguments)
            if self._parts is None:
                self._parts = self._kind.make()
            return observation_of(await self._called(self._parts.execute, **fitted))
        except BadCall as error:
            return Observation(f"Error: {self.name}: {error}", status="bad_call")

    async def reward(self) -> float | None:
        """Return the reward for the tool's state, or None if the tool gives no reward."""
        if self._parts is None or self._parts.reward is None:
            return None
        return number(await self._called(self._parts.reward))

    async def release(self) -> None:
        """Release the tool's resources. Further calls do nothing."""
        parts, self._parts = self._parts, None
        if parts is not None and parts.release is not None:
            await self._called(parts.release)

    async def _called(self, function: Callable[..., Any], **kwargs: Any) -> Any:
        return await called(function, inline=self._kind.inline, **kwargs)


@dataclass(frozen=True, slots=True)
class Declared:
    """Declaration of a function or class as a tool, with the arguments of `@tool`."""

    name: str
    target: Any
    inline: bool = False
    parameters: Mapping[str, Any] | None = None
    """JSON schema of the arguments. If None, it is derived from the type hints."""


@overload
def tool(target: T) -> T: ...


@overload
def tool(
    target: None = None,
    *,
    name: str | None = None,
    inline: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> Callable[[T], T]: ...


def tool(
    target: Any = None,
    *,
    name: str | None = None,
    inline: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> Any:
    """Declare a function or a class as a tool.

    Args:
        target: Typed function, or class with a typed `execute`.
        name: Name of the tool. If None, the function's name, or the class's name in snake case, is used.
        inline: True to run the tool in the event loop instead of a thread. This requires a pure function that
            takes only microseconds.
        parameters: JSON schema of the arguments, if type hints cannot express the schema.

    Example:
        >>> @tool
        ... def weather(city: str, days: int = 1) -> str:
        ...     '''Forecast the weather.
        ...
        ...     Args:
        ...         city: Name of the city.
        ...         days: Number of days.
        ...     '''
        ...     return f"{city}: dry for {days} days"
    """

    def declare(made: Any) -> Any:
        called = name or (_snake(made.__name__) if inspect.isclass(made) else made.__name__)
        setattr(made, _MARK, Declared(called, made, inline, parameters))
        return made

    return declare if target is None else declare(target)


def declare(target: Any, what: Declared) -> Declared:
    """Attach a declaration to a function and return the declaration."""
    setattr(target, _MARK, what)
    return what


def declared(target: Any) -> Declared | None:
    """Return the declaration that `@tool` attached to the target, or None if it has no declaration."""
    found = getattr(target, "__dict__", {}).get(_MARK)
    return found if isinstance(found, Declared) else None


def kind_of(
    target: Any, config: Mapping[str, Any] | None = None, schema: Mapping[str, Any] | None = None
) -> ToolKind:
    """Create a configured tool from a function or class.

    Args:
        target: Function or class, with or without `@tool`.
        config: Arguments for the class's constructor.
        schema: OpenAI function schema from a file. It replaces the schema derived from type hints.

    Raises:
        ConfigError: The target cannot be a tool, or the configuration or schema is not valid for it.
    """
    found = declared(target) or declared(tool(target) if inspect.isfunction(target) else target)
    found = found or Declared(_snake(getattr(target, "__name__", str(target))), target)
    config = dict(config or {})
    if not inspect.isclass(target):
        return _function_kind(found, config, schema)
    make = _maker(found, config)
    method = getattr(make(), "execute", None)
    if not callable(method):
        raise ConfigError(f"tool {found.name}: {target.__qualname__} has no method 'execute'")
    return _kind(found, method, inspect.getdoc(target) or "", lambda: _parts_of(make()), schema)


def accepted(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in `kwargs` that are not null and that the function accepts."""
    parameters = inspect.signature(function).parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return {
        name: value
        for name, value in kwargs.items()
        if value is not None and (takes_all or name in parameters)
    }


def _function_kind(found: Declared, config: dict[str, Any], schema: Mapping[str, Any] | None) -> ToolKind:
    if config:
        raise ConfigError(f"tool {found.name} is a function and takes no config; remove {', '.join(config)}")
    if not callable(found.target):
        raise ConfigError(f"tool {found.name}: {found.target!r:.60} is neither a function nor a class")
    return _kind(found, found.target, "", lambda: ToolParts(found.target), schema)


def _kind(
    found: Declared,
    method: Callable[..., Any],
    about: str,
    make: Callable[[], ToolParts],
    schema: Mapping[str, Any] | None,
) -> ToolKind:
    takes, described, convert = _shape(found, method)
    shown = (schema or {}).get("function") or {}
    name = str(shown.get("name") or found.name)
    description = str(shown.get("description") or described or first_paragraph(about))
    parameters = shown.get("parameters") or takes
    known = list(takes.get("properties") or ())
    for one in parameters.get("properties") or ():
        if one not in known:
            hint = did_you_mean(one, known) or f"; the function takes {', '.join(known) or 'nothing'}"
            raise ConfigError(
                f"tool {name}: the schema has the argument '{one}', but the function does not{hint}"
            )
    return ToolKind(name, function_schema(name, description, parameters), make, convert, found.inline)


def _shape(
    found: Declared, method: Callable[..., Any]
) -> tuple[Mapping[str, Any], str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """Return the JSON schema of the arguments, the description, and a function that converts arguments."""
    if found.parameters is not None:
        return found.parameters, first_paragraph(inspect.getdoc(method) or ""), partial(fit, found.parameters)
    signature = read_signature(method)
    return signature.parameters, signature.description, signature.convert


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join(text.split("\n\n")[0].split())


def _maker(found: Declared, config: dict[str, Any]) -> Callable[[], Any]:
    """Check the configuration, and return a function that creates an instance from it."""
    try:
        inspect.signature(found.target).bind(**config)
    except TypeError as error:
        shown = ", ".join(inspect.signature(found.target).parameters) or "nothing"
        raise ConfigError(f"tool {found.name}: invalid config: {error}; the config takes {shown}") from None
    return lambda: found.target(**config)


def _parts_of(instance: Any) -> ToolParts:
    return ToolParts(
        instance.execute,
        getattr(instance, "create", None),
        getattr(instance, "reward", None),
        getattr(instance, "release", None),
    )


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


# Signatures, read from type hints and docstrings.


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters of a tool's function, read from its type hints and docstring."""

    parameters: Mapping[str, Any]
    """JSON schema of an object with the arguments."""
    description: str
    """Docstring text before the first section."""
    arguments: type
    """Struct to which arguments are converted."""

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a call's arguments to the types of the function.

        Raises:
            BadCall: The arguments are invalid.
        """
        fitted = fit(self.parameters, arguments)
        try:
            made: Any = msgspec.convert(fitted, self.arguments, strict=False)
        except (msgspec.ValidationError, ValueError, OverflowError) as error:
            raise BadCall(f"{_readable(str(error))}; {usage(self.parameters)}") from None
        return {name: getattr(made, name) for name in fitted}


def read_signature(function: Callable[..., Any]) -> Signature:
    """Read the type hints and docstring of a function or a bound method.

    Raises:
        ConfigError: A parameter has no type hint, has a type that JSON cannot express, or cannot be passed by
            name (`*args`, `**kwargs`).
    """
    what = getattr(function, "__qualname__", str(function))
    text, described = read_docstring(inspect.getdoc(function) or "")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(f"tool {what}: cannot read the type hints: {error}") from None
    fields = [
        _field(what, parameter, hints, described)
        for parameter in inspect.signature(function).parameters.values()
    ]
    try:
        struct = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
        (_,), components = msgspec.json.schema_components((struct,), ref_template="#/$defs/{name}")
    except TypeError as error:
        why = " ".join(str(error).split())[:200]
        raise ConfigError(f"tool {what}: cannot generate a JSON schema from the type hints: {why}") from None
    schema = components.pop("Arguments")
    parameters = {"type": "object", "properties": schema["properties"], "required": schema["required"]}
    return Signature(parameters | ({"$defs": components} if components else {}), text, struct)


def function_schema(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return an OpenAI function schema.

    Raises:
        ConfigError: The name is longer than 64 characters, or contains characters other than letters, digits,
            `_`, `-` and `.`.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"'{name}' is not a valid tool name; use at most 64 letters, digits, _, - and .")
    function = {"name": name, "description": description, "parameters": dict(parameters)}
    return {"type": "function", "function": function}


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return a docstring's text before the first section, and its descriptions under `Args:` by name."""
    sections = list(_SECTION.finditer(text))
    head = text[: sections[0].start()] if sections else text
    described: dict[str, str] = {}
    for place, section in enumerate(sections):
        if section[1] in ("Args", "Arguments", "Parameters"):
            end = sections[place + 1].start() if place + 1 < len(sections) else len(text)
            described.update(_entries(text[section.end() : end]))
    return " ".join(head.split()), described


def _entries(body: str) -> dict[str, str]:
    """Parse `name: text` entries. Lines with deeper indentation continue the text of an entry."""
    found: dict[str, str] = {}
    name = ""
    depth = -1
    for line in body.splitlines():
        entry = _ENTRY.match(line)
        if entry and (depth < 0 or len(entry[1]) <= depth):
            name = entry[2]
            depth = len(entry[1])
            found[name] = entry[3].strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _field(
    what: str, parameter: inspect.Parameter, hints: Mapping[str, Any], described: Mapping[str, str]
) -> Any:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ConfigError(
            f"tool {what}: the parameter '{parameter}' cannot be passed by name; tools must not have *args, "
            "**kwargs or positional-only parameters"
        )
    if name not in hints:
        raise ConfigError(f"tool {what}: argument '{name}' has no type hint; add one, such as `{name}: str`")
    hint = hints[name]
    if name in described:
        hint = Annotated[hint, msgspec.Meta(description=described[name])]
    if parameter.default is parameter.empty:
        return (name, hint)
    default = parameter.default
    if isinstance(default, list | dict | set):
        return (name, hint, msgspec.field(default_factory=lambda: type(default)(default)))
    return (name, hint, default)


def _readable(error: str) -> str:
    """Rewrite an error message from msgspec. If it names an argument, the new message begins with that
    name."""
    what, _, place = error.partition(" - at `$.")
    return f"argument '{place.rstrip('`')}': {what}" if place else what
