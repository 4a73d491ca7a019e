"""Program that `launch.py` starts for each rank. It runs `main.py`."""

from __future__ import annotations

import importlib
import signal

if __name__ == "__main__":
    # Ctrl-C in a terminal sends SIGINT to all processes, even during imports. Only the launcher handles it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    importlib.import_module("rewardkit.trainer.run.main").main()
