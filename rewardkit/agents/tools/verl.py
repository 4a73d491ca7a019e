"""verl's tools: classes with the methods of its `BaseTool` as tools here, and our tools for those that it
shipped.

As in verl, one object serves all episodes, each under an instance id. Here `create` and `release` are called
once in an episode and not for each call, so the state lasts. (verl 0.9.1, `verl/tools/base_tool.py`.)
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rewardkit.agents.tools.arguments import fit
from rewardkit.agents.tools.declaring import Declared, ToolKind, ToolParts, declare
from rewardkit.agents.tools.results import called
from rewardkit.agents.tools.signatures import function_schema
from rewardkit.errors import ConfigError

OURS = {
    "Gsm8kTool": "calc_gsm8k_reward",
    "Geo3kTool": "calc_geo3k_reward",
    "SearchTool": "search",
    "SandboxFusionTool": "code_interpreter",
    "MCPBaseTool": "mcp",
    "MCPSearchTool": "mcp",
}
"""Classes that `verl.tools` had before 0.9.1 -> our tools."""

_ALWAYS_LEFT_OUT = ("type",)
_LEFT_OUT = {
    "code_interpreter": ("num_workers", "enable_global_rate_limit", "rate_limit"),
    "search": ("num_workers", "rate_limit", "enable_global_rate_limit"),
    "mcp": ("num_workers", "rate_limit", "enable_global_rate_limit", "timeout"),
}
"""Settings of verl's pools of Ray actors, which are ignored: the sandbox and the event loop limit
concurrency."""

_RENAMED = {
    "code_interpreter": {
        "default_timeout": "cpu_s",
        "memory_limit_mb": "memory_mb",
        "sandbox_fusion_url": "url",
        "default_language": "language",
    },
    "search": {"retrieval_service_url": "url", "topk": "top_k", "timeout": "timeout_s"},
}


def ours(class_name: str) -> str | None:
    """Return the name of our tool for a class of `verl.tools`; None: there is none."""
    package, _, name = class_name.rpartition(".")
    return OURS.get(name) if package.startswith("verl.tools") else None


def settings_for(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return verl's settings of a tool under the names of our tool's settings.

    Args:
        name: Of our tool.
    """
    left_out = (*_ALWAYS_LEFT_OUT, *_LEFT_OUT.get(name, ()))
    renamed = _RENAMED.get(name, {})
    return {renamed.get(key, key): value for key, value in config.items() if key not in left_out}


def is_verl_tool(target: Any) -> bool:
    """Return whether a class has the methods of verl's `BaseTool`."""
    execute = getattr(target, "execute", None)
    if not inspect.isclass(target) or not callable(execute):
        return False
    names = list(inspect.signature(execute).parameters)
    return hasattr(target, "calc_reward") or names[1:2] == ["instance_id"]


def verl_kind(target: Any, config: Mapping[str, Any], schema: Mapping[str, Any] | None) -> ToolKind:
    """Return a class with verl's methods as a configured tool.

    Raises:
        ConfigError: the class cannot be made from the configuration, or has no schema.
    """
    try:
        shared = target(config=dict(config), tool_schema=_schema_object(schema))
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{target.__qualname__} cannot be made from its config: {what}") from error
    function = _function_of(schema or _plain(getattr(shared, "tool_schema", None)), target)
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    shown = function_schema(str(function["name"]), str(function.get("description") or ""), parameters)
    return ToolKind(str(function["name"]), shown, partial(_parts, shared), partial(fit, parameters))


def function_declared(one: Any) -> Declared:
    """Return the declaration of a function under verl's `@function_tool`."""
    schema = _plain(one.tool_schema) or {}
    function = schema.get("function") or {}
    target = _answering_as_verl(one.fn)
    if function.get("description"):
        target.__doc__ = str(function["description"])
    parameters = function.get("parameters")
    return declare(target, Declared(one.name, target, parameters=parameters))


def _answering_as_verl(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its results as text, as verl writes them: JSON of a mapping, else `str`."""
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


def _parts(shared: Any) -> ToolParts:
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
    """Return the arguments that `create` names. verl's examples take `ground_truth` so and in
    create_kwargs."""
    named = inspect.signature(create).parameters
    return {name: value for name, value in kwargs.items() if name in named and name != "create_kwargs"}


def _schema_object(schema: Mapping[str, Any] | None) -> Any:
    """Return the schema as verl's model, or as a `SchemaView` without verl."""
    if schema is None:
        return None
    try:
        model = importlib.import_module("verl.tools.schemas").OpenAIFunctionToolSchema
    except ImportError:
        return SchemaView(schema)
    return model.model_validate(dict(schema))


class SchemaView:
    """A mapping whose keys are attributes too, with `model_dump`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._values[name]
        except KeyError:
            raise AttributeError(name) from None
        return SchemaView(value) if isinstance(value, Mapping) else value

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """Return the values as plain data."""
        return dict(self._values)


def _plain(schema: Any) -> Mapping[str, Any] | None:
    if hasattr(schema, "model_dump"):
        schema = schema.model_dump(exclude_unset=True, exclude_none=True)
    return schema if isinstance(schema, Mapping) else None


def _function_of(schema: Mapping[str, Any] | None, target: Any) -> Mapping[str, Any]:
    function = (schema or {}).get("function")
    if not isinstance(function, Mapping) or not function.get("name"):
        raise ConfigError(
            f"{target.__qualname__} has no tool_schema with a function's name; give it in the file"
        )
    return function
