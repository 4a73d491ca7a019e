"""Finds programs outside fences, in a JSON object or between lines of prose, without parsing Python."""

from __future__ import annotations

import json
import re
import textwrap

from rewardkit.fences import fences

_FIELDS = frozenset(
    [
        "code",
        "python",
        "python_code",
        "program",
        "solution",
        "source",
        "source_code",
        "script",
        "implementation",
        "final_code",
        "answer",
        "completion",
        "response",
        "output",
    ]
)
"""Fields of a JSON object in which models put a program."""
_LANGUAGES = ("", "json", "json5", "jsonc")
_CODE = re.compile(
    r"^[ \t]*(?:import|from|def|class|print|#include|public|func|fn|package)\b|[;{}]$|=", re.MULTILINE
)
_OPENS = re.compile(r"(?:import|from)[ ]\w|def[ ]\w+\(|class[ ]\w+|@\w")
_GOES_ON = re.compile(
    r"(?:for|while|with|if|elif|else|try|except|finally)\b.*:|print\(|[ \t]+\S|[)\]}]|#"
    r"|[A-Za-z_][\w.\[\], ]{0,80}[-+*/]?=[^=]|\w[\w.]{0,80}\("
)
"""Patterns for the start of lines that may belong to a program."""
_DOES_SOMETHING = re.compile(r"^(?:def|class)\b|\bprint\(", re.MULTILINE)


def in_json(text: str) -> str | None:
    """Return the program in a JSON object that is the whole response or its only fenced block, or None.

    If several fields may contain the program, return None.
    """
    found = fences(text) if "```" in text else []
    fenced = [body for language, body in found if language in _LANGUAGES and body.lstrip().startswith("{")]
    body = fenced[0] if len(fenced) == 1 else text.strip()
    if not body.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(body, strict=False)  # Models write raw line breaks into strings.
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    named = [field for name, field in value.items() if name.casefold() in _FIELDS and isinstance(field, str)]
    programs = [field for field in named if _CODE.search(field)]
    return programs[0] if len(programs) == 1 else None


def in_prose(text: str) -> list[str]:
    """Return at most two possible programs between lines of prose, up to the last line of code.

    Each of them defines or prints something. A parser must still check that they contain only code.
    """
    lines = text.split("\n")
    opening = [i for i, line in enumerate(lines) if _OPENS.match(line)]
    going_on = [i for i, line in enumerate(lines) if _GOES_ON.match(line)]
    if not opening and not going_on:
        return []
    last = max(opening[-1:] + going_on[-1:])
    starts = sorted({*opening[:1], *going_on[:1]})
    found = [textwrap.dedent("\n".join(lines[start : last + 1])) + "\n" for start in starts]
    return list(filter(_DOES_SOMETHING.search, found))
