"""`rewardkit.prepare`: a dataset by its name, with the settings of its command, from Python."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import rewardkit
from rewardkit.datasets_prep import DATASETS
from rewardkit.datasets_prep.cached import prepared
from rewardkit.datasets_prep.common.prepare import common_hints, own_parameters
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.errors import InputError, OptionsError

SMALL: dict[str, Any] = {"level": "tiny", "n_train": 5, "n_test": 4}
GSM8K = Path(__file__).parents[1] / "data" / "gsm8k"


def test_a_dataset_is_written_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps: dict[str, int] = {}
    found = rewardkit.prepare(
        "arithmetic", tmp_path / "data", **SMALL, on_progress=lambda step, done, _: steps.update({step: done})
    )
    assert found.files == {split: tmp_path / "data" / f"{split}.parquet" for split in ("train", "test")}
    assert len(pq.read_table(found.files["train"])) == 5
    assert (found.failures, found.as_dict()["splits"]["test"]["verified"]) == (0, 4)
    assert "train: 5 rows in" in str(found) and "0 of 4 solutions" in str(found)
    assert steps["writing train"] == 5 and steps["verifying test"] == 4
    assert capsys.readouterr() == ("", ""), "a function prints nothing"
    with pytest.raises(InputError, match="already exists"):
        rewardkit.prepare("arithmetic", tmp_path / "data", **SMALL)
    assert (
        rewardkit.prepare("arithmetic", tmp_path / "data", **SMALL, force=True, verify="off").verified == {}
    )


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    (tmp_path / "template.txt").write_text("Q: {question}")
    found = rewardkit.prepare(
        "gsm8k", tmp_path / "data", raw=str(GSM8K), template=str(tmp_path / "template.txt"), limit=1
    )
    (row,) = pq.read_table(found.files["test"]).to_pylist()
    assert row["prompt"][-1]["content"].startswith("Q: ")


@pytest.mark.parametrize(
    ("dataset", "settings", "said"),
    [
        ("gsm8x", {}, "did you mean gsm8k"),
        ("arithmetic", {"levle": "tiny"}, "did you mean level"),
        ("arithmetic", {"n_train": "many"}, "n_train must be int"),
        ("arithmetic", {"shuffle": 1}, "shuffle must be bool"),
        ("arithmetic", {"limit": True}, "limit must be int"),
    ],
)
def test_what_cannot_be_prepared_is_refused_in_a_line(
    dataset: str, settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionsError, match=said):
        rewardkit.prepare(dataset, tmp_path / "data", **settings)
    assert not (tmp_path / "data").exists()


def test_filters_that_exclude_each_other_are_refused(tmp_path: Path) -> None:
    for given, said in (
        ({"dedup": 0.2}, "similarity from 0.5 to 1"),
        ({"dedup": "nearly"}, "similarity from 0.5 to 1"),
        ({"verify": "maybe"}, "keep, drop or fail"),
        ({"like": "verl", "dedup": "exact"}, "--like cannot be combined"),
    ):
        with pytest.raises(InputError, match=said):
            rewardkit.prepare("gsm8k", tmp_path / "data", raw=GSM8K, **given)  # type: ignore[arg-type]


def test_no_setting_of_a_dataset_has_the_name_of_an_argument() -> None:
    arguments = {*inspect.signature(rewardkit.prepare).parameters} - {"settings"}
    for dataset in DATASETS.values():
        assert not arguments & {*own_parameters(dataset), *common_hints()}, dataset.name


def test_two_processes_may_prepare_one_dataset_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the process that ends first is used by both."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    dataset, settings, own = DATASETS["arithmetic"], PrepSettings(), {"level": "tiny"}
    folder = prepared(dataset, settings, own)
    held = tmp_path / "held"
    folder.rename(held)
    load = type(dataset).load

    def load_late(self: Any) -> Any:
        made = load(self)

        def prepare(*given: Any, **more: Any) -> Any:
            found = made(*given, **more)
            held.rename(folder)  # by the other process
            return found

        return prepare

    monkeypatch.setattr(type(dataset), "load", load_late)
    assert prepared(dataset, settings, own) == folder and any(folder.rglob("*.parquet"))
