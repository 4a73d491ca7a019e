"""Runs rewards that were written for other projects, unchanged and outside rewardkit's processes.

`spec` parses the specs that name these rewards. `entries` reads entries in YAML files.
"""

from __future__ import annotations

from rewardkit.foreign.entries import ForeignEntry, spec_of_entry
from rewardkit.foreign.spec import (
    KINDS,
    ForeignSpec,
    foreign_reward,
    is_spec,
    load_reward,
    parse_spec,
    register,
    verl_function,
)

__all__ = [
    "KINDS",
    "ForeignEntry",
    "ForeignSpec",
    "foreign_reward",
    "is_spec",
    "load_reward",
    "parse_spec",
    "register",
    "spec_of_entry",
    "verl_function",
]
