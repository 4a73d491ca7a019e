"""Origins of the rows in files: the models that wrote the responses, and the rewards that scored them.

Generation and scoring record the origin in the receipt of each file. Files from elsewhere have no origin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.digests import path_digest
from rewardkit.files.inputs import find_inputs, format_of
from rewardkit.identity.changes import Change, changes
from rewardkit.identity.reward_identity import Identity
from rewardkit.model_folders import model_folder
from rewardkit.offline.receipt import Receipt, content_digest, read_receipt

_DIGITS = 8
"""Number of hexadecimal digits of a digest in the name of a model or a system prompt."""
_NAMED = 3
"""Maximum number of values or changes in a message."""

Generation = dict[str, Any]
"""Model and settings of sampling that wrote responses, without the seed and the number of responses."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of the rows in one file or folder, as far as it is recorded."""

    generations: tuple[Generation, ...] = ()
    rewards: tuple[tuple[str, Identity], ...] = ()
    """Data sources with the identities of their rewards."""

    @property
    def models(self) -> list[str]:
        """Names of the models that wrote the responses."""
        return list(dict.fromkeys(str(one["model"]) for one in self.generations))


def generation_of(model: str, system: str, sampling: dict[str, Any]) -> Generation:
    """Return the record of a generation. A model folder is named with its digest instead of its path."""
    folder = model_folder(model)
    name = model
    if folder is not None:
        own = Path(model).expanduser().resolve().name if Path(model).expanduser().is_dir() else model
        name = f"{own}@{path_digest(folder).removeprefix('sha256:')[:_DIGITS]}"
    asked = {"system": hashlib.sha256(system.encode()).hexdigest()[:_DIGITS]} if system else {}
    return {"model": name, **sampling, **asked}


def generations_in(paths: Iterable[str]) -> list[Generation]:
    """Return the generations that wrote the responses in files, each once."""
    receipts = [receipt for path in paths if (receipt := _receipt(path))]
    return list(merged(Origin(tuple(one.generated)) for one in receipts).generations)


def origin_of(word: str) -> Origin:
    """Return the origin of the rows in a file or folder.

    Raises:
        InputError: The file does not exist, or its receipt cannot be read.
    """
    paths = list(dict.fromkeys(one.path for one in find_inputs([word])))
    receipts = [receipt for path in paths if (receipt := _receipt(path))]
    return merged(Origin(tuple(one.generated), tuple(one.rewards.items())) for one in receipts)


def _receipt(path: str) -> Receipt | None:
    """Return the receipt of a file, or None for a file without a receipt or with one of other content."""
    if not Path(path).is_file():
        return None
    receipt = read_receipt(Path(path))
    apart = format_of(path) != "parquet"  # The metadata of a Parquet file cannot outlive its rows.
    if receipt is None or (apart and receipt.content and content_digest(Path(path)) != receipt.content):
        return None
    return receipt


def differences(origins: Sequence[Origin]) -> list[str]:
    """Return the settings of generation that differ between or within origins, each with its values."""
    known = [one for origin in origins for one in origin.generations]
    keys = dict.fromkeys(key for one in known for key in one)
    found = []
    for key in keys:
        values = list(dict.fromkeys(str(one.get(key, "none")) for one in known))
        if len(values) > 1:
            found.append(f"{key} ({some(values)})")
    return found


def reward_changes(origins: Sequence[Origin]) -> list[Change]:
    """Return the differences between the rewards that scored the same data source, against the first."""
    first: dict[str, Identity] = {}
    found: dict[str, Change] = {}
    for source, identity in (one for origin in origins for one in origin.rewards):
        was = first.setdefault(source, identity)
        found |= {str(one): one for one in changes({source: was}, {source: identity})}
    return list(found.values())


def changes_line(found: Sequence[Change]) -> str:
    """Return changes of rewards in one line."""
    return some([str(one) for one in found])


def some(texts: Sequence[str]) -> str:
    """Return the first texts in one line, with the number of the others."""
    more = f"; and {len(texts) - _NAMED:,} more" if len(texts) > _NAMED else ""
    return "; ".join(texts[:_NAMED]) + more


def merged(origins: Iterable[Origin]) -> Origin:
    """Return the origin of the rows in several files together."""
    generations: list[Generation] = []
    rewards: list[tuple[str, Identity]] = []
    for origin in origins:
        generations += [one for one in origin.generations if one not in generations]
        rewards += [one for one in origin.rewards if one not in rewards]
    return Origin(tuple(generations), tuple(rewards))


def head(origin: Origin) -> list[tuple[str, str]]:
    """Return the facts for the head of a report: the models, and the rewards with their options."""
    named = [f"{one['reward']} for {source}{_options(one)}" for source, one in origin.rewards]
    facts = [("model", some(origin.models)), ("reward", some(named))]
    sampled = ("temperature", "top_p", "top_k", "max_tokens")
    settings = [{key: one[key] for key in sampled if key in one} for one in origin.generations]
    if len(settings) == 1:
        facts.insert(1, ("sampling", ", ".join(f"{key} {value:g}" for key, value in settings[0].items())))
    return [(name, text) for name, text in facts if text]


def _options(identity: Identity) -> str:
    """Return the options of a reward that have a value, in parentheses."""
    known = {name: value for name, value in identity.get("options", {}).items() if value is not None}
    text = ", ".join(f"{name}={value}" for name, value in known.items())
    return f" ({text[:120]}{'…' * (len(text) > 120)})" if text else ""
