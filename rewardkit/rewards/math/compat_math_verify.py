"""`compat="math_verify"`: Math-Verify's verdict, from its own package, in a worker that can be killed.

Its timeouts need the main thread of a process; the worker's is one, so this works from threads too.
"""

from __future__ import annotations

import importlib.util
from typing import Literal

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.math.grade import Verdict
from rewardkit.rewards.math.killable import Killable, WorkerDied, WorkerTimeout

_WORKER = Killable("rewardkit.rewards.math._math_verify_worker")
_DEADLINE_S = 20.0
"""Math-Verify allows itself five seconds each for the gold, the answer and their comparison."""


def judge(response: str, gold: str) -> Verdict:
    """Return Math-Verify's verdict on a response, with the gold in a box as verl hands it over.

    Raises:
        MissingDependencyError: Math-Verify is not installed.
    """
    if importlib.util.find_spec("math_verify") is None:
        raise MissingDependencyError(
            'compat="math_verify" needs the package math-verify; install it with: pip install math-verify'
        )
    try:
        reply = _WORKER.ask({"gold": f"\\boxed{{{gold}}}", "response": response}, _DEADLINE_S)
    except WorkerTimeout:
        return _failed("timeout", f"Math-Verify took longer than {_DEADLINE_S:g} s")
    except WorkerDied as error:
        return _failed("error", f"the Math-Verify worker failed: {error}")
    if reply.get("outcome") not in ("equal", "not_equal"):
        return _failed("error", f"Math-Verify raised {reply.get('reason')}")
    return Verdict(reply["outcome"], "symbolic", "Math-Verify")


def _failed(failure: Literal["timeout", "error"], reason: str) -> Verdict:
    return Verdict("undecided", "symbolic", reason, failure)


def close() -> None:
    """End the worker; it starts again when it is needed."""
    _WORKER.close()
