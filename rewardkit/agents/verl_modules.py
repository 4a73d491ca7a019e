"""Stand-ins for the modules of verl that users' files import: `@function_tool`, base classes, schemas.

They exist while a user's file is imported, and only for modules that are not installed. That may be all of
verl,
or only some: verl 0.9 has no interactions, which older files import. An import inside of a function runs
later and needs verl itself. (verl 0.9.1: `verl/tools/function_tool.py`, `base_tool.py`, `schemas.py`.)
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.user_files import import_reward_file

REGISTRY_MODULE = "verl.tools.function_tool"
_KEPT = "__rewardkit_function_tools__"


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function under `@function_tool`, with the attributes of verl's class of this name."""

    name: str
    fn: Callable[..., Any]
    tool_schema: Any
    """The schema that the decorator was given; None: it is made from the function."""


class Model:
    """Stands in for verl's pydantic models: its keyword arguments become attributes, mappings in them too."""

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
    """Stands in for the base class of verl's tools."""

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
    """Stands in for the base class of verl's interactions."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.name = config.get("name", "interaction_agent")

    async def start_interaction(self, instance_id: str | None = None, **kwargs: Any) -> str:
        return instance_id or str(uuid.uuid4())

    async def finalize_interaction(self, instance_id: str | None = None, **kwargs: Any) -> None:
        return None


def _traced(function: Any = None, **_: Any) -> Any:
    """Stand in for verl's `rollout_trace_op`; nothing is traced."""
    return function if callable(function) else _traced


def _function_tools() -> dict[str, Any]:
    """The names of `verl.tools.function_tool`, with a registry of their own."""
    registry: dict[str, FunctionTool] = {}

    def function_tool(name: Any = None, *, schema: Any = None) -> Any:
        def declare(fn: Callable[..., Any]) -> Callable[..., Any]:
            called = name if isinstance(name, str) else fn.__name__
            known = registry.get(called)
            if known is not None and known.fn is not fn:
                raise ValueError(f"there are two tools of the name '{called}' under @function_tool")
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
    """Finds the stand-ins where no other finder finds a module."""

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
    """Within the block imports of verl succeed. The stand-ins that they made are removed at its end."""
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
    """Import a user's file, with stand-ins for what it imports of verl.

    Raises:
        InputError: no such file, or it fails to import.
    """
    with verl_modules():
        module = import_reward_file(path)
        if not hasattr(module, _KEPT):
            setattr(module, _KEPT, _registered_by(module))
        return module


def import_user_module(name: str) -> ModuleType:
    """Import an installed module, with stand-ins for what it imports of verl.

    Raises:
        ImportError: there is no such module, or it fails to import.
    """
    with verl_modules():
        return importlib.import_module(name)


def function_tools(module: ModuleType) -> list[Any]:
    """Return what `@function_tool`, verl's or the stand-in, registered in a file that `import_user_file`
    read."""
    found: list[Any] = getattr(module, _KEPT, [])
    return found


def _registered_by(module: ModuleType) -> list[Any]:
    registry = getattr(sys.modules.get(REGISTRY_MODULE), "FUNCTION_TOOL_REGISTRY", {})
    return [one for one in registry.values() if getattr(one.fn, "__module__", None) == module.__name__]
