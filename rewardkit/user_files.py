"""Python files of users, imported as they were when this process read them, also in those that it starts.

A process that starts late gets the text that the others have, whatever has become of the file meanwhile. What
stands in the files is the business of whoever imports them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import InputError


@dataclass(frozen=True, slots=True)
class UserFile:
    """A file as this process has read it."""

    path: str
    source: bytes


class _Loader(SourceFileLoader):
    """Loads a module from a text that has been read, never from what the file holds by then."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self.source = source

    def get_data(self, path: str) -> bytes:
        return self.source

    def path_stats(self, path: str) -> dict[str, Any]:
        raise OSError  # so that no bytecode is looked for, or left behind


def import_reward_file(path: Path) -> ModuleType:
    """Import a file once.

    Raises:
        InputError: no such file, or it fails to import.
    """
    name = user_module_name(path)
    if name in sys.modules:
        return sys.modules[name]
    try:
        source = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise InputError(f"no such reward file: {path}") from None
    except OSError as error:
        raise InputError(f"cannot read reward file {path}: {error.strerror or error}") from None
    return _import(name, UserFile(str(path), source))


def import_as_read(files: Iterable[UserFile]) -> None:
    """Import what another process has read, under the names that it has there.

    Raises:
        InputError: one fails to import.
    """
    for file in files:
        name = user_module_name(Path(file.path))
        if name not in sys.modules:
            _import(name, file)


def user_reward_file(function: Callable[..., Any]) -> UserFile | None:
    """The user's file that defines this function, if one does."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    loader = getattr(module, "__loader__", None)
    return UserFile(loader.path, loader.source) if isinstance(loader, _Loader) else None


def user_module_name(path: Path) -> str:
    """The name under which a file is imported: the same in every process, so that a worker that has imported
    the file too finds its functions by reference."""
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    return f"rewardkit_user_{path.stem}_{digest}"


def _import(name: str, file: UserFile) -> ModuleType:
    loader = _Loader(name, file.path, file.source)
    spec = importlib.util.spec_from_file_location(name, file.path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"reward file {file.path} failed to import: {what}") from error
    return module
