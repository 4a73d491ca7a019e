"""The last tier, near side: sends two trees to the SymPy worker and reads its verdict."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from rewardkit.rewards.math.killable import Killable, WorkerDied, WorkerTimeout
from rewardkit.rewards.math.tree import Node

_WORKER = Killable("rewardkit.rewards.math._sympy_worker")


class Answer(NamedTuple):
    """What SymPy found. `failure` says that it did not get to an answer at all."""

    equal: bool | None
    reason: str
    failure: Literal["", "timeout", "error"] = ""


def decide(a: Node, b: Node, deadline_s: float) -> Answer:
    """Ask SymPy whether two trees are the same. Never raises."""
    question = {"a": msgspec.to_builtins(a), "b": msgspec.to_builtins(b)}
    try:
        reply = _WORKER.ask(question, deadline_s)
    except WorkerTimeout:
        return Answer(None, f"SymPy took longer than {deadline_s:g} s", "timeout")
    except WorkerDied as error:
        return Answer(None, f"the SymPy worker failed: {error}", "error")
    return _read(reply)


def _read(reply: dict[str, Any]) -> Answer:
    outcome = {"equal": True, "not_equal": False}.get(reply.get("outcome", ""))
    failed: Literal["", "error"] = "error" if reply.get("failure") == "error" else ""
    return Answer(outcome, str(reply.get("reason", "")), failed)


def warm() -> None:
    """Start the worker ahead of the first question."""
    _WORKER.warm()


def close() -> None:
    """End the worker; it starts again when it is needed."""
    _WORKER.close()
