"""Defines the entries in YAML files that import third-party rewards, and converts them to specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import msgspec

from rewardkit.errors import OptionsError, did_you_mean
from rewardkit.foreign.spec import ForeignSpec, parse_spec
from rewardkit.reward_options import check_timeout


class ForeignEntry(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Keys in an entry. All keys except `import` are optional."""

    spec: str = msgspec.field(name="import")
    """Spec in the form `KIND:TARGET`, `FILE.py[:NAME]` or `package.module:NAME`."""
    name: str = ""
    kind: str = ""
    python: str | None = None
    options: dict[str, Any] = {}
    columns: dict[str, str] = {}
    ground_truth: Literal["json", "text"] = "json"
    batch: Literal["sample", "group"] = "sample"
    data_sources: list[str] | str = []
    timeout_s: float | None = None
    on_exception: Literal["error", "0", 0] = "error"


def spec_of_entry(name: str, given: Mapping[str, Any]) -> ForeignSpec:
    """Convert an entry to a spec.

    Args:
        name: Name of the reward if the entry does not specify a name.
        given: Entry as written in the file.

    Raises:
        OptionsError: A key or value is invalid. The error message contains the location.
        InputError: The value of `import` is not a valid spec.
    """
    where = f"{place}: " if (place := getattr(given, "place", "")) else ""
    keys = msgspec.structs.fields(ForeignEntry)
    for key in given:
        if key not in (known := [one.encode_name for one in keys]):
            near = did_you_mean(str(key), known) or f"; expected {', '.join(known)}"
            raise OptionsError(f"{where}import '{name}': unknown key '{key}'{near}")
    try:
        entry = msgspec.convert(dict(given), ForeignEntry)
        timeout_s = None if entry.timeout_s is None else check_timeout(entry.timeout_s)
    except (msgspec.ValidationError, OptionsError) as error:
        raise OptionsError(f"{where}import '{name}': {error}") from None
    spec = parse_spec(entry.spec)
    sources = [entry.data_sources] if isinstance(entry.data_sources, str) else entry.data_sources
    return replace(
        spec,
        name=entry.name or name,
        kind=entry.kind or spec.kind,
        python=entry.python,
        options={**spec.options, **entry.options},
        columns=entry.columns,
        ground_truth=entry.ground_truth,
        batch=entry.batch,
        data_sources=tuple(sources),
        timeout_s=timeout_s or spec.timeout_s,
        on_exception=spec.on_exception if entry.on_exception == "error" else "0",
    )
