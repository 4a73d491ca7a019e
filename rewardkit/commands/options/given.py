"""Options that do nothing beside others are refused, rather than ignored."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.core import ParameterSource

from rewardkit.commands.options.help import GROUPS
from rewardkit.errors import OptionsError

REWARDS = tuple(GROUPS["rewards"].split())
"""The parameters of `reward_options`."""

SCORED = "{file} already has scores; to score the file again, run `rewardkit score`"


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse the parameters of the running command that its command line gives, though they have no effect.

    Raises:
        OptionsError: the first of them, and why.
    """
    context = click.get_current_context()
    wanted = set(names)
    for one in context.command.params:
        given = context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
        if one.name in wanted and given:
            flag = max(one.opts, key=len) if isinstance(one, click.Option) else str(one.name).upper()
            raise OptionsError(f"{flag} has no effect: {why}")
