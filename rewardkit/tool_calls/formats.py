"""The formats in which models write calls of tools, by name, and the readers over them.

A format is a file here and its row in `FORMATS`. A call that cannot be read is a `Call` whose `error` says
why; it is never taken for a text without a call. Nothing is executed. Callers cut off what a model thinks.
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
"""A longer text in an unknown format makes no call that can be read."""


@dataclass(frozen=True, slots=True)
class Format:
    """Format in which a family of models writes its calls."""

    read: Callable[[str], tuple[str, list[Call]]]
    """(a text without its thinking) -> (the text beside the calls, the calls in order)."""
    marks: tuple[str, ...] = ()
    """Texts that announce a call of this format."""
    bare: bool = False
    """A call of it may stand in a text without a mark: only reading shows whether there is one."""
    templates: tuple[str, ...] = ()
    """Texts in a chat template, besides one of `marks`, that tell its model to write calls so."""
    stop: tuple[str, ...] = ()
    """Texts that end a turn, as the label of an observation does, which the model must not write itself."""
    stop_tokens: tuple[str, ...] = ()
    """Special tokens that end a turn which calls, where the tokenizer has them."""
    between_tokens: bool = False
    """Its calls stand between special tokens that would end another text."""


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
        "qwen3_coder": Format(qwen3_coder.read, marks=("<function=",)),
        "hermes": Format(hermes.read, marks=(hermes.OPEN,)),
        "mistral": Format(mistral.read, marks=(mistral.MARK,)),
        "llama3": Format(
            llama3.read,
            marks=(llama3.TAG,),
            bare=True,
            templates=('"parameters": dictionary',),
            stop_tokens=("<|eom_id|>",),
        ),
        "pythonic": Format(pythonic.read, bare=True, templates=("<|python_start|>",)),
        "json": Format(json.read, bare=True),
    },
)
"""Formats by the names in `multi_turn.format` and the option `formats` of `tool_call`."""
NAMES_ELSEWHERE = {"gpt-oss": "harmony", "llama3_json": "llama3"}
"""verl's and vLLM's names of formats that have another name here."""
_SIGNS = (
    *("<tool_call", "<function=", "<|tool_call", "<｜tool▁", "<function_call", "<invoke name="),
    *("functools[", "<start_function_call>", "<|action_start|>", "<minimax:tool_call"),
)
"""Texts that announce a call in the formats of any model, read here or not."""


def format_named(name: str) -> Format:
    """Return the format of a name, here or elsewhere.

    Raises:
        ConfigError: there is none; the message names the formats.
    """
    name = NAMES_ELSEWHERE.get(name, name)
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS) or f"; known formats: {', '.join(FORMATS)}"
        raise ConfigError(f"there is no tool-call format '{name}'{hint}")
    return FORMATS[name]


def read(name: str, text: str) -> tuple[str, list[Call]]:
    """Return the text beside the calls of a format, and the calls, with the ids `call_0`, `call_1` and so on.

    Args:
        name: Of the format.
        text: With its special tokens, without the model's thinking.

    Raises:
        ConfigError: there is no such format.
    """
    content, calls = format_named(name).read(text)
    kept = calls[:MAX_CALLS]
    if len(calls) > MAX_CALLS:
        kept.append(failed(f"a turn may have at most {MAX_CALLS} calls"))
    return content, [replace(call, id=f"call_{i}") for i, call in enumerate(kept)]


def read_any(text: str, names: Sequence[str] = FORMATS.shipped) -> list[Call]:
    """Return the calls of a text in one of these formats; none if it attempts none.

    A text with the marks of several formats, or of one that is not among the names, makes a call that cannot
    be read. Of the formats without marks the first that finds a call counts.

    Args:
        names: Of formats, in the order in which they are tried.
        text: As for `read`.
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
    """Return the formats whose marks a text has. Three share the tag of `hermes`."""
    found = [name for name, form in FORMATS.items() if any(mark in text for mark in form.marks)]
    if found == ["hermes"] and glm.NAME_ALONE.search(text):
        return ["glm"]
    if "hermes" in found and ("glm" in found or "qwen3_coder" in found):
        found.remove("hermes")
    return found


def detect(chat_template: str | None) -> str | None:
    """Return the format in which a chat template tells its model to write calls.

    `react` if the template does not mention tools. None if it does, in a format that is not in `FORMATS`.
    """
    template = chat_template or ""
    for name, form in FORMATS.items():
        if any(mark in template for mark in (*form.marks, *form.templates)):
            return name
    return None if re.search(r"\btools\b", template) else "react"
