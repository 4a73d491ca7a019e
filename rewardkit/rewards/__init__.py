"""The rewards we ship, one file or folder per family. Importing this registers them all and loads none.

What each is called, which data sources it scores and where it runs stands in `declarations`.
"""

from __future__ import annotations

import rewardkit.rewards.declarations  # noqa: F401
