"""TypeScript and Jest run on a Node.js that removes types, and say so where it is too old."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rewardkit.sandbox import Limits, Sandbox
from rewardkit.sandbox.languages.base import LanguageUnavailable
from rewardkit.sandbox.levels import why_not
from rewardkit_extras.languages import typescript

DOCKERFILE = Path(__file__).parents[3] / "deploy" / "Dockerfile.run-code"

MODULE = """import { strictEqual } from 'assert'
const f = (x: number): number => x + 1
test('f', () => { const g = jest.fn(); g(1); expect(g).toHaveBeenCalled(); strictEqual(f(1), WANTED) })
"""
SCRIPT = """const assert = require('assert')
enum E { A = 2 }
test('f', () => { expect(E.A as number).toBe(WANTED) })
"""


def test_the_remedy_installs_the_version_of_the_image() -> None:
    command = typescript.REMEDY.partition(",")[0]
    assert command == "npm install --global jest@29"
    assert command in DOCKERFILE.read_text()


@pytest.mark.parametrize("discover", [typescript._discover, typescript._discover_jest])
def test_a_node_that_does_not_remove_types_is_refused(
    discover: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "node"
    fake.write_text("#!/bin/sh\necho v20.20.2\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LanguageUnavailable, match=r"22\.13"):
        discover()  # type: ignore[operator]


def ran(language: str, source: str) -> str:
    if shutil.which("node") is None or (why_not("warm") and why_not("guard")):
        pytest.skip("no Node.js or no isolation here")
    try:
        with Sandbox() as sandbox:
            return sandbox.run(source, "", Limits(cpu_s=20), language=language).status
    except LanguageUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("tests", [MODULE, SCRIPT])
def test_tests_as_a_module_and_as_a_script_pass_and_fail(tests: str) -> None:
    assert ran("jest", tests.replace("WANTED", "2")) == "ok"
    assert ran("jest", tests.replace("WANTED", "3")) == "runtime_error"


@pytest.mark.slow
def test_a_program_with_syntax_that_only_typescript_has_runs() -> None:
    assert ran("typescript", "enum A { X = 7 }\nconst x: number = A.X\nif (x !== 7) throw 0") == "ok"
