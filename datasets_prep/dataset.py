"""Defines an entry in the table of datasets. Reading an entry does not import the dataset's module."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Dataset:
    """Dataset that `rewardkit prep` can prepare."""

    name: str
    summary: str
    licence: str
    source: str
    """Name of the dataset on the hub, a URL, or a description of the origin."""
    rows: str
    """Number of rows in each split according to the dataset card, such as `train 7,473, test 1,319`."""
    data_source: str
    """Data source of the rows, which determines their reward, or one example if the rows have several data
    sources."""
    raw: str
    """Arguments that follow the dataset's name in the example command."""
    module: str = ""
    """Module in `package`, by default the name of the dataset. It may be followed by a colon and the name of
    a recipe in the module or in the module's table `RECIPES`."""
    package: str = "rewardkit.datasets_prep"
    """Package that contains the module. If empty, `module` is the full name of the module."""
    verifiable: bool = True
    """True if the rows have solutions that a rule can score."""

    @property
    def example(self) -> str:
        """Return an example command that prepares the dataset."""
        return f"rewardkit prep {self.name} {self.raw} --out data/{self.name}"

    def load(self) -> Callable[..., Any]:
        """Import the module and return its function `prepare(out_dir, settings, *, ..., progress=None)`.

        The dataset-specific keyword arguments of the function, with their types, defaults and help texts, are
        the dataset's options on the command line.
        """
        prepare: Callable[..., Any] = self._recipe().prepare
        return prepare

    def describe(self) -> str:
        """Return the docstring of the dataset's module, which describes the raw data."""
        return str(importlib.import_module(self._place()[0]).__doc__ or "").strip()

    def _recipe(self) -> Any:
        module, attribute = self._place()
        found = importlib.import_module(module)
        if not attribute:
            return found
        recipes = getattr(found, "RECIPES", {})
        return recipes[attribute] if attribute in recipes else getattr(found, attribute)

    def _place(self) -> tuple[str, str]:
        module, _, attribute = (self.module or self.name).partition(":")
        return f"{self.package}.{module}" if self.package else module, attribute
