"""Import of users' Python files. All processes import the version that the first process read.

A process that starts later gets the source text that the first process read, even if the file has changed
since then. The same applies to modules in the file's folder that the file imports. Python finds such a module
in the same way as a module next to a script. The callers of these functions decide how to use the files.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import InputError
from rewardkit.users_code import raised, running


@dataclass(frozen=True, slots=True)
class UserFile:
    """Content of a user's file, as read by the first process that imported it."""

    name: str
    """Name under which the file is imported as a module."""
    path: str
    source: bytes
    beside: tuple[UserFile, ...] = ()
    """Modules that have been imported from the file's folder."""


class _UserFileLoader(SourceFileLoader):
    """Loader that creates a module from source text that was read earlier, even if the file has changed."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self.source = source

    def get_data(self, path: str) -> bytes:
        return self.source

    def path_stats(self, path: str) -> dict[str, Any]:
        raise OSError  # this error makes Python neither read nor write a bytecode file


class _UserFileFinder:
    """Finder for modules in the folders of users' files. It keeps the source text of each module that it
    read.

    A module that also exists in the standard library or in an installed package is imported from there.
    """

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.held: dict[str, UserFile] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.held or target is not None:  # a reload passes `target`
            found = self._beside(name) if path is None else self._within(name, path)
            if found is None:
                return None
            self.held[name] = found
        return _spec(self.held[name])

    def _beside(self, name: str) -> UserFile | None:
        own = next((spec for folder in self.folders if (spec := _python_in(name, [str(folder)]))), None)
        if own is None:
            return None
        others = (finder.find_spec(name, None) for finder in sys.meta_path if finder is not self)
        usual = next((spec for spec in others if spec is not None), None)
        return _read(own) if usual is None or usual.origin == own.origin else None

    def _within(self, name: str, path: Sequence[str]) -> UserFile | None:
        own = _python_in(name, path) if name.rpartition(".")[0] in self.held else None
        return _read(own) if own is not None else None


_finder = _UserFileFinder()


def import_python_file(path: Path) -> ModuleType:
    """Import a Python file, or return its module if it has already been imported.

    Raises:
        InputError: The file does not exist or fails to import.
    """
    name = user_module_name(path)
    if name in sys.modules:
        return sys.modules[name]
    try:
        source = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise InputError(f"no such file: {path}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    return _import(UserFile(name, str(path), source))


def import_as_read(files: Iterable[UserFile]) -> None:
    """Import files with the content that another process read, under the same module names.

    Raises:
        InputError: A file fails to import.
    """
    for file in files:
        for other in file.beside:
            _finder.held.setdefault(other.name, other)
        if file.name not in sys.modules:
            _import(file)


def user_reward_file(function: Callable[..., Any]) -> UserFile | None:
    """Return the user's file that defines a function, with the modules imported from its folder, or None."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    loader = getattr(module, "__loader__", None)
    if not isinstance(loader, _UserFileLoader):
        return None
    folder = Path(loader.path).resolve().parent
    beside = tuple(file for file in _finder.held.values() if Path(file.path).resolve().is_relative_to(folder))
    return UserFile(loader.name, loader.path, loader.source, beside)


def user_module_name(path: Path) -> str:
    """Return the module name under which a file is imported.

    The name is the same in every process, so that functions of the file can be sent to a worker by name.
    """
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    stem = path.stem.replace(".", "_")  # a dot in the name would separate a package from its module
    return f"rewardkit_user_{stem}_{digest}"


def _import(file: UserFile) -> ModuleType:
    folder = Path(file.path).resolve().parent
    if folder not in _finder.folders:
        _finder.folders.append(folder)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    spec = _spec(file)
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.name] = module
    try:
        with running(Path(file.path).name):
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[file.name]
        raise InputError(f"{file.path} failed to import: {raised(error).text}") from error
    return module


def _python_in(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    """Return the spec of a Python source module in these folders, or None. Skip modules of rewardkit."""
    if name.partition(".")[0] == __package__:
        return None
    spec = PathFinder.find_spec(name, folders)
    return spec if spec is not None and type(spec.loader) is SourceFileLoader else None


def _read(spec: ModuleSpec) -> UserFile | None:
    """Read a module's source. Return None on failure, so that the usual import reports the error."""
    assert spec.origin is not None
    try:
        return UserFile(spec.name, spec.origin, Path(spec.origin).read_bytes())
    except OSError:
        return None


def _spec(file: UserFile) -> ModuleSpec:
    path = Path(file.path)
    spec = importlib.util.spec_from_file_location(
        file.name,
        path,
        loader=_UserFileLoader(file.name, file.path, file.source),
        submodule_search_locations=[str(path.parent)] if path.name == "__init__.py" else None,
    )
    assert spec is not None
    return spec
