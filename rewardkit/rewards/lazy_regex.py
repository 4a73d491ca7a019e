"""Regular expressions that are compiled when they are first used.

Those that read sentences have thousands of characters, and Python compiles each for milliseconds. Most
responses need none of them, while every worker and command that imports a reward would wait for all.
"""

from __future__ import annotations

import re
from typing import Any, cast

_NAMES = frozenset(name for name in dir(re.Pattern) if not name.startswith("_"))


class _LazyRegex:
    """Stands for a `re.Pattern`, and has its methods from the first use on."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """What the pattern has; found without a call of this from then on. Threads may do so at once."""
        if name not in _NAMES:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        self.__dict__.update({known: getattr(compiled, known) for known in _NAMES})
        return getattr(compiled, name)


def lazy_regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern like that of `re.compile`, which is compiled when it is first used.

    For what is long, or one of many, and few responses need; a use takes 0.02 µs more.
    """
    return cast("re.Pattern[str]", _LazyRegex(text, flags))
