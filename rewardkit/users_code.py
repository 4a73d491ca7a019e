"""Exceptions and printed output of code from users: rewards, imports, tools, interactions and agents.

This module logs each kind of exception once, with the place where it was raised, and puts the name of the
code before each line that the code prints. The module imports only the standard library, because
`rewardkit.foreign.host` loads this file under a Python that may not have rewardkit.
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
"""Environment variable that enables logging of tracebacks, set by `rewardkit --debug` for child processes."""
_LONGEST = 300
_MOST_KINDS = 1_000
_DEEPEST = 60
"""Maximum number of traceback frames to keep."""

_OURS = {os.path.realpath(os.path.dirname(__file__))}
_OURS |= {os.path.realpath(one.path) for one in os.scandir(os.path.dirname(__file__)) if one.is_dir()}
_LIBRARIES = re.compile(r"[/\\](site-packages|dist-packages)[/\\]")
_PYTHON = re.compile(r"^<|[/\\]lib(64)?[/\\]python[\d.]+[/\\](?!(site|dist)-packages[/\\])")


class Raised(NamedTuple):
    """Description of an exception, which can be sent between processes."""

    kind: str
    """Name of the exception's class."""
    message: str
    """First line of the exception's message."""
    file: str
    """File of the innermost traceback frame in the user's code, or else in a library. Empty if there is
    none."""
    line: int
    trace: str
    """Complete traceback. It is empty if this process has already described an exception of this kind."""

    @property
    def text(self) -> str:
        """Class and message of the exception, and the place where it was raised, in one line."""
        place = f" ({os.path.basename(self.file)}, line {self.line})" if self.file else ""
        return f"{self.said}{place}"

    @property
    def said(self) -> str:
        """Class and message of the exception, in one line."""
        return f"{self.kind}: {self.message}" if self.message else self.kind


_kept_reports: list[tuple[str, Raised]] | None = None
"""Reports that this worker keeps for its parent process, or None if this process logs its own reports."""
_seen: set[tuple[str, int, str]] = set()
"""Kinds of exceptions (file, line and class) whose traceback this process has formatted."""
_logged: set[tuple[str, str, int, str]] = set()
"""Kinds of exceptions that this process has logged, each with the name of the code that raised it."""


def raised(error: BaseException) -> Raised:
    """Return the description of an exception that users' code raised."""
    file, line = _place(error.__traceback__)
    name = type(error).__name__
    try:
        message = str(error).strip().partition("\n")[0][:_LONGEST]
    except Exception:  # a user's exception class may raise anything in __str__
        message = ""
    trace = ""
    if (kind := (file, line, name)) not in _seen:
        if len(_seen) >= _MOST_KINDS:
            _seen.clear()
        _seen.add(kind)
        trace = _trace(error)
    return Raised(name, _printable(message), file, line, _printable(trace))


def report(who: str, error: Raised) -> None:
    """Log the first exception of each kind, with its place and, under `--debug`, its traceback.

    Args:
        who: Name of the code that raised the exception.
        error: Description of the exception.
    """
    kind = (who, error.file, error.line, error.kind)
    if kind in _logged:
        return
    if len(_logged) >= _MOST_KINDS:
        _logged.clear()
    _logged.add(kind)
    if _kept_reports is not None:
        _kept_reports.append((who, error))
        return
    import logging  # not needed in most runs

    from rewardkit.http_addresses import public_text

    shown = f"{who} raised {error.text}"
    if os.environ.get(DEBUG) and error.trace:
        shown = f"{shown}\n{error.trace.rstrip()}"
    before = _who.set("")  # the log line is not output of the user's code, so it gets no name
    logging.getLogger("rewardkit.users_code").error("%s", public_text(shown))
    _who.reset(before)


def forget_reports() -> None:
    """Forget the exceptions reported so far, so that a new command logs each kind again."""
    _seen.clear()
    _logged.clear()


def keep_reports() -> None:
    """Keep reports for the parent process instead of logging them.

    The parent process then logs each kind of exception only once for all its workers.
    """
    global _kept_reports
    _kept_reports = []


def take_reports() -> list[tuple[str, Raised]]:
    """Return and remove the reports kept since the last call."""
    found = list(_kept_reports or ())
    if found and _kept_reports is not None:
        del _kept_reports[: len(found)]
    return found


def told(who: str, error: BaseException) -> str:
    """Report an exception, and return one line with its place and without secrets from addresses.

    rewardkit's own exceptions, such as an unreachable server, are self-explanatory. Such exceptions are
    described without a place and are not reported.
    """
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


def _printable(text: str) -> str:
    """Return the text with `?` for lone surrogates, which can be neither printed nor sent."""
    return text.encode("utf-8", "replace").decode()


def _trace(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-_DEEPEST))
    except Exception:  # a user's exception class may raise anything in __str__
        return ""


# --- printed output ----------------------------------------------------------------------------------------

_who: contextvars.ContextVar[str] = contextvars.ContextVar("rewardkit_who", default="")
_everywhere = ""
_lock = threading.Lock()
_running = 0
_kept: tuple[Any, Any] = (None, None)


@contextlib.contextmanager
def running(who: str) -> Iterator[None]:
    """Redirect the Python output of this thread or task to standard error, with a name before each line.

    Standard output is reserved for the rows that a command writes.

    Args:
        who: Name to put before each line.
    """
    before = _who.set(who)
    _enter()
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, _NamedStream):
                stream.end(who)
        _leave()
        with contextlib.suppress(ValueError):  # the block may end in another context than it began in
            _who.reset(before)


def name_all(who: str) -> None:
    """Put a name before all further output of this process, except output that already has a name."""
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
    """Wrapper around a standard stream. It redirects output that has a name to standard error, line by
    line."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._begun: dict[str, str] = {}
        """Incomplete lines, by the name of the code that wrote them."""

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
        """Write the incomplete line of the code with this name."""
        if rest := self._begun.pop(who, ""):
            _write_named(who, rest)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """Binary stream below this stream, or that of standard error if the current output has a name."""
        return (_kept[1] if _who.get() or _everywhere else self._stream).buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _write_named(who: str, lines: str) -> None:
    stream = _kept[1]
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):  # a closed stream must not make a reward fail
            stream.write("".join(f"{who}: {line}\n" for line in lines.split("\n")))
            stream.flush()
