"""What a command line gives the rewards of its rows is used, or refused in one line; at every door."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from tests.generation.endpoints import Answer, Endpoint

USED, OTHER = "given/used", "gsm8k"
"""The data source that each given thing below is for, and one that none is for."""
MINE = """
import rewardkit

@rewardkit.reward("given/used")
def mine(sample):
    return float("4" in sample.response)
"""
GIVEN: dict[str, tuple[str, ...]] = {
    "a reward of a file": ("--reward", "mine.py"),
    "a function for a data source": ("--reward", f"{USED}=plain.py:score"),
    "a composition": ("--rewards", "composed.yaml"),
    "an option": ("--option", f"{USED}:method=strict"),
    "an option of a glob": ("--option", "given/*:method=strict"),
    "an options file": ("--options-file", "options.yaml"),
}
SCORES_USED = ("--rewards", "base.yaml")
"""What scores the rows of USED where the given thing is options only."""


class Model(Endpoint):
    """A server that answers 4."""

    def answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        message = {"role": "assistant", "content": "#### 4"}
        return 200, {"choices": [{"message": message, "finish_reason": "stop"}]}, {}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    Path("plain.py").write_text(
        "def score(data_source, solution_str, ground_truth, extra_info):\n    return float('4' in solution_str)\n"
    )
    Path("composed.yaml").write_text(f"data_sources: [{USED}]\ngate: {{reward: gsm8k, then: [repetition]}}\n")
    Path("options.yaml").write_text(f"{USED}: {{method: strict}}\n")
    return tmp_path


@pytest.fixture
def model() -> Iterator[Model]:
    with closing(Model()) as server:
        yield server


def rows(sources: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "data_source": source,
            "prompt": f"{i} + {4 - i}?",
            "response": "#### 4" if i % 2 else "#### 5",
            "ground_truth": "4",
            "extra_info": {"answer": "#### 4"},
        }
        for i, source in enumerate(sources)
        for _ in range(2)
    ]


def written(path: Path, sources: list[str], *, responses: bool = True) -> str:
    found = rows(sources)
    if not responses:
        found = [{key: value for key, value in row.items() if key != "response"} for row in found]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(found), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return str(path)


SOURCES = {"all": [USED] * 4, "some": [OTHER, USED, OTHER, OTHER], "none": [OTHER] * 4}
DOORS: dict[str, Callable[[Path, list[str], Model], list[str]]] = {
    "score parquet": lambda f, s, m: ["score", written(f / "r.parquet", s), "--out", "out.parquet"],
    "score jsonl": lambda f, s, m: ["score", written(f / "r.jsonl", s), "--out", "out.jsonl"],
    "eval": lambda f, s, m: ["eval", written(f / "r.jsonl", s)],
    "eval --model": lambda f, s, m: [
        *("eval", written(f / "p.parquet", s, responses=False), "--model", "m", "--url", m.url)
    ],
    "generate --score": lambda f, s, m: [
        *("generate", written(f / "p.parquet", s, responses=False), "--model", "m", "--url", m.url),
        *("--score", "--out", "out.parquet"),
    ],
    "gradient": lambda f, s, m: ["gradient", written(f / "r.jsonl", s)],
    "audit": lambda f, s, m: ["audit", written(f / "p.parquet", s * 2, responses=False)],
    "check": lambda f, s, m: ["check", written(f / "p.jsonl", s, responses=False)],
    "lock": lambda f, s, m: ["lock", written(f / "r.jsonl", s)],
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("which", SOURCES)
def test_a_composition_is_used_or_refused_at_every_door(
    door: str, which: str, folder: Path, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*DOORS[door](folder, SOURCES[which], model), "--rewards", "composed.yaml"]
    code = run(words)
    said = capsys.readouterr().err
    if which != "none":
        assert code in (0, 1), said
        assert "no row uses" not in said
        return
    assert code == 2
    assert "--rewards composed.yaml: no row " in said and f"'composed' ({USED})" in said
    assert f" are {OTHER}" in said
    if door in ("score parquet", "score jsonl", "generate --score", "lock"):
        assert not [*folder.glob("out.*"), *folder.glob("rewardkit.lock")], "it is said before the work"


@pytest.mark.parametrize("what", GIVEN)
@pytest.mark.parametrize("which", SOURCES)
def test_all_that_is_given_is_used_or_refused(
    what: str, which: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = GIVEN[what]
    if "option" in what:
        Path("base.py").write_text(
            "import rewardkit\nfrom dataclasses import dataclass\n"
            "@dataclass(frozen=True)\nclass O:\n    method: str = ''\n"
            f"@rewardkit.reward('{USED}', options=O)\n"
            "def base(sample, options: O):\n    return 1.0\n"
        )
        given = ("--reward", "base.py", *given)
    code = run(["score", written(folder / "r.jsonl", SOURCES[which]), "--out", "out.jsonl", *given])
    said = capsys.readouterr().err
    assert code == (2 if which == "none" else 0), said
    if which == "none":
        errors = [line for line in said.splitlines() if line.startswith("error:")]
        assert len(errors) == 1 and "no row uses" in errors[0]


def test_a_file_is_used_if_something_of_it_is_and_each_option_by_itself(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder / "r.jsonl", SOURCES["some"])
    Path("several.yaml").write_text(
        f"a: {{data_sources: [{USED}], sum: [gsm8k]}}\nb: {{data_sources: [given/unused], sum: [gsm8k]}}\n"
    )
    assert run(["score", path, "--out", "out.jsonl", "--rewards", "several.yaml"]) == 0
    path = written(folder / "others.jsonl", [OTHER])
    assert run(["score", path, "--out", "others.scored.jsonl", "--rewards", "several.yaml"]) == 2
    assert "--rewards several.yaml: no row uses" in capsys.readouterr().err
    words = ["--option", "gsm8k:method=flexible", "--option", "math:preset=strict"]
    assert run(["score", written(folder / "g.jsonl", [OTHER]), "--out", "out.jsonl", *words]) == 2
    assert "--option math:preset=strict: no row" in capsys.readouterr().err


def test_a_judge_is_asked_or_refused(folder: Path, model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    Path("judge.yaml").write_text(f"{{model: m, url: '{model.url}', retries: 0}}")
    words = ["score", written(folder / "r.jsonl", [OTHER]), "--out", "out.jsonl", "--judge", "judge.yaml"]
    assert run([*words, "--for", "essays/*"]) == 2
    assert "--judge judge.yaml: no row" in capsys.readouterr().err
    assert run([*words, "--for", OTHER, "--for", "essays/*"]) == 2
    assert "--for essays/*: no row uses it" in capsys.readouterr().err
    assert not Path("out.jsonl").exists()


def test_a_member_of_a_composition_is_used(folder: Path) -> None:
    Path("member.py").write_text(MINE.replace("given/used", "given/member"))
    Path("of_mine.yaml").write_text(f"data_sources: [{USED}]\nsum: [mine, {{reward: gsm8k, weight: 0.5}}]\n")
    words = ["--reward", "member.py", "--rewards", "of_mine.yaml", "--out", "out.jsonl"]
    assert run(["score", written(folder / "r.jsonl", [USED]), *words]) == 0


def test_a_time_limit_is_not_for_compositions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--rewards", "composed.yaml", "--timeout", "3", "--out", "out.jsonl"]
    assert run(["score", written(folder / "r.jsonl", [USED]), *words]) == 2
    assert "--timeout 3: no row" in capsys.readouterr().err
    assert run(["score", written(folder / "s.jsonl", [USED, OTHER]), *words]) == 0


def test_what_only_the_end_of_a_large_file_tells_is_said_there_and_keeps_the_scores(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rewardkit.files.formats.CHUNK_ROWS", 50)
    path = written(folder / "r.jsonl", [OTHER] * 200)
    assert run(["score", path, "--rewards", "composed.yaml", "--out", "out.jsonl"]) == 2
    assert "the reward 'composed'" in capsys.readouterr().err
    assert len(Path("out.jsonl").read_text().splitlines()) == 400
    late = written(folder / "late.jsonl", [*[OTHER] * 200, USED])
    assert run(["score", late, "--rewards", "composed.yaml", "--out", "late_out.jsonl"]) == 0


def test_a_run_that_is_complete_already_uses_what_it_used(folder: Path) -> None:
    words = ["score", written(folder / "r.jsonl", [USED]), "--rewards", "composed.yaml"]
    assert run([*words, "--out", "out.parquet"]) == 0
    assert run([*words, "--out", "out.parquet", "--resume"]) == 0


def test_replay_and_diff_use_what_they_are_given_or_refuse(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder / "r.jsonl", [OTHER])
    assert run(["score", path, "--out", "out.parquet"]) == 0
    assert run(["replay", "out.parquet", "--rewards", "composed.yaml"]) == 2
    assert "the reward 'composed'" in capsys.readouterr().err
    assert run(["diff", path, "--second", "gsm8k:method=flexible"]) == 0
    assert run(["diff", path, "--second", "math:preset=strict"]) == 2
    assert "--second math:preset=strict: no row uses" in capsys.readouterr().err
    assert run(["diff", path, "--second", "gsm8k:method=flexible", "--reward", "mine.py"]) == 2


def test_explain_and_prep_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--gold", "4", "--response", "#### 4", "--rewards", "composed.yaml"]
    assert run(["explain", "--data-source", OTHER, *words]) == 2
    assert "the reward 'composed'" in capsys.readouterr().err
    assert run(["explain", "--data-source", USED, *words]) == 0
    made = ["prep", "arithmetic", "--n-train", "1", "--n-test", "1", "--out", "made"]
    assert run([*made, "--rewards", "composed.yaml"]) == 2
    assert "the reward 'composed'" in capsys.readouterr().err


def test_the_name_of_a_column_is_read_or_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(folder / "r.jsonl", [OTHER])
    words = ["--data-source", OTHER, "--data-source-key", "data_source"]
    for command in (["score", path, "--out", "out.jsonl"], ["check", path]):
        assert run([*command, *words]) == 2
        assert "--data-source-key has no effect" in capsys.readouterr().err


def test_options_of_prompts_and_engines_are_used_or_refused(
    folder: Path, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder / "p.parquet", [OTHER], responses=False)
    asked = [
        {**row, "prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "?"}]}
        for row in rows([OTHER])
    ]
    pq.write_table(pa.Table.from_pylist(asked).drop_columns(["response"]), "asked.parquet")
    server = ["--model", "m", "--url", model.url, "--out", "out.parquet"]
    for file, words, message in (
        ("asked.parquet", ["--system", "S"], "--system: no row uses it"),
        ("asked.parquet", ["--template", "{prompt}!"], "--template: no row uses it"),
        (path, ["--gpu-memory-utilization", "0.5"], "--gpu-memory-utilization has no effect"),
        (path, ["--max-user-turns", "3"], "--max-user-turns has no effect: no row has a multi-turn agent"),
    ):
        assert run(["generate", file, *server, *words]) == 2
        assert message in capsys.readouterr().err
    assert run(["generate", path, *server, "--system", "S", "--template", "{prompt}!"]) == 0


def test_a_joined_file_that_fits_no_row_is_an_error(
    folder: Path, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("truths.jsonl").write_text(json.dumps({"id": "x", "ground_truth": "4", "data_source": OTHER}))
    Path("r.jsonl").write_text(json.dumps({"id": "y", "prompt": "2+2?", "response": "#### 4"}))
    join = ["--join", "truths.jsonl", "--on", "id"]
    assert run(["score", "r.jsonl", *join, "--out", "out.jsonl"]) == 1
    words = ["--model", "m", "--url", model.url, "--score", *join, "--out", "gen.parquet"]
    capsys.readouterr()
    assert run(["generate", "r.jsonl", *words]) == 2
    assert "--join: no row" in capsys.readouterr().err
