"""Stubs for Go functions that run in another process.

`prepare.go` inserts the stubs, and `program.go` sends and answers the calls.
"""

from __future__ import annotations

import re

from rewardkit.sandbox.apart.declaration import ApartSources, Declaration, closed, code_only

_CLAUSE = re.compile(r"^\s*package\s+\w+")
_IMPORTS = re.compile(r"^[ \t]*import\s*(?:\([^)]*\)|[^\n(]+)", re.MULTILINE)
_HEADER = r"^func\b"
_DEFINED = re.compile(r"^(?:func|type)\s+(\w+)", re.MULTILINE)


def apart(program: str, declaration: str, tests: str) -> ApartSources:
    """Return a Go program that answers function calls, and the tests that call it."""
    declared = Declaration(declaration, _HEADER)
    source = _complete(program, declared)
    rest = _CLAUSE.sub("", tests)
    imports = "\n".join(_IMPORTS.findall(rest))  # imports must come before all declarations
    begun = Declaration(f"package main\n{imports}\n{_CLAUSE.sub('', declaration)}", _HEADER)
    asking = begun.with_stand_in('panic("")', _IMPORTS.sub("", rest))
    return ApartSources(
        f"//rewardkit:serve {declared.name}\n{source}",
        f"//rewardkit:ask {declared.name}\n{asking}",
        "go_test",
    )


def _complete(program: str, declared: Declaration) -> str:
    """Add the other declared definitions to a program, and the function's header if it is missing."""
    code = code_only(program)
    if not re.search(rf"^func\s+{declared.name}\b", code, re.MULTILINE):
        return closed(f"{declared.text}\n{program}")
    head = _IMPORTS.sub("", _CLAUSE.sub("", declared.head))
    others = _DEFINED.findall(code_only(head))
    if any(re.search(rf"^(?:func|type)\s+{name}\b", code, re.MULTILINE) for name in others):
        return program
    return f"{program}\n{head}\n"
