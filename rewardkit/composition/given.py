"""The rewards and options that a run is given, and which of them its rows use. What no row uses is an error.

A command line or a config adds what it gives, says which data sources the rows have as soon as it knows them,
and asks at the end, or before a model is loaded, what is left over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from rewardkit.errors import OptionsError
from rewardkit.registry import REGISTRY, Registry, Reward
from rewardkit.scoring.scorer import options_rank

_LISTED = 5
"""Data sources that a message lists."""


@dataclass(slots=True)
class _Given:
    """Everything that one option or setting gives a run. It is used if a row uses some of it: a file may hold
    rewards and options for other data sets too."""

    word: str
    """The option or setting."""
    what: str
    """The first thing that it gives."""
    used_by: list[Callable[[str, Reward], bool]]
    """(data source of a row, its reward) -> whether it is used there; one for each thing."""


class GivenRewards:
    """The rewards, options and limits that a run is given for its rows."""

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry
        self._unused: dict[str, _Given] = {}
        self._targets: dict[tuple[str, str], list[Any]] = {}
        self._options: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, None] = {}

    def __bool__(self) -> bool:
        """Return whether there is something that no row has used so far."""
        return bool(self._unused)

    def add_reward(self, word: str, made: Reward) -> None:
        """Add a reward. It is used by a row that it scores, and as a part of a reward that is used."""
        targets = self._targets.setdefault((word, made.name), [])
        targets.append(made.target)  # the same word may be loaded twice, each time anew
        names = {made.name, *made.data_sources}

        def used_by(source: str, reward: Reward) -> bool:
            parts = list(_parts_of(reward))
            as_part = any(part.target is target for part in parts for target in targets)
            return as_part or not names.isdisjoint(self._named_by(source, reward, parts))

        sources = ", ".join(made.data_sources) or "no data source"
        self._add(word, f"the reward '{made.name}' ({sources})", used_by)

    def add_source(self, word: str, pattern: str, made: Reward) -> None:
        """Add a data source, or a glob, that a reward is given for."""
        self._add(
            word, "it", lambda source, reward: reward.target is made.target and fnmatchcase(source, pattern)
        )

    def add_options(self, word: str, key: str, values: Mapping[str, Any]) -> None:
        """Add options of a data source, a glob of data sources or a reward."""
        self._options.setdefault(key, {}).update(values)
        self._add(word, f"the options of '{key}'", lambda source, reward: _applies(key, source, reward))

    def add_timeout(self, word: str) -> None:
        """Add a time limit. The members of a composition have limits of their own."""
        what = "the time limit, since compositions have one for each member"
        self._add(word, what, lambda source, reward: not _members_of(reward))

    def _add(self, word: str, what: str, used_by: Callable[[str, Reward], bool]) -> None:
        self._unused.setdefault(word, _Given(word, what, [])).used_by.append(used_by)

    def keep_all(self) -> None:
        """Count everything as used, where the rows come later and from others: a server, a lock file."""
        self._unused.clear()

    def saw(self, data_sources: Iterable[str]) -> None:
        """Count what rows of these data sources use. Data sources without a reward use nothing."""
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
        """Make sure that all rows together use each thing.

        Raises:
            OptionsError: the first thing that no row uses, and why.
        """
        for one in self._unused.values():
            seen = [source or "(none)" for source in self._seen]
            more = ", ..." if len(seen) > _LISTED else ""
            found = f"the data sources of the rows are {', '.join(seen[:_LISTED])}{more}"
            raise OptionsError(
                f"{one.word}: no row uses {one.what}; {found if seen else 'there are no rows for it'}"
            )

    def _named_by(self, source: str, reward: Reward, parts: Sequence[Reward]) -> set[str]:
        """Return the texts of the options of a reward and of its parts, some of which name rewards."""
        options = [values for key, values in self._options.items() if _applies(key, source, reward)]
        options += [asdict(member.options) for member in _members_of(reward)]
        options += [dict(part.presets) for part in parts]
        return {value for values in options for value in values.values() if isinstance(value, str)}


def _applies(key: str, source: str, reward: Reward) -> bool:
    return options_rank(key, source, {reward.name, *reward.aliases, *reward.data_sources}) is not None


def _members_of(reward: Reward) -> Sequence[Any]:
    composition = getattr(reward.target, "composition", None)
    return () if composition is None else composition.members


def _parts_of(reward: Reward) -> Iterator[Reward]:
    """Yield a reward and, of a composition, its members."""
    yield reward
    for member in _members_of(reward):
        yield from _parts_of(member.reward)
