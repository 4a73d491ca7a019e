"""Writes a dataset card for the hub next to the data.

The card is a README.md that starts with the hub's YAML metadata. If there are many raw files, their digests
are written to `raw_files.sha256`, in the format of `sha256sum --check`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from rewardkit.datasets_prep.common.sources import sha256sums
from rewardkit.files.publishing import published

RAW_FILES = "raw_files.sha256"
_LICENCES = {
    "MIT": "mit",
    "Apache-2.0": "apache-2.0",
    "CC-BY-4.0": "cc-by-4.0",
    "CC-BY-SA-4.0": "cc-by-sa-4.0",
    "CC-BY-NC-4.0": "cc-by-nc-4.0",
}
"""Identifiers of the licences on the hub."""


def card(
    provenance: Mapping[str, Any],
    digests: tuple[tuple[str, str], ...],
    folder: Path,
    splits: Mapping[str, list[Path]],
) -> None:
    """Write a dataset card to the folder that contains the files of the splits."""
    files = {split: [p.relative_to(folder).as_posix() for p in paths] for split, paths in splits.items()}
    rows = {split: sum(pq.read_metadata(p).num_rows for p in paths) for split, paths in splits.items()}
    with published(folder / "README.md") as file:
        file.write(_readme(provenance, files, rows).encode())
    if "sha256_of_list" in provenance["source"]:
        with published(folder / RAW_FILES) as file:
            file.write(sha256sums(digests).encode())


def is_card(path: Path) -> bool:
    """Return True if a file belongs to an earlier run's card, which does not describe the new files."""
    if path.name == RAW_FILES:
        return True
    if path.name != "README.md":
        return False
    return "Prepared by rewardkit " in path.read_text(encoding="utf-8", errors="replace")


def _readme(provenance: Mapping[str, Any], files: Mapping[str, list[str]], rows: Mapping[str, int]) -> str:
    licence = provenance["licence"]
    known = _LICENCES.get(str(licence))
    head: dict[str, Any] = {"pretty_name": provenance["dataset"]}
    head |= {"license": known} if known else {"license": "other", "license_name": str(licence or "unknown")}
    head["configs"] = [
        {
            "config_name": "default",
            "data_files": [{"split": split, "path": paths} for split, paths in files.items()],
        }
    ]
    table = "".join(f"| {split} | {rows[split]:,} | {', '.join(files[split][:3])} |\n" for split in files)
    source = json.dumps(provenance["source"], indent=2)
    arguments = json.dumps(provenance["arguments"], indent=2, default=str)
    made_by = f"Prepared by rewardkit {provenance['rewardkit_version']}."
    return (
        f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n# {provenance['dataset']}\n\n"
        f"{made_by} Licence of the data: {licence or 'unknown'}.\n\n"
        f"| split | rows | files |\n|---|---|---|\n{table}\n"
        f"Source:\n\n```json\n{source}\n```\n\nArguments:\n\n```json\n{arguments}\n```\n"
    )
