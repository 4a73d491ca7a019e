"""Every attack of the corpus is held at every level, as root and as nobody, and hurts no canary."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rewardkit.sandbox.levels import why_not

NOBODY = 65534
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CORPORA = [HERE / "attacks.jsonl", ROOT.parent / "shared" / "data" / "attacks" / "sandbox.jsonl"]
ATTACKS = {
    json.loads(line)["id"]: line
    for path in CORPORA
    if path.is_file()
    for line in path.read_text().splitlines()
}
USERS = ["self", "nobody"] if os.geteuid() == 0 else ["self"]


@functools.cache
def results(level: str, user: str, folder: str) -> dict[str, list[str]]:
    """Run the whole corpus once; return what was not held, by attack."""
    corpus = Path(folder) / "attacks.jsonl"
    corpus.write_text("\n".join(ATTACKS.values()))
    python, options = sys.executable, {}
    if user == "nobody":
        python, options = python_for_nobody(), {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        os.chmod(folder, 0o755)
    elif reason := why_not(level):  # type: ignore[arg-type]
        pytest.skip(reason)
    command = [python, str(HERE / "corpus.py"), level, str(corpus)]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=280, **options
    )  # type: ignore[call-overload]
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("corpus")
    for parent in (made, *made.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    return str(made)


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("level", ["warm", "guard"])
def test_an_attack_is_held(level: str, user: str, name: str, folder: str) -> None:
    assert results(level, user, folder).get(name, []) == []
