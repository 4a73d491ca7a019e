"""Converts raw datasets to parquet with one schema. One file for each dataset or family of datasets.

`DATASETS` is the table of all datasets, by kind in `tables/`; each is imported only when used. `common/` has
the shared code: start with `recipe`.
"""

from __future__ import annotations

from rewardkit.datasets_prep.dataset import Dataset
from rewardkit.datasets_prep.tables.code import CODE
from rewardkit.datasets_prep.tables.maths import MATHS
from rewardkit.datasets_prep.tables.others import OTHERS
from rewardkit.extensions import Table

__all__ = ["DATASETS", "Dataset", "find_dataset"]

DATASETS: Table[Dataset] = Table(
    "datasets", Dataset, {dataset.name: dataset for dataset in (*MATHS, *CODE, *OTHERS)}
)


def find_dataset(name: str) -> Dataset | None:
    """Return the dataset of a name: `code-contests` and `code_contests`, `MMLU` and `mmlu` are the same."""
    plain = {known.replace("-", "_"): known for known in DATASETS}
    known = plain.get(name.casefold().replace("-", "_"))
    return None if known is None else DATASETS[known]
