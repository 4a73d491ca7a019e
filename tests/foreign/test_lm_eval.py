"""Tasks of lm-evaluation-harness score a response as lm-eval itself does, or are refused in words."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from rewardkit import Sample, Scorer
from rewardkit.errors import InputError
from rewardkit.foreign import load_reward
from rewardkit.registry import Registry

FOLDER = Path(os.environ.get("REWARDKIT_PUBLIC_FUNCTIONS", "/nonesuch"))
_PATH = [path for path in [os.environ.get("PYTHONPATH")] if path]

TASKS = {
    "two.yaml": "task: two\ninclude: _base\n",
    "_base": "filter_list: [{name: a, filter: []}, {name: b, filter: []}]\nprocess_docs: !function utils.f\n",
    "arc.yaml": "task: arc\noutput_type: multiple_choice\n",
    "group.yaml": "group: many\ntask: [two, arc]\n",
    "utils.py": "raise SystemExit\n",
}


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with the names of lm-eval's, and tasks in it."""
    folder = tmp_path / "site-packages" / "lm_eval" / "tasks"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").touch()
    for name, text in TASKS.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder.parents[1]), *_PATH]))
    return folder


def test_a_task_that_gives_no_one_number_for_a_text_is_refused_in_one_line(tasks: Path) -> None:
    refusals = {
        "arc": "multiple_choice.*log-likelihoods",
        "two": r"several filters; pass \?filter=a or \?filter=b",
        "two?filter=c": "no filter 'c'",
        "two?filter=a&metrik=x": "no option 'metrik'",
        "many": "no task 'many'",
        f"{tasks}/group.yaml": "not a single lm-eval task",
        f"{tasks}/none.yaml": "cannot read .*none.yaml",
    }
    said = {}
    for spec in refusals:
        with pytest.raises(InputError) as refused:
            load_reward(f"x=lm-eval:{spec}")
        said[spec] = str(refused.value)
    assert "\n" not in "".join(said.values())
    for spec, pattern in refusals.items():
        assert re.search(pattern, said[spec]), said[spec]


def test_a_tasks_version_covers_what_its_file_includes(
    tasks: Path, registry: Registry, tmp_path: Path
) -> None:
    def scorer(folder: str, added: str = "") -> str:
        copy = tmp_path / folder
        copy.mkdir()
        for name, text in TASKS.items():
            (copy / name).write_text(text + added * (name == "_base"))
        return load_reward(f"x=lm-eval:{copy}/two.yaml?filter=a")[0].scorer

    first = scorer("first")
    assert first.startswith("lm-eval:two@")
    assert scorer("second") == first
    assert scorer("third", "metadata: {version: 2}\n") != first


@pytest.mark.slow
@pytest.mark.skipif(not (FOLDER / "lm-eval").is_dir(), reason="REWARDKIT_PUBLIC_FUNCTIONS has no lm-eval")
def test_gsm8ks_filters_give_what_lm_eval_gives(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    strict_and_flexible = {
        "so #### 5": (1, 1),
        "#### 4 no #### 5": (0, 1),
        "#### 5 no #### 4": (1, 0),
        "The answer is $5.": (0, 1),
        "it is 5. Then 7": (0, 0),
        "#### 5.00": (0, 0),
    }
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FOLDER / "lm-eval"), *_PATH]))
    for place, name in enumerate(("strict-match", "flexible-extract")):
        load_reward(f"{name}=lm-eval:gsm8k?filter={name}")
        document = {"question": "2+3?", "answer": "2+3=5\n#### 5"}
        samples = [Sample(name, text, "", None, document) for text in strict_and_flexible]
        with Scorer(workers=1, timeout_s=60.0) as scorer:
            *found, lacking = scorer.score_batch([*samples, Sample(name, "#### 5", "5")])
        assert [one.score for one in found] == [both[place] for both in strict_and_flexible.values()]
        assert {one.status for one in found} == {"ok"}
        assert (lacking.status, lacking.score) == ("invalid", 0.0)
