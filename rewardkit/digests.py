"""Digests of files that determine scores: sources, the local modules they import, and model folders.

A digest depends on the content of the files and not on their location, so digests can be compared across
machines.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

_WHOLE_BYTES = 64 << 20
"""Maximum size of a file that is hashed in full. Of larger files, such as weights, only pieces are hashed."""
_PIECES = 64
_PIECE_BYTES = 1 << 16


def digest(content: bytes) -> str:
    """Return the first 128 bits of the SHA-256 hash of `content`, as `sha256:` and 32 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()[:32]}"


def source_digests(path: Path, content: bytes | None = None) -> dict[str, str]:
    """Return digests of a Python file and of the local modules that it imports, by relative path.

    Local modules are modules in the folder or the package of the Python file. If the file imports a package,
    all files of that package are included. The function parses the source texts and runs no code.

    Args:
        path: Path of the Python file.
        content: Content of the file, if it has already been read, or None to read the file now.
    """
    path = path.resolve()
    root = next(folder for folder in path.parents if not (folder / "__init__.py").is_file())
    found: dict[str, str] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        name = file.relative_to(root).as_posix()
        if name in found:
            continue
        text = content if file == path and content is not None else _text(file)
        found[name] = digest(text.replace(b"\r\n", b"\n"))
        waiting += _beside(text, [path.parent, root], file.parent)
    return dict(sorted(found.items()))


def path_digest(path: Path) -> str:
    """Return the digest of a file, or of all files in a folder except hidden files.

    For files above 64 MiB, such as weights, only the size and 64 evenly spaced pieces are hashed, including
    the first and the last piece.
    """
    if path.is_file():
        return digest(_content(path))
    files = {one.relative_to(path).as_posix(): one for one in path.rglob("*") if one.is_file()}
    seen = {name: one for name, one in files.items() if not name.startswith(".") and "/." not in name}
    return digest("".join(f"{name} {digest(_content(seen[name]))}\n" for name in sorted(seen)).encode())


def _content(path: Path) -> bytes:
    size = path.stat().st_size
    if size <= _WHOLE_BYTES:
        return path.read_bytes()
    pieces = [str(size).encode()]
    with open(path, "rb") as file:
        for i in range(_PIECES):
            file.seek((size - _PIECE_BYTES) * i // (_PIECES - 1))
            pieces.append(file.read(_PIECE_BYTES))
    return b"".join(pieces)


def _text(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # an import of this file reports the error
        return b""


def _beside(text: bytes, folders: Sequence[Path], own: Path) -> Iterator[Path]:
    """Yield the files that a source text imports from `folders`, or by relative imports from folder `own`."""
    absolute, relative = _imports(text)
    for name in sorted(absolute - {"rewardkit"}):
        yield from (file for folder in folders for file in _module_files(folder / name))
    for name in sorted(relative):
        yield from _module_files(own / name)


def _module_files(path: Path) -> list[Path]:
    """Return the files of the module or package at a path without a suffix."""
    module = path.with_name(f"{path.name}.py")
    return [module] if module.is_file() else sorted(path.rglob("*.py")) if path.is_dir() else []


def _imports(text: bytes) -> tuple[set[str], set[str]]:
    """Return the top-level names that a source text imports absolutely, and those it imports relatively."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return set(), set()
    absolute = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    relative: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            (relative if node.level else absolute).update(names)
    return {name.partition(".")[0] for name in absolute}, {name.partition(".")[0] for name in relative}
