"""`rewardkit eval`: generates (with `--model`), scores, and prints metrics with intervals.

Parses, calls the rooms and prints; nothing is computed here. A model on datasets is in `eval_datasets.py`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from rewardkit.commands.eval_datasets import eval_datasets, print_datasets, write_page
from rewardkit.commands.generate import PromptForm, generate_file
from rewardkit.commands.options.benchmarks import BenchmarkOptions, benchmark_options, find_benchmarks
from rewardkit.commands.options.files import files_and_settings, hydra_options, input_options
from rewardkit.commands.options.generation import GENERATION_NAMES, generation_options
from rewardkit.commands.options.given import REWARDS, SCORED, refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.prep_output import print_list
from rewardkit.commands.options.printing import err, figure, interval, results_console
from rewardkit.commands.options.rewards import RewardOptions, reward_options
from rewardkit.commands.options.scoring import (
    RunOptions,
    default_output,
    note,
    on_ray,
    run_options,
    score_files,
)
from rewardkit.errors import InputError
from rewardkit.evaluation.evaluation import Figures, evaluate
from rewardkit.evaluation.html.report import write_report
from rewardkit.evaluation.intervals import Estimate
from rewardkit.evaluation.scored import dumps_in, is_scored, read_groups, read_rows
from rewardkit.offline import ReadOptions
from rewardkit.offline.verl_evaluation import EvaluationConfig, read_evaluation_config


@click.command(
    cls=GroupedCommand,
    epilog="Examples: rewardkit eval sample://responses.jsonl;  "
    "rewardkit eval arithmetic --prep level=tiny --model MODEL_FOLDER",
)
@click.argument("words", nargs=-1, metavar="[DATASET | FILE]... [KEY=VALUE]...")
@click.option("--list", "show_list", is_flag=True, help="List all datasets.")
@click.option("--model", help="Model folder, hub ID, or name of the model at --url.")
@benchmark_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Output file or, for datasets, output folder. Default: next to FILE; for datasets, eval/MODEL.",
)
@click.option("--report", type=OutputFile(), help="Write an HTML report to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--config", type=click.Path(path_type=Path), help="YAML file in the format of verl's evaluation.yaml."
)
@hydra_options("evaluation")
@generation_options
@input_options
@run_options
@reward_options
def command(
    words: tuple[str, ...],
    show_list: bool,
    model: str | None,
    asked: BenchmarkOptions,
    out: Path | None,
    report: Path | None,
    config: Path | None,
    generation: dict[str, Any],
    read_options: ReadOptions,
    run: RunOptions,
    as_json: bool,
    rewards: RewardOptions,
) -> int:
    """Evaluate a model on datasets, or evaluate existing responses.

    For a DATASET, prepares the prompts, generates responses with --model and scores them. Run the same
    command again to resume an interrupted run. FILE can be any file that `rewardkit score` reads or, with
    --model, a prompt file. KEY=VALUE overrides a configuration key, as in verl's main_eval.

    Prints the accuracy with a 95 % interval, clustered by prompt, and counts failures. For a FILE, also
    prints pass@k, pass^k, maj@k and best@k. The exit code is 1 if no response was scored.
    """
    if show_list:
        print_list(as_json)
        return 0
    files, assigned = files_and_settings(words)
    if benchmarks := find_benchmarks(files, asked, generation):
        if model is None:
            raise click.UsageError(f"evaluating on {benchmarks[0].name} needs a model; pass --model")
        options = rewards.read()
        run = on_ray(run, generation.get("engine"))
        folder = out or Path("eval", Path(model).name)
        done = eval_datasets(benchmarks, model, folder, run, options, rewards.timeout_s)
        if done is not None and report is not None:
            write_page(done, report, folder.name)
        return 1 if done is None else print_datasets(done, folder, as_json)
    given = read_evaluation_config(config, assigned) if config is not None or assigned else None
    files = files or _file_of(given)
    if given is not None:
        for line in given.notes:
            note(line)
        named = {name: key for name, key in asdict(read_options.names).items() if key is not None}
        read_options = replace(read_options, names=replace(given.names, **named))
        if given.reward:
            rewards = replace(rewards, files=(*rewards.files, given.reward))
    options = rewards.read()
    run = on_ray(run, generation.get("engine"), given.cluster if given is not None else None)
    if model is None:
        others = GENERATION_NAMES - ({"engine"} if run.ray is not None else set())
        refuse_given({*others, "limit", "system"}, "nothing is generated without --model")
    else:
        prompts, out = _prompts_and_output(files, out)
        generated = out.with_name(f"{out.stem}.generated.parquet")
        form = PromptForm(read_options.names.prompt, asked.system, "", asked.limit)
        values = generation | {"model": model}
        if run.resume and generated.exists():
            err.print(f"using the responses of an earlier run: {generated}", highlight=False)
        elif not generate_file(prompts, generated, values, form, run, read_options=read_options):
            return 1
        files = (str(generated),)
    files = tuple(dumps_in(file) for file in files)
    with ExitStack() as stack:
        kept = _beside(files) and files[0]
        scored: Sequence[str] = files
        if model is None and is_scored(files, read_options, run.prefix):
            refuse_given(_OF_SCORING, SCORED.format(file=files[0]))
        else:
            kept = str(out) if out else _beside(files)
            if kept and not out and Path(kept).exists() and not (run.force or run.resume or run.restart):
                note(f"{kept} exists, so the new scores are not saved; pass --force to overwrite the file")
                kept = None
            where = kept or f"{stack.enter_context(tempfile.TemporaryDirectory())}/scored.jsonl"
            score_files(files, where, run, read_options, options, rewards.timeout_s, kept=kept is not None)
            scored = [where]
        found = evaluate(read_groups(scored, read_options, run.prefix))
        if report is not None:
            write_report(read_rows(scored, read_options, run.prefix), report, Path(files[0]).name)
    _print(found, kept, report, as_json)
    return 0 if any(one.scored for one in found.values()) else 1


_OF_SCORING = ("out", "workers", "bad_rows", *REWARDS)


def _file_of(given: EvaluationConfig | None) -> tuple[str, ...]:
    if given is None or given.file is None:
        raise click.UsageError("no files given; pass FILES, DATASETS, or --config with data.path")
    path = Path(given.file).expanduser()
    if not path.exists():
        raise InputError(f"{path} (data.path) does not exist")
    return (str(path),)


def _prompts_and_output(files: Sequence[str], out: Path | None) -> tuple[Path, Path]:
    if len(files) > 1:
        raise click.UsageError(f"--model requires exactly one prompt file, found {len(files)} files")
    prompts = Path(files[0])
    return prompts, out or prompts.with_name(f"{prompts.stem}.scored.parquet")


def _beside(files: Sequence[str]) -> str | None:
    """The output next to one local file or folder; None for several files and URLs."""
    return default_output(files) if len(files) == 1 and Path(files[0]).exists() else None


def _print(found: dict[str, Figures], out: str | None, report: Path | None, as_json: bool) -> None:
    if as_json:
        content = {"out": out, "data_sources": {name: one.as_dict() for name, one in found.items()}}
        click.echo(json.dumps(content, indent=2))
        return
    console = results_console()
    console.print(_table(found))
    if out is not None:
        console.print(f"\nscored rows: {out}", soft_wrap=True)
    if report is not None:
        console.print(f"report: {report}", soft_wrap=True)


def _table(found: dict[str, Figures]) -> Table:
    """A line for each figure of each data source: intervals need the width."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("data source", overflow="fold")
    table.add_column("")
    table.add_column("", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("of", overflow="fold")
    for name, one in found.items():
        for i, line in enumerate(_lines(one)):
            table.add_row("" if i else name, *line)
    return table


def _lines(one: Figures) -> Iterator[tuple[str, str, str, str]]:
    scored = f"{one.scored:,} of {one.responses:,} responses scored, to {one.prompts:,} prompts"
    shares = {"accuracy": one.accuracy, "mean score": one.score, "format rate": one.format_rate}
    for what, estimate in shares.items():
        if estimate is not None:
            yield (what, *_estimate(estimate), scored)
            scored = ""
    for what, of_k in one.at_k.items():
        for at in of_k:
            left_out = f"{at.left_out:,} prompts with fewer responses skipped" if at.left_out else ""
            yield (what.replace("k", str(at.k)), *_estimate(at.estimate), left_out)
    if one.mean_length is not None:
        cut = "" if one.truncated is None else f"{one.truncated:.1%} cut off"
        yield "mean length", f"{one.mean_length:,.0f}", "", cut
    failures = ", ".join(f"{n:,} {status}" for status, n in one.failures.items())
    if failures:
        yield "not scored", f"{one.responses - one.scored:,}", "", failures


def _estimate(estimate: Estimate) -> tuple[str, str]:
    return figure(estimate.mean), interval(estimate.low, estimate.high, _short)


def _short(value: float) -> str:
    return f"{value:.3f}"
