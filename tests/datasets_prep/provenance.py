"""What a prepared file says of where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from rewardkit.datasets_prep.common.writer import PROVENANCE_KEY


def read_provenance(path: Path) -> dict[str, object]:
    """Return the provenance of a file that `write_splits` made."""
    found: dict[str, object] = json.loads(pq.read_metadata(path).metadata[PROVENANCE_KEY.encode()])
    return found
