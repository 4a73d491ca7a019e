"""Creates rewards for specs whose kinds do not run third-party Python code."""

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
    """Create the Reward for a spec. The version is a checksum of the kind, the options and the source.

    Args:
        spec: Spec of the reward.
        score: Function that scores a sample.
        options_type: Type of the reward's options.
        source: Additional data that affects scores, such as the text of a grader.
        url: True if the target is an address, which is passed in the option `url`.
        running: Fields of `Running` that differ from the fields for a function that runs in a worker.
        more: Additional fields of `Reward`. The spec's options override the values in `presets`.

    Raises:
        OptionsError: An option is unknown or has a wrong value, or the target is not a valid address.
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
    """Return the default name of a reward, which consists of the kind and the last part of the target."""
    return f"{spec.kind}:{PurePosixPath(Address(spec.target).rstrip('/')).name}"


def number(value: Any) -> float | None:
    """Convert a server's value to a float, or to None if it is not a finite number. True becomes 1.0."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _checked_url(spec: ForeignSpec) -> Address:
    try:
        return address_of(spec.target)
    except ValueError as error:
        raise OptionsError(f"{spec.kind}:{Address(spec.target)}: {error}") from None
