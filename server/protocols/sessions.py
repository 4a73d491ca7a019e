"""Episodes of environment protocols, one answer each: who has which task, and whether it is handed in."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import Literal

IDLE_S = 900.0
"""A session that nobody has asked anything of for so long is forgotten."""

MAX_SESSIONS = 100_000
_SWEEP_EVERY_S = 1.0

Begun = Literal["begun", "exists", "full"]


@dataclass(slots=True)
class Session:
    """One client's episode."""

    task_set: str
    split: str
    index: int
    finished: bool = False
    """The answer has been handed in."""
    until: float = 0.0


class Sessions:
    """The sessions of this server."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}
        self._next_sweep = 0.0

    def new_id(self) -> str:
        """An id for a session."""
        return uuid.uuid4().hex

    def begin(self, session_id: str, task_set: str, split: str, index: int) -> Begun:
        """Open a session; say if there is one of this id already, or are too many."""
        self._forget_idle()
        if session_id in self._open:
            return "exists"
        if len(self._open) >= MAX_SESSIONS:
            return "full"
        self._open[session_id] = Session(task_set, split, index, until=time.monotonic() + IDLE_S)
        return "begun"

    def get(self, session_id: str) -> Session | None:
        """Return the session, which counts as asked for."""
        session = self._open.get(session_id)
        if session is None or session.until < time.monotonic():
            return None
        session.until = time.monotonic() + IDLE_S
        return session

    def finish(self, session_id: str) -> bool:
        """Take the answer in; False if there is one already, or no session."""
        session = self._open.get(session_id)
        if session is None or session.finished:
            return False
        session.finished = True
        return True

    def reopen(self, session_id: str) -> None:
        """Take another answer: the last one could not be scored."""
        if session_id in self._open:
            self._open[session_id].finished = False

    def end(self, session_id: str) -> None:
        """Forget it; no error where there is none."""
        self._open.pop(session_id, None)

    def _forget_idle(self) -> None:
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_EVERY_S
            self._open = {id_: session for id_, session in self._open.items() if session.until > now}
