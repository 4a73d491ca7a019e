"""`rewardkit eval`: generates responses (with `--model`), scores them, and prints metrics with intervals.

This module parses the options and calls `rewardkit.evaluate`. `options/eval_output.py` prints the results.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

import rewardkit
from rewardkit.checks.checked_scoring import RunOptions
from rewardkit.commands.options.benchmarks import BenchmarkOptions, asked_benchmarks, benchmark_options
from rewardkit.commands.options.eval_output import print_evaluation, print_pairs
from rewardkit.commands.options.files import files_and_settings, hydra_options, input_options
from rewardkit.commands.options.gates import GateOptions, gate_options, gates_as_dicts
from rewardkit.commands.options.generation import generation_options
from rewardkit.commands.options.given import REWARDS, SCORED, refuse_given
from rewardkit.commands.options.help import GROUPS, GroupedCommand
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.prep_output import print_list
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.options.run_options import StepBar, note, on_ray, run_options
from rewardkit.errors import InputError
from rewardkit.evaluating.datasets import Benchmark
from rewardkit.evaluating.pairs import PairEvaluation, evaluate_pairs
from rewardkit.evaluating.parts import parts_of
from rewardkit.evaluating.result import Evaluation
from rewardkit.evaluation.gates import Counted, require_named
from rewardkit.evaluation.scored import dumps_in
from rewardkit.generation.settings import NAMES
from rewardkit.logs.pairs import PairNames
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
    help="Output file or folder. Default: next to FILE, eval/MODEL.",
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
@click.option("--pairs", is_flag=True, help="Evaluate a reward on pairs (docs/rlhf.md).")
@click.option("--chosen-key", help="Column with the chosen answers, for --pairs. Default: chosen.")
@click.option("--rejected-key", help="Column with the rejected answers, for --pairs. Default: rejected.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="YAML file in the format of verl's evaluation.yaml. KEY=VALUE overrides one of its keys.",
)
@hydra_options("evaluation")
@generation_options
@input_options
@run_options
@reward_options
def command(
    gates: GateOptions,
    generation: dict[str, Any],
    run: RunOptions,
    rewards: RewardOptions,
    **given: Any,
) -> int:
    """Evaluate a model on datasets, or evaluate existing responses.

    For a DATASET, prepares prompts, generates responses with --model and scores them; run it again to
    resume. FILE can be any file that `rewardkit score` reads or, with --model, a prompt file.

    Prints figures with 95 % intervals. Exit code 1: rows are missing, or a data source has no score. Exit
    code 3: a gate failed.
    """
    pairs, *keys = (given.pop(name) for name in ("pairs", "chosen_key", "rejected_key"))
    options = EvalOptions(**given)
    if pairs:
        return _evaluate_pairs(options, _pair_names(options.read_options, *keys), gates, run, rewards)
    refuse_given(("chosen_key", "rejected_key"), "there is no --pairs")
    if options.show_list:
        print_list(options.as_json)
        return 0
    if not gates.limits:
        refuse_given({"fail_on"}, "there is no --fail-under")
    subject = Subject.of(options, run, rewards, generation.get("engine"))
    if subject.benchmarks:
        require_named(gates.limits, [one.name for one in subject.benchmarks])
    if options.model is None:
        generation = {}
        subject.refuse_without_effect()
    found = _evaluate(options, subject, generation)
    return _finish(found, print_evaluation, options, gates)


Found = TypeVar("Found", Evaluation, PairEvaluation)


def _finish(
    found: Found, show: Callable[[Found, Path | None], None], options: EvalOptions, gates: GateOptions
) -> int:
    """Print an evaluation, check the gates, and return the exit code."""
    results = found.gates(gates.limits, fail_on=options.fail_on)
    if options.as_json:
        click.echo(json.dumps(found.as_dict() | {"gates": gates_as_dicts(results)}, indent=2))
    else:
        show(found, options.report)
    return gates.report(found.summary(tuple(results)))


_OF_PAIRS = {
    *("words", "pairs", "chosen_key", "rejected_key", "prompt_key", "ground_truth_key", "data_source"),
    *("data_source_key", "bad_rows", "workers", "report", "as_json", *REWARDS, *GROUPS["gates"].split()),
}
"""Parameters that apply to pairs."""


def _evaluate_pairs(
    options: EvalOptions, names: PairNames, gates: GateOptions, run: RunOptions, rewards: RewardOptions
) -> int:
    """Evaluate the rewards on the pairs in the files, print the figures, and return the exit code."""
    context = click.get_current_context()
    refuse_given({str(one.name) for one in context.command.params} - _OF_PAIRS, "--pairs does not use it")
    if not options.words:
        raise click.UsageError("no files given; pass FILES with pairs")
    if not gates.limits:
        refuse_given({"fail_on"}, "there is no --fail-under")
    reading = options.read_options
    with (
        Scorer(options=rewards.read(), workers=run.workers, timeout_s=rewards.timeout_s) as scorer,
        StepBar() as bar,
    ):
        found = evaluate_pairs(
            options.words,
            scorer=scorer,
            names=names,
            row_names=reading.names,
            data_source=reading.data_source or rewards.pairs_source,
            bad_rows=run.bad_rows,
            report=options.report,
            given=given_to_run(),
            on_progress=lambda done, total: bar("scoring", done, total),
            on_note=note,
        )
    require_named(gates.limits, found.figures)
    return _finish(found, print_pairs, options, gates)


def _pair_names(reading: ReadOptions, chosen: str | None, rejected: str | None) -> PairNames:
    usual = PairNames(prompt=reading.names.prompt)
    return replace(usual, chosen=chosen or usual.chosen, rejected=rejected or usual.rejected)


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """Options of the command, except for gates, generation, runs and rewards."""

    words: tuple[str, ...]
    show_list: bool
    model: str | None
    asked: BenchmarkOptions
    out: Path | None
    report: Path | None
    fail_on: Counted
    config: Path | None
    read_options: ReadOptions
    as_json: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """Datasets or files to evaluate, and the options that apply to them, including those in verl's file."""

    benchmarks: list[Benchmark]
    files: tuple[str, ...]
    """Files to evaluate, or empty if there are datasets."""
    read_options: ReadOptions
    run: RunOptions
    rewards: RewardOptions

    @classmethod
    def of(cls, options: EvalOptions, run: RunOptions, rewards: RewardOptions, engine: str | None) -> Subject:
        """Create a subject from the command line and, if `--config` is given, from that file.

        Raises:
            UsageError: Nothing to evaluate is given.
            InputError: A file that an option names cannot be read.
            OptionsError: The options contradict each other.
        """
        files, assigned = files_and_settings(options.words)
        benchmarks = asked_benchmarks(files, options.asked)
        given = None
        if options.config is not None or assigned:
            given = read_evaluation_config(options.config, assigned)
        run = on_ray(run, engine, given.cluster if given is not None else None)
        if benchmarks:
            return cls(benchmarks, (), options.read_options, run, rewards)
        read_options, rewards = _with_config(given, options.read_options, rewards)
        return cls([], files or _file_of(given), read_options, run, rewards)

    def refuse_without_effect(self) -> None:
        """Reject generation options for files, and scoring options if all files already have scores.

        Raises:
            OptionsError: One of these options is given.
        """
        if self.benchmarks:
            return
        others = NAMES - ({"engine"} if self.run.ray is not None else set())
        refuse_given({*others, "limit", "system"}, "nothing is generated without --model")
        if all(part.scored for part in parts_of([*map(dumps_in, self.files)], self.run.prefix)):
            refuse_given(("out", "workers", "bad_rows", *REWARDS), SCORED.format(file=self.files[0]))


def _evaluate(options: EvalOptions, subject: Subject, generation: dict[str, Any]) -> Evaluation:
    run = subject.run
    reward_options = subject.rewards.read()
    with (
        Scorer(options=reward_options, workers=run.workers, timeout_s=subject.rewards.timeout_s) as scorer,
        StepBar() as bar,
    ):
        return rewardkit.evaluate(
            subject.benchmarks or subject.files,
            model=options.model,
            out=options.out,
            report=options.report,
            scorer=scorer,
            options=replace(subject.read_options, reward_options=reward_options),
            prefix=run.prefix,
            bad_rows=run.bad_rows,
            resume=run.resume,
            restart=run.restart,
            force=run.force,
            cluster=run.ray,
            workers=run.workers,
            split=options.asked.split,
            limit=options.asked.limit,
            system=options.asked.system,
            given=given_to_run(),
            on_unused=refuse_given,
            on_progress=bar,
            on_note=note,
            **generation,
        )


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
    """Return the options merged with those in verl's file. Options on the command line take precedence."""
    if given is None:
        return read_options, rewards
    for line in given.notes:
        note(line)
    named = {name: key for name, key in asdict(read_options.names).items() if key is not None}
    read_options = replace(read_options, names=replace(given.names, **named))
    if given.reward:
        rewards = replace(rewards, files=(*rewards.files, given.reward))
    return read_options, rewards
