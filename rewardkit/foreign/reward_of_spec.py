"""Rewards of the kinds that run no Python of somebody else's: how each is made of a spec."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from rewardkit.errors import OptionsError
from rewardkit.foreign.spec import ForeignSpec
from rewardkit.http_addresses import Address, address_of, shown
from rewardkit.registry import Reward, Running


def made(
    spec: ForeignSpec,
    score: Callable[..., Any],
    options_type: type,
    *,
    source: bytes = b"",
    url: bool = False,
    running: Mapping[str, Any] | None = None,
    **more: Any,
) -> Reward:
    """Return the Reward of a spec. Its version is a checksum of the kind, the options and the source.

    Args:
        source: What decides on scores besides the options: the text of a grader, the files of a task.
        url: The target is an address, and goes to the option `url`.
        running: Fields of `Running`, where they are not those of a function that runs in a worker.
        more: Further fields of `Reward`; `presets` go below the spec's options.

    Raises:
        OptionsError: an option does not exist or does not fit, or the target is no address.
    """
    presets = {**more.pop("presets", {}), **spec.options}
    if url:
        presets["url"] = _checked_url(spec)
    reward = Reward(
        name=spec.name or default_name(spec),
        version=0,
        target=score,
        data_sources=spec.data_sources,
        options_type=options_type,
        presets=presets,
        running=Running(
            **{"runs": "process", "timeout_s": spec.timeout_s, **(running or {})},
            on_exception=spec.on_exception,
        ),
        **more,
    )
    options = shown(reward.make_options({}))
    return replace(reward, version=_version(spec, {name: options.get(name) for name in spec.options}, source))


def _version(spec: ForeignSpec, options: Mapping[str, Any], source: bytes) -> int:
    made_of = json.dumps([spec.kind, options], sort_keys=True, default=str).encode()
    return int(hashlib.sha256(made_of + b"\0" + source).hexdigest()[:8], 16)


def default_name(spec: ForeignSpec) -> str:
    """Return a name for a reward: its kind and the end of its target."""
    return f"{spec.kind}:{PurePosixPath(Address(spec.target).rstrip('/')).name}"


def number(value: Any) -> float | None:
    """Return a finite number that a server gave; None for anything else. True and False are 1 and 0."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _checked_url(spec: ForeignSpec) -> Address:
    try:
        return address_of(spec.target)
    except ValueError as error:
        raise OptionsError(f"{spec.kind}:{Address(spec.target)}: {error}") from None
