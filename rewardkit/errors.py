"""Every error that rewardkit raises on purpose.

The message of each is one line a user can act on: what was expected, what was found, where, and the
next step. The CLI prints that line and exits with `exit_code`; `--debug` shows the traceback.

    RewardkitError
        UnknownDataSourceError   no reward is registered for this data_source
        OptionsError             an option that does not exist or has the wrong type
        InputError               a file, column or row that cannot be used
            NoDataSourceError    nothing says which data source a file is
            UnscoredError        no row of a file has a score
            NoResponseError      what stands where a response should was not written by the model
        ConfigError              a trainer or server setting that cannot be used
        MissingDependencyError   an extra is not installed
        ExtensionError           an installed package adds a kind that cannot be loaded or whose name is taken
        BudgetSpentError         a judge's budget is spent before all is scored
        ScoringError             a sample could not be scored and the caller asked for that to be an error
        ServerError              a reward server cannot be reached, or failed
            OverloadedError      it has more to do than it can: try again after `retry_after_s`
            RefusedError         it will not take this request as it is; trying again cannot help
            DeadlineError        it had not answered by the deadline
        RequestsFailedError      a model did not answer all prompts
        IncompleteError          a result lacks rows or data sources of its input, or a gate has no figure
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
    """Base class: catch this to catch everything that rewardkit raises on purpose."""

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
    """Refuse to begin what needs a package that is not installed.

    Raises:
        MissingDependencyError: with the extra that brings it.
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
    """Return in one line why: what the system says, or else what the error says first."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, FileNotFoundError):  # Arrow's has the path alone
        return os.strerror(errno.ENOENT)
    of_yaml = error if hasattr(error, "problem") else error.__context__  # msgspec's stands for it
    if problem := getattr(of_yaml, "problem", None):  # its first line says only what it was reading
        mark = getattr(of_yaml, "problem_mark", None)
        return f"line {mark.line + 1}: {problem}" if mark is not None else str(problem)
    return str(error).partition("\n")[0] or type(error).__name__


MISSPELT = 0.8
"""Share of equal characters from which on one name is taken for a misspelling of another."""


def did_you_mean(name: str, known: Iterable[str], *, alike: float = 0.6) -> str:
    """Return `"; did you mean a or b?"` for the nearest known names, or `""` when none is near.

    Args:
        alike: the share of equal characters from which on a name is near; `MISSPELT` where another answer
            serves a name that is only like a known one.
    """
    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold(), candidate)
    near = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=alike)
    return "; did you mean " + " or ".join(by_folded[n] for n in near) + "?" if near else ""


MESSAGE = 290
"""Characters of a message about a file: with what a command puts before it, a few lines of a terminal."""


def with_columns(message: str, columns: Iterable[str], tail: str = "") -> str:
    """Return a message with the names of a file's columns, as many as leave it short: `a … and 37 more`."""
    names = [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…" for name in columns]
    room = MESSAGE - len(message) - len(tail) - len("; columns: ")
    listed = ", ".join(names)
    shown = len(names)
    while len(listed) > room and shown:
        shown -= 1
        listed = f"{', '.join(names[:shown])} … and {len(names) - shown} more"
    return f"{message}; columns: {listed}{tail}" if shown else f"{message}{tail}"


_NAME = 40
"""Characters of a column's name in a list of them."""
