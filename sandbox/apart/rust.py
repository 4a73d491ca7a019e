"""Stand-ins for functions in Rust. `program.rs` sends and answers the calls."""

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

_SERVE = """
use crate::rewardkit_program::Message as RewardkitMessage;
pub fn rewardkit_answer(rewardkit_asked: &mut RewardkitMessage, rewardkit_reply: &mut RewardkitMessage) {{
    use crate::rewardkit_program::{{Put, Wire}};
{taken}    let rewardkit_result = {name}({given});
    rewardkit_result.put(rewardkit_reply);
{back}    let _ = rewardkit_asked;
}}
"""
_ASK = """ use rewardkit_program::{{Put, Wire}};
    let mut rewardkit_asked = rewardkit_program::Message::new();
    {put}
    let mut rewardkit_reply = rewardkit_asked.ask();
    let rewardkit_result = Wire::get(&mut rewardkit_reply);
    {back}
    rewardkit_result """
_PARAMETER = re.compile(r"(?:mut\s+)?(?P<name>\w+)\s*:\s*(?P<type>.+)", re.DOTALL)
_CHANGED = re.compile(r"&(?:'\w+\s+)?mut\s+(?P<type>.+)", re.DOTALL)
_BORROWED = re.compile(r"&\s*(?:'\w+\s*)?(?!mut\b)")
_CRATE = re.compile(
    r"^[ \t]*use[ \t]+(?!(?:::)?(?:std|core|alloc|crate|self|super)\b)\w+(?:::[^;{}]*)?;[ \t]*$", re.MULTILINE
)
_INNER = re.compile(r"^\s*#!\[[^\]]*\]", re.MULTILINE)


@cache
def _carrier() -> str:
    return Path(__file__).with_name("program.rs").read_text()


def apart(program: str, declaration: str, tests: str) -> ApartSources:
    """Return a Rust program that answers function calls, and the tests that call it.

    Declared imports of crates are left out, because no crates are installed. HumanEval-X declares three
    crates in each row.
    """
    crates = set(_CRATE.findall(declaration))
    declaration, program = (_without(text, crates) for text in (declaration, program))
    declared = Declaration(declaration, r"^[ \t]*(?:pub\s+)?(?:async\s+)?fn\b")
    parameters = [_PARAMETER.fullmatch(parameter) for parameter in declared.parameters]
    if not all(parameters):
        raise UnusableDeclaration(f"the tests call a method: {declared.header.strip()[:80]!r}")
    named = [(found["name"], found["type"].strip()) for found in parameters if found]
    is_program = _defines(tests, "main")
    if not is_program and not re.search(r"#\[\s*test\s*\]", code_only(tests)):
        raise UnusableDeclaration("the tests have neither a 'main' nor a '#[test]' function")
    return ApartSources(
        f"{_program(program, declared, named)}{_carrier()}",
        f"{declared.with_stand_in(_ask(named), tests)}{_carrier()}",
        "rust" if is_program else "rust_test",
    )


def _without(source: str, lines: set[str]) -> str:
    return "\n".join("" if line in lines else line for line in source.split("\n"))


def _ask(named: list[tuple[str, str]]) -> str:
    put = " ".join(f"{_read(name, kind)}.put(&mut rewardkit_asked);" for name, kind in named)
    back = " ".join(
        f"*{name} = Wire::get(&mut rewardkit_reply);" for name, kind in named if _CHANGED.fullmatch(kind)
    )
    return _ASK.format(put=put, back=back)


def _read(name: str, kind: str) -> str:
    return f"(*{name})" if kind.startswith("&") else name


def _program(program: str, declared: Declaration, named: list[tuple[str, str]]) -> str:
    """Wrap a program in a module with a function that answers one call.

    The module may use names from the declaration, or import and define the same names itself.
    """
    taken = given = back = ""
    for name, kind in named:
        changed = _CHANGED.fullmatch(kind)
        own = _BORROWED.sub("&'static ", changed["type"] if changed else kind)
        taken += f"    let {'mut ' if changed else ''}{name}: {own} = Wire::get(rewardkit_asked);\n"
        given += f"{'&mut ' if changed else ''}{name}, "
        back += f"    {name}.put(rewardkit_reply);\n" if changed else ""
    body = program if _defines(program, declared.name) else f"{declared.header} {{\n{program}"
    answer = _SERVE.format(taken=taken, name=declared.name, given=given, back=back)
    main = "fn main() { rewardkit_program::serve(program::rewardkit_answer) }\n"
    head = _INNER.sub("", declared.head)
    return (
        f"{head}\n#[allow(warnings)]\nmod program {{\n{closed(body)}#[allow(unused_imports)]\nuse super::*;\n"
        f"{answer}}}\n{main}"
    )


def _defines(program: str, name: str) -> bool:
    return re.search(rf"\bfn\s+{name}\b", code_only(program)) is not None
