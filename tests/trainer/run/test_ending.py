"""A run that ends says what it has left, and one that is interrupted how to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardkit.cli import run
from rewardkit.trainer.run import main

WORDS = ["data.train_files=x", "data.val_files=x", "actor_rollout_ref.model.path=y"]


def _leave(folder: Path) -> None:
    checkpoint = folder / "global_step_3"
    checkpoint.mkdir(parents=True)
    (checkpoint / "trainer.json").write_text("{}")
    (folder / "latest_checkpointed_iteration.txt").write_text("3")
    (folder / "metrics.html").touch()


def test_the_end_names_the_page_the_checkpoint_and_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main, "run", lambda *_: _leave(tmp_path / "run") or 0)
    assert run(["train", *WORDS, f"trainer.default_local_dir={tmp_path / 'run'}"]) == 0
    said = capsys.readouterr().out
    assert f"{tmp_path}/run/metrics.html" in said
    assert f"rewardkit export {tmp_path}/run/global_step_3 model" in said


@pytest.mark.parametrize("left", [True, False])
def test_an_interrupt_says_whether_there_is_a_checkpoint_to_go_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], left: bool
) -> None:
    def interrupted(*_: object) -> int:
        if left:
            _leave(tmp_path)
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "run", interrupted)
    assert run(["train", *WORDS, f"trainer.default_local_dir={tmp_path}"]) != 0
    assert (f"{tmp_path}/global_step_3" in capsys.readouterr().err) is left


def test_a_run_that_failed_names_no_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _leave(tmp_path)
    monkeypatch.setattr(main, "run", lambda *_: 1)
    assert run(["train", *WORDS, f"trainer.default_local_dir={tmp_path}"]) == 1
    assert capsys.readouterr().out == ""
