"""Defines the languages in which programs may be written. Python is built in and needs no definition.

To add a language, define a `Language` in a new file in this folder and add it to `RUNNERS`, or write a
package (docs/extending_server.md).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping

from rewardkit.extensions import Table
from rewardkit.sandbox.languages.base import Language, LanguageCommand, LanguageUnavailable, Toolchain
from rewardkit.sandbox.languages.c import CPP, C
from rewardkit.sandbox.languages.java import JAVA
from rewardkit.sandbox.languages.javascript import JAVASCRIPT
from rewardkit.sandbox.languages.pytests import PYTEST
from rewardkit.sandbox.languages.rust import RUST, RUST_TEST
from rewardkit.sandbox.languages.shell import BASH
from rewardkit.sandbox.languages.sql import SQL

__all__ = [
    "LANGUAGES",
    "PYTHON",
    "RUNNERS",
    "Language",
    "LanguageCommand",
    "LanguageUnavailable",
    "Toolchain",
    "find",
    "toolchain",
]

PYTHON = "python"
_PYTHON_NAMES = frozenset({PYTHON, "py", "python3", "python2", "pypy", "pypy3"})

RUNNERS: Table[Language] = Table(
    "languages",
    Language,
    {
        language.name: language
        for language in (
            C,
            CPP,
            JAVA,
            JAVASCRIPT,
            RUST,
            RUST_TEST,
            BASH,
            SQL,
            PYTEST,
        )
    },
)
"""All languages by name, including those that are only for `/run_code` requests."""


class _AnswerLanguages(Mapping[str, Language]):
    """View of `RUNNERS` that contains only the languages in which responses may be written."""

    def __getitem__(self, name: str) -> Language:
        language = RUNNERS[name]
        if not language.answers:
            raise KeyError(name)
        return language

    def __iter__(self) -> Iterator[str]:
        return (name for name, language in RUNNERS.items() if language.answers)

    def __len__(self) -> int:
        return sum(language.answers for language in RUNNERS.values())


LANGUAGES: Mapping[str, Language] = _AnswerLanguages()
"""Languages in which responses may be written, by name."""

_JUDGES = re.compile(
    r"(?:gnu\s+)?(?P<name>[a-z+#.]+?)\s*(?P<number>\d*)(?:[\s.-]*\d[\d.\s-]*)?(?:\s*\([^()]*\))?"
)
_CPP_STANDARD = re.compile(r"cpp(17|20)")
_STANDARDS = frozenset({"c", "c++", "cpp", "g++"})


def find(name: str) -> str | None:
    """Return the canonical name of a language, or None if it is unknown.

    Case is ignored. Names that contests use, which may include a compiler or a release, such as `GNU C++17
    7.3.0` and `PyPy 3-64`, are also recognised.
    """
    name = name.strip().casefold()
    if (known := _exactly(name)) is not None or (judges := _JUDGES.fullmatch(name)) is None:
        return known
    # The number after C++ is the standard, which matters.
    # The number after any other language is a release, which is ignored.
    releases = judges["name"] not in _STANDARDS
    return _exactly(judges["name"] + judges["number"]) or (_exactly(judges["name"]) if releases else None)


def find_runner(name: str) -> str | None:
    """Return the canonical name of a language or test runner for `/run_code`, or None if it is unknown."""
    known = name.strip().casefold()
    return next((key for key, found in RUNNERS.items() if known in (key, *found.aliases)), None) or find(name)


def unknown(name: str, known: Iterable[str]) -> str:
    """Return the error message for the name of an unknown language."""
    if (standard := _CPP_STANDARD.fullmatch(name.strip().casefold())) is not None:
        return f"'{name}' is not a language; use 'cpp' with the option cpp_standard={standard[1]}"
    return f"unknown language '{name}'; expected one of {', '.join([PYTHON, *known])}"


def _exactly(name: str) -> str | None:
    if name in _PYTHON_NAMES:
        return PYTHON
    return next((key for key, found in LANGUAGES.items() if name == key or name in found.aliases), None)


@functools.cache
def _discovered(language: Language) -> Toolchain | str:
    try:
        return language.discover()
    except LanguageUnavailable as error:
        return str(error)


def toolchain(language: Language) -> Toolchain:
    """Return the language's toolchain on this machine. Each process searches for it only once.

    Raises:
        LanguageUnavailable: The toolchain is missing or not supported. The message says how to fix it.
    """
    found = _discovered(language)
    if isinstance(found, str):
        raise LanguageUnavailable(f"{language.title} cannot be run here: {found}")
    return found
