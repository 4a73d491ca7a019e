"""Folder that all processes of one run share on a machine, for example to add up their spending.

The first process of a run sets an environment variable to the folder's path, and its child processes inherit
the variable. A process creates the folder on first use, and the first process deletes the folder when it
exits.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import socket
import tempfile
from pathlib import Path

from rewardkit.errors import InputError

VARIABLE = "REWARDKIT_RUN_FOLDER"
"""Environment variable whose value consists of the machine's name, a colon and the path of the folder."""


def name_run_folder() -> None:
    """Set the environment variable to a new folder for this run, unless the variable is already set.

    Call this function before starting the processes that may share the folder.
    """
    if VARIABLE not in os.environ:
        path = Path(tempfile.gettempdir(), f"rewardkit-run-{secrets.token_hex(8)}")
        os.environ[VARIABLE] = value_for(path)
        atexit.register(_delete, path, os.getpid())


def value_for(path: Path) -> str:
    """Return the value of the environment variable for a folder on this machine."""
    return f"{socket.gethostname()}:{path}"


def run_folder() -> Path:
    """Return the folder of this run, and create it if it does not exist.

    Raises:
        InputError: The folder belongs to a run on another machine or to another user.
    """
    name_run_folder()
    machine, _, path = os.environ[VARIABLE].partition(":")
    if machine != socket.gethostname():
        raise InputError(
            f"the processes of this run share a folder on the machine {machine}, which is not this machine; "
            f"run all of them on one machine, or unset {VARIABLE}"
        )
    folder = Path(path)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise InputError(f"the folder {folder} belongs to another user; unset {VARIABLE}")
    return folder


def _delete(folder: Path, creator: int) -> None:
    if os.getpid() == creator:  # a forked process inherits the exit handler but must not delete the folder
        shutil.rmtree(folder, ignore_errors=True)
