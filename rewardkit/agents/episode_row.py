"""Fields of a row that an episode needs. `resolving.py` combines these fields with the settings of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.types import Message


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """Fields of a row that an episode needs."""

    messages: Sequence[Message]
    """Messages of the prompt."""
    data_source: str = ""
    ground_truth: str = ""
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    agent_name: str | None = None
    """Name of the row's agent. The run chooses the agent if this is None, empty or `single_turn_agent`."""
