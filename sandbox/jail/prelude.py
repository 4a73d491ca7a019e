"""Names that model-written code often uses without importing them. A program gets these names on request.

The names are not defined by text before the program, because this would shift line numbers and break `from
__future__` imports. A prelude name never hides a builtin, and the program's own names take precedence.
"""

from __future__ import annotations

import builtins
import importlib
import types

_MODULES = (
    "string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random",
    "statistics", "itertools", "functools", "operator", "io", "sys", "json", "typing", "time",
)  # fmt: skip
_STARRED = (
    "string", "collections", "heapq", "bisect", "copy", "math", "itertools", "functools", "typing",
)  # fmt: skip

_names: dict[str, object] = {}


def prepare() -> None:
    """Collect the names for the prelude. The server calls this function once."""
    for name in _STARRED:
        module = importlib.import_module(name)
        public = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
        _names.update({n: getattr(module, n) for n in public if not hasattr(builtins, n)})
    for name in _MODULES:
        _names[name] = importlib.import_module(name)


def gave(name: str, value: object) -> bool:
    """Return True if a program's global is still the object that the prelude defined."""
    return _names.get(name, _names) is value


def get(name: str) -> object:
    """Return the prelude's object with this name, or None if the prelude has no such object."""
    return _names.get(name)


def give(module: types.ModuleType) -> None:
    """Add the names to a program's namespace."""
    module.__dict__.update(_names)
