"""Go finds its cache, its packages and the tests of a file; that its programs run, tests/sandbox tries."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from rewardkit.sandbox.languages.base import can_hold
from rewardkit_extras.languages import go, go_tests


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

func TestA(t *testing.T) {}
	func Test(t  *testing.T) {}
func Testable(t *testing.T) {}
func TestX(x int) {}
func FuzzB(f *testing.F) {}
func BenchmarkC(b *testing.B) {}
/* func TestNo(t *testing.T) {} */
var text = `
func TestNo(t *testing.T) {}
` + "func TestNo(t *testing.T) " + "\\"func TestNo(t *testing.T)"
"""


@pytest.mark.parametrize(
    ("more", "run", "main"),
    [
        ("", "all.Run()", True),
        ("func main() {}\nfunc TestMain(m *testing.M) {}", "TestMain(all)", False),
    ],
)
def test_the_tests_of_a_go_file_are_found(more: str, run: str, main: bool) -> None:
    source, runner = go_tests.with_runner(_GO_TESTS + more)
    assert source == _GO_TESTS.replace("package twice_test", "package main") + more
    assert '[]_testing.InternalTest{{"TestA", TestA}, {"Test", Test}}' in runner
    assert '[]_testing.InternalFuzzTarget{{"FuzzB", FuzzB}}' in runner
    assert run in runner and ("func main() {}" in runner) == main
