"""Writes logs to stderr, as one JSON object per line. Logging never fails or delays a request.

A separate thread writes the lines. If stderr is slow, some lines are dropped. If stderr is closed or its disk
is full, all lines are dropped.
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
from collections import Counter
from collections.abc import Iterator

from rewardkit.http_addresses import public_text, shown
from rewardkit.server.request import CURRENT

_MAX_WAITING = 10_000
"""Maximum number of lines in the writer's queue."""

_MAX_OUTPUT = 64 << 10
"""Maximum number of bytes of printed output in one log line."""

MAX_EQUAL = 10
"""Maximum number of warnings per second with the same format string."""

_MAX_TEXTS = 1_000
"""Maximum number of format strings for which omitted records are counted."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonFormatter(logging.Formatter):
    """Formatter that converts a record, including its `extra` fields, to one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a newline at the end."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": public_text(record.getMessage()),
        }
        request = CURRENT.get()
        if request is not None:
            line["request_id"] = request.id
            if request.trace is not None:
                line["trace_id"] = request.trace.id
        line |= {key: shown(value) for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            line["exception"] = public_text(self.formatException(record.exc_info))
        return json.dumps(line, default=str)


class RateLimit(logging.Filter):
    """Filter that limits how often a warning is logged, since clients can cause some warnings at any rate.

    The next record with the same format string reports the number of omitted records in the field `left_out`.
    Printed output is not limited, because it has no format string.
    """

    def __init__(self) -> None:
        super().__init__()
        self._second = 0
        self._logged: Counter[tuple[str, str]] = Counter()
        self._left_out: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if a record is to be logged."""
        if record.levelno < logging.WARNING or record.msg == "%s":
            return True
        if int(record.created) != self._second:
            self._second = int(record.created)
            self._logged.clear()
        text = record.name, str(record.msg)
        self._logged[text] += 1
        if self._logged[text] > MAX_EQUAL:
            if len(self._left_out) < _MAX_TEXTS or text in self._left_out:
                self._left_out[text] += 1
            return False
        if left_out := self._left_out.pop(text, 0):
            record.left_out = left_out
        return True


class _Writer(logging.Handler):
    """Handler that passes lines to a thread, which writes them."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        # The descriptor is duplicated, because its number may be reused while lines are still written.
        self._fd = os.dup(fd)
        self._given_up = False
        self._lines: queue.Queue[str | None] = queue.Queue(_MAX_WAITING)
        self._thread = threading.Thread(target=self._write, name="rewardkit-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):  # Lines that cannot be formatted or queued are dropped.
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
    """Make all loggers write JSON lines to `fd` during the block."""
    writer = _Writer(fd)
    writer.setFormatter(JsonFormatter())
    writer.addFilter(RateLimit())
    root = logging.getLogger()
    ours = logging.getLogger("rewardkit.server")
    root.addHandler(writer)
    ours.setLevel(logging.INFO if access_log else logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(writer)
        writer.close()


@contextlib.contextmanager
def output_logged() -> Iterator[None]:
    """Log everything that this process and its children print during the block.

    Output that is printed together, such as a traceback, becomes one log line. Use this function inside
    `json_logs`, which must keep the original stderr.
    """
    read_end, write_end = os.pipe()
    kept = {fd: os.dup(fd) for fd in (1, 2)}
    for fd in kept:
        os.dup2(write_end, fd)
    os.close(write_end)
    reader = threading.Thread(target=_log_output, args=(read_end,), name="rewardkit-output", daemon=True)
    reader.start()
    try:
        yield
    finally:
        # A stream is None if it was closed when Python started.
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        for fd, before in kept.items():
            os.dup2(before, fd)
            os.close(before)
        reader.join(1.0)  # The reader stops once no process can print any more.


def _log_output(read_end: int) -> None:
    log = logging.getLogger("rewardkit.output")
    rest = b""
    while piece := os.read(read_end, _MAX_OUTPUT):
        whole, end, rest = (rest + piece).rpartition(b"\n")
        if not end and len(rest) > _MAX_OUTPUT:
            whole, rest = rest, b""
        if whole.strip():
            log.warning("%s", whole.decode("utf-8", "backslashreplace"))
    if rest.strip():
        log.warning("%s", rest.decode("utf-8", "backslashreplace"))
    os.close(read_end)


def write_line(line: str, fd: int = 2) -> None:
    """Write a line to `fd` directly.

    If Python's buffers were used, a failed write would be reported again at exit.
    """
    with contextlib.suppress(OSError):
        os.write(fd, (line + "\n").encode("utf-8", "backslashreplace"))


def keep_standard_streams() -> None:
    """Replace closed standard streams with /dev/null.

    Otherwise a socket could get the file descriptor of stderr, and its client would receive the logs.
    """
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
