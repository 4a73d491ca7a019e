"""Calls a program's functions in the jailed child, for a list of cases or at another child's request.

This process never sees the expected results. The result descriptor carries only the program's own answers, so
a program gains nothing by writing to it.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import json
import operator
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import prelude, surroundings, values
from .channel import Channel, describe

REQUEST = 3
RESULTS = 4
CHANNEL = 3

_MAX_PRINTED = 1 << 20
"""Maximum number of bytes of the program's output to send to the tests after one call."""
_METHOD = re.compile(r"([A-Za-z_]\w*)\(\)\.([A-Za-z_]\w*)")


def call(source: bytes, module: types.ModuleType) -> None:
    """Call the requested function on every case, and write one line for each result."""
    request = json.loads(os.pread(REQUEST, os.fstat(REQUEST).st_size, 0))
    os.close(REQUEST)
    _load(source, module)
    cases = request["cases"]
    for case, keywords in zip(cases, request.get("keywords") or [{}] * len(cases), strict=True):
        os.write(RESULTS, _line(module, request["function"], case, keywords))


def serve(source: bytes, module: types.ModuleType) -> None:
    """Answer the tests' requests until the tests' process closes the channel."""
    _load(source, module)
    ProgramChannel(module).serve()


_code: list[types.CodeType] = []
"""Compiled code of the program, once the program is loaded."""


def _load(source: bytes, module: types.ModuleType) -> None:
    _code.append(compile(source, "main.py", "exec", dont_inherit=True))
    exec(_code[0], module.__dict__)


def own_name(module: types.ModuleType, name: str) -> bool:
    """Return True if the program itself defines a global, rather than only getting it from the prelude."""
    if name not in vars(module):
        return False
    if not prelude.gave(name, vars(module)[name]):
        return True
    import dis  # `dis` is rarely needed, and would use memory in every child

    said = [(i.opname, i.argval) for i in dis.get_instructions(_code[0])]
    return ("STORE_NAME", name) in said or any("IMPORT_STAR" in (op, arg) for op, arg in said)


def find(module: types.ModuleType, name: str) -> Callable[..., Any]:
    """Return the module's own function with this name, or else the method of a new `Solution()`.

    The name may also include the class, as in `Solution().name`.
    """
    if of_object := _METHOD.fullmatch(name):
        found = getattr(getattr(module, of_object[1])(), of_object[2])
    else:
        found = getattr(module, name) if own_name(module, name) else None
        if found is None and (solution := getattr(module, "Solution", None)) is not None:
            found = getattr(solution(), name, None)
    if not callable(found):
        raise NameError(f"name '{name}' is not defined")
    return found  # type: ignore[no-any-return]


def _line(module: types.ModuleType, function: str, case: Any, keywords: dict[str, Any]) -> bytes:
    try:
        named = {name: values.decode(value) for name, value in keywords.items()}
        answer = {"value": values.encode(find(module, function)(*values.decode(case), **named))}
    except BaseException as error:  # BaseException includes SystemExit, which must fail only this case
        answer = {"error": describe(error)}
    return values.line(answer) + b"\n"


class Borrowed:
    """Stand-in for an object of the tests in the program's process. It forwards operations to the object."""

    def __init__(self, channel: Channel, number: int, name: str = "") -> None:
        self._channel = channel
        self._number = number
        if name:
            self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._channel.ask("call", self, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._channel.ask("getattr", self, name)

    def __getitem__(self, key: Any) -> Any:
        return self._channel.ask("getitem", self, key)

    def __len__(self) -> int:
        return int(self._channel.ask("len", self))

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return self._channel.ask("iter", self)  # type: ignore[no-any-return]

    def __next__(self) -> Any:
        return self._channel.ask("next", self)


class ProgramChannel(Channel):
    """The program's end of the channel, which executes the tests' requests in the program's module."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(CHANNEL, _OPERATIONS | {"global": self._global, "set_global": self._set_global})
        self.module = module
        self._lent: dict[str, Any] = {}
        """Copies of the tests' objects that were sent by content, by number."""
        self._keys: dict[int, str] = {}
        self._before: dict[str, bytes] = {}
        self._sent = {1: os.fstat(1).st_size, 2: os.fstat(2).st_size}

    def _global(self, name: str) -> list[Any]:
        """Return a list with the program's global of this name, or an empty list if it is missing."""
        names = vars(self.module)
        if own_name(self.module, name):
            return [names[name]]
        solution = names.get("Solution")
        if callable(getattr(solution, name, None)):
            return [lambda *args, **kwargs: find(self.module, name)(*args, **kwargs)]
        return []

    def _set_global(self, name: str, *value: Any) -> None:
        vars(self.module).pop(name, None)
        if value:
            setattr(self.module, name, value[0])

    def foreign(self, value: Any) -> Any:
        if isinstance(value, Borrowed):
            return {"yours": value._number}
        if (key := self._keys.get(id(value))) is not None:
            return {"yours": int(key)}
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, BaseException):
            return {"exception": self.describe_raised(value)}
        number = self.number(value)
        kind = type(value)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return {"named": [kind.__name__, list(kind._fields), self.encode(tuple(value)), number]}
        about = self._class(kind) if self._is_own(kind) else {"kind": kind.__name__}
        base = values.content_base(value)
        content = [] if base is None else [values.encode(base)]
        return {"mine": [number, about, inspect.iscoroutine(value), content]}

    def _is_own(self, kind: type) -> bool:
        return getattr(kind, "__module__", "") == self.module.__name__

    def _class(self, kind: type) -> dict[str, Any]:
        """Describe a class by its number, name, bases in the program and builtin exception class, if any."""
        bases = [self._class(base) for base in kind.__bases__ if self._is_own(base)]
        raises = next((b.__name__ for b in kind.__mro__ if vars(builtins).get(b.__name__) is b), "object")
        raises = raises if issubclass(kind, BaseException) else ""
        return {"class": [self.number(kind), kind.__name__, bases, raises]}

    def local(self, tag: str, body: Any) -> Any:
        if tag == "yours":
            return self.objects[body]
        if tag == "instance":
            return self._lent[body] if body in self._lent else Borrowed(self, int(body))
        if tag == "global":
            return operator.attrgetter(body[1])(importlib.import_module(body[0]))
        if tag == "numpy":
            return values.decode(body[0])
        return {"mine": lambda body: Borrowed(self, *body)}[tag](body)

    def receive(self, states: dict[str, Any]) -> None:
        for key, (name, _) in states.items():
            kind = vars(self.module).get(name)
            if key not in self._lent and isinstance(kind, type):
                self._lent[key] = object.__new__(kind)
                self._keys[id(self._lent[key])] = key
        self._before = {}
        for key, (_, state) in states.items():
            if (held := self._lent.get(key)) is not None:
                vars(held).clear()
                vars(held).update(self.decode(state))
                self._before[key] = values.line({"a": self.encode(vars(held))})

    def changed(self) -> dict[str, Any]:
        found = {key: self.encode(vars(self._lent[key])) for key in self._before}
        return {key: s for key, s in found.items() if values.line({"a": s}) != self._before[key]}

    def printed(self) -> dict[str, Any]:
        said = {}
        for fd, name, stream in ((1, "out", sys.stdout), (2, "err", sys.stderr)):
            try:
                stream.flush()
                size = os.fstat(fd).st_size
                if size > self._sent[fd]:
                    text = os.pread(fd, min(size - self._sent[fd], _MAX_PRINTED), self._sent[fd])
                    said[name] = text.decode("utf-8", "replace")
                self._sent[fd] = size
            except (OSError, ValueError, AttributeError):  # the program has closed or replaced the stream
                continue
        return said

    def describe_raised(self, error: BaseException) -> dict[str, Any]:
        about = super().describe_raised(error)
        if self._is_own(type(error)):
            about |= {"class": self._class(type(error))["class"], "number": self.number(error)}
            about["text"] = describe(error).partition(": ")[2]
        return about

    def answer(self, request: dict[str, Any]) -> bytes:
        """Answer a request while the tests' changes to streams, environment and random states apply."""
        if "around" not in request:
            return super().answer(request)
        with surroundings.as_in_tests(self.decode(request["around"])):
            return super().answer(request)


def _next(iterator: Any) -> Any:
    return next(iterator)


def _unlike(value: Any) -> bool:
    """Return True if a value claims to equal objects of unrelated types."""
    return bool(value == object()) or bool(value == "\0unlike")


def _operate(name: str, *args: Any) -> Any:
    return getattr(operator, name)(*args)


def _await(coroutine: Any) -> Any:
    import asyncio

    async def run() -> Any:
        return await coroutine

    return asyncio.run(run())


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "call": lambda target, /, *args, **kwargs: target(*args, **kwargs),
    "getattr": getattr, "setattr": setattr, "delattr": delattr, "iter": iter, "next": _next,
    "reversed": reversed, "len": len, "bool": bool, "str": str, "repr": repr, "format": format, "hash": hash,
    "int": int, "float": float, "complex": complex, "round": round, "operate": _operate, "unlike": _unlike,
    "await": _await, "isinstance": isinstance, "dir": dir, "divmod": divmod, "pow": pow,
}  # fmt: skip
"""Operations that tests may apply to the program's objects."""
