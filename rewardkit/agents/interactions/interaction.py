"""The interaction of one episode: its functions, how they are called, and what their answers mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.agents.tools.declare import accepted
from rewardkit.agents.tools.results import called, number
from rewardkit.agents.types import UserTurn
from rewardkit.types import Message


@dataclass(frozen=True, slots=True)
class InteractionParts:
    """The functions of one episode's interaction. None: there is nothing to do."""

    respond: Callable[..., Any]
    start: Callable[..., Any] | None = None
    score: Callable[[], Any] | None = None
    finish: Callable[[], Any] | None = None

    @classmethod
    def of(cls, instance: Any) -> InteractionParts:
        """Return the methods of an instance."""
        return cls(
            instance.respond,
            getattr(instance, "start", None),
            getattr(instance, "score", None),
            getattr(instance, "finish", None),
        )


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
    raise TypeError(f"an interaction must return a UserTurn, a string or None; found {said!r:.60}")
