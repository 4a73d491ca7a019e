"""Converts raw datasets to parquet files with one schema. Each dataset, or family of datasets, has a module.

`DATASETS` is the table of all datasets, listed by kind in `tables/`. A dataset's module is imported only when
the dataset is used. `common/` contains the shared code; start with `recipe`.
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
    """Return the dataset with a name, ignoring case and treating `-` and `_` as the same character."""
    plain = {known.replace("-", "_"): known for known in DATASETS}
    known = plain.get(name.casefold().replace("-", "_"))
    return None if known is None else DATASETS[known]
