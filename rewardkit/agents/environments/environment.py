"""Environments as an episode sees them, and the ways in which a run or a row names one."""

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
    """An environment that failed, for a reason that is not the model's; the message says why."""


class EnvironmentSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One environment, and the rewards that are taken from it."""

    kind: str
    target: Address
    """A URL, a folder, or a name, as the kind has it."""
    name: str = ""
    """Name of an environment of a server that has several; empty: its first."""
    reward: Literal["last", "sum"] = "last"
    """Choice of the episode's reward among the rewards of the steps."""
    without_reward: float | None = None
    """The reward of an episode for which the environment gave none; None: it is `invalid`, and not scored."""
    python: str = ""
    """The interpreter that runs an environment of Python; empty: ours."""
    cpu_s: float = 60.0
    """CPU time of one command of a Harbor task."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Beginning of an episode."""

    messages: Sequence[Message] = ()
    """The prompt in place of the row's, below its system message; none: the row's stays."""
    text: str = ""
    """Text that is put behind the row's prompt."""
    tools: Sequence[Mapping[str, Any]] = ()
    """OpenAI's function schemas."""


class Environment(Protocol):
    """One episode of an environment. Its methods are called one at a time; `close` is always the last.

    Each raises an exception where the environment has failed; what is the model's fault is an observation of
    the status `bad_call`.
    """

    async def open(self) -> Opening:
        """Begin the episode."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Answer a call of a tool."""
        ...

    async def say(self, text: str) -> Observation | None:
        """Answer a turn of the model without a call; None: such a turn ends the episode."""
        ...

    async def grade(self) -> Score | None:
        """Score the whole episode; None: the rewards of its steps are all there is."""
        ...

    async def close(self) -> None:
        """End it and release what it holds."""
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
"""The class, or a function that returns its instance, of each kind of environment."""


def spec_of(row: EpisodeRow, of_run: str) -> EnvironmentSpec:
    """Return the environment of a row: the run's, else its own `extra_info.env`.

    Raises:
        InputError: neither names one, or one that does not exist.
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
        InputError: it names none that there is.
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
    """Return the environment of an episode, which has not begun.

    Raises:
        InputError: the row does not say what the environment has to know.
    """
    return KINDS[spec.kind](spec, row)


def row_arguments(row: EpisodeRow) -> dict[str, Any]:
    """Return what a row says to its environment: `extra_info.env_kwargs`, else its `split` and `index`."""
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
    """`KIND:TARGET?name=value&...`, values as in JSON."""
    rest, _, query = text.partition("?")
    kind, _, target = rest.partition(":")
    options = (word.partition("=") for word in query.split("&") if word)
    return {"kind": kind, "target": target, **{name: _value(value) for name, _, value in options}}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
