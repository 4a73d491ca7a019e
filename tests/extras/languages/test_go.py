"""Go finds its cache, its packages and the tests of a file; that its programs run, tests/sandbox tries."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from rewardkit.sandbox import Limits, Sandbox
from rewardkit.sandbox.languages.base import can_hold
from rewardkit.sandbox.levels import why_not
from rewardkit_extras.languages import go


def test_go_has_a_cache_where_there_is_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`go` itself is asked if it is here; else a stand-in that speaks as it does without a home."""
    fake = tmp_path / "go"
    fake.write_text('#!/bin/sh\necho "${GOCACHE:-${HOME:-off}}"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for home in (None, "/proc/nowhere"):
        monkeypatch.delenv("HOME", raising=False)
        monkeypatch.delenv("GOCACHE", raising=False)
        if home:
            monkeypatch.setenv("HOME", home)
        cache = go._environment(str(fake))["GOCACHE"]
        assert cache == str(tmp_path / f"rewardkit-go-{os.getuid()}") and can_hold(cache)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert "GOCACHE" not in go._environment(str(fake))


def test_go_finds_the_packages_of_gopath(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in that lists a package named after the folder it is asked in."""
    fake = tmp_path / "go"
    fake.write_text('#!/bin/sh\necho "packagefile $(basename $(dirname "$PWD"))=/x"\necho noise\n')
    fake.chmod(0o755)
    (tmp_path / "libraries" / "src").mkdir(parents=True)
    monkeypatch.setenv("GOPATH", f"{tmp_path}/libraries:{tmp_path}/none")
    assert go._packages(str(fake), {})[1:] == ["packagefile libraries=/x"]


_GO_TESTS = """// package no
package twice_test

import "testing"

func TestA(t *testing.T) { println("A") }
	func Test(t  *testing.T) { println("B") }
func Testable(t *testing.T) { println("no") }
func TestX(x int) {}
func BenchmarkC(b *testing.B) { println("no") }
/* func TestNo(t *testing.T) {} */
var text = `
func TestNo(t *testing.T) {}
` + "func TestNo(t *testing.T) " + "\\"func TestNo(t *testing.T)"
"""


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        ("", "ok", [b"A", b"B"]),
        ("func main() {}\nfunc TestMain(m *testing.M) { println(1); m.Run() }", "ok", [b"1", b"A", b"B"]),
        ('import "os"', "compile_error", []),
        ("func TestD(t *testing.T) { t.Fatal(1) }", "runtime_error", [b"A", b"B"]),
    ],
)
def test_the_tests_of_a_go_file_are_run(more: str, status: str, said: list[bytes]) -> None:
    if shutil.which("go") is None or (why_not("warm") and why_not("guard")):
        pytest.skip("no Go or no isolation here")
    with Sandbox() as sandbox:
        found = sandbox.run(_GO_TESTS + more, "", Limits(cpu_s=20), language="go_test")
    assert (found.status, found.stderr.split()) == (status, said) or (
        status == "compile_error" == found.status
    )


def test_a_go_file_without_tests_does_not_pass() -> None:
    if shutil.which("go") is None or (why_not("warm") and why_not("guard")):
        pytest.skip("no Go or no isolation here")
    with Sandbox() as sandbox:
        assert sandbox.run("package main\nfunc main() {}", language="go_test").status == "compile_error"
