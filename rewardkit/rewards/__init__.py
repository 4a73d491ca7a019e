"""Registers all rewards that ship with rewardkit, one file or folder per family, without loading them.

`declarations` lists their names, their data sources and where each of them runs.
"""

from __future__ import annotations

import rewardkit.rewards.declarations  # noqa: F401
