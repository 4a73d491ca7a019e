"""`--like verl...` writes the rows that verl's own scripts write, those of each release.

The rows that the scripts made are stored in `tests/data/verl_rows`. Where `REWARDKIT_VERL` names a clone of
verl-project/verl, its scripts run again, on whole sets too where they lie beside the checkout.
"""

from __future__ import annotations

import json
import os
import re
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
from rewardkit.errors import InputError
from rewardkit_extras.verl_rows import FORMS, RELEASES, form_of
from tests.conftest import needs
from tests.datasets_prep.provenance import read_provenance
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


DATA = Path(__file__).parents[1] / "data"
STORED = DATA / "verl_rows"
_TRAINED, _TESTED = (
    list(map(json.loads, (DATA / "gsm8k" / name).read_text().splitlines()[:2]))
    for name in ("train.jsonl", "test.jsonl")
)
_GSM8K = {"train.jsonl": [*GSM8K, *_TRAINED], "test.jsonl": [*GSM8K[:1], *_TESTED]}
_GEO3K = {f"data/{TRAIN}": [GEO3K, GEO3K], f"data/{TEST}": [GEO3K]}
_DAPO = {"data/dapo-math-17k.parquet": [DAPO, DAPO]}
_AIME_TOOL = {"data/aime-2024.parquet": AIME_TOOL}
PAIRS = [
    {"prompt": f"\n\nHuman: Q{n}\n\nAssistant:", "response": " A.", "chosen": " A.", "rejected": f" B{n}."}
    for n in range(4)
]
RAW: Mapping[tuple[str, str], Mapping[str, Rows]] = {
    **{("gsm8k", like): _GSM8K for like in FORMS["gsm8k"]},
    ("math", "verl"): {"train.jsonl": MATH, "test.jsonl": MATH[:1]},
    **{("geo3k", like): _GEO3K for like in FORMS["geo3k"]},
    ("searchr1", "verl"): {"train.parquet": SEARCHED, "test.parquet": UNSTATED},
    **{("dapo-math", like): _DAPO for like in FORMS["dapo-math"]},
    ("full_hh_rlhf", "verl"): {"train.jsonl": PAIRS},
    ("aime", "verl:tool"): _AIME_TOOL,
    ("aime", "verl:retool"): {"aime.jsonl": AIME_2024},
}
"""By set and form, the raw rows from which the stored ones were made."""
WHOLE = {("gsm8k", like): "gsm8k" for like in FORMS["gsm8k"]} | {("math", "verl"): "math"}


@dataclass(frozen=True)
class StoredRows:
    """What the script of some releases of verl made of `RAW`."""

    dataset: str
    like: str
    script: str
    releases: tuple[str, ...]
    rows: Mapping[str, Rows]

    def __str__(self) -> str:
        return f"{self.dataset}-{self.like}-{self.releases[0]}"

    def like_of(self, release: str) -> str:
        """The value of `--like` for a release."""
        return in_release(self.like, release)


def in_release(like: str, release: str) -> str:
    who, colon, script = like.partition(":")
    return f"{who}@{release}{colon}{script}"


def stored() -> list[StoredRows]:
    return [
        StoredRows(path.stem, one["like"], one["script"], tuple(one["releases"]), one["rows"])
        for path in sorted(STORED.glob("*.json"))
        for one in json.loads(path.read_text())
    ]


def test_rows_are_stored_for_every_script_of_every_release() -> None:
    known: dict[tuple[str, str], set[str]] = {key: set() for key in RAW}
    for one in stored():
        known[one.dataset, one.like] |= set(one.releases)
    for dataset, forms in FORMS.items():
        for like in forms:
            assert {release for release in RELEASES if has(dataset, like, release)} == known[dataset, like]


def has(dataset: str, like: str, release: str) -> bool:
    """True where verl has the script in that release; a script it has not is refused."""
    try:
        form_of(dataset, in_release(like, release))
    except InputError as error:
        assert f"verl {release} has no such script for {dataset}" in str(error)
        return False
    return True


@pytest.mark.parametrize("one", stored(), ids=str)
def test_rows_are_those_of_the_script_of_the_release(one: StoredRows, tmp_path: Path) -> None:
    raw = write(RAW[one.dataset, one.like], tmp_path / "raw")
    first, *others = (form_of(one.dataset, one.like_of(release)).make for release in one.releases)
    assert all(make == first for make in others)
    assert as_json(ours(one.dataset, one.like_of(one.releases[0]), raw, tmp_path / "out")) == one.rows


def test_without_a_release_the_newest_one_is_meant(tmp_path: Path) -> None:
    raw = write(_GSM8K, tmp_path / "raw")
    (newest,) = (one for one in stored() if one.like == "verl:tool" and RELEASES[-1] in one.releases
                 and one.dataset == "gsm8k")  # fmt: skip
    assert as_json(ours("gsm8k", "verl:tool", raw, tmp_path / "out")) == newest.rows
    written = read_provenance(tmp_path / "out" / "train.parquet")
    assert written["arguments"]["like"] == f"verl@{RELEASES[-1]}:tool"


@pytest.mark.parametrize("named", ["0.7", "v0.7", "0.7.1", "v0.7.1"])
def test_a_release_is_named_as_people_name_it(named: str) -> None:
    assert form_of("gsm8k", f"verl@{named}:tool_agent").name == "verl@0.7.1:tool_agent"


@pytest.mark.skipif(CLONE is None, reason="REWARDKIT_VERL names no clone of verl-project/verl")
@pytest.mark.parametrize(
    ("one", "release"), [(one, release) for one in stored() for release in one.releases], ids=str
)
def test_stored_rows_are_those_that_verls_scripts_make(
    one: StoredRows, release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if one.like == "verl:retool" and release > "0.6.1":
        pytest.skip("the recipe ReTool lies in verl-project/verl-recipe since 0.7")
    raw = write(RAW[one.dataset, one.like], tmp_path / "raw")
    assert as_json(verls(one, release, raw, tmp_path, monkeypatch)) == one.rows


@pytest.mark.skipif(CLONE is None, reason="REWARDKIT_VERL names no clone of verl-project/verl")
@pytest.mark.parametrize(("dataset", "like"), WHOLE)
def test_whole_sets_equal_verls(
    dataset: str, like: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference_data: Path
) -> None:
    raw = needs(reference_data / WHOLE[dataset, like] / "test.jsonl").parent
    one = [one for one in stored() if (one.dataset, one.like) == (dataset, like)][-1]
    release = one.releases[-1]
    theirs = verls(one, release, raw, tmp_path, monkeypatch)
    assert ours(dataset, one.like_of(release), raw, tmp_path / "out") == theirs
    assert sum(map(len, theirs.values())) >= 1_319


@pytest.mark.parametrize(
    ("dataset", "like", "tools", "interaction"),
    [
        ("gsm8k", "verl:tool_agent", ["calc_gsm8k_reward"], None),
        ("gsm8k", "verl@0.7:interaction", [], "gsm8k"),
        ("gsm8k", "verl@0.7:tool_agent", ["calc_gsm8k_reward"], None),
        ("geo3k", "verl:tool", ["calc_geo3k_reward"], None),
        ("searchr1", "verl", ["search"], None),
        ("dapo-math", "verl:tool", ["code_interpreter"], None),
    ],
)
def test_our_own_tools_read_verls_rows(
    dataset: str, like: str, tools: list[str], interaction: str | None, tmp_path: Path
) -> None:
    raw = write(RAW[dataset, re.sub("@[0-9.]+", "", like)], tmp_path / "raw")
    row = ours(dataset, like, raw, tmp_path / "out")["train"][0]
    assert list(tools_of(row["extra_info"]).create_kwargs) == tools
    assert interaction_of(row["extra_info"])[0] == interaction
    assert run(["check", str(tmp_path / "out" / "train.parquet")]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gsm8k", "--like", "verl:tol"), "--like verl:tol: unknown form of gsm8k"),
        (
            ("gsm8k", "--like", "verl@0.10:tool"),
            "known releases: 0.3.0, 0.4.0",
        ),
        (("gsm8k", "--like", "verl@0.4.0:tool_agent"), "(0.5.0 to 0.9.0)"),
        (("gsm8k", "--like", "verl:interaction"), "for example --like verl@0.7.1:interaction"),
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
    named = {path.relative_to(out).with_suffix("").as_posix(): path for path in out.rglob("*.parquet")}
    if dataset == "aime":
        named = {"train": next(iter(named.values()))}
    return {split: pq.read_table(path).to_pylist() for split, path in sorted(named.items())}


def as_json(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """Rows as JSON holds them, bytes in hexadecimal figures."""
    made: dict[str, Rows] = json.loads(json.dumps(rows, default=bytes.hex))
    return made


def verls(
    one: StoredRows, release: str, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    parts = {"train[:75%]": range(3), "train[-25%:]": range(3, 4)}  # of the four pairs
    monkeypatch.setattr(
        datasets,
        "load_dataset",
        lambda *args, split=None, **options: loaded["train"].select(parts[split]) if split else loaded,
    )
    for name in ("verl", "verl.utils", "verl.utils.fs", "verl.utils.hdfs_io", "verl.utils.reward_score"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    for name in ("fs", "hdfs_io"):
        sys.modules[f"verl.utils.{name}"].__dict__.update(copy=None, makedirs=None)
    tag = "v0.3.0.post1" if release == "0.3.0" else f"v{release}"  # 0.3.0 has tags of its corrections alone
    if one.like == "verl:retool":
        return {"train": _retool(one, tag, loaded["train"], tmp_path, monkeypatch)}
    script = _source(one.script, tmp_path, tag)
    if one.dataset == "math":
        grader = "math" if release < "0.6" else "math_reward"
        module = runpy.run_path(str(_source(f"verl/utils/reward_score/{grader}.py", tmp_path, tag)))
        monkeypatch.setitem(sys.modules, f"verl.utils.reward_score.{grader}", types.SimpleNamespace(**module))
    if one.dataset == "searchr1":
        import huggingface_hub

        monkeypatch.setattr(
            huggingface_hub, "hf_hub_download", lambda filename, **options: str(raw / filename)
        )
    saved = tmp_path / "verls"
    saved.mkdir()
    for form in ("sft", "rm", "rl") if one.dataset == "full_hh_rlhf" else ("",):
        (saved / form).mkdir(exist_ok=True)
        chosen = ("--split", form) if form else ()
        monkeypatch.setattr(sys, "argv", [str(script), "--local_dir", str(saved), *chosen])
        runpy.run_path(str(script), run_name="__main__")
    found = {path.relative_to(saved).with_suffix("").as_posix(): path for path in saved.rglob("*.parquet")}
    return {
        split: pq.read_table(path).to_pylist()
        for split, path in sorted(found.items())
        if split in files or one.dataset == "full_hh_rlhf"
    }


def _retool(one: StoredRows, tag: str, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
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
    made = runpy.run_path(str(_source(one.script, tmp_path, tag)))
    ready = made["CustomRLHFDataset"]()
    if one.dataset == "aime":
        source = {"data_source": "Maxwell-Jia/AIME_2024"}
        return list(rows.map(ready.map_fn, fn_kwargs=source, remove_columns=rows.column_names))
    return list(rows.map(ready.map_fn2))


def _source(path: str, folder: Path, revision: str) -> Path:
    """A file of the clone, which may be bare."""
    text = subprocess.run(
        ["git", "-C", str(CLONE), "show", f"{revision}:{path}"], check=True, capture_output=True
    ).stdout
    copy = folder / Path(path).name
    copy.write_bytes(text)
    return copy
