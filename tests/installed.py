"""Packages that tests install: a folder with one module and its entry points, as pip leaves them on the path."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from rewardkit import extensions


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    entry_points: Mapping[str, Mapping[str, str]],
    *,
    name: str = "plugged",
    source: str = "",
) -> None:
    """Put the module `name` with its entry points (table -> row -> target) on the path of this process."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / f"{name}.py").write_text(source)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    sections = [
        f"[rewardkit.{table}]\n" + "".join(f"{row} = {target}\n" for row, target in rows.items())
        for table, rows in entry_points.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(sections))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(extensions, "installed_rows", cache(extensions.installed_rows.__wrapped__))
