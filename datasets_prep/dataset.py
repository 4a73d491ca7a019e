"""Entry in the table of datasets, with the data needed before the dataset's module is imported."""

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
    """Name of the dataset on the hub, or a URL."""
    rows: str
    """Number of rows by split according to the dataset's card, such as `train 7,473, test 1,319`."""
    data_source: str
    """Data source of the rows, which decides their reward, or an example if rows have different ones."""
    raw: str
    """Arguments after the dataset's name on the command line, in a working example."""
    module: str = ""
    """Module in `package`, by default the name of the dataset. After a colon, the name of the recipe in the
    module or in its table `RECIPES`."""
    package: str = "rewardkit.datasets_prep"
    """Package of the module. If empty, `module` is the full name."""
    verifiable: bool = True
    """True if the rows have solutions and a rule that scores them."""

    @property
    def example(self) -> str:
        """Return a working command line that prepares the dataset."""
        return f"rewardkit prep {self.name} {self.raw} --out data/{self.name}"

    def load(self) -> Callable[..., Any]:
        """Import the dataset's module and return its `prepare(out_dir, settings, *, ..., progress=None)`.

        The function's own keyword arguments, with their types, defaults and help texts, are the dataset's
        options on the command line.
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
