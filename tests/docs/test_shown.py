"""What the ```console blocks of the pages show: each line is typed, and must print or end in the text below it.

A page may wrap a long line, leave out its end, and write `…` for what differs between machines. `...` in a command
stands for the arguments of the first command on the page with the same name.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run
from rewardkit.registry import Registry
from tests.docs.conftest import make_demo
from tests.docs.pages import PAGES, READERS, README, first_commands, shown, write_code
from tests.server.serving import serve

SHOWN = [page for page in PAGES if [*shown(page.read_text())]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader has after the README, the demo and the first commands of the pages."""
    folder = tmp_path_factory.mktemp("reader")
    make_demo(folder)
    for page in (README, *SHOWN):
        write_code(page, folder)
    word = {"data_source": "my/spelling", "response": "rhythm", "ground_truth": "rhythm"}
    (folder / "words.jsonl").write_text(json.dumps(word) + "\n")
    (evaluate,) = (page for page in SHOWN if page.stem == "evaluate_models")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in (
            "rewardkit prep arithmetic --level easy --n-train 8 --n-test 8 --out data",
            "rewardkit score sample://responses.jsonl --out scored.jsonl",
            *first_commands(evaluate)[:2],
        ):
            assert run(shlex.split(command)[1:]) == 0
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """A copy of it for one page: no page sees what the commands of another one left."""
    return Path(shutil.copytree(prepared, tmp_path / "reader"))


def test_the_page_of_each_reader_has_five_commands_and_ten_errors() -> None:
    pages = {page.stem: page for page in SHOWN}
    for name in READERS:
        assert len(first_commands(pages[name])) == 5, name
        errors = pages[name].read_text().partition("\n## Ten errors\n")[2]
        assert errors.count("```console") == 10, name


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_a_reader_sees(
    page: Path,
    folder: Path,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    typed = first_commands(page)
    served = next((one for one in typed if one.startswith("rewardkit serve --")), "")
    if not served:
        _compare(page, typed, "", capsys)
        return
    with serve(*shlex.split(served)[2:]) as server:
        _compare(page, typed, str(server.port), capsys)


def _compare(page: Path, commands: list[str], port: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for typed, expected in shown(page.read_text()):
        if port:
            typed, expected = typed.replace("8000", port), expected.replace("8000", port)
        capsys.readouterr()
        if typed.startswith(">>> "):
            printed = _python(typed.removeprefix(">>> "), names)
        elif typed.startswith("$ curl "):
            printed = subprocess.run(shlex.split(typed)[1:], capture_output=True, text=True).stdout
        else:
            printed = _run(typed, commands, capsys)
        pattern = ".*?".join(re.escape(" ".join(part.split())) for part in expected.split("…"))
        assert re.search(pattern, " ".join(printed.split())), f"{typed}\n{printed}"


def _python(line: str, names: dict[str, Any]) -> str:
    """Return what an interactive Python prints for a line, of an exception the last line."""
    try:
        if line.startswith("from "):
            exec(line, names)
            return ""
        return repr(eval(line, names))
    except Exception as error:
        return f"{type(error).__module__}.{type(error).__name__}: {error}"


def _run(line: str, commands: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command of rewardkit in this process; return what it printed."""
    words = shlex.split(line)[2:]
    if "..." in words:
        first = next(one for one in commands if one.startswith(f"rewardkit {words[0]} "))
        at = words.index("...")
        words[at : at + 1] = shlex.split(first)[2:]
    run(words)
    printed = capsys.readouterr()
    return printed.out + printed.err
