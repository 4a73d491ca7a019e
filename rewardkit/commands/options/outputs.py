"""Option type for output files. Every command imports this module, so the module must load fast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rewardkit.files.publishing import require_folder_of


class OutputFile(click.Path):
    """Option type for files that a command writes at the end. A missing folder is reported at the start."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the file.

        Raises:
            InputError: The file's folder does not exist or is not writable.
        """
        path = super().convert(value, param, ctx)
        require_folder_of(Path(value))
        return path
