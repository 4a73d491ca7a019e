"""Folder that the processes of a run on one machine share, for example to count their spending together.

The first process of a run creates the folder and names it in the environment, which its child processes
inherit. The folder is deleted when that process exits.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from rewardkit.errors import InputError

VARIABLE = "REWARDKIT_RUN_FOLDER"


def run_folder() -> Path:
    """Return the folder of this run, and create it if the environment names none.

    Call it before starting the processes that share the folder.

    Raises:
        InputError: The folder that the environment names does not exist, as on another machine.
    """
    if VARIABLE in os.environ:
        folder = Path(os.environ[VARIABLE])
        if not folder.is_dir():
            raise InputError(
                f"the folder {folder} that the processes of this run share does not exist on this machine; "
                f"run all of them on one machine, or unset {VARIABLE}"
            )
        return folder
    folder = Path(tempfile.mkdtemp(prefix="rewardkit-run-"))
    os.environ[VARIABLE] = str(folder)
    atexit.register(_delete, folder, os.getpid())
    return folder


def _delete(folder: Path, creator: int) -> None:
    if os.getpid() == creator:  # a forked process inherits the registration
        shutil.rmtree(folder, ignore_errors=True)
