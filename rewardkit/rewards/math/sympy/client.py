"""Client for the SymPy tier, which sends two trees to a worker process and reads the verdict."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from rewardkit import worker_lifeline
from rewardkit.rewards.math.sympy.forkserver_client import ForkServer, ServerFailed, Undecided
from rewardkit.rewards.math.tree.nodes import (
    App,
    Based,
    Builder,
    Date,
    Linear,
    Logic,
    Matrix,
    Node,
    Part,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Text,
    Time,
    symbols,
    walk,
)

SERVER = ForkServer("rewardkit.rewards.math.sympy.worker:answer")


class SympyAnswer(NamedTuple):
    """SymPy's verdict, or the reason why there is no verdict."""

    equal: bool | None
    reason: str
    spent_s: float
    """CPU time used, in seconds."""
    failure: Literal["", "exhausted", "error"] = ""
    """`exhausted` if the question used up its time or memory, `error` if SymPy could not be reached."""


def decide(a: Node, b: Node, cpu_s: float) -> SympyAnswer:
    """Ask SymPy whether two trees are equal, within `cpu_s` seconds of CPU time.

    Failures are reported in the result and not raised.
    """
    question = {"a": msgspec.to_builtins(a), "b": msgspec.to_builtins(b)}
    try:
        return _read(SERVER.ask(question, cpu_s))
    except Undecided as error:
        return SympyAnswer(None, f"{error}", cpu_s, "exhausted")
    except ServerFailed as error:
        return SympyAnswer(None, f"SymPy could not be reached: {error}", 0.0, "error")


def can_decide(a: Node, b: Node) -> bool:
    """Return True if SymPy may be able to decide.

    Some nodes have no SymPy counterpart, and comparing sets requires exactly one unknown.
    """
    if any(isinstance(part, _WITHOUT_OBJECT) for side in (a, b) for part in walk(side)):
        return False
    if isinstance(a, Rel) and isinstance(b, Rel) and a.ops == b.ops == ("=",):
        return True
    kinds = [isinstance(side, _COLLECTIONS) for side in (a, b)]
    return not any(kinds) or any(_unknowns(side) == 1 for side in (a, b) if isinstance(side, _CONDITIONS))


_WITHOUT_OBJECT = (Linear, Part, Quantity, Based, Text, Time, Date, Matrix, Ratio)
_COLLECTIONS = (Seq, SetOp, Rel, Logic, Builder)
_CONDITIONS = (Seq, Rel, Logic)


def _unknowns(node: Node) -> int:
    called = {part.name for part in walk(node) if isinstance(part, App)}
    return len(symbols(node) - called)


def _read(reply: dict[str, Any]) -> SympyAnswer:
    outcome = {"equal": True, "not_equal": False}.get(reply.get("outcome", ""))
    return SympyAnswer(outcome, str(reply.get("reason", "")), float(reply["spent_s"]))


def warm() -> None:
    """Start the SymPy server before the first question."""
    SERVER.warm()


def close() -> None:
    """Stop the worker processes that this process started. They restart when needed."""
    worker_lifeline.close()
