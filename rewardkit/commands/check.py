"""`rewardkit check`: checks prompt files before a run uses them.

This module parses the options and prints the findings of `rewardkit.checks`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.table import Table

from rewardkit.agents.loading import interaction_names, tool_names
from rewardkit.checks.agents import agent_names
from rewardkit.checks.check_files import CheckedFile, CheckSettings, check_files
from rewardkit.checks.contents import Known
from rewardkit.checks.findings import Finding, Findings
from rewardkit.checks.lengths import Lengths
from rewardkit.commands.options.files import (
    DATA_SOURCE,
    DATA_SOURCE_KEY,
    GROUND_TRUTH_KEY,
    PROMPT_KEY,
    refuse_both,
)
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT
from rewardkit.commands.options.printing import counted, results_console
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.errors import OptionsError
from rewardkit.registry import REGISTRY
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer

_COLORS = {"error": "red", "warning": "yellow", "note": "dim"}


@click.command(
    cls=GroupedCommand,
    shown=("max_prompt_tokens", "prompt_key", "ground_truth_key"),
    epilog="Examples: rewardkit check data/gsm8k/train.parquet data/gsm8k/test.parquet;  "
    "rewardkit check train.jsonl --against aime.parquet --tokenizer MODEL --max-prompt-tokens 1024",
)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--against",
    multiple=True,
    metavar="EVAL",
    help="Report questions in FILES that are also in this evaluation set. May be repeated.",
)
@click.option("--tokenizer", help="Tokenizer (folder or hub ID) to count prompt tokens with.")
@click.option(
    "--max-prompt-tokens", type=COUNT, help="Report prompts with more than N tokens. Requires --tokenizer."
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    help="Name of a custom agent loop that rows may use. May be repeated.",
)
@click.option(
    "--tools", "tool_files", multiple=True, type=click.Path(path_type=Path),
    help="YAML file in verl's format with tools that rows may use. May be repeated.",
)  # fmt: skip
@click.option(
    "--interactions", "interaction_files", multiple=True, type=click.Path(path_type=Path),
    help="YAML file in verl's format with interactions that rows may use. May be repeated.",
)  # fmt: skip
@DATA_SOURCE
@DATA_SOURCE_KEY
@GROUND_TRUTH_KEY
@PROMPT_KEY
@click.option("--json", "as_json", is_flag=True, help="Print JSON with the numbers of all affected rows.")
@reward_options
def command(
    files: tuple[str, ...],
    against: tuple[str, ...],
    tokenizer: str | None,
    max_prompt_tokens: int | None,
    agents: tuple[str, ...],
    tool_files: tuple[Path, ...],
    interaction_files: tuple[Path, ...],
    data_source: str | None,
    data_source_key: str | None,
    ground_truth_key: str | None,
    prompt_key: str | None,
    as_json: bool,
    rewards: RewardOptions,
) -> int:
    """Check FILES of prompts for errors before you use them for training or evaluation.

    FILES can be parquet, jsonl, csv or json files in the formats of rewardkit, verl and TRL. You can
    also pass folders and glob patterns. The command reports:

    \b
    - files and rows that `rewardkit train` cannot use
    - missing columns and wrong types
    - data sources without a reward, and unusable ground truths
    - empty or overlong prompts, unknown agents and unknown tools
    - duplicates, and questions that are also in other splits or evaluation sets

    Row numbers start at 0. The exit code is 1 if there are errors.
    """
    if max_prompt_tokens is not None and tokenizer is None:
        raise OptionsError("--max-prompt-tokens needs --tokenizer, which counts the tokens")
    refuse_both(data_source, data_source_key)
    options = rewards.read()
    tools = frozenset(name for path in tool_files for name in tool_names(path))
    interactions = frozenset(name for path in interaction_files for name in interaction_names(path))
    settings = CheckSettings(
        RowNames(data_source_key, None, ground_truth_key, prompt_key),
        data_source,
        Known(REGISTRY, (*agent_names(), *agents), tools, interactions),
        Lengths(tokenizer, max_prompt_tokens) if tokenizer else None,
        against,
    )
    with Scorer(options=options, timeout_s=rewards.timeout_s) as scorer:
        checked, findings = check_files(files, scorer, settings)
    given_to_run().saw(source for file in checked for source in file.data_sources)
    if as_json:
        click.echo(json.dumps(_as_dict(checked, findings), indent=2))
    else:
        _print(checked, findings, settings.lengths)
    return 1 if findings.count("error") else 0


def _as_dict(checked: list[CheckedFile], findings: Findings) -> dict[str, Any]:
    return {
        "files": [msgspec.to_builtins(file) for file in checked],
        "errors": findings.count("error"),
        "warnings": findings.count("warning"),
        "findings": [finding.as_dict() for finding in findings],
    }


def _print(checked: list[CheckedFile], findings: Findings, lengths: Lengths | None) -> None:
    console = results_console()
    for file in checked:
        rows = counted(file.rows, "row")
        console.print(f"{file.path}: {file.form}, {rows}", highlight=False, soft_wrap=True)
    if lengths is not None:
        console.print(f"longest prompt: {lengths.longest:,} tokens", highlight=False)
    found = list(findings)
    if found:
        console.print(_table(found))
    errors, warnings = findings.count("error"), findings.count("warning")
    if any(one.check == "data source" for one in found):
        for path in sorted({Path(file.path).parent / "rewards.yaml" for file in checked}):
            if path.is_file():  # written by `prep custom` next to the rows
                console.print(f"pass --rewards {path}: it defines rewards for these rows", soft_wrap=True)
    counts = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    console.print(counts if found else "no problems found", highlight=False)


def _table(found: list[Finding]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("", "check", "in", "n", "rows (from 0)", "what"):
        table.add_column(heading, justify="right" if heading == "n" else "left", overflow="fold")
    for one in found:
        count = f"{len(one.rows):,}" if one.rows else ""
        level = f"[{_COLORS[one.level]}]{one.level}[/]"
        cells = (one.check, Path(one.file).name, count, one.shown_rows(), one.what)
        table.add_row(level, *(cell.replace("[", r"\[") for cell in cells))
    return table
