"""Where the server listens: sockets, TLS, and how many files it may have open. No process starts here."""

from __future__ import annotations

import resource
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from rewardkit.errors import ConfigError

BACKLOG = 4096
"""Connections that may wait to be accepted."""

_MOST_FILES = 1 << 20
"""A hard limit may be in the billions, and what we start would take its time over them."""

_OTHER_FILES = 256
"""Open files that are no connections: pipes to scoring processes, logs, libraries."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where and how to listen."""

    host: str
    port: int
    """0: any free one."""
    drain_s: float = 30.0
    """How long requests in flight may take after SIGTERM."""
    certfile: Path | None = None
    keyfile: Path | None = None

    @property
    def url(self) -> str:
        """The address as clients write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certfile else 'http'}://{host}:{self.port}"


def listen(host: str, port: int, n: int) -> list[socket.socket]:
    """Open one listening socket for each of `n` processes, all on one port, before the address is printed.

    It is valid then, and a client that connects early waits rather than being refused. A port on which
    another server listens is refused, also one that would share it.

    Raises:
        ConfigError: the address is taken or not ours.
    """
    if n > 1:  # sockets that share a port would share it with another server's, too
        free = _bind(host, port, shared=False)
        port = free.getsockname()[1]
        free.close()
    sockets = [_bind(host, port, shared=n > 1)]
    port = sockets[0].getsockname()[1]
    sockets += [_bind(host, port, shared=True) for _ in range(n - 1)]
    for bound in sockets:
        bound.listen(BACKLOG)
    return sockets


def _bind(host: str, port: int, *, shared: bool) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        reason = error.strerror or error
        raise ConfigError(f"cannot listen on {host}:{port}: {reason}; choose another --port") from None
    return bound


def check_certificate(certfile: Path | None, keyfile: Path | None) -> None:
    """Make sure that TLS will work.

    Raises:
        ConfigError: the files cannot be used.
    """
    if certfile is None:
        if keyfile is not None:
            raise ConfigError("--keyfile without --certfile; set both")
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certfile, keyfile)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"cannot use --certfile {certfile} for TLS: {error}") from None


def raise_file_limit() -> int:
    """Raise the limit of open files as far as we may; return how many connections that leaves room for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(soft // 2, soft - _OTHER_FILES)
