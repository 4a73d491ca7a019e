"""Go, compiled and linked in the jail by Go's own tools, without the command `go`.

`go list -export` compiles the packages in the standard library and in GOPATH into Go's build cache. This
happens once per machine, unless the distribution includes compiled packages. If there is no cache, for
example because the user has no home directory, a private temporary folder is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from rewardkit.sandbox.languages.base import (
    Language,
    LanguageCommand,
    Toolchain,
    ask,
    can_hold,
    private_folder,
    program,
)
from rewardkit.sandbox.outcome import Limits

_ENV = {"GOFLAGS": "", "GO111MODULE": "off", "GOTOOLCHAIN": "local"}
_EXPORTS = "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}"


Files = tuple[tuple[str, bytes], ...]


def discover(prepare: Callable[[str], tuple[str, Files]]) -> Toolchain:
    """Find Go's toolchain.

    Args:
        prepare: Function that takes a program and returns its file name for the compiler and the files to
            compile. If there are no files, the program itself is compiled.

    Raises:
        LanguageUnavailable: Go is not on PATH, or the command `go` fails.
    """
    go = program("go", "install it (Debian: apt-get install golang-go)")
    env = _environment(go)
    version = ask(go, "version", env=env).strip()
    tools = ask(go, "env", "GOTOOLDIR", env=env).strip()
    packages = "".join(f"{line}\n" for line in dict.fromkeys(_packages(go, env)))
    root, cache = (os.path.realpath(ask(go, "env", name, env=env).strip()) for name in ("GOROOT", "GOCACHE"))
    readable = (root, cache) if f"={cache}/" in packages else (root,)

    def build(source: str) -> Sequence[Sequence[LanguageCommand]]:
        name, files = prepare(source)
        named = [file for file, _ in files] or [name]
        known = ("-importcfg", "packages")
        compiled = ("compile", "-p", "main", "-complete", *known, "-o", "main.a", *named)
        linked = ("link", "-linkmode=internal", *known, "-s", "-w", "-o", "program", "main.a")
        listed = (("packages", packages.encode()),)
        compile_it = _step(tools, compiled, name, "main.a", (*listed, *files))
        return [[compile_it, _step(tools, linked, "main.a", "program", listed)]]

    return Toolchain(version, readable, _run, build)


def _packages(go: str, env: dict[str, str]) -> list[str]:
    """Return the compiled packages that programs may import, as lines for the compiler and linker."""
    asked = ("list", "-export", "-f", _EXPORTS)
    found = ask(go, *asked, "std", env=env)
    for root in filter(None, os.environ.get("GOPATH", "").split(os.pathsep)):
        sources = os.path.join(root, "src")
        found += (
            ask(go, *asked, "-e", "-deps", "./...", folder=sources, env=env) if os.path.isdir(sources) else ""
        )
    return [line for line in found.splitlines() if line.startswith("packagefile ")]


def _environment(go: str) -> dict[str, str]:
    """Return the environment for `go`, with Go's own package cache if possible, or else a private cache."""
    cache = ask(go, "env", "GOCACHE", env=_ENV).strip()  # "off" if HOME is not set
    return _ENV if os.path.isabs(cache) and can_hold(cache) else {**_ENV, "GOCACHE": private_folder("go")}


def _step(tools: str, words: tuple[str, ...], given: str, output: str, files: Files) -> LanguageCommand:
    argv = (os.path.join(tools, words[0]), *words[1:])
    return LanguageCommand(argv, given, output, files, env=(("GOMAXPROCS", "2"),))


def _run(source: str, limits: Limits) -> LanguageCommand:
    return LanguageCommand(profile="managed", env=(("GOMAXPROCS", "2"),), tools=False)


_HELLO = """package main

import "fmt"

func main() {
	var x int
	fmt.Scan(&x)
	fmt.Println(x + 1)
}
"""

GO = Language(
    "go",
    "Go",
    ("golang",),
    lambda: discover(lambda source: ("main.go", ())),
    _HELLO,
    cpu_factor=1.5,
    is_compiled=True,
    mark=r"^\s*package\s+main\b",
)
