"""Keeps one warm sandbox per isolation level, shared by the whole process."""

from __future__ import annotations

import atexit
import os

from rewardkit.sandbox.box import Sandbox
from rewardkit.sandbox.levels import LevelChoice

_sandboxes: dict[tuple[int, str], Sandbox] = {}


def sandbox_of_process(level: LevelChoice = "auto", *, allow_unsafe: bool = False) -> Sandbox:
    """Return this process's sandbox for a level. Only one thread at a time may use it.

    A forked process gets its own sandbox.

    Raises:
        SandboxUnavailable: The level does not work on this host.
    """
    key = (os.getpid(), level)
    if key not in _sandboxes:
        _sandboxes[key] = Sandbox(level, allow_unsafe=allow_unsafe)
        atexit.register(_sandboxes[key].close)
    return _sandboxes[key]
