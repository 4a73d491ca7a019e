"""Substitute for `go test` with tests in one file, which is compiled like a program in `go.py`.

`go test` generates a `main` that passes the tests to the package `testing`. This module generates an `init`
instead, because the file may have its own `main`. Examples and benchmarks are compiled but not run. The
language is for `/run_code` only.
"""

from __future__ import annotations

import re

from rewardkit.sandbox.languages.base import Language
from rewardkit_extras.languages import go

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|`[^`]*`?|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?'
    r"|(?P<package>\bpackage\s+\w+)"
    r"|\bfunc\s+(?:(?P<main>main)\s*\(\s*\)|(?P<kind>TestMain|Test|Fuzz)(?P<rest>\w*)\s*\(\s*\w+\s+\*)",
    re.DOTALL,
)

_RUNNER = """package main

import (
	_flag "flag"
	_fmt "fmt"
	_os "os"
	_reflect "reflect"
	_testing "testing"
	_testdeps "testing/internal/testdeps"
	_time "time"
)

func init() {
	started := _time.Now()
	tests := []_testing.InternalTest{@Test}
	targets := []_testing.InternalFuzzTarget{@Fuzz}
	all := _testing.MainStart(_testdeps.TestDeps{}, tests, nil, targets, nil)
	_flag.Set("test.paniconexit0", "true")
	code := func() int { @run }()
	if code == 0 {
		_fmt.Printf("ok  \\tcommand-line-arguments\\t%.3fs\\n", _time.Since(started).Seconds())
	}
	_os.Exit(code)
}

var _ = _reflect.ValueOf
@main
"""
_RUN = "return all.Run()"
_RUN_TEST_MAIN = 'TestMain(all); return int(_reflect.ValueOf(all).Elem().FieldByName("exitCode").Int())'


def with_runner(source: str) -> tuple[str, str]:
    """Return the test source as part of package main, and the source of a file that runs the tests."""
    tokens = list(_TOKEN.finditer(source))
    package = next((token for token in tokens if token["package"]), None)
    if package is not None:
        source = f"{source[: package.start()]}package main{source[package.end() :]}"
    kinds = {
        kind: [t for t in tokens if t["kind"] == kind and _is_name(t["rest"])] for kind in ("Test", "Fuzz")
    }
    parts = {
        kind: ", ".join(f'{{"{kind}{t["rest"]}", {kind}{t["rest"]}}}' for t in found)
        for kind, found in kinds.items()
    }
    own_main = any(token["kind"] == "TestMain" and not token["rest"] for token in tokens)
    parts["run"] = _RUN_TEST_MAIN if own_main else _RUN
    parts["main"] = "" if any(token["main"] for token in tokens) else "func main() {}"
    return source, re.sub(r"@(\w+)", lambda name: parts[name[1]], _RUNNER)


def _is_name(rest: str) -> bool:
    """Return True if `rest` can follow `Test` in the name of a test. It must not start in lower case."""
    return not rest[:1].islower()


def _prepare(source: str) -> tuple[str, go.Files]:
    tests, runner = with_runner(source)
    files = (("main_test.go", tests), ("run_tests.go", runner))
    return "source", tuple((name, text.encode("utf-8", "surrogateescape")) for name, text in files)


_HELLO = """package main

import (
	"fmt"
	"testing"
)

func TestIt(t *testing.T) { fmt.Println(42) }
"""

GO_TEST = Language(
    "go_test", "go test", (), lambda: go.discover(_prepare), _HELLO, is_compiled=True, answers=False
)
