"""The other side of an episode: gives feedback, plays a user. `open_interaction` opens that of a row.

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
