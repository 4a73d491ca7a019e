"""The shape that every comparison of two trees has. No rule stands here.

Rules for what has parts are given the comparison of the parts, `equal`, so that they need not import it.
"""

from __future__ import annotations

from collections.abc import Callable

from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import Node

Rule = Callable[[Node, Node, MathOptions], bool | None]
"""Whether two trees say the same; None when that stays open."""
