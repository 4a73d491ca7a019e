"""Exceptions that rewardkit raises deliberately.

Each message is one line that a user can act on: what was expected, what was found, where, and the next step.
The CLI prints that line and exits with `exit_code`; `--debug` shows the traceback.

    RewardkitError
        UnknownDataSourceError   no reward is registered for a data source
        OptionsError             an option does not exist or has the wrong type
        InputError               a file, column or row cannot be used
            NoDataSourceError    the data source of a file is not specified
            UnscoredError        no row in a file has a score
            NoResponseError      the value in a response field was not written by the model
        ConfigError              a trainer or server setting cannot be used
        MissingDependencyError   an extra is not installed
        ExtensionError           an installed package adds a row that cannot be loaded or whose name is taken
        BudgetSpentError         a judge's budget is spent before all samples are scored
        ScoringError             a sample could not be scored and the caller asked for an exception
        ServerError              a reward server cannot be reached, or failed
            OverloadedError      the server is overloaded; retry after `retry_after_s`
            RefusedError         the server rejected the request; retrying cannot help
            DeadlineError        the server did not respond before the deadline
        RequestsFailedError      a model did not respond to all prompts
        IncompleteError          a result lacks rows or data sources in its input, or a gate has no value
        GateError                a result is worse than a gate allows
        ParityError              the rollout engine and the policy have different weights
"""

from __future__ import annotations

import difflib
import errno
import importlib.util
import os
from collections.abc import Iterable


class RewardkitError(Exception):
    """Base class for all exceptions that rewardkit raises deliberately."""

    exit_code = 1


class UnknownDataSourceError(RewardkitError, LookupError):
    exit_code = 2


class OptionsError(RewardkitError, ValueError):
    exit_code = 2


class InputError(RewardkitError, ValueError):
    exit_code = 2


class NoDataSourceError(InputError):
    pass


class UnscoredError(InputError):
    pass


class NoResponseError(InputError):
    pass


class ConfigError(RewardkitError, ValueError):
    exit_code = 2


class MissingDependencyError(RewardkitError, ImportError):
    exit_code = 2


def require(what: str, package: str, extra: str) -> None:
    """Raise an error if a required package is not installed.

    Args:
        what: Name of the feature that needs the package.
        package: Name of the package, as it is imported.
        extra: Extra of rewardkit that installs the package.

    Raises:
        MissingDependencyError: The package is not installed. The message names the extra.
    """
    if importlib.util.find_spec(package) is None:
        raise MissingDependencyError(f"{what} needs {package}: pip install 'rewardkit[{extra}]'")


class ExtensionError(RewardkitError, ImportError):
    exit_code = 2


class BudgetSpentError(RewardkitError, RuntimeError):
    pass


class ScoringError(RewardkitError, RuntimeError):
    pass


class ServerError(RewardkitError, RuntimeError):
    pass


class OverloadedError(ServerError):
    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class RefusedError(ServerError):
    pass


class DeadlineError(ServerError, TimeoutError):
    pass


class RequestsFailedError(RewardkitError, RuntimeError):
    pass


class IncompleteError(RewardkitError, RuntimeError):
    pass


class GateError(RewardkitError, RuntimeError):
    exit_code = 3


class ParityError(RewardkitError, RuntimeError):
    pass


def reason_of(error: BaseException) -> str:
    """Return a one-line reason for an error: the system's message, or else the first line of the error."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, FileNotFoundError):  # Arrow's exception contains only the path
        return os.strerror(errno.ENOENT)
    of_yaml = error if hasattr(error, "problem") else error.__context__  # msgspec wraps the YAML error
    if problem := getattr(of_yaml, "problem", None):  # the first line of a YAML error is only context
        mark = getattr(of_yaml, "problem_mark", None)
        return f"line {mark.line + 1}: {problem}" if mark is not None else str(problem)
    return str(error).partition("\n")[0] or type(error).__name__


MISSPELT = 0.8
"""Minimum similarity (share of equal characters) at which a name counts as a misspelling of another."""


def did_you_mean(name: str, known: Iterable[str], *, alike: float = 0.6) -> str:
    """Return `"; did you mean a or b?"` for the closest known names, or `""` if none is close.

    Args:
        name: Name to look for.
        known: Valid names.
        alike: Minimum similarity (share of equal characters) of a close name. Pass `MISSPELT` if names that
            are merely similar get a different message.
    """
    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold(), candidate)
    near = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=alike)
    return "; did you mean " + " or ".join(by_folded[n] for n in near) + "?" if near else ""


MESSAGE = 290
"""Maximum number of characters in a message about a file. The message then fits in a few terminal lines."""


def with_columns(message: str, columns: Iterable[str], tail: str = "") -> str:
    """Append a file's column names to a message, shortened to fit `MESSAGE` characters: `a … and 37 more`."""
    names = [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…" for name in columns]
    room = MESSAGE - len(message) - len(tail) - len("; columns: ")
    listed = ", ".join(names)
    shown = len(names)
    while len(listed) > room and shown:
        shown -= 1
        listed = f"{', '.join(names[:shown])} … and {len(names) - shown} more"
    return f"{message}; columns: {listed}{tail}" if shown else f"{message}{tail}"


_NAME = 40
"""Maximum length, in characters, of a column name in a list of columns."""
