"""Stand-ins for methods in Java. `Program.java` sends and answers the calls."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from rewardkit.sandbox.apart.declaration import (
    ApartSources,
    Declaration,
    UnusableDeclaration,
    closed,
    code_only,
)

SERVER = "RewardkitServer"
"""Class whose `main` answers calls. It is started instead of any `main` of the program."""

_SERVE = """
final class {server} {{
    public static void main(String[] arguments) throws Exception {{
        RewardkitProgram.serve("{owner}", "{name}");
    }}
}}
"""
_OWNER = re.compile(r"\bclass\s+(\w+)[^{};]*\{")
_IMPORT = re.compile(r"^[ \t]*import\s[^;]*;", re.MULTILINE)
_PACKAGE = re.compile(r"\s*package\s[^;]*;")
_RESULT = re.compile(
    r"(?:(?:public|private|protected|static|final|synchronized)\s+|@\w+\s+)*(?:<[^()]*?>\s+)?(.+)", re.DOTALL
)
_TUPLE_IMPORT = re.compile(r"^[ \t]*import\s+org\.javatuples\.[\w.*]+;", re.MULTILINE)
_TUPLES = re.compile(r"\b(?:Pair|Triplet|Quartet|Quintet)\b")
"""Classes of javatuples, which MultiPL-E imports in each row but uses in few."""
_NUMBERS = ("byte", "short", "int", "long", "float", "double")


@cache
def _carrier() -> str:
    return Path(__file__).with_name("Program.java").read_text()


def apart(program: str, declaration: str, tests: str) -> ApartSources:
    """Return a Java program that answers method calls, and the tests that call it."""
    if not _TUPLES.search(_IMPORT.sub("", declaration + tests)):
        declaration, program = (_TUPLE_IMPORT.sub("", text) for text in (declaration, program))
    declared = Declaration(declaration)
    owners = _OWNER.findall(code_only(declared.head))
    found = _RESULT.fullmatch(" ".join(declared.before_name.split()))
    if not owners or found is None:
        raise UnusableDeclaration(f"no method of a class in {declaration.strip()[-80:]!r}")
    owner, name, result = owners[-1], declared.name, found[1]
    names = ", ".join(parameter.split()[-1].strip("[].") for parameter in declared.parameters)
    call = _converted(f"RewardkitProgram.ask(new Object[] {{{names}}})", result)
    serve = _SERVE.format(server=SERVER, owner=owner, name=name)
    runner = "junit" if "org.junit" in tests else "java"
    imports = "".join(f"{line}\n" for line in _IMPORT.findall(code_only(tests)))
    begun = Declaration(f"{imports}{declaration}")
    rest = _IMPORT.sub("", tests)
    return ApartSources(
        f"{_complete(program, declared, owner)}{_carrier()}{serve}",
        f"{begun.with_stand_in(call, rest)}{_carrier()}",
        runner,
    )


def _converted(call: str, result: str) -> str:
    if result == "void":
        return f"{call};"
    if result in _NUMBERS:
        return f"return ((Number) {call}).{result}Value();"
    return f"return ({ {'boolean': 'Boolean', 'char': 'Character'}.get(result, result) }) {call};"


def _complete(program: str, declared: Declaration, owner: str) -> str:
    """Add the declared imports to a program, and the class and the method header if they are missing."""
    code = code_only(program)
    imports = _IMPORT.findall(declared.head)
    missing = "\n".join(line for line in imports if line.strip() not in program)
    if re.search(rf"\b(?:class|record|enum|interface)\s+{owner}\b", code):
        package = _PACKAGE.match(code)
        start = package.end() if package else 0
        return f"{program[:start]}{missing} {program[start:]}"
    own = "\n".join(line for line in _IMPORT.findall(code))
    rest = _IMPORT.sub("", program)
    if re.search(rf"\b{declared.name}\s*\([^;{{}}]*\)[^;{{}}()]*\{{", code):
        return closed(f"{own}\n{declared.head}\n{rest}")
    return closed(f"{own}\n{declared.text}\n{rest}")
