"""Calls rewards from verl, verifiers, skyrl-gym and lm-eval that are classes or names, not functions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

from .lm_eval_task import LmEvalTask
from .loading import LoadRequest, load_call, load_object, require
from .shapes import (
    GETTERS,
    CallNotes,
    CallRow,
    FunctionCall,
    LackingError,
    LibraryCall,
    NoRewardError,
)


def load(request: LoadRequest) -> Any:
    """Load the requested reward, depending on the kind or, without a kind, on the type of the target.

    Raises:
        NoRewardError: The target cannot be loaded or is not a reward.
    """
    if request.kind == "verl" and ":" not in request.target and not request.target.endswith(".py"):
        return _verl(request)
    if request.kind == "skyrl-gym":
        require(request.kind, f"{request.kind}:{request.target}")
        return SkyrlGym(request)
    if request.kind == "lm-eval":
        require(request.kind, f"{request.kind}:{request.target}")
        return LmEvalTask(request)
    if request.kind == "verifiers" or _is_of_verifiers(request):
        return _verifiers(request)
    return load_call(request)


def _verl(request: LoadRequest) -> FunctionCall:
    """Load verl's default reward function. If the target is not a data source, use each row's data source."""
    require("verl", f"verl:{request.target}")
    source = {"data_source": request.target} if request.target not in ("", "*") else {}
    target = "verl.utils.reward_score:default_compute_score"
    return load_call(request._replace(target=target, options={**source, **request.options}))


class SkyrlGym(LibraryCall):
    """Environment from skyrl-gym that ends after one step."""

    def __init__(self, request: LoadRequest) -> None:
        gym, make = load_object(request._replace(target="skyrl_gym:make"))
        super().__init__("skyrl-gym", gym.__name__, make, request.options)
        self.id = request.target

    def on(self, rows: list[CallRow], notes: CallNotes) -> Any:
        (row,) = rows
        extras = {**row["extra_info"], "reward_spec": {"ground_truth": row["ground_truth"]}}
        environment = self.function(self.id, env_config=dict(self.options), extras=extras)
        environment.init(GETTERS["chat_prompt"](row))
        outcome = environment.step(row["response"])
        environment.close()
        if not outcome["done"]:
            raise LackingError(
                f"the environment '{self.id}' is not done after one response; only one step can be scored"
            )
        return {"reward": outcome["reward"], **(outcome.get("metadata") or {})}


def _is_of_verifiers(request: LoadRequest) -> bool:
    if request.kind or ":" not in request.target:
        return False
    _, found = load_object(request)
    bases = getattr(found if inspect.isclass(found) else type(found), "__mro__", ())
    return any(
        base.__module__.startswith("verifiers.") and base.__name__ in ("Task", "Taskset", "Rubric")
        for base in bases
    )


def _verifiers(request: LoadRequest) -> LibraryCall:
    if ":" not in request.target:
        require("verifiers", f"verifiers:{request.target}")
        module, of_type = load_object(request._replace(target="verifiers.v1.utils.loaders:task_type"))
        return TaskRewards(module.__name__, of_type(request.target), request)
    module, found = load_object(request)
    if inspect.isfunction(found):  # a factory, such as `load_environment`
        found = found(**request.options)
    found = getattr(found, "rubric", found)
    if hasattr(found, "data_type") or hasattr(found, "task_type"):
        return TaskRewards(module.__name__, found, request)
    return RubricRewards(module.__name__, found() if inspect.isclass(found) else found, request)


class TaskRewards(LibraryCall):
    """Rewards of a task in verifiers 0.4, applied to a conversation with one response."""

    is_async = True

    def __init__(self, module: str, found: Any, request: LoadRequest) -> None:
        task = found.task_type() if hasattr(found, "task_type") else found
        super().__init__("verifiers", module, task, request.options)
        self.columns = request.columns

    async def on(self, rows: list[CallRow], notes: CallNotes) -> Any:
        (row,) = rows
        config = self.function.config_type()(**self.options)
        task = self.function(self.function.data_type().model_validate(self._data(row)), config)
        hooks = [*task.hooks("reward"), *(judge.score for judge in task.plugged_judges())]
        needing = [hook.__name__ for hook in hooks if _needs_runtime(hook)]
        if needing:
            raise LackingError(
                f"the task's reward '{needing[0]}' needs a verifiers runtime, which rewardkit does not have"
            )
        trace = _trace(task, row)
        await task.score(trace, None)
        weighted = {name: _number(reward) for name, reward in trace.rewards.items()}
        return {"reward": trace.reward, **dict(trace.metrics), **weighted}

    def _data(self, row: CallRow) -> dict[str, Any]:
        """Return the data for a task from `extra_info`. A single missing field is set to the ground truth."""
        fields = self.function.data_type().model_fields
        data: dict[str, Any] = {"prompt": GETTERS["chat_prompt"](row), "name": row["data_source"]}
        data.update({name: value for name, value in row["extra_info"].items() if name in fields})
        data.update({name: GETTERS[field](row) for name, field in self.columns.items()})
        missing = [name for name, field in fields.items() if field.is_required() and name not in data]
        if len(missing) > 1:
            raise LackingError(
                f"the task needs the fields {', '.join(missing)}, which the row's extra_info does not have; "
                f"add them, or set `columns` (`rewardkit import --column {missing[0]}=NAME`)"
            )
        return {**data, **dict.fromkeys(missing, row["ground_truth"])}


def _needs_runtime(hook: Any) -> bool:
    parameter = inspect.signature(hook).parameters.get("runtime")
    return parameter is not None and parameter.default is parameter.empty


def _number(reward: Any) -> Any:
    return getattr(reward, "score", reward)


def _trace(task: Any, row: CallRow) -> Any:
    from verifiers.v1.configs.agent import WireAgentConfig  # type: ignore[import-not-found]
    from verifiers.v1.graph import MessageNode  # type: ignore[import-not-found]
    from verifiers.v1.trace import AgentInfo, Trace, TraceTask  # type: ignore[import-not-found]
    from verifiers.v1.types import AssistantMessage, UserMessage  # type: ignore[import-not-found]

    about = TraceTask(type=type(task).__name__, data=task.data)
    trace = Trace(task=about, agent=AgentInfo(config=WireAgentConfig()))
    trace.nodes = [
        MessageNode(message=UserMessage(content=row["prompt_text"])),
        MessageNode(parent=0, message=AssistantMessage(content=row["response"]), sampled=True),
    ]
    return trace


class RubricRewards(LibraryCall):
    """Reward functions in a rubric for verifiers before 0.4.

    Each function is called separately, because the rubric itself would score a failure as 0.
    """

    is_async = True

    def __init__(self, module: str, found: Any, request: LoadRequest) -> None:
        super().__init__("verifiers", module, found, request.options)
        self.functions = list(_functions_of(found))
        if not self.functions:
            raise NoRewardError(f"{request.target} is neither a rubric with reward functions nor a task")

    async def on(self, rows: list[CallRow], notes: CallNotes) -> Any:
        (row,) = rows
        parts: dict[str, float] = {}
        total = 0.0
        for rubric, function, weight in self.functions:
            value = self._call(rubric, function, row)
            value = await value if inspect.isawaitable(value) else value
            if value is None or not math.isfinite(value):
                raise ValueError(
                    f"the rubric's function {function.__name__} returned {value}; expected a finite number"
                )
            parts[function.__name__] = float(value)
            total += weight * float(value)
        return {"score": total, **parts}

    def _call(self, rubric: Any, function: Any, row: CallRow) -> Any:
        completion = GETTERS["chat_response"](row)
        info = row["extra_info"]
        given: dict[str, Any] = {
            "prompt": GETTERS["chat_prompt"](row),
            "completion": completion,
            "answer": row["ground_truth"],
            "task": row["data_source"],
            "info": info,
            "parser": getattr(rubric, "parser", None),
        }
        given["state"] = {**given, "responses": [], "turn": 1, "trajectory": []}
        given.update(getattr(rubric, "class_objects", {}))
        parameters = inspect.signature(function).parameters
        if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            return function(**given)
        return function(**{name: given[name] for name in parameters if name in given})


def _functions_of(found: Any) -> Iterator[tuple[Any, Any, float]]:
    """Yield the rubric, function and weight of each function in a rubric or a group of rubrics."""
    if hasattr(found, "rubrics"):
        for rubric in found.rubrics:
            yield from _functions_of(rubric)
        return
    functions = _first_of(found, "get_reward_funcs", "reward_funcs", "funcs")
    weights = _first_of(found, "get_reward_weights", "reward_weights", "weights")
    yield from ((found, function, weight) for function, weight in zip(functions, weights))


def _first_of(found: Any, *names: str) -> list[Any]:
    for name in names:
        value: Any | None = getattr(found, name, None)
        if value is not None:
            return list(value() if callable(value) else value)
    return []
