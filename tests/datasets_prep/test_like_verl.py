"""`--like verl:...` writes the rows that verl's own scripts write.

Where `REWARDKIT_VERL` names a clone of volcengine/verl, its scripts run on our shaped rows, and on whole sets
where they lie beside the checkout. Elsewhere the shaped rows are held to digests of what the scripts made.
"""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import subprocess
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rewardkit.agents.resolving import interaction_of, tools_of
from rewardkit.cli import run
from rewardkit.datasets_prep.common.like_verl import FORMS
from tests.conftest import needs
from tests.datasets_prep.raw_forms import DAPO, GEO3K, SEARCHR1, TEST, TRAIN, write

CLONE = os.environ.get("REWARDKIT_VERL")
Rows = list[dict[str, Any]]

GSM8K = [
    {"question": "Two and two?", "answer": "It is <<2+2=4>>4.\n#### 4"},
    {"question": "How much in all? ", "answer": "Much.\n#### $ 3\n#### -1,234.50\n#### 5"},
]
MATH = [
    {"problem": "Solve.", "level": "Level 1", "type": "Algebra", "solution": "So $x=\\boxed{ \\frac12 }$."},
    {"problem": "Which? ", "level": "Level 5", "type": "Algebra", "solution": "\\boxed{1}; $\\boxed 7 $."},
]
SEARCHED = [
    {**SEARCHR1, "metadata": None},
    {**SEARCHR1, "metadata": {"level": "hard", "context": [{"title": "Faust"}]}},
]
UNSTATED = [{**SEARCHR1, "reward_model": None, "data_source": "hotpotqa", "ability": None}]
AIME_TOOL = [{**DAPO, "extra_info": {"index": n, "raw_problem": "?"}} for n in (0, 1)]
AIME_2024 = [{"ID": "2024-I-1", "Problem": "Find x.", "Solution": "It is 33.", "Answer": 33}]


@dataclass(frozen=True)
class Case:
    """One form: what it is made of, and what verl's script made of that."""

    raw: Mapping[str, Rows]
    digest: str
    """Of the rows of all splits."""
    script: str = ""
    """Below `examples/data_preprocess`."""


_GSM8K = {"train.jsonl": GSM8K, "test.jsonl": GSM8K[:1]}
_GEO3K = {f"data/{TRAIN}": [GEO3K, GEO3K], f"data/{TEST}": [GEO3K]}
_DAPO = {"data/dapo-math-17k.parquet": [DAPO, DAPO]}
CASES = {
    ("gsm8k", "verl"): Case(_GSM8K, "3d8eb5ef3cfd774c", "gsm8k"),
    ("gsm8k", "verl:tool"): Case(_GSM8K, "033e8e3e83530707", "gsm8k_multiturn_w_tool"),
    ("gsm8k", "verl:tool_agent"): Case(_GSM8K, "a029bb35aee7e9d1", "gsm8k_tool_agent_loop"),
    ("gsm8k", "verl:interaction"): Case(_GSM8K, "6a78a444a469586e", "gsm8k_multiturn_w_interaction"),
    ("math", "verl"): Case({"train.jsonl": MATH, "test.jsonl": MATH[:1]}, "527e9bc6e19683d9", "math_dataset"),
    ("geo3k", "verl"): Case(_GEO3K, "b8bbe0442fc58d9f", "geo3k"),
    ("geo3k", "verl:tool"): Case(_GEO3K, "78e3a90be4782bd7", "geo3k_multiturn_w_tool"),
    ("searchr1", "verl"): Case(
        {"train.parquet": SEARCHED, "test.parquet": UNSTATED},
        "2063ee712f4d822a",
        "preprocess_search_r1_dataset",
    ),
    ("dapo-math", "verl:tool"): Case(_DAPO, "1efbaaf93506027c", "dapo_multiturn_w_tool"),
    ("dapo-math", "verl:retool"): Case(_DAPO, "1f0efc43898460f5"),
    ("aime", "verl:tool"): Case(
        {"data/aime-2024.parquet": AIME_TOOL}, "b5a6a04631a570e8", "aime2024_multiturn_w_tool"
    ),
    ("aime", "verl:retool"): Case({"aime.jsonl": AIME_2024}, "c681a30cc8f55063"),
}
WHOLE = {("gsm8k", like): "gsm8k" for like in FORMS["gsm8k"]} | {("math", "verl"): "math"}


def test_every_form_is_tried() -> None:
    assert set(CASES) == {(dataset, like) for dataset, forms in FORMS.items() for like in forms}


@pytest.mark.parametrize(("dataset", "like"), CASES)
def test_shaped_rows_are_what_verls_scripts_made(dataset: str, like: str, tmp_path: Path) -> None:
    case = CASES[dataset, like]
    rows = ours(dataset, like, write(case.raw, tmp_path / "raw"), tmp_path / "out")
    assert digest(rows) == case.digest


@pytest.mark.skipif(CLONE is None, reason="REWARDKIT_VERL names no clone of volcengine/verl")
@pytest.mark.parametrize(("dataset", "like"), CASES)
def test_shaped_rows_equal_those_of_verls_script(
    dataset: str, like: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = write(CASES[dataset, like].raw, tmp_path / "raw")
    theirs = verls(dataset, like, raw, tmp_path, monkeypatch)
    assert ours(dataset, like, raw, tmp_path / "out") == theirs


@pytest.mark.skipif(CLONE is None, reason="REWARDKIT_VERL names no clone of volcengine/verl")
@pytest.mark.parametrize(("dataset", "like"), WHOLE)
def test_whole_sets_equal_verls(
    dataset: str, like: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference_data: Path
) -> None:
    raw = needs(reference_data / WHOLE[dataset, like] / "test.jsonl").parent
    theirs = verls(dataset, like, raw, tmp_path, monkeypatch)
    assert ours(dataset, like, raw, tmp_path / "out") == theirs
    assert sum(map(len, theirs.values())) >= 1_319


@pytest.mark.parametrize(
    ("dataset", "like", "tools", "interaction"),
    [
        ("gsm8k", "verl:tool_agent", ["calc_gsm8k_reward"], None),
        ("gsm8k", "verl:interaction", [], "gsm8k"),
        ("geo3k", "verl:tool", ["calc_geo3k_reward"], None),
        ("searchr1", "verl", ["search"], None),
        ("dapo-math", "verl:tool", ["code_interpreter"], None),
    ],
)
def test_our_own_tools_read_verls_rows(
    dataset: str, like: str, tools: list[str], interaction: str | None, tmp_path: Path
) -> None:
    row = ours(dataset, like, write(CASES[dataset, like].raw, tmp_path / "raw"), tmp_path / "out")["train"][0]
    assert list(tools_of(row["extra_info"]).create_kwargs) == tools
    assert interaction_of(row["extra_info"])[0] == interaction
    assert run(["check", str(tmp_path / "out" / "train.parquet")]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gsm8k", "--like", "verl:tol"), "--like verl:tol: unknown form of gsm8k"),
        (("gsm8k", "--like", "verl", "--system", "Hi."), "--like verl has no option --system"),
        (("gsm8k", "--like", "verl", "--dedup"), "--like cannot be combined with"),
        (("arithmetic", "--like", "verl"), "--like does not support arithmetic"),
    ],
)
def test_what_does_not_go_with_verls_rows_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = () if words[0] == "arithmetic" else ("--raw", str(write(_GSM8K, tmp_path / "raw")))
    assert run(["prep", *words, *raw, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err


def ours(dataset: str, like: str, raw: Path, out: Path) -> dict[str, Rows]:
    """The rows that `prep` writes; those of a set for testing under the name that verl gives them."""
    assert run(["prep", dataset, "--raw", str(raw), "--like", like, "--out", str(out)]) == 0
    named = {"train" if dataset == "aime" else path.stem: path for path in out.glob("*.parquet")}
    return {split: pq.read_table(path).to_pylist() for split, path in sorted(named.items())}


def digest(rows: Mapping[str, Rows]) -> str:
    text = json.dumps(rows, sort_keys=True, default=bytes.hex)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def verls(
    dataset: str, like: str, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Rows]:
    """The rows that verl's script makes of the raw files."""
    datasets = pytest.importorskip("datasets")
    files = {("test" if "test" in path.stem else "train"): path for path in sorted(raw.rglob("*.*"))}
    loaded = datasets.DatasetDict(
        {
            split: datasets.Dataset.from_list(
                pq.read_table(path).to_pylist()
                if path.suffix == ".parquet"
                else list(map(json.loads, path.read_text().splitlines()))
            )
            for split, path in files.items()
        }
    )
    loaded.setdefault("train", loaded.get("test"))
    loaded.setdefault("test", loaded["train"])
    monkeypatch.setattr(datasets, "load_dataset", lambda *args, **options: loaded)
    for name in ("verl", "verl.utils", "verl.utils.hdfs_io", "verl.utils.reward_score"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["verl.utils.hdfs_io"].__dict__.update(copy=None, makedirs=None)
    if like == "verl:retool":
        return {"train": _retool(dataset, loaded["train"], tmp_path, monkeypatch)}
    script = _source(f"examples/data_preprocess/{CASES[dataset, like].script}.py", tmp_path)
    if dataset == "math":
        grader = _source("verl/utils/reward_score/math_reward.py", tmp_path)
        module = types.SimpleNamespace(**runpy.run_path(str(grader)))
        monkeypatch.setitem(sys.modules, "verl.utils.reward_score.math_reward", module)
    flag = "--local_save_dir"
    if dataset == "searchr1":
        flag = "--local_dir"
        import huggingface_hub

        monkeypatch.setattr(
            huggingface_hub, "hf_hub_download", lambda filename, **options: str(raw / filename)
        )
    saved = tmp_path / "verls"
    saved.mkdir()
    monkeypatch.setattr(sys, "argv", [str(script), flag, str(saved)])
    runpy.run_path(str(script), run_name="__main__")
    return {
        split: pq.read_table(saved / f"{split}.parquet").to_pylist()
        for split in sorted(files)
        if (saved / f"{split}.parquet").exists()
    }


def _retool(dataset: str, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    """The rows of the data set class of the recipe ReTool."""
    stubs = {
        "verl.tools.base_tool": "OpenAIFunctionToolSchema",
        "verl.tools.sandbox_fusion_tools": "SandboxFusionTool",
        "verl.utils.dataset": "RLHFDataset",
        "verl.utils.reward_score": "math_dapo",
        "verl.utils.rollout_trace": "rollout_trace_op",
    }
    for module, name in stubs.items():
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
        base: Any = (lambda f: f) if name == "rollout_trace_op" else type(name, (), {})
        monkeypatch.setattr(sys.modules[module], name, base, raising=False)
    made = runpy.run_path(str(_source("recipe/retool/retool.py", tmp_path, "v0.6.1")))
    ready = made["CustomRLHFDataset"]()
    if dataset == "aime":
        source = {"data_source": "Maxwell-Jia/AIME_2024"}
        return list(rows.map(ready.map_fn, fn_kwargs=source, remove_columns=rows.column_names))
    return list(rows.map(ready.map_fn2))


def _source(path: str, folder: Path, revision: str = "HEAD") -> Path:
    """A file of the clone, which may be bare."""
    text = subprocess.run(
        ["git", "-C", str(CLONE), "show", f"{revision}:{path}"], check=True, capture_output=True
    ).stdout
    copy = folder / Path(path).name
    copy.write_bytes(text)
    return copy
