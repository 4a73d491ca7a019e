"""One-line explanations of why a checkpoint cannot be read or written."""

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
    """Convert any error that damaged files cause in the block to a ConfigError with a one-line message.

    Args:
        checkpoint: Checkpoint that the block reads.
        instead: Advice to add to the message.

    Raises:
        ConfigError: The checkpoint cannot be read.
    """
    try:
        yield
    except (RewardkitError, OutOfMemoryError):
        raise
    except (CheckpointException, Exception) as error:
        raise ConfigError(f"cannot read the checkpoint {checkpoint}: {why(error)}; {instead}") from error


def why(error: BaseException) -> str:
    """Return the system's message if a system call failed, or else the first line of the error's message."""
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
    """Return the reason why writing to a folder failed.

    The function writes a test file, because torch does not report that a disk is full.
    """
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 20))
    except OSError as found:
        return reason_of(found)
    return why(error)
