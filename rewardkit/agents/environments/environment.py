"""Interface between environments and episodes, and the forms in which a run or a row names an environment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.types import Observation
from rewardkit.errors import InputError, did_you_mean
from rewardkit.extensions import Table
from rewardkit.http_addresses import Address, made_private
from rewardkit.types import Message, Score


class EnvironmentFailed(RuntimeError):
    """Failure of an environment that the model did not cause. The message gives the reason."""


class EnvironmentSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One environment, and how its rewards are used."""

    kind: str
    target: Address
    """URL, folder or name, depending on the kind."""
    name: str = ""
    """Name of an environment on a server that has several. If empty, the server's first."""
    reward: Literal["last", "sum"] = "last"
    """Choice of the episode's reward: the last reward of its steps, or their sum."""
    without_reward: float | None = None
    """Reward of an episode without any reward. If None, such an episode is `invalid` and not scored."""
    python: str = ""
    """Python interpreter that runs a Python environment. If empty, the interpreter of this process."""
    cpu_s: float = 60.0
    """Limit on the CPU time of one command in a Harbor task, in seconds."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Start of an episode."""

    messages: Sequence[Message] = ()
    """Prompt that replaces the row's prompt, except its system message. Empty to keep the row's prompt."""
    text: str = ""
    """Text that is appended to the row's prompt."""
    tools: Sequence[Mapping[str, Any]] = ()
    """Tools in OpenAI's function schema."""


class Environment(Protocol):
    """One episode of an environment. Its methods are called one at a time, `close` always last.

    A method raises an exception if the environment fails. For a mistake of the model it returns an
    observation with the status `bad_call`.
    """

    async def open(self) -> Opening:
        """Begin the episode."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Execute a tool call and return the observation."""
        ...

    async def say(self, text: str) -> Observation | None:
        """Answer a turn of the model without a call. None means that the turn ends the episode."""
        ...

    async def grade(self) -> Score | None:
        """Score the whole episode. None means that the episode has only the rewards of its steps."""
        ...

    async def close(self) -> None:
        """End the episode and release its resources."""
        ...


MakeEnvironment = Callable[[EnvironmentSpec, EpisodeRow], Environment]

KINDS: Table[MakeEnvironment] = Table(
    "environments",
    object,
    {
        "openenv": "rewardkit.agents.environments.openenv:OpenEnvEnvironment",
        "verifiers": "rewardkit.agents.environments.verifiers:VerifiersEnvironment",
    },
)
"""Class of each kind of environment, or function that returns an instance."""


def spec_of(row: EpisodeRow, of_run: str) -> EnvironmentSpec:
    """Return the environment of a row: the run's environment, or else the row's own `extra_info.env`.

    Args:
        row: Row of the episode.
        of_run: Environment that the run names. Empty if it names none.

    Raises:
        InputError: Neither names an environment, or the environment does not exist.
    """
    given = of_run or row.extra_info.get("env")
    if not given:
        raise InputError(
            "the agent 'env' has no environment; set extra_info.env in the row, or set an environment for "
            "the run with --env (in training: actor_rollout_ref.rollout.agent.env)"
        )
    return read_spec(given)


def read_spec(given: Any) -> EnvironmentSpec:
    """Return the environment that a row or a run names, as `KIND:TARGET` or as an object.

    Raises:
        InputError: The value does not name a valid environment.
    """
    if isinstance(given, Address):
        given = given.given
    if isinstance(given, str) and given.startswith("{"):
        given = _decoded(given, "env")
    if not isinstance(given, str | Mapping):
        raise InputError(
            f"extra_info.env is of the type {type(given).__name__}; expected a string or an object"
        )
    values = _parsed(given) if isinstance(given, str) else {k: v for k, v in given.items() if v is not None}
    if values.get("kind") not in KINDS:
        kind = str(values.get("kind"))
        hint = did_you_mean(kind, KINDS) or f"; write KIND:TARGET, where KIND is one of {', '.join(KINDS)}"
        raise InputError(f"unknown kind of environment '{kind}'{hint}")
    try:
        return msgspec.convert(values, EnvironmentSpec, dec_hook=made_private)
    except msgspec.ValidationError as error:
        raise InputError(f"invalid environment of the kind {values['kind']}: {error}") from None


def make_environment(spec: EnvironmentSpec, row: EpisodeRow) -> Environment:
    """Return the environment of an episode. The episode has not started yet.

    Raises:
        InputError: The row lacks information that the environment needs.
    """
    return KINDS[spec.kind](spec, row)


def row_arguments(row: EpisodeRow) -> dict[str, Any]:
    """Return the arguments that a row passes to its environment.

    They are its `extra_info.env_kwargs`, or else its `split` and `index`.
    """
    given = row.extra_info.get("env_kwargs")
    if isinstance(given, str) and given:
        given = _decoded(given, "env_kwargs")
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items() if value is not None}
    return {name: row.extra_info[name] for name in ("split", "index") if row.extra_info.get(name) is not None}


def _decoded(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"extra_info.{name} is not valid JSON: {error}") from None


def _parsed(text: str) -> dict[str, Any]:
    """Parse `KIND:TARGET?name=value&...`. The values are JSON."""
    rest, _, query = text.partition("?")
    kind, _, target = rest.partition(":")
    options = (word.partition("=") for word in query.split("&") if word)
    return {"kind": kind, "target": target, **{name: _value(value) for name, _, value in options}}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
