"""Rust, compiled by rustc to an object file and linked with the arguments that rustc would use.

rustc builds a small program once to show which files it links. These files are the standard library and an
object file that rustc generates to connect a program to the allocator.
"""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from rewardkit.sandbox.apart import rust as apart_rust
from rewardkit.sandbox.languages.base import (
    Language,
    LanguageCommand,
    LanguageUnavailable,
    Toolchain,
    ask,
    program,
    temporary_folder,
)
from rewardkit.sandbox.languages.c import run, steps

_FLAGS = ("--edition", "2021", "-C", "opt-level=3", "-C", "codegen-units=1", "--crate-name", "main")
_REMEDY = (
    "install Rust (Debian: apt-get install rustc; or https://rustup.rs with RUSTUP_HOME and CARGO_HOME in a "
    "folder that the user who runs programs can read)"
)
_HELLO = """use std::io;
fn main() {
    let mut line = String::new();
    io::stdin().read_line(&mut line).unwrap();
    println!("{}", line.trim().parse::<i64>().unwrap() + 1);
}
"""


_HELLO_TEST = """#[test]
fn it() { std::io::Write::write_all(&mut std::io::stdout(), b"42\\n").unwrap() }
"""


def _discover(flags: tuple[str, ...]) -> Toolchain:
    found = program("rustc", _REMEDY)
    root = ask("rustc" if os.path.basename(found) == "rustup" else found, "--print", "sysroot").strip()
    rustc = os.path.join(root, "bin", "rustc")
    version = ask(rustc, "--version").strip()
    with temporary_folder() as folder:
        link = _link(rustc, folder, flags)
    words = ("--emit=obj", "--cap-lints", "allow", "-o", "main.o", "main.rs")
    compile_it = LanguageCommand((rustc, *_FLAGS, *flags, *words), "main.rs", "main.o")

    def build(source: str) -> Sequence[Sequence[LanguageCommand]]:
        return [[compile_it, link]]

    return Toolchain(version, (root, "/usr/bin", "/bin"), run, build)


def _link(rustc: str, folder: str, flags: tuple[str, ...]) -> LanguageCommand:
    """Return the command that links a program's object file."""
    Path(folder, "main.rs").write_text(_HELLO_TEST if flags else _HELLO)
    asked = (*flags, "--print", "link-args", "-C", "save-temps", "-C", "linker=cc", "-o", "main", "main.rs")
    said = ask(rustc, *_FLAGS, *asked, folder=folder)
    line = next((line for line in said.splitlines() if ' "cc" ' in line or line.startswith('"cc" ')), "")
    words = [word for word in shlex.split(line.partition('"cc" ')[2]) if not _is_left_out(word)]
    objects = [word for word in words if word.endswith(".rcgu.o")]
    own = next((word for word in objects if "-cgu." in word), None)
    if own is None:
        raise LanguageUnavailable(
            f"no call of the linker in the output of {rustc}; expected a line that calls 'cc'"
        )
    words = [
        {own: "main.o", "main": "program"}.get(word, os.path.basename(word) if word in objects else word)
        for word in words
    ]
    (link,) = steps(ask("cc", "-###", *words, folder=folder), "main.o")
    others = [os.path.basename(word) for word in objects if word != own]
    files = tuple((name, Path(folder, name).read_bytes()) for name in others)
    return LanguageCommand((*link.argv, "--strip-all"), "main.o", "program", files)


def _is_left_out(word: str) -> bool:
    """Return True if a linker argument must be left out.

    rustc's own linker would start another linker, and the symbols object is only needed for libraries.
    """
    return "gcc-ld" in word or word.startswith("-fuse-ld=") or word.endswith("symbols.o")


RUST = Language(
    "rust",
    "Rust",
    ("rs",),
    functools.partial(_discover, ()),
    _HELLO,
    is_compiled=True,
    apart=apart_rust.apart,
    mark=r"^\s*(?:pub\s+)?fn\s+main\s*\(\s*\)",
)
RUST_TEST = Language(
    "rust_test",
    "rustc --test",
    (),
    functools.partial(_discover, ("--test",)),
    _HELLO_TEST,
    is_compiled=True,
    answers=False,
)
