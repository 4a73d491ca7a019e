"""In a second jailed child: runs assertions whose functions live in the first one, behind a socket.

The program under test is not in this process, so nothing it redefines (`__eq__`, `sys.exit`, builtins,
frames, monkeypatches) can reach an assertion: it can only answer calls, with plain values.
"""

from __future__ import annotations

import builtins
import json
import os
import types
from typing import Any

from . import values
from .calls import CHANNEL, RESULTS, describe, read_frame, write_frame

ENDED = "the program ended before it answered"


class CandidateError(Exception):
    """The program raised, answered nonsense or died."""


class _Names(dict[str, Any]):
    """The namespace of the assertions: a name that nobody defines is a function of the candidate."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name) or name.startswith("__"):
            raise KeyError(name)
        return Remote(name)


def check(source: bytes, module: types.ModuleType) -> None:
    """Run the setup, then each test by itself; write one line for each."""
    request = json.loads(source)
    names = _Names(module.__dict__)
    names.update({"__name__": "tests", "__builtins__": builtins, "__candidate__": Remote})
    exec(compile(request["setup"], "setup.py", "exec", dont_inherit=True), names)
    for test in request["tests"]:
        os.write(RESULTS, json.dumps(_outcome(test, names)).encode() + b"\n")


def _outcome(test: str, names: _Names) -> dict[str, Any]:
    try:
        exec(compile(test, "test.py", "exec", dont_inherit=True), names)
    except BaseException as error:
        return {"passed": False, "error": describe(error)}
    return {"passed": True}


class Remote(values.Opaque):
    """A global of the candidate: called there, or passed back to it as an argument."""

    def __init__(self, name: str) -> None:
        super().__init__(name, name)
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        request = {"name": self.ref, "args": values.encode(list(args)), "kwargs": values.encode(kwargs)}
        try:
            write_frame(CHANNEL, values.line(request))
            frame = read_frame(CHANNEL)
        except OSError:
            frame = None
        if frame is None:
            raise CandidateError(ENDED)
        return _take(frame, args)


def _take(frame: bytes, args: tuple[Any, ...]) -> Any:
    try:
        answer = values.loads(frame)
        value, changed = values.decode(answer.get("value")), values.decode(answer.get("args", []))
    except (ValueError, RecursionError) as error:
        raise CandidateError(f"an unreadable answer: {error}") from None
    if "error" in answer:
        raise _raised(str(answer["error"]), str(answer.get("type")))
    for mine, new in zip(args, changed, strict=False):
        _copy_back(mine, new)
    return value


def _raised(text: str, kind: str) -> BaseException:
    """What the program raised, if it is a builtin exception: a test may expect one."""
    found = getattr(builtins, kind, None)
    if isinstance(found, type) and issubclass(found, Exception):
        try:
            return found(text)
        except TypeError:
            pass  # one that takes other arguments, such as UnicodeDecodeError
    return CandidateError(text)


def _copy_back(mine: Any, changed: Any) -> None:
    """Give a mutable argument the content that it has on the other side."""
    if type(mine) is list and type(changed) is list:
        mine[:] = changed
    elif type(mine) in (dict, set) and type(changed) is type(mine):
        mine.clear()
        mine.update(changed)
