"""The far side of `killable`: limits on the process, and the loop that answers questions on a pipe."""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

import msgspec

MEMORY_BYTES = 2 << 30
_PARENT_CHECK_S = 5.0


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer questions until the input ends or the parent is gone."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.set_int_max_str_digits(0)
    parent = os.getppid()
    output = os.dup(1)
    os.dup2(2, 1)  # nothing a library prints may reach the pipe
    os.write(output, b"{}\n")
    pending = bytearray()
    while True:
        if b"\n" not in pending:
            readable, _, _ = select.select([0], [], [], _PARENT_CHECK_S)
            if not readable and os.getppid() != parent:
                return
            if not readable:
                continue
            chunk = os.read(0, 65_536)
            if not chunk:
                return
            pending += chunk
            continue
        line, _, rest = bytes(pending).partition(b"\n")
        pending = bytearray(rest)
        os.write(output, _guarded(answer, line) + b"\n")


def _guarded(answer: Callable[[dict[str, Any]], dict[str, Any]], line: bytes) -> bytes:
    """Answer one question; the alarm ends this process should nobody be left to kill it."""
    try:
        question = msgspec.json.decode(line, type=dict[str, Any])
        signal.alarm(int(question.get("deadline_s", 2.0)) + 2)
        return msgspec.json.encode(answer(question))
    except MemoryError:
        return msgspec.json.encode({"outcome": "undecided", "failure": "error", "reason": "out of memory"})
    except Exception as error:  # a library's failure on one question is an answer, not the end
        return msgspec.json.encode({"outcome": "undecided", "reason": f"{type(error).__name__}"})
    finally:
        signal.alarm(0)
