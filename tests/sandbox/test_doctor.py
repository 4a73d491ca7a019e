"""`rewardkit doctor` says what holds, and fails where nothing does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from rewardkit.commands import doctor
from rewardkit.sandbox import SandboxUnavailable
from rewardkit.sandbox.languages import LANGUAGES, RUNNERS, LanguageUnavailable, Toolchain
from rewardkit.sandbox.levels import why_not


@pytest.mark.slow
def test_it_names_the_level_and_the_escapes_it_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    monkeypatch.setattr(doctor, "RUNNERS", {"sql": LANGUAGES["sql"]})  # each compiler takes seconds
    result = CliRunner().invoke(doctor.command, ["--json"])
    found = json.loads(result.output)
    assert result.exit_code == 0
    assert found["chosen"] in ("warm", "guard")
    assert all(x["held"] for x in found["levels"][found["chosen"]])


@pytest.mark.slow
def test_it_names_every_language_with_its_version_or_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    absent = replace(LANGUAGES["go"], discover=lambda: _raise("'go' is not on PATH; install golang-go"))
    monkeypatch.setattr(doctor, "RUNNERS", {"sql": LANGUAGES["sql"], "go": absent})
    monkeypatch.setitem(RUNNERS.rows, "go", absent)
    found = json.loads(CliRunner().invoke(doctor.command, ["--json"]).output)
    by_name = {language["name"]: language for language in found["languages"]}
    assert by_name["sql"]["version"].startswith("SQLite 3.")
    assert "install golang-go" in by_name["go"]["problem"]
    said = CliRunner().invoke(doctor.command, ["-v"]).output
    assert "escapes blocked" in said and "SQLite 3." in said and "install golang-go" in said


def _raise(reason: str) -> Toolchain:
    raise LanguageUnavailable(reason)


def test_it_fails_where_nothing_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise SandboxUnavailable("level x: the kernel has no Landlock")

    monkeypatch.setattr(doctor, "prove", refuse)
    monkeypatch.setattr(doctor, "choose", refuse)
    result = CliRunner().invoke(doctor.command)
    assert result.exit_code == 1
    assert "no Landlock" in result.output
