"""Runs assertions in a second jailed child, which reaches the program in the first child through a socket.

The program under test is not in this process. Nothing that it redefines (`__eq__`, `sys.exit`, builtins,
frames, monkeypatches) can affect an assertion, because the program can only answer requests.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
import types
from typing import Any

from . import prelude, proxies, remote
from .calls import CHANNEL, RESULTS
from .channel import describe
from .protocol import PROGRAM_MODULES


class _Names(dict[str, Any]):
    """Namespace of the assertions, which looks up undefined names in the program.

    Modules in the prelude take precedence, because a program could define its own `math`. Other names in the
    prelude are used only if the program does not define them, because its task may be to define `gcd`, for
    example.
    """

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name) or name.startswith("__"):
            raise KeyError(name)
        known = prelude.get(name)
        if isinstance(known, types.ModuleType):
            return known
        try:
            return proxies.channel().look_up(name)
        except KeyError:
            if known is None:
                raise
            return known


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    """Return a comparison, rewritten as a call if the operator is `is` or `is not`."""
    if not isinstance(op, ast.Is | ast.IsNot):
        return ast.Compare(left, [op], [right])
    asked = ast.Call(ast.Name("__is__", ast.Load()), [left, right], [])
    return ast.UnaryOp(ast.Not(), asked) if isinstance(op, ast.IsNot) else asked


class _AcrossTheWall(ast.NodeTransformer):
    """AST transformer for operations that behave differently if the program runs in another process."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Rewrite `a is b` as a call, because one object of the program may have two stand-ins.

        A chain such as `a is b < c` becomes `a is (x := b) and x < c`, with the call for `is`.
        """
        self.generic_visit(node)
        if not any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return node
        left = node.left
        links: list[ast.expr] = []
        for place, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            name = f"__link_{place}__"
            is_last = place + 1 == len(node.ops)
            shown = right if is_last else ast.NamedExpr(ast.Name(name, ast.Store()), right)
            links.append(_compared(left, op, shown))
            left = ast.Name(name, ast.Load())
        asked = links[0] if len(links) == 1 else ast.BoolOp(ast.And(), links)
        return ast.copy_location(asked, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite `random.seed(0)` as a call that makes the program draw the same numbers."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "seed":
            asked = ast.Call(ast.Name("__seed__", ast.Load()), [node.func, *node.args], node.keywords)
            return ast.copy_location(asked, node)
        return node


def check(source: bytes, module: types.ModuleType) -> None:
    """Run the setup and then each test, and write one line for each test.

    `source` is a JSON object `{setup, tests}`. Each test is a pair of the statements to run before the test
    and the test itself.
    """
    request = json.loads(source)
    names = _Names(__name__="tests", __builtins__=builtins, __is__=_is)
    names["__candidate__"] = remote.channel_look_up
    channel = remote.connect(CHANNEL, names)
    names["__seed__"] = channel.seeds.seeded
    sys.modules["tests"] = module
    for name in PROGRAM_MODULES:
        sys.modules[name] = remote.Candidate(name)
    by_pytest = any(test.startswith("__run_test__(") for _, test in request["tests"])
    if by_pytest:
        from . import pytesting  # servers for pytest have preloaded this module

        pytesting.adapt()
    setup = _outcome(request["setup"], names)
    if "error" in setup and not channel.used:
        setup = {"passed": False, "unusable": f"the setup of the tests fails: {setup['error']}"}
    if by_pytest and setup["passed"]:
        tests = [test for _, test in request["tests"]]
        pytesting.play(module, names, tests, lambda: _run(request["tests"], setup, names))
    else:
        _run(request["tests"], setup, names)


def _run(tests: list[tuple[str, str]], setup: dict[str, Any], names: _Names) -> None:
    for before, test in tests:
        outcome = setup
        if setup["passed"]:
            outcome = _outcome(before, names)
            outcome = _outcome(test, names) if outcome["passed"] else outcome
        os.write(RESULTS, json.dumps(outcome).encode() + b"\n")


def _outcome(source: str, names: _Names) -> dict[str, Any]:
    try:
        tree = ast.fix_missing_locations(_AcrossTheWall().visit(ast.parse(source)))
        code = compile(tree, "test.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return {"passed": False, "unusable": f"a test is not valid Python: {describe(error)}"}
    try:
        exec(code, names)
    except BaseException as error:
        if isinstance(error, proxies.UnsupportedTest | ModuleNotFoundError) and not vars(error):
            return {"passed": False, "unusable": describe(error)}  # this test would fail with any program
        return {"passed": False, "error": describe(error)}
    return {"passed": True}


def _is(one: Any, other: Any) -> bool:
    if isinstance(one, proxies.Proxy) and isinstance(other, proxies.Proxy):
        return proxies.number_of(one) == proxies.number_of(other)
    return one is other
