"""One entry of the table of datasets, with all data that is needed before importing its module."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset of `rewardkit prep`."""

    name: str
    summary: str
    licence: str
    source: str
    """Publisher: its name on the hub, or a URL."""
    rows: str
    """Number of rows by split, according to its card; `train 7,473, test 1,319`."""
    data_source: str
    """Data source of its rows, which decides their reward. With a `*` if the rows specify more."""
    raw: str
    """Arguments after its name on the command line, in an example that works."""
    module: str = ""
    """Module in `package`, and after a colon its recipe (by its name, or in its table `RECIPES`); empty: the
    name of the dataset."""
    package: str = "rewardkit.datasets_prep"
    """Package of the module; empty: `module` is the full name."""
    verifiable: bool = True
    """True if its rows have solutions and a rule that scores them."""

    @property
    def example(self) -> str:
        """Return a command line that works."""
        return f"rewardkit prep {self.name} {self.raw} --out data/{self.name}"

    def load(self) -> Callable[..., Any]:
        """Import the dataset's module and return its `prepare(out_dir, settings, *, ..., progress=None)`.

        The function's own keyword arguments, with their types, defaults and help, are its options on the
        command line.
        """
        prepare: Callable[..., Any] = self._recipe().prepare
        return prepare

    def describe(self) -> str:
        """Return the docstring of its module, which describes the raw form."""
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
