"""Calls the functions of an interaction in one episode, and converts their results."""

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
    """Functions that make up an interaction in one episode. Optional functions may be None."""

    respond: Callable[..., Any]
    start: Callable[..., Any] | None = None
    score: Callable[[], Any] | None = None
    finish: Callable[[], Any] | None = None

    @classmethod
    def of(cls, instance: Any) -> InteractionParts:
        """Return the methods of an instance as the functions of an interaction."""
        return cls(
            instance.respond,
            getattr(instance, "start", None),
            getattr(instance, "score", None),
            getattr(instance, "finish", None),
        )


class OpenInteraction:
    """Interaction in one episode. See `rewardkit.agents.types.Interaction`."""

    def __init__(self, make: Callable[[], InteractionParts]) -> None:
        self._make = make
        self._parts: InteractionParts | None = None

    async def start(self, **kwargs: Any) -> None:
        """Start the interaction. Drop arguments that are null or that the interaction does not accept."""
        self._parts = self._make()
        if self._parts.start is not None:
            await called(self._parts.start, **accepted(self._parts.start, kwargs))

    async def respond(self, messages: Sequence[Message]) -> UserTurn:
        """Reply to the model's last turn."""
        if self._parts is None:
            self._parts = self._make()
        return user_turn(await called(self._parts.respond, messages))

    async def score(self) -> float | None:
        """Return the reward for the whole episode, or None if the interaction gives no such reward."""
        if self._parts is None or self._parts.score is None:
            return None
        return number(await called(self._parts.score))

    async def finish(self) -> None:
        """Release the interaction's resources. Further calls do nothing."""
        parts, self._parts = self._parts, None
        if parts is not None and parts.finish is not None:
            await called(parts.finish)


def user_turn(said: Any) -> UserTurn:
    """Convert the return value of an interaction to a turn.

    Args:
        said: A `UserTurn`, a string, None to end the episode, or a tuple as in verl. The tuple contains a
            bool (True
            to end the episode), a text, a score and metrics.

    Raises:
        TypeError: The value has none of these forms.
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
