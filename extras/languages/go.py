"""Go, compiled and linked in the jail by Go's own tools, without the command `go`.

`go list -export` compiles the packages in the standard library and in GOPATH into Go's build cache. This
happens once per machine, unless the distribution includes compiled packages. If there is no cache, for
example because the user has no home directory, a private temporary folder is used.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

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
from rewardkit_extras.languages.go_apart import apart

_ENV = {"GOFLAGS": "", "GO111MODULE": "off", "GOTOOLCHAIN": "local"}
_EXPORTS = "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}"


_HERE = Path(__file__).parent
_DIRECTIVE = "//rewardkit:"
"""First line of a source that `prepare.go` must change before compilation."""
_WITH_CARRIER = (f"{_DIRECTIVE}serve ", f"{_DIRECTIVE}ask ")

Files = tuple[tuple[str, bytes], ...]


def discover(directive: str = "") -> Toolchain:
    """Find Go's toolchain.

    Args:
        directive: Directive for `prepare.go` in sources that have none, or "" to compile them as they are.

    Raises:
        LanguageUnavailable: Go is not on PATH, or the command `go` fails.
    """
    go = program("go", "install it (Debian: apt-get install golang-go)")
    env = _environment(go)
    version = ask(go, "version", env=env).strip()
    tools = ask(go, "env", "GOTOOLDIR", env=env).strip()
    packages = "".join(f"{line}\n" for line in dict.fromkeys(_packages(go, env)))
    root, cache = (os.path.realpath(ask(go, "env", name, env=env).strip()) for name in ("GOROOT", "GOCACHE"))
    prepare = _compiled_prepare(go, env, version)
    readable = (root, *((cache,) if f"={cache}/" in packages else ()), os.path.dirname(prepare))
    listed = (("packages", packages.encode()),)
    carrier: Files = (("program.go", (_HERE / "program.go").read_bytes()),)

    def build(source: str) -> Sequence[Sequence[LanguageCommand]]:
        steps = []
        given = directive if directive and not source.startswith(_DIRECTIVE) else ""
        if given or source.startswith(_DIRECTIVE):
            steps = [LanguageCommand((prepare, "source", "main.go", given), "source", "main.go")]
        more = carrier if source.startswith(_WITH_CARRIER) else ()
        named = ["main.go", *(name for name, _ in more)]
        known = ("-importcfg", "packages")
        compiled = ("compile", "-p", "main", "-complete", *known, "-o", "main.a", *named)
        linked = ("link", "-linkmode=internal", *known, "-s", "-w", "-o", "program", "main.a")
        steps.append(_step(tools, compiled, "main.go", "main.a", (*listed, *more)))
        return [[*steps, _step(tools, linked, "main.a", "program", listed)]]

    return Toolchain(version, readable, _run, build)


def _compiled_prepare(go: str, env: dict[str, str], version: str) -> str:
    """Return the path of the compiled `prepare.go`, which is compiled once for a version of Go."""
    source = _HERE / "prepare.go"
    digest = hashlib.sha256(source.read_bytes() + version.encode()).hexdigest()[:16]
    folder = private_folder("go-prepare")
    path = os.path.join(folder, f"prepare-{digest}")
    if not os.path.exists(path):
        made = f"{path}.{os.getpid()}"
        ask(go, "build", "-o", made, str(source), env=env)
        os.replace(made, path)
    return path


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
    cache = ask(go, "env", "GOCACHE", env=_ENV).strip()  # Go uses "off" if HOME is not set.
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
    discover,
    _HELLO,
    cpu_factor=1.5,
    is_compiled=True,
    apart=apart,
    mark=r"^\s*package\s+main\b",
)
