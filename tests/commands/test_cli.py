"""The command line as a whole: help, near names, plain errors."""

from __future__ import annotations

import json

import pytest

from rewardkit.cli import COMMANDS, run
from rewardkit.registry import REGISTRY


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Example" in shown
    assert f"rewardkit {command}" in shown


def test_a_mistyped_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scor"]) == 2
    assert "did you mean score" in capsys.readouterr().err


def test_list_shows_data_sources_aliases_options_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list"]) == 0
    shown = capsys.readouterr().out
    for word in ("openai/gsm8k", "arithmetic", "method=strict", "inline", REGISTRY.resolve("gsm8k").scorer):
        assert word in shown
    assert run(["list", "--json"]) == 0
    assert any(reward["name"] == "gsm8k" for reward in json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("word", ["gsm8k", "gsm8k:method", "method=strict", ":method=strict"])
def test_a_malformed_option_says_what_is_expected(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--option", word]) == 2
    assert "SOURCE:NAME=VALUE" in capsys.readouterr().err
