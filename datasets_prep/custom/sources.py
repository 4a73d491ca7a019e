"""Data sources for a user's rows. Either all rows have the same data source, or a column specifies it.

A data source with a new name is registered as a composition of the reward that the user selects. A file next
to the data stores the composition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.composition import compose
from rewardkit.datasets_prep.custom.extractors import Expression, parse
from rewardkit.errors import InputError, UnknownDataSourceError
from rewardkit.registry import REGISTRY

SOURCE_KEYS = ("dataset", "data_source", "source", "task", "ability", "domain")
"""Columns that often contain the kind of each row in a mixed file, and thus the row's data source."""

_RESPONSES = {
    **dict.fromkeys(("exact", "number", "contains", "bleu", "rouge_l", "chrf"), "{}"),
    "gsm8k": "#### {}",
    "math": "The answer is \\boxed{{{}}}.",
    "math_dapo": "The answer is \\boxed{{{}}}.",
    "geometry3k": "<think>See the figure.</think> The answer is \\boxed{{{}}}.",
    "choice": "The answer is {}.",
    "qa": "<answer>{}</answer>",
}
"""Formats that turn an answer into a response, by reward.

For rewards without an entry, ground truths are not answers.
"""


@dataclass(frozen=True, slots=True)
class RowSource:
    """Data source with the name of the reward that scores it."""

    data_source: str
    reward: str

    def as_response(self, ground_truth: str) -> str:
        """Format a ground truth as a response. Return an empty string if ground truths are not answers."""
        return self.response.format(ground_truth) if self.response else ""

    @property
    def response(self) -> str | None:
        """Return the format for responses, with `{}` for the answer, or None if the reward has no format."""
        return _RESPONSES.get(self.reward)


@dataclass(slots=True)
class RowSources:
    """Data sources of the rows, which are determined while the rows are read."""

    one: RowSource | None
    """Data source of all rows, or None if a column contains the data sources."""
    column: Expression | None = None
    prefix: str = ""
    """Prefix, possibly empty, that is added to the values in the column to form the names of data sources."""
    rewards: Mapping[str, str] = field(default_factory=dict)
    """Rewards that the user specified for values in the column."""
    composed: list[dict[str, Any]] = field(default_factory=list)
    """Compositions for the data sources with new names."""
    seen: set[str] = field(default_factory=set)
    """Values in a column that appears to contain data sources, although the user did not specify it as
    such."""
    _found: dict[str, RowSource | str] = field(default_factory=dict)

    def of(self, word: str | None) -> RowSource | str:
        """Return the data source for a value in the column, or the reason why there is none."""
        if self.one is not None:
            return self.one
        if not word or word.isspace():
            return f"'{self.column.column if self.column else ''}' has no data source"
        if word not in self._found:
            self._found[word] = self._named(word)
        return self._found[word]

    def overlooked(self, column: str) -> str:
        """Return a message if rows appear to have several data sources but are scored as one, or else ""."""
        others = sorted(word for word in self.seen if self.one and _differs(word, self.one.reward))
        if not others or len(self.seen) < 2 or self.one is None:
            return ""
        words = ", ".join(others[:4])
        return (
            f"column '{column}' contains {words}, which have rewards other than "
            f"{self.one.reward}; pass --data-source-key {column} to score each row with its own "
            "reward"
        )

    def _named(self, word: str) -> RowSource | str:
        name = f"{self.prefix}/{word}" if self.prefix else word
        reward = self.rewards.get(word) or (word if self.prefix else None)
        try:
            source, composed = scored_by(name, reward)
        except UnknownDataSourceError as error:
            why = str(error).partition("; see")[0]
            return f"{why}: choose a reward with --reward-of {word}=REWARD (`rewardkit list` shows all)"
        except InputError as error:
            return f"{error} PREFIX"
        if composed:
            self.composed.append(composed)
        return source


def _differs(word: str, reward: str) -> bool:
    try:
        return REGISTRY.resolve(word).name != reward
    except UnknownDataSourceError:
        return False


def sources_of(said: Mapping[str, Any]) -> RowSources:
    """Return the data sources and rewards that the user specified.

    Raises:
        InputError: The user specified neither a data source nor a reward, or the settings conflict.
        UnknownDataSourceError: No reward has the given name.
    """
    key = said.get("data_source_key")
    rewards = dict(said.get("reward_of", {}))
    if key is None:
        if rewards:
            raise InputError("--reward-of needs --data-source-key COLUMN, the column with the data sources")
        one, composed = scored_by(said.get("data_source"), said.get("reward"))
        return RowSources(one, composed=[composed] if composed else [])
    if said.get("reward"):
        raise InputError(
            "--data-source-key and --reward cannot be combined; --reward-of SOURCE=REWARD sets the reward of "
            "one value of the column"
        )
    for reward in rewards.values():
        REGISTRY.resolve(reward)
    return RowSources(None, parse(key), said.get("data_source") or "", rewards)


def scored_by(data_source: str | None, reward: str | None) -> tuple[RowSource, dict[str, Any] | None]:
    """Return a data source with its reward, and the composition for a new name, or None for a known name.

    Raises:
        InputError: Neither argument is given, or another reward already scores the data source.
        UnknownDataSourceError: No reward has the given name.
    """
    if reward is None:
        if data_source is None:
            raise InputError(
                "no reward given: pass --reward NAME, --data-source NAME, or both, or "
                "--data-source-key COLUMN"
            )
        return RowSource(data_source, REGISTRY.resolve(data_source).name), None
    named = REGISTRY.resolve(reward).name
    if data_source is None:
        return RowSource(reward, named), None
    known = _scoring(data_source)
    if known is None:  # The name is new, or belongs to a composition of this reward only.
        composed = {"data_sources": [data_source], "reward": named}
        compose(data_source, composed)
        return RowSource(data_source, named), composed
    if known != named:
        raise InputError(
            f"data source '{data_source}' already has the reward {known}, not {named}; pass another name "
            "with --data-source"
        )
    return RowSource(data_source, named), None


def _scoring(data_source: str) -> str | None:
    """Return the reward for a data source, or None if the data source is new or composes a single reward."""
    try:
        known = REGISTRY.resolve(data_source)
    except UnknownDataSourceError:
        return None
    composition = getattr(known.target, "composition", None)
    ours = (
        composition is not None and len(composition.members) == 1 and composition.root in composition.members
    )
    return None if ours else known.name


def reward_pairs(words: Sequence[str]) -> dict[str, str]:
    """Parse `SOURCE=REWARD` pairs from the command line.

    Raises:
        InputError: A pair has no data source or no reward.
    """
    made = {}
    for text in words:
        word, equals, reward = text.rpartition("=")
        if not equals or not word.strip() or not reward.strip():
            raise InputError(f"--reward-of {text!r}: expected DATA_SOURCE=REWARD, for example gsm8k=math")
        made[word.strip()] = reward.strip()
    return made
