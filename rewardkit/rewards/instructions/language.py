"""Detects the language of a text reproducibly, using langdetect with a fixed seed."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from rewardkit.errors import MissingDependencyError

_MAX_CHARS = 10_000
"""Number of characters to read, from the start of a text."""


_CODES = """
    af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml mr ne nl no pa
    pl pt ro ru sk sl so sq sv sw ta te th tl tr uk ur vi zh zh-cn zh-tw
    """
LANGUAGES = frozenset(_CODES.split())
"""Codes of the languages that can be detected."""


@lru_cache(maxsize=1_024)
def language(text: str) -> str | None:
    """Return the ISO 639-1 code of a text's language (for Chinese `zh-cn` or `zh-tw`), or None if undetected.

    Raises:
        MissingDependencyError: The package langdetect is not installed.
    """
    detector = _factory().create()
    from langdetect.lang_detect_exception import LangDetectException

    detector.append(text[:_MAX_CHARS])
    try:
        return str(detector.detect())
    except LangDetectException:
        return None


@cache
def _factory() -> Any:
    try:
        from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
    except ImportError:
        raise MissingDependencyError(
            "detecting languages needs the package langdetect: pip install 'rewardkit[instructions]'"
        ) from None
    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    factory.set_seed(0)
    return factory
