"""Finds the target of a spec, which is a function in a file or module, or the product of a class or factory.

The module also finds the source files of the target.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from .shapes import (
    BY_KIND,
    SHAPES,
    CallShape,
    FunctionCall,
    FunctionParameters,
    NoRewardError,
    near,
    shape_of,
)

if TYPE_CHECKING:
    from rewardkit.users_code import Raised, raised
else:
    from .users_code import Raised, raised

Sources = dict[str, tuple[str, str]]
"""Path and text of each module, by module name."""

MAIN = "rewardkit_imported_"
_ENTRY_NAMES = ("compute_score", "reward_func", "reward_fn")
"""Common names for the reward function in a file, for specs that do not name a function."""


class LoadRequest(NamedTuple):
    """Request from the client to load a reward."""

    target: str
    kind: str = ""
    options: Mapping[str, Any] = {}
    columns: Mapping[str, str] = {}
    module: str = ""
    """Name of the target's module in an earlier host, or empty."""
    sources: Mapping[str, Sequence[str]] = {}
    """Path and text of each module that an earlier host read, by module name."""


class _Held(importlib.abc.MetaPathFinder):
    """Import finder for modules with source text in the request, even if their files have changed since."""

    def __init__(self, sources: Mapping[str, Sequence[str]]) -> None:
        self.sources = sources

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return _spec(name, *self.sources[name]) if name in self.sources else None


class _Beside(importlib.abc.MetaPathFinder):
    """Import finder for the package that contains a file, even if an installed package has the same name."""

    def __init__(self, package: str, root: str) -> None:
        self.package = package
        self.root = root

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [self.root]) if name == self.package else None


class _TextLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_data(self, path: str) -> bytes:
        return self.text.encode("utf-8", "surrogateescape")

    def path_stats(self, path: str) -> Any:
        raise OSError  # prevents reading and writing of bytecode files


def _spec(name: str, path: str, text: str) -> ModuleSpec:
    folders = [os.path.dirname(path)] if os.path.basename(path) == "__init__.py" else None
    loader = _TextLoader(name, path, text)
    spec = importlib.util.spec_from_file_location(
        name, path, loader=loader, submodule_search_locations=folders
    )
    assert spec is not None
    return spec


def hold(sources: Mapping[str, Sequence[str]]) -> None:
    """Make later imports of these modules use the given source text."""
    if sources:
        sys.meta_path.insert(0, _Held(sources))


def load_call(request: LoadRequest) -> FunctionCall:
    """Load the function that `FILE.py[:NAME]` or `package.module:NAME` names and prepare it for calls.

    Raises:
        NoRewardError: The target cannot be called, or its parameters do not show how to call it.
    """
    module, found = load_object(request)
    options: Mapping[str, Any] = request.options
    if inspect.isclass(found):
        found, options = _instance(found, options), {}
    shape = _shape(found, request.kind)
    if shape is None and not request.kind and (made := _made_by(found, options)) is not None:
        found, options, shape = made, {}, _shape(made, "")
    call = FunctionCall(found, shape or BY_KIND["plain"], options, request.columns)
    call.module = module.__name__
    return call


def load_object(request: LoadRequest) -> tuple[ModuleType, Any]:
    """Import a target's module. Return the module and the object that the target names."""
    file, _, name = request.target.rpartition(":") if ".py:" in request.target else (request.target, "", "")
    if file.endswith(".py"):
        module = _import_file(file, request.module)
    else:
        module_name, _, name = request.target.partition(":")
        _search_in(os.getcwd())
        module = _import(module_name, request.target)
    return module, _find(module, name, request)


def _shape(found: Any, kind: str) -> CallShape | None:
    """Return the call shape for a kind or, without a kind, the shape inferred from the parameters."""
    parameters = FunctionParameters(found)
    if not kind:
        return shape_of(found, parameters)
    names = set(parameters.names)
    of_kind = [shape for shape in SHAPES if shape.kind in (kind, f"{kind}-batch", f"{kind}-group")]
    return next((one for one in of_kind if names.issuperset(one.needs)), BY_KIND.get(kind))


def _import_file(file: str, known: str) -> ModuleType:
    """Import a file as a separate module, as verl does.

    If the file has relative imports, it is imported as a module in its package. If `known` is not empty, the
    file is imported under this name, which an earlier host used.
    """
    path = os.path.abspath(file)
    dotted, root = "", ""
    if not known:
        relative = _has_relative_imports(_read(path, file))
        root, dotted = package_of(path, at_least_one=relative)
        known = dotted if relative else file_module(path)
        if not relative and known not in sys.modules:
            hold({known: (path, _read(path, file))})
    root = root or package_of(path, at_least_one="." in known)[0]
    if "." in known:
        held = sum(isinstance(finder, _Held) for finder in sys.meta_path)
        sys.meta_path.insert(held, _Beside(known.partition(".")[0], root))
    _search_in(os.getcwd(), root, os.path.dirname(path))
    return _import(known, file)


def _read(path: str, shown: str) -> str:
    try:
        with open(path, "rb") as opened:
            return opened.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError))
        why = f"no such file: {shown}" if missing else f"cannot read {shown}: {error.strerror or error}"
        raise NoRewardError(why) from None


def file_module(path: str) -> str:
    """Return the name under which a file is imported as a separate module."""
    digest = hashlib.sha256(path.encode()).hexdigest()[:8]
    stem = os.path.basename(path)[:-3].replace(".", "_")  # a dot would separate a package from its module
    return f"{MAIN}{stem}_{digest}"


def package_of(path: str, *, at_least_one: bool) -> tuple[str, str]:
    """Return the folder that contains a file's outermost package, and the module's full name."""
    folder, name = os.path.split(path)
    parts = [] if name == "__init__.py" else [name[:-3]]
    while os.path.exists(os.path.join(folder, "__init__.py")) or (at_least_one and len(parts) < 2):
        parts.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return folder, ".".join(parts)


def _has_relative_imports(source: str) -> bool:
    try:
        tree = ast.parse(source.encode("utf-8", "surrogateescape"))
    except (SyntaxError, ValueError):
        return False  # the import reports the error
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))


def _search_in(*folders: str) -> None:
    """Append folders to the end of the module search path, so that they hide no installed module."""
    sys.path.extend(folder for folder in folders if folder not in sys.path)


def _import(name: str, shown: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except BaseException as error:
        if _skip_broken_packages(name):
            with contextlib.suppress(BaseException):
                return importlib.import_module(name)
        raise NoRewardError(f"{shown} failed to import: {said(error)}") from error


def _skip_broken_packages(name: str) -> bool:
    """Replace packages whose `__init__` fails by empty packages. Return True if a package was replaced.

    The `__init__` of a trainer's package often imports libraries that its reward functions do not need.
    """
    parts = name.split(".")
    skipped = False
    for package in (".".join(parts[:end]) for end in range(1, len(parts))):
        try:
            importlib.import_module(package)
        except BaseException as error:
            with contextlib.suppress(Exception):  # no such package
                spec = importlib.util.find_spec(package)
                if spec is not None and spec.submodule_search_locations is not None:
                    sys.modules[package] = importlib.util.module_from_spec(spec)
                    print(f"{package}/__init__.py is skipped: {said(error)}", file=sys.stderr)
                    skipped = True
                    continue
            return skipped
    return skipped


def said(error: BaseException) -> str:
    """Return one line with an error and its location, and with advice if a module is missing."""
    return with_help(error).text


def with_help(error: BaseException) -> Raised:
    """Convert an exception to a `Raised`, with advice if a module is missing."""
    found = raised(error)
    if not isinstance(error, ModuleNotFoundError):
        return found
    return found._replace(message=f"{found.message}; install the module {for_us()}")


def require(package: str, shown: str) -> None:
    """Search for the module with a package's name, and raise an error if the package is not installed.

    Raises:
        NoRewardError: The package is not installed.
    """
    _search_in(os.getcwd())
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        raise NoRewardError(f"{shown} needs the package {package}: pip install {package} {for_us()}")


def for_us() -> str:
    """Return the end of an error message, which explains where to install a missing package."""
    return f"for {sys.executable}, or set `python:` to an interpreter that has the package"


def _find(module: ModuleType, name: str, request: LoadRequest) -> Any:
    if not name:
        return _only(module, request.target, request.kind)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found) and (found is None or request.kind != "verifiers"):
        raise NoRewardError(
            f"{request.target.rpartition(':')[0]} has no function '{name}'"
            + near(name, [known for known, value in vars(module).items() if callable(value)])
        )
    return found


def _only(module: ModuleType, target: str, kind: str) -> Any:
    """Return the reward function in a file, for a spec that does not name the function."""
    own = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    telling = {name: value for name, value in own.items() if _shape(value, kind) is not None} or own
    names = list(telling) if len(telling) == 1 else [name for name in _ENTRY_NAMES if name in telling]
    if len(names) != 1:
        there = ", ".join(telling) or "none"
        raise NoRewardError(
            f"cannot tell which function of {target} is the reward; pass {target}:NAME; functions: {there}"
        )
    return telling[names[0]]


def _instance(found: Any, options: Mapping[str, Any]) -> Any:
    """Create an instance of a class. Pass the options as `args` if the class requires trainer arguments."""
    parameters = FunctionParameters(found)
    if "args" in parameters.names and "args" not in options and (options or "args" in parameters.required):
        return found(SimpleNamespace(**options))
    return _call_maker(found, options)


def _made_by(found: Callable[..., Any], options: Mapping[str, Any]) -> Any | None:
    """Return the callable that a factory creates with the options, or None if `found` is not a factory."""
    parameters = FunctionParameters(found)
    missing = [name for name in parameters.required if name not in options]
    strange = [name for name in options if name not in parameters.names and not parameters.takes_any]
    if missing or strange or inspect.iscoroutinefunction(found) or not hasattr(found, "__name__"):
        return None
    made = _call_maker(found, options)
    return made if callable(made) else None


def _call_maker(found: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    try:
        return found(**options)
    except BaseException as error:
        name = getattr(found, "__name__", found)
        raise NoRewardError(f"calling {name} with the given options failed: {said(error)}") from error


def sources_of(name: str) -> tuple[Sources, str]:
    """Return the source files of a module and its neighbours, or an installed module's distribution."""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None or _is_installed(path):
        return {}, distribution_of(name)
    root = os.path.dirname(os.path.abspath(path))
    for _ in range(name.count(".") - (os.path.basename(path) != "__init__.py")):
        root = os.path.dirname(root)
    return {one: (file, _read(file, file)) for one, file in _modules_in(root)}, ""


def _modules_in(root: str) -> list[tuple[str, str]]:
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and file.startswith(root + os.sep):
            found.append((name, file))
    return sorted(
        one for one in found if not _is_installed(one[1]) and not one[0].startswith("rewardkit_host")
    )


def _is_installed(path: str) -> bool:
    folders = path.split(os.sep)
    in_python = path.startswith(os.path.dirname(os.__file__) + os.sep)
    return "site-packages" in folders or "dist-packages" in folders or in_python


def distribution_of(module: str) -> str:
    """Return the name and version of a module's distribution, or the module's name if there is none."""
    from importlib import metadata

    top = module.partition(".")[0]
    # This function has been available since Python 3.10.
    of_packages: dict[str, list[str]] = getattr(metadata, "packages_distributions", dict)()
    names = of_packages.get(top) or [top]
    try:
        return f"{names[0]} {metadata.version(names[0])}"
    except metadata.PackageNotFoundError:
        return top
