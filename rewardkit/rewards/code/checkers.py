"""Checkers for problems with several right outputs, which are users' functions or programs in a dataset.

Each checker runs in its own jail and receives the output of the model's program as data. A checker sees the
expected output. Only a sandbox that hides this output from the program may run a checker, so the only remote
service allowed is rewardkit's own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from rewardkit.errors import reason_of
from rewardkit.rewards.code.problem import GroundTruthError
from rewardkit.sandbox import Limits, Outcome
from rewardkit.sandbox.fusion_client import FusionClient
from rewardkit.sandbox.jail import values

_PROGRAM_CPU_S = 10.0


class SandboxFailed(RuntimeError):
    """Raised if there is no result because the sandbox, rather than the program, failed."""


@dataclass(frozen=True, slots=True)
class CheckedOutput:
    """Texts from one test that are passed to a checker."""

    given: str
    got: str
    expected: str


class OutputChecker(Protocol):
    """Interface of a checker, which decides whether an output is right."""

    def accepts(self, sandbox: Any, checked: CheckedOutput, limits: Limits) -> bool:
        """Return True if the checker accepts an output.

        Raises:
            GroundTruthError: The checker itself does not work.
            SandboxFailed: The checker could not be run.
        """
        ...


@dataclass(frozen=True, slots=True)
class FunctionChecker:
    """A function (input, output, expected) -> bool in a user's file, given as `path.py:function`."""

    name: str

    def accepts(self, sandbox: Any, checked: CheckedOutput, limits: Limits) -> bool:
        """Return True if the function returns True for an output."""
        try:
            source = self.source()
        except ValueError as error:
            raise GroundTruthError(str(error)) from None
        function = self.name.rpartition(":")[2]
        (answer,) = with_walls(sandbox, "a checker").call(
            source, function, [[checked.given, checked.got, checked.expected]], limits
        )
        if answer.status in ("sandbox_error", "cancelled", "wall_timeout"):
            raise SandboxFailed(str(answer.error))
        if answer.status != "ok":
            raise GroundTruthError(f"the checker '{self.name}' failed: {answer.error}")
        return values.decode(values.loads(answer.value)["value"]) is True

    def source(self) -> str:
        """Return the source code in the checker's file.

        Raises:
            ValueError: The file cannot be read, or the name lacks a file or a function.
        """
        path, _, function = self.name.rpartition(":")
        try:
            if not path or not function:
                raise OSError(0, "the file or the function is missing")
            return Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(
                f"cannot read the checker '{self.name}' ({reason_of(error)}); expected path.py:function"
            ) from None


_RUN = """
import builtins, io, json, sys
texts = json.loads(sys.stdin.read())
source = texts.pop("checker.py")
plain = builtins.open

def opened(file, mode="r", *args, **kwargs):
    if str(file) not in texts:
        return plain(file, mode, *args, **kwargs)
    content = io.BytesIO(texts[str(file)].encode())
    return content if "b" in mode else io.TextIOWrapper(content, encoding="utf-8")

builtins.open = io.open = opened
sys.stdin = io.StringIO()
sys.argv = ["checker.py", "input.txt", "correct_output.txt", "solution_output.txt"]
exec(compile(source, "checker.py", "exec"), {"__name__": "__main__", "__file__": "checker.py"})
"""
"""Program that runs the checker with its files in memory, because not every level has a writable folder."""


@dataclass(frozen=True, slots=True)
class ProgramChecker:
    """A checker program in Python, as in open-r1/codeforces (`generated_checker`).

    The program receives the names of three files (the input, the correct output and the solution's output),
    and prints 1 if the solution's output is right.
    """

    source: str

    def accepts(self, sandbox: Any, checked: CheckedOutput, limits: Limits) -> bool:
        """Return True if the program prints 1 for an output.

        If the checker fails on an output but accepts the correct output, the output is wrong.
        """
        said = self._says(sandbox, checked, limits)
        if said is None and self._says(sandbox, replace(checked, got=checked.expected), limits) != "1":
            raise GroundTruthError("the program in 'generated_checker' rejects the expected output of a test")
        return said == "1"

    def _says(self, sandbox: Any, checked: CheckedOutput, limits: Limits) -> str | None:
        """Return the program's output, or None if the program did not exit normally."""
        texts = {
            "checker.py": self.source,
            "input.txt": checked.given,
            "correct_output.txt": checked.expected,
            "solution_output.txt": checked.got.encode("utf-8", "replace").decode(),
        }
        allowed = replace(limits, cpu_s=_PROGRAM_CPU_S)
        runner = with_walls(sandbox, "a checker program")
        outcome: Outcome = runner.run(_RUN, json.dumps(texts), allowed)
        if outcome.status in ("sandbox_error", "cancelled", "wall_timeout"):
            raise SandboxFailed(outcome.detail or outcome.status)
        return outcome.stdout.decode("utf-8", "replace").strip() if outcome.ok else None


def with_walls(sandbox: Any, what: str) -> Any:
    """Return the sandbox if it hides tests from programs, as rewardkit's sandboxes and servers do.

    Raises:
        SandboxFailed: The sandbox is a remote service other than rewardkit's own.
    """
    why = sandbox.why_not_ours() if isinstance(sandbox, FusionClient) else None
    if why is not None:
        raise SandboxFailed(
            f"{what} contains the expected output, and only a rewardkit server hides that output from the "
            f"program: {why}; set the option sandbox.url to a rewardkit server, or leave sandbox.url out if "
            "'rewardkit doctor' finds a level"
        )
    return sandbox
