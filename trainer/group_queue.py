"""Queue of the groups of one process: which groups may begin, and on which groups a step trains.

A group is a prompt with all its responses. This module knows groups only by their ordinals, and neither
starts threads nor reads a clock. `feed.py` generates the groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ORDERS = ("strict", "ready")
LATE = ("wait", "mask", "drop")


@dataclass(slots=True)
class QueuedGroup:
    """Group that has begun and that no step has trained on."""

    ordinal: int
    """Number of the group among all groups of the run, in the order of the prompts."""
    version: int
    """Training step of the weights with which the group began. Steps count from 1, and the first weights
    have the number 0."""
    ended: int | None = None
    """Number of groups that ended before this group, or None if this group has not ended."""


class GroupQueue:
    """Groups that have begun, of which each step takes a fixed number.

    With the order `strict`, a step takes the next groups, in the order of the prompts. With the order
    `ready`, it takes groups that have ended. Step s trains the weights s - 1, so that a group that began with
    the weights v is older than `staleness` after step v + 1 + staleness. `late=wait` waits for such a group,
    and no group is ever older. `late=mask` and `late=drop` do not wait, and take the oldest of the ended
    groups. `late=drop` then removes the groups that have become too old.
    """

    def __init__(self, size: int, *, staleness: int, depth: int, order: str, late: str) -> None:
        """Create an empty queue.

        Args:
            size: Number of groups per step.
            depth: Number of steps whose groups may have begun in addition to the next step's groups. It must
                not exceed `staleness`.
        """
        self.size = size
        self._staleness = staleness
        self._depth = depth
        self._order = order
        self._late = late
        self._groups: dict[int, QueuedGroup] = {}
        self._number_ended = 0

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def ended(self) -> int:
        """Return the number of groups that have ended and that no step has taken."""
        return sum(group.ended is not None for group in self._groups.values())

    def room(self, steps: int) -> int:
        """Return the number of further groups that may begin if `steps` steps are left."""
        return max(0, min(self._depth + 1, steps) * self.size - len(self))

    def begin(self, ordinal: int, version: int) -> None:
        """Add a group that begins with these weights."""
        self._groups[ordinal] = QueuedGroup(ordinal, version)

    def end(self, ordinal: int) -> None:
        """Record that all responses in a group have ended."""
        self._groups[ordinal].ended = self._number_ended
        self._number_ended += 1

    def reject(self, ordinal: int) -> None:
        """Remove a group that has ended and that no step can train on."""
        del self._groups[ordinal]

    def take(self, step: int) -> list[int]:
        """Remove and return the ordinals of the groups for a step, or return [] if the step has to wait."""
        chosen = self._choose(step)
        for ordinal in chosen:
            del self._groups[ordinal]
        return chosen

    def drop(self, step: int) -> list[int]:
        """Remove and return the groups that are too old for all steps after this one, if `late=drop`."""
        oldest = step - self._staleness
        old = [ordinal for ordinal, group in self._groups.items() if group.version < oldest]
        dropped = sorted(old) if self._late == "drop" else []
        for ordinal in dropped:
            del self._groups[ordinal]
        return dropped

    def _choose(self, step: int) -> list[int]:
        groups = sorted(self._groups.values(), key=lambda group: group.ordinal)
        if self._order == "strict":
            found = [group for group in groups[: self.size] if group.ended is not None]
        elif self._late != "wait":
            groups.sort(key=lambda group: group.version)
            found = [group for group in groups if group.ended is not None][: self.size]
        else:
            found = self._in_time(step, groups)
        return sorted(group.ordinal for group in found) if len(found) == self.size else []

    def _in_time(self, step: int, groups: Iterable[QueuedGroup]) -> list[QueuedGroup]:
        """Return groups in the order in which they ended, such that no other group becomes too old.

        Of the groups that must be taken within j steps after this one, those j steps can take j times `size`.
        All others must be taken now.
        """
        waiting = list(groups)
        ended = sorted(
            (group for group in waiting if group.ended is not None), key=lambda group: group.ended or 0
        )
        found: list[QueuedGroup] = []
        for later in range(self._staleness + 1):
            oldest = step + later - 1 - self._staleness
            due = sum(group.version <= oldest for group in waiting)
            needed = due - later * self.size - sum(group.version <= oldest for group in found)
            free = [group for group in ended if group.version <= oldest and group not in found]
            if needed > len(free):
                return []
            found += free[: max(needed, 0)]
        rest = [group for group in ended if group not in found]
        return found + rest[: self.size - len(found)]
