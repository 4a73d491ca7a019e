"""Repeats, in the program's process, changes that the tests make to their own process.

Tests may replace `input`, `print` and `sys.stdin`, change environment variables, and seed random number
generators. The tests' side reports these changes, and the program's side applies them while it executes a
request.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

_BUILTINS = {"input": builtins.input, "print": builtins.print}
_STDIN = sys.stdin
_ENVIRONMENT = dict(os.environ)


class Seeds:
    """States of the tests' random number generators, which are sent after the tests seed or use them."""

    def __init__(self) -> None:
        self._said: dict[str, Any] = {}

    def seeded(self, seed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a seed function. From then on, the program receives the state of the seeded generator."""
        found = seed(*args, **kwargs)
        numpy = sys.modules.get("numpy.random")
        if seed == random.seed:
            self._said["random"] = None
        elif numpy is not None and seed == numpy.seed:
            self._said["numpy"] = None
        return found

    def moved(self) -> dict[str, Any]:
        """Return the states that have not been sent to the program."""
        found = {}
        for name, said in self._said.items():
            state = _READ[name]()
            if state != said:
                found[name] = self._said[name] = state
        return found


def _numpy_state() -> Any:
    name, numbers, *rest = sys.modules["numpy.random"].get_state()
    return [str(name), numbers.tolist(), *rest]


def _set_numpy_state(state: Any) -> None:
    import numpy  # numpy is slow to import, and most programs do not use it

    numpy.random.set_state(tuple(state))


_READ: dict[str, Callable[[], Any]] = {"random": random.getstate, "numpy": _numpy_state}
_WRITE: dict[str, Callable[[Any], Any]] = {"random": random.setstate, "numpy": _set_numpy_state}


def changed(seeds: Seeds) -> dict[str, Any]:
    """Return the changes in the tests' process since its start, by name."""
    found: dict[str, Any] = {
        name: getattr(builtins, name)
        for name, original in _BUILTINS.items()
        if getattr(builtins, name) is not original
    }
    if sys.stdin is not _STDIN:
        found["stdin"] = sys.stdin
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    if environment != _ENVIRONMENT:
        found["environment"] = environment
    if moved := seeds.moved():
        found["numbers"] = moved
    return found


@contextlib.contextmanager
def as_in_tests(said: dict[str, Any]) -> Iterator[None]:
    """Apply the tests' changes to the program's process for the block. Random states stay changed."""
    for name, state in said.get("numbers", {}).items():
        _WRITE[name](state)
    kept = {name: getattr(builtins, name) for name in _BUILTINS if name in said}
    stdin = sys.stdin
    environment = dict(os.environ) if "environment" in said else None
    for name in kept:
        setattr(builtins, name, said[name])
    sys.stdin = said.get("stdin", stdin)
    if environment is not None:
        _replace_environment(said["environment"])
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(builtins, name, value)
        sys.stdin = stdin
        if environment is not None:
            _replace_environment(environment)


def _replace_environment(values: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(values)
