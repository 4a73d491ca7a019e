"""One row, as far as its episode needs it. What comes of it in a run is in `resolving.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.types import Message


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One row, as far as its episode needs it."""

    messages: Sequence[Message]
    """The prompt."""
    data_source: str = ""
    ground_truth: str = ""
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    agent_name: str | None = None
    """None, an empty text and `single_turn_agent` name no agent: the run decides."""
