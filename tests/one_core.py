"""A machine of one core for the tests of a room: each worker of a Scorer takes a third of a second to start."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def one_core() -> Iterator[None]:
    """Let a Scorer find one core, and have one worker where a test asks for no more: its rows are few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda pid: {0})
        yield
