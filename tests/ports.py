"""A port for a server that does not listen yet."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

OF_THE_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The ports that the system gives to whoever asks for any, connections among them."""


def own_port() -> int:
    """Return a free port, if possible one that the system gives to nobody else before somebody listens there."""
    text = OF_THE_SYSTEM.read_text() if OF_THE_SYSTEM.exists() else "32768 60999"
    first, last = map(int, text.split())
    own = [*range(10_000, first), *range(last + 1, 65_536)] or range(10_000, 65_536)
    while True:
        port = SystemRandom().choice(own)
        with suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port
