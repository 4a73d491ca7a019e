"""Extracts the program from a response by rules for fenced and unfenced code, without parsing or running it.

The time taken is linear in the length of the response, because the regular expressions cannot backtrack far.
`docs/code_rules.md` describes the rules, and `tests/rewards/code/test_extract.py` has a table of cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rewardkit.rewards.code.unfenced import in_json, in_prose
from rewardkit.special_tokens import THOUGHTS, begins_with_thought, outside_thoughts

Fence = Literal["last", "first", "longest", "joined", "whole"]
Parses = Callable[[str], bool]
"""Function that returns True if a text is a program in the language. The function is called a few times per
response."""

_ASKED = 4
"""Maximum number of calls to `Parses` for one response, because each call may require a run in the
sandbox."""

PYTHON = re.compile(r"\{?\.?(?:python|pypy|py)[\d.]*(?![\w+#-])", re.IGNORECASE)
_OTHER = re.compile(
    r"(?:c\d*|(?:cpp|c\+\+|gnu\+\+)(?:\d\w)?|cc|cxx|java|javascript|js|mjs|node(?:\.?js)?|typescript|ts|go"
    r"|golang|rust|rs|bash|sh|shell|console|sql|sqlite3?|ruby|php|kotlin|swift|scala|haskell|perl|lua|julia|dart|pascal|text|txt|plaintext|output|input|json|yaml|xml|html|css|diff"
    r"|markdown|md|latex|math|pycon)(?![\w+#-])",
    re.IGNORECASE,
)
_WRAPPERS = re.compile(r"(?:markdown|md|text|txt|plaintext)?\s*", re.IGNORECASE)
"""Pattern for the info strings of blocks that may contain other blocks."""
_STATEMENT = re.compile(r"(?:(?:import|from|def|class|for|while|if)[ ]|print\()")
"""Pattern for text after a fence, where the language should be, that can only be code."""
_CODE_LIKE = re.compile(
    r"^[ \t]*(?:import|from|def|class|for|while|if|print|return|with|try)\b|[^=!<>]=[^=]", re.M
)

_OPENING = re.compile(r"(?P<run>(?<!`)`{3,}+|(?<!~)~{3,}+)(?P<info>[^`\n]*)$", re.M)
_MARGIN = re.compile(r"[ \t]*(?:(?:>|[-*+]|\d{1,3}[.)])[ \t]+|>)*")
"""Pattern for the text before a fence on its line, in a list or quotation."""
_INLINE = re.compile(r"```([^`\n]+)```")
_CLOSINGS = "|".join(re.escape(closing) for _, closing in THOUGHTS)
_THOUGHT_ENDS = re.compile(rf"^[ \t]*(?:{_CLOSINGS})|(?:{_CLOSINGS})[ \t]*$", re.M)
_LEFTOVERS = re.compile(
    r"<\|[\w ]{1,40}\|>|</?s>|</?(?:answer|solution|response|output|final_answer)>", re.IGNORECASE
)
"""Pattern for chat and answer tags that are not part of a program."""

_TAGS = {
    "[python]": "[/python]",
    "[code]": "[/code]",
    "[begin]": "[done]",
    "<code>": "</code>",
    "<python>": "</python>",
    "<program>": "</program>",
    "<solution>": "</solution>",
    "<answer>": "</answer>",
}
"""Tags that prompts use instead of fences. MBPP's few-shot prompts use `[BEGIN]` and `[DONE]`."""
_TAGGED = re.compile(
    "|".join(rf"{re.escape(a)}([\s\S]*?)(?:{re.escape(b)}|\Z)" for a, b in _TAGS.items()), re.IGNORECASE
)
_TAG_ENDS = re.compile(r"\[(?:/python|/code|done)\]", re.IGNORECASE)

_TOKEN = re.compile(
    r"'''|\"\"\"|'(?:[^'\\\n]|\\[\s\S])*+'?|\"(?:[^\"\\\n]|\\[\s\S])*+\"?|\#[^\n]*+|`{3,}|^[ \t>]*~{3,}"
    rf"|(?P<ends></(?:answer|solution|response)>|<\|[\w ]{{1,40}}\|>|{_CLOSINGS})",
    re.M,
)
"""Pattern for tokens that decide where Python code ends, such as strings, fences and tags that end an
answer."""
_STRING_END = {quote: re.compile(rf"\\[\s\S]|{quote}") for quote in ("'''", '"""')}


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced code block."""

    info: str
    """Text after the opening fence. It is empty, or names a language and may contain more text."""
    code: str
    resume: int
    """Offset at which the search for the next block starts."""


def marks(response: str) -> list[str]:
    """Return the distinct words after fences in a response that name a language other than Python."""
    words = (found["info"].strip().partition(" ")[0].casefold() for found in _OPENING.finditer(response))
    return list(dict.fromkeys(word for word in words if _OTHER.fullmatch(word)))


def extract(
    response: str,
    fence: Fence = "last",
    parses: Parses | None = None,
    language: re.Pattern[str] = PYTHON,
    called: frozenset[str] = frozenset(),
) -> str | None:
    """Return the program in a response, or None if there is no program.

    Blocks that name the language are preferred to blocks without a language, which are often sample output.
    Blocks in other languages are ignored. Text after the model's reasoning is preferred to the reasoning.

    Args:
        response: The model's text.
        fence: Block to use. `joined` joins all blocks, and `whole` uses the whole response as the program.
        parses: Function to call if the fences alone do not decide, or if a response without a fence may
            itself be a program. If `parses` is None, a response without a fence has no program.
        language: Pattern for the start of the info string of blocks in the language.
        called: Names that the tests call. The last block that defines one of them is used, because any later
            blocks usually show how to use the program.
    """
    if fence == "whole":
        return _LEFTOVERS.sub("", response)
    asked = 0

    def ask(code: str) -> bool:
        nonlocal asked
        asked += 1
        return parses is not None and asked <= _ASKED and parses(code)

    answer = _after_thoughts(response)
    said = outside_thoughts(response)
    texts = (said, answer) if begins_with_thought(response) else (answer, said)
    for text in dict.fromkeys((*texts, response)):
        if text.lstrip().startswith("{") and (stated := in_json(text)) is not None:
            return extract(stated, fence, parses, language, called) or stated
        found = _choose(_blocks(text, ask, language), fence, language, called) or _choose_inline(text)
        found = found or _choose_tagged(text, fence, ask)
        if (stated := in_json(text if found is None else found)) is not None:
            return extract(stated, fence, parses, language, called) or stated
        found = found or _choose_plain(text, ask)
        if found is not None:
            return found
    return None


def _choose_plain(text: str, ask: Parses) -> str | None:
    """Return the program in a text that is only a program or has prose around the program, or else None."""
    plain = _LEFTOVERS.sub("", text).lstrip("\ufeff")
    if not (_CODE_LIKE.search(plain) or "print(" in plain):
        return None
    return next(filter(ask, [plain, *in_prose(plain)]), None)


def mark_of_program(response: str, fence: Fence, groups: Sequence[re.Pattern[str]]) -> str | None:
    """Return the language mark on the block that `extract` would choose from several languages.

    Args:
        response: The model's text.
        fence: Block to use. For joined blocks, the mark on the last one is returned.
        groups: Patterns for groups of languages. Blocks in languages from an earlier group are preferred.
    """
    answer = _after_thoughts(response)
    for text in [answer, response] if answer != response else [response]:
        for languages in groups:
            blocks = _blocks(text, lambda code: False, languages)
            marks = [(m.group(), b.code) for b in blocks if b.code.strip() and (m := languages.match(b.info))]
            if marks and fence == "longest":
                return max(marks, key=lambda mark: len(mark[1]))[0]
            if marks:
                return marks[0 if fence == "first" else -1][0]
    return None


def extract_like_verl(response: str) -> str:
    """Return the text after the last ` ```python `, or from the start without one, up to the next fence."""
    return response.split("```python")[-1].split("```")[0]


def extract_like_livecodebench(response: str) -> str | None:
    """Return the text between the last two lines that contain a fence, whatever the language."""
    lines = response.split("\n")
    fences = [i for i, line in enumerate(lines) if "```" in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) >= 2 else None


def _after_thoughts(response: str) -> str:
    ends = [match.end() for match in _THOUGHT_ENDS.finditer(response)]
    return response[ends[-1] :] if ends else response


def _choose(
    blocks: list[CodeBlock], fence: Fence, language: re.Pattern[str], called: frozenset[str]
) -> str | None:
    filled = [block for block in blocks if block.code.strip()]
    marked = [block.code for block in filled if language.match(block.info)]
    bare = [block.code for block in filled if not block.info]
    codes = marked or [code for code in bare if _CODE_LIKE.search(code)] or bare
    if not codes:
        return None
    if fence == "joined":
        return "\n".join(codes)
    if fence == "longest":
        return max(codes, key=len)
    definition = _DEFINITION if language is PYTHON else _BRACED_DEFINITION
    codes = [code for code in codes if defines(code, called, definition)] or codes
    return codes[0 if fence == "first" else -1]


_DEFINITION = re.compile(r"^[ \t]*(?:(?:async[ ]+)?def|class)[ ]+(\w+)|^(\w+)[ \t]*(?::[^=\n]*)?=(?!=)", re.M)


_BRACED_DEFINITION = re.compile(
    r"\b(\w+)[ \t]*(?:<[^<>\n]{0,200}>)?\([^;{}]{0,1000}\{|\b(\w+)[ \t]*(?::[^=\n]{0,200})?=(?!=)"
)
"""Definition of a function or a variable in a language with braces."""


def defines(code: str, names: frozenset[str], definition: re.Pattern[str] = _DEFINITION) -> bool:
    """Return True if the code defines one of the names, as a function, method, class or variable."""
    return bool(names) and any((found[1] or found[2]) in names for found in definition.finditer(code))


def _choose_inline(text: str) -> str | None:
    """Return the last program that is fenced within one line, as in "```print(1)```"."""
    found = [match.group(1) for match in _INLINE.finditer(text)]
    codes = [PYTHON.sub("", code, count=1).strip() if PYTHON.match(code) else code.strip() for code in found]
    codes = [code for code in codes if code and not _OTHER.match(code)]
    return codes[-1] + "\n" if codes else None


def _choose_tagged(text: str, fence: Fence, ask: Parses) -> str | None:
    """Return the program between tags, or before a closing tag whose opening tag was in the prompt."""
    tagged = list(_TAGGED.finditer(text))
    codes = [_LEFTOVERS.sub("", next(filter(None, found.groups()), "")) for found in tagged]
    ending = _TAG_ENDS.search(text)
    if ending and not (tagged and tagged[0].start() < ending.start()):
        codes.insert(0, _LEFTOVERS.sub("", text[: ending.start()]))
    codes = [code for code in codes if _CODE_LIKE.search(code) or "print(" in code]
    for code in (codes if fence == "first" else codes[::-1])[:2]:
        if ask(code):
            return code
    return None


def _blocks(text: str, ask: Parses, language: re.Pattern[str], *, is_nested: bool = False) -> list[CodeBlock]:
    blocks: list[CodeBlock] = []
    position = 0
    while opening := _OPENING.search(text, position):
        block = _block(text, opening, ask)
        position = block.resume
        wraps = len(opening["run"]) > 3 or opening["run"][0] == "~"
        nested: list[CodeBlock] = []
        if wraps and not is_nested and _WRAPPERS.fullmatch(block.info):
            nested = _blocks(block.code, ask, language, is_nested=True)
        blocks += [b for b in nested if language.match(b.info)] or [block]
    return blocks


def _block(text: str, opening: re.Match[str], ask: Parses) -> CodeBlock:
    line_start = text.rfind("\n", 0, opening.start()) + 1
    before = text[line_start : opening.start()]
    margin = before if _MARGIN.fullmatch(before) else ""
    info = opening["info"].strip()
    first_line = ""
    if marked := PYTHON.match(info):
        rest = info[marked.end() :].strip()
        first_line = rest if _STATEMENT.match(rest) else ""
    elif _STATEMENT.match(info) and not _OTHER.match(info):
        first_line = info
        info = ""
    start = min(opening.end() + 1, len(text))
    end, resume = _closing(text, start, opening["run"], info, ask)
    code = _without_margin(text[start:end].split("\n"), margin)
    return CodeBlock(info, f"{first_line}\n{code}" if first_line else code, max(resume, start))


def _closing(text: str, start: int, run: str, info: str, ask: Parses) -> tuple[int, int]:
    """Return the end of a block's content, and the offset at which the search continues.

    A docstring may contain a fenced example. A fence inside a multi-line string therefore belongs to the
    string if the block is then a program. Otherwise, the string was left open, and the first fence ends the
    block.
    """
    if _OTHER.match(info):
        fence = re.compile(rf"^[ \t>]*{run}", re.M).search(text, start)
        return (fence.start(), fence.end()) if fence else (len(text), len(text))
    within: tuple[int, int] | None = None
    position = start
    while token := _TOKEN.search(text, position):
        said = token.group().lstrip(" \t>")
        if said in _STRING_END:
            position = _string_end(text, token.end(), said)
            within = within or _fence_between(text, token.end(), position, run)
        elif said[0] in "`~" and said[0] == run[0] and len(said) >= len(run):
            found = _ending(text, token, said)
            return found if within is None or ask(text[start : found[0]]) else within
        elif token["ends"]:
            return within or (token.start(), token.end())
        else:
            position = token.end()
    return within or (len(text), len(text))


def _string_end(text: str, position: int, quote: str) -> int:
    for match in _STRING_END[quote].finditer(text, position):
        if match.group() == quote:
            return match.end()
    return len(text)


def _fence_between(text: str, start: int, end: int, run: str) -> tuple[int, int] | None:
    """Return the first place in a multi-line string that would be a closing fence, or None."""
    fence = re.compile(rf"^[ \t>]*{run}", re.M).search(text, start, end)
    if fence is None:
        return None
    rest = text[fence.end() : text.find("\n", fence.end()) % (len(text) + 1)]
    return fence.start(), fence.start() if _reopens(rest) else fence.end()


def _ending(text: str, token: re.Match[str], said: str) -> tuple[int, int]:
    """Return the end of a block, and the offset at which the search continues.

    A fence that names a language opens a new block. In this case, the current block was never closed.
    """
    stop = text.find("\n", token.end())
    rest = text[token.end() : len(text) if stop < 0 else stop]
    return token.start(), (token.end() - len(said) if _reopens(rest) else token.end())


def _reopens(info: str) -> bool:
    info = info.strip()
    return bool((PYTHON.match(info) or _OTHER.match(info)) and "`" not in info)


def _without_margin(lines: list[str], margin: str) -> str:
    """Remove the text that precedes the fence (indentation in a list, or quote markers) from each line."""
    if ">" in margin:
        lines = [re.sub(r"^[ \t]*>[ ]?", "", line) for line in lines]
        margin = margin.rpartition(">")[2].removeprefix(" ")
    indents = [len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()]
    width = min([len(margin.expandtabs(4)), *indents])
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(line[width:] if line.strip() else line for line in lines) + "\n"
