"""Exceptions that rewardkit raises deliberately.

Each message is one line that a user can act on: what was expected, what was found, where, and the next step.
The CLI prints that line and exits with `exit_code`; `--debug` shows the traceback.
The documentation lists the errors with the second paragraph of each docstring as the remedy.
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
    """Error about a data source without a reward.

    `rewardkit list` shows the data sources. Pass `--data-source` with one of them, or `--reward` with
    your own reward.
    """

    exit_code = 2


class OptionsError(RewardkitError, ValueError):
    """Error about an option that does not exist or whose value has the wrong type.

    `rewardkit COMMAND --help-all` shows the options of a command, and `rewardkit list` those of the
    rewards.
    """

    exit_code = 2


class InputError(RewardkitError, ValueError):
    """Error about a file, a column or a row that cannot be used.

    The message names the file and the row. `rewardkit check FILE` lists all problems of a prompt file.
    """

    exit_code = 2


class NoDataSourceError(InputError):
    """Error about a file whose rows have no data source.

    Pass `--data-source`, or `--data-source-key` with the name of the column.
    """


class UnscoredError(InputError):
    """Error about a file without scores.

    Score the file with `rewardkit score`, or name its column of scores with `--score-key`.
    """


class NoResponseError(InputError):
    """Error about a response field whose value the model has not written.

    Name the column of the responses with `--response-key`.
    """


class ConfigError(RewardkitError, ValueError):
    """Error about a setting of the trainer or of a server that cannot be used.

    `rewardkit train --explain` prints all settings with their meaning, and checks yours without training.
    """

    exit_code = 2


class MissingDependencyError(RewardkitError, ImportError):
    """Error about an extra that is not installed.

    Run the `pip install` command in the message.
    """

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
    """Error about an installed package that adds a kind that cannot be loaded or whose name is taken.

    `rewardkit doctor` names the package and the reason. Update or uninstall this package.
    """

    exit_code = 2


class BudgetSpentError(RewardkitError, RuntimeError):
    """Error about a judge whose budget is spent before all samples are scored.

    Raise the budget in the judge's file, and continue with `--resume`.
    """


class ScoringError(RewardkitError, RuntimeError):
    """Error about a sample that could not be scored, if the caller asked for an exception.

    The message contains the status and the reason of the sample.
    """


class ServerError(RewardkitError, RuntimeError):
    """Error about a reward server that cannot be reached or that failed.

    Check the address, and look at the server's log.
    """


class OverloadedError(ServerError):
    """Error about a server that is overloaded; retry after `retry_after_s`.

    Send fewer requests at a time, or start more workers with `rewardkit serve --workers`.
    """

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class RefusedError(ServerError):
    """Error about a request that the server rejected, so that retrying cannot help.

    Correct the request: the message contains the server's reason.
    """


class DeadlineError(ServerError, TimeoutError):
    """Error about a server that did not respond before the deadline.

    Raise the timeout of the client, or start more workers with `rewardkit serve --workers`.
    """


class RequestsFailedError(RewardkitError, RuntimeError):
    """Error about a model that did not respond to all prompts.

    Remove the cause that the message names, and repeat the failed requests with `--resume`.
    """


class IncompleteError(RewardkitError, RuntimeError):
    """Error about a result without some rows or data sources of its input, or about a gate without a value.

    The message names what is missing. Correct or remove these rows.
    """


class GateError(RewardkitError, RuntimeError):
    """Error about a result that is worse than a gate allows.

    Improve the model, or lower the gate. The message contains the value and the gate.
    """

    exit_code = 3


class ParityError(RewardkitError, RuntimeError):
    """Error about a rollout engine and a policy with different weights.

    Use the same dtype for both, and see `actor_rollout_ref.rollout.parity_error`.
    """


MESSAGE = 290
"""Maximum number of characters in a message about a file. The message then fits in a few terminal lines."""


def reason_of(error: BaseException) -> str:
    """Return the reason for an error in one line: the system's message, or else the error's own message."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, FileNotFoundError):  # Arrow's exception contains only the path
        return os.strerror(errno.ENOENT)
    of_yaml = error if hasattr(error, "problem") else error.__context__  # msgspec wraps the YAML error
    if problem := getattr(of_yaml, "problem", None):  # a YAML error starts with context
        mark = getattr(of_yaml, "problem_mark", None)
        return f"line {mark.line + 1}: {problem}" if mark is not None else str(problem)
    return message_of(error)


def message_of(error: BaseException) -> str:
    """Return an exception's own message in one line.

    If the first line ends with a colon, the lines that follow are included.
    """
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    if not lines[0].endswith(":"):
        return lines[0]
    whole = " ".join(filter(None, lines))  # the first line only introduces the reasons
    return whole if len(whole) <= 2 * MESSAGE else f"{whole[: 2 * MESSAGE - 2]} …"


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
