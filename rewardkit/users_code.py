"""Exceptions and prints of users' code: rewards, imports, tools, interactions and agents.

The one place that says what an exception was and where, once for each kind, and who printed a line.
Standard library only: the process that runs an imported function (`rewardkit.foreign.host`) loads this file
too, under a Python that may have no rewardkit.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NamedTuple

DEBUG = "REWARDKIT_DEBUG"
"""Environment variable that `rewardkit --debug` sets, for the processes that it starts: log tracebacks."""
_LONGEST = 300
_MOST_KINDS = 1_000
_DEEPEST = 60
"""Frames of a traceback that are kept."""

_OURS = {os.path.realpath(os.path.dirname(__file__))}
_OURS |= {os.path.realpath(one.path) for one in os.scandir(os.path.dirname(__file__)) if one.is_dir()}
_LIBRARIES = re.compile(r"[/\\](site-packages|dist-packages)[/\\]")
_PYTHON = re.compile(r"^<|[/\\]lib(64)?[/\\]python[\d.]+[/\\](?!(site|dist)-packages[/\\])")


class Raised(NamedTuple):
    """An exception, as it is told: also between processes."""

    kind: str
    """The name of its class."""
    message: str
    """The first line."""
    file: str
    """The file of the innermost frame of the user's own code, else of a library; empty: there is none."""
    line: int
    trace: str
    """The whole traceback; empty: it was reported before in this process."""

    @property
    def text(self) -> str:
        """The exception, and where it was raised, in one line."""
        place = f" ({os.path.basename(self.file)}, line {self.line})" if self.file else ""
        return f"{self.said}{place}"

    @property
    def said(self) -> str:
        """The exception alone."""
        return f"{self.kind}: {self.message}" if self.message else self.kind


_kept_reports: list[tuple[str, Raised]] | None = None
"""Reports of a worker for its parent to log. None: this process logs itself."""
_seen: set[tuple[str, int, str]] = set()
"""Kinds of exceptions whose traceback this process has made: file, line and class."""
_logged: set[tuple[str, str, int, str]] = set()
"""Kinds that it has logged, by who raised them."""


def raised(error: BaseException) -> Raised:
    """Return what an exception of users' code says, and where it was raised."""
    file, line = _place(error.__traceback__)
    name = type(error).__name__
    try:
        message = str(error).strip().partition("\n")[0][:_LONGEST]
    except Exception:  # whatever a class of the user's makes of it
        message = ""
    trace = ""
    if (kind := (file, line, name)) not in _seen:
        if len(_seen) >= _MOST_KINDS:
            _seen.clear()
        _seen.add(kind)
        trace = _trace(error)
    return Raised(name, message, file, line, trace)


def report(who: str, error: Raised) -> None:
    """Log an exception once for each kind: who raised what and where; with `--debug`, its traceback."""
    kind = (who, error.file, error.line, error.kind)
    if kind in _logged:
        return
    if len(_logged) >= _MOST_KINDS:
        _logged.clear()
    _logged.add(kind)
    if _kept_reports is not None:
        _kept_reports.append((who, error))
        return
    import logging  # most runs need none

    from rewardkit.http_addresses import public_text

    shown = f"{who} raised {error.text}"
    if os.environ.get(DEBUG) and error.trace:
        shown = f"{shown}\n{error.trace.rstrip()}"
    before = _who.set("")  # it is ours to say
    logging.getLogger("rewardkit.users_code").error("%s", public_text(shown))
    _who.reset(before)


def forget_reports() -> None:
    """Log each kind of exception once more: a command begins."""
    _seen.clear()
    _logged.clear()


def keep_reports() -> None:
    """Keep reports for the process that started this one: of many workers it logs each kind once."""
    global _kept_reports
    _kept_reports = []


def take_reports() -> list[tuple[str, Raised]]:
    """Return the reports that were kept since the last call."""
    found = list(_kept_reports or ())
    if found and _kept_reports is not None:
        del _kept_reports[: len(found)]
    return found


def told(who: str, error: BaseException) -> str:
    """Report an exception, and return it with its place in one line without secrets of addresses. One of our
    own classes, as of a server that is down, says all there is to say."""
    from rewardkit.http_addresses import public_text

    found = raised(error)
    if type(error).__module__.partition(".")[0] == "rewardkit":
        return public_text(found.said)
    report(who, found)
    return public_text(found.text)


def _place(trace: TracebackType | None) -> tuple[str, int]:
    own = library = ("", 0)
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not _PYTHON.search(file) and not _is_ours(file):
            if _LIBRARIES.search(file):
                library = (file, trace.tb_lineno)
            else:
                own = (file, trace.tb_lineno)
        trace = trace.tb_next
    return own if own[0] else library


_known: dict[str, bool] = {}


def _is_ours(file: str) -> bool:
    if file not in _known:
        path = os.path.realpath(file)
        _known[file] = any(path.startswith(folder + os.sep) for folder in _OURS)
    return _known[file]


def _trace(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-_DEEPEST))
    except Exception:  # as of its message
        return ""


# --- prints ------------------------------------------------------------------------------------------------

_who: contextvars.ContextVar[str] = contextvars.ContextVar("rewardkit_who", default="")
_everywhere = ""
_lock = threading.Lock()
_running = 0
_kept: tuple[Any, Any] = (None, None)


@contextlib.contextmanager
def running(who: str) -> Iterator[None]:
    """Within it, what Python prints in this thread, or task, goes to standard error, with a name before each
    line; standard output may hold a command's rows."""
    before = _who.set(who)
    _enter()
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, _NamedStream):
                stream.end(who)
        _leave()
        with contextlib.suppress(ValueError):  # a generator was closed elsewhere
            _who.reset(before)


def name_all(who: str) -> None:
    """Name somebody as who prints whatever this process prints from now on."""
    global _everywhere
    if not _everywhere:
        _enter()
    _everywhere = who


def _enter() -> None:
    global _running, _kept
    with _lock:
        _running += 1
        if not isinstance(sys.stdout, _NamedStream):
            _kept = (sys.stdout, sys.stderr)
            sys.stdout, sys.stderr = _NamedStream(sys.stdout), _NamedStream(sys.stderr)


def _leave() -> None:
    global _running
    with _lock:
        _running -= 1
        if not _running and isinstance(sys.stdout, _NamedStream):
            sys.stdout, sys.stderr = _kept


class _NamedStream:
    """A standard stream; what is written where somebody is named goes to standard error, line by line."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._begun: dict[str, str] = {}
        """The lines that are not ended, by who writes them."""

    def write(self, text: str) -> int:
        who = _who.get() or _everywhere
        if not who:
            return int(self._stream.write(text) or 0)
        whole, end, rest = (self._begun.get(who, "") + text).rpartition("\n")
        self._begun[who] = rest
        if end:
            _write_named(who, whole)
        return len(text)

    def end(self, who: str) -> None:
        """Write the line that somebody has begun."""
        if rest := self._begun.pop(who, ""):
            _write_named(who, rest)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """The bytes below, of standard error where somebody is named."""
        return (_kept[1] if _who.get() or _everywhere else self._stream).buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _write_named(who: str, lines: str) -> None:
    stream = _kept[1]
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):  # it is full, or closed: no reward fails for it
            stream.write("".join(f"{who}: {line}\n" for line in lines.split("\n")))
            stream.flush()
