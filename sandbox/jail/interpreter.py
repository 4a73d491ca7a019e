"""Repeats, in the forked child, the steps that a plain interpreter performs around a program, mostly at exit.

The steps follow CPython's own finalization, except that a detached standard output is not an error, because
all output has been written by then.
"""

from __future__ import annotations

import _thread
import atexit
import gc
import io
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

_streams: list[io.TextIOBase] = []
"""Standard output that each child starts with, which is flushed even if the program has replaced it."""

_plain_stack_size = _thread.stack_size
_stacks = {"largest": 1 << 28, "asked": 0}


class Loader:
    """Loader that provides the program's source to `inspect.getsource` and similar functions."""

    __slots__ = ("_source",)

    def __init__(self, source: bytes) -> None:
        self._source = source

    def get_source(self, name: str) -> str:
        return self._source.decode("utf-8", "replace")


def prepare() -> None:
    """Remember the standard output, and cap the thread stacks of programs. The server calls this once."""
    _streams.append(sys.stdout)  # type: ignore[arg-type]
    threading.stack_size = _thread.stack_size = _stack_size


def cap_thread_stacks(memory: int) -> None:
    """Limit a thread's stack to a quarter of the memory, regardless of the size that the program requests.

    Programs often request a gigabyte, which could use up the memory that stacks may reserve.
    """
    _stacks["largest"] = max(memory // 4, 1 << 20) & ~0xFFFF


def _stack_size(size: int = 0) -> int:
    before = _stacks["asked"]
    _plain_stack_size(min(size, _stacks["largest"]))
    _stacks["asked"] = size or before
    return before


def finish(play: Callable[[], object], source: bytes, module: types.ModuleType) -> int:
    """Run a program to its end as the interpreter would, and return its exit status.

    This reports exceptions, joins threads, calls atexit hooks and flushes output.
    """
    code = attempt(play)
    for ending in _ENDINGS:
        late = attempt(ending)
        code = code or late
    if _may_have_files(source):
        module.__dict__.clear()  # freeing a file that was left open flushes it
        gc.collect()
    return code


def _may_have_files(source: bytes) -> bool:
    """Return True if the source may open files, whose output may still be buffered."""
    # A regular expression or a loop would touch more memory than these separate tests.
    if b"open" in source or b"detach" in source:
        return True
    return b"FileIO" in source or b"Writer" in source or b"TextIOWrapper" in source


def _flush_current() -> None:
    _flush(getattr(sys, "stdout", None))


def _flush_first() -> None:
    _flush(_streams[0])


_ENDINGS: tuple[Callable[[], object], ...] = (
    threading._shutdown,  # type: ignore[attr-defined]
    atexit._run_exitfuncs,
    _flush_current,
    _flush_first,
)
"""Final actions, in the same order as in a plain interpreter."""


def _flush(stream: Any) -> None:
    """Flush a standard stream, which the program may have closed, detached or replaced by any object."""
    try:
        is_open = stream is not None and not stream.closed
    except (AttributeError, ValueError):  # the stream is not a file, or it is detached
        return
    if is_open:
        stream.flush()


def attempt(play: Callable[[], object]) -> int:
    """Call a function, report its exception if it raises one, and return the resulting exit status."""
    try:
        play()
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        sys.stderr.write(f"{stop.code}\n")
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("jail."):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0
