"""Converts raw datasets to parquet files with a common schema.

Each dataset or family of datasets has its own module, which is imported only when it is used. `DATASETS`
contains all datasets. The entries are in `tables/`, grouped by kind. The shared code is in `common/`, where
`recipe` is the best module to read first.
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
    """Return the dataset with this name, or None if it is unknown.

    Case is ignored, and `-` and `_` are equivalent.
    """
    plain = {known.replace("-", "_"): known for known in DATASETS}
    known = plain.get(name.casefold().replace("-", "_"))
    return None if known is None else DATASETS[known]
