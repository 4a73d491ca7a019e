"""Builds prompts from a question, an instruction, the user's template and a system message.

The module also finds the question in a prompt that is published as a chat.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Record
from rewardkit.errors import InputError
from rewardkit.messages import plain_message

_FIELD = re.compile(r"\{([A-Za-z_][\w .-]*)\}")
_LATEX = re.compile(r"(?:\\[A-Za-z]+|[}_^])\Z")


def after(question: str, instruction: str) -> str:
    """Append an instruction to a question, separated by a space. An empty instruction is ignored."""
    return f"{question} {instruction}".rstrip() if instruction else question


def read_template(path: Path | None) -> str | None:
    """Return the text of a template file, or None if `path` is None.

    Raises:
        InputError: The file cannot be read, or the template has no fields.
    """
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read the template {path}: {why}") from None
    if not _FIELD.search(text):
        raise InputError(f"the template {path} has no field; write at least one, such as {{question}}")
    return text


def fields_of(template: str) -> list[str]:
    """Return the names in braces in a template. Some names may be arguments of LaTeX commands."""
    return [match[1] for match in _FIELD.finditer(template)]


def pieces(template: str, values: Mapping[str, object]) -> list[tuple[str, str | None]]:
    """Split a template into pairs of a text and the name of the next field, or None after the last text.

    Other braces, such as those in LaTeX commands, remain part of the text.

    Raises:
        InputError: A field has no value and does not follow a LaTeX command.
    """
    found: list[tuple[str, str | None]] = []
    done = 0
    for match in _FIELD.finditer(template):
        if match[1] not in values:
            if _LATEX.search(template[: match.start()]):
                continue  # The match is an argument of a LaTeX command, as in \boxed{x}.
            known = ", ".join(values)
            raise InputError(f"the template has an unknown field {match[0]}; fields: {known}")
        found.append((template[done : match.start()], match[1]))
        done = match.end()
    return [*found, (template[done:], None)]


def render(template: str, values: Mapping[str, object]) -> str:
    """Replace the fields in a template with their values.

    Raises:
        InputError: A field has no value and does not follow a LaTeX command.
    """
    return "".join(
        text + (str(values[name]) if name is not None else "") for text, name in pieces(template, values)
    )


def shaped(row: Row, template: str | None, instruction: str, system: str) -> Row:
    """Apply the user's template and system message, if any, to the prompt of a row."""
    prompt = row.prompt
    if template is not None:
        values = {**row.metadata, "question": row.question, "instruction": instruction}
        prompt = chat(render(template, values).strip())
    if system:
        prompt = ({"role": "system", "content": system}, *(m for m in prompt if m["role"] != "system"))
    return row if prompt is row.prompt else replace(row, prompt=prompt)


_DAPO = re.compile(r"\A[^\n]*Answer:[^\n]*\n\n(.*)\n\n[^\n]*Answer:[^\n]*\Z", re.DOTALL)
"""Prompt format in DAPO and similar datasets, with the problem between an instruction and a reminder."""


def published_chat(record: Record, column: str) -> tuple[str, tuple[dict[str, str], ...]]:
    """Return the question, without DAPO's instruction, and the messages in a column that contains a chat.

    Raises:
        InputError: The column does not contain a chat that ends with a user message.
    """
    value = record.value(column)
    given = value if isinstance(value, list) else []
    messages = [plain_message(message) for message in given if isinstance(message, dict)]
    said = [message for message in messages if isinstance(message.get("content"), str)]
    if not said or len(said) != len(given) or said[-1].get("role") != "user":
        raise InputError(
            f"{record.where}: '{column}' must be a list of messages with text; the last must be a user "
            "message"
        )
    last = said[-1]["content"].strip()
    wrapped = _DAPO.match(last)
    question = (wrapped[1] if wrapped else last).strip()
    return question, tuple({"role": str(m["role"]), "content": m["content"]} for m in said)
