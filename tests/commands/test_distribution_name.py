"""Another distribution that owns our name is noticed, whichever was installed last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rewardkit
from rewardkit.distribution_name import other_owners


def _install(folder: Path, *, replaces_ours: bool) -> Path:
    """What pip leaves of a distribution that has a package and a command of our name."""
    about = folder / "harbor_rewardkit-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: harbor-rewardkit\nVersion: 1.0\n")
    (about / "RECORD").write_text("rewardkit/__init__.py,,\nrewardkit/other.py,,\n")
    (about / "entry_points.txt").write_text("[console_scripts]\nrewardkit = rewardkit.other:main\n")
    if replaces_ours:  # a copy of ours in which their files stand, as in site-packages
        ours = Path(rewardkit.__file__).parent
        (folder / "rewardkit").mkdir()
        for path in ours.iterdir():
            (folder / "rewardkit" / path.name).symlink_to(path.resolve())
        (folder / "rewardkit" / "__init__.py").unlink()
        (folder / "rewardkit" / "__init__.py").write_text("NAME = 'harbor'\n")
    return folder


def test_nobody_else_owns_our_name_here() -> None:
    assert other_owners() == []


@pytest.mark.slow
@pytest.mark.parametrize("replaces_ours", [False, True], ids=["ours was last", "theirs was last"])
def test_doctor_tells_of_another_owner_in_both_orders(tmp_path: Path, replaces_ours: bool) -> None:
    folder = _install(tmp_path / "site", replaces_ours=replaces_ours)
    places = [str(folder), str(Path(rewardkit.__file__).parents[1])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    code = (
        "import sys; from rewardkit.cli import run; from rewardkit.commands import doctor\n"
        "doctor.SECURE, doctor.RUNNERS = (), {}  # tests/sandbox tries these\n"
        "sys.exit(run(['doctor', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["other_owners"] == ["harbor-rewardkit"]
