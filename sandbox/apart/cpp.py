"""Stand-ins for functions in C++. `program.h` sends and answers the calls."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from rewardkit.sandbox.apart.declaration import ApartSources, Declaration, UnusableDeclaration, code_only

_SERVE = """
#undef main
struct rewardkit_declared {{ static {header}; }};
signed main() {{
    rewardkit::Call<decltype(rewardkit_declared::{name})>::serve(
        [](auto&&... rewardkit_given) -> decltype(auto) {{
            return {name}(static_cast<decltype(rewardkit_given)>(rewardkit_given)...);
        }});
}}
"""
_DECLARED = "struct rewardkit_declared {{ static {header}; }};\n"
_STORAGE = re.compile(r"\b(?:static|inline|extern)\b")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")
_DIRECTIVE = re.compile(r"^[ \t]*(?:#[ \t]*include[^\n]*|using\s+namespace[^\n;]*;)", re.MULTILINE)


@cache
def _carrier() -> str:
    return Path(__file__).with_name("program.h").read_text()


def apart(program: str, declaration: str, tests: str) -> ApartSources:
    """Return a C++ program that answers function calls, and the tests that call it."""
    declared = Declaration(declaration)
    header = _STORAGE.sub("", declared.header).strip()
    names = ", ".join(map(_name, declared.parameters))
    call = f"return rewardkit::Call<decltype(rewardkit_declared::{declared.name})>::ask({names});"
    begun = Declaration(f"{declared.head}\n{_DECLARED.format(header=header)}{header} {{")
    source = f"#define main rewardkit_main\n#line 1\n{_complete(program, declared)}"
    served = _SERVE.format(header=header, name=declared.name)
    return ApartSources(
        f"{_carrier()}{source}{served}", f"{_carrier()}#line 1\n{begun.with_stand_in(call, tests)}", "cpp"
    )


def _name(parameter: str) -> str:
    found = _NAME.search(parameter.partition("=")[0].rstrip())
    if found is None:
        raise UnusableDeclaration(f"the parameter {parameter!r} has no name")
    return found[1]


def _complete(program: str, declared: Declaration) -> str:
    """Add the declared includes to a program, and the function's header if the program is only a body."""
    if not _defines(program, declared.name):
        return declared.completed(program)
    helpers = re.findall(r"\b(\w+)\s*\([^;{}()]*\)\s*\{", code_only(declared.head))
    if helpers and not any(_defines(program, name) for name in helpers):
        return f"{declared.head}\n#line 1\n{program}"
    directives = "\n".join(_DIRECTIVE.findall(declared.head))
    return f"{directives}\n#line 1\n{program}"


def _defines(program: str, name: str) -> bool:
    return re.search(rf"\b{name}\s*\([^;{{}}]*\)[^;{{}}()]*\{{", code_only(program)) is not None
