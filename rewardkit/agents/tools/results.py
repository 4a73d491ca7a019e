"""Calls the functions of tools and interactions, and turns what a tool's function returns into an
`Observation`.

Coroutines run in the event loop. Each other call has a thread of its own, so that one that hangs holds up
nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rewardkit.agents.types import Observation


def observation_of(result: Any) -> Observation:
    """Return what a tool's function returned as an observation.

    It may return a text, an `Observation`, a tuple of text, reward and metrics, an object with a `text`
    (verl's ToolResponse), or anything that can be written as JSON.

    Raises:
        TypeError: it is none of these, or the reward is no finite number.
    """
    if isinstance(result, Observation):
        return result
    if isinstance(result, tuple) and 1 <= len(result) <= 3:
        text, reward, metrics = (*result, None, None)[:3]
        return Observation(_text(text), number(reward), metrics=_metrics(metrics))
    return Observation(_text(result))


def number(value: Any) -> float | None:
    """Return a reward as a finite number; None stays None.

    Raises:
        TypeError: it is something else.
    """
    if value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"a reward must be a number; found {value!r:.60}") from None
    if not math.isfinite(found):
        raise TypeError(f"a reward must be finite; found {found}")
    return found


def _metrics(value: Any) -> dict[str, float]:
    """Return those metrics that are finite numbers."""
    if not isinstance(value, Mapping):
        return {}
    return {
        str(name): float(one)
        for name, one in value.items()
        if isinstance(one, int | float) and math.isfinite(one)
    }


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        inner = getattr(value, "text", value)
        value = inner if isinstance(inner, str) else _json(inner)
    text: str = value
    return text.encode("utf-8", "replace").decode()


def _json(value: Any) -> str:
    if value is None:
        return ""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, msgspec.EncodeError, RecursionError):
        raise TypeError(f"a tool returned a {type(value).__name__}, which is neither text nor JSON") from None


async def called(function: Callable[..., Any], *args: Any, inline: bool = False, **kwargs: Any) -> Any:
    """Call a function, a coroutine function or a bound method, and return its result.

    Args:
        function: What to call, with `args` and `kwargs`.
        inline: Call it in the event loop instead of a thread, since it takes microseconds.
    """
    if inline or inspect.iscoroutinefunction(function):
        result = function(*args, **kwargs)
    else:
        result = await _in_thread(lambda: function(*args, **kwargs))
    return await result if inspect.isawaitable(result) else result


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Run it in a daemon thread: an executor's few threads would fill up with those that hang, and hold the
    process at its end."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def work() -> None:
        result: Any = None
        problem: BaseException | None = None
        try:
            result = context.run(function)
        except StopIteration as error:  # a future does not take it
            problem = RuntimeError(f"StopIteration: {error}")
        except BaseException as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=work, name="tool", daemon=True).start()
    return await future
