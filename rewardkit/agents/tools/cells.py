"""Programs that run a cell of code in the sandbox after the earlier cells, as in a notebook.

A program rebuilds the notebook's state by running the earlier cells again without output. No process has to
keep running between the calls in an episode. In contrast to pickled variables, the state includes functions
and classes. Hashing and `random` are seeded, so a cell gives the same result each time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

FINISHED = 71
"""Exit status of a program that has run all its cells, even if the last cell raised an exception."""

_NUMPY = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:numpy|scipy|pandas)\b", re.MULTILINE)
_WITH_NUMPY = "try:\n    import numpy\nexcept ImportError:\n    pass\n"

_DRIVER = """
def _drive(cells):
    import ast, builtins, io, linecache, os, random, sys, time, traceback

    class Silence(io.TextIOBase):
        def write(self, text):
            return len(text)

    def trimmed(error):
        trace = error.__traceback__
        while trace is not None and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
            trace = trace.tb_next
        return trace

    def run(code, name):
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        try:
            tree = ast.parse(code, name)
            last = None
            if tree.body and isinstance(tree.body[-1], ast.Expr):
                last = ast.Expression(tree.body.pop().value)
            exec(compile(tree, name, "exec"), names)
            if last is not None:
                value = eval(compile(last, name, "eval"), names)
                if value is not None:
                    names["_"] = value
                    print(repr(value))
        except SystemExit:
            pass
        except BaseException as error:
            traceback.print_exception(type(error), error, trimmed(error), limit=-8, chain=False)

    names = {"__name__": "__main__", "__builtins__": builtins}
    random.seed(0)
    out, err, sleep = sys.stdout, sys.stderr, time.sleep
    sys.stdout = sys.stderr = Silence()
    time.sleep = lambda seconds: None
    for place, code in enumerate(cells):
        if place + 1 == len(cells):
            sys.stdout, sys.stderr, time.sleep = out, err, sleep
        run(code, f"<cell {place + 1}>")
    out.flush()
    err.flush()
    os._exit(FINISHED)
"""


def program(earlier: Sequence[str], code: str) -> str:
    """Return a program that runs the earlier cells without output and then the cell `code` with output.

    The output consists of the cell's prints, the value of its last expression, and the traceback of an
    exception.
    """
    cells = [*earlier, code]
    head = _WITH_NUMPY if any(_NUMPY.search(cell) for cell in cells) else ""
    driver = _DRIVER.replace("FINISHED", str(FINISHED))
    return f"{head}{driver}\n_drive({cells!r})\n"
