"""Loads the interactions of a run from names and files. Whatever is wrong is an error before a model loads.

A source is YAML files (verl's `interaction:` list) and names, with commas between them. A name is that of an
interaction that ships with rewardkit, `path.py:Class`, an import path, or that of an entry point of the group
`rewardkit.interactions`. A class has `respond`, and may have `start`, `score` and `finish`, each of them a
coroutine if it likes; or it has verl's methods.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import inspect
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.agents.sources import SourceForm, names_in, open_parts, parts_of, read_entries, said_of
from rewardkit.agents.tools.declaring import accepted
from rewardkit.agents.tools.results import called, number
from rewardkit.agents.types import UserTurn
from rewardkit.agents.verl_modules import import_user_file, import_user_module
from rewardkit.errors import ConfigError, InputError, did_you_mean
from rewardkit.types import Message

ENTRY_POINT_GROUP = "rewardkit.interactions"
SHIPPED = {
    "gsm8k": "rewardkit.agents.interactions.gsm8k:Gsm8k",
    "simulated_user": "rewardkit.agents.interactions.simulated_user:SimulatedUser",
}
_FORM = SourceForm("interaction", "interaction", ("name", "class_name", "config"), ("config",))
_VERLS = {"verl.interactions.gsm8k_interaction.Gsm8kInteraction": "gsm8k"}
"""Classes that verl shipped before 0.9 -> our interactions."""


@dataclass(frozen=True, slots=True)
class InteractionParts:
    """The functions of one episode's interaction. None: there is nothing to do."""

    respond: Callable[..., Any]
    start: Callable[..., Any] | None = None
    score: Callable[[], Any] | None = None
    finish: Callable[[], Any] | None = None


class OpenInteraction:
    """The interaction of one episode. See `rewardkit.agents.types.Interaction`."""

    def __init__(self, make: Callable[[], InteractionParts]) -> None:
        self._make = make
        self._parts: InteractionParts | None = None

    async def start(self, **kwargs: Any) -> None:
        """Start. Arguments that are null or that the interaction does not take are left out."""
        self._parts = self._make()
        if self._parts.start is not None:
            await called(self._parts.start, **accepted(self._parts.start, kwargs))

    async def respond(self, messages: Sequence[Message]) -> UserTurn:
        """Answer the model's last turn."""
        if self._parts is None:
            self._parts = self._make()
        return user_turn(await called(self._parts.respond, messages))

    async def score(self) -> float | None:
        """Return the reward for the whole episode; None: it gives none."""
        if self._parts is None or self._parts.score is None:
            return None
        return number(await called(self._parts.score))

    async def finish(self) -> None:
        """Release what it holds. A second call does nothing."""
        parts, self._parts = self._parts, None
        if parts is not None and parts.finish is not None:
            await called(parts.finish)


Maker = Callable[[], OpenInteraction]


def open_interaction(source: str | Path | Sequence[str], name: str) -> OpenInteraction:
    """Return a new interaction for one episode.

    Args:
        source: As for `load_interactions`. It is read once in a process.
        name: From the row's `interaction_kwargs`.

    Raises:
        ConfigError: as `load_interactions`.
        InputError: the row names an interaction that `source` does not have, or a file cannot be read.
    """
    makers = load_interactions(source)
    if name not in makers:
        hint = did_you_mean(name, makers) or f"; this run has {', '.join(makers) or 'none'}"
        raise InputError(f"a row names the interaction '{name}', which is not there{hint}")
    return makers[name]()


def load_interactions(source: str | Path | Sequence[str]) -> Mapping[str, Maker]:
    """Return the interactions of a source: by name, a function that makes a new one for an episode.

    Args:
        source: The path of a YAML file, or names and such paths, in a list or with commas between them.

    Raises:
        ConfigError: an interaction does not exist, or its configuration does not fit.
        InputError: a file cannot be read.
    """
    return _load(parts_of(source))


def user_turn(said: Any) -> UserTurn:
    """Return the answer of an interaction as a turn.

    Args:
        said: A `UserTurn`, a text, None for the end, or verl's tuple of (is it the end, text, score,
            metrics).

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(said, UserTurn):
        return said
    if said is None:
        return UserTurn(done=True)
    if isinstance(said, str):
        return UserTurn(said)
    if isinstance(said, tuple) and 2 <= len(said) <= 4 and isinstance(said[0], bool):
        done, text, reward, more = (*said, None, None)[:4]
        metrics = more if isinstance(more, Mapping) else {}
        numbers = {str(k): float(v) for k, v in metrics.items() if isinstance(v, int | float)}
        return UserTurn(str(text or ""), number(reward), done, numbers)
    raise TypeError(f"an interaction answers with a UserTurn, a text or None; found {said!r:.60}")


@functools.cache
def _load(parts: tuple[str, ...]) -> Mapping[str, Maker]:
    return open_parts(parts, _FORM, _opened)


def _opened(entry: Mapping[str, Any]) -> list[tuple[str, Maker]]:
    class_name = entry["class_name"]
    return [(str(entry.get("name") or _name_of(class_name)), _maker(class_name, entry.get("config") or {}))]


def check_interactions(source: str) -> None:
    """Make sure that all interactions of a source exist. None is made.

    Args:
        source: Names and paths of YAML files, with commas between them.

    Raises:
        ConfigError: an interaction does not exist, or a file is no list of interactions.
        InputError: a file cannot be read.
    """
    for name, where in names_in(source, _FORM.key):
        with said_of(where):
            _target(_VERLS.get(name, name))


def interaction_names(path: Path) -> list[str]:
    """Return the names of the interactions of a YAML file, without importing them.

    Raises:
        InputError: the file cannot be read.
        ConfigError: it is no list of interactions.
    """
    entries = read_entries(path, _FORM.key)
    return [str(entry.get("name") or _name_of(str(entry.get("class_name") or ""))) for entry in entries]


def _name_of(class_name: str) -> str:
    """Return the name of an entry without one. As in verl: the class's, without `Interaction`, in lower
    case."""
    if class_name in SHIPPED:
        return class_name
    last = class_name.replace(":", ".").rpartition(".")[2]
    return (last.removesuffix("Interaction") or last).lower()


def _maker(class_name: str, config: Mapping[str, Any]) -> Maker:
    target = _target(_VERLS.get(class_name, class_name))
    if hasattr(target, "generate_response"):
        shared = _made(target, class_name, {"config": dict(config)})
        return lambda: OpenInteraction(lambda: _verl_parts(shared))
    _made(target, class_name, config)  # that it can be made is seen here
    if not callable(getattr(target, "respond", None)):
        raise ConfigError(f"{class_name} has no method 'respond'")
    return lambda: OpenInteraction(lambda: _parts(target(**config)))


def _made(target: Any, name: str, config: Mapping[str, Any]) -> Any:
    if not inspect.isclass(target):
        raise ConfigError(f"{name} is no class")
    try:
        inspect.signature(target).bind(**config)
    except TypeError as error:
        takes = ", ".join(inspect.signature(target).parameters) or "nothing"
        raise ConfigError(f"{name}: its config does not fit: {error}; it takes {takes}") from None
    return target(**config)


def _parts(instance: Any) -> InteractionParts:
    return InteractionParts(
        instance.respond,
        getattr(instance, "start", None),
        getattr(instance, "score", None),
        getattr(instance, "finish", None),
    )


def _verl_parts(shared: Any) -> InteractionParts:
    """Return the functions of one episode. As in verl, one object serves all episodes, each under an id.

    `calculate_score` is not called at the end: verl's classes call it themselves for the score of a turn, and
    the same answer would be rewarded twice.
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


def _target(name: str) -> Any:
    if name in SHIPPED:
        return _attribute(importlib.import_module(SHIPPED[name].partition(":")[0]), SHIPPED[name], ":")
    path, _, attribute = name.partition(":")
    if path.endswith(".py"):
        if not attribute:
            raise ConfigError(f"name the class of the interaction: {path}:Class")
        return _attribute(import_user_file(Path(path)), name, ":")
    for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP, name=name):
        return entry.load()
    if "." not in name:
        hint = did_you_mean(name, SHIPPED) or f"; there are {', '.join(SHIPPED)}"
        raise ConfigError(f"there is no interaction '{name}' (one of your own is path.py:Class){hint}")
    dotted = name.replace(":", ".")
    try:
        return _attribute(import_user_module(dotted.rpartition(".")[0]), dotted, ".")
    except ImportError as error:
        raise ConfigError(f"{name} cannot be imported: {error}") from None


def _attribute(module: Any, name: str, separator: str) -> Any:
    where, _, attribute = name.rpartition(separator)
    found = getattr(module, attribute, None)
    if found is None:
        classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
        raise ConfigError(f"{where} has no class '{attribute}'{did_you_mean(attribute, classes)}")
    return found
