"""Calls to the functions of tools and interactions, and conversion of tool results to `Observation`.

Coroutine functions run in the event loop. Any other function runs in its own thread, so that it does not
block anything else if it hangs.
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
    """Convert the return value of a tool's function to an observation.

    The value may be a string, an `Observation`, a tuple of text, reward and metrics, an object with a `text`
    attribute (verl's ToolResponse), or anything that can be encoded as JSON.

    Raises:
        TypeError: The value has none of these types, or the reward is not a finite number.
    """
    if isinstance(result, Observation):
        return result
    if isinstance(result, tuple) and 1 <= len(result) <= 3:
        text, reward, metrics = (*result, None, None)[:3]
        return Observation(_text(text), number(reward), metrics=_metrics(metrics))
    return Observation(_text(result))


def number(value: Any) -> float | None:
    """Convert a reward to a finite number. None stays None.

    Raises:
        TypeError: The value is not a finite number.
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
    """Return the metrics that are finite numbers."""
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
        function: Function to call with `args` and `kwargs`.
        args: Positional arguments.
        inline: True to call the function in the event loop instead of a thread. This requires a function that
            takes only microseconds.
        kwargs: Keyword arguments.
    """
    if inline or inspect.iscoroutinefunction(function):
        result = function(*args, **kwargs)
    else:
        result = await _in_thread(lambda: function(*args, **kwargs))
    return await result if inspect.isawaitable(result) else result


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a daemon thread.

    In an executor, hanging functions would occupy all threads and keep the process from exiting.
    """
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
        except StopIteration as error:  # a future does not accept this exception
            problem = RuntimeError(f"StopIteration: {error}")
        except BaseException as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # the event loop may be closed
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=work, name="tool", daemon=True).start()
    return await future
