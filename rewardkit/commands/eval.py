"""`rewardkit eval`: generates (with `--model`), scores, and prints metrics with intervals.

Parses, calls `rewardkit.evaluate` and prints. What is printed of datasets is in `options/eval_output.py`.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

import rewardkit
from rewardkit.checks.checked_scoring import RunOptions
from rewardkit.commands.options.benchmarks import BenchmarkOptions, asked_benchmarks, benchmark_options
from rewardkit.commands.options.eval_output import print_evaluation
from rewardkit.commands.options.files import files_and_settings, hydra_options, input_options
from rewardkit.commands.options.gates import GateOptions, gate_options, gates_as_dicts
from rewardkit.commands.options.generation import generation_options
from rewardkit.commands.options.given import REWARDS, SCORED, refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.prep_output import print_list
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.options.run_options import StepBar, note, on_ray, run_options
from rewardkit.errors import InputError
from rewardkit.evaluating.parts import parts_of
from rewardkit.evaluation.gates import Counted, require_named
from rewardkit.evaluation.scored import dumps_in
from rewardkit.generation.settings import NAMES
from rewardkit.offline import ReadOptions
from rewardkit.offline.verl_evaluation import EvaluationConfig, read_evaluation_config
from rewardkit.scoring.scorer import Scorer


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
    help="Output file, or output folder for datasets. Default: next to FILE, or eval/MODEL.",
)
@click.option("--report", type=OutputFile(), help="Write an HTML report to this file.")
@gate_options(
    "--fail-under",
    "[SOURCE=]N",
    "Fail if the accuracy, or else the mean score, is under N: of SOURCE, or of every data source. May be "
    "repeated.",
)
@click.option(
    "--fail-on",
    type=click.Choice(typing.get_args(Counted)),
    default="point",
    show_default=True,
    help="For --fail-under, compare the mean, or the lower end of its 95 % interval.",
)
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
    gates: GateOptions,
    fail_on: Counted,
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
    --model, a prompt file. KEY=VALUE overrides a key of --config.

    Prints figures with 95 % intervals, and counts failures. Exit code 1: rows are missing, or a data source
    has no score. Exit code 3: a gate failed (docs/evaluation.md).
    """
    if show_list:
        print_list(as_json)
        return 0
    files, assigned = files_and_settings(words)
    benchmarks = asked_benchmarks(files, asked)
    given = read_evaluation_config(config, assigned) if config is not None or assigned else None
    if benchmarks:
        require_named(gates.limits, [one.name for one in benchmarks])
    else:
        files = files or _file_of(given)
        read_options, rewards = _with_config(given, read_options, rewards)
    run = on_ray(run, generation.get("engine"), given.cluster if given is not None else None)
    if not gates.limits:
        refuse_given({"fail_on"}, "there is no --fail-under")
    if model is None and not benchmarks:
        _refuse_without_effect(files, read_options, run)
    options = rewards.read()
    with (
        Scorer(options=options, workers=run.workers, timeout_s=rewards.timeout_s) as scorer,
        StepBar() as bar,
    ):
        found = rewardkit.evaluate(
            benchmarks or files,
            model=model,
            out=out,
            report=report,
            scorer=scorer,
            options=replace(read_options, reward_options=options),
            prefix=run.prefix,
            bad_rows=run.bad_rows,
            resume=run.resume,
            restart=run.restart,
            force=run.force,
            cluster=run.ray,
            workers=run.workers,
            split=asked.split,
            limit=asked.limit,
            system=asked.system,
            given=given_to_run(),
            on_unused=refuse_given,
            on_progress=bar,
            on_note=note,
            **(generation if model is not None else {}),
        )
    results = found.gates(gates.limits, fail_on=fail_on)
    if as_json:
        click.echo(json.dumps(found.as_dict() | {"gates": gates_as_dicts(results)}, indent=2))
    else:
        print_evaluation(found, report)
    return gates.report(found.summary(tuple(results)))


def _file_of(given: EvaluationConfig | None) -> tuple[str, ...]:
    if given is None or given.file is None:
        raise click.UsageError("no files given; pass FILES, DATASETS, or --config with data.path")
    path = Path(given.file).expanduser()
    if not path.exists():
        raise InputError(f"{path} (data.path) does not exist")
    return (str(path),)


def _with_config(
    given: EvaluationConfig | None, read_options: ReadOptions, rewards: RewardOptions
) -> tuple[ReadOptions, RewardOptions]:
    """The options with what verl's file says; those of the command line go before it."""
    if given is None:
        return read_options, rewards
    for line in given.notes:
        note(line)
    named = {name: key for name, key in asdict(read_options.names).items() if key is not None}
    read_options = replace(read_options, names=replace(given.names, **named))
    if given.reward:
        rewards = replace(rewards, files=(*rewards.files, given.reward))
    return read_options, rewards


def _refuse_without_effect(files: Sequence[str], read_options: ReadOptions, run: RunOptions) -> None:
    """Refuse options of generation, as there is no model, and those of scoring if all files have scores."""
    others = NAMES - ({"engine"} if run.ray is not None else set())
    refuse_given({*others, "limit", "system"}, "nothing is generated without --model")
    if all(part.scored for part in parts_of([*map(dumps_in, files)], read_options, run.prefix)):
        refuse_given(("out", "workers", "bad_rows", *REWARDS), SCORED.format(file=files[0]))
