"""Shared by all tests: where the optional reference data lies, and a registry left as it was."""

from __future__ import annotations

import copy
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit.registry import REGISTRY, Registry

REFERENCE_DATA = Path(__file__).parents[2] / "shared" / "data"


def pytest_configure() -> None:
    """Heed SIGINT even where a script started this in its background: tests interrupt what they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def reference_data() -> Path:
    """The folder of raw datasets that lies beside a developer's checkout; the test skips without it."""
    if not REFERENCE_DATA.is_dir():
        pytest.skip(f"no reference data at {REFERENCE_DATA}")
    return REFERENCE_DATA


@pytest.fixture
def registry() -> Iterator[Registry]:
    """The global registry; what a test registers is gone after it."""
    before = {name: copy.copy(value) for name, value in vars(REGISTRY).items()}
    yield REGISTRY
    for name, value in before.items():
        setattr(REGISTRY, name, value)
