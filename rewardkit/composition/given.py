"""Detection of unused rewards and options, which a run is given but none of its rows use.

A command adds the rewards and options from its command line or config. It also reports the rows' data sources
as soon as they are known. At the end, or before a model is loaded, the command raises an error if no row uses
one of the rewards or options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from rewardkit.composition.tree import members_of
from rewardkit.errors import OptionsError
from rewardkit.registry import REGISTRY, Registry, Reward
from rewardkit.scoring.scorer import options_rank

_LISTED = 5
"""Maximum number of data sources listed in a message."""


@dataclass(slots=True)
class _Given:
    """Rewards and options given by one option or setting, which counts as used if a row uses any of them.

    A file may therefore contain rewards and options for other data sets.
    """

    word: str
    """Option or setting, as named in messages."""
    what: str
    """Description of the first reward or option given, for messages."""
    used_by: list[Callable[[str, Reward], bool]]
    """One function for each reward or option, which returns True if a row with the given data source and
    reward uses it."""
    advice: str
    """How to make rows use it, or ""."""


class GivenRewards:
    """Rewards, options and time limits that a run is given for its rows."""

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry
        self._unused: dict[str, _Given] = {}
        self._targets: dict[tuple[str, str], list[Any]] = {}
        self._options: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, None] = {}

    def __bool__(self) -> bool:
        """Return True if at least one option or setting has not been used by any row so far."""
        return bool(self._unused)

    def add_reward(self, word: str, made: Reward) -> None:
        """Add a reward, which is used if it scores a row or is part of a reward that scores a row."""
        targets = self._targets.setdefault((word, made.name), [])
        targets.append(made.target)  # A file that is loaded twice creates two targets.
        names = {made.name, *made.data_sources}

        def used_by(source: str, reward: Reward) -> bool:
            parts = list(_parts_of(reward))
            as_part = any(part.target is target for part in parts for target in targets)
            return as_part or not names.isdisjoint(self._named_by(source, reward, parts))

        sources = ", ".join(made.data_sources) or "no data source"
        for_all = next((source for source in made.data_sources if not set("*?[") & set(source)), "")
        advice = (
            f"to use it for all rows, pass --data-source {for_all}" if word.startswith("--reward") else ""
        )
        self._add(word, f"the reward '{made.name}' ({sources})", used_by, advice if for_all else "")

    def add_source(self, word: str, pattern: str, made: Reward) -> None:
        """Add a data source, or a glob of data sources, for which a reward is given."""
        self._add(
            word, "it", lambda source, reward: reward.target is made.target and fnmatchcase(source, pattern)
        )

    def add_options(self, word: str, key: str, values: Mapping[str, Any]) -> None:
        """Add options for a data source, a glob of data sources or a reward."""
        self._options.setdefault(key, {}).update(values)
        self._add(word, f"the options of '{key}'", lambda source, reward: _applies(key, source, reward))

    def add_timeout(self, word: str) -> None:
        """Add a time limit. The limit does not apply to compositions, whose members have their own limits."""
        what = "the time limit, since compositions have one for each member"
        self._add(word, what, lambda source, reward: not members_of(reward))

    def _add(self, word: str, what: str, used_by: Callable[[str, Reward], bool], advice: str = "") -> None:
        self._unused.setdefault(word, _Given(word, what, [], advice)).used_by.append(used_by)

    def keep_all(self) -> None:
        """Count everything as used, for commands that do not know the rows, such as a server or a lock."""
        self._unused.clear()

    def saw(self, data_sources: Iterable[str]) -> None:
        """Record the use of rewards and options by rows from these data sources, if they have a reward."""
        for source in data_sources:
            if not self._unused:
                return
            if len(self._seen) <= _LISTED:
                self._seen[source] = None
            reward = self._registry.find(source)
            if reward is not None:
                self._unused = {
                    word: one
                    for word, one in self._unused.items()
                    if not any(used_by(source, reward) for used_by in one.used_by)
                }

    def refuse_unused(self) -> None:
        """Check that the rows have used every option and setting.

        Raises:
            OptionsError: No row uses an option or setting. The message names it and gives the reason.
        """
        for one in self._unused.values():
            seen = [source or "(none)" for source in self._seen]
            more = ", ..." if len(seen) > _LISTED else ""
            found = f"the data sources of the rows are {', '.join(seen[:_LISTED])}{more}"
            why = found if seen else "there are no rows for it"
            raise OptionsError(
                f"{one.word}: no row uses {one.what}; {'; '.join(filter(None, [why, one.advice]))}"
            )

    def _named_by(self, source: str, reward: Reward, parts: Sequence[Reward]) -> set[str]:
        """Return all text values in the options of a reward and its parts.

        Some of these texts are names of rewards.
        """
        options = [values for key, values in self._options.items() if _applies(key, source, reward)]
        options += [asdict(member.options) for member in members_of(reward)]
        options += [dict(part.presets) for part in parts]
        return {value for values in options for value in values.values() if isinstance(value, str)}


def _applies(key: str, source: str, reward: Reward) -> bool:
    return options_rank(key, source, {reward.name, *reward.aliases, *reward.data_sources}) is not None


def _parts_of(reward: Reward) -> Iterator[Reward]:
    """Yield a reward and, if it is a composition, all its members recursively."""
    yield reward
    for member in members_of(reward):
        yield from _parts_of(member.reward)
