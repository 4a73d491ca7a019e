"""Stand-ins for functions in JavaScript and TypeScript. `program.js` sends and answers the calls."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from rewardkit.sandbox.apart.declaration import (
    ApartSources,
    Declaration,
    UnusableDeclaration,
    code_only,
)

_JEST = re.compile(r"^[ \t]*(?:describe|test|it)(?:\.\w+)*(?:\(\s*['\"`]|\.each\b)", re.MULTILINE)
"""Pattern for the tests of Jest, which have a name, unlike a call to a function called `test`."""
_DECLARED = re.compile(
    r"(?:\bfunction\s*\*?\s*(?P<function>[\w$]+)"
    r"|\b(?:const|let|var)\s+(?P<variable>[\w$]+)\s*(?::[^=]*)?=)[^;]*$"
)


@cache
def _carrier() -> str:
    return Path(__file__).with_name("program.js").read_text()


def apart(program: str, declaration: str, tests: str) -> ApartSources:
    """Return a JavaScript program that answers function calls, and the tests that call it."""
    declared = Declaration(declaration, r"^(?:async\s+)?(?:function|const|let|var)\b")
    found = _DECLARED.search(code_only(declared.header))
    if found is None:
        raise UnusableDeclaration(f"no function in {declared.header.strip()[-80:]!r}")
    name = found["function"] or found["variable"]
    source = program if _defines(program, name) else declared.completed(program)
    serve = f"\n;__rewardkit.serve({{ {name} }})\n"
    stand_in = f"const {name} = __rewardkit.standIn({name!r})\n__rewardkit.strict()\n"
    runner = "jest" if _JEST.search(tests) else "javascript"
    return ApartSources(
        f"{_carrier()}{source}{serve}", f"{_carrier()}{declared.head}\n{stand_in}{tests}", runner
    )


def _defines(program: str, name: str) -> bool:
    named = re.escape(name)
    pattern = rf"\bfunction\s*\*?\s*{named}\b|\b(?:const|let|var)\s+{named}\s*[=:]|^\s*{named}\s*=(?!=)"
    return re.search(pattern, code_only(program), re.MULTILINE) is not None
