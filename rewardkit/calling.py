"""Calls to reward functions. Each call passes the arguments that the function's parameter names ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import Parameter
from typing import Any

from rewardkit.errors import InputError
from rewardkit.messages import plain_prompt
from rewardkit.types import Sample

RewardCall = Callable[[Any, Any], Any]
"""Function that calls a reward function with (sample, options) or (list of samples, options)."""

Given = Mapping[str, Callable[[Any, Any], Any]]
"""Mapping from parameter names to functions that return the argument for given samples and options."""

OF_A_SAMPLE: Given = {
    "sample": lambda sample, options: sample,
    "options": lambda sample, options: options,
    "data_source": lambda sample, options: sample.data_source,
    "response": lambda sample, options: sample.response,
    "solution_str": lambda sample, options: sample.response,
    "ground_truth": lambda sample, options: sample.ground_truth,
    "prompt": lambda sample, options: plain_prompt(sample.prompt),
    "extra_info": lambda sample, options: sample.extra_info,
}


def _of_each(name: str) -> Callable[[Sequence[Sample], Any], list[Any]]:
    of_one = OF_A_SAMPLE[name]
    return lambda samples, options: [of_one(sample, options) for sample in samples]


OF_A_BATCH: Given = {
    "samples": lambda samples, options: samples,
    "options": lambda samples, options: options,
    "data_sources": _of_each("data_source"),
    "responses": _of_each("response"),
    "solution_strs": _of_each("solution_str"),
    "ground_truths": _of_each("ground_truth"),
    "prompts": _of_each("prompt"),
    "extra_infos": _of_each("extra_info"),
}

_OF_VERL = ("data_source", "solution_str", "ground_truth", "extra_info")
"""Names of the arguments that verl passes to a reward. A batch reward receives them under plural names."""

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def bound(function: Callable[..., Any], *, batch: bool) -> RewardCall:
    """Return a callable that invokes a reward function with the arguments that its signature asks for.

    A reward for one sample has the parameters `(sample)`, `(sample, options)`, or any of the names in
    `OF_A_SAMPLE`, which include verl's names. A batch reward has the parameters `(samples)`,
    `(samples, options)`, or any of the names in `OF_A_BATCH`.

    Raises:
        InputError: The function has an unknown parameter.
    """
    given = OF_A_BATCH if batch else OF_A_SAMPLE
    parameters = parameters_of(function)
    places = [one for one in parameters if one.kind in _BY_PLACE]
    whole = ("samples" if batch else "sample", "options")
    by_name = any(one.name in given and one.name not in whole for one in parameters)
    if by_name or not places:
        return _by_name(function, parameters, given, batch=batch)
    return _by_place(function, parameters, places, batch=batch)


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function.

    Raises:
        InputError: The function has no readable signature.
    """
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot read the parameters of the reward function: {error}") from None


def options_parameter(function: Callable[..., Any]) -> Parameter | None:
    """Return the parameter named `options`, or else the second parameter, which receives the options."""
    parameters = parameters_of(function)
    named = [one for one in parameters if one.name == "options"]
    return next(iter(named or parameters[1:2]), None)


def _by_name(
    function: Callable[..., Any], parameters: Sequence[Parameter], given: Given, *, batch: bool
) -> RewardCall:
    names = [one.name for one in parameters if one.name in given]
    takes_any = any(one.kind is Parameter.VAR_KEYWORD for one in parameters)
    strange = [one.name for one in parameters if _is_needed(one) and one.name not in given]
    by_place_alone = [one.name for one in parameters if one.kind is Parameter.POSITIONAL_ONLY]
    if strange or by_place_alone or not (names or takes_any):
        raise _refused(function, strange or by_place_alone, batch=batch)
    if takes_any:
        names += [name for one in _OF_VERL if (name := one + "s" * batch) not in names]
    values = {name: given[name] for name in names}

    def call(sample: Any, options: Any) -> Any:
        return function(**{name: value(sample, options) for name, value in values.items()})

    return call


def _by_place(
    function: Callable[..., Any], parameters: Sequence[Parameter], places: Sequence[Parameter], *, batch: bool
) -> RewardCall:
    needed = [one.name for one in parameters if _is_needed(one)]
    if len(needed) > 2 or any(name not in [one.name for one in places[:2]] for name in needed):
        raise _refused(function, needed[1:], batch=batch)
    if len(places) > 1 and (_is_needed(places[1]) or _is_options(function, places[1])):
        return function
    return lambda sample, options: function(sample)


def _is_needed(parameter: Parameter) -> bool:
    named = parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return named and parameter.default is Parameter.empty


def _is_options(function: Callable[..., Any], parameter: Parameter) -> bool:
    """Return True if an optional second parameter is for the options.

    The parameter is for the options if it is named `options` or if its default is a dataclass.
    """
    return parameter.name == "options" or is_dataclass(parameter.default)


def _refused(function: Callable[..., Any], strange: Sequence[str], *, batch: bool) -> InputError:
    name = getattr(function, "__name__", type(function).__name__)
    what = f"has unknown parameters: {', '.join(map(repr, strange))}" if strange else "has no parameters"
    whole = "samples" if batch else "sample"
    others = [one for one in (OF_A_BATCH if batch else OF_A_SAMPLE) if one not in (whole, "options")]
    return InputError(
        f"the reward {name}{inspect.signature(function)} {what}; valid parameters are ({whole}), "
        f"({whole}, options), or any of {', '.join(others)}"
    )
