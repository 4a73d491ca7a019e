"""A name of ours that stands in a string, for what is imported when it is needed, names something that is there."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rewardkit

ROOT = Path(rewardkit.__file__).parent
TARGET = re.compile(r"rewardkit(?:\.\w+)+:\w+")


def _targets() -> Iterator[str]:
    for room in (ROOT, *(ROOT / name for name in ("server", "trainer", "sandbox", "datasets_prep"))):
        for path in room.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and TARGET.fullmatch(str(node.value)):
                    yield str(node.value)


@pytest.mark.parametrize("target", sorted(set(_targets())))
def test_a_target_in_a_string_is_there(target: str) -> None:
    module, _, name = target.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rewardkit"):
            raise
        pytest.skip(f"needs {error.name}")
    assert hasattr(found, name)
