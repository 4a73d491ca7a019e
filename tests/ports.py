"""A port for a server that does not listen yet."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

OF_THE_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The ports that the system gives to whoever asks for any, connections among them."""


def own_port() -> int:
    """Return a free port that the system gives to nobody else before somebody listens there."""
    first = int(OF_THE_SYSTEM.read_text().split()[0]) if OF_THE_SYSTEM.exists() else 32_768
    while True:
        port = SystemRandom().randrange(10_000, max(first, 11_000))
        with suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port
