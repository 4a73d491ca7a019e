"""Execution of a tool call. It always returns an observation, and it returns within a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from rewardkit.agents.encoding import plain_text
from rewardkit.agents.types import EpisodeLimits, Observation, Tool
from rewardkit.errors import did_you_mean
from rewardkit.http_addresses import public_text
from rewardkit.tool_calls.call import Call
from rewardkit.users_code import raised, running, told

T = TypeVar("T")
_GRACE_S = 1.0
"""Seconds to wait for a cancelled task to end. After this time, the task is abandoned."""


async def execute_call(
    call: Call, tools: Mapping[str, Tool], limits: EpisodeLimits, seconds: float | None
) -> Observation:
    """Execute a call and return its observation. For an invalid call, the observation describes the mistake.

    Args:
        call: Call that the model made.
        tools: Tools of the episode, by name.
        limits: Limits of the episode.
        seconds: Time left in the episode in seconds, or None for no limit.
    """
    tool = tools.get(call.name)
    if call.error is not None:
        found = Observation(f"Error: {call.error}", status="bad_call")
    elif tool is None:
        known = f"; the tools are: {', '.join(tools)}" if tools else "; there are none"
        hint = did_you_mean(call.name[:80], tools) or known
        found = Observation(f"Error: there is no tool '{call.name:.80}'{hint}", status="bad_call")
    else:
        found = await _execute(tool, call.arguments, limits, seconds)
    text = plain_text(found.text)
    if not found.whole:
        text = cut(text, limits.tool_response_chars, limits.tool_response_truncate_side)
    return replace(found, text=text)


async def _execute(
    tool: Tool, arguments: Mapping[str, Any], limits: EpisodeLimits, seconds: float | None
) -> Observation:
    timeout = limits.tool_seconds if seconds is None else min(limits.tool_seconds, max(seconds, 0.0))
    found = Observation("", status="error")
    for _ in range(limits.tool_retries + 1):
        found = await _execute_once(tool, arguments, timeout)
        if found.status in ("ok", "bad_call"):
            break
    return found


async def _execute_once(tool: Tool, arguments: Mapping[str, Any], timeout: float) -> Observation:
    try:
        with running(tool.name):
            found = await within(tool.execute(arguments), timeout)
    except TimeoutError:
        return Observation(f"Error: {tool.name} did not answer in {timeout:g} s", status="timeout")
    except Exception as error:
        told(f"the tool {tool.name}", error)
        return Observation(f"Error: {tool.name}: {describe(error)}", status="error")
    return found if isinstance(found, Observation) else Observation(plain_text(found))


async def _without_exit(work: Awaitable[T]) -> T:
    """Await the work, and raise RuntimeError in place of SystemExit, because a tool must not end the run.

    Tools that use argparse or click, for example, may raise SystemExit.
    """
    try:
        return await work
    except SystemExit as error:
        raise RuntimeError(f"the code tried to exit the process: {error.code}") from None


def name_of(opened: object) -> str:
    """Return the name that messages use for a tool, an interaction or an environment."""
    return str(getattr(opened, "name", "the interaction"))


async def within(work: Awaitable[T], seconds: float | None) -> T:
    """Return the result of an awaitable, which is cancelled after a time limit.

    An awaitable that continues to run after being cancelled is abandoned.

    Args:
        work: Awaitable to run.
        seconds: Time limit in seconds, or None for no limit.

    Raises:
        TimeoutError: The awaitable did not finish in time, or raised this error itself.
    """
    task = asyncio.ensure_future(_without_exit(work))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _stop(task)
        raise
    if not done:
        await _stop(task)
        raise TimeoutError(f"there was no answer within {seconds:g} s, the time limit for tools")
    if task.cancelled():  # the task has cancelled itself, while the episode was not cancelled
        raise RuntimeError("the call cancelled itself")
    return task.result()


async def _stop(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE_S)
    if task.done() and not task.cancelled():
        task.exception()  # retrieve the exception, because asyncio logs exceptions that nobody retrieves
    else:
        task.add_done_callback(_look_at)


def _look_at(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()


def cut(text: str, limit: int, side: str) -> str:
    """Truncate a text to `limit` characters, and mark the truncation as verl does.

    Args:
        text: Text to truncate.
        limit: Number of characters to keep.
        side: Part to remove. `left` keeps the end of the text, `right` the start, and `middle` both.
    """
    if len(text) <= limit:
        return text
    if side == "left":
        return "(truncated)..." + text[len(text) - limit :]
    if side == "right":
        return text[:limit] + "...(truncated)"
    half = limit // 2
    return text[:half] + "...(truncated)..." + text[len(text) - half :]


def describe(error: BaseException) -> str:
    """Describe an exception in one line for the model, without the source location."""
    return public_text(raised(error).said)
