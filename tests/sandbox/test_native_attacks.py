"""Every attack in another language is held at every level, as root and as nobody, and hurts no canary."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from rewardkit.sandbox.levels import why_not
from tests.sandbox.native_attacks import ATTACKS, COMPILERS
from tests.sandbox.test_attacks import HERE, NOBODY, ROOT, USERS, python_for_nobody

KEPT: dict[str, Any] = {}
"""What one run leaves for the next, programs as it has built them: compilers take half of the time."""


@functools.cache
def results(level: str, user: str) -> dict[str, Any]:
    """Run all attacks once.

    Returns:
        What was not held, by attack, and under `unavailable` what could not be run.
    """
    python, options = sys.executable, {}
    home = (
        {"HOME": os.environ["HOME"]} if user == "self" and "HOME" in os.environ else {}
    )  # Go's cache is there
    if user == "nobody":
        python, options = python_for_nobody(), {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    elif reason := why_not(level):  # type: ignore[arg-type]
        pytest.skip(reason)
    done = subprocess.run(
        [python, str(HERE / "native_corpus.py"), level],
        input=json.dumps(KEPT), env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **home},
        capture_output=True, text=True, timeout=1_700, **options,
    )  # type: ignore[call-overload]  # fmt: skip
    if "SandboxUnavailable" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    KEPT.update(found.pop("kept"))
    return found


def check(level: str, user: str, name: str) -> None:
    found = results(level, user)
    if name in found["unavailable"]:
        pytest.skip(found["unavailable"][name])
    assert found.get(name, []) == []


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("level", ["warm", "guard"])
def test_an_attack_in_another_language_is_held(level: str, user: str, name: str) -> None:
    check(level, user, name)


def test_there_are_attacks_on_compilers_and_on_every_language() -> None:
    assert len(COMPILERS) >= 20
    assert {attack.language for attack in ATTACKS.values()} >= {
        "c", "cpp", "java", "javascript", "go", "rust", "bash", "sql"
    }  # fmt: skip
