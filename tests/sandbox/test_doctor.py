"""`rewardkit doctor` says what holds, and fails where nothing does."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from rewardkit.commands import doctor
from rewardkit.sandbox import SandboxUnavailable
from rewardkit.sandbox.levels import why_not


def test_it_names_the_level_and_the_escapes_it_tried() -> None:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    result = CliRunner().invoke(doctor.command, ["--json"])
    found = json.loads(result.output)
    assert result.exit_code == 0
    assert found["chosen"] in ("warm", "guard")
    assert all(x["held"] for x in found["levels"][found["chosen"]])
    assert "escapes held" in CliRunner().invoke(doctor.command, ["-v"]).output


def test_it_fails_where_nothing_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise SandboxUnavailable("level x: the kernel has no Landlock")

    monkeypatch.setattr(doctor, "prove", refuse)
    monkeypatch.setattr(doctor, "choose", refuse)
    result = CliRunner().invoke(doctor.command)
    assert result.exit_code == 1
    assert "no Landlock" in result.output
