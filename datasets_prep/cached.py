"""Prepares a dataset once and caches it. The source, the version and the options determine the cache folder.

The cache is for commands that need a dataset as input, such as `rewardkit eval`. `rewardkit prep` instead
writes to a folder that the user chooses.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.datasets_prep.common.layout import named_files
from rewardkit.datasets_prep.common.prompts import read_template
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import described
from rewardkit.datasets_prep.dataset import Dataset
from rewardkit.errors import InputError, reason_of
from rewardkit.version import __version__

_WITHOUT_EFFECT = ("raw", "num_proc", "template", "card")


def prepared(dataset: Dataset, settings: PrepSettings, own: Mapping[str, Any]) -> Path:
    """Prepare a dataset unless it is cached, and return its folder with one parquet file per split.

    Without a revision, the dataset is fetched from the hub once and reused until its folder is deleted.

    Args:
        dataset: Dataset to prepare.
        settings: Settings that all datasets share.
        own: Dataset-specific settings.

    Raises:
        InputError: The raw data cannot be found or used, or the cache folder cannot be written.
        MissingDependencyError: No raw data is given and the package `datasets` is not installed.
    """
    settings.refuse(dataset.name, "shard_rows")
    folder = cache_folder() / f"{dataset.name}-{_key(dataset, settings, own)}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as made:
            dataset.load()(Path(made, "data"), settings, **own)
            try:
                Path(made, "data").rename(folder)
            except OSError:
                # Otherwise, another process has prepared the dataset in the meantime.
                if not folder.is_dir():
                    raise
    except OSError as error:
        why = f"{reason_of(error)}; set XDG_CACHE_HOME to use another folder"
        raise InputError(f"cannot write {folder}: {why}") from None
    return folder


def cache_folder() -> Path:
    """Return the cache folder for datasets, which is in XDG_CACHE_HOME or, if that is unset, in ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache").absolute() / "rewardkit" / "prepared"


def splits(folder: Path) -> dict[str, Path]:
    """Return the parquet file for each split in the folder of a prepared dataset."""
    files = sorted(folder.rglob("*.parquet"))
    return {file.relative_to(folder).with_suffix("").as_posix(): file for file in files}


def _key(dataset: Dataset, settings: PrepSettings, own: Mapping[str, Any]) -> str:
    values = {name: value for name, value in asdict(settings).items() if name not in _WITHOUT_EFFECT}
    about = {
        "dataset": dataset.name,
        "version": __version__,
        "settings": {**values, "template": read_template(settings.template)},
        "own": dict(own),
        "raw": None if settings.raw is None else described(named_files(settings.raw)),
    }
    return hashlib.sha256(msgspec.json.encode(about, enc_hook=str, order="sorted")).hexdigest()[:16]
