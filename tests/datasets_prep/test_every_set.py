"""Every dataset, from its true raw form to rows that everybody reads and whose own references score in full."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rewardkit.checks.check_files import CheckSettings, check_files
from rewardkit.datasets_prep import DATASETS
from rewardkit.datasets_prep.common.recipe import PrepResult
from rewardkit.datasets_prep.common.schema import IMAGE_SCHEMA, SCHEMA
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.verification import verify_file
from rewardkit.errors import InputError
from rewardkit.sandbox.levels import why_not
from rewardkit.scoring.scorer import Scorer
from tests.datasets_prep.provenance import read_provenance
from tests.datasets_prep.raw_forms import FORMS, IFEVAL, SOLVED, write

MADE = {"arithmetic": {"n_train": 3, "n_test": 2}, "reasoning_gym": {"n_train": 4, "n_test": 2}}
"""Sets that read nothing."""
CASES = [(name, place) for name, forms in FORMS.items() for place in range(len(forms))]
CASES += [(name, 0) for name in MADE]
LOOK = CheckSettings()
REPEATS = ("leakage", "duplicate", "contradiction")
"""Our raw forms ask the same questions again and again; the published sets do not."""
PREFERENCES = ("full_hh_rlhf", "hh-rlhf")
Prepare = Callable[[str, int], tuple[Path, PrepResult]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepare:
    folder = tmp_path_factory.mktemp("sets")
    done: dict[tuple[str, int], tuple[Path, PrepResult]] = {}

    def prepare(name: str, place: int) -> tuple[Path, PrepResult]:
        if (name, place) not in done:
            done[name, place] = _prepare(folder / f"{name}{place}", name, place)
        return done[name, place]

    return prepare


def _prepare(folder: Path, name: str, place: int) -> tuple[Path, PrepResult]:
    run = DATASETS[name].load()
    if name in MADE:
        if name == "reasoning_gym" and importlib.util.find_spec("reasoning_gym") is None:
            pytest.skip("the package reasoning_gym is not installed")
        return folder / "out", run(folder / "out", **MADE[name])
    raw = write(FORMS[name][place], folder / "raw")
    return folder / "out", run(folder / "out", PrepSettings(raw=raw))


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer() as made:
        yield made


def test_every_dataset_of_the_table_is_tried() -> None:
    assert {name for name, _ in CASES} | {"custom"} == set(DATASETS)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "place"), CASES)
def test_its_rows_have_the_one_schema_score_in_full_and_pass_check(
    name: str, place: int, prepared: Prepare, scorer: Scorer
) -> None:
    _, made = prepared(name, place)
    assert made.files
    for split, file in made.files.items():
        if name in PREFERENCES:
            continue
        schema = IMAGE_SCHEMA if name == "geo3k" else SCHEMA
        table = pq.read_table(file.path)
        assert table.schema.equals(schema)
        assert set(table["extra_info"].combine_chunks().field("split").to_pylist()) == {split}
        for row in table.to_pylist():
            has_what_verl_reads(row)
        if table["ability"][0].as_py() == "code" and why_not("warm") and why_not("guard"):
            pytest.skip("no isolation holds on this host")
        assert verify_file(file.path, scorer).failures == ()
    _, found = check_files([part for file in made.files.values() for part in file.parts], scorer, LOOK)
    odd = [row for one in found if one.check == "ground truth" for row in one.rows]
    assert sorted(odd) == sorted(row for one in made.unread_truths.values() for row in one.rows)
    images = ("training",) if name == "geo3k" else ()  # which `rewardkit train` does not read
    wrong = [one for one in found if one.check not in (*REPEATS, *images) and name not in PREFERENCES]
    wrong = [one for one in wrong if not place] + [one for one in found if one.level == "error"]
    assert [one.line() for one in wrong if one.check != "leakage"] == []


def has_what_verl_reads(row: dict[str, Any]) -> None:
    """Rules of its RLHFDataset: a chat under `prompt`, a text as ground truth, an integer index, images in order."""
    assert row["prompt"]
    assert {message["role"] for message in row["prompt"]} <= {"system", "user", "assistant"}
    assert isinstance(row["reward_model"]["ground_truth"], str)
    assert row["reward_model"]["style"] == "rule"
    assert isinstance(row["data_source"], str)
    assert isinstance(row["extra_info"]["index"], int)
    assert row["agent_name"] == "single_turn_agent"
    marks = sum(message["content"].count("<image>") for message in row["prompt"])
    assert marks == len(row.get("images") or [])


SPLITS = {
    "math500": {"test"},
    "aime": {"test"},
    "amc": {"test"},
    "olympiad": {"test"},
    "humaneval": {"test"},
    "humaneval-x": {"test"},
    "multipl-e": {"test"},
    "hellaswag": {"train", "test"},
    "mmlu-pro": {"validation", "test"},
    "arc": {"train", "validation", "test"},
    "code_contests": {"train", "validation", "test"},
    "squad": {"train", "test"},
    "ifbench": {"test"},
    "bfcl": {"test"},
    "skywork": {"train"},
    "kodcode": {"train"},
}


@pytest.mark.parametrize("name", SPLITS)
def test_a_test_set_becomes_test_whatever_its_file_is_called(name: str, prepared: Prepare) -> None:
    for place in range(len(FORMS[name])):
        assert set(prepared(name, place)[1].files) == SPLITS[name]


def test_what_is_left_out_is_named(prepared: Prepare) -> None:
    def said(name: str, place: int = 0) -> str:
        made = prepared(name, place)[1]
        return "; ".join((*made.notes, *made.unread))

    assert "skipped rows: 1 (an earlier row has the same question)" in said("dapo-math")
    assert "skipped rows: 1 (no answer found)" in said("numina")
    assert "skipped rows: 1 (the program reads and writes files)" in said("codeforces")
    assert "use_with_caution-00000-of-00001.parquet ('use_with_caution' is another part" in said("kodcode")
    assert "BFCL_v4_multi_turn_base.json ('multi_turn' is another part of the set)" in said("bfcl")
    assert "data/train_socratic.jsonl ('socratic' is another part of the set)" in said("gsm8k")
    assert "red_team_attempts.jsonl.gz" in said("hh-rlhf")


def rows(prepared: Prepare, name: str, split: str, place: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(prepared(name, place)[1].files[split].path).to_pylist()
    return found


def test_chats_stay_as_published_and_the_problem_stands_alone(prepared: Prepare) -> None:
    (row,) = rows(prepared, "dapo-math", "train")
    assert row["prompt"][0]["content"].startswith("Solve the following.")
    assert (row["extra_info"]["question"], row["ground_truth"]) == ("Find $2+3$.", "5")


def test_options_are_lettered_and_numbers_become_letters(prepared: Prepare) -> None:
    (row,) = rows(prepared, "arc", "test")
    assert row["ground_truth"] == "A"
    assert "(A) Mars\n(B) Sun\n(C) Moon" in row["prompt"][0]["content"]
    assert json.loads(row["extra_info"]["metadata"])["choices"] == ["Mars", "Sun", "Moon"]
    (row,) = rows(prepared, "gpqa", "test")
    told = json.loads(row["extra_info"]["metadata"])
    assert told["choices"]["ABCD".index(row["ground_truth"])] == "Neon"
    assert (sorted(told["order"]), told["seed"]) == ([0, 1, 2, 3], 0)
    assert read_provenance(prepared("gpqa", 0)[1].files["test"].path)["seed"] == 0
    assert read_provenance(prepared("arc", 0)[1].files["test"].path)["seed"] is None


def test_images_are_bytes_and_marks_agree_with_them(prepared: Prepare) -> None:
    (row,) = rows(prepared, "geo3k", "train")
    assert row["images"][0]["bytes"].startswith(b"\x89PNG")
    assert row["prompt"][0]["content"].count("<image>") == len(row["images"])


def test_several_spans_are_one_answer_and_aliases_are_several(prepared: Prepare) -> None:
    assert [r["ground_truth"] for r in rows(prepared, "drop", "train")] == ['[["Ann", "Bob"]]']
    assert [r["ground_truth"] for r in rows(prepared, "drop", "test")] == ['["3"]']
    assert [r["ground_truth"] for r in rows(prepared, "drop", "train", 1)] == ['["5", "five"]']
    assert [r["ground_truth"] for r in rows(prepared, "nq", "test")] == [
        '["Goethe", "Johann Wolfgang von Goethe"]'
    ]
    assert [r["data_source"] for r in rows(prepared, "searchr1", "test")] == ["searchR1_hotpotqa"]


def test_nulls_among_the_arguments_of_instructions_are_dropped(prepared: Prepare) -> None:
    (row,) = rows(prepared, "ifeval", "test", 1)
    assert json.loads(row["ground_truth"])["kwargs"] == [
        {},
        {"relation": "at least", "keyword": "hello", "frequency": 2},
    ]


def single_turn(prepared: Prepare) -> list[Path]:
    """One file of every single-turn set."""
    names = [name for name, place in CASES if not place and name not in (*PREFERENCES, "geo3k")]
    return [next(iter(prepared(name, 0)[1].files.values())).path for name in names]


def test_datasets_reads_every_file_alone_and_all_together(
    prepared: Prepare, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    paths = [str(path) for path in single_turn(prepared)]
    together = datasets.load_dataset("parquet", data_files=paths, split="train", cache_dir=str(tmp_path))
    assert together.num_rows == sum(pq.read_metadata(path).num_rows for path in paths)
    assert together[0]["extra_info"]["split"]
    for name in ("geo3k", "full_hh_rlhf"):
        file = next(iter(prepared(name, 0)[1].files.values()))
        alone = datasets.load_dataset(
            "parquet", data_files=str(file.path), split="train", cache_dir=str(tmp_path)
        )
        assert alone.num_rows == file.rows


def test_pandas_and_duckdb_read_every_file(prepared: Prepare) -> None:
    pandas = pytest.importorskip("pandas")
    database = pytest.importorskip("duckdb").connect()
    for name, place in CASES:
        for file in prepared(name, place)[1].files.values():
            found = database.execute(f"select count(*) from '{file.path}'").fetchall()
            assert found == [(file.rows,)]
            assert len(pandas.read_parquet(file.path)) == file.rows
    path = single_turn(prepared)[0]
    assert all(
        question for (question,) in database.execute(f"select extra_info.question from '{path}'").fetchall()
    )


def verls_rows(paths: list[Path], cache: Path, **config: Any) -> list[dict[str, Any]]:
    """What verl's own loader makes of some files."""
    loader = pytest.importorskip("verl.utils.dataset.rl_dataset", exc_type=ImportError)
    from omegaconf import OmegaConf

    from rewardkit.demo.model import make_tokenizer

    tokenizer = make_tokenizer(["What is 1+1?"], vocab_size=300)
    settings = OmegaConf.create({"cache_dir": str(cache), "filter_overlong_prompts": False, **config})
    files = [str(path) for path in paths]
    # It asks of a processor only that there is one.
    dataset = loader.RLHFDataset(data_files=files, tokenizer=tokenizer, config=settings, processor=object())
    return [dataset[place] for place in range(len(dataset))]


def test_verl_itself_reads_all_single_turn_sets_together(prepared: Prepare, tmp_path: Path) -> None:
    paths = single_turn(prepared)
    rows = verls_rows(paths, tmp_path)
    assert len(rows) == sum(pq.read_metadata(path).num_rows for path in paths)
    assert all(
        row["reward_model"]["ground_truth"] and row["agent_name"] == "single_turn_agent" for row in rows
    )
    assert all(row["raw_prompt"][-1]["role"] == "user" for row in rows)


def test_verl_itself_reads_images_and_tools(prepared: Prepare, tmp_path: Path) -> None:
    (row,) = verls_rows([prepared("geo3k", 0)[1].files["train"].path], tmp_path / "cache")
    image, text = row["raw_prompt"][-1]["content"]
    assert (image["type"], image["image"].size, text["type"]) == ("image", (1, 1), "text")
    raw = write(FORMS["gsm8k"][0], tmp_path / "raw")
    made = DATASETS["gsm8k"].load()(
        tmp_path / "out", PrepSettings(raw=raw, agent="tool_agent", interaction="gsm8k")
    )
    row = verls_rows([made.files["train"].path], tmp_path / "cache", need_tools_kwargs=True)[0]
    assert row["tools_kwargs"]["calc_gsm8k_reward"]["create_kwargs"]["ground_truth"] == "36"
    assert row["interaction_kwargs"]["name"] == "gsm8k"
    assert (row["agent_name"], row["index"]) == ("tool_agent", 0)


def test_no_test_problem_of_reasoning_gym_is_a_training_problem(tmp_path: Path) -> None:
    pytest.importorskip("reasoning_gym")
    prepare = DATASETS["reasoning_gym"].load()
    prepared = prepare(tmp_path / "out", task=("chain_sum",), n_train=300, n_test=100)
    questions = [
        {row["extra_info"]["question"] for row in pq.read_table(file.path).to_pylist()}
        for file in prepared.files.values()
    ]
    assert [len(part) for part in questions] == [300, 100]
    assert not questions[0] & questions[1]


@pytest.mark.parametrize(
    ("name", "good", "odd", "said"),
    [
        (
            "ifeval",
            IFEVAL,
            {"instruction_id_list": ["nope:nope"], "kwargs": [{}]},
            "instructions cannot score it: there is no checker for the instruction 'nope:nope'",
        ),
        (
            "deepscaler",
            SOLVED,
            {"problem": "Else?", "answer": {"value": 5}},
            "math cannot score it: the ground truth is a JSON object (value)",
        ),
    ],
)
def test_a_ground_truth_that_its_reward_refuses_is_named_with_its_row(
    name: str, good: dict[str, Any], odd: dict[str, Any], said: str, tmp_path: Path
) -> None:
    raw = tmp_path / "raw.jsonl"
    raw.write_text("".join(json.dumps(row) + "\n" for row in (good, good | odd)))
    with pytest.raises(InputError) as error:
        DATASETS[name].load()(tmp_path / "out", PrepSettings(raw=raw))
    assert f"raw.jsonl row 1: {said}" in str(error.value)
    assert "--map" not in str(error.value), "which is of `prep custom`"
    made = DATASETS[name].load()(tmp_path / "out", PrepSettings(raw=raw, skip_bad=True))
    assert (sum(file.rows for file in made.files.values()), made.dropped) == (1, 1)


def test_messages_of_bfcl_alternate(tmp_path: Path) -> None:
    said = [("system", "Be brief."), ("user", "Double 4."), ("assistant", "8"), ("user", "Now 5.")]
    turn = [{"role": role, "content": text} for role, text in said]
    files = FORMS["bfcl"][0]
    first, second = files["BFCL_v4_simple_python.json"]
    rows = [{**first, "question": [turn]}, second]
    raw = write({**files, "BFCL_v4_simple_python.json": rows}, tmp_path / "raw")
    made = DATASETS["bfcl"].load()(tmp_path / "out", PrepSettings(raw=raw))
    prompts = [row["prompt"] for row in pq.read_table(made.files["test"].path).to_pylist()]
    (prompt,) = [one for one in prompts if "Now 5." in one[-1]["content"]]
    assert [message["role"] for message in prompt] == ["system", "user", "assistant", "user"]
    assert prompt[1]["content"] == "Be brief.\n\nDouble 4."
