"""`rewardkit import` shows what a reward of somebody else's is, and writes an entry that scores the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit import Sample, Scorer
from rewardkit.cli import run
from rewardkit.composition import load_compositions
from rewardkit.registry import Registry


def test_the_entry_that_it_writes_scores_as_it_showed(
    tmp_path: Path, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs.py").write_text(
        "print('at import')\ndef f1(prediction, gold, scale=1.0): return scale * (prediction == gold)\n"
    )
    out = tmp_path / "theirs.yaml"
    row = json.dumps({"response": "7", "ground_truth": "7"})
    words = [f"my/set={tmp_path}/theirs.py:f1?scale=0.5", "--column", "prediction=response", "--row", row]
    assert run(["import", *words, "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out.partition("\n}\n")[0] + "}")
    assert (said["kind"], said["gets"]["gold"], said["tried"]["score"]) == ("plain", "ground_truth", 0.5)
    load_compositions(out)
    with Scorer(workers=1) as scorer:
        score = scorer.score(Sample("my/set", "7", "7"))
    assert (score.score, score.scorer) == (0.5, said["scorer"])
    assert run(["import", *words, "--out", str(out)]) == 2  # it is there
