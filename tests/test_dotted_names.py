"""A name of ours that stands in a string, for what is imported when it is needed, names something that is there."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import rewardkit

ROOT = Path(rewardkit.__file__).parent
TARGET = re.compile(r"rewardkit(?:\.\w+)+:\w+")


def _targets() -> Iterator[str]:
    for room in (ROOT, *(ROOT / name for name in ("server", "trainer", "sandbox", "datasets_prep"))):
        for path in room.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and TARGET.fullmatch(str(node.value)):
                    yield str(node.value)


def test_every_target_in_a_string_is_there() -> None:
    targets = set(_targets())
    assert len(targets) > 10
    assert [target for target in sorted(targets) if not _is_there(target)] == []


def _is_there(target: str) -> bool:
    """Whether it is, as far as can be seen without a package that is not installed."""
    module, _, name = target.partition(":")
    try:
        return hasattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        return not (error.name or "").startswith("rewardkit")
