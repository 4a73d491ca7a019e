"""Formats in which models write tool calls, by name, and functions that parse text in these formats.

Each format has a file in this folder and a row in `FORMATS`. A call that cannot be parsed is returned as a
`Call` with the reason in `error`, so that it is never mistaken for text without a call. Nothing is executed.
Callers must remove the model's thinking first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.extensions import Table
from rewardkit.tool_calls import (
    deepseek,
    glm,
    harmony,
    hermes,
    json,
    kimi,
    llama3,
    minimax,
    mistral,
    pythonic,
    qwen3_coder,
    react,
)
from rewardkit.tool_calls.call import MAX_CALLS, Call, failed

MAX_CHARS = 100_000
"""Maximum length in characters of a text that `read_any` searches for calls."""


@dataclass(frozen=True, slots=True)
class Format:
    """Format in which a family of models writes tool calls."""

    read: Callable[[str], tuple[str, list[Call]]]
    """Function that takes a text without thinking, and returns the text outside the calls and the calls."""
    marks: tuple[str, ...] = ()
    """Texts that occur only in calls in this format."""
    bare: bool = False
    """True if a call may have no mark, so that a text must be parsed to find calls."""
    templates: tuple[str, ...] = ()
    """Texts that, like `marks`, occur in chat templates that ask the model for this format."""
    stop: tuple[str, ...] = ()
    """Texts that end a turn and that the model must not write itself, such as the label of an observation."""
    stop_tokens: tuple[str, ...] = ()
    """Special tokens that end a turn with calls, if the tokenizer has them."""
    opening: tuple[str, str] | None = None
    """Text of a call up to the tool's name, and text between the name and the arguments. None if a call in
    this format cannot be begun for the model."""
    between_tokens: bool = False
    """True if calls contain special tokens at which any other text would be cut off."""


FORMATS: Table[Format] = Table(
    "tool_call_formats",
    Format,
    {
        "deepseek": Format(deepseek.read, marks=(deepseek.MARK,), between_tokens=True),
        "kimi": Format(kimi.read, marks=(kimi.MARK,), between_tokens=True),
        "glm": Format(glm.read, marks=(glm.MARK,), stop_tokens=("<|observation|>",)),
        "minimax": Format(minimax.read, marks=(minimax.MARK, minimax.DSML), between_tokens=True),
        "harmony": Format(
            harmony.read,
            marks=(harmony.MARK,),
            templates=("<|channel|>",),
            stop_tokens=("<|call|>",),
            between_tokens=True,
        ),
        "react": Format(react.read, bare=True, stop=(react.STOP,)),
        "qwen3_coder": Format(
            qwen3_coder.read, marks=("<function=",), opening=("<tool_call>\n<function=", ">\n")
        ),
        "hermes": Format(
            hermes.read, marks=(hermes.OPEN,), opening=(f'{hermes.OPEN}\n{{"name": "', '", "arguments": ')
        ),
        "mistral": Format(mistral.read, marks=(mistral.MARK,)),
        "llama3": Format(
            llama3.read,
            marks=(llama3.TAG,),
            bare=True,
            templates=('"parameters": dictionary',),
            stop_tokens=("<|eom_id|>",),
            opening=('{"name": "', '", "parameters": '),
        ),
        "pythonic": Format(pythonic.read, bare=True, templates=("<|python_start|>",)),
        "json": Format(json.read, bare=True, opening=('{"name": "', '", "arguments": ')),
    },
)
"""Formats by name, as used in `multi_turn.format` and in the option `formats` of `tool_call`."""
NAMES_ELSEWHERE = {"gpt-oss": "harmony", "llama3_json": "llama3"}
"""Names that verl and vLLM use for formats, mapped to the names in `FORMATS`."""
_SIGNS = (
    *("<tool_call", "<function=", "<|tool_call", "<｜tool▁", "<function_call", "<invoke name="),
    *("functools[", "<start_function_call>", "<|action_start|>", "<minimax:tool_call"),
)
"""Texts at the beginning of a call in any format, including formats that are not supported."""


def format_named(name: str) -> Format:
    """Return the format with the given name, which may be a name in `NAMES_ELSEWHERE`.

    Raises:
        ConfigError: The format does not exist. The message lists the known formats.
    """
    name = NAMES_ELSEWHERE.get(name, name)
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS) or f"; known formats: {', '.join(FORMATS)}"
        raise ConfigError(f"there is no tool-call format '{name}'{hint}")
    return FORMATS[name]


def opening_of(name: str, tool: str) -> str | None:
    """Return the text with which a call begins, or None if the format does not support this.

    Args:
        name: Name of the format.
        tool: Name of the tool, or an empty string if the model chooses the tool.

    Raises:
        ConfigError: The format does not exist.
    """
    opening = format_named(name).opening
    if opening is None:
        return None
    before, behind = opening
    return f"{before}{tool}{behind}" if tool else before


def read(name: str, text: str) -> tuple[str, list[Call]]:
    """Return the text outside the calls in a format, and the calls with the ids `call_0`, `call_1` and so on.

    Args:
        name: Name of the format.
        text: Text with special tokens, without the model's thinking.

    Raises:
        ConfigError: The format does not exist.
    """
    content, calls = format_named(name).read(text)
    kept = calls[:MAX_CALLS]
    if len(calls) > MAX_CALLS:
        kept.append(failed(f"a turn may have at most {MAX_CALLS} calls"))
    return content, [replace(call, id=f"call_{i}") for i, call in enumerate(kept)]


def read_any(text: str, names: Sequence[str] = FORMATS.shipped) -> list[Call]:
    """Return the calls in a text in any of several formats, or an empty list if the text attempts no call.

    If a text contains marks of several formats, or of a format that is not in `names`, the result is a call
    with an error. If it contains no marks, the first format without marks that finds a call is used.

    Args:
        text: Text as in `read`.
        names: Names of formats, in the order in which they are tried.
    """
    if len(text) > MAX_CHARS:
        return [failed("the text is too long to be searched for calls")]
    found = announced(text)
    if len(found) > 1:
        return [failed(f"calls in several formats: {', '.join(found)}")]
    for name in (name for name in names if name in found or (not found and FORMATS[name].bare)):
        content, calls = read(name, text)
        if calls and found and "react" in names and react.attempts(content):
            return [failed(f"calls in several formats: {name}, react")]
        if calls:
            return calls
    if found or any(sign in text for sign in _SIGNS):
        return [failed(f"the call has none of the formats {', '.join(names)}")]
    return []


def announced(text: str) -> list[str]:
    """Return the names of the formats whose marks occur in a text. Three formats use the tag of `hermes`."""
    found = [name for name, form in FORMATS.items() if any(mark in text for mark in form.marks)]
    if found == ["hermes"] and glm.NAME_ALONE.search(text):
        return ["glm"]
    if "hermes" in found and ("glm" in found or "qwen3_coder" in found):
        found.remove("hermes")
    return found


def detect(chat_template: str | None) -> str | None:
    """Return the name of the format in which a chat template asks the model to write calls.

    Return `react` if the template does not mention tools, or None if its format is not in `FORMATS`.
    """
    template = chat_template or ""
    for name, form in FORMATS.items():
        if any(mark in template for mark in (*form.marks, *form.templates)):
            return name
    return None if re.search(r"\btools\b", template) else "react"
