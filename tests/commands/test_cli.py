"""The command line as a whole: help, near names, plain errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from click.types import FloatParamType

from rewardkit.cli import COMMANDS, cli, run
from rewardkit.commands.options.help import GROUPS
from rewardkit.registry import REGISTRY


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Example" in shown
    assert f"rewardkit {command}" in shown


def test_the_help_of_every_command_fits_a_screen() -> None:
    long = {}
    for name, command in _with_subcommands(cli, "rewardkit"):
        shown = CliRunner(env={"COLUMNS": "80"}).invoke(
            command, ["--help"], prog_name=name, terminal_width=80
        )
        lines = shown.output.splitlines()
        if len(lines) > 50 or max(map(len, lines)) > 80:
            long[name] = len(lines)
    assert not long


def test_the_rest_of_a_description_is_in_the_help_of_all_options() -> None:
    shown, everything = (
        CliRunner().invoke(cli, ["prep", "amc", option], terminal_width=80).output
        for option in ("--help", "--help-all")
    )
    assert "final_answer" in everything and "final_answer" not in shown


@pytest.mark.parametrize(
    ("words", "address"),
    [
        (["eval", "--suite", "https://example.org/a/b.yaml"], "https://example.org/a/b.yaml"),
        (["score", "sample://responses.jsonl", "--out", "s3://bucket/x.jsonl"], "s3://bucket"),
        (["export", "hf://a/b", "model"], "hf://a/b"),
    ],
)
def test_an_address_in_a_message_keeps_its_slashes(
    words: list[str], address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) != 0
    said = capsys.readouterr().err
    assert address in said and address.replace("://", ":/") not in said


def _completed(*words: str) -> list[str]:
    *before, begun = words
    return [one.value for one in ShellComplete(cli, {}, "rewardkit", "_").get_completions(before, begun)]


def test_a_shell_completes_commands_settings_and_their_values() -> None:
    pytest.importorskip("omegaconf", reason="settings need rewardkit[train]")
    assert "train" in _completed("tr")
    assert _completed("train", "trainer.log") == ["trainer.logger=", "trainer.log_val_generations="]
    assert _completed("sft", "optim.lr_sch") == ["optim.lr_scheduler_type="]
    assert _completed("train", "a=1", "trainer.late=w") == ["trainer.late=wait"]
    assert _completed("train", "trainer.save_freq=") == []


def test_the_overview_names_every_command_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, summary in COMMANDS.items():
        assert f"  {name:<8}  {summary}" in lines


@pytest.mark.parametrize("command", ["eval", "generate"])
def test_the_help_of_many_options_fits_a_screen_and_names_them_all(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 50 and max(map(len, shown.splitlines())) <= 100
    assert run([command, "--help-all"]) == 0
    everything = capsys.readouterr().out
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    for name in [max(one.opts, key=len) for one in found.params if isinstance(one, click.Option)]:
        assert name in shown and f"\n  {name}" in everything.replace("-cp, ", "").replace("-cn, ", "")
    grouped = {name for names in GROUPS.values() for name in names.split()}
    commands = [cli.get_command(click.Context(cli), name) for name in ("eval", "generate")]
    assert grouped <= {one.name for each in commands if each for one in each.params}


def test_a_file_that_ends_early_is_not_taken_for_an_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(*_: object) -> None:
        raise EOFError("Ran out of input")

    monkeypatch.setattr(type(cli), "invoke", ends)
    with pytest.raises(EOFError, match="Ran out of input"):
        run(["list"])
    assert "interrupted" not in capsys.readouterr().err


def test_a_mistyped_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scor"]) == 2
    assert "did you mean score" in capsys.readouterr().err


def _with_subcommands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _with_subcommands(found, f"{name} {each}")


def test_no_option_of_any_command_takes_nan_or_infinity() -> None:
    seen = set()
    for name, command in _with_subcommands(cli, ""):
        for one in command.params:
            if isinstance(one, click.Option) and isinstance(one.type, FloatParamType):
                seen.add(f"{name} {one.name}".strip())
                for value in ("nan", "inf", "-inf"):
                    with pytest.raises(click.BadParameter):
                        one.type.convert(value, one, None)
    assert {"view min_score", "serve drain_s", "score timeout_s", "prep gsm8k val_size"} <= seen


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--max-body-mb", "-1"],
        ["serve", "--max-samples", "0"],
        ["serve", "--drain-s", "-1"],
        ["serve", "--request-timeout", "0"],
        ["generate", "x.parquet", "--price-in", "-1"],
        ["generate", "x.parquet", "--top-k", "-2"],
        ["generate", "x.parquet", "--seed", "99999999999999999999"],
        ["train", "--max-restarts", "-1"],
    ],
)
def test_a_number_out_of_its_bounds_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert f"invalid value for '{words[-2]}'" in capsys.readouterr().err


def test_list_shows_data_sources_aliases_options_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list"]) == 0
    shown = capsys.readouterr().out
    for word in ("openai/gsm8k", "arithmetic", "method=strict", "inline", REGISTRY.resolve("gsm8k").scorer):
        assert word in shown
    assert run(["list", "--json"]) == 0
    assert any(reward["name"] == "gsm8k" for reward in json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("word", ["gsm8k:method", ":method=strict"])
def test_a_malformed_option_says_what_is_expected(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--option", word]) == 2
    assert "SOURCE:NAME=VALUE" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["--help"], ["score", "--help"]])
def test_a_reader_that_goes_is_no_error(words: list[str]) -> None:
    """As `| head` does; rich and click each end the process with status 1."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rewardkit", *words], stdout=writing, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["score", "sample://responses.jsonl", "--out", "-"]])
def test_a_disk_that_is_full_is_one_line(words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rewardkit", *words], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"error: cannot write the output: No space left on device\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score", "--forc"], "did you mean --force"),
        (["scor"], "did you mean score"),
        (["score"], "FILES"),
        (["eval"], "no files given"),
        (["view", "x", "--limit", "abc"], "--limit"),
        (["compare", "a", "b", "c"], "unexpected"),
        (["score", "--hlep"], "did you mean --help"),
        (["score", "--no\nline"], "--no line"),
        (["serve", "--port"], "--port"),
    ],
)
def test_a_wrong_command_line_is_one_line_that_names_the_help(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    command = "" if words == ["scor"] else f" {words[0]}"
    assert line.startswith("error: ") and said in line and line.endswith(f"(see `rewardkit{command} --help`)")
