"""Episodes of environment protocols, one answer each: who has which task, and whether it is handed in.

A session is held by one server process. Its id says by which, and the others ask that one.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from rewardkit.server.dialects.background import elsewhere
from rewardkit.server.dialects.base import DialectContext

IDLE_S = 900.0
"""A session that nobody has asked anything of for so long is forgotten."""

MAX_SESSIONS = 100_000
_SWEEP_EVERY_S = 1.0

Begun = Literal["begun", "exists", "full"]


class Session(msgspec.Struct):
    """One client's episode."""

    task_set: str
    split: str
    index: int
    finished: bool = False
    """The answer has been handed in."""
    until: float = 0.0


class Sessions:
    """The sessions of all processes of this server, as one of them sees them."""

    def __init__(self, context: DialectContext) -> None:
        self._siblings = context.siblings
        self._place = self._siblings.place if self._siblings else 0
        self._open: dict[str, Session] = {}
        self._next_sweep = 0.0
        self._here: dict[str, Callable[..., Any]] = {
            "begin": self._begin,
            "get": self._get,
            "finish": self._finish,
            "reopen": self._reopen,
            "end": self._end,
        }
        context.held.append(self.unfinished)
        context.answers["session"] = lambda call: self._here[call[0]](*call[1:])

    def unfinished(self) -> int:
        """How many sessions of this process wait for an answer."""
        now = time.monotonic()
        return sum(not session.finished and session.until > now for session in self._open.values())

    def new_id(self) -> str:
        """An id for a session that this process will hold."""
        return f"{self._place}-{uuid.uuid4().hex}"

    async def begin(self, session_id: str, task_set: str, split: str, index: int) -> Begun:
        """Open a session; say if there is one of this id already, or are too many."""
        found: Begun | None = await self._at_home("begin", session_id, task_set, split, index)
        return found or "full"

    async def get(self, session_id: str) -> Session | None:
        """Return the session, which counts as asked for."""
        found = await self._at_home("get", session_id)
        return None if found is None else msgspec.convert(found, Session)

    async def finish(self, session_id: str) -> bool:
        """Take the answer in; False if there is one already, or no session."""
        return bool(await self._at_home("finish", session_id))

    async def reopen(self, session_id: str) -> None:
        """Take another answer: the last one could not be scored."""
        await self._at_home("reopen", session_id)

    async def end(self, session_id: str) -> None:
        """Forget it; no error where there is none."""
        await self._at_home("end", session_id)

    async def _at_home(self, name: str, session_id: str, *more: Any) -> Any:
        place = elsewhere(session_id, self._siblings)
        if self._siblings is None or place is None:
            return self._here[name](session_id, *more)
        return await self._siblings.ask(place, "session", (name, session_id, *more))

    def _begin(self, session_id: str, task_set: str, split: str, index: int) -> Begun:
        self._forget_idle()
        if session_id in self._open:
            return "exists"
        if len(self._open) >= MAX_SESSIONS:
            return "full"
        self._open[session_id] = Session(task_set, split, index, until=time.monotonic() + IDLE_S)
        return "begun"

    def _get(self, session_id: str) -> Any:
        session = self._open.get(session_id)
        if session is None or session.until < time.monotonic():
            return None
        session.until = time.monotonic() + IDLE_S
        return msgspec.to_builtins(session)

    def _finish(self, session_id: str) -> bool:
        session = self._open.get(session_id)
        if session is None or session.finished:
            return False
        session.finished = True
        return True

    def _reopen(self, session_id: str) -> None:
        if session_id in self._open:
            self._open[session_id].finished = False

    def _end(self, session_id: str) -> None:
        self._open.pop(session_id, None)

    def _forget_idle(self) -> None:
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_EVERY_S
            self._open = {id_: session for id_, session in self._open.items() if session.until > now}
