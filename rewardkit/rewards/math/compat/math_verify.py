"""Verdict from Math-Verify for `compat="math_verify"`, computed by the package itself in a worker process.

Math-Verify's timeouts work only in the main thread of a process. The worker runs Math-Verify in its main
thread, so that callers may use any thread.
"""

from __future__ import annotations

from rewardkit.errors import require
from rewardkit.rewards.math.comparing.grade import MathVerdict
from rewardkit.rewards.math.guards import AnswerBudget
from rewardkit.rewards.math.sympy.forkserver_client import ForkServer, ServerFailed, Undecided

_SERVER = ForkServer("rewardkit.rewards.math.compat.math_verify_worker:answer")


def reproduce(response: str, ground_truth: str, left: AnswerBudget) -> MathVerdict:
    """Return Math-Verify's verdict on a response. The ground truth is passed in a box, as in verl.

    Raises:
        MissingDependencyError: Math-Verify is not installed.
    """
    require("compat=math_verify", "math_verify", "math-verify")
    if left.cpu_s <= 0:
        return MathVerdict("not_equal", "symbolic", "Math-Verify ran out of time before this ground truth")
    try:
        reply = _SERVER.ask({"ground_truth": f"\\boxed{{{ground_truth}}}", "response": response}, left.cpu_s)
    except Undecided as error:
        left.cpu_s = 0.0
        return MathVerdict("not_equal", "symbolic", f"Math-Verify returned no verdict: {error}")
    except ServerFailed as error:
        return MathVerdict("undecided", "symbolic", f"Math-Verify could not be reached: {error}", "error")
    left.cpu_s -= reply["spent_s"]
    if reply.get("outcome") not in ("equal", "not_equal"):
        return MathVerdict("not_equal", "symbolic", f"Math-Verify raised {reply.get('reason')}")
    return MathVerdict(reply["outcome"], "symbolic", "Math-Verify")
