"""What a command line cannot mean is refused before any work is done: nothing is ignored, or made by mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rewardkit.cli import run

ROWS = [
    {"data_source": "gsm8k", "prompt": "6 * 12?", "ground_truth": "72", "response": response}
    for response in ("#### 72", "#### 73")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With responses, the same scored, the folder of a run, and rewards."""
    monkeypatch.chdir(tmp_path)
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    Path("responses.jsonl").write_text(lines)
    Path("one.py").write_text("def f(solution_str, ground_truth): return 1.0\n")
    Path("two.py").write_text("def f(solution_str, ground_truth): return 0.0\n")
    Path("both.yaml").write_text("both:\n  data_sources: [gsm8k]\n  sum: [gsm8k, think_format]\n")
    Path("run").mkdir()
    Path("run/metrics.jsonl").write_text('{"step": 1}\n')
    assert run(["score", "responses.jsonl", "--out", "scored.jsonl"]) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "eval scored.jsonl --out again.jsonl",
            "--out has no effect: scored.jsonl ",
        ),
        (
            "eval scored.jsonl --reward gsm8k=one.py",
            "--reward has no effect: scored.jsonl ",
        ),
        ("eval scored.jsonl --timeout 3", "--timeout has no effect: scored.jsonl "),
        (
            "eval responses.jsonl --temperature 0.5",
            "--temperature has no effect: ",
        ),
        ("eval responses.jsonl --limit 3", "--limit has no effect: "),
        (
            "gradient scored.jsonl --option gsm8k:method=flexible",
            "--option has no effect: scored.jsonl ",
        ),
        (
            "generate responses.jsonl --model m --out o.jsonl --reward one.py",
            "--reward has no effect: responses",
        ),
        (
            "diff responses.jsonl --check pins.jsonl",
            "FILES has no effect: --check ",
        ),
        (
            "diff responses.jsonl --pin pins.jsonl --second gsm8k:method=flexible",
            "--second has no effect: --pin",
        ),
        ("diff responses.jsonl --pins 3", "--pins has no effect: "),
        ("view run --row 3", "--row has no effect: run "),
        (
            "view scored.jsonl --by-prompt --html page.html",
            "--html has no effect: --by-prompt ",
        ),
        (
            "view scored.jsonl --html page.html --limit 1",
            "--limit has no effect: --html ",
        ),
        ("lock --check --pins 3", "--pins has no effect: --check "),
        (
            "audit responses.jsonl --top 3",
            "--top has no effect: ",
        ),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    words: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert run(words.split()) == 2
    said = capsys.readouterr().err
    assert message in said and said.startswith("error: ") and said.count("\n") == 1
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        ["score", "responses.jsonl", "--out", ""],
        ["score", "", "--out", "new.jsonl"],
        ["score", "responses.jsonl", "--response-key="],
        ["eval", "responses.jsonl", "--report", ""],
        ["prep", "arithmetic", "--out", ""],
        ["import", ""],
        ["train", "--config", ""],
        ["serve", "--host", ""],
    ],
)
def test_an_empty_value_as_of_a_variable_that_is_not_set_is_refused(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert run(words) == 2
    assert " is empty; pass a value" in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "pasted"),
    [
        ("python3 -m verl.trainer.main_ppo trainer.nnodes=1", "python3 -m verl.trainer.main_ppo"),
        ("-m verl.trainer.main_ppo trainer.nnodes=1", "-m verl.trainer.main_ppo"),
        ("torchrun --nproc_per_node=2 -m a.b x=1", "torchrun --nproc_per_node=2 -m a.b"),
        ("/usr/bin/python3.11 train.py x=1", "/usr/bin/python3.11 train.py"),
        ("train.sh x=1", "train.sh"),
    ],
)
@pytest.mark.parametrize("command", ["train", "sft"])
def test_a_pasted_program_of_another_trainer_is_named(
    command: str, words: str, pasted: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([command, *words.split()]) == 2
    said = capfd.readouterr().err
    assert f"'{pasted}'" in said and f"rewardkit {command}" in said


def test_a_text_may_be_empty(folder: Path) -> None:
    assert run(["explain", "--reward", "qa", "--gold", "a", "--response", "", "--prompt", ""]) == 0


@pytest.mark.parametrize(
    "words",
    [
        "score responses.jsonl --out ./responses.jsonl --force",
        "eval responses.jsonl --report responses.jsonl",
        "view scored.jsonl --html scored.jsonl",
        "diff responses.jsonl --pin responses.jsonl",
        "audit responses.jsonl --html responses.jsonl",
        "lock responses.jsonl --lock responses.jsonl --force",
        "generate responses.jsonl --model m --out responses.jsonl --force",
    ],
)
def test_no_command_overwrites_its_input(
    words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.glob("*.jsonl")}
    assert run(words.split()) == 2
    assert "overwrite the input" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.glob("*.jsonl")} == before


@pytest.mark.slow
def test_an_entry_is_written_though_nobody_reads_what_is_printed(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "rewardkit", "import", "one.py", "--out", "one.yaml"]
    try:
        done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (folder / "one.yaml").is_file()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rollout.temperature=-1", "the range x>=0"),
        ("rollout.temperature=.nan", "temperature in the configuration: nan "),
        ("rollout.top_p=7", "the range 0<x<=1"),
        ("data.n_samples=0", "the range x>=1"),
    ],
)
def test_settings_of_verls_have_the_bounds_of_the_options(
    setting: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["generate", "responses.jsonl", "model.path=m", "data.output_path=new.parquet", setting]
    assert run([*words, "--url", "http://127.0.0.1:9/v1"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "score responses.jsonl --out new.jsonl --options-file bad.yaml",
        "score responses.jsonl --out new.jsonl --rewards bad.yaml",
        "check responses.jsonl --tools bad.yaml",
        "eval responses.jsonl --config bad.yaml",
        "prep custom --raw responses.jsonl --mapping bad.yaml --out new",
        "train --config bad.yaml",
        "serve --port 0 --config bad.yaml",
    ],
)
def test_what_is_wrong_in_a_yaml_file_is_said_with_its_line(
    words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.yaml").write_text("a: 1\nb: [\n")
    assert run(words.split()) == 2
    said = capsys.readouterr().err
    assert "bad.yaml" in said and ": line 3: " in said and "expected" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("score responses.jsonl --reward =one.py", "--reward =one.py: the data source "),
        (
            "serve --port 0 --gold-tokenizer m",
            "--gold-tokenizer has no effect: ",
        ),
        ("generate empty.jsonl --model m --out new.parquet", "empty.jsonl has no rows"),
        ("eval arithmetic --model m --prep nosuch=1", "unknown option 'nosuch'; "),
    ],
)
def test_what_is_missing_is_named(
    words: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.jsonl").write_text("")
    assert run([*words.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "score responses.jsonl --out resluts/scored.jsonl",
        "eval responses.jsonl --out resluts/scored.jsonl",
        "eval scored.jsonl --report resluts/page.html",
        "view scored.jsonl --html resluts/page.html",
        "generate responses.jsonl --model m --out resluts/out.jsonl",
        "audit responses.jsonl --html resluts/page.html",
        "diff responses.jsonl --pin resluts/pins.jsonl",
        "lock responses.jsonl --lock resluts/reward.lock",
        "import one.py --out resluts/one.yaml",
    ],
)
def test_a_folder_that_is_not_there_is_not_made_for_a_file(
    words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert run(words.split()) == 2
    said = capsys.readouterr().err
    assert "resluts does not exist; create it" in said
    assert sorted(folder.iterdir()) == before


def test_a_folder_of_its_own_is_made_with_those_above(folder: Path) -> None:
    assert run(["score", "responses.jsonl", "--out", "new/deep/"]) == 0
    assert (folder / "new/deep/responses.jsonl").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--reward gsm8k=one.py --reward gsm8k=two.py",
            "--reward gsm8k=one.py and --reward gsm8k=two.py both ",
        ),
        ("--reward one.py --reward two.py", "both score every"),
        (
            "--reward one.py --reward gsm8k=two.py",
            "so --reward gsm8k=two.py ",
        ),
        ("--reward gsm8k=one.py --rewards both.yaml", "--rewards both.yaml both score gsm8k"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        "score responses.jsonl",
        "explain --data-source gsm8k --gold 72 --response x",
        "diff responses.jsonl",
        "list",
    ],
)
def test_two_rewards_for_one_data_source_are_refused(
    command: str, words: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--rewards" in words and command.split()[0] in ("diff", "list"):
        return
    assert run([*command.split(), *words.split()]) == 2
    assert message in capsys.readouterr().err
