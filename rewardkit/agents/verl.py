"""Support for code written for verl: adapters for tool and interaction classes, and stubs for modules.

As in verl, all episodes share one object and are distinguished by an instance id. In contrast to verl,
`create` and `release` are called once per episode instead of once per call, so that state is kept between
calls.

The stubs exist only while a user's file is imported, and only for modules that are not installed. An
installed verl may lack a module too: older files import interactions, which verl 0.9 has removed. An import
inside a function runs later and needs verl itself. (Source: verl 0.9.1, `verl/tools/base_tool.py`,
`function_tool.py`, `schemas.py`.)
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.agents.interactions.interaction import InteractionParts
from rewardkit.agents.tools.arguments import fit
from rewardkit.agents.tools.declare import Declared, ToolKind, ToolParts, accepted, declare, function_schema
from rewardkit.agents.tools.results import called
from rewardkit.errors import ConfigError
from rewardkit.types import Message
from rewardkit.user_files import import_python_file
from rewardkit.users_code import told

OURS = {
    "Gsm8kTool": "calc_gsm8k_reward",
    "Geo3kTool": "calc_geo3k_reward",
    "SearchTool": "search",
    "SandboxFusionTool": "code_interpreter",
    "MCPBaseTool": "mcp",
    "MCPSearchTool": "mcp",
}
"""Built-in tools that replace the classes in `verl.tools` before verl 0.9.1, by class name."""
INTERACTIONS = {"verl.interactions.gsm8k_interaction.Gsm8kInteraction": "gsm8k"}
"""Built-in interactions that replace the classes in `verl.interactions` before verl 0.9, by import path."""

_ALWAYS_LEFT_OUT = ("type",)
_LEFT_OUT = {
    "code_interpreter": ("num_workers", "enable_global_rate_limit", "rate_limit"),
    "search": ("num_workers", "rate_limit", "enable_global_rate_limit"),
    "mcp": ("num_workers", "rate_limit", "enable_global_rate_limit"),
}
"""Ignored settings for verl's Ray actor pools. In rewardkit, the sandbox and event loop limit concurrency."""

_RENAMED = {
    "code_interpreter": {
        "default_timeout": "cpu_s",
        "memory_limit_mb": "memory_mb",
        "sandbox_fusion_url": "url",
        "default_language": "language",
    },
    "search": {"retrieval_service_url": "url", "topk": "top_k", "timeout": "timeout_s"},
    "mcp": {"timeout": "timeout_s"},
}


def ours(class_name: str) -> str | None:
    """Return the name of the built-in tool that replaces a class in `verl.tools`, or None if no tool does."""
    package, _, name = class_name.rpartition(".")
    return OURS.get(name) if package.startswith("verl.tools") else None


def settings_for(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the settings of a verl tool to settings of the built-in tool that replaces it.

    Args:
        name: Name of the built-in tool.
        config: Settings under the names that verl uses.
    """
    left_out = (*_ALWAYS_LEFT_OUT, *_LEFT_OUT.get(name, ()))
    renamed = _RENAMED.get(name, {})
    return {renamed.get(key, key): value for key, value in config.items() if key not in left_out}


def is_verl_tool(target: Any) -> bool:
    """Return True if a class has the methods of verl's `BaseTool`."""
    execute = getattr(target, "execute", None)
    if not inspect.isclass(target) or not callable(execute):
        return False
    names = list(inspect.signature(execute).parameters)
    return hasattr(target, "calc_reward") or names[1:2] == ["instance_id"]


def verl_kind(target: Any, config: Mapping[str, Any], schema: Mapping[str, Any] | None) -> ToolKind:
    """Create a configured tool from a class with verl's methods.

    Raises:
        ConfigError: The class cannot be instantiated from the configuration, or no schema names the tool.
    """
    try:
        shared = target(config=dict(config), tool_schema=_schema_object(schema))
    except Exception as error:
        what = told(f"the tool {target.__qualname__}", error)
        raise ConfigError(f"cannot create {target.__qualname__} from its config: {what}") from error
    function = _function_of(schema or _mapping(getattr(shared, "tool_schema", None)), target)
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    shown = function_schema(str(function["name"]), str(function.get("description") or ""), parameters)
    return ToolKind(str(function["name"]), shown, partial(_tool_parts, shared), partial(fit, parameters))


def function_declared(one: Any) -> Declared:
    """Declare a function decorated with verl's `@function_tool` as a tool, and return the declaration."""
    schema = _mapping(one.tool_schema) or {}
    function = schema.get("function") or {}
    target = _answering_as_verl(one.fn)
    if function.get("description"):
        target.__doc__ = str(function["description"])
    parameters = function.get("parameters")
    return declare(target, Declared(one.name, target, parameters=parameters))


def _answering_as_verl(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it returns text as in verl, with dicts as JSON and other values as strings."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def answer_later(*args: Any, **kwargs: Any) -> Any:
            return _as_verl(await function(*args, **kwargs))

        return answer_later

    @functools.wraps(function)
    def answer(*args: Any, **kwargs: Any) -> Any:
        return _as_verl(function(*args, **kwargs))

    return answer


def _as_verl(result: Any) -> Any:
    if isinstance(result, tuple):
        return (_as_verl(result[0]), *result[1:]) if 1 <= len(result) <= 3 else result
    if isinstance(result, dict):
        return json.dumps(result, ensure_ascii=False)
    return result if isinstance(result, str) or hasattr(result, "text") else str(result)


def _tool_parts(shared: Any) -> ToolParts:
    state = {"id": str(uuid.uuid4())}

    async def create(**kwargs: Any) -> None:
        made = await called(shared.create, state["id"], create_kwargs=kwargs, **_flat(shared.create, kwargs))
        named = made[0] if isinstance(made, tuple) else made
        state["id"] = named if isinstance(named, str) else state["id"]

    async def execute(**arguments: Any) -> Any:
        more: dict[str, Any] = (
            {"agent_data": None} if "agent_data" in inspect.signature(shared.execute).parameters else {}
        )
        return await called(shared.execute, state["id"], arguments, **more)

    async def reward() -> Any:
        return await called(shared.calc_reward, state["id"])

    async def release() -> None:
        await called(shared.release, state["id"])

    return ToolParts(
        execute,
        create if hasattr(shared, "create") else None,
        reward if hasattr(shared, "calc_reward") else None,
        release if hasattr(shared, "release") else None,
    )


def _flat(create: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that match parameters of `create`, such as `ground_truth` in verl's examples."""
    named = inspect.signature(create).parameters
    return {name: value for name, value in kwargs.items() if name in named and name != "create_kwargs"}


def _schema_object(schema: Mapping[str, Any] | None) -> Any:
    """Convert the schema to verl's model, or to a stub if verl is not installed."""
    if schema is None:
        return None
    try:
        model = importlib.import_module("verl.tools.schemas").OpenAIFunctionToolSchema
    except ImportError:
        return Model(**schema)
    return model.model_validate(dict(schema))


def _mapping(schema: Any) -> Mapping[str, Any] | None:
    if hasattr(schema, "model_dump"):
        schema = schema.model_dump(exclude_unset=True, exclude_none=True)
    return schema if isinstance(schema, Mapping) else None


def _function_of(schema: Mapping[str, Any] | None, target: Any) -> Mapping[str, Any]:
    function = (schema or {}).get("function")
    if not isinstance(function, Mapping) or not function.get("name"):
        raise ConfigError(
            f"{target.__qualname__} has no name; set tool_schema.function.name in the tool's entry"
        )
    return function


def interaction_parts(shared: Any) -> InteractionParts:
    """Return the functions that run one episode of the interaction `shared`, under a new instance id.

    `calculate_score` is not called at the end of the episode. verl's classes already call it to score each
    turn, and a second call would reward the same answer twice.
    """
    state: dict[str, Any] = {"id": str(uuid.uuid4()), "kwargs": {}}

    async def start(**kwargs: Any) -> None:
        state["kwargs"] = kwargs
        made = await called(
            shared.start_interaction, state["id"], **accepted(shared.start_interaction, kwargs)
        )
        state["id"] = made if isinstance(made, str) else state["id"]

    async def respond(messages: Sequence[Message]) -> Any:
        given = accepted(shared.generate_response, state["kwargs"])
        return await called(shared.generate_response, state["id"], list(messages), **given)

    async def finish() -> None:
        await called(shared.finalize_interaction, state["id"])

    return InteractionParts(respond, start, None, finish if hasattr(shared, "finalize_interaction") else None)


# Stubs for verl's modules.

REGISTRY_MODULE = "verl.tools.function_tool"
_KEPT = "__rewardkit_function_tools__"


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """Function decorated with `@function_tool`, with the attributes of verl's class of the same name."""

    name: str
    fn: Callable[..., Any]
    tool_schema: Any
    """Schema passed to the decorator. If None, it is derived from the function."""


class Model:
    """Stub for verl's pydantic models. Keyword arguments and nested mappings become attributes."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _viewed(self._values.get(name))

    @classmethod
    def model_validate(cls, values: Mapping[str, Any]) -> Any:
        return cls(**values)

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """Return the keyword arguments as plain data."""
        return {name: _plain(value) for name, value in self._values.items()}


def _viewed(value: Any) -> Any:
    return Model(**value) if isinstance(value, dict) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


class BaseTool:
    """Stub for the base class of verl's tools."""

    def __init__(self, config: dict[str, Any], tool_schema: Any) -> None:
        self.config = config
        self.tool_schema = tool_schema or self.get_openai_tool_schema()
        self.name = self.tool_schema.function.name

    def get_openai_tool_schema(self) -> Any:
        return self.tool_schema

    async def create(self, instance_id: str | None = None, **kwargs: Any) -> tuple[str, Any]:
        return instance_id or str(uuid.uuid4()), Model()

    async def execute(self, instance_id: str, parameters: dict[str, Any], **kwargs: Any) -> Any:
        return Model(text="Updated the tool state."), 0.0, {}

    async def calc_reward(self, instance_id: str, **kwargs: Any) -> float:
        return 0.0

    async def release(self, instance_id: str, **kwargs: Any) -> None:
        return None


class BaseInteraction:
    """Stub for the base class of verl's interactions."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.name = config.get("name", "interaction_agent")

    async def start_interaction(self, instance_id: str | None = None, **kwargs: Any) -> str:
        return instance_id or str(uuid.uuid4())

    async def finalize_interaction(self, instance_id: str | None = None, **kwargs: Any) -> None:
        return None


def _traced(function: Any = None, **_: Any) -> Any:
    """Return the decorated function unchanged. This replaces verl's `rollout_trace_op`."""
    return function if callable(function) else _traced


def _function_tools() -> dict[str, Any]:
    """Return the attributes of `verl.tools.function_tool`, with a new registry."""
    registry: dict[str, FunctionTool] = {}

    def function_tool(name: Any = None, *, schema: Any = None) -> Any:
        def declare(fn: Callable[..., Any]) -> Callable[..., Any]:
            called = name if isinstance(name, str) else fn.__name__
            known = registry.get(called)
            if known is not None and known.fn is not fn:
                raise ValueError(f"two functions with @function_tool have the name '{called}'; rename one")
            registry[called] = FunctionTool(called, fn, schema)
            return fn

        return declare(name) if callable(name) and schema is None else declare

    return {"function_tool": function_tool, "FUNCTION_TOOL_REGISTRY": registry, "FunctionTool": FunctionTool}


_SCHEMAS = (
    "OpenAIFunctionToolSchema", "OpenAIFunctionSchema", "OpenAIFunctionParametersSchema",
    "OpenAIFunctionPropertySchema", "OpenAIFunctionToolCall", "OpenAIFunctionCallSchema", "ToolResponse",
)  # fmt: skip
_MODULES: dict[str, Callable[[], dict[str, Any]]] = {
    "verl": dict,
    "verl.tools": dict,
    "verl.utils": dict,
    "verl.interactions": dict,
    "verl.tools.schemas": lambda: {name: type(name, (Model,), {}) for name in _SCHEMAS},
    "verl.tools.base_tool": lambda: {"BaseTool": BaseTool},
    REGISTRY_MODULE: _function_tools,
    "verl.utils.rollout_trace": lambda: {"rollout_trace_op": _traced},
    "verl.interactions.base": lambda: {"BaseInteraction": BaseInteraction},
}


class _VerlFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import finder that provides a stub for a module of verl if no other finder finds the module."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _MODULES:
            return None
        package = any(other.startswith(f"{name}.") for other in _MODULES)
        return importlib.machinery.ModuleSpec(name, self, is_package=package)

    def exec_module(self, module: ModuleType) -> None:
        self.made.append(module.__name__)
        vars(module).update(_MODULES[module.__name__]())


_LOCK = threading.RLock()


@contextmanager
def verl_modules() -> Iterator[None]:
    """Provide stubs for missing modules of verl within the block, and remove them afterwards."""
    with _LOCK:
        finder = _VerlFinder()
        sys.meta_path.append(finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            for name in finder.made:
                made = sys.modules.pop(name, None)
                parent = sys.modules.get(name.rpartition(".")[0])
                if parent is not None and getattr(parent, name.rpartition(".")[2], None) is made:
                    delattr(parent, name.rpartition(".")[2])


def import_user_file(path: Path) -> ModuleType:
    """Import a user's file, with stubs for missing modules of verl.

    Raises:
        InputError: The file does not exist or cannot be imported.
    """
    with verl_modules():
        module = import_python_file(path)
        if not hasattr(module, _KEPT):
            setattr(module, _KEPT, _registered_by(module))
        return module


def import_user_module(name: str) -> ModuleType:
    """Import an installed module, with stubs for missing modules of verl.

    Raises:
        ImportError: The module does not exist or cannot be imported.
    """
    with verl_modules():
        return importlib.import_module(name)


def function_tools(module: ModuleType) -> list[Any]:
    """Return the functions that `@function_tool` registered in a file imported by `import_user_file`."""
    found: list[Any] = getattr(module, _KEPT, [])
    return found


def _registered_by(module: ModuleType) -> list[Any]:
    registry = getattr(sys.modules.get(REGISTRY_MODULE), "FUNCTION_TOOL_REGISTRY", {})
    return [one for one in registry.values() if getattr(one.fn, "__module__", None) == module.__name__]
