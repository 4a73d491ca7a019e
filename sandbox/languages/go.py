"""Go by its own compiler and linker, which the jail runs one after the other, without the command `go`.

The packages of the standard library are compiled by `go list -export`, once on a machine where the
distribution does not hold them compiled, into Go's build cache; where that cannot be (a user without a home),
into a folder of ours among the temporary ones.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

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


def _discover() -> Toolchain:
    go = program("go", "install it (Debian: apt-get install golang-go)")
    env = _environment(go)
    version = ask(go, "version", env=env).strip()
    tools = ask(go, "env", "GOTOOLDIR", env=env).strip()
    listed = ask(go, "list", "-export", "-f", _EXPORTS, "std", env=env)
    packages = "".join(f"{line}\n" for line in listed.splitlines() if line.startswith("packagefile "))
    root, cache = (os.path.realpath(ask(go, "env", name, env=env).strip()) for name in ("GOROOT", "GOCACHE"))
    readable = (root, cache) if f"={cache}/" in packages else (root,)

    def build(source: str) -> Sequence[Sequence[LanguageCommand]]:
        known = (("packages", packages.encode()),)
        compile_it = (
            "compile",
            "-p",
            "main",
            "-complete",
            "-importcfg",
            "packages",
            "-o",
            "main.a",
            "main.go",
        )
        link_it = (
            "link",
            "-linkmode=internal",
            "-importcfg",
            "packages",
            "-s",
            "-w",
            "-o",
            "program",
            "main.a",
        )
        steps = (
            _step(tools, compile_it, "main.go", "main.a", known),
            _step(tools, link_it, "main.a", "program", known),
        )
        return [steps]

    return Toolchain(version, readable, _run, build)


def _environment(go: str) -> dict[str, str]:
    """What `go` is asked with: its own cache of packages where it can have one, else one of ours."""
    cache = ask(go, "env", "GOCACHE", env=_ENV).strip()  # "off" without HOME
    return _ENV if os.path.isabs(cache) and can_hold(cache) else {**_ENV, "GOCACHE": private_folder("go")}


def _step(
    tools: str, words: tuple[str, ...], given: str, output: str, files: tuple[tuple[str, bytes], ...]
) -> LanguageCommand:
    argv = (os.path.join(tools, words[0]), *words[1:])
    return LanguageCommand(argv, given, output, files, extra_mb=2048, env=(("GOMAXPROCS", "2"),))


def _run(source: str, limits: Limits) -> LanguageCommand:
    return LanguageCommand(profile="managed", extra_mb=64, env=(("GOMAXPROCS", "2"),), tools=False)


_HELLO = """package main

import "fmt"

func main() {
	var x int
	fmt.Scan(&x)
	fmt.Println(x + 1)
}
"""

GO = Language("go", "Go", ("golang",), _discover, _HELLO, cpu_factor=1.5, is_compiled=True)
