"""A stand-in for pytest in the tests' process: what tests of single functions use of it, and no more.

`raises`, `approx`, `fixture`, `mark.parametrize`, `skip`, `fail`, the fixtures `capsys` and
`monkeypatch`, classes of tests, `unittest.TestCase`. The real one would cost a hundred times the run.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import itertools
import math
import os
import re
import sys
import types
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .channel import Stopped
from .remote import run_coroutine

Captured = namedtuple("Captured", "out err")


class Skipped(Exception):
    """The test says that it cannot be run here."""


class Raised:
    """What `raises` caught."""

    value: Any = None

    @property
    def type(self) -> Any:
        return type(self.value)

    def match(self, pattern: str) -> bool:
        assert re.search(pattern, str(self.value)), f"{str(self.value)!r} does not match {pattern!r}"
        return True


def raises(expected: Any, *args: Any, match: str | None = None, **kwargs: Any) -> Any:
    """As pytest's: a context, or a call that has to raise."""
    if args:
        with _raises(expected, match) as caught:
            args[0](*args[1:], **kwargs)
        return caught
    return _raises(expected, match)


@contextlib.contextmanager
def _raises(expected: Any, match: str | None) -> Iterator[Raised]:
    caught = Raised()
    kinds = expected if isinstance(expected, tuple) else (expected,)
    # A StopIteration of the program comes as `Stopped` unless it ends an iteration.
    kinds += (Stopped,) if StopIteration in kinds else ()
    try:
        yield caught
    except kinds as error:
        caught.value = error
        if match is not None:
            caught.match(match)
        return
    raise AssertionError(f"DID NOT RAISE {expected}")


class approx:
    """As pytest's: equal to numbers within a tolerance, also in lists and dicts."""

    def __init__(self, expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False) -> None:
        self.expected = expected
        self.rel = rel
        self.abs = abs
        self.nan_ok = nan_ok

    def __eq__(self, other: object) -> bool:
        return self._near(other, self.expected)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"approx({self.expected!r})"

    def _near(self, got: Any, wanted: Any) -> bool:
        if isinstance(wanted, Mapping):
            return (
                isinstance(got, Mapping)
                and got.keys() == wanted.keys()
                and all(self._near(got[key], value) for key, value in wanted.items())
            )
        if isinstance(wanted, list | tuple):
            return (
                isinstance(got, list | tuple)
                and len(got) == len(wanted)
                and all(map(self._near, got, wanted))
            )
        if isinstance(wanted, bool) or not isinstance(wanted, int | float | complex):
            return bool(got == wanted)
        return self._near_number(got, wanted)

    def _near_number(self, got: Any, wanted: Any) -> bool:
        if not isinstance(got, int | float | complex):
            return False
        if got == wanted or (self.nan_ok and got != got and wanted != wanted):
            return True
        if math.isinf(abs(wanted)) or math.isinf(abs(got)):
            return False
        only_abs = self.rel is None and self.abs is not None
        rel = 0.0 if only_abs else (1e-6 if self.rel is None else self.rel) * abs(wanted)
        return bool(abs(got - wanted) <= max(rel, 1e-12 if self.abs is None else self.abs))


def skip(reason: str = "") -> None:
    """Give the test up."""
    raise Skipped(reason)


def fail(reason: str = "") -> None:
    """Fail the test."""
    raise AssertionError(reason)


def param(*values: Any, **_: Any) -> Any:
    """One set of values of `parametrize`."""
    return values if len(values) > 1 else values[0]


def importorskip(name: str, *_: Any, **__: Any) -> Any:
    """Import a module that the tests need."""
    return importlib.import_module(name)


def fixture(function: Any = None, **options: Any) -> Any:
    """Mark a function whose result tests ask for by its name."""

    def mark(found: Any) -> Any:
        found._fixture = options
        return found

    return mark(function) if function is not None else mark


class _Mark:
    """`pytest.mark`: of its decorators only `parametrize` means anything here."""

    def parametrize(self, names: Any, values: Any, **_: Any) -> Callable[[Any], Any]:
        listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

        def mark(found: Any) -> Any:
            rows = [dict(zip(listed, v if len(listed) > 1 else [v], strict=True)) for v in values]
            found._parameters = [*getattr(found, "_parameters", []), rows]
            return found

        return mark

    def __getattr__(self, name: str) -> Any:
        def plain(*args: Any, **_: Any) -> Any:
            return args[0] if len(args) == 1 and callable(args[0]) else lambda found: found

        return plain


class Capsys:
    """What was printed since the last time it was asked."""

    def __init__(self) -> None:
        self.kept = sys.stdout, sys.stderr
        self._begin()

    def readouterr(self) -> Captured:
        found = Captured(self.out.getvalue(), self.err.getvalue())
        self._begin()
        return found

    def _begin(self) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        sys.stdout, sys.stderr = self.out, self.err

    def undo(self) -> None:
        sys.stdout, sys.stderr = self.kept


class MonkeyPatch:
    """Changes that are taken back."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], Any]] = []

    def setattr(self, target: Any, name: Any, *value: Any, raising: bool = True) -> None:
        if isinstance(target, str):
            path, _, attribute = target.rpartition(".")
            target = importlib.import_module(path)
            value = (name,)
            name = attribute
        if hasattr(target, name):
            old = getattr(target, name)
            self.steps.append(lambda: setattr(target, name, old))
        else:
            self.steps.append(lambda: delattr(target, name))
        setattr(target, name, value[0])

    def setitem(self, target: Any, key: Any, value: Any) -> None:
        old = dict(target)
        self.steps.append(lambda: (target.clear(), target.update(old)))
        target[key] = value

    def setenv(self, name: str, value: str) -> None:
        self.setitem(os.environ, name, value)

    def delenv(self, name: str, raising: bool = True) -> None:
        if raising or name in os.environ:
            self.setitem(os.environ, name, "")
            del os.environ[name]

    def undo(self) -> None:
        for step in reversed(self.steps):
            step()


_BUILTIN_FIXTURES: dict[str, Callable[[], Any]] = {
    "capsys": Capsys,
    "monkeypatch": MonkeyPatch,
}


def run(names: Mapping[str, Any], target: Any, method: str | None = None) -> None:
    """Run one test with every set of its parameters; what it raises is its failure.

    Args:
        names: The tests' globals, where fixtures are.
        target: A function, or the class of a method.
        method: The method's name.
    """
    if method is not None and hasattr(target, "debug"):
        getattr(target, "setUpClass", lambda: None)()
        case = target(method)
        if inspect.iscoroutinefunction(getattr(case, method)):
            run_coroutine(getattr(case, method)())
        else:
            case.debug()
        return
    function = target if method is None else getattr(target, method)
    parameters = [*getattr(function, "_parameters", []), *getattr(target, "_parameters", [])]
    for rows in itertools.product(*(parameters if method or parameters else [])):
        given = {name: value for row in rows for name, value in row.items()}
        _run_once(names, target, method, given)


def _run_once(names: Mapping[str, Any], target: Any, method: str | None, given: dict[str, Any]) -> None:
    fixtures = _Fixtures(names, given)
    try:
        function = target
        if method is not None:
            instance = target()
            function = getattr(instance, method)
            for before in ("setup_class", "setup_method", "setUp"):
                _call_with_room(getattr(instance, before, None), function)
        for name, found in list(names.items()):
            if getattr(found, "_fixture", {}).get("autouse"):
                fixtures.get(name)
        run_coroutine(function(**{name: fixtures.get(name) for name in _wanted(function)}))
        if method is not None:
            _call_with_room(getattr(instance, "teardown_method", None), function)
    finally:
        fixtures.close()


def _call_with_room(function: Any, argument: Any) -> None:
    if function is not None:
        function(*([argument] if _wanted(function) else []))


def _wanted(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]


class _Fixtures:
    """The values that one test asks for, and how they end."""

    def __init__(self, names: Mapping[str, Any], given: dict[str, Any]) -> None:
        self.names = names
        self.values = dict(given)
        self.ends: list[Callable[[], Any]] = []

    def get(self, name: str) -> Any:
        if name not in self.values:
            self.values[name] = self._make(name)
        return self.values[name]

    def _make(self, name: str) -> Any:
        function = self.names.get(name)
        if not hasattr(function, "_fixture"):
            made = _BUILTIN_FIXTURES[name]()
            self.ends.append(getattr(made, "undo", lambda: None))
            return made
        found = function(**{wanted: self.get(wanted) for wanted in _wanted(function)})  # type: ignore[misc]
        if not inspect.isgenerator(found):
            return found
        self.ends.append(lambda: next(found, None))
        return next(found)

    def close(self) -> None:
        for end in reversed(self.ends):
            end()


def module() -> types.ModuleType:
    """What `import pytest` gives the tests."""
    made = types.ModuleType("pytest")
    vars(made).update(
        raises=raises, approx=approx, skip=skip, fail=fail, param=param, fixture=fixture,
        importorskip=importorskip, mark=_Mark(), MonkeyPatch=MonkeyPatch, main=lambda *_, **__: 0,
        ExceptionInfo=Raised, CaptureFixture=Capsys,
    )  # fmt: skip
    return made
