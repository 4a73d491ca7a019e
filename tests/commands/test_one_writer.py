"""Two runs never write one output: the second is told that the first runs, whatever the command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from rewardkit.cli import run
from rewardkit.files.publishing import sole_writer

MODEL = ("--model", "some/m", "--url", "http://127.0.0.1:9", "--retries", "0")
TINY = ("--prep", "level=tiny", "--prep", "n-test=2", "--prep", "n_train=1")


@pytest.mark.parametrize("words", [
    ("score", "log.jsonl", "--out", "made"),
    ("score", "log.jsonl", "--restart", "--out", "made.jsonl"),
    ("prep", "arithmetic", "--n-train", "1", "--n-test", "1", "--out", "made"),
    ("prep", "arithmetic", "--n-train", "1", "--n-test", "1", "--force", "--out", "new/made"),
    ("generate", "log.jsonl", *MODEL, "--out", "made.jsonl"),
    ("eval", "arithmetic", *TINY, *MODEL, "--out", "made"),
], ids=lambda words: " ".join(words[:2]))  # fmt: skip
def test_the_second_writer_of_an_output_is_told_of_the_first(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    row = {"data_source": "gsm8k", "prompt": "3+4?", "response": "#### 7", "ground_truth": "7"}
    Path("log.jsonl").write_text(json.dumps(row) + "\n")
    out = Path(words[-1])
    written = out / "log.jsonl" if words[0] == "score" and not out.suffix else out
    written.parent.mkdir(exist_ok=True)
    with sole_writer(written.resolve()):
        before = sorted(out.parent.glob("**/*made*"))
        assert run(list(words)) == 2
        assert "another run " in capsys.readouterr().err
        assert sorted(out.parent.glob("**/*made*")) == before


@pytest.mark.parametrize(
    ("flag", "reason"), [(os.ST_RDONLY, "Read-only file system"), (0, "Permission denied")]
)
def test_a_folder_that_cannot_be_written_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flag: int,
    reason: str,
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flag))
    assert run(["score", "sample://responses.jsonl", "--out", str(tmp_path / "out.jsonl")]) == 2
    assert f"{tmp_path} is not writable ({reason})" in capsys.readouterr().err
    assert (
        run(["prep", *["arithmetic", "--n-train", "1", "--n-test", "1", "--out"], str(tmp_path / "out")]) == 2
    )
    assert f"cannot write to {tmp_path / 'out'}: {reason}; " in capsys.readouterr().err
