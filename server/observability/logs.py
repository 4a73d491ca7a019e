"""Logs as one JSON object a line on stderr. Logging never fails a request, and never makes it wait.

A thread of its own writes; when stderr is slow lines are dropped, when it is full or closed all are.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Iterator

from rewardkit.http_addresses import without_credentials
from rewardkit.server.request import CURRENT

_MAX_WAITING = 10_000
"""Lines that may wait to be written."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonFormatter(logging.Formatter):
    """Formats a record, and whatever was passed in `extra`, as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_credentials(record.getMessage()),
        }
        request = CURRENT.get()
        if request is not None:
            line["request_id"] = request.id
            if request.trace is not None:
                line["trace_id"] = request.trace.id
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            line["exception"] = without_credentials(self.formatException(record.exc_info))
        return json.dumps(line, default=str)


class _Writer(logging.Handler):
    """Hands lines to a thread that writes them."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = os.dup(fd)  # its own: a line written late must not reach what has since got the number
        self._given_up = False
        self._lines: queue.Queue[str | None] = queue.Queue(_MAX_WAITING)
        self._thread = threading.Thread(target=self._write, name="rewardkit-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):  # a line that cannot be formatted, or has no room, is dropped
            self._lines.put_nowait(self.format(record))

    def _write(self) -> None:
        while (line := self._lines.get()) is not None and not self._given_up:
            write_line(line, self._fd)
        os.close(self._fd)

    def close(self) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=1.0)
            self._thread.join(1.0)
        self._given_up = True
        super().close()


@contextlib.contextmanager
def json_logs(*, access_log: bool = False, fd: int = 2) -> Iterator[None]:
    """Within it, all loggers write JSON lines to `fd`."""
    writer = _Writer(fd)
    writer.setFormatter(JsonFormatter())
    root = logging.getLogger()
    ours = logging.getLogger("rewardkit.server")
    root.addHandler(writer)
    ours.setLevel(logging.INFO if access_log else logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(writer)
        writer.close()


def write_line(line: str, fd: int = 2) -> None:
    """Write a line past Python's buffers, which would bring up a failure again at exit."""
    with contextlib.suppress(OSError):
        os.write(fd, (line + "\n").encode("utf-8", "backslashreplace"))


def keep_standard_streams() -> None:
    """Fill the places of closed standard streams: a socket would take one, and a client get our logs."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != fd:
                os.dup2(null, fd)
                os.close(null)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
