"""`rewardkit score`: reads response files and writes the same rows with their scores."""

from __future__ import annotations

import json
from typing import Any

import click

from rewardkit.checks.checked_scoring import RunOptions
from rewardkit.commands.options.files import input_options
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.printing import results_console
from rewardkit.commands.options.rewards import RewardOptions, reward_options
from rewardkit.commands.options.run_options import (
    default_output,
    note,
    on_ray,
    print_report,
    run_options,
    score_files,
)
from rewardkit.files.inputs import STDIN
from rewardkit.offline import ReadOptions, Report


@click.command(
    cls=GroupedCommand,
    shown=("bad_rows", "workers", "reward_files", "option_words"),
    epilog="Examples: rewardkit score responses.parquet --out scored.parquet;  "
    "rewardkit score rollouts/40.jsonl --data-source gsm8k;  "
    "rewardkit score batch_output.jsonl --join questions.parquet --on custom_id=id",
)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--out",
    help="Output file (.parquet, .jsonl, .jsonl.gz, .csv), folder with one file per input, or - for standard "
    "output. Default: FILE.scored.SUFFIX next to the input.",
)
@input_options
@run_options
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Run the scoring processes on this machine or on Ray.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@reward_options
def command(
    files: tuple[str, ...],
    out: str | None,
    read_options: ReadOptions,
    run: RunOptions,
    engine: str,
    as_json: bool,
    rewards: RewardOptions,
) -> int:
    """Score the responses in FILES. The data source of a row selects its reward.

    FILES can be parquet, jsonl (.gz, .zst), csv or json files, folders, glob patterns, URLs, or - to read
    jsonl from standard input. Log formats from verl, lm-eval, TRL, inspect, NeMo-Gym and verifiers, and
    OpenAI or vLLM batch output, are detected automatically.

    Writes the input rows with the added columns score, status, correct, extracted, detail, scorer and parts.
    A resumed run produces the same output as an uninterrupted run. The exit code is 1 if no row was scored,
    if a reward calls a row invalid and --bad-rows is fail, or if a file could not be scored. In a folder, the
    other files are scored all the same.
    """
    options = rewards.read()
    target = out or default_output(files)
    run = on_ray(run, engine)
    report = score_files(files, target, run, read_options, options, rewards.timeout_s, skip_bad_files=True)
    if as_json:
        content: dict[str, Any] = {
            "out": target,
            "bad_rows": report.bad_count,
            "data_sources": report.as_dict(),
        }
        if report.files:
            content["files"] = [file.as_dict() for file in report.files]
        click.echo(json.dumps(content, indent=2), err=target == STDIN)
    else:
        print_report(report, target, results_console(stderr=target == STDIN))
    return _exit_code(report, run)


def _exit_code(report: Report, run: RunOptions) -> int:
    failures = report.failures
    if failures:
        first = next(s.first_failure for s in report.sources.values() if s.failures)
        counts = ", ".join(f"{n} {status}" for status, n in sorted(failures.items()))
        note(f"not scored: {counts} (first: {first}); the status and detail columns say why")
    nothing = not report.scored and bool(report.sources or report.bad_count)
    lost = [file for file in report.files if file.why_not]
    if lost:
        note(f"not scored: {len(lost)} of {len(report.files)} files; the table says why")
    return 1 if nothing or lost or (failures["invalid"] and run.bad_rows == "fail") else 0
