"""BFCL (Berkeley Function Calling Leaderboard, from the Gorilla project) contains requests, each with a list
of tools and the accepted tool calls. There is only a test split.

Raw files: `BFCL_v*_CATEGORY.json` (JSON lines) from bfcl_eval/data or the hub, and the files with the same
names in the adjacent folder `possible_answer/`.

Raw columns: `id`, `question` (a list of turns, each a list of messages) and `function` (the tools). The files
in `possible_answer/` have the columns `id` and `ground_truth`.

Only single-turn categories are prepared. The multi-turn, memory and web search categories are skipped. The
category `live_relevance` is also skipped, because it accepts any call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardkit.datasets_prep.common.layout import SplitLayout, find_files
from rewardkit.datasets_prep.common.readers import BadRows, read_file
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row
from rewardkit.datasets_prep.common.sources import Hub, Record, Source, described, file_reader
from rewardkit.errors import InputError
from rewardkit.files.inputs import Input
from rewardkit.messages import message_text, plain_message

ANSWERS = "possible_answer"
_ANSWER = "possible_answer"
"""Name of the column that `_open` adds to each question for the accepted calls."""
_OTHER = ("multi_turn", "memory", "web_search", "format_sensitivity", "live_relevance", "prereq")
_NOTHING = "None of these tools can do that."


def _to_row(record: Record, context: RowContext) -> Row:
    identity = record.text("id")
    category = identity.rpartition("_")[0].split("-")[0]
    messages = _messages(record)
    tools = record.value("function")
    wanted = _wanted(record, category)
    system = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    head = {"role": "system", "content": f"{context.instruction}\n\n{system}".strip()}
    return Row(
        data_source=f"bfcl_{category}",
        prompt=(head, *messages),
        ability="tools",
        ground_truth=json.dumps(wanted, ensure_ascii=False),
        split=context.split,
        index=record.index,
        question=messages[-1]["content"],
        answer=_calls(wanted) if wanted else _NOTHING,
        metadata={"id": identity, "tools": tools},
    )


def _messages(record: Record) -> tuple[dict[str, str], ...]:
    """Return the messages in the only turn of a question. System messages become part of a user message."""
    turns = record.value("question")
    if not isinstance(turns, list) or len(turns) != 1 or not isinstance(turns[0], list) or not turns[0]:
        raise InputError(
            f"{record.where}: 'question' must be a list that contains one turn, and the turn must be a list "
            "of messages"
        )
    messages = [plain_message(message) for message in turns[0] if isinstance(message, dict)]
    said = [message for message in messages if isinstance(message.get("content"), str)]
    if len(said) != len(turns[0]):
        raise InputError(f"{record.where}: a message of 'question' has no text")
    joined: list[dict[str, str]] = []
    for message in said:
        role = "user" if message.get("role") == "system" else str(message.get("role"))
        if joined and joined[-1]["role"] == role:  # Many chat templates need alternating roles.
            joined[-1]["content"] += f"\n\n{message_text(message)}"
        else:
            joined.append({"role": role, "content": message_text(message)})
    return tuple(joined)


def _wanted(record: Record, category: str) -> list[dict[str, Any]]:
    if "irrelevance" in category:
        return []
    wanted = record.values.get(_ANSWER)
    if not isinstance(wanted, list):
        raise InputError(f"{record.where}: {ANSWERS}/ has no answer for this question")
    return wanted


def _calls(wanted: list[dict[str, Any]]) -> str:
    """Return the calls in Hermes format, with the first accepted value for each required argument."""
    calls = []
    for call in wanted:
        ((name, arguments),) = call.items()
        given = {key: _first(values) for key, values in arguments.items() if values and values[0] != ""}
        shown = json.dumps({"name": name, "arguments": given}, ensure_ascii=False)
        calls.append(f"<tool_call>\n{shown}\n</tool_call>")
    return "\n".join(calls)


def _first(values: list[Any]) -> Any:
    """Return the first accepted value.

    In an object or a list of objects, every field has its own list of accepted values.
    """
    value = values[0]
    if isinstance(value, list):
        return [_first([item]) if isinstance(item, Mapping) else item for item in value]
    if isinstance(value, Mapping):
        return {
            key: _first(inner) if isinstance(inner, list) and inner else inner for key, inner in value.items()
        }
    return value


def _open(raw: str | Path, layout: SplitLayout) -> Source:
    """Open the questions and add to each question the accepted calls with the same id."""
    root = Path(raw)
    if not root.is_dir():
        raise InputError(f"{raw} is not a folder; expected a folder with BFCL_*.json and {ANSWERS}/")
    found = find_files(raw, layout)
    files = found.splits["test"]
    answers = [
        Input(str(path), path.relative_to(root).as_posix())
        for path in sorted(root.rglob("*.json"))
        if ANSWERS in path.relative_to(root).parts
    ]
    read = file_reader(files)

    def joined(bad: BadRows) -> Iterator[Record]:
        rows = (values for file in answers for _, values in read_file(file, bad))
        known = {str(values.get("id")): values.get("ground_truth") for values in rows}
        for record in read(bad):
            answer = known.get(str(record.values.get("id")))
            yield replace(record, values={**record.values, _ANSWER: answer})

    return Source({"test": joined}, unread=found.unread, **described([*files, *answers]))


RECIPE = Recipe(
    "bfcl",
    Hub("gorilla-llm/Berkeley-Function-Calling-Leaderboard", None, (), "all its json files"),
    _to_row,
    "You have the tools below. Where they can do what is asked, answer with the calls alone, each as "
    '<tool_call>{"name": ..., "arguments": {...}}</tool_call>; where they cannot, say so without a call.',
    SplitLayout({"bfcl": "test"}, "test", ignore=(ANSWERS, *_OTHER)),
    open=_open,
)
prepare = RECIPE.prepare
