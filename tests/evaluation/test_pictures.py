"""Pictures of scored rows: thumbnails, bounded, and prompts that differ only in their pictures stay apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Scorer
from rewardkit.cli import run
from rewardkit.evaluation.html.payload import Payload
from rewardkit.evaluation.pictures import LONGEST, PromptPictures
from rewardkit.evaluation.scored import read_groups, read_rows
from rewardkit.pictures import picture_of
from rewardkit.types import Sample
from tests.tiny_vision import picture


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scored")
    rows = []
    for i, size in enumerate([(32, 24), (600, 300), (32, 24)]):
        prompt = [{"role": "user", "content": "<image>colour?" if i < 2 else "colour?"}]
        images = [{"bytes": picture("red", size), "path": None}] * (i < 2)
        rows.append({"data_source": "exact", "prompt": prompt, "response": "red", "ground_truth": "red"})
        rows[-1]["images"] = images
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    assert run(["score", str(folder / "rows.parquet"), "--out", str(folder / "scored.parquet")]) == 0
    return folder / "scored.parquet"


def test_prompts_with_other_pictures_are_other_prompts(scored: Path) -> None:
    assert [len(group) for group in read_groups([scored])["exact"].values()] == [1, 1, 1]


def test_thumbnails_are_bounded_in_size_and_number(scored: Path) -> None:
    shown = PromptPictures(1)
    first, second, third = (shown.prompt(row) for row in read_rows([scored]))
    assert first[0]["content"][0]["image"].startswith("data:image/png;base64,")
    assert second[0]["content"][0]["text"] == "[image]"
    assert third == [{"role": "user", "content": "colour?"}]
    (large,) = (PromptPictures().prompt(row) for row in list(read_rows([scored]))[1:2])
    assert picture_of(large[0]["content"][0]["image"]).size == (LONGEST, LONGEST // 2)
    assert len(Payload(read_rows([scored])).responses) == 3


def test_view_describes_pictures_and_prints_no_bytes(
    scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["view", str(scored), "--row", "1"]) == 0
    shown = capsys.readouterr().out
    assert "[image 600x300]colour?" in shown
    assert "PNG" not in shown
    assert run(["view", str(scored), "--json", "--limit", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["images"][0]["bytes"].endswith("bytes]")


def test_a_judge_is_told_of_pictures_and_refuses_while_rewards_of_text_score(tmp_path: Path) -> None:
    from rewardkit.rewards.judge.options import JudgeOptions
    from rewardkit.rewards.judge.question import UnjudgeableError, ask

    rows = [
        {"data_source": "exact", "prompt": "<image>?", "response": "a", "ground_truth": "a", "image": b"x"}
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    (row,) = read_rows([tmp_path / "rows.parquet"], scorer=(scorer := Scorer(workers=1)))
    scorer.close()
    assert row["score"] == 1.0
    sample = Sample("judge", "a", "a", row["prompt"])
    options = JudgeOptions(url="http://127.0.0.1:1/v1", model="m")
    with pytest.raises(UnjudgeableError, match="pictures"):
        ask(sample, options)
    blind = JudgeOptions(url="http://127.0.0.1:1/v1", model="m", prompt="Is {response} {ground_truth}?")
    assert ask(sample, blind).messages


def test_a_table_and_lines_tell_rewards_of_the_same_pictures(tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(
        "def shown(sample):\n    return float(not isinstance(sample.prompt, str))\n"
    )
    columns: list[list[Any]] = [
        [None, "", "a.png"],
        [None, [], ["a.png"]],
        [None, {"bytes": None, "path": None}, {"bytes": None, "path": "a.png"}],
        [None, {"bytes": None, "path": None}, {"bytes": None, "path": ""}],
    ]
    for i, values in enumerate(columns):
        rows = [
            {"data_source": "x", "prompt": "?", "response": "a", "ground_truth": "a", "image": value}
            for value in values
        ]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{i}.parquet")
        (tmp_path / f"{i}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        for kind in ("parquet", "jsonl"):
            out = tmp_path / f"{i}.{kind}.jsonl"
            reward = ["--reward", str(tmp_path / "shown.py")]
            assert run(["score", str(tmp_path / f"{i}.{kind}"), *reward, "--out", str(out)]) == 0
            assert [json.loads(line)["score"] for line in out.read_text().splitlines()] == [0.0, 0.0, 1.0], i
