"""File with the identities of a training run's rewards, written by the trainer and read by `lock --check`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rewardkit.errors import InputError, reason_of
from rewardkit.files.publishing import published
from rewardkit.identity.reward_identity import Identity
from rewardkit.json_objects import NOT_JSON

NAME = "rewards.json"


def write_identities(rewards: dict[str, Identity], folder: Path) -> None:
    """Write the identities of a run's rewards, by data source, to a file in the run's folder.

    Raises:
        InputError: The file cannot be written.
    """
    content = msgspec.json.encode(rewards, order="sorted")
    with published(folder / NAME) as file:
        file.write(msgspec.json.format(content, indent=1) + b"\n")


def read_identities(folder: Path) -> dict[str, Identity]:
    """Return the identities of a run's rewards by data source.

    Raises:
        InputError: The folder has no readable file of identities.
    """
    path = folder / NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Identity])
    except (OSError, *NOT_JSON) as error:
        raise InputError(f"{folder} is not a run folder: cannot read {path} ({reason_of(error)})") from None
