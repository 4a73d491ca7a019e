"""Every attack of the corpus is held at every level, as root and as nobody, and hurts no canary."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rewardkit.sandbox.levels import why_not

NOBODY = 65534
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ATTACKS = {json.loads(line)["id"]: line for line in (HERE / "attacks.jsonl").read_text().splitlines()}
USERS = ["self", "nobody"] if os.geteuid() == 0 else ["self"]


@functools.cache
def corpus_run(level: str, user: str) -> subprocess.CompletedProcess[str]:
    """Run the whole corpus once. It goes in by a pipe: other runs of pytest close the folders of this one."""
    python = sys.executable
    options: dict[str, Any] = {}
    if user == "nobody":
        python = python_for_nobody()
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    elif reason := why_not(level):
        pytest.skip(reason)
    corpus = "".join(f"{line}\n" for line in ATTACKS.values())
    command, environment = [python, str(HERE / "corpus.py"), level], {"PYTHONPATH": str(ROOT)}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, input=corpus, env=environment, capture_output=True, text=True, timeout=800, **options
    )
    return done


def results(level: str, user: str) -> dict[str, list[str]]:
    """Return what was not held, by attack."""
    done = corpus_run(level, user)
    if "SandboxUnavailable" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@functools.cache
def python_for_nobody() -> str:
    """An interpreter new enough that a user without a home can run, with this source tree."""
    for name in (
        sys.executable,
        "/usr/bin/python3.12",
        "/usr/bin/python3.11",
        "/usr/bin/python3",
        "/usr/local/bin/python3",
    ):
        probe = [
            name,
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); import rewardkit.sandbox.worker",
        ]
        if shutil.which(name):
            try:
                if (
                    subprocess.run(
                        probe, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True
                    ).returncode
                    == 0
                ):
                    return name
            except OSError:
                continue
    pytest.skip("no Python 3.11 that uid 65534 can run with this source tree")


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("level", ["warm", "guard"])
def test_an_attack_is_held(level: str, user: str, name: str) -> None:
    assert results(level, user).get(name, []) == []
