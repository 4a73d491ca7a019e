"""Differences between two identities of rewards, each described in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.identity.reward_identity import Identity

_NAMES = {"options": "option", "items": "member", "packages": "package"}
"""Name of a single value in each group of an identity, for messages."""
_GROUPS = frozenset({*_NAMES, "source", "sandbox"})
_SHOWN = 60
"""Maximum number of characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one value in an identity."""

    data_source: str
    what: str
    """Changed value, such as `option method`, `source rewards.py` or `member sum.gsm8k version`."""
    was: Any
    now: Any

    def __str__(self) -> str:
        was, now = _texts(self.was, self.now)
        return f"{self.data_source}: {self.what}: changed from {was} to {now}"


def changes(was: Mapping[str, Identity], now: Mapping[str, Identity]) -> list[Change]:
    """Return the changes between two sets of identities, for all data sources in either set."""
    found = []
    for source in sorted({*was, *now}):
        before, after = was.get(source), now.get(source)
        if before is None or after is None:
            found.append(Change(source, "reward", _name(before), _name(after)))
        else:
            found += [Change(source, " ".join(path), a, b) for path, a, b in _moved(before, after)]
    return found


def _moved(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[list[str], Any, Any]]:
    """Yield the path, the old value and the new value of each difference between two identities."""
    names = [_name(one) for one in (was, now)]
    if names[0] != names[1]:
        same = str(names[0]).partition("@")[0] == str(names[1]).partition("@")[0]
        yield ["version" if same else "reward"], *names
        if not same:
            return
    for key in sorted({*was, *now} - {"reward"}):
        empty: dict[str, Any] | None = {} if key in _GROUPS else None
        before, after = was.get(key, empty), now.get(key, empty)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _moved_in(key, before, after)
        elif before != after:
            yield [key], before, after


def _moved_in(
    group: str, was: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[list[str], Any, Any]]:
    for key in sorted({*was, *now}):
        path = [_NAMES.get(group, group), key]
        before, after = was.get(key), now.get(key)
        if group == "items" and isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from ((path + inner, a, b) for inner, a, b in _moved(before, after))
        elif before != after:
            yield path, _name(before), _name(after)


def _name(value: Any) -> Any:
    """Return the name and version of a reward. Any other value is returned unchanged."""
    return value.get("reward", value) if isinstance(value, Mapping) else value


def _texts(was: Any, now: Any) -> list[str]:
    """Return two values as short texts. Long texts are cut to begin shortly before their first difference."""
    texts = [_text(was), _text(now)]
    if max(map(len, texts)) <= _SHOWN:
        return texts
    pairs = enumerate(zip(*texts, strict=False))
    differ = next((i for i, (one, other) in pairs if one != other), min(map(len, texts)))
    same = max(0, differ - _SHOWN // 4)
    return [f"{'…' * bool(same)}{text[same:][:_SHOWN]}{'…' * (len(text) > same + _SHOWN)}" for text in texts]


def _text(value: Any) -> str:
    if value is None:
        return "nothing"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
