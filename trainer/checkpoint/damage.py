"""Reasons why a checkpoint's files cannot be used, in one line: they are damaged, or cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from torch import OutOfMemoryError
from torch.distributed.checkpoint.api import CheckpointException

from rewardkit.errors import ConfigError, RewardkitError, reason_of
from rewardkit.trainer.checkpoint.find import RESUME_ANOTHER


@contextmanager
def reading(checkpoint: Path, instead: str = RESUME_ANOTHER) -> Iterator[None]:
    """Turn whatever damaged files raise in the block into one line.

    Args:
        instead: what to do, for the error.

    Raises:
        ConfigError: the checkpoint cannot be read.
    """
    try:
        yield
    except (RewardkitError, OutOfMemoryError):
        raise
    except (CheckpointException, Exception) as error:
        raise ConfigError(f"cannot read the checkpoint {checkpoint}: {why(error)}; {instead}") from error


def why(error: BaseException) -> str:
    """Return in one line what the system says, if it has failed, or else what the error says first."""
    if isinstance(error, CheckpointException) and error.failures:
        error = next(iter(error.failures.values()))[0]
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            named = f"{cause.filename}: " if cause.filename else ""
            return f"{named}{cause.strerror}"
        cause = cause.__cause__ or cause.__context__
    reason = reason_of(error).strip()
    return reason if isinstance(error, OSError | RuntimeError) else f"{type(error).__name__}: {reason}"


def why_not_written(folder: Path, error: BaseException) -> str:
    """Return why writing to a folder has failed: torch does not say that the disk is full."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 20))
    except OSError as found:
        return reason_of(found)
    return why(error)
