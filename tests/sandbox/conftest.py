"""Shared by the sandbox's tests: the levels that hold on this host, and a worker at each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewardkit.sandbox.levels import why_not
from rewardkit.sandbox.outcome import IsolationLevel
from rewardkit.sandbox.worker import Worker


@pytest.fixture(scope="session", params=["warm", "guard"])
def level(request: pytest.FixtureRequest) -> IsolationLevel:
    """Each level that holds on this host."""
    wanted: IsolationLevel = request.param
    if reason := why_not(wanted):
        pytest.skip(reason)
    return wanted


@pytest.fixture(scope="session")
def worker(level: IsolationLevel) -> Iterator[Worker]:
    """A warm worker, the same one for all tests of a level: no run may spoil it."""
    worker = Worker(level)
    yield worker
    worker.close()
