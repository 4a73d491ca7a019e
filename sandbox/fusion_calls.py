"""Wraps a function call in a whole program, for services that can only run whole programs.

The service receives the program and the arguments of one call, but never the expected result.
`jail/calls.py`, which is part of the whole program, makes the call. In the output, the result follows a mark
that is random for each run, and all other output is ignored. A program that writes the mark itself gains
nothing, because it chooses its answer in any case.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from rewardkit.sandbox.answers import Answer, no_answer, read_answer
from rewardkit.sandbox.jail import calls, channel, prelude, values
from rewardkit.sandbox.outcome import Outcome

_BOOTSTRAP = """
import builtins, io, json, os, sys, types
package = sys.modules["jail"] = types.ModuleType("jail")
package.__path__ = []
for name, text in MODULES:
    module = sys.modules["jail." + name] = types.ModuleType("jail." + name)
    module.__package__ = "jail"
    setattr(package, name, module)
    exec(compile(text, "jail/" + name + ".py", "exec"), vars(module))
request = json.loads(sys.stdin.read())
sys.stdin = io.TextIOWrapper(io.BytesIO())
package.prelude.prepare()
module = sys.modules["solution"] = types.ModuleType("solution")
vars(module).update(__file__="main.py", __builtins__=builtins)
package.prelude.give(module)
package.calls._load(SOURCE.encode("utf-8", "surrogatepass"), module)
line = package.calls._line(module, request["function"], request["case"], request["keywords"])
try:
    sys.stdout.flush()
finally:
    os.write(1, request["mark"].encode() + line)
    os._exit(0)
"""


@cache
def _modules() -> list[tuple[str, str]]:
    found = {"values": values, "channel": channel, "prelude": prelude, "calls": calls}
    return [(name, inspect.getsource(module)) for name, module in found.items()]


def harness(source: str) -> str:
    """Return a Python program that calls a function in `source` once, as described on its standard input."""
    return f"MODULES = {_modules()!r}\nSOURCE = {source!r}\n{_BOOTSTRAP}"


def request(function: str, case: Sequence[Any], keywords: Mapping[str, Any], mark: str) -> str:
    """Return the standard input for a harness, with the function to call, its arguments and the mark."""
    named = {name: values.encode(value) for name, value in keywords.items()}
    asked = {"function": function, "case": values.encode(list(case)), "keywords": named, "mark": mark}
    return json.dumps(asked)


def answer(outcome: Outcome, mark: str) -> Answer:
    """Return the answer to a call, given the outcome of its run."""
    _, found, line = outcome.stdout.rpartition(mark.encode())
    return read_answer(line.partition(b"\n")[0]) if outcome.ok and found else no_answer(outcome)
