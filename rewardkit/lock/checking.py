"""Lock files, and changes since a lock file was written: in rewards, scores of pinned rows and advantages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import InputError
from rewardkit.evaluation.gradient import grpo
from rewardkit.evaluation.rescoring import Pin, moved, tolerance, verdict
from rewardkit.files.publishing import published
from rewardkit.identity.changes import Change, changes
from rewardkit.identity.reward_identity import Identity, identities, known_sources
from rewardkit.json_objects import NOT_JSON
from rewardkit.scoring.scorer import Scorer
from rewardkit.text import writable
from rewardkit.types import Score

NAME = "rewardkit.lock"
FORM = 1
_VISIBLE = 0.005
"""Smallest difference between two advantages that is visible in two decimal places."""


class Lock(msgspec.Struct, frozen=True):
    """Content of a lock file: the rewards and options that a project trains with, and pinned responses."""

    lock: int
    """Version of the file format."""
    rewards_from: list[str]
    """Command-line words that register these rewards."""
    folder: str
    """Base folder of the paths in these words, given relative to the folder of the lock file."""
    rewards: dict[str, Identity]
    """Identities of the rewards, by data source."""
    pins: list[Pin]


def write_lock(lock: Lock, path: Path) -> None:
    """Write a lock file. The same lock produces the same bytes on any machine.

    Raises:
        InputError: The file cannot be written.
    """
    parts = ((name, getattr(lock, name)) for name in lock.__struct_fields__)
    content = {name: msgspec.to_builtins(part, order="sorted") for name, part in parts}
    text = json.dumps(writable(content), indent=1, ensure_ascii=False, allow_nan=False)
    with published(path) as file:
        file.write(f"{text}\n".encode())


def read_lock(path: Path) -> Lock:
    """Read a lock file.

    Raises:
        InputError: The file cannot be read or is not a valid lock file.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Lock)
    except OSError as error:
        raise InputError(
            f"cannot read the lock file {path}: {error.strerror}; write a lock file "
            "with `rewardkit lock FILES`"
        ) from None
    except NOT_JSON as error:
        raise InputError(
            f"{path} is not a lock file: {error}; write a lock file with `rewardkit lock FILES`"
        ) from None
    if found.lock != FORM:
        raise InputError(
            f"{path} is a lock file of version {found.lock}, but this rewardkit reads version {FORM}; write "
            "the lock file again: rewardkit lock FILES --force"
        )
    if not found.rewards or any(pin.data_source not in found.rewards for pin in found.pins):
        raise InputError(
            f"{path} is incomplete: the rewards of pinned rows are missing; write the lock file again: "
            "rewardkit lock FILES --force"
        )
    return found


@dataclass(frozen=True, slots=True)
class MovedPin:
    """Pinned row whose score has changed."""

    number: int
    """Number of the pin in the lock file, counted from 1."""
    pin: Pin
    now: Score

    def __str__(self) -> str:
        was = _with_score(self.pin.verdict, self.pin.score)
        now = _with_score(verdict(self.now), self.now.score)
        return f"{self.pin.data_source}: pin {self.number}: changed from {was} to {now}"


def _with_score(said: str, score: float) -> str:
    return said if said == f"{score:g}" else f"{said} ({score:g})"


@dataclass(frozen=True, slots=True)
class MovedGroup:
    """Prompt with pinned responses whose advantages under GRPO have changed."""

    data_source: str
    numbers: list[int]
    """Numbers of the prompt's pins in the lock file, counted from 1."""
    was: list[float]
    now: list[float]

    def __str__(self) -> str:
        pairs = [
            f"pin {number} from {was:+.2f} to {now:+.2f}"
            for number, was, now in zip(self.numbers, self.was, self.now, strict=True)
            if abs(was - now) >= _VISIBLE
        ]
        return (
            f"{self.data_source}: advantages of {len(pairs)} of {len(self.was)} rows changed: "
            f"{', '.join(pairs)}"
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """Changes since a lock file was written."""

    rewards: list[Change]
    pins: list[MovedPin]
    groups: list[MovedGroup]

    def lines(self) -> list[str]:
        """Return one line for each change."""
        return [str(one) for several in (self.rewards, self.pins, self.groups) for one in several]

    def summary(self) -> str:
        """Return the number of changes of each kind in one line."""
        pinned = (
            f"scores of pinned rows: {len(self.pins)}, prompts with changed advantages: {len(self.groups)}"
        )
        return f"changes in rewards: {len(self.rewards)}, {pinned}"

    def as_dict(self) -> dict[str, Any]:
        """Return the changes as plain data."""
        pins = [
            {"number": one.number, "was": _of_pin(one.pin), "now": one.now.as_dict()} for one in self.pins
        ]
        return {
            "rewards": msgspec.to_builtins(self.rewards),
            "pins": pins,
            "advantages": msgspec.to_builtins(self.groups),
        }


def _of_pin(pin: Pin) -> dict[str, Any]:
    return {"data_source": pin.data_source, "score": pin.score, "verdict": pin.verdict}


def check(lock: Lock, scorer: Scorer) -> Moved:
    """Compare a lock with the rewards of a scorer, and score the pinned responses again.

    Raises:
        OptionsError: The options do not fit a reward.
        MissingDependencyError: A reward needs an extra that is not installed.
    """
    known = known_sources(lock.rewards, scorer)
    moved_rewards = changes(lock.rewards, identities(scorer, known))
    numbered = [(i, pin) for i, pin in enumerate(lock.pins, 1) if pin.data_source in known]
    pins = [pin for _, pin in numbered]
    found = moved(pins, scorer.score_batch, lambda source: tolerance(scorer.reward_for(source)))
    moved_pins = [MovedPin(numbered[place - 1][0], pin, score) for place, pin, score in found]
    return Moved(moved_rewards, moved_pins, _moved_groups(numbered, moved_pins))


def moved_rewards(lock: Lock, now: Mapping[str, Identity]) -> list[Change]:
    """Return the changes between the rewards in a lock and in a run, for the run's data sources."""
    return changes({source: lock.rewards[source] for source in now if source in lock.rewards}, now)


def _moved_groups(numbered: Sequence[tuple[int, Pin]], moved_pins: Iterable[MovedPin]) -> list[MovedGroup]:
    """Return the groups in which a changed score changes an advantage.

    Responses that can no longer be scored are left out, as in training.
    """
    now = {one.number: one.now for one in moved_pins}
    groups: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for number, pin in numbered:
        score = now.get(number)
        if pin.group and (score is None or score.ok):
            value = pin.score if score is None else score.score
            groups.setdefault((pin.data_source, pin.group), []).append((number, pin.score, value))
    found = []
    for (source, _), rows in groups.items():
        if len(rows) > 1 and any(number in now for number, _, _ in rows):
            numbers, before, after = map(list, zip(*rows, strict=True))
            group = MovedGroup(source, numbers, grpo(before), grpo(after))
            if max(abs(a - b) for a, b in zip(group.was, group.now, strict=True)) >= _VISIBLE:
                found.append(group)
    return found
