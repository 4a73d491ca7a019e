"""The process that the launcher of `launch.py` starts, once for each rank; what it does is in `main.py`."""

from __future__ import annotations

import importlib
import signal

if __name__ == "__main__":
    # A terminal's Ctrl-C reaches all processes, also while they import. The launcher answers it, for all.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    importlib.import_module("rewardkit.trainer.run.main").main()
