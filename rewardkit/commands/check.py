"""`rewardkit check`: checks files of prompts before a run uses them.

Parses, calls `rewardkit.checks` and prints.
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
from rewardkit.checks.contents import Known
from rewardkit.checks.findings import CheckFinding, Findings
from rewardkit.checks.lengths import Lengths
from rewardkit.checks.run import CheckedFile, CheckSettings, check_files
from rewardkit.commands.options.printing import results_console
from rewardkit.commands.options.rewards import read_reward_options, reward_options
from rewardkit.errors import OptionsError
from rewardkit.registry import REGISTRY
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer

_COLORS = {"error": "red", "warning": "yellow", "note": "dim"}


@click.command(
    epilog="Examples: rewardkit check data/gsm8k/train.parquet data/gsm8k/test.parquet;  "
    "rewardkit check train.jsonl --against aime.parquet --tokenizer MODEL --max-prompt-tokens 1024"
)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--against",
    multiple=True,
    metavar="EVAL",
    help="Evaluation set whose questions must not be in FILES. May be repeated.",
)
@click.option("--tokenizer", help="Folder or hub id of a tokenizer, to count the tokens of prompts.")
@click.option("--max-prompt-tokens", type=click.IntRange(min=1), help="Most tokens that a prompt may have.")
@click.option("--agent", "agents", multiple=True, help="Name of an agent of your own. May be repeated.")
@click.option(
    "--tools", "tool_files", multiple=True, type=click.Path(path_type=Path),
    help="YAML file of the tools that rows may name, in verl's form.",
)  # fmt: skip
@click.option(
    "--interactions", "interaction_files", multiple=True, type=click.Path(path_type=Path),
    help="YAML file of the interactions that rows may name, in verl's form.",
)  # fmt: skip
@click.option("--data-source", help="Data source of every row, for files that do not say it.")
@click.option("--data-source-key", help="Column of the data source. Default: data_source.")
@click.option(
    "--ground-truth-key",
    help="Column of the ground truth. Default: ground_truth, answer, … (docs/scoring.md).",
)
@click.option("--prompt-key", help="Column of the prompt. Default: prompt, input, question or problem.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all row numbers.")
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
    reward_files: tuple[str, ...],
    option_words: tuple[str, ...],
    options_file: Path | None,
    timeout_s: float | None,
) -> int:
    """Look over FILES of prompts, in our form, verl's or TRL's: parquet, jsonl, csv or json; folders, globs.

    Finds columns that are missing or of another type, data sources without a reward, ground truths that
    their reward cannot use, prompts that are empty or too long, agents, tools and interactions that are not
    there, duplicates, questions of one split in another or of an evaluation set, and rewards that can pay a
    wrong answer as much as a right one. Rows are counted from 0. Exits with 1 when there is an error.
    """
    if max_prompt_tokens is not None and tokenizer is None:
        raise OptionsError("--max-prompt-tokens needs --tokenizer: lengths differ from one to the next")
    options = read_reward_options(reward_files, option_words, options_file)
    tools = frozenset(name for path in tool_files for name in tool_names(path))
    interactions = frozenset(name for path in interaction_files for name in interaction_names(path))
    settings = CheckSettings(
        RowNames(data_source_key, None, ground_truth_key, prompt_key),
        data_source,
        Known(REGISTRY, (*agent_names(), *agents), tools, interactions),
        Lengths(tokenizer, max_prompt_tokens) if tokenizer else None,
        against,
    )
    with Scorer(options=options, timeout_s=timeout_s) as scorer:
        checked, findings = check_files(files, scorer, settings)
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
        console.print(f"{file.path}: {file.form}, {file.rows:,} rows", highlight=False, soft_wrap=True)
    if lengths is not None:
        console.print(f"longest prompt: {lengths.longest:,} tokens", highlight=False)
    found = list(findings)
    if found:
        console.print(_table(found))
    errors, warnings = findings.count("error"), findings.count("warning")
    if any(one.check == "data source" for one in found):
        for path in sorted({Path(file.path).parent / "rewards.yaml" for file in checked}):
            if path.is_file():  # as `prep custom` writes it beside the rows
                console.print(f"what scores such rows stands beside them: --rewards {path}", soft_wrap=True)
    counts = f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}"
    console.print(counts if found else "nothing found", highlight=False)


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _table(found: list[CheckFinding]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("", "check", "in", "n", "rows (from 0)", "what"):
        table.add_column(heading, justify="right" if heading == "n" else "left", overflow="fold")
    for one in found:
        count = f"{len(one.rows):,}" if one.rows else ""
        level = f"[{_COLORS[one.level]}]{one.level}[/]"
        cells = (one.check, Path(one.file).name, count, one.shown_rows(), one.what)
        table.add_row(level, *(cell.replace("[", r"\[") for cell in cells))
    return table
