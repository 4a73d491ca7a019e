"""The type of options that name an output file; every command looks for them, so nothing heavy is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rewardkit.files.publishing import require_folder_of


class OutputFile(click.Path):
    """A file that a command writes at its end: a folder that is not there is reported at its beginning."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path.

        Raises:
            InputError: its folder cannot be written.
        """
        path = super().convert(value, param, ctx)
        require_folder_of(Path(value))
        return path
