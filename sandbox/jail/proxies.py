"""Stand-ins, in the tests' process, for objects of the program. Operations on them are sent to the program.

The program decides whether two stand-ins are equal. A stand-in can equal a plain value only through its
content, for example if its class derives from `list`. Expected values are never sent to the program, so its
`__eq__` cannot make a wrong answer pass. Arithmetic with plain values, such as `Money(5) - 3`, is sent only
if the test itself created the object, from a class that the test names. With other objects, such arithmetic
raises TypeError.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import Any

NOTHING = object()
"""Marker for an object without content."""

current: list[Any] = []
"""List that contains the channel to the program (a `remote.TestsChannel`), once the channel exists."""


def channel() -> Any:
    """Return the channel to the program."""
    return current[0]


class UnsupportedTest(Exception):
    """Raised if a test needs a feature that cannot work with a program in another process."""


class Proxy:
    """A stand-in for an object of the program."""

    __slots__ = ("_Proxy__content", "_Proxy__made", "_Proxy__number", "__weakref__")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in READABLE:
            raise AttributeError(name)
        return channel().ask("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        channel().ask("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        channel().ask("delattr", self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return channel().ask("call", self, *args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        return _items(channel().ask("iter", self))

    def __next__(self) -> Any:
        return channel().ask("next", self)

    def __contains__(self, item: Any) -> bool:
        if made(self) and not isinstance(item, Proxy):
            asked = channel()
            return bool(asked.ask("operate", "contains", self, item)) and not asked.ask(
                "operate", "contains", self, "\0unlike"
            )
        return any(item is other or item == other for other in self)

    def __await__(self) -> Any:
        return awaited(self).__await__()

    def __enter__(self) -> Any:
        return channel().ask("call", channel().ask("getattr", self, "__enter__"))

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        return channel().ask("call", channel().ask("getattr", self, "__exit__"), kind, error, None)

    def __dir__(self) -> Any:
        return channel().ask("dir", self)

    def __hash__(self) -> int:
        content = content_of(self)
        return int(channel().ask("hash", self)) if content is NOTHING else hash(content)

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    def __ne__(self, other: object) -> bool:
        if _is_remote(other):
            return bool(channel().ask("operate", "ne", self, other))
        return not _same(self, other)


READABLE = {
    "__name__", "__qualname__", "__doc__", "__dict__", "__annotations__", "__wrapped__", "__self__",
    "__func__", "__members__", "__closure__", "__defaults__", "__code__", "__module__", "__next__",
}  # fmt: skip
"""Special names that tests may read."""


def made(value: Any) -> bool:
    """Return True if the test created the object itself, rather than receiving it from the program."""
    return isinstance(value, Proxy) and bool(value._Proxy__made)


def number_of(value: Proxy) -> int:
    """Return the number that identifies a stand-in's object in the program's process."""
    return int(value._Proxy__number)


def content_of(value: Proxy) -> Any:
    """Return the content of an object, as the builtin type from which its class derives, or NOTHING."""
    return value._Proxy__content


def _is_remote(value: Any) -> bool:
    return isinstance(value, Proxy | RemoteClass)


def _same(one: Proxy, other: Any) -> bool:
    if _is_remote(other):
        asked = channel()
        return bool(asked.ask("operate", "eq", one, other)) and not asked.ask("unlike", one)
    content = content_of(one)
    return content is not NOTHING and bool(content == other)


def _items(iterator: Any) -> Iterator[Any]:
    if not isinstance(iterator, Proxy):
        yield from iterator
        return
    while True:
        try:
            item = channel().ask("next", iterator)
        except StopIteration:
            return
        yield item


async def awaited(proxy: Proxy) -> Any:
    return channel().ask("await", proxy)


def _asked(op: str) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any) -> Any:
        content = content_of(self)
        return channel().ask(op, self, *args) if content is NOTHING else getattr(builtins, op)(content, *args)

    return method


def _said(op: str) -> Callable[..., Any]:
    return lambda self, *args: channel().ask(op, self, *args)


def _ordered(name: str) -> Callable[..., Any]:
    def method(self: Proxy, other: Any) -> Any:
        if _is_remote(other):
            return channel().ask("operate", name, self, other)
        if (content := content_of(self)) is not NOTHING:
            return getattr(operator, name)(content, other)
        raise TypeError(
            f"cannot compare an instance of a class defined in the program with {type(other).__name__}"
        )

    return method


def _arithmetic(name: str, *, is_swapped: bool) -> Callable[..., Any]:
    def method(self: Proxy, *others: Any) -> Any:
        content = content_of(self)
        if content is not NOTHING and not any(map(_is_remote, others)):
            return getattr(operator, name)(*((*others, content) if is_swapped else (content, *others)))
        if not made(self) and not all(map(_is_remote, others)):
            raise TypeError("the tests cannot calculate with an object whose class is defined in the program")
        found = channel().ask("operate", name, *((*others, self) if is_swapped else (self, *others)))
        return _as_made(found) if made(self) else found

    return method


def _item(name: str) -> Callable[..., Any]:
    return lambda self, *args: channel().ask("operate", name, self, *args)


_BINARY = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
)


def _equip() -> None:
    """Add the operator methods to `Proxy`."""
    for op in ("len", "bool", "int", "float", "complex", "round", "reversed"):
        setattr(Proxy, f"__{op}__", _asked(op))
    for op in ("str", "repr", "format"):  # the program's class always defines these methods
        setattr(Proxy, f"__{op}__", _said(op))
    setattr(Proxy, "__index__", _item("index"))  # noqa: B010
    for name in ("lt", "le", "gt", "ge"):
        setattr(Proxy, f"__{name}__", _ordered(name))
    for name in _BINARY:
        setattr(Proxy, f"__{name}__", _arithmetic(f"__{name}__", is_swapped=False))
        setattr(Proxy, f"__r{name}__", _arithmetic(f"__{name}__", is_swapped=True))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(Proxy, f"__{name}__", _arithmetic(f"__{name}__", is_swapped=False))
    for name in ("getitem", "setitem", "delitem"):
        setattr(Proxy, f"__{name}__", _item(name))


_equip()


class RemoteClass(type):
    """Metaclass of stand-ins for the program's classes."""

    def __new__(cls, name: str, bases: tuple[type, ...], names: dict[str, Any]) -> RemoteClass:
        raise UnsupportedTest(f"the test derives the class {name} from a class defined in the program")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        found = channel().ask("call", cls, *args, **kwargs)
        return _as_made(found) if cls in channel().named else found

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name not in READABLE:
            raise AttributeError(name)
        return channel().ask("getattr", cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        channel().ask("setattr", cls, name, value)

    def __iter__(cls) -> Iterator[Any]:
        return _items(channel().ask("iter", cls))

    def __len__(cls) -> int:
        return int(channel().ask("len", cls))

    def __getitem__(cls, key: Any) -> Any:
        return channel().ask("operate", "getitem", cls, key)

    def __contains__(cls, item: Any) -> bool:
        return any(item is other or item == other for other in cls)


def _as_made(value: Any) -> Any:
    if not isinstance(value, Proxy) or made(value):
        return value
    return channel().proxy(number_of(value), type(value), content_of(value), made=True)


def object_class(number: int, name: str, bases: list[Any], _: str) -> RemoteClass:
    body = {"__slots__": (), "_sandbox_number": number}
    kinds = tuple(base for base in bases if isinstance(base, RemoteClass)) or (Proxy,)
    return type.__new__(RemoteClass, name, kinds, body)


def exception_class(number: int, name: str, bases: list[Any], raises: str) -> type[BaseException]:
    builtin: Any = getattr(builtins, raises)
    if not issubclass(builtin, BaseException):
        raise ValueError(f"{raises} is not an exception")
    body = {"_sandbox_number": number, "__getattr__": remote_attribute, "__str__": _remote_text}
    return type(name, tuple(b for b in bases if issubclass(b, BaseException)) or (builtin,), body)


def remote_attribute(self: Any, name: str) -> Any:
    held = vars(self).get("_sandbox_object")
    if held is None or (name.startswith("__") and name not in READABLE):
        raise AttributeError(name)
    return getattr(held, name)


def _remote_text(self: BaseException) -> str:
    return str(vars(self).get("_sandbox_text", ", ".join(map(str, self.args))))
