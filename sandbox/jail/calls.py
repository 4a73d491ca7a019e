"""In the jailed child: calls the program's function, on a list of cases or for another child that asks.

Expected results are not here; what is written on the result descriptor is only ever the program's own
answer, so a program that writes there itself gains nothing.
"""

from __future__ import annotations

import json
import os
import types
from collections.abc import Callable
from typing import Any

from . import values

REQUEST, RESULTS, CHANNEL = 3, 4, 3


def call(source: bytes, module: types.ModuleType) -> None:
    """Call `function` on every case of the request; write one line for each."""
    request = json.loads(os.pread(REQUEST, os.fstat(REQUEST).st_size, 0))
    os.close(REQUEST)
    _load(source, module)
    for case in request["cases"]:
        os.write(RESULTS, _line(lambda: find(module, request["function"])(*values.decode(case))))  # noqa: B023


def serve(source: bytes, module: types.ModuleType) -> None:
    """Answer calls on the channel until it is closed."""
    _load(source, module)
    refs = _Refs(module)
    while (frame := read_frame(CHANNEL)) is not None:
        write_frame(CHANNEL, _answer(frame, module, refs))


class _Refs(list[Any]):
    """The program's values that the other side holds by number, and its globals by name."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module

    def __getitem__(self, key: Any) -> Any:
        return getattr(self.module, key) if isinstance(key, str) else super().__getitem__(key)


def _load(source: bytes, module: types.ModuleType) -> None:
    exec(compile(source, "main.py", "exec", dont_inherit=True), module.__dict__)


def find(module: types.ModuleType, name: str) -> Callable[..., Any]:
    """Return the function of that name: the module's own, or the method of a new `Solution()`."""
    found = getattr(module, name, None)
    if found is None and (solution := getattr(module, "Solution", None)) is not None:
        found = getattr(solution(), name, None)
    if not callable(found):
        raise NameError(f"name '{name}' is not defined")
    return found  # type: ignore[no-any-return]


def _line(play: Callable[[], Any]) -> bytes:
    try:
        answer = {"value": values.encode(play())}
    except BaseException as error:  # SystemExit too: it is this case's failure, not the others'
        answer = {"error": describe(error)}
    return values.line(answer) + b"\n"


def _answer(frame: bytes, module: types.ModuleType, refs: list[Any]) -> bytes:
    try:
        request = json.loads(frame)
        args = values.decode(request["args"], refs)
        kwargs = values.decode(request["kwargs"], refs)
        before = values.encode(args)
        value = find(module, request["name"])(*args, **kwargs)
        answer = {"value": values.encode(value, refs)}
        if (after := values.encode(args)) != before:  # it works in place: the caller is to see that
            answer["args"] = after
        return values.line(answer)
    except BaseException as error:
        return values.line({"error": describe(error), "type": type(error).__name__[:80]})


def describe(error: BaseException) -> str:
    """One short line for an exception, whatever its own methods do."""
    try:
        text = str(error)
    except BaseException:
        text = "?"
    return f"{type(error).__name__}: {text}"[:300].replace("\n", " ")


def read_frame(fd: int) -> bytes | None:
    """Read one length-prefixed message, or None at the end."""
    header = _read_exactly(fd, 4)
    return None if header is None else _read_exactly(fd, int.from_bytes(header, "big"))


def _read_exactly(fd: int, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = os.read(fd, min(size - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return bytes(data)


def write_frame(fd: int, message: bytes) -> None:
    """Write one length-prefixed message."""
    rest = memoryview(len(message).to_bytes(4, "big") + message)
    while rest:
        rest = rest[os.write(fd, rest) :]
