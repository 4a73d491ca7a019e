"""Settings that all datasets share. Each setting is an option of all subcommands of `rewardkit prep`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from rewardkit.errors import InputError

_NOT_RECORDED = ("raw", "num_proc", "template", "card")
"""Settings that the provenance omits, such as file locations, because they do not determine the rows."""


@dataclass(frozen=True, slots=True)
class PrepSettings:
    """Settings for a run. The defaults keep a dataset as published."""

    raw: Annotated[
        str | Path | None,
        "Raw dataset: file, folder, glob pattern or URL (hf://datasets/...). Default: download from the hub.",
    ] = None
    revision: Annotated[str | None, "Commit of the hub repository. Default: the latest commit."] = None
    split_name: Annotated[
        str | None, "Name of the split, such as test, if the raw data consists of a single split."
    ] = None
    system: Annotated[str, "System message for all rows."] = ""
    instruction: Annotated[
        str | None, "Instruction to add to each question. Pass '' to add no instruction."
    ] = None
    template: Annotated[
        Path | None,
        "File with a template for the user message. The template can contain {question}, {instruction} and "
        "the name of any metadata column.",
    ] = None
    skip_bad: Annotated[
        bool, "Drop unusable rows instead of failing, and rows with flags of `rewardkit audit`."
    ] = False
    shuffle: Annotated[bool, "Shuffle the rows of each split."] = False
    seed: Annotated[int, "Random seed for --shuffle and --val-size."] = 0
    limit: Annotated[int | None, "Keep only the first N rows of each split."] = None
    val_size: Annotated[
        float | None, "Number of rows, or fraction of rows, to move from train to val.parquet."
    ] = None
    max_prompt_tokens: Annotated[
        int | None, "Drop rows whose prompts have more tokens than this. Requires --tokenizer."
    ] = None
    tokenizer: Annotated[
        Path | None, "Folder of the model whose tokenizer and chat template are used to count prompt tokens."
    ] = None
    agent: Annotated[
        str | None, "Agent loop for the rows, such as tool_agent. Adds the columns for its tools."
    ] = None
    interaction: Annotated[
        str | None, "Interaction for the rows, such as gsm8k. Adds the columns for the interaction."
    ] = None
    like: Annotated[
        str | None,
        "Write the same rows as one of verl's scripts for this dataset: verl, verl:tool_agent, or "
        "verl@0.7:tool_agent for a release other than the newest.",
    ] = None
    shard_rows: Annotated[
        int | None, "Write each split as a folder of files with this many rows per file."
    ] = None
    card: Annotated[bool, "Also write a dataset card (README.md) for the hub."] = False
    num_proc: Annotated[int, "Number of worker processes."] = 1

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            InputError: A value is invalid. The error message names the option.
        """
        for name in ("limit", "max_prompt_tokens", "shard_rows", "num_proc"):
            check_count(name, getattr(self, name))
        if self.val_size is not None and not (0 < self.val_size < 1 or float(self.val_size).is_integer()):
            raise InputError(
                f"val_size must be a whole number of rows or a fraction below 1, not {self.val_size:g}"
            )
        if self.val_size is not None and self.val_size <= 0:
            raise InputError(f"val_size must be above 0, not {self.val_size:g}")
        if (self.max_prompt_tokens is None) != (self.tokenizer is None):
            raise InputError("max_prompt_tokens and tokenizer must be set together; pass both")
        if self.split_name is not None and not self.split_name.replace("_", "").isalnum():
            raise InputError(f"split_name must be a plain name such as test, not {self.split_name!r}")
        if self.like is not None:
            # With `--like`, verl's script determines the prompts and columns.
            self.refuse(f"--like {self.like}", "instruction", "system", "template", "agent", "interaction")

    def refuse(self, dataset: str, *names: str) -> None:
        """Check that each setting that the dataset does not support has its default value.

        Raises:
            InputError: One of these settings was changed. The error message names the first such setting.
        """
        for name in names:
            if getattr(self, name) != next(f.default for f in fields(self) if f.name == name):
                raise InputError(f"{dataset} has no option --{name.replace('_', '-')}")

    def recorded(self) -> dict[str, object]:
        """Return the settings that affect the rows and differ from the defaults, for the provenance."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NOT_RECORDED}
        if self.tokenizer is not None:
            values["tokenizer"] = self.tokenizer.name
        defaults: Mapping[str, object] = {f.name: f.default for f in fields(self)}
        return {name: value for name, value in values.items() if value != defaults[name]}


def check_count(option: str, count: int | None) -> None:
    """Check that an optional count is at least 1.

    Raises:
        InputError: The count is below 1. The error message names the option.
    """
    if count is not None and count < 1:
        raise InputError(f"{option} must be at least 1, not {count}")
