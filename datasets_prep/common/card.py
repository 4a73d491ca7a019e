"""A dataset card beside the data: README.md with the hub's YAML, croissant.json (mlcommons.org/croissant
1.0), and, where there are many raw files, `raw_files.sha256` for `sha256sum --check`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from rewardkit.datasets_prep.common.sources import sha256sums
from rewardkit.files.publishing import published

RAW_FILES = "raw_files.sha256"
_TYPES = {"string": "sc:Text", "int64": "sc:Integer", "bool": "sc:Boolean", "double": "sc:Float"}
_LICENCES = {
    "MIT": "mit",
    "Apache-2.0": "apache-2.0",
    "CC-BY-4.0": "cc-by-4.0",
    "CC-BY-SA-4.0": "cc-by-sa-4.0",
    "CC-BY-NC-4.0": "cc-by-nc-4.0",
}
"""The hub's words for the licences that it knows."""
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def card(
    provenance: Mapping[str, Any],
    digests: tuple[tuple[str, str], ...],
    folder: Path,
    splits: Mapping[str, list[Path]],
) -> None:
    """Write the card of the files of some splits, which lie in a folder, into it."""
    files = {split: [p.relative_to(folder).as_posix() for p in paths] for split, paths in splits.items()}
    rows = {split: sum(pq.read_metadata(p).num_rows for p in paths) for split, paths in splits.items()}
    with published(folder / "README.md") as file:
        file.write(_readme(provenance, files, rows).encode())
    with published(folder / "croissant.json") as file:
        file.write(json.dumps(_croissant(provenance, files, folder), indent=2).encode() + b"\n")
    if "sha256_of_list" in provenance["source"]:
        with published(folder / RAW_FILES) as file:
            file.write(sha256sums(digests).encode())


def is_card(path: Path) -> bool:
    """Return whether a file is part of a card that an earlier run wrote: it says nothing of newer files."""
    if path.name == RAW_FILES:
        return True
    if path.name not in ("README.md", "croissant.json"):
        return False
    return "repared by rewardkit " in path.read_text(encoding="utf-8", errors="replace")


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


def _croissant(provenance: Mapping[str, Any], files: Mapping[str, list[str]], folder: Path) -> dict[str, Any]:
    name = str(provenance["dataset"])
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": f"{name}, prepared by rewardkit {provenance['rewardkit_version']}",
        "license": str(provenance["licence"] or "unknown"),
        "url": f"https://huggingface.co/datasets/{provenance['source'].get('hub', '')}".rstrip("/"),
        "distribution": [_file_object(folder / path, path) for paths in files.values() for path in paths],
        "recordSet": [
            _record_set(split, paths[0], pq.read_schema(folder / paths[0])) for split, paths in files.items()
        ],
    }


def _file_object(path: Path, name: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }


def _record_set(split: str, path: str, schema: pa.Schema) -> dict[str, Any]:
    """The columns of a split; of its shards the first stands for all."""
    fields = [_field(f"{split}/{column.name}", column, path, (column.name,)) for column in schema]
    return {"@type": "cr:RecordSet", "@id": split, "name": split, "field": fields}


def _field(identity: str, column: pa.Field, path: str, steps: tuple[str, ...]) -> dict[str, Any]:
    """A column, or what is within one: `steps` lead from the column on."""
    kind = column.type
    made: dict[str, Any] = {"@type": "cr:Field", "@id": identity, "name": identity}
    if pa.types.is_list(kind):
        made["repeated"] = True
        kind = kind.value_type
        steps = (*steps, "[*]")
    if pa.types.is_struct(kind):
        made["subField"] = [
            _field(f"{identity}/{inner.name}", inner, path, (*steps, inner.name)) for inner in kind
        ]
        return made
    made["dataType"] = _TYPES.get(str(kind), "sc:Text")
    made["source"] = {"fileObject": {"@id": path}, "extract": {"column": steps[0]}}
    if len(steps) > 1:
        made["source"]["transform"] = {"jsonPath": "$." + ".".join(steps[1:])}
    return made
