"""Liveness and readiness probes, and the preparations that a process needs before it is ready."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from fastapi import APIRouter
from starlette.responses import Response

from rewardkit import __version__
from rewardkit.errors import RewardkitError
from rewardkit.server.wire import refusal, reply

_log = logging.getLogger("rewardkit.server")


class Health:
    """Readiness of the server, which depends on its preparations and on whether it is shutting down.

    Args:
        needs: Functions that prepare the server, by name. Each function is called in a thread and raises an
            exception on failure.
    """

    def __init__(self, needs: Mapping[str, Callable[[], object]]) -> None:
        self.needs = needs
        self.waiting_for = dict.fromkeys(needs, "not done yet")
        """Reason why each preparation is incomplete, by the preparation's name."""
        self.draining = False
        """True if the server is shutting down. It still handles requests, but should not get new ones."""

    async def prepare(self) -> None:
        """Run the preparations that have not succeeded yet.

        Failures are logged, and keep the server from becoming ready.
        """
        await asyncio.gather(*(self._meet(name, self.needs[name]) for name in self.waiting_for))

    def reason(self) -> str:
        """Return the reasons why the server is not ready, in one line."""
        return "; ".join(f"{name}: {reason}" for name, reason in self.waiting_for.items())

    async def _meet(self, name: str, need: Callable[[], object]) -> None:
        try:
            await asyncio.to_thread(need)
        except (RewardkitError, OSError) as error:
            self.waiting_for[name] = str(error)
            _log.error("not ready: %s: %s", name, error)
        except Exception as error:
            self.waiting_for[name] = f"{type(error).__name__}: {error}"
            _log.exception("not ready: %s", name)
        else:
            del self.waiting_for[name]


def router(health: Health) -> APIRouter:
    """Create a router with the probe routes."""
    routes = APIRouter(tags=["Probes"])

    @routes.get("/healthz", summary="Liveness: whether the process responds")
    @routes.get("/health", include_in_schema=False)
    async def healthz() -> Response:
        return reply({"status": "ok", "version": __version__})

    @routes.get(
        "/readyz",
        summary="Readiness: whether the server accepts requests",
        responses={503: {"description": "not ready"}},
    )
    async def readyz() -> Response:
        if health.draining:
            return refusal(503, "not_ready", "stopping")
        if health.waiting_for:
            return refusal(503, "not_ready", health.reason())
        return reply({"status": "ready"})

    return routes
