"""Sessions on a server that allows only a few: what a hanging one costs, and what the user is told."""

from __future__ import annotations

import asyncio

import pytest

from rewardkit.agents.environments import sessions
from rewardkit.agents.environments.environment import EnvironmentFailed
from rewardkit.agents.types import Busy


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_TOLD_S", 0.05)
    monkeypatch.setattr(sessions, "_PATIENCE_S", 0.1)
    monkeypatch.setattr(sessions, "_PAUSE_S", 0.01)


async def attempt(who: str) -> int:
    """Ask a server that refuses every session until the episode fails; return the number of attempts."""
    for attempts in range(1, 1_000):
        held = sessions.sessions_on(who)
        try:
            held.take()
            held.refuse(1)
        except Busy as busy:
            await busy.free()
        except EnvironmentFailed:
            return attempts
    raise AssertionError("the episode never fails")


def test_a_session_that_is_never_freed_costs_its_wait_once_and_not_in_every_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert asyncio.run(attempt("the world")) > 1
    said = capsys.readouterr().err
    assert said.count("no free session") == 1  # while it waits, the user learns why
    assert asyncio.run(attempt("the world")) == 1  # another step has another event loop
    assert not capsys.readouterr().err


def test_a_server_that_has_been_restarted_gives_sessions_again() -> None:
    async def play() -> None:
        await attempt("the second world")
        held = sessions.sessions_on("the second world")
        held.take()
        held.give_back()
        with pytest.raises(Busy):
            held.take()
            held.refuse(1)

    asyncio.run(play())
