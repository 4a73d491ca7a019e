"""Identity of a reward: its version, options, sources, members, packages and sandbox, as plain data.

An identity contains everything that determines the reward's scores, and nothing about the machine: no paths,
keys, secrets or times. `rewardkit.http_addresses` decides which parts of addresses, requests and users'
options may be recorded. It lists the public parts instead of guessing which parts are secret. The module
`changes` compares two identities.
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
from rewardkit.rewards.judge.spending import JudgeSpending
from rewardkit.scoring.scorer import Scorer
from rewardkit.user_files import user_reward_file

Identity = dict[str, Any]
"""Identity of a reward, with the keys `reward` (name and version), `options`, `timeout_s`, `on_exception`,
`source` (digests by file), `packages` and `sandbox`. For a composition, the keys are `reward` (its name) and
`items` (identities by path, with `weight` and `on_failure`)."""

_WITHOUT_EFFECT = {"api_key_env"}
"""Options that do not affect scores."""


def identities(scorer: Scorer, data_sources: Iterable[str]) -> dict[str, Identity]:
    """Return the identity of each data source's reward, sorted by data source.

    Raises:
        UnknownDataSourceError: A data source has no reward.
    """
    return {
        source: identity(scorer.reward_for(source), scorer.options_for(source))
        for source in sorted(set(data_sources))
    }


def known_sources(data_sources: Iterable[str], scorer: Scorer) -> list[str]:
    """Return the data sources that have a reward.

    Raises:
        OptionsError: The options do not fit one of these rewards.
        MissingDependencyError: One of these rewards needs an extra that is not installed.
    """
    found = []
    for source in data_sources:
        with contextlib.suppress(UnknownDataSourceError):
            scorer.check([source])
            found.append(source)
    return found


def identity(reward: Reward, options: Any) -> Identity:
    """Return the identity of a reward with these options."""
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
    spending = {one.name for one in fields(JudgeSpending)} if isinstance(options, JudgeSpending) else set()
    return {name: values[name] for name in sorted(values) if name not in _WITHOUT_EFFECT | spending}


def _portable_path(value: str) -> str:
    """Replace a path, optionally with `:function`, by the name and digest of the file or folder."""
    path, colon, function = value.partition(":")
    with contextlib.suppress(OSError):
        found = Path(path) if Path(path).is_file() else model_folder(value)
        if found is not None:
            name = value if found.parent.name == "snapshots" else f"{Path(path).name}{colon}{function}"
            return f"{name} {path_digest(found)}"
    return value


def _source(function: Callable[..., Any]) -> dict[str, str]:
    """Return digests of a function's sources, but not for rewardkit's own functions, which have versions."""
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
            found[name] = version(name).partition("+")[0]  # the part after "+" names the build
    return found


def _sandbox(options: Any) -> dict[str, str]:
    """Return the local isolation level and language versions; an empty dict if a service runs programs."""
    if getattr(options, "sandbox_url", None):
        return {}
    # The sandbox is imported only if needed, since most rewards do not run programs.
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
