"""Finds operations in tests that have no effect on a program in another process.

A test with such an operation would fail a right program as well as a wrong one, so the problem is invalid.
Only the tests are examined.
"""

from __future__ import annotations

import ast

from rewardkit.rewards.code.scripts import parse
from rewardkit.sandbox.jail.protocol import PROGRAM_MODULES

_CARRIED = {"sys.stdout", "sys.stderr", "sys.stdin", "builtins.input", "builtins.print", "os.environ"}
"""Objects that tests may replace, in addition to the program's own objects."""
_FILES = {
    "os": {"mkdir", "makedirs", "remove", "unlink", "rename", "listdir", "chdir", "rmdir", "symlink"},
    "shutil": {"rmtree", "copy", "copyfile", "copytree", "move"},
}
_OF_PATHS = {"write_text", "write_bytes", "touch", "read_text", "read_bytes"}
_LOGS = {"assertLogs", "assertNoLogs", "assertWarns", "assertWarnsRegex"}
_WARNINGS = {"pytest.warns", "pytest.deprecated_call", "warnings.catch_warnings"}
_SKIPS = {"pytest.skip", "pytest.xfail"}
_LOOKS = {"inspect.signature", "inspect.getsource", "inspect.getfullargspec"}
_FRAMES = {"assert_frame_equal", "assert_series_equal", "assert_index_equal"}
_FIXTURES = {"capsys", "capfd", "monkeypatch", "request", "self", "cls"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def uncarried(tests: str, *, pytest: bool) -> str | None:
    """Describe an operation in Python tests that has no effect in the program's process, or return None.

    Args:
        tests: Source of the tests.
        pytest: True if the tests are functions that request fixtures, False if they are statements.
    """
    module = parse(tests)
    if module is None:
        return None
    imported = _imported(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and (found := _in_call(node, imported)):
            return found
    return _fixture(module) if pytest else None


def _imported(module: ast.Module) -> dict[str, str]:
    """Return the full names of imported names, except those imported from the program's module."""
    found = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found.update(
                {a.asname or a.name.partition(".")[0]: a.name if a.asname else "" for a in node.names}
            )
        elif isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return {name: whole or name for name, whole in found.items()}


def _in_call(node: ast.Call, imported: dict[str, str]) -> str | None:
    written = ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""
    root, _, rest = written.partition(".")
    name = f"{imported.get(root, root)}.{rest}" if rest else imported.get(root, root)
    owner, _, last = name.rpartition(".")
    if owner == "tempfile" or last in _FILES.get(owner, ()) or name == "open":
        return f"reads or writes files ({written}), which the program does not have"
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if method in _OF_PATHS and "pathlib.Path" in imported.values():
        return f"reads or writes files ({method}), which the program does not have"
    if name in _SKIPS or last == "skipTest":
        return f"skips itself ({written})"
    if last in _LOGS or name in _WARNINGS:
        return f"listens to logs or warnings ({written})"
    if name in _LOOKS or last in _FRAMES:
        return f"inspects objects with {written}"
    return _replaced(node, name, imported)


def _replaced(node: ast.Call, name: str, imported: dict[str, str]) -> str | None:
    """Describe an object that a test replaces with a mock that the program cannot see, or return None."""
    if name.startswith("mock."):
        name = f"unittest.{name}"
    if not node.args:
        return None
    first = node.args[0]
    if name == "unittest.mock.patch" or (name == "monkeypatch.setattr" and isinstance(first, ast.Constant)):
        target = str(first.value) if isinstance(first, ast.Constant) else ""
    elif name in ("unittest.mock.patch.object", "monkeypatch.setattr") and len(node.args) > 1:
        second = node.args[1]
        owner = ast.unparse(first)
        root = owner.partition(".")[0]
        if root not in imported or not isinstance(second, ast.Constant):
            return None
        target = f"{imported[root]}{owner[len(root) :]}.{second.value!s}"
    else:
        return None
    if not target or target in _CARRIED or _is_the_programs(target):
        return None
    return f"replaces {target}, which the program would not see"


def _is_the_programs(target: str) -> bool:
    return target.partition(".")[0] in PROGRAM_MODULES


def _fixture(module: ast.Module) -> str | None:
    """Describe a fixture that a test requests but that is not defined, or return None."""
    functions = [node for node in module.body if isinstance(node, _Function)]
    for owner in module.body:
        if isinstance(owner, ast.ClassDef) and owner.name.startswith("Test"):
            functions += [node for node in owner.body if isinstance(node, _Function)]
    given = _FIXTURES | {function.name for function in functions if _decorated(function, "fixture")}
    known = given | _parameters(module)
    for function in functions:
        if function.name.startswith("test") and not _decorated(function, "patch"):
            for name in _asked(function):
                if name not in known:
                    return f"needs the fixture '{name}', which is not available here"
    return None


def _asked(function: _Function) -> list[str]:
    plain = function.args.args
    return [a.arg for a in plain[: len(plain) - len(function.args.defaults)]]


def _decorated(function: _Function, word: str) -> bool:
    return any(word in ast.unparse(found).partition("(")[0] for found in function.decorator_list)


def _parameters(module: ast.Module) -> set[str]:
    """Return the parameter names that calls to `parametrize` define."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parametrize") and node.args:
            try:
                names = ast.literal_eval(node.args[0])
            except ValueError:
                continue
            listed = names.split(",") if isinstance(names, str) else names
            found |= {str(name).strip() for name in listed}
    return found
