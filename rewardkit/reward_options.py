"""Options of rewards. They are dataclasses with defaults, filled in by users and shown without secrets."""

from __future__ import annotations

import contextlib
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from math import isfinite
from types import UnionType
from typing import Any, Literal, get_args

import msgspec

from rewardkit.calling import options_parameter
from rewardkit.digests import digest
from rewardkit.errors import OptionsError, did_you_mean
from rewardkit.http_addresses import Address, RequestFields, made_private, public_text, shown

OnException = Literal["error", "0"]
ON_EXCEPTION = "on_exception"
"""Name under which users set `on_exception` together with the options of a reward."""

FILE = "rewardkit.file"
"""Metadata key that marks options that name a file or folder whose content determines scores."""


def file_option(default: Any) -> Any:
    """Return a dataclass field for an option that names a folder or a file, optionally with `:function`."""
    return field(default=default, metadata={FILE: True})


TEXT = "rewardkit.text"
"""Metadata key that marks options with a long text, such as a template. Only their digest is shown."""


def text_option(default: str = "") -> Any:
    """Return a dataclass field for an option that contains a long text."""
    return field(default=default, metadata={TEXT: True})


def shown_options(options: Any) -> dict[str, Any]:
    """Return options as plain data that may be shown and recorded.

    Secrets in addresses and request fields are omitted, and digests replace long texts.
    """
    values = {one.name: shown(getattr(options, one.name)) for one in fields(options)}
    texts = [one.name for one in fields(options) if one.metadata.get(TEXT) and values[one.name]]
    return values | {name: digest(values[name].encode(errors="surrogateescape")) for name in texts}


@dataclass(frozen=True)
class NoOptions:
    """Empty options, for rewards that have no options."""


def make_options(reward: str, kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Create a reward's options from the given values and the defaults of all other options.

    Args:
        reward: Name of the reward, for error messages.
        kind: Dataclass of the reward's options.
        values: Values by name, from Python, JSON or a command line.

    Raises:
        OptionsError: A name is not an option of the reward, or a value has the wrong type.
    """
    # Accept a dot in place of an underscore, because this setting is usually called `sandbox.url` elsewhere.
    values = {name.replace(".", "_"): value for name, value in values.items()}
    known = [f.name for f in fields(kind)]
    for key in values:
        if key not in known:
            hint = did_you_mean(key, known) or (
                f"; options: {', '.join(known)}" if known else "; the reward has no options"
            )
            raise OptionsError(f"reward '{reward}' has no option '{key}'{hint}")
    types = {f.name: str(f.type) for f in fields(kind)}
    values = {name: _from_text(value, types[name]) for name, value in values.items()}
    try:
        made = msgspec.convert(values, kind, strict=False, dec_hook=made_private)
        _refuse_endless(made)
        return made
    except (msgspec.ValidationError, ValueError) as error:
        raise OptionsError(_misfit(reward, kind, str(error), values)) from None


def _refuse_endless(options: Any) -> None:
    """Reject infinite numbers, NaN and time limits that are not positive, because scoring could never
    succeed.

    Raises:
        ValueError: An option has one of these values.
    """
    for option in fields(options):
        value = getattr(options, option.name)
        if isinstance(value, float) and option.name.endswith("timeout_s") and not value > 0:
            raise ValueError(f"{option.name} is {value}; expected a number above 0")
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{option.name} is {value}; expected a finite number")


def _misfit(reward: str, kind: type[Any], reason: str, values: Mapping[str, Any]) -> str:
    """Return an error message for an option of the wrong type. `reason` is the message from msgspec."""
    place = re.search(r"`\$\.(\w+)(?:\[.*)?`$", reason)
    if place is not None:
        name = place[1]
        wanted = _in_words(typing.get_type_hints(kind)[name])
        found = "something else" if wanted == "an object" else public_text(repr(values[name]))
        return f"option '{name}' of reward '{reward}' is {found}; expected {wanted}"
    return f"options of reward '{reward}': {reason}"


def _in_words(hint: Any) -> str:
    """Describe a type in words for an error message."""
    origin, inner = typing.get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(map(repr, inner))
    if origin in (typing.Union, UnionType):
        return " or ".join(map(_in_words, inner))
    if origin in (tuple, list):
        return f"a list of {_in_words(inner[0])}" if get_args(inner[0]) else "a list"
    return _WORDS.get(hint) or str(getattr(hint, "__name__", hint))


_WORDS = {
    type(None): "none",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    Address: "a URL",
    RequestFields: "an object",
}
"""Descriptions of types in error messages."""


def _from_text(value: Any, wanted: str) -> Any:
    """Convert a value to the form that its option accepts.

    Command lines pass lists and mappings as JSON. JSON and YAML parse a name that consists of digits as a
    number.
    """
    if type(value) is int and wanted in ("str", "str | None"):
        return str(value)
    if isinstance(value, str) and wanted.startswith(("tuple", "list", "dict", "Mapping", "RequestFields")):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(value)
    return value


def options_type_of(function: Callable[..., Any]) -> type[Any]:
    """Return the dataclass in the annotation of a function's options parameter, or `NoOptions`."""
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError):
        return NoOptions
    parameter = options_parameter(function)
    hint = hints.get(parameter.name) if parameter is not None else None
    return hint if isinstance(hint, type) and is_dataclass(hint) else NoOptions


def read_on_exception(value: Any) -> OnException:
    """Validate and return a value of `on_exception`.

    Raises:
        OptionsError: The value is neither `error` nor 0.
    """
    if value == "error":
        return "error"
    if value == "0" or (value == 0 and not isinstance(value, bool)):
        return "0"
    raise OptionsError(f"on_exception must be error or 0, found {value!r:.40}")


def check_timeout(timeout_s: Any) -> float:
    """Validate and return a time limit in seconds.

    Raises:
        OptionsError: The value is not a positive, finite number.
    """
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if not is_number or not (isfinite(timeout_s) and timeout_s > 0):
        raise OptionsError(f"timeout_s must be a positive, finite number of seconds, found {timeout_s!r:.40}")
    return float(timeout_s)
