"""What the forks of `test_math_worker` do. The server imports this: nothing that takes long."""

from __future__ import annotations

import os
import signal
from typing import Any


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Do what the question says; it names the process unless that ends."""
    match question["do"]:
        case "spin":
            while True:
                pass
        case "eat":
            return {"size": len(bytearray(8 << 30))}
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "quit":
            os._exit(3)
        case "be killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "be killed once":
            if not os.path.exists(question["mark"]):
                open(question["mark"], "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise ValueError
    return {"pid": os.getpid()}
