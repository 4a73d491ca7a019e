"""Public reward functions give the same numbers here as called natively.

They are fetched by whoever runs this and never committed: REWARDKIT_PUBLIC_FUNCTIONS names a folder with a snapshot of
each project (`public_functions.FUNCTIONS`), and in `lib` the packages that these need, those of OpenRLHF, rLLM and
verifiers among them. Beside open-r1's package, in `src`, lies the TRL that it was written for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Scorer
from rewardkit.errors import InputError
from rewardkit.foreign import ForeignSpec, foreign_reward, parse_spec
from rewardkit.registry import Registry
from tests.foreign.public_functions import FUNCTIONS, PublicFunction, rows

FOLDER = os.environ.get("REWARDKIT_PUBLIC_FUNCTIONS", "")


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="REWARDKIT_PUBLIC_FUNCTIONS names no folder of fetched projects")
@pytest.mark.parametrize(
    "index", range(len(FUNCTIONS)), ids=lambda i: f"{FUNCTIONS[i].project}-{FUNCTIONS[i].name}-{i}"
)
def test_a_public_function_gives_what_it_gives_natively(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function = FUNCTIONS[index]
    folder = Path(FOLDER)
    if not (folder / function.project).is_dir():
        pytest.skip(f"{function.project} is not there")
    roots = [
        str(folder / "lib"),
        *([str(folder / function.project / _root(function))] if _root(function) else []),
    ]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*roots, os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("EXPERIMENT_NAME", "qwen")
    native = _native(index, folder)
    found = _hosted(function, folder)
    wrong = [
        (row["response"], row["ground_truth"], expected, score)
        for row, expected, score in zip(rows(function.rows), native, found, strict=True)
        if score != expected and not (isinstance(score, str) and isinstance(expected, str | None))
    ]
    assert len(native) == 200
    assert wrong[:3] == []
    assert len({value for value in native if isinstance(value, float)}) > 1, "the rows reach one branch alone"


def _root(function: PublicFunction) -> str:
    root, bar, _ = function.place.partition("|")
    return root if bar else ""


def _native(index: int, folder: Path) -> list[Any]:
    program = Path(__file__).with_name("public_functions.py")
    words = [sys.executable, str(program), str(index), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        pytest.skip("does not load natively: " + done.stderr.strip().rpartition("\n")[2][:200])
    listed: list[Any] = json.loads(done.stdout)
    return listed


def _hosted(function: PublicFunction, folder: Path) -> list[float | str | None]:
    """A score, or the status of each row; None for what TRL leaves out."""
    root, bar, module = function.place.partition("|")
    place = f"{module}:{function.name}" if bar else f"{folder / function.project / root}:{function.name}"
    place = f"{function.kind}" if function.kind else place
    spec: ForeignSpec = replace(
        parse_spec(f"{place}?{function.options}"),
        columns=dict(word.split("=") for word in function.columns),
    )
    registry = Registry()
    try:
        registry.use_for_all(foreign_reward(spec))
    except InputError as error:
        pytest.fail(str(error))
    samples = [
        Sample("x", row["response"], _text(row["ground_truth"]), row["prompt"], row["extra_info"])
        for row in rows(function.rows)
    ]
    with Scorer(registry=registry, workers=2, timeout_s=60.0) as scorer:
        scores = scorer.score_batch(samples)
    return [score.score if score.ok else score.status for score in scores]


def _text(truth: Any) -> str:
    return truth if isinstance(truth, str) else json.dumps(truth)
