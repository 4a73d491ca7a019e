"""One worker is enough for the few rows of these tests."""

from tests.one_core import one_core

__all__ = ["one_core"]
