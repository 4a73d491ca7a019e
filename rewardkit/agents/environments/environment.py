"""Interface between environments and episodes, and the syntax for naming environments in runs and rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.types import Observation
from rewardkit.errors import InputError, did_you_mean
from rewardkit.extensions import FUNCTION, Table
from rewardkit.http_addresses import Address, made_private
from rewardkit.types import Message, Score


class EnvironmentFailed(RuntimeError):
    """Raised if an environment fails through no fault of the model. The message gives the reason."""


class EnvironmentSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Specification of an environment, including how the rewards of its steps become the episode's reward."""

    kind: str
    target: Address
    """URL, folder or name of the environment, depending on its kind."""
    name: str = ""
    """Name of an environment on a server that has several. If empty, the first environment is used."""
    reward: Literal["last", "sum"] = "last"
    """Reward for the episode: the reward of its last step (`last`), or the sum over all its steps (`sum`)."""
    without_reward: float | None = None
    """Reward for an episode in which no step has a reward. If None, the episode is `invalid` and not
    scored."""
    python: str = ""
    """Python interpreter that runs a Python environment. If empty, this process's interpreter is used."""
    cpu_s: float = 60.0
    """CPU time limit in seconds for one command in a Harbor task. In a container, the limit applies to
    elapsed time."""
    network: bool = False
    """True to give network access to Harbor tasks with their own image that do not set `network_mode`."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Prompt and tools that an environment provides at the start of an episode."""

    messages: Sequence[Message] = ()
    """Messages that replace the row's prompt except for its system message. If this is empty, the row's
    prompt is kept."""
    text: str = ""
    """Text that is appended to the prompt."""
    tools: Sequence[Mapping[str, Any]] = ()
    """OpenAI function schemas of the tools."""


class Environment(Protocol):
    """Environment for one episode. Its methods are called one at a time, and `close` is always called last.

    A method raises an exception if the environment itself fails. If the model makes a mistake, the method
    returns an observation with the status `bad_call`.
    """

    async def open(self) -> Opening:
        """Start the episode, and return its prompt and tools."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Execute a tool call and return the observation."""
        ...

    async def say(self, text: str) -> Observation | None:
        """Reply to a turn that has no tool call, or return None if the turn ends the episode."""
        ...

    async def grade(self) -> Score | None:
        """Score the whole episode, or return None if only its steps have rewards."""
        ...

    async def close(self) -> None:
        """End the episode and release its resources."""
        ...


MakeEnvironment = Callable[[EnvironmentSpec, EpisodeRow], Environment]

KINDS: Table[MakeEnvironment] = Table(
    "environments",
    FUNCTION,
    {
        "openenv": "rewardkit.agents.environments.openenv:OpenEnvEnvironment",
        "verifiers": "rewardkit.agents.environments.verifiers:VerifiersEnvironment",
    },
)
"""Classes of environments, or functions that return instances, by kind."""


def spec_of(row: EpisodeRow, of_run: str) -> EnvironmentSpec:
    """Return the environment for a row: the run's environment, or else the one in the row's `extra_info.env`.

    Args:
        row: Row of the episode.
        of_run: Environment of the run, or an empty string if the run has no environment.

    Raises:
        InputError: Neither the run nor the row names an environment, or the environment does not exist.
    """
    given = of_run or row.extra_info.get("env")
    if not given:
        raise InputError(
            "the agent 'env' has no environment; set extra_info.env in the row, or set an environment for "
            "the run with --env (in training: actor_rollout_ref.rollout.agent.env)"
        )
    return read_spec(given)


def read_spec(given: Any) -> EnvironmentSpec:
    """Parse the specification of an environment, which is a string `KIND:TARGET` or an object.

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
    """Create the environment for an episode, without starting the episode.

    Raises:
        InputError: The row lacks information that the environment needs.
    """
    return KINDS[spec.kind](spec, row)


def row_arguments(row: EpisodeRow) -> dict[str, Any]:
    """Return the arguments that a row passes to its environment.

    The arguments are `env_kwargs` in `extra_info` (a mapping or its JSON text), or else `split` and `index`.
    Arguments that are None are left out.
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
