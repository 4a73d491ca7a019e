"""Defines call shapes, which describe the parameters and arguments of other projects' reward functions.

A row is a mapping with the fields `data_source, response, ground_truth, prompt, extra_info` of a `Sample`.
The additional field `prompt_text` contains the text of the prompt's messages on successive lines.
"""

from __future__ import annotations

import copy
import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, SimpleNamespace
from typing import Any, NamedTuple

CallRow = dict[str, Any]
Getter = Callable[[CallRow], Any]


class NoRewardError(Exception):
    """Raised if a target cannot be used as a reward. The message contains the reason."""


class LackingError(Exception):
    """Raised if a row has no value for a parameter."""


class CallShape(NamedTuple):
    """Calling convention for one kind of reward function."""

    kind: str
    needs: tuple[str, ...]
    """Parameters that identify a function of this kind."""
    fields: Mapping[str, str]
    """Name of the getter in `GETTERS` for each parameter."""
    lists: bool = False
    """True if the function accepts several rows, with a list for each parameter."""
    by_place: tuple[str, ...] = ()
    """Getters for the positional arguments, which are passed regardless of the parameters' names."""
    columns: bool = False
    """True if the columns in the data are passed by name."""


def near(name: str, known: Sequence[str]) -> str:
    """Return `"; did you mean a or b?"` with the closest known names, or "" if no name is close."""
    found = difflib.get_close_matches(name, known)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def _messages(row: CallRow) -> Any:
    if isinstance(row["prompt"], list):
        return copy.deepcopy(row["prompt"])
    return [{"role": "user", "content": row["prompt"] or ""}]


def _reward_input(row: CallRow) -> Any:
    own = {
        "response": row["response"],
        "ground_truth": row["ground_truth"],
        "data_source": row["data_source"],
    }
    return {**copy.deepcopy(row["extra_info"]), **own}


def _task_info(row: CallRow) -> Any:
    own = {"ground_truth": row["ground_truth"], "data_source": row["data_source"]}
    return {"question": row["prompt_text"], **copy.deepcopy(row["extra_info"]), **own}


class _Arguments(SimpleNamespace):
    """Stand-in for slime's arguments, with the given options. Reading any other argument is an error."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise LackingError(
            f"the reward reads slime's args.{name}, which is not set; append ?{name}=VALUE to the spec, or "
            f"set '{name}' under `options:`"
        )


def _slime_sample(row: CallRow) -> Any:
    info = copy.deepcopy(row["extra_info"])
    own = {
        "prompt": row["prompt"],
        "response": row["response"],
        "label": row["ground_truth"],
        "metadata": info,
    }
    rest = {"tokens": [], "response_length": len(row["response"]), "status": "completed", "loss_mask": None}
    return SimpleNamespace(**{**rest, **own}, reward=None, custom_rm_path=None)


GETTERS: dict[str, Getter] = {
    "data_source": lambda row: row["data_source"],
    "response": lambda row: row["response"],
    "ground_truth": lambda row: copy.deepcopy(row["ground_truth"]),
    "prompt": lambda row: copy.deepcopy(row["prompt"]),
    "extra_info": lambda row: copy.deepcopy(row["extra_info"]),
    "prompt_text": lambda row: row["prompt_text"],
    "query": lambda row: row["prompt_text"] + row["response"],
    "chat_prompt": _messages,
    "chat_response": lambda row: [{"role": "assistant", "content": row["response"]}],
    "prompt_ids": lambda row: row["extra_info"].get("prompt_ids"),
    "completion_ids": lambda row: row["extra_info"].get("completion_ids"),
    "reward_input": _reward_input,
    "task_info": _task_info,
    "slime_sample": _slime_sample,
    "sample": lambda row: SimpleNamespace(**copy.deepcopy(row)),
    "nothing": lambda row: None,
}

_VERL = {"data_source": "data_source", "ground_truth": "ground_truth", "extra_info": "extra_info"}
_OWN = {**_VERL, "response": "response", "prompt": "prompt", "sample": "sample"}
_OPEN_INSTRUCT = {"prediction": "response", "label": "ground_truth", "query": "prompt_text"}
_AREAL = {"prompt": "prompt_text", "completions": "response"}
_IDS = {"prompt_ids": "prompt_ids", "completion_ids": "completion_ids"}
_CHAT = {"prompts": "chat_prompt", "completions": "chat_response", "completion_ids": "completion_ids"}
_TEXTS = {"prompts": "prompt_text", "completions": "response"}
_DATA = {"ground_truth": "ground_truth", "data_source": "data_source"}


def _plural(fields: Mapping[str, str]) -> dict[str, str]:
    return {name + "s": field for name, field in fields.items()}


_NEVER = "<known by its class>"

SHAPES = (
    CallShape("verl", ("solution_str",), {**_VERL, "solution_str": "response"}),
    CallShape("verl-batch", ("solution_strs",), _plural({**_VERL, "solution_str": "response"}), lists=True),
    CallShape("areal", ("prompt", "completions", *_IDS), {**_AREAL, **_IDS, **_DATA}, columns=True),
    CallShape("trl", ("completions",), {**_CHAT, **_DATA}, lists=True, columns=True),
    CallShape("trl", ("completion_ids",), {**_CHAT, **_DATA}, lists=True, columns=True),
    CallShape("swift", (_NEVER,), {**_TEXTS, **_DATA}, lists=True, columns=True),
    CallShape("openrlhf", ("queries", "prompts"), {}, True, ("query", "prompt_text", "ground_truth")),
    CallShape("easyr1", ("reward_input",), {"reward_input": "reward_input"}),
    CallShape("easyr1-batch", ("reward_inputs",), {"reward_inputs": "reward_input"}, lists=True),
    CallShape("rllm", ("task_info", "action"), {"task_info": "task_info", "action": "response"}),
    CallShape(
        "open-instruct",
        ("tokenized_prediction", "prediction", "label"),
        {**_OPEN_INSTRUCT, "tokenized_prediction": "completion_ids", "rollout_state": "nothing"},
    ),
    CallShape(
        "torchforge", ("prompt", "response", "target"), {"prompt": "prompt_text", "target": "ground_truth"}
    ),
    CallShape("slime", ("args", "sample"), {}, by_place=("slime_sample",)),
    CallShape("slime-group", ("args", "samples"), {}, lists=True, by_place=("slime_sample",)),
    CallShape("plain", (), _OWN),
)
BY_KIND = {shape.kind: shape for shape in SHAPES}
_KINDS = [shape.kind for shape in SHAPES if not shape.kind.endswith(("-batch", "-group"))]


class FunctionParameters:
    """Parameters of a callable."""

    def __init__(self, function: Any) -> None:
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError) as error:
            shown = getattr(function, "__name__", type(function).__name__)
            raise NoRewardError(f"cannot read the parameters of {shown}: {error}") from None
        every = self.signature.parameters.values()
        self.takes_any = any(one.kind is one.VAR_KEYWORD for one in every)
        named = [one for one in every if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
        self.names = [one.name for one in named]
        self._annotations = {one.name: one.annotation for one in named}
        self.required = [one.name for one in named if one.default is one.empty]

    def annotation(self, name: str) -> str:
        """Return the annotation of a parameter as a string, or "" if the parameter has no annotation."""
        found = self._annotations.get(name, inspect.Parameter.empty)
        return "" if found is inspect.Parameter.empty else str(found)


def shape_of(target: Any, parameters: FunctionParameters) -> CallShape | None:
    """Return the call shape that a callable's class or parameters identify, or None if they identify none."""
    if any(base.__name__ in ("ORM", "AsyncORM") for base in type(target).__mro__):
        return BY_KIND["swift"]
    names = set(parameters.names)
    return next((shape for shape in SHAPES if shape.needs and names.issuperset(shape.needs)), None)


class FunctionCall:
    """Function with all arguments for a call, except the values from the rows."""

    def __init__(
        self, function: Any, shape: CallShape, options: Mapping[str, Any], columns: Mapping[str, str]
    ) -> None:
        self.function = function
        self.shape = shape
        self.options = options
        self.parameters = FunctionParameters(function)
        self.gets: dict[str, Getter] = {}
        self.open: list[str] = []
        """Required parameters whose values are read from each row's `extra_info`."""
        self.gives: dict[str, str] = {}
        """Field of the row that is passed to each parameter, for messages."""
        self.is_async = is_async(function)
        self.module = ""
        """Module from which the function was loaded."""
        self.name = getattr(function, "__name__", type(function).__name__)
        self.shown = f"{self.name}{self.parameters.signature}"
        self.sources: Mapping[str, Sequence[str]] = {}
        if not shape.kind.startswith("slime"):  # slime's options are the trainer's arguments
            self._require_parameters([*options, *columns])
        if not shape.by_place:
            self._bind(columns)

    def _require_parameters(self, names: Sequence[str]) -> None:
        known = self.parameters.names
        strange = [name for name in names if name not in known and not self.parameters.takes_any]
        if strange:
            raise NoRewardError(f"{self.shown} has no parameter '{strange[0]}'{near(strange[0], known)}")

    def _bind(self, columns: Mapping[str, str]) -> None:
        fields = {**self.shape.fields, **columns}
        wanted = [name for name in self.parameters.names if name in fields]
        if self.parameters.takes_any:
            wanted = list(dict.fromkeys([*wanted, *columns, *self.shape.fields]))
        for name in wanted:
            self._give(name, fields[name])
        given = {*wanted, *self.options, *_OF_THE_TRAINER}
        self.open = [name for name in self.parameters.required if name not in given]
        self._guess()

    def _give(self, name: str, field: str) -> None:
        if self.shape.kind == "trl" and field in _PLAIN:
            self.gets[name] = _as_asked(field, self.parameters.annotation(name), self.function)
        else:
            self.gets[name] = GETTERS.get(field) or _of_extra_info(field)
        self.gives[name] = field

    def _guess(self) -> None:
        """Pass the response or ground truth, if not passed elsewhere, to the only unknown parameter."""
        given = self._roles()
        left = [] if "sample" in given else [one for one in ("response", "ground_truth") if one not in given]
        if len(self.open) == 1 and len(left) == 1:
            name, field = self.open.pop(), left.pop()
            self.gets[name] = lambda row: copy.deepcopy(row["extra_info"].get(name, row[field]))
            self.gives[name] = field
        if "response" in left:
            raise NoRewardError(
                f"{self.shown}: cannot tell which parameter takes the response; set `columns` (`rewardkit "
                f"import --column NAME=response`), or `kind` to one of {', '.join(dict.fromkeys(_KINDS))}"
            )

    def _roles(self) -> set[str]:
        """Return the fields of a row that are passed to parameters."""
        names = self.parameters.names
        if self.shape.columns:
            return {"response"} | {name for name in ("ground_truth",) if name in names}
        known = list(self.gives) if self.parameters.takes_any and self.shape.needs else names
        return {_SHOWS.get(field, field) for name, field in self.gives.items() if name in known}

    def on(self, rows: Sequence[CallRow], notes: CallNotes) -> Any:
        """Call the function with the values from the rows. The caller must await an awaitable result.

        Raises:
            LackingError: A row has no value for a required parameter.
        """
        lacking = [name for name in self.open for row in rows if name not in row["extra_info"]]
        if lacking:
            raise LackingError(
                f"the reward's parameter '{lacking[0]}' is read from extra_info, but the row's extra_info "
                f"has no '{lacking[0]}'; add it, or set `columns` (`rewardkit import --column "
                f"{lacking[0]}=NAME`)"
            )
        if self.shape.by_place:
            return self._by_place(rows)
        given = {name: self._values(get, rows) for name, get in self.gets.items()}
        given.update({name: self._values(_of_extra_info(name), rows) for name in self.open})
        if self.shape.columns:
            given.update(self._columns(rows, given))
            given.update({name: value for name, value in notes.given().items() if self._takes(name)})
        given.update(self.options)
        return self.function(**given)

    def _columns(self, rows: Sequence[CallRow], given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values in additional columns (keys in `extra_info`) that the function accepts."""
        names = {key for row in rows for key in row["extra_info"] if key not in given and self._takes(key)}
        return {name: self._values(_of_extra_info(name), rows) for name in names}

    def _takes(self, name: str) -> bool:
        return self.parameters.takes_any or name in self.parameters.names

    def _values(self, get: Getter, rows: Sequence[CallRow]) -> Any:
        return [get(row) for row in rows] if self.shape.lists else get(rows[0])

    def _by_place(self, rows: Sequence[CallRow]) -> Any:
        places = [self._values(GETTERS[field], rows) for field in self.shape.by_place]
        if self.shape.kind.startswith("slime"):
            return self.function(_Arguments(**self.options), *places)
        taken = places[: max(2, len(self.parameters.required))]
        return self.function(*taken, **(self.options if self.parameters.takes_any else {}))


class LibraryCall:
    """Reward from a library, with the same attributes as a `FunctionCall`."""

    is_async = False
    gives: Mapping[str, str] = {}
    sources: Mapping[str, Sequence[str]] = {}
    """Files outside the module that affect scores."""

    def __init__(self, kind: str, module: str, made: Any, options: Mapping[str, Any]) -> None:
        self.shape = CallShape(kind, (), {})
        self.module = module
        self.function = made
        self.name = getattr(made, "__name__", type(made).__name__)
        self.options = options
        self.columns: Mapping[str, str] = {}

    def on(self, rows: list[CallRow], notes: CallNotes) -> Any:
        """Score a single row."""
        raise NotImplementedError


_SHOWS = {"reward_input": "sample", "task_info": "ground_truth"}
"""Field of the row that is contained in the value from each getter. `sample` stands for all fields."""
_OF_THE_TRAINER = ("trainer_state", "log_extra", "log_metric", "environments")


class CallNotes:
    """Values that a TRL function logs during a call, together with a stand-in for TRL's trainer state."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.extras: dict[str, Any] = {}

    def given(self) -> dict[str, Any]:
        state = SimpleNamespace(global_step=0, max_steps=1, epoch=0.0, num_train_epochs=1)
        return {"trainer_state": state, "log_extra": self._extra, "log_metric": self._metric}

    def _extra(self, column: str, values: Any) -> None:
        self.extras[column] = list(values)

    def _metric(self, name: str, value: Any) -> None:
        self.metrics[name] = float(value)


def is_async(function: Any) -> bool:
    """Return True if a callable is an `async` function, or an object whose `__call__` is `async`."""
    call = getattr(function, "__call__", None)  # noqa: B004  (of an object)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


_PLAIN = {"chat_prompt": "prompt_text", "chat_response": "response"}


def _as_asked(field: str, annotation: str, function: Any) -> Getter:
    """Return a getter for messages or text, depending on the annotation or else on the prompt's form.

    If a row has no prompt, the function gets messages only if it reads their key `content`.
    """
    chat, plain = GETTERS[field], GETTERS[_PLAIN[field]]
    if "dict" in annotation.lower():
        return chat
    if "list[str]" in annotation.lower():
        return plain
    without_prompt = chat if _reads_content(function, set()) else plain

    def get(row: CallRow) -> Any:
        prompt = row["prompt"]
        return (without_prompt if prompt is None else plain if isinstance(prompt, str) else chat)(row)

    return get


def _reads_content(function: Any, seen: set[Any]) -> bool:
    """Return True if `content` is a constant in a function, or in a function of its module that it names."""
    while isinstance(function, functools.partial):
        function = function.func
    if not hasattr(function, "__code__"):
        function = getattr(type(function), "__call__", None)  # noqa: B004  (of an object)
    function = inspect.unwrap(function) if callable(function) else None
    found = [getattr(function, "__code__", None)]
    known = getattr(function, "__globals__", {})
    for code in found:
        if code is None or code in seen:
            continue
        seen.add(code)
        if "content" in code.co_consts:
            return True
        found += [one for one in code.co_consts if isinstance(one, CodeType)]
        named = [known[name] for name in code.co_names if inspect.isfunction(known.get(name))]
        if any(_reads_content(one, seen) for one in named):
            return True
    return False


def _of_extra_info(name: str) -> Getter:
    return lambda row: copy.deepcopy(row["extra_info"].get(name))
