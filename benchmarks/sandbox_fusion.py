"""Runs SandboxFusion's own tests of its runners against our `/run_code`, and counts those that pass.

    python benchmarks/sandbox_fusion.py CLONE [--only test_python.py ...]

CLONE is a checkout of github.com/bytedance/SandboxFusion. Its tests and the types of its requests and answers
are used unchanged, with our server in place of theirs. Prints a row for each file and the names of the tests
that fail. Those of the network (`test_isolation.py`) cannot pass, because programs have no network here.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest

from rewardkit import Scorer
from rewardkit.sandbox import Pool
from rewardkit.server.app import create_app

OURS = (
    "bash", "cpp", "go", "go_test", "isolation", "java", "jest", "junit", "nodejs", "pytest", "python",
    "rust", "typescript",
)  # fmt: skip
"""SandboxFusion's tests of the languages that we support."""


class Results:
    """Counts pytest's results by file."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            file, _, name = report.nodeid.rpartition("/")[2].partition("::")
            self.counts.setdefault(file, Counter())[report.outcome] += 1
            if report.outcome != "passed":
                self.failed.append(f"{file}::{name}")


def module(name: str, **names: Any) -> ModuleType:
    """Make a module that others can import."""
    made = sys.modules[name] = ModuleType(name)
    vars(made).update(names)
    return made


def load(clone: Path, name: str) -> ModuleType:
    """Import one of SandboxFusion's modules alone."""
    spec = importlib.util.spec_from_file_location(name, clone / f"{name.replace('.', '/')}.py")
    assert spec is not None and spec.loader is not None
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def pretend(clone: Path, app: Any) -> None:
    """Replace SandboxFusion's package by its types and our server."""
    module("structlog", stdlib=MagicMock())
    module("sandbox", __path__=[])
    module("sandbox.runners", __path__=[], CODE_RUNNERS={}, run_jupyter=None)
    vars(sys.modules["sandbox.runners"]).update(vars(load(clone, "sandbox.runners.types")))
    module("sandbox.server", __path__=[])
    load(clone, "sandbox.server.sandbox_api")
    module("sandbox.server.server", app=app)


def main() -> int:
    """Run the tests and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clone", type=Path)
    parser.add_argument("--only", nargs="*", default=[f"test_{name}.py" for name in OURS])
    options = parser.parse_args()
    folder = options.clone / "sandbox" / "tests" / "runners"
    logging.disable()
    results = Results()
    with Scorer() as scorer, Pool() as pool:
        pretend(options.clone, create_app(scorer, sandbox=pool))
        files = [str(folder / name) for name in options.only]
        apart = ("-c", os.devnull, "-p", "no:cacheprovider", "--noconftest", "--import-mode=importlib")
        pytest.main(["-q", "--tb=short", *apart, *files], plugins=[results])
    for file, counts in sorted(results.counts.items()):
        print(f"{file:<24} {counts['passed']:>3} of {sum(counts.values())}")
    passed = sum(counts["passed"] for counts in results.counts.values())
    print(f"{'all':<24} {passed:>3} of {sum(sum(c.values()) for c in results.counts.values())}")
    print("\n".join(f"not passed: {name}" for name in results.failed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
