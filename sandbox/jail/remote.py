"""The tests' end of the channel to the program, and the program as an importable module.

This module runs in the tests' process. `proxies` defines the stand-ins for the program's objects.
"""

from __future__ import annotations

import collections
import inspect
import operator
import sys
import threading
import types
from typing import Any

from . import proxies, surroundings, values
from .channel import Channel
from .proxies import NOTHING, Proxy, RemoteClass, channel, number_of

_KINDS = {"generator": types.GeneratorType, "function": types.FunctionType, "method": types.MethodType}
"""Builtin types as which a stand-in may pass in the tests' `isinstance` checks."""


class TestsChannel(Channel):
    """The tests' end of the channel, with the stand-ins and the operations that the program may request."""

    def __init__(self, fd: int, names: dict[str, Any]) -> None:
        super().__init__(fd, {
            "call": lambda target, /, *args, **kwargs: self._lent(target)(*args, **kwargs),
            "iter": lambda target: iter(self._lent(target)),
            "next": lambda target: next(self._lent(target)),
            "len": lambda target: len(self._lent(target)),
            "getitem": lambda target, key: self._lent(target)[key],
            "getattr": self._public,
        })  # fmt: skip
        self._turn = threading.RLock()
        self.names = names
        """Globals of the tests. Instances of classes defined in them are sent by content."""
        self.named: set[Any] = set()
        """Classes of the program that the tests look up by a capitalised name."""
        self._proxies: dict[tuple[int, bool], Proxy] = {}
        self._classes: dict[int, Any] = {}
        self._kinds: dict[str, Any] = {}
        self._pending: list[tuple[str, Any]] = []
        self.seeds = surroundings.Seeds()
        self.used = False
        """True once a request has been sent to the program."""

    def ask(self, op: str, *args: Any, **kwargs: Any) -> Any:
        """Send a request. Threads of the tests take turns, because they share one socket."""
        with self._turn:
            return super().ask(op, *args, **kwargs)

    def look_up(self, name: str) -> Any:
        """Return a global of the program.

        Raises:
            KeyError: The program has no such global.
        """
        found = self.ask("global", name)
        if not found:
            raise KeyError(name)
        if isinstance(found[0], RemoteClass) and name[:1].isupper():
            self.named.add(found[0])
        return found[0]

    def proxy(self, number: int, kind: Any, content: Any = NOTHING, *, made: bool = False) -> Proxy:
        """Return the stand-in for an object. Later calls return the same stand-in, so that `is` works."""
        found = self._proxies.get((number, made))
        if found is None:
            found = object.__new__(kind)
            object.__setattr__(found, "_Proxy__number", number)
            object.__setattr__(found, "_Proxy__made", made)
            self._proxies[number, made] = found
        object.__setattr__(found, "_Proxy__content", content)
        return found

    def foreign(self, value: Any) -> Any:
        if isinstance(value, Proxy):
            return {"yours": number_of(value)}
        if isinstance(value, type) and (number := getattr(value, "_sandbox_number", None)) is not None:
            return {"yours": number}
        if (found := _global_name(value)) is not None:
            return {"global": found}
        number = self.number(value)
        if type(value).__module__ == "tests" and hasattr(value, "__dict__"):
            if str(number) not in self.states:
                self.states[str(number)] = []
                self._pending.append((str(number), value))
            return {"instance": str(number)}
        return {"mine": [number, str(getattr(value, "__name__", ""))]}

    def finish(self) -> None:
        while self._pending:
            key, value = self._pending.pop()
            self.states[key] = [type(value).__name__, self.encode(vars(value))]

    def receive(self, states: dict[str, Any]) -> None:
        for key, state in states.items():
            held = vars(self.objects[int(key)])
            new = self.decode(state)
            held.clear()
            held.update(new)

    def request(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        self.used = True
        message = super().request(op, args, kwargs)
        if around := surroundings.changed(self.seeds):
            message["around"] = self.encode(around)
        return message

    def local(self, tag: str, body: Any) -> Any:
        return getattr(self, f"_decode_{tag}")(body)

    def _decode_yours(self, number: int) -> Any:
        return self.objects[number]

    def _decode_mine(self, body: list[Any]) -> Any:
        number, about, is_coroutine, content = body
        held = values.decode(content[0]) if content else NOTHING
        if "kind" in about:
            found = self.proxy(int(number), self._kind(str(about["kind"])), held)
        else:
            found = self.proxy(int(number), self._decode_class(about["class"]), held)
        return proxies.awaited(found) if is_coroutine else found

    def _kind(self, name: str) -> Any:
        if name not in self._kinds:
            stands_for = _KINDS.get(name)
            body: dict[str, Any] = {"__slots__": ()}
            if stands_for is not None:
                body["__class__"] = property(lambda self: stands_for)
                body["__doc__"] = property(lambda self: channel().ask("getattr", self, "__doc__"))
                body["__await__"] = None  # a call may return an awaitable, but the function is not awaitable
            self._kinds[name] = type(name, (Proxy,), body)
        return self._kinds[name]

    def _decode_class(self, body: list[Any]) -> Any:
        number, name, bases, raises = body
        if number not in self._classes:
            parents = [self._decode_class(base["class"]) for base in bases]
            make = proxies.exception_class if raises else proxies.object_class
            self._classes[number] = make(int(number), str(name), parents, str(raises))
        return self._classes[number]

    def _decode_named(self, body: list[Any]) -> Any:
        name, fields, items, number = body
        key = f"{name}({fields})"
        if key not in self._kinds:
            base = collections.namedtuple(str(name), [str(f) for f in fields])  # type: ignore[misc]
            self._kinds[key] = type(str(name), (base,), {"__getattr__": proxies.remote_attribute})
        made = self._kinds[key](*self.decode(items))
        made.__dict__["_sandbox_object"] = self.proxy(int(number), self._kind("namedtuple"))
        return made

    def _decode_exception(self, about: dict[str, Any]) -> BaseException:
        return self.raised(str(about.get("text", "")), about, "")

    def _decode_numpy(self, body: list[Any]) -> Any:
        numpy = sys.modules.get("numpy")
        found = values.decode(body[0])
        return found if numpy is None or not body[2] else numpy.array(found, dtype=str(body[1]))

    def raised(self, text: str, data: Any, op: str) -> BaseException:
        if not isinstance(data, dict) or "class" not in data:
            return super().raised(text, data, op)
        kind = self._decode_class(data["class"])
        if not issubclass(kind, BaseException) or issubclass(kind, StopIteration | GeneratorExit):
            return super().raised(text, {"name": "StopIteration"}, "")
        found: BaseException = kind.__new__(kind)
        found.args = tuple(self.decode(data["args"]))
        vars(found).update(
            _sandbox_object=self.proxy(int(data["number"]), self._kind("exception")),
            _sandbox_text=str(data.get("text", "")),
        )
        return found

    def _lent(self, target: Any) -> Any:
        """Return an object after checking that the tests lent it to the program.

        Raises:
            PermissionError: The program made up the object's number.
        """
        if id(target) not in self._numbers:
            raise PermissionError("the program used an object that the tests did not pass to it")
        return target

    def _public(self, target: Any, name: str) -> Any:
        """Return a public attribute of a lent object. Functions, generators and similar objects have none."""
        own = type(self._lent(target)).__module__ in ("tests", "io", "_io", "unittest.mock")
        if name.startswith("_") or not own:
            raise AttributeError(name)
        return getattr(target, name)


def _global_name(value: Any) -> list[str] | None:
    """Return the module and name of a standard library function or class, which the program can import."""
    if not isinstance(
        value, type | types.FunctionType | types.BuiltinFunctionType | types.MethodDescriptorType
    ):
        return None
    module = getattr(value, "__module__", None) or "builtins"
    name = getattr(value, "__qualname__", "")
    if isinstance(value, types.MethodDescriptorType):
        module = "builtins"
        name = f"{value.__objclass__.__name__}.{value.__name__}"
    if module.partition(".")[0] not in sys.stdlib_module_names and module != "numpy":
        return None
    try:
        found = operator.attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        return None
    return [module, name] if found is value else None


def connect(fd: int, names: dict[str, Any]) -> TestsChannel:
    """Create this process's only channel."""
    made = TestsChannel(fd, names)
    proxies.current[:] = [made]
    return made


def channel_look_up(name: str) -> Any:
    """Return a global of the program, by the name that the tests use.

    Raises:
        NameError: The program has no such global.
    """
    try:
        return channel().look_up(name)
    except KeyError:
        raise NameError(f"name '{name}' is not defined") from None


class Candidate(types.ModuleType):
    """The program as a module, for `import solution` in the tests."""

    def __getattr__(self, name: str) -> Any:
        try:
            return channel().look_up(name)
        except KeyError:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            channel().ask("set_global", name, value)

    def __delattr__(self, name: str) -> None:
        channel().ask("set_global", name)


def run_coroutine(value: Any) -> Any:
    """Run a coroutine that a test function returned, and return its result. Return other values unchanged."""
    if not inspect.iscoroutine(value):
        return value
    import asyncio  # asyncio is large, and would take memory in every fork of the server

    return asyncio.run(value)
