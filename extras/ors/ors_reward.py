"""`ors:URL`: a server of the Open Reward Standard scores a response as the last word of an episode.

The response goes to the tool that takes the model's plain message; where the server has none, to its one tool
that takes one text, or to the one that the options name. Without a reward from the server there is no score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.foreign.reward_of_spec import made
from rewardkit.foreign.services import Service, ServiceError
from rewardkit.foreign.spec import ForeignSpec
from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings
from rewardkit.registry import Reward
from rewardkit.types import Sample, Score, failure
from rewardkit_extras.ors.ors_client import OrsSession, OrsTools


@dataclass(frozen=True)
class OrsOptions(NetworkSettings):
    """Server and environment, and the tool that gets the response."""

    url: Address = NO_ADDRESS
    environment: str = ""
    """Empty: the server's first."""
    tool: str = ""
    """The tool that gets the response; empty: the one that takes a plain message, or the only one."""
    argument: str = ""
    """The argument of that tool; empty: its only text."""
    request_timeout_s: float = 60.0
    retries: int = 3


def ors(spec: ForeignSpec) -> Reward:
    """Return the reward of a server. It is not asked before the first sample."""
    return made(
        spec, score, OrsOptions, url=True, summary=f"The Open Reward Standard server {Address(spec.target)}"
    )


async def score(sample: Sample, options: OrsOptions) -> Score:
    """Open the row's task, hand in the response, and return the reward that comes back."""
    task = task_of(sample.extra_info)
    if task is None:
        return failure("invalid", "the row has no task: extra_info needs split and index, or task_spec")
    service = Service(
        options.url, who="the ORS server", timeout_s=options.request_timeout_s, retries=options.retries
    )
    session = OrsSession(service, options.environment)
    try:
        await session.open(task)
        tool, argument = where_answers_go(await session.tools(), options.tool, options.argument)
        outcome = await session.call(tool, {argument: sample.response})
    except (ServiceError, LookupError) as error:
        return failure("error", str(error.args[0]))
    finally:
        await session.close()
    if outcome.reward is None:
        return failure("invalid", f"the server returned no reward: {outcome.text[:200]}")
    return Score(outcome.reward, detail=" ".join(outcome.text.split())[:200] or None)


def task_of(extra_info: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return which task a row stands for, as `/create` takes it; None: it does not say."""
    if isinstance(extra_info.get("task_spec"), Mapping):
        return {"task_spec": dict(extra_info["task_spec"])}
    split, index = extra_info.get("split"), extra_info.get("index")
    if isinstance(split, str) and isinstance(index, int):
        return {"split": split, "index": index}
    return None


def where_answers_go(found: OrsTools, tool: str = "", argument: str = "") -> tuple[str, str]:
    """Return the tool that takes a whole response, and its argument.

    Raises:
        LookupError: the server has none, or several; the message says what to set.
    """
    if not tool and found.terminal is not None:
        return found.terminal
    named = [one for one in found.tools if one.name == tool] if tool else list(found.tools)
    if len(named) != 1:
        names = ", ".join(one.name for one in found.tools)
        raise LookupError(
            f"the server has the tools {names}; set the option `tool` to the tool that takes the response"
            if names
            else "the server has no tool that could take the response"
        )
    properties = named[0].parameters.get("properties") or {}
    texts = [name for name, one in properties.items() if one.get("type") == "string"]
    if argument or len(texts) == 1:
        return named[0].name, argument or texts[0]
    raise LookupError(
        f"the tool {named[0].name} takes the arguments {', '.join(properties) or '(none)'}; set the option "
        "`argument` to the argument that takes the response"
    )
