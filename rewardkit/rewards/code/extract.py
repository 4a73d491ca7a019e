"""Takes the program out of a response. Linear in the response; runs nothing."""

from __future__ import annotations

from typing import Literal

Fence = Literal["last", "first", "longest", "whole"]

_PYTHON = {"python", "py", "python3"}


def extract(response: str, fence: Fence = "last") -> str | None:
    """Return the program in a response, or None when it has no code block.

    A block is opened by a line that starts with three backticks and ended by one that has only them, or
    by the end of the response. Blocks marked as Python go before unmarked ones, which are often sample
    output; blocks in other languages are no candidates.

    Args:
        response: What the model wrote.
        fence: Which block; `whole` takes the response itself to be the program.
    """
    if fence == "whole":
        return response
    marked, bare = _blocks(response)
    blocks = marked or bare
    if not blocks:
        return None
    if fence == "longest":
        return max(blocks, key=len)
    return blocks[0 if fence == "first" else -1]


def extract_like_verl(response: str) -> str:
    """What follows the last ` ```python `, up to the next fence; the whole response if there is none."""
    return response.split("```python")[-1].split("```")[0]


def extract_like_livecodebench(response: str) -> str | None:
    """What lies between the last two lines that contain a fence, whatever its language."""
    lines = response.split("\n")
    fences = [i for i, line in enumerate(lines) if "```" in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) >= 2 else None


def _blocks(response: str) -> tuple[list[str], list[str]]:
    """All blocks marked as Python, and all without a mark."""
    marked: list[str] = []
    bare: list[str] = []
    body: list[str] | None = None
    language = ""
    for line in [*response.splitlines(), "```"]:
        text = line.strip()
        if body is None:
            if text.startswith("```"):
                body, language = [], text[3:].strip().casefold()
        elif text == "```":
            code = "\n".join(body) + "\n"
            if code.strip() and language.split(" ")[0] in _PYTHON:
                marked.append(code)
            elif code.strip() and not language:
                bare.append(code)
            body = None
        else:
            body.append(line)
    return marked, bare
