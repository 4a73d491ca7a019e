"""Languages that a test needs on this machine."""

from __future__ import annotations

import pytest

from rewardkit.sandbox.languages import RUNNERS, LanguageUnavailable, toolchain


def needs(language: str) -> None:
    """Skip the test if programs in this language cannot be built and run here."""
    try:
        toolchain(RUNNERS[language])
    except LanguageUnavailable as error:
        pytest.skip(str(error))
