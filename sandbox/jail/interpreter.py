"""What a plain interpreter does around a program, and a forked child has to do itself: how it ends, mostly.

Written after CPython's own finalization, except that a standard output which the program has detached is no
failure: all that it printed has arrived.
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
"""The standard output that a child starts with, to be flushed even if the program has put another there."""

_plain_stack_size = _thread.stack_size
_stacks = {"largest": 1 << 28, "asked": 0}


class Loader:
    """Knows a program's source, for `inspect.getsource` and its like."""

    __slots__ = ("_source",)

    def __init__(self, source: bytes) -> None:
        self._source = source

    def get_source(self, name: str) -> str:
        return self._source.decode("utf-8", "replace")


def prepare() -> None:
    """Keep the standard output, and put limits on what programs ask for stacks. In the server."""
    _streams.append(sys.stdout)  # type: ignore[arg-type]
    threading.stack_size = _thread.stack_size = _stack_size


def cap_thread_stacks(memory: int) -> None:
    """Let a thread's stack take a quarter of the memory, however much the program asks for.

    The idiom of asking for a gigabyte would take all of the address space that it is allowed.
    """
    _stacks["largest"] = max(memory // 4, 1 << 20) & ~0xFFFF


def _stack_size(size: int = 0) -> int:
    before = _stacks["asked"]
    _plain_stack_size(min(size, _stacks["largest"]))
    _stacks["asked"] = size or before
    return before


def finish(play: Callable[[], object], source: bytes, module: types.ModuleType) -> int:
    """Run a program to its end as the interpreter does, and return its exit status.

    What it raised is reported, its threads are joined, its atexit hooks run, its output is flushed.
    """
    code = attempt(play)
    for ending in _ENDINGS:
        late = attempt(ending)
        code = code or late
    if _may_have_files(source):
        module.__dict__.clear()  # files that nobody closed are written as they go
        gc.collect()
    return code


def _may_have_files(source: bytes) -> bool:
    """False for a program that has no file of its own which could hold output back."""
    if b"open" in source or b"detach" in source:  # one by one: a pattern or a loop would touch more memory
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
"""In the order in which a plain interpreter goes through them."""


def _flush(stream: Any) -> None:
    """Flush a standard stream that the program may have closed, detached or replaced by anything."""
    try:
        is_open = stream is not None and not stream.closed
    except (AttributeError, ValueError):  # no file, or one without its buffer
        return
    if is_open:
        stream.flush()


def attempt(play: Callable[[], object]) -> int:
    """Run something; report what it raises and return the exit status that this gives."""
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
