"""Every command counts rows from 0, as the index that a row carries does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run

GOOD = {
    "data_source": "gsm8k",
    "prompt": "6 * 12?",
    "question": "6 * 12?",
    "answer": "72",
    "ground_truth": "72",
}
GOOD |= {"response": "#### 72"}
NO_NUMBER = GOOD | {"question": "7 * 12?", "prompt": "7 * 12?", "ground_truth": "many", "answer": " "}
ROW = "row 2"


def _bad_row() -> str:
    return json.dumps(NO_NUMBER)


def _bad_line() -> str:
    return "{oops"


def said(capsys: pytest.CaptureFixture[str], file: Path, *arguments: Any) -> str:
    run([str(argument).replace("FILE", str(file)) for argument in arguments])
    output = capsys.readouterr()
    return output.out + output.err


PREP = (
    "prep",
    "custom",
    "--raw",
    "FILE",
    "--out",
    "FILE.out",
    "--reward",
    "gsm8k",
    "--map",
    "ground_truth=answer",
)
COMMANDS: list[tuple[Callable[[], str], tuple[str, ...], str]] = [
    (_bad_row, ("check", "FILE", "--json"), '"rows":[2]'),
    (_bad_row, PREP, ROW),
    (_bad_line, PREP, ROW),
    (_bad_line, ("score", "FILE", "--out", "FILE.jsonl"), ROW),
    (_bad_line, ("eval", "FILE"), ROW),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "command", "place"), COMMANDS)
def test_the_third_row_is_row_2_everywhere(
    bad: Callable[[], str],
    command: tuple[str, ...],
    place: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "rows.jsonl"
    second = json.dumps(GOOD | {"question": "36 * 2?", "prompt": "36 * 2?"})
    file.write_text("\n".join([json.dumps(GOOD), second, bad()]) + "\n")
    found = said(capsys, file, *command)
    assert place in found or place in "".join(found.split()), found
    assert "row 3" not in found and "line 2" not in found, found
