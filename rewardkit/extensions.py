"""Tables of kinds (languages, log kinds, estimators, …) to which installed packages can add rows.

A package adds a row with an entry point in the group `rewardkit.TABLE`. The entry point and the row have the
same name. rewardkit searches the packages when it looks up a row that it does not ship, or when it lists all
rows of a table. A row is imported on first use. docs/extending*.md show an example row for each table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType, TracebackType
from typing import Any, Generic, TypeVar

from rewardkit.errors import ExtensionError
from rewardkit.users_code import raised

T = TypeVar("T")

FUNCTION: Any = Callable
"""Type of the rows of a table of functions."""
PREFIX = "rewardkit."
EXTRAS = "rewardkit_extras"
"""Package with rarely used rows that ship with rewardkit. It is accessed only through entry points."""


@dataclass(frozen=True, slots=True)
class AddedRow:
    """A row that an installed package adds to a table."""

    table: str
    name: str
    target: str
    """Location of the row, as `module:attribute` or a module name."""
    package: str
    """Name and version of the distribution, or `rewardkit_extras` for rows that ship with rewardkit."""

    def load(self) -> Any:
        """Import and return the row.

        Raises:
            ExtensionError: The import fails. The message names the package.
        """
        module, _, attribute = self.target.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for name in attribute.split(".") if attribute else ():
                found = getattr(found, name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # importing a third-party module may raise any exception, or exit
            raise self.refused(f"cannot be loaded: {raised(error).text}") from error
        return found

    def load_as(self, kind: type[T]) -> T:
        """Import the row, check its type and return it.

        Raises:
            ExtensionError: The import fails, or the row has another type.
        """
        found = self.load()
        if not isinstance(found, kind):
            raise self.refused(f"is of the type {type(found).__name__}; expected {kind.__name__}")
        return found

    def load_decorated(self, made_from: Callable[[Any], T | None], decorator: str) -> list[T]:
        """Import a decorated function, or a module, and return what the decorator made from the functions.

        Args:
            made_from: Function that returns the object that the decorator made, or None if a value is not
                decorated.
            decorator: Name of the decorator.

        Raises:
            ExtensionError: The import fails, or nothing is decorated.
        """
        loaded = self.load()
        values = vars(loaded).values() if isinstance(loaded, ModuleType) else [loaded]
        found = [one for value in values if (one := made_from(value)) is not None]
        if not found:
            raise self.refused(f"is not decorated with {decorator}")
        return found

    def refused(self, why: str) -> ExtensionError:
        """Return the error for a row that cannot be used. `why` completes the sentence "but it …"."""
        return ExtensionError(
            f"the package '{self.package}' adds '{self.name}' ({self.target}) to the table '{self.table}', "
            f"but it {why}. Update or uninstall this package"
        )


def added_rows(table: str, shipped: Collection[str] = ()) -> Mapping[str, AddedRow]:
    """Return the rows that installed packages add to a table, by name, without importing them.

    Args:
        table: Name of the table.
        shipped: Names of the rows that are part of rewardkit itself.

    Raises:
        ExtensionError: A row has the same name as a shipped row or as a row of another package.
    """
    found: dict[str, AddedRow] = {}
    for row in installed_rows().get(table, ()):
        held = found.setdefault(row.name, row)
        if held is not row:
            raise ExtensionError(
                f"the packages '{held.package}' and '{row.package}' both add '{row.name}' to the table "
                f"'{table}'; uninstall one of them"
            )
        if row.name in shipped:
            raise ExtensionError(
                f"the package '{row.package}' adds '{row.name}' to the table '{table}', but rewardkit has a "
                "row of that name; uninstall the package or rename its row"
            )
    return found


def package_in(trace: TracebackType | None) -> str | None:
    """Return the innermost installed package with code in a traceback that adds rows, or None.

    Extras, which ship with rewardkit, do not count.
    """
    added = (row for rows in installed_rows().values() for row in rows if row.package != EXTRAS)
    packages = {row.target.partition(":")[0].partition(".")[0]: row.package for row in added}
    found = None
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__"))
        found = packages.get(module.partition(".")[0], found)
        trace = trace.tb_next
    return found


@cache
def installed_rows() -> Mapping[str, tuple[AddedRow, ...]]:
    """Return the rows of all installed packages, by table. Packages are searched once per process."""
    from importlib.metadata import distributions  # slow to import and rarely needed

    found: dict[tuple[str, str, str], AddedRow] = {}
    for distribution in distributions():
        ours = [entry for entry in distribution.entry_points if entry.group.startswith(PREFIX)]
        for entry in ours:
            extra = entry.module.partition(".")[0] == EXTRAS
            package = EXTRAS if extra else f"{distribution.name} {distribution.version}"
            table = entry.group.removeprefix(PREFIX)
            target = f"{entry.module}:{entry.attr}" if entry.attr else entry.module
            # A build may leave outdated metadata next to the source, so the search can find a distribution
            # twice. Python imports the distribution that comes first on the path, so this code uses the same
            # one.
            found.setdefault(
                (distribution.name.lower(), table, entry.name), AddedRow(table, entry.name, target, package)
            )
    tables: dict[str, tuple[AddedRow, ...]] = {}
    for row in found.values():
        tables[row.table] = (*tables.get(row.table, ()), row)
    return tables


class Table(Mapping[str, T], Generic[T]):
    """Mapping from names to rows: the shipped rows in order, then the rows of installed packages.

    A shipped row may be given as `module:attribute`, which is imported on first use.
    """

    def __init__(self, name: str, kind: type[Any], shipped: Mapping[str, T | str]) -> None:
        """Create a table.

        Args:
            name: Name of the table. Packages use the entry point group `rewardkit.NAME`.
            kind: Type of the rows, which is `FUNCTION` for functions.
            shipped: Rows that are part of rewardkit itself, by name.
        """
        self.name = name
        self.kind = kind
        self.shipped = tuple(shipped)
        """Names of the rows that are part of rewardkit itself."""
        self.rows: dict[str, T | str] = dict(shipped)
        """Shipped rows and rows loaded from packages, by name."""
        self._added: Mapping[str, AddedRow] | None = None

    def __getitem__(self, name: str) -> T:
        """Return a row, importing it if necessary.

        Raises:
            KeyError: The table has no row with this name.
            ExtensionError: The package that adds the row is broken.
        """
        if name not in self.rows:
            self.rows[name] = self.added()[name].load_as(self.kind)
        row = self.rows[name]
        if isinstance(row, str) and self.kind is not str:
            module, _, attribute = row.partition(":")
            row = self.rows[name] = getattr(importlib.import_module(module), attribute)
        return row  # type: ignore[return-value]

    def __contains__(self, name: object) -> bool:
        return name in self.rows or name in self.added()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.shipped, *self.added(), *self.rows)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def added(self) -> Mapping[str, AddedRow]:
        """Return the rows of installed packages, by name, without importing them.

        Raises:
            ExtensionError: A row has the same name as a shipped row or as a row of another package.
        """
        if self._added is None:
            self._added = added_rows(self.name, self.shipped)
        return self._added
