"""Chooses the language of a program and extracts the program from the response.

The option takes precedence, then the ground truth and then the fence. The sandbox defines the languages.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from rewardkit.rewards.code import extract
from rewardkit.rewards.code.problem import CodeProblem, GroundTruthError, StdinTest
from rewardkit.rewards.code.unfenced import in_prose
from rewardkit.sandbox.languages import LANGUAGES, PYTHON, find, unknown

_FAMILY = {"cpp": ("c",), "c": ("cpp",)}
"""Other languages whose names on a code block are accepted for a language.

For example, models often mark C as `cpp`.
"""


@functools.cache
def _guessed() -> tuple[tuple[str, ...], ...]:
    """Return groups of languages to choose from if the fence decides. Earlier groups are preferred.

    A shell block next to a program usually shows how to run the program.
    """
    compiled = tuple(name for name in LANGUAGES if name not in ("bash", "sql"))
    return (PYTHON,), compiled, ("bash",), ("sql",)


@dataclass(frozen=True, slots=True)
class Program:
    """A program extracted from a response."""

    source: str
    language: str = PYTHON


def wanted(option: str | None, problem: CodeProblem) -> str | None:
    """Return the required language of programs, or None if the fence decides.

    Raises:
        GroundTruthError: The language is not supported, or the tests require Python.
    """
    asked = option or problem.language
    if asked is not None:
        language = find(asked)
        if language is None:
            raise GroundTruthError(unknown(asked, LANGUAGES))
        if problem.is_apart:
            _check_apart(language, problem)
        elif language != PYTHON and not _reads_stdin(problem):
            raise GroundTruthError(
                f"the tests call functions, which works only for programs in Python, not in {language}"
            )
        return language
    return None if _reads_stdin(problem) else PYTHON


def _check_apart(language: str, problem: CodeProblem) -> None:
    """Reject a language whose tests cannot run in a separate process from the program."""
    if language != problem.language:
        raise GroundTruthError(
            f"the tests are in {problem.language}, but the option 'language' is {language}"
        )
    if LANGUAGES[language].apart is None:
        able = ", ".join([PYTHON, *(name for name, known in LANGUAGES.items() if known.apart)])
        raise GroundTruthError(
            f"tests in {language} cannot be run in another process than the program; possible in {able}"
        )


def _reads_stdin(problem: CodeProblem) -> bool:
    return all(isinstance(test, StdinTest) for test in problem.tests)


def take(
    response: str,
    fence: extract.Fence,
    language: str | None,
    parses: extract.Parses | None,
    called: frozenset[str] = frozenset(),
) -> Program | None:
    """Return the program in a response, or None if there is none in the requested language.

    Args:
        response: The model's text.
        fence: Block of the response to use.
        language: Language returned by `wanted`, or None to use the language of the block.
        parses: Function that returns True if a text is a Python program.
        called: Names that the tests call.
    """
    if language is None:
        return _guess(response, fence, parses)
    if language == PYTHON:
        source = extract.extract(response, fence, parses, called=called)
    else:
        marks = _marks((language, *_FAMILY.get(language, ())))
        source = extract.extract(response, fence, None, marks, called)
    return None if source is None else Program(source, language)


def why_none(response: str) -> str:
    """Return the reason why a response has no program, such as a block in an unsupported language."""
    programs = [mark for mark in extract.marks(response) if mark in _NOT_RUN]
    if not programs and "```" not in response and in_prose(response):
        return "no code block in the response, and the code in the response is not one program"
    if not programs:
        return "no code block in the response"
    known = ", ".join([PYTHON, *LANGUAGES])
    return (
        f"no code block in a supported language in the response, only in {programs[-1]}; supported: {known}"
    )


_NOT_RUN = frozenset(
    ("typescript", "ts", "ruby", "php", "kotlin", "swift", "scala", "haskell", "perl", "lua", "julia", "dart")
) | {"pascal"}
"""Languages that occur in responses and that the sandbox does not support."""


def _guess(response: str, fence: extract.Fence, parses: extract.Parses | None) -> Program | None:
    mark = None
    if fence != "whole":
        mark = extract.mark_of_program(response, fence, [_marks(group) for group in _guessed()])
    language = find(mark.strip("{.")) if mark else None
    program = take(response, fence, language or PYTHON, parses)
    if program is None or mark is not None:
        return program
    return Program(program.source, _told_by(program.source))


_MAIN = re.compile(r"^[^#\n]*\bmain\s*\(", re.M)


def _told_by(source: str) -> str:
    """Return the language that a program in an unmarked block is clearly written in, or Python."""
    if _MAIN.search(source):
        for name, language in LANGUAGES.items():
            if language.mark and re.search(language.mark, source, re.M):
                return name
    return PYTHON


@functools.cache
def _marks(languages: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the info strings of blocks in any of these languages."""
    if languages == (PYTHON,):
        return extract.PYTHON
    names = [name for key in languages for name in (key, *LANGUAGES[key].aliases)]
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    return re.compile(rf"\{{?\.?(?:{'|'.join(longest_first)})(?:\d\d)?(?![\w+#-])", re.IGNORECASE)
