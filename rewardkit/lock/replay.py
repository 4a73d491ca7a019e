"""Replay of a scored file. The file is scored again according to its receipt, and all rows are compared."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError
from rewardkit.evaluation.rescoring import EQUAL, MODEL_TOLERANCE, tolerance
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.http_addresses import NOT_RECORDED, RequestFields
from rewardkit.identity.changes import Change, changes
from rewardkit.identity.reward_identity import Identity, identities, known_sources
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.samples import parsed
from rewardkit.offline.receipt import Receipt, content_digest, read_receipt
from rewardkit.offline.score import score_file
from rewardkit.offline.writing import output_name
from rewardkit.registry import REGISTRY, Registry
from rewardkit.reward_options import FILE, ON_EXCEPTION, TEXT
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import VERDICT_FIELDS

AGAIN = "replayed_"
"""Prefix of the names of columns from the second scoring."""
COMPARED = tuple(name for name in VERDICT_FIELDS if name != "detail")
_KEPT = 1000
"""Maximum number of differing rows to keep. Further rows are only counted."""


@dataclass(frozen=True, slots=True)
class Differing:
    """Row whose score has changed."""

    row: int
    """Number of the row in the file, counted from 0."""
    was: dict[str, Any]
    """Old values of the columns that differ."""
    now: dict[str, Any]
    """New values of the columns that differ."""

    def __str__(self) -> str:
        pairs = (f"{name} changed from {self.was[name]!r:.60} to {self.now[name]!r:.60}" for name in self.was)
        return f"row {self.row}: {', '.join(pairs)}"


@dataclass
class Replay:
    """Result of scoring a file again."""

    rows: int = 0
    differ: int = 0
    first: list[Differing] = field(default_factory=list)
    """First rows that differ."""
    moved: list[Change] = field(default_factory=list)
    """Changes in the rewards since the file was scored."""
    edited: bool = False
    """True if the file was changed after scoring. Always False if the receipt has no content digest."""
    data_sources: list[str] = field(default_factory=list)


def options_of(receipt: Receipt, registry: Registry = REGISTRY) -> dict[str, dict[str, Any]]:
    """Return the options recorded in a receipt, by data source.

    Options that the reward presets or that name a file are left out. So are options whose values a receipt
    does not contain: long texts, request fields and possible secrets.
    """
    found = {}
    for source, one in receipt.rewards.items():
        reward = registry.find(source)
        if reward is not None and one["reward"].partition("@")[0] == reward.name:
            own = {field.name for field in fields(reward.options_class) if _is_recorded(field)}
            found[source] = {
                name: value
                for name, value in one.get("options", {}).items()
                if name in own and name not in reward.presets and value != NOT_RECORDED
            }
            if reward.running.on_exception == "error" and ON_EXCEPTION in one:
                found[source][ON_EXCEPTION] = one[ON_EXCEPTION]
    return found


def _is_recorded(option: Field[Any]) -> bool:
    known = option.metadata.keys() & {FILE, TEXT} or option.type in (RequestFields, RequestFields.__name__)
    return not known


def replay(path: Path, scorer: Scorer, options: ReadOptions, prefix: str | None = None) -> Replay:
    """Score a file again and compare the scores with those in the file.

    Args:
        path: Scored file.
        scorer: Scorer for the second scoring.
        options: Options for reading the rows, if rewardkit did not write them.
        prefix: Prefix of the score columns, by default the prefix in the receipt.

    Raises:
        InputError: The file cannot be read or has no scores, or a reward named in its receipt is missing.
    """
    receipt = read_receipt(path)
    found = Replay()
    if receipt is not None and receipt.content:
        found.edited = content_digest(path) != receipt.content
    models: set[str] = set()
    if receipt is not None and prefix in (None, receipt.prefix):
        prefix = receipt.prefix
        known = known_sources(receipt.rewards, scorer)
        now = identities(scorer, known)
        _require_rewards(receipt.rewards, now, path)
        found.moved = changes(receipt.rewards, now)
        rewards = map(scorer.reward_for, known)
        models = {reward.scorer for reward in rewards if tolerance(reward) == MODEL_TOLERANCE}
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder, output_name(path.name))
        report = score_file(path, again, scorer=scorer, options=options, prefix=AGAIN)
        found.data_sources = list(report.sources)
        for raw in _rows(again, prefix or "", path):
            _count(found, raw, prefix or "", models)
    return found


_PASSED_WITH = {"source": "--reward", "items": "--rewards"}
"""Command-line option that registers a user's own rewards, by the key that only their identities have."""


def _require_rewards(was: Mapping[str, Identity], now: Mapping[str, Identity], path: Path) -> None:
    """Check that the user's own rewards are registered, since otherwise all their rows would differ.

    Raises:
        InputError: A reward is missing.
    """
    for source, before in was.items():
        own = next((key for key in _PASSED_WITH if key in before), "")
        if source not in now or (own and not _PASSED_WITH.keys() & now[source].keys()):
            option = _PASSED_WITH.get(own, "--reward, --judge or --reward-model")
            files = f" ({', '.join(before['source'])})" if own == "source" else ""
            raise InputError(
                f"{path}: the reward {before['reward'].partition('@')[0]}{files} of data source '{source}' "
                f"is missing; pass the same {option} that you passed to `rewardkit score`"
            )


def _rows(again: Path, prefix: str, path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the second scoring, which contain the columns of both scorings."""
    file = open_rows(find_inputs([again])[0])
    try:
        for records in file.chunks():
            for row in parsed(records):
                if not isinstance(row, Mapping):
                    continue
                if f"{prefix}status" not in row:
                    raise InputError(
                        f"{path} has no column '{prefix}status', so no row is scored; "
                        f"score the file first: rewardkit score {path}"
                    )
                yield row
    finally:
        file.close()


def _count(found: Replay, raw: Mapping[str, Any], prefix: str, models: set[str]) -> None:
    allowed = MODEL_TOLERANCE if _first(raw.get(f"{AGAIN}scorer")) in models else EQUAL
    was, now = ({name: raw.get(f"{head}{name}") for name in COMPARED} for head in (prefix, AGAIN))
    differ = [name for name in COMPARED if not _equal(was[name], now[name], allowed)]
    if differ:
        found.differ += 1
        if len(found.first) < _KEPT:
            both = ({name: values[name] for name in differ} for values in (was, now))
            found.first.append(Differing(found.rows, *both))
    found.rows += 1


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, Sequence) and value and not isinstance(value, str) else value


def _equal(was: Any, now: Any, allowed: float) -> bool:
    """Return True if two values of a score column are equal within a tolerance. Null parts are ignored."""
    if isinstance(was, Mapping) or isinstance(now, Mapping):
        one, other = ({k: v for k, v in (side or {}).items() if v is not None} for side in (was, now))
        return one.keys() == other.keys() and all(_equal(one[key], other[key], allowed) for key in one)
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(_equal(a, b, allowed) for a, b in zip(was, now, strict=True))
    if isinstance(was, float) and isinstance(now, float):
        return abs(was - now) <= allowed
    return bool(was == now)
