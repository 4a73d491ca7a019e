"""Identity of a reward: its version, options, sources, members, packages and sandbox, as plain data.

Everything that decides its scores and nothing of the machine: no paths, keys, secrets or times. What may be
written of an address, of a request and of a user's options is decided in `rewardkit.http_addresses`, by what
is public and not by what looks secret. Two identities are compared in `changes`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.composition.tree import Combine, CompositionNode, walk
from rewardkit.digests import path_digest, source_digests
from rewardkit.errors import UnknownDataSourceError
from rewardkit.http_addresses import recorded_options, shown
from rewardkit.model_folders import model_folder
from rewardkit.registry import Reward
from rewardkit.reward_options import FILE, shown_options
from rewardkit.scoring.scorer import Scorer
from rewardkit.user_files import user_reward_file

Identity = dict[str, Any]
"""Keys: `reward` (name and version), `options`, `timeout_s`, `source` (file -> digest), `packages`,
`sandbox`; of a composition `reward` (its name) and `items` (path -> the same, with `weight`)."""

_WITHOUT_EFFECT = ("api_key_env",)
"""Options that decide no score."""


def identities(scorer: Scorer, data_sources: Iterable[str]) -> dict[str, Identity]:
    """Return the identity of the reward of each data source, in the order of their names.

    Raises:
        UnknownDataSourceError: a data source without a reward.
    """
    return {
        source: identity(scorer.reward_for(source), scorer.options_for(source))
        for source in sorted(set(data_sources))
    }


def known_sources(data_sources: Iterable[str], scorer: Scorer) -> list[str]:
    """Return those of some data sources that have a reward.

    Raises:
        OptionsError, MissingDependencyError: one of these rewards cannot be used.
    """
    found = []
    for source in data_sources:
        with contextlib.suppress(UnknownDataSourceError):
            scorer.check([source])
            found.append(source)
    return found


def identity(reward: Reward, options: Any) -> Identity:
    """Return what decides the scores of a reward with these options."""
    composition = getattr(reward.target, "composition", None)
    if composition is not None:
        return {"reward": reward.name, "items": {one.path: _item(one) for one in walk(composition.root)}}
    found = {
        "reward": reward.scorer,
        "options": _options(reward, options)
        | shown(msgspec.to_builtins(reward.origin.settings, enc_hook=str)),
        "timeout_s": reward.running.timeout_s,
        "on_exception": {} if reward.running.on_exception == "error" else reward.running.on_exception,
        "source": dict(reward.origin.source) or _source(reward.target),
        "packages": _packages(reward.running.needs),
        "sandbox": _sandbox(options) if reward.running.runs == "sandbox" else {},
    }
    return {name: value for name, value in found.items() if value != {}}


def _item(node: CompositionNode) -> Identity:
    common = {"weight": node.weight, "on_failure": node.on_failure}
    if not isinstance(node, Combine):
        return identity(node.reward, node.options) | common
    below = {"items": node.items, "then": node.then, "else": node.otherwise}
    paths = {name: [one.path for one in nodes] for name, nodes in below.items() if nodes}
    return {"reward": node.kind, **paths, "until": node.until, "threshold": node.threshold, **common}


def _options(reward: Reward, options: Any) -> dict[str, Any]:
    values = msgspec.to_builtins(shown_options(options), enc_hook=str)
    own = user_reward_file(reward.target)
    if own is not None:
        texts = [one.source.decode("utf-8", "replace") for one in (own, *own.beside)]
        values = recorded_options(values, texts)
    for field in fields(options):
        if field.metadata.get(FILE) and (path := getattr(options, field.name)):
            values[field.name] = _portable_path(path)
    return {name: values[name] for name in sorted(values) if name not in _WITHOUT_EFFECT}


def _portable_path(value: str) -> str:
    """Return a path, perhaps with `:function` behind it, as a name and a digest of what is there."""
    path, colon, function = value.partition(":")
    with contextlib.suppress(OSError):
        found = Path(path) if Path(path).is_file() else model_folder(value)
        if found is not None:
            name = value if found.parent.name == "snapshots" else f"{Path(path).name}{colon}{function}"
            return f"{name} {path_digest(found)}"
    return value


def _source(function: Callable[..., Any]) -> dict[str, str]:
    """Return the digests of the file that a function stands in; nothing for ours, which have versions."""
    own = user_reward_file(function)
    if own is not None:
        return source_digests(Path(own.path), own.source)
    module = getattr(function, "__module__", None) or ""
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None or module.partition(".")[0] == "rewardkit":
        return {}
    return source_digests(Path(path))


def _packages(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in sorted(names):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name).partition("+")[0]  # what follows says for which machine it was built
    return found


def _sandbox(options: Any) -> dict[str, str]:
    """Return the isolation level here and versions of languages; nothing where a service runs programs."""
    if getattr(options, "sandbox_url", None):
        return {}
    # Not at the top: most files are scored by rewards that run no programs.
    from rewardkit.sandbox import SandboxUnavailable
    from rewardkit.sandbox.languages import LANGUAGES, find, toolchain
    from rewardkit.sandbox.levels import LevelChoice, choose

    asked: LevelChoice = getattr(options, "level", "auto")
    try:
        level: str = choose(asked, allow_unsafe=getattr(options, "allow_unsafe", False))
    except SandboxUnavailable:
        level = "unavailable"
    found = {"level": level, "python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    name = find(getattr(options, "language", None) or "")
    if name is not None and name in LANGUAGES:
        with contextlib.suppress(SandboxUnavailable):
            found[name] = toolchain(LANGUAGES[name]).version
    return found
