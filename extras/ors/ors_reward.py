"""Reward `ors:URL`, which scores a response as the last turn of an episode on an Open Reward Standard server.

The response is passed to the tool that the options name, or else to the server's tool for plain messages, or
else to the server's only tool. If the tool is not for plain messages and the options do not name its
argument, it must have a single string argument. If the server returns no reward, the response is not scored.
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
    """Options for the server, its environment, and the tool that receives the response."""

    url: Address = NO_ADDRESS
    environment: str = ""
    """Name of an environment on the server. If empty, the first environment is used."""
    tool: str = ""
    """Tool that receives the response. If empty, it is the tool for plain messages, or else the only tool."""
    argument: str = ""
    """Argument of the tool that receives the response. If empty, the only string argument is used."""
    request_timeout_s: float = 60.0
    retries: int = 3


def ors(spec: ForeignSpec) -> Reward:
    """Return the reward for a server. No request is sent before the first sample is scored."""
    return made(
        spec, score, OrsOptions, url=True, summary=f"The Open Reward Standard server {Address(spec.target)}"
    )


async def score(sample: Sample, options: OrsOptions) -> Score:
    """Start a session for the row's task, submit the response, and return the server's reward."""
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
    """Return the task that a row names in the form that `/create` expects, or None if it names no task."""
    if isinstance(extra_info.get("task_spec"), Mapping):
        return {"task_spec": dict(extra_info["task_spec"])}
    split, index = extra_info.get("split"), extra_info.get("index")
    if isinstance(split, str) and isinstance(index, int):
        return {"split": split, "index": index}
    return None


def where_answers_go(found: OrsTools, tool: str = "", argument: str = "") -> tuple[str, str]:
    """Return the name of the tool that receives a whole response, and the name of its argument.

    Raises:
        LookupError: No tool or several tools qualify. The message names the option to set.
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
