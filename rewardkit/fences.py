"""Extraction of code fences and their languages from a text. The code itself is not parsed."""

from __future__ import annotations

import re

_OPENING = re.compile(r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]{0,30})[ \t]*(?P<rest>[^\n`]*)")


def last_fence(text: str, *languages: str) -> str:
    """Return the content of the last code fence in one of these languages or without a language.

    If there is no such fence, the function returns the whole text. A fence ends at its closing marks, which
    must be at the end of a line, or at the end of the text.
    """
    if "```" not in text and "~~~" not in text:
        return text.strip()
    found = [body for language, body in fences(text) if language in ("", *languages)]
    return (found or [text])[-1].strip()


def without_fence(text: str) -> str:
    """Return the content of a code fence that encloses the whole text. Return any other text unchanged."""
    whole = text.strip()
    if not (whole.startswith("```") and whole.endswith("```")):
        return text
    language, newline, content = whole[3:-3].partition("\n")
    several = any(line.lstrip().startswith("```") for line in content.split("\n"))
    return text if not newline or several or "`" in language else content


def fences(text: str) -> list[tuple[str, str]]:
    """Return the language and content of each code fence that is not inside an HTML comment."""
    found = []
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        commented = text.rfind("<!--", position, opening.start())
        if commented >= 0 and text.find("-->", commented, opening.start()) < 0:
            end = text.find("-->", commented)
            position = len(text) if end < 0 else end
            continue
        marks = opening["marks"]
        own_line = not text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()].strip()
        if opening["rest"] and opening.end() < len(text) and text.startswith(marks, opening.end()):
            position = opening.end() + len(marks)  # the fence opens and closes on one line
            found.append((opening["language"].lower(), opening["rest"]))
        elif opening["rest"] or (marks[0] == "~" and not own_line):
            position = opening.end()
        else:
            ending = rf"(?<!{marks[0]}){marks}{marks[0]}*[ \t]{{0,99}}(?=\n|\Z)"
            closing = re.compile(ending).search(text, opening.end())
            end = closing.start() if closing else len(text)
            position = closing.end() if closing else len(text)
            found.append((opening["language"].lower(), text[opening.end() : end]))
    return found
