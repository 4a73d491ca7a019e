"""Runs a program and its tests in one file with pytest.

This is only for `/run_code`. The code reward runs such tests in a separate process (`jail/pytesting.py`).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util

from rewardkit.sandbox.languages.base import Language, LanguageCommand, LanguageUnavailable, Toolchain
from rewardkit.sandbox.outcome import Limits

_FILE = "test_main.py"
_SCRIPT = f"""
import os, sys
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
sys.exit(pytest.main(["-p", "no:cacheprovider", "{_FILE}"]))
"""
"""Script that runs pytest without the installed plugins, because plugins may open sockets, search for files
or read options."""


def _discover() -> Toolchain:
    if importlib.util.find_spec("pytest") is None:
        raise LanguageUnavailable("pytest is not installed; pip install 'rewardkit[code]'")

    def run(source: str, limits: Limits) -> LanguageCommand:
        program = source.encode("utf-8", "surrogateescape")
        return LanguageCommand(script=_SCRIPT, files=((_FILE, program),), tools=False)

    return Toolchain(f"pytest {importlib.metadata.version('pytest')}", (), run)


PYTEST = Language(
    "pytest",
    "pytest",
    (),
    _discover,
    "def test(capfd):\n    with capfd.disabled():\n        print(42)\n",
    answers=False,
)
