"""Checks that `rewardkit train` accepts a file. The checks apply the trainer's own rules before training."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from rewardkit.checks.findings import FindingLevel, Findings
from rewardkit.checks.forms import FileForm
from rewardkit.checks.items import Item
from rewardkit.checks.training import PROMPT_KEY, has_in, refuse_media, training_names, training_row
from rewardkit.errors import InputError
from rewardkit.files.formats import RowFile
from rewardkit.rows import DATA_SOURCE, GROUND_TRUTH, RowNames, first_of, value_at

_CHECK = "training"
_MARKED_NUMBER = re.compile(r"#### *-?[0-9]")
"""Pattern for the mark and the number at the end of solutions in GSM8K."""


def check_training(
    file: RowFile, form: FileForm, chosen: RowNames, data_source: str | None, findings: Findings
) -> RowNames | None:
    """Return the names of the columns that training needs, or report missing columns and return None.

    Args:
        file: File to check.
        form: Form of the file.
        chosen: Names of columns specified by the user. `rewardkit train` has an option only for the prompt.
        data_source: Data source of every row, for which `rewardkit train` has no option.
        findings: Collection to which findings are added.
    """
    try:
        return training_names(file, chosen.prompt or PROMPT_KEY)
    except InputError:
        pass
    path = file.source.path
    if any(one.check == "schema" and one.level == "error" and one.file == path for one in findings):
        return None
    level: FindingLevel = "error"
    if form.used_by:
        level = "warning"
    elif data_source is not None or chosen.data_source or chosen.ground_truth:
        level = "note"  # Other commands, such as `score`, also have these options.
    findings.add(level, _CHECK, path, _why(file, form))
    return None


def _why(file: RowFile, form: FileForm) -> str:
    has, names = has_in(file), form.names
    needed = {"data_source": first_of(DATA_SOURCE, has), "ground_truth": first_of(GROUND_TRUTH, has)}
    lacks = [name for name, found in needed.items() if found is None]
    if not lacks and names.prompt is not None:
        return (
            f"`rewardkit train` finds no column '{PROMPT_KEY}'; set data.prompt_key={names.prompt} there, "
            f"and pass --prompt-key {names.prompt} here"
        )
    lacks += [] if has(PROMPT_KEY) else [PROMPT_KEY]
    named = ", ".join(f"'{name}'" for name in lacks)
    missing = f"`rewardkit train` cannot use the file: it has no column {named}"
    if form.used_by:
        return f"{missing}; it has the form for {form.used_by}"
    raw = f"--raw {shlex.quote(file.source.path)}"
    answer = value_at(file.first_row(), names.ground_truth)
    if isinstance(answer, str) and _MARKED_NUMBER.search(answer):
        return f"{missing}; run `rewardkit prep gsm8k {raw}` first"
    return (
        f"{missing}; run `rewardkit prep custom {raw} --reward REWARD` first, or `rewardkit prep NAME` for a "
        "published dataset"
    )


def check_training_rows(items: Sequence[Item], file: str, names: RowNames, findings: Findings) -> None:
    """Report rows that would stop training, except rows with an error that has already been reported.

    Rows with images only cause a warning, since other trainers can read them.
    """
    refused: dict[int, str] = {}
    for item in items:
        try:
            refuse_media(item.raw, "`rewardkit train`")
        except InputError as error:
            findings.add("warning", _CHECK, file, str(error), item.row, key="media")
        try:
            training_row(item.raw, "`rewardkit train`", names)
        except InputError as error:
            refused[item.row] = str(error)
    if not refused:
        return
    known = {row for one in findings if one.level == "error" and one.file == file for row in one.rows}
    for row, why in refused.items():
        if row not in known:
            findings.add("error", _CHECK, file, why, row, key=why)
