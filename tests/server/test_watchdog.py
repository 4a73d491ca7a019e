"""A route that holds the event loop is named in the log once, and the time is counted."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from rewardkit.server.observability.watchdog import Watchdog


def test_a_route_that_holds_the_event_loop_is_logged_once_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watchdog = Watchdog()
    scope = {"type": "http", "route": SimpleNamespace(path="/slow")}

    async def holds_the_loop(scope: dict[str, object]) -> None:
        assert scope
        begun, ends = time.thread_time(), time.monotonic() + 60.0
        while time.thread_time() < begun + 0.3:
            pass
        while watchdog._holder is None and time.monotonic() < ends:  # the thread may be slow
            time.sleep(0.01)

    async def main() -> None:
        watching = asyncio.create_task(watchdog.run())
        for _ in range(2):
            await asyncio.sleep(0.1)
            await asyncio.create_task(holds_the_loop(scope))
        await asyncio.sleep(0.1)
        watching.cancel()

    asyncio.run(main())
    assert watchdog.held_s >= 0.4
    assert [record.message.split()[0] for record in caplog.records] == ["/slow"]
