"""Recognition of the form of a file with prompts (rewardkit, verl or TRL), and checks of its columns.

Sources for the forms: verl's `RLHFDataset` and its prep scripts (0.9), TRL's page on dataset types (0.29).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from rewardkit.checks.findings import Findings
from rewardkit.checks.training import has_in
from rewardkit.errors import InputError, did_you_mean
from rewardkit.files.formats import RowFile, columns_of
from rewardkit.registry import REGISTRY
from rewardkit.rows import PROMPT, RowNames, find_names, first_of, value_at
from rewardkit.tables import is_list, is_text, type_of

QUESTION = (*PROMPT, "question", "problem", "query", "instruction", "text")
"""Names of columns that may contain the prompt, in order of precedence. Case does not matter."""

_SFT = "`rewardkit sft`"


@dataclass(frozen=True, slots=True)
class FileForm:
    """Form of a file with prompts."""

    name: str
    names: RowNames
    needs_source: bool
    """True if each row must have a data source and a ground truth."""
    needs_messages: bool = False
    """True if prompts must be lists of chat messages, since verl does not accept plain text."""
    used_by: str = ""
    """Trainer for which the form is intended, if it is not `rewardkit train`."""


def form_of(file: RowFile, chosen: RowNames) -> FileForm:
    """Return the form of a file, recognised by its columns.

    Args:
        file: File to recognise.
        chosen: Names of columns specified by the user.

    Raises:
        InputError: The file does not contain prompts, or a specified column does not exist.
    """
    columns = columns_of(file)
    has = has_in(file)
    for name in (chosen.data_source, chosen.ground_truth, chosen.prompt):
        if name and not has(name):
            hint = did_you_mean(name, columns)
            raise InputError(
                f"{file.source.path} has no column '{name}'; columns: {', '.join(columns)}{hint}"
            )
    found = find_names(has)
    names = replace(
        found,
        data_source=chosen.data_source or found.data_source,
        ground_truth=chosen.ground_truth or found.ground_truth,
        prompt=chosen.prompt or first_of(QUESTION, has) or _in_any_case(columns),
    )
    return _recognised(set(columns), names, file.source.path)


def _in_any_case(columns: Sequence[str]) -> str | None:
    """Return the first column that may contain the prompt, ignoring case (`Problem`, `Question`)."""
    by_folded = {column.casefold(): column for column in columns}
    return next((by_folded[name] for name in QUESTION if name in by_folded), None)


def _recognised(columns: set[str], names: RowNames, path: str) -> FileForm:
    if {"chosen", "rejected"} <= columns:
        return FileForm("preferences (TRL)", names, needs_source=False, used_by="TRL's RewardTrainer")
    if "reward_model" in columns and "ground_truth" in columns:
        return FileForm("rewardkit", names, needs_source=True, needs_messages=True)
    if "reward_model" in columns:
        return FileForm("verl", names, needs_source=True, needs_messages=True)
    if names.data_source is not None:
        return FileForm("rows with a data source", names, needs_source=True)
    if "messages" in columns and names.prompt is None:
        return FileForm(
            "conversations (TRL)", replace(names, prompt="messages"), needs_source=False, used_by=_SFT
        )
    if {"completion", "response"} & columns and names.prompt is not None and names.ground_truth is None:
        return FileForm("prompts and completions (TRL)", names, needs_source=False, used_by=_SFT)
    if names.prompt is not None:
        return FileForm("prompts (TRL)", names, needs_source=False)
    raise InputError(
        f"{path} has no prompt column (expected {', '.join(QUESTION)} or messages); pass the column's "
        f"name with --prompt-key; columns: {', '.join(sorted(columns))}"
    )


def check_columns(file: RowFile, form: FileForm, findings: Findings, *, data_source: str | None) -> None:
    """Report columns that are missing or whose type the form does not allow."""
    path = file.source.path
    names = form.names

    def wrong(column: str, what: str) -> None:
        findings.add("error", "schema", path, what, key=column)

    if form.needs_source:
        if names.data_source is None and data_source is None:
            wrong("data_source", "the file has no column 'data_source'; pass --data-source")
        source = data_source or (value_at(file.first_row(), names.data_source) if names.data_source else "")
        if names.ground_truth is None and REGISTRY.needs_ground_truth(str(source)):
            wrong("ground_truth", "the file has no column 'ground_truth' or 'reward_model.ground_truth'")
        if names.prompt is None:
            wrong("prompt", "the file has no column 'prompt'")
    elif data_source is None and "prompts (" in form.name:
        what = "the data source is not known, so ground truths are not checked; pass --data-source"
        findings.add("note", "schema", path, what)
    if file.schema is not None:
        for column, what in _misfits(file.schema, form):
            wrong(column, what)


def _misfits(schema: pa.Schema, form: FileForm) -> list[tuple[str, str]]:
    """Return each column whose type the form does not allow, with a message about the expected type."""
    names = form.names
    found = []
    for column in (names.data_source, "ability" if form.needs_messages else None):
        kind = type_of(schema, column) if column else None
        if kind is not None and not is_text(kind):
            found.append((column or "", f"'{column}' has the type {kind}; expected a string"))
    prompt = type_of(schema, names.prompt) if names.prompt else None
    if prompt is not None and not _is_prompt(prompt, may_be_text=not form.needs_messages):
        found.append(
            (names.prompt or "", f"'{names.prompt}' has the type {prompt}; expected {_prompts(form)}")
        )
    if form.needs_messages:
        found += _struct_misfits(schema, "reward_model", ("ground_truth",))
        found += _struct_misfits(schema, "extra_info", ())
    return found


def _struct_misfits(schema: pa.Schema, column: str, fields: Sequence[str]) -> list[tuple[str, str]]:
    kind = type_of(schema, column)
    if kind is None:
        return []
    if not pa.types.is_struct(kind):
        return [(column, f"'{column}' has the type {kind}; expected a struct")]
    missing = [name for name in fields if kind.get_field_index(name) < 0]
    return [(column, f"'{column}' has no field '{name}'") for name in missing]


def _is_prompt(kind: pa.DataType, *, may_be_text: bool) -> bool:
    if is_list(kind):
        inner = kind.value_type
        return pa.types.is_struct(inner) and {"role", "content"} <= {f.name for f in inner}
    return may_be_text and is_text(kind)


def _prompts(form: FileForm) -> str:
    messages = "chat messages: a list of structs with role and content"
    return messages if form.needs_messages else f"a string, or {messages}"
