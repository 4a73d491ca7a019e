"""Sessions for environment protocols. A session has a task, and records whether its answer was submitted."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import Literal

IDLE_S = 900.0
"""Seconds without a request after which a session is removed."""

MAX_SESSIONS = 100_000
_SWEEP_EVERY_S = 1.0

Begun = Literal["begun", "exists", "full"]


@dataclass(slots=True)
class Session:
    """A client's episode, which has one answer."""

    task_set: str
    split: str
    index: int
    finished: bool = False
    """True if the answer has been submitted."""
    until: float = 0.0


class Sessions:
    """The open sessions in this server process."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}
        self._next_sweep = 0.0

    def new_id(self) -> str:
        """Return an id for a new session."""
        return uuid.uuid4().hex

    def begin(self, session_id: str, task_set: str, split: str, index: int) -> Begun:
        """Open a session, unless the id is in use (`exists`) or there are too many sessions (`full`)."""
        self._forget_idle()
        if session_id in self._open:
            return "exists"
        if len(self._open) >= MAX_SESSIONS:
            return "full"
        self._open[session_id] = Session(task_set, split, index, until=time.monotonic() + IDLE_S)
        return "begun"

    def get(self, session_id: str) -> Session | None:
        """Return a session and extend its lifetime, or None if there is no such session."""
        session = self._open.get(session_id)
        if session is None or session.until < time.monotonic():
            return None
        session.until = time.monotonic() + IDLE_S
        return session

    def finish(self, session_id: str) -> bool:
        """Mark the answer as submitted.

        Return False if the session already has an answer or does not exist.
        """
        session = self._open.get(session_id)
        if session is None or session.finished:
            return False
        session.finished = True
        return True

    def reopen(self, session_id: str) -> None:
        """Allow the client to submit another answer, because the last answer could not be scored."""
        if session_id in self._open:
            self._open[session_id].finished = False

    def end(self, session_id: str) -> None:
        """Remove a session if it exists."""
        self._open.pop(session_id, None)

    def _forget_idle(self) -> None:
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_EVERY_S
            self._open = {id_: session for id_, session in self._open.items() if session.until > now}
