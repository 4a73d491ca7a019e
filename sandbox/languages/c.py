"""C and C++, compiled with GCC or clang.

The compiler driver is asked once which programs it would run. The jail then runs those programs one by one,
so that none of them has to start another process. Every program is also linked with the object file that is
compiled from `_THREADS`.
"""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rewardkit.sandbox.apart import cpp
from rewardkit.sandbox.jail.limits import PROFILES
from rewardkit.sandbox.languages.base import (
    Language,
    LanguageCommand,
    LanguageUnavailable,
    Toolchain,
    ask,
    program,
    temporary_folder,
)
from rewardkit.sandbox.outcome import Limits

_FLAGS = ("-O2", "-pthread")
_THREADS_FILE = "threads.o"
_THREADS = """
#define _GNU_SOURCE
#include <pthread.h>

__attribute__((constructor)) static void set_thread_stack(void) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK) == 0)
        pthread_setattr_default_np(&attributes);
}
""".replace("STACK", str(PROFILES["native"].thread_stack_mb << 20))
"""Code that sets the stack size of threads.

By default, the C library gives each thread a stack as large as the limit of the main thread, which is the
whole memory limit of a run."""

_READABLE = ("/usr/include", "/usr/local/include", "/usr/bin", "/bin", "/usr/libexec", "/etc/alternatives")


def _discover(compilers: tuple[str, ...], source: str, standards: tuple[str, ...], remedy: str) -> Toolchain:
    problems = []
    for name in compilers:
        try:
            compiler = program(name, remedy)
            threads = _compiled_threads(compiler)
            attempts = tuple(
                _with_threads(_steps(compiler, source, standard), threads) for standard in standards
            )
            version = ask(compiler, "--version").splitlines()[0]
        except LanguageUnavailable as error:
            problems.append(str(error))
        else:
            return Toolchain(version, _READABLE, run, functools.partial(_always, attempts))
    raise LanguageUnavailable(problems[0])


def _always(
    attempts: Sequence[Sequence[LanguageCommand]], source: str
) -> Sequence[Sequence[LanguageCommand]]:
    return attempts  # the steps do not depend on the source


@functools.cache
def _compiled_threads(compiler: str) -> bytes:
    with temporary_folder() as folder:
        source = Path(folder, "threads.c")
        source.write_text(_THREADS)
        ask(compiler, "-O2", "-x", "c", "-c", source.name, "-o", _THREADS_FILE, folder=folder)
        return Path(folder, _THREADS_FILE).read_bytes()


def _with_threads(steps: Sequence[LanguageCommand], threads: bytes) -> Sequence[LanguageCommand]:
    """Add the object file of `_THREADS` to the last step, which links the program."""
    *before, link = steps
    place = link.argv.index(link.file) + 1
    argv = (*link.argv[:place], _THREADS_FILE, *link.argv[place:])
    return [*before, replace(link, argv=argv, files=((_THREADS_FILE, threads),))]


def _steps(compiler: str, source: str, standard: str) -> Sequence[LanguageCommand]:
    said = ask(compiler, "-###", *_FLAGS, f"-std={standard}", source, "-o", "program", "-lm")
    return steps(said, source)


def steps(said: str, source: str) -> list[LanguageCommand]:
    """Return the commands that a compiler driver lists for `-###`.

    Each command reads the output of the previous command.

    Raises:
        LanguageUnavailable: The output has an unknown format.
    """
    found: list[LanguageCommand] = []
    given = source
    for line in said.splitlines():
        if not line.startswith(" "):
            continue
        words = [word for word in shlex.split(line) if not _is_plugin(word)]
        if "-o" not in words or given not in words:
            continue
        output = words[words.index("-o") + 1]
        name = f"{len(found)}{os.path.splitext(output)[1]}" if output != "program" else output
        renamed = [{given: found[-1].output if found else source, output: name}.get(w, w) for w in words]
        argv = (_executable(renamed[0]), *renamed[1:])
        found.append(LanguageCommand(argv, file=found[-1].output if found else source, output=name))
        given = output
    if not found or found[-1].output != "program":
        raise LanguageUnavailable(f"no link command in the output of the compiler: {said[-200:]!r}")
    return found


def _is_plugin(word: str) -> bool:
    """Return True if an argument is for the linker's LTO plugin, which would start processes."""
    return word == "-plugin" or word.startswith("-plugin-opt=") or word.endswith("liblto_plugin.so")


def _executable(name: str) -> str:
    if os.path.basename(name) == "collect2":  # collect2 only starts the linker
        name = "ld"
    return program(name, "install binutils")


def run(source: str, limits: Limits) -> LanguageCommand:
    """Return the command that executes a compiled program."""
    return LanguageCommand(tools=False)


_HELLO_C = (
    '#include <stdio.h>\nint main(void) { int x; scanf("%d", &x); printf("%d\\n", x + 1); return 0; }\n'
)
_HELLO_CPP = "#include <iostream>\nint main() { int x; std::cin >> x; std::cout << x + 1 << '\\n'; }\n"
_REMEDY = "install it (Debian: apt-get install g++)"

C = Language(
    "c",
    "C",
    ("c11", "c17", "c99", "gnu11", "gnu17"),
    functools.partial(_discover, ("gcc", "clang"), "main.c", ("gnu17",), _REMEDY),
    _HELLO_C,
    is_compiled=True,
)
CPP = Language(
    "cpp",
    "C++ (17, and 20 for what is not valid in 17)",
    (
        "c++",
        "cxx",
        "cc",
        *(f"{name}{year}" for name in ("c++", "gnu++") for year in (11, 14, 17, 20)),
        "c++2a",
    ),
    functools.partial(_discover, ("g++", "clang++"), "main.cpp", ("gnu++17", "gnu++20"), _REMEDY),
    _HELLO_CPP,
    is_compiled=True,
    apart=cpp.apart,
    mark=r"^\s*#\s*include\s*[<\"][^>\"\n]{1,80}[>\"]",
)
