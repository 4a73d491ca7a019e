"""Substitute for `go test` with tests in one file, which is compiled like a program in `go.py`.

`go test` generates a `main` that passes the tests to the package `testing`. `prepare.go` adds an `init` that
does so instead, because the file may have its own `main`. Examples and benchmarks are compiled but not run.
The language is for `/run_code` and for the tests of the reward `code`.
"""

from __future__ import annotations

import functools

from rewardkit.sandbox.languages.base import Language
from rewardkit_extras.languages import go

_HELLO = """package main

import (
	"fmt"
	"testing"
)

func TestIt(t *testing.T) { fmt.Println(42) }
"""

GO_TEST = Language(
    "go_test",
    "go test",
    (),
    functools.partial(go.discover, "//rewardkit:test"),
    _HELLO,
    is_compiled=True,
    answers=False,
)
