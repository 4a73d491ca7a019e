"""Digests of what decides a score: sources with all that they import from their folder, and models' folders.

They are the same on every machine that has the same files. Where these files are does not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

_WHOLE_BYTES = 64 << 20
"""A larger file, such as a model's weights, is read in pieces."""
_PIECES = 64
_PIECE_BYTES = 1 << 16


def digest(content: bytes) -> str:
    """Return the first 128 bits of a SHA-256, as `sha256:` and 32 figures."""
    return f"sha256:{hashlib.sha256(content).hexdigest()[:32]}"


def source_digests(path: Path, content: bytes | None = None) -> dict[str, str]:
    """Return the digests of a Python file and of all that it imports from its folder, by relative name.

    Of a package that it imports, every file counts. Nothing is run: imports are read from the text.

    Args:
        content: of the file itself, where a process has read it earlier.
    """
    path = path.resolve()
    found: dict[str, str] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        name = file.relative_to(path.parent).as_posix()
        if name in found:
            continue
        text = content if file == path and content is not None else file.read_bytes()
        found[name] = digest(text.replace(b"\r\n", b"\n"))
        waiting += _beside(text, path.parent)
    return dict(sorted(found.items()))


def path_digest(path: Path) -> str:
    """Return the digest of a file, or of all files in a folder but hidden ones.

    Of files above 64 MiB, such as weights, the size and 64 pieces count, the first and the last among them.
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


def _beside(text: bytes, folder: Path) -> Iterator[Path]:
    """Yield the files in a folder that a source imports."""
    for name in sorted(_imports(text) - {"rewardkit"}):
        if (folder / f"{name}.py").is_file():
            yield folder / f"{name}.py"
        elif (folder / name).is_dir():
            yield from (folder / name).rglob("*.py")


def _imports(text: bytes) -> set[str]:
    """Return the first words of the modules that a source imports, at its top or later."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names}
