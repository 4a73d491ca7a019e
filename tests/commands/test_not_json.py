"""A file that is not UTF-8, or nested without end, is one line that names it, whoever reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardkit.cli import run

LATIN = b'{"lock": 1, "data_source": "caf\xe9", "scorers": {"a": "caf\xe9"}, "type": "caf\xe9"}'
DEEP = b'{"a":' + b"[" * 100_000
READERS = {
    "lock --check --lock FILE": ".lock",
    "diff --check FILE": ".jsonl",
    "replay scored.jsonl": ".receipt",
    "score sample://responses.jsonl --out out.jsonl --reward openai-grader:FILE": ".json",
    "prep custom --mapping FILE --raw scored.jsonl --out data": ".yaml",
}


@pytest.mark.parametrize("content", [LATIN, DEEP], ids=["latin-1", "deep"])
@pytest.mark.parametrize("command", READERS)
def test_a_file_that_is_no_json_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    content: bytes,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scored.jsonl").write_text('{"data_source": "gsm8k", "response": "1", "ground_truth": "1"}\n')
    name = "scored.jsonl.receipt" if READERS[command] == ".receipt" else f"bad{READERS[command]}"
    (tmp_path / name).write_bytes(content)
    assert run(command.replace("FILE", name).split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and name.removesuffix(".receipt") in line


def test_prep_names_the_row_of_a_csv_file_in_latin_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw.csv").write_bytes("question,answer\ncafé,1\n".encode("latin-1"))
    words = f"prep custom --data-source my/x --reward math --raw {tmp_path}/raw.csv --out {tmp_path}/out"
    assert run(words.split()) == 2
    assert "raw.csv row 0: " in (err := capsys.readouterr().err) and "not UTF-8: byte " in err
