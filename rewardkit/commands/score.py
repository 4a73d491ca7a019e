"""`rewardkit score`: files of responses in, the same rows with their scores out."""

from __future__ import annotations

import json
from pathlib import Path

import click

from rewardkit.commands.options.files import input_options
from rewardkit.commands.options.printing import results_console
from rewardkit.commands.options.rewards import read_reward_options, reward_options
from rewardkit.commands.options.scoring import (
    RunOptions,
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
    epilog="Examples: rewardkit score responses.parquet --out scored.parquet;  "
    "rewardkit score rollouts/40.jsonl --data-source gsm8k;  "
    "rewardkit score batch_output.jsonl --join questions.parquet --on custom_id=id"
)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--out",
    help="File to write (.parquet, .jsonl, .jsonl.gz, .csv), a folder for one file for each input, or - for "
    "standard output. Default: FILE.scored.SUFFIX beside the input.",
)
@input_options
@run_options
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where to score: on this machine, or with actors of Ray, on one or many.",
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
    reward_files: tuple[str, ...],
    option_words: tuple[str, ...],
    options_file: Path | None,
    timeout_s: float | None,
) -> int:
    """Score the responses in FILES: parquet, jsonl (.gz, .zst), csv or json; folders, globs and URLs; - for
    standard input (jsonl).

    Logs of verl, lm-eval, OpenAI's and vLLM's batches, TRL, inspect, NeMo-Gym and verifiers are recognised.
    Writes the same rows with the columns score, status, correct, extracted, detail, scorer and parts, and
    prints a table per data source. Memory stays bounded however large the files. A killed run goes on with
    --resume, and its output is the same to the byte. Exits with 1 when no row could be scored, and with
    --bad-rows fail when any could not.
    """
    options = read_reward_options(reward_files, option_words, options_file)
    target = out or default_output(files)
    run = on_ray(run, engine)
    report = score_files(files, target, run, read_options, options, timeout_s)
    if as_json:
        content = {"out": target, "bad_rows": report.bad_count, "data_sources": report.as_dict()}
        click.echo(json.dumps(content, indent=2), err=target == STDIN)
    else:
        print_report(report, target, results_console(stderr=target == STDIN))
    return _exit_code(report, run)


def _exit_code(report: Report, run: RunOptions) -> int:
    failures = report.failures
    if failures:
        first = next(s.first_failure for s in report.sources.values() if s.failures)
        counts = ", ".join(f"{n} {status}" for status, n in sorted(failures.items()))
        note(f"not scored: {counts} (first: {first}); see the status column")
    nothing = not report.scored and bool(report.sources or report.bad_count)
    return 1 if nothing or (failures["invalid"] and run.bad_rows == "fail") else 0
