"""Rejection of options that would have no effect in combination with other options."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.core import ParameterSource

from rewardkit.commands.options.help import GROUPS
from rewardkit.errors import OptionsError

REWARDS = tuple(GROUPS["rewards"].split())
"""Parameters that `reward_options` adds."""

SCORED = "{file} already has scores; to score the file again, run `rewardkit score`"


def refuse_given(names: Iterable[str], why: str) -> None:
    """Check that the command line contains none of these parameters, because they would have no effect.

    Args:
        names: Names of parameters of the running command.
        why: Reason why the parameters have no effect.

    Raises:
        OptionsError: One of the parameters is given. The message names this parameter and contains the
            reason.
    """
    context = click.get_current_context()
    wanted = set(names)
    for one in context.command.params:
        given = context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
        if one.name in wanted and given:
            flag = max(one.opts, key=len) if isinstance(one, click.Option) else str(one.name).upper()
            raise OptionsError(f"{flag} has no effect: {why}")
