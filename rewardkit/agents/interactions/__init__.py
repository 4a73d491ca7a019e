"""Interactions: the user of an episode, which gives feedback or plays a person. `load_interactions` loads
those of a run.

What ships: `opening.SHIPPED`. `docs/tools.md` says how to write one.
"""

from __future__ import annotations

from rewardkit.agents.interactions.opening import (
    SHIPPED,
    OpenInteraction,
    load_interactions,
    open_interaction,
)

__all__ = ["SHIPPED", "OpenInteraction", "load_interactions", "open_interaction"]
