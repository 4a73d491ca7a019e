"""Protocol between the program's process and the tests' process.

Plain values are sent by content, and other objects by number. Each side keeps the objects that it has lent to
the other side. A request is `{op, args, kwargs}`, and an answer is `{value}` or `{error, raised}`. A side
that waits for an answer still answers requests, so callbacks work. Each side accepts only the requests in its
`operations`. The program may be hostile, so it may only call, iterate over and index objects of the tests,
and read their public attributes.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable
from typing import Any

from . import values

ENDED = "the program ended before it answered"

_STOPS = ("StopIteration", "StopAsyncIteration", "GeneratorExit")


class CandidateError(Exception):
    """Raised if the other side sends an invalid answer, or an exception of a class unknown to this side."""


class ChannelEnded(BaseException):
    """Raised if the other side died. As a BaseException, it is not caught by `except Exception` in a test."""


class Stopped(RuntimeError):
    """Raised if the other side raised StopIteration outside an iteration.

    StopIteration itself would end a loop over `map` or `filter` on this side, and the remaining checks would
    be skipped.
    """


class Channel:
    """One end of the socket between the two processes.

    Args:
        fd: Descriptor of the socket.
        operations: Functions that execute requests from the other side, by name. They receive the decoded
            arguments.
    """

    def __init__(self, fd: int, operations: dict[str, Callable[..., Any]]) -> None:
        self.fd = fd
        self.operations = operations
        self.objects: list[Any] = []
        """Objects lent to the other side, by number. They are kept alive so that their ids are not reused."""
        self._numbers: dict[int, int] = {}
        self.states: dict[str, Any] = {}
        """States of the objects that the current message sends by content, collected by `foreign`."""

    def foreign(self, value: Any) -> Any:
        """Encode a value that cannot be sent by content. The two sides implement this differently."""
        raise NotImplementedError

    def local(self, tag: str, body: Any) -> Any:
        """Decode a value that the other side encoded with `foreign`."""
        raise NotImplementedError

    def receive(self, states: dict[str, Any]) -> None:
        """Apply the states that the other side sent for its objects."""

    def number(self, value: Any) -> int:
        """Return the number by which the other side refers to an object of this side."""
        found = self._numbers.get(id(value))
        if found is None:
            found = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return found

    def encode(self, value: Any) -> Any:
        return values.encode(value, self.foreign)

    def decode(self, data: Any) -> Any:
        return values.decode(data, self.local)

    def ask(self, op: str, *args: Any, **kwargs: Any) -> Any:
        """Send a request to the other side, and return the resulting value or raise the exception."""
        request = values.line(self.request(op, list(args), kwargs))
        try:
            value, raised = self._exchange(request, args, op)
        except OSError:
            value = None
            raised = ChannelEnded(ENDED)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            value = None
            raised = CandidateError(f"the program sent an answer that cannot be read: {error}")
        if raised is not None:
            raised.__dict__["of_the_program"] = True
            raise raised
        return value

    def request(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the message that requests an operation."""
        self.states = {}
        message: dict[str, Any] = {"op": op, "args": self.encode(args)}
        if kwargs:
            message["kwargs"] = [[name, self.encode(value)] for name, value in kwargs.items()]
        self.finish()
        if self.states:
            message["states"] = self.states
        return message

    def finish(self) -> None:
        """Encode the states of objects that `foreign` has deferred."""

    def _exchange(self, request: bytes, args: tuple[Any, ...], op: str) -> tuple[Any, BaseException | None]:
        write_frame(self.fd, request)
        while (frame := read_frame(self.fd)) is not None:
            message = values.loads(frame)
            if "op" not in message:
                return self._take(message, args, op)
            write_frame(self.fd, self.answer(message))
        return None, ChannelEnded(ENDED)

    def _take(
        self, message: dict[str, Any], args: tuple[Any, ...], op: str
    ) -> tuple[Any, BaseException | None]:
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            if name in message:
                stream.write(str(message[name]))
        self.receive(message.get("states", {}))
        for i, new in message.get("args", []):
            copy_back(args[i], self.decode(new))
        if "error" in message:
            return None, self.raised(str(message["error"]), message.get("raised"), op)
        return self.decode(message["value"]), None

    def raised(self, text: str, data: Any, op: str) -> BaseException:
        """Return the other side's exception, or a CandidateError if its class is not available."""
        data = data if isinstance(data, dict) else {}
        name = str(data.get("name"))
        if name in _STOPS:
            return StopIteration() if (name, op) == ("StopIteration", "next") else Stopped(f"{name}: {text}")
        found = vars(sys.modules.get(str(data.get("module")), builtins)).get(str(data.get("class_name")))
        found = found if isinstance(found, type) else getattr(builtins, name, None)
        if isinstance(found, type) and issubclass(found, BaseException):
            try:
                made = found.__new__(found)
                made.args = tuple(self.decode(data["args"]))
                return made
            except (ValueError, TypeError, KeyError):
                pass
        return CandidateError(text)

    def answer(self, request: dict[str, Any]) -> bytes:
        """Execute a request and return the message with the answer."""
        try:
            self.receive(request.get("states", {}))
            args = self.decode(request["args"])
            kwargs = {str(name): self.decode(value) for name, value in request.get("kwargs", [])}
            before = [values.line({"a": self.encode(a)}) if type(a) in _MUTABLE else b"" for a in args]
            value = self.operations[request["op"]](*args, **kwargs)
            self.states = self.changed()
            message: dict[str, Any] = {"value": self.encode(value)}
            for i, (arg, old) in enumerate(zip(args, before, strict=True)):
                # The operation changed an argument in place, and the caller must see the change.
                if old and values.line({"a": (new := self.encode(arg))}) != old:
                    message.setdefault("args", []).append([i, new])
            self.finish()
        except BaseException as error:
            self.states = {}
            message = {"error": describe(error), "raised": self.describe_raised(error)}
        if self.states:
            message["states"] = self.states
        return values.line(message | self.printed())

    def changed(self) -> dict[str, Any]:
        """Return the changed states of objects that the other side has lent to this side."""
        return {}

    def printed(self) -> dict[str, Any]:
        """Return the output written since the last message, as `out` and `err`."""
        return {}

    def describe_raised(self, error: BaseException) -> dict[str, Any]:
        """Return the class of an exception, and its arguments if they can be encoded."""
        kind = type(error)
        builtin = next(k.__name__ for k in kind.__mro__ if vars(builtins).get(k.__name__) is k)
        about = {"name": builtin, "module": str(kind.__module__)[:80], "class_name": kind.__name__[:80]}
        try:
            return about | {"args": self.encode(list(error.args))}
        except BaseException:
            return about | {"args": []}

    def serve(self) -> None:
        """Answer requests until the other side closes the channel."""
        while (frame := read_frame(self.fd)) is not None:
            write_frame(self.fd, self.answer(values.loads(frame)))


_MUTABLE = (list, dict, set)


def copy_back(mine: Any, changed: Any) -> None:
    """Replace the content of a mutable argument with its content on the other side."""
    if type(mine) is list and type(changed) is list:
        mine[:] = changed
    elif type(mine) in (dict, set) and type(changed) is type(mine):
        mine.clear()
        mine.update(changed)


def describe(error: BaseException) -> str:
    """Return one short line that describes an exception, even if the exception's own methods fail."""
    try:
        text = str(error)
    except BaseException:
        text = "?"
    return f"{type(error).__name__}: {text}"[:300].replace("\n", " ")


def read_frame(fd: int) -> bytes | None:
    """Read one length-prefixed message, or return None at the end of the stream."""
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
