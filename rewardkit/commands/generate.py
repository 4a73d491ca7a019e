"""`rewardkit generate`: reads a file of prompts and writes the same rows with a model's responses.

Parses, calls `rewardkit.generation` and prints.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rewardkit.checks.first_look import look_at_prompts
from rewardkit.commands.options.files import files_and_settings, hydra_options, input_options
from rewardkit.commands.options.generation import (
    check_settings,
    generation_options,
    refuse_without_effect,
    to_settings,
)
from rewardkit.commands.options.given import REWARDS, refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT, NOT_NEGATIVE
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.printing import err, print_findings, results_console
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.options.scoring import RunOptions, note, on_ray, print_report, resuming_options
from rewardkit.files.publishing import exists_already, sole_writer
from rewardkit.generation.engines import require_engine
from rewardkit.generation.episodes import episode_rows
from rewardkit.generation.files import check_form, read_prompts_table, write_table
from rewardkit.generation.playing import check_episodes
from rewardkit.generation.prompts import messages_of
from rewardkit.generation.run import GenerationReport, check_columns, generate, with_responses
from rewardkit.generation.scoring import ScoringAlong, sources_to_answer
from rewardkit.generation.types import Completion, EpisodeSettings
from rewardkit.generation.verl_config import read_generation_config
from rewardkit.logs.reader import PLAIN
from rewardkit.offline import ReadOptions, Report
from rewardkit.offline.on_ray import RaySettings
from rewardkit.scoring.scorer import Scorer


@click.command(
    cls=GroupedCommand,
    shown=("seed",),
    epilog="Example: rewardkit generate data/gsm8k/test.parquet --model MODEL_FOLDER --out gen.parquet -n 4",
)
@click.argument("words", nargs=-1, metavar="[FILE] [KEY=VALUE]...")
@click.option("--model", help="Model folder, hub ID, or name of the model at --url.")
@click.option("--out", type=OutputFile(), help="Output file (.parquet or .jsonl).")
@click.option(
    "--config", type=click.Path(path_type=Path), help="YAML file in the format of verl's generation.yaml."
)
@hydra_options("generation")
@generation_options
@input_options
@click.option(
    "--score", "with_scores", is_flag=True, help="Also score each response, as soon as it is complete."
)
@click.option("--system", default="", help="System prompt for rows without one.")
@click.option(
    "--template",
    default="",
    help="Template for plain text prompts. {prompt} is replaced with the row's prompt.",
)
@click.option("--limit", type=COUNT, help="Use only the first N rows.")
@click.option(
    "--price-in", type=NOT_NEGATIVE, help="Price per million prompt tokens, to print the total cost."
)
@click.option(
    "--price-out", type=NOT_NEGATIVE, help="Price per million response tokens, to print the total cost."
)
@resuming_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reward_options
def command(
    words: tuple[str, ...],
    out: Path | None,
    config: Path | None,
    price_in: float | None,
    price_out: float | None,
    read_options: ReadOptions,
    with_scores: bool,
    system: str,
    template: str,
    limit: int | None,
    run: RunOptions,
    as_json: bool,
    model: str | None,
    generation: dict[str, Any],
    rewards: RewardOptions,
) -> int:
    """Generate responses to the prompts in FILE.

    Writes the input rows with the columns responses, finish_reason, prompt_tokens and response_tokens, which
    are lists with one item per response. Runs with the same settings give the same responses. KEY=VALUE
    sets a configuration key, such as model.path, as in verl's main_generation.

    With --agent, --tools, --interactions or --env, or if a row has an agent_name, a multi-turn agent runs.
    The agent's last message is the response. Additional columns describe the episode (docs/agents.md).
    """
    files, assigned = files_and_settings(words)
    values, notes = read_generation_config(config, assigned)
    check_settings(values)
    values = _with_options(values, generation | ({"model": model} if model else {}))
    for line in notes:
        note(line)
    if len(files) > 1:
        raise click.UsageError(f"expected exactly one prompt file, found {len(files)}: {', '.join(files)}")
    file = files[0] if files else _expanded(values.get("file"))
    out = out or (Path(_expanded(values["out"]) or "") if values.get("out") else None)
    if file is None or out is None or not values.get("model"):
        raise click.UsageError(
            "FILE, --out and --model are required (or the settings data.path, data.output_path and "
            "model.path)"
        )
    cluster = RaySettings(None, values.get("num_cpus"), values.get("timeline"))
    run = on_ray(run, values.get("engine"), cluster)
    form = PromptForm(read_options.names.prompt or values.get("prompt_key"), system, template, limit)
    with ExitStack() as stack:
        scorer: Scorer | None = None
        if with_scores:
            options = rewards.read()
            scorer = stack.enter_context(Scorer(options=options, timeout_s=rewards.timeout_s))
        else:
            refuse_given(REWARDS, "responses are scored only with --score")
        found = generate_file(file, out, values, form, run, scorer, read_options)
    if found is None:
        return 1
    _print(found, out, price_in, price_out, as_json)
    return 0 if found.scores is None or found.scores.scored else 1


def _with_options(values: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What a file says, changed by the options; an address asks for its own engine."""
    if "url" in given:
        return {name: value for name, value in values.items() if name != "engine"} | given
    model = {"model": _expanded(values["model"])} if "model" in values else {}
    return values | model | given


@dataclass(frozen=True, slots=True)
class PromptForm:
    """How rows become prompts."""

    key: str | None = None
    system: str = ""
    template: str = ""
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """The result of a finished run."""

    report: GenerationReport
    scores: Report | None
    """None where the responses were not scored."""


def generate_file(
    file: str | Path,
    out: Path,
    values: dict[str, Any],
    form: PromptForm,
    run: RunOptions,
    scorer: Scorer | None = None,
    read_options: ReadOptions = PLAIN,
) -> Generated | None:
    """Generate and write `out`, with a progress bar; None, the reason on stderr, where requests failed.

    Args:
        scorer: scores each response from when it ends; None: they are not scored.
    """
    check_form(out)
    if out.exists() and not run.force:
        raise exists_already(out)
    table = read_prompts_table(file, form.limit)
    check_columns(table.schema)
    engine, settings = to_settings(values)
    require_engine(engine.name)
    prompts = messages_of(table, file, prompt_key=form.key, system=form.system, template=form.template)
    rows = episode_rows(table, prompts, read_options.names)
    checked = check_episodes(rows, settings, file)
    refuse_without_effect(engine.name, multi_turn=checked.multi_turn)
    if checked.multi_turn and settings.episodes is None:
        settings = replace(settings, episodes=EpisodeSettings())
    episodes = rows if settings.episodes is not None else None
    for line in checked.notes:
        note(line)
    _look_at(file, form, scorer, read_options)
    along: ScoringAlong | None = None
    given = given_to_run()
    if given:
        given.saw(sources_to_answer(table, read_options))
        given.refuse_unused()
    if scorer is not None:
        along = ScoringAlong(scorer, table, read_options, settings.n)
    with sole_writer(out), _progress() as progress:
        task = progress.add_task("generating", total=len(prompts) * settings.n, speed="")
        tokens = 0

        def told(one: Completion) -> None:
            nonlocal tokens
            if along is not None:
                along.take(one)
            tokens += one.response_tokens or 0
            elapsed = progress.tasks[0].elapsed or 0.0
            speed = f"{tokens / elapsed:,.0f} tokens/s" if elapsed > 1 else ""
            progress.update(task, advance=1, speed=speed)

        journal, found, report = generate(
            prompts,
            out,
            engine,
            settings,
            resume=run.resume,
            restart=run.restart,
            told=told,
            cluster=run.ray,
            episodes=episodes,
        )
    if report.failed:
        note(
            f"{report.failed} of {len(found)} requests failed (first: {report.first_failure}), so {out} is "
            "not written; pass --resume to retry the failed requests"
        )
        return None
    table = with_responses(table, found, settings)
    scores: Report | None = None
    if along is not None:
        table, scores = along.into(table)
    write_table(table, out)
    journal.remove()
    return Generated(report, scores)


def _look_at(file: str | Path, form: PromptForm, scorer: Scorer | None, read_options: ReadOptions) -> None:
    """Tell what is odd about the first rows, before a model is loaded."""
    names = replace(read_options.names, prompt=form.key)
    with ExitStack() as stack:
        used = scorer or stack.enter_context(Scorer(workers=1))
        print_findings(look_at_prompts([file], names, used, data_source=read_options.data_source))


def _expanded(value: Any) -> str | None:
    return None if value is None else str(Path(str(value)).expanduser())


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def _print(
    found: Generated, out: Path, price_in: float | None, price_out: float | None, as_json: bool
) -> None:
    report = found.report
    scores = found.scores
    cost = None
    if price_in is not None or price_out is not None:
        cost = (report.prompt_tokens * (price_in or 0) + report.response_tokens * (price_out or 0)) / 1e6
    if as_json:
        content = {"out": str(out), "cost": cost, **report.as_dict()}
        if scores is not None:
            content["data_sources"] = scores.as_dict()
        click.echo(json.dumps(content, indent=2))
        return
    click.echo(
        f"{report.responses:,} responses, {report.response_tokens:,} tokens, {report.truncated:,} cut off"
        + (f", {report.resumed:,} from the interrupted run" if report.resumed else "")
        + (f", cost {cost:.4f}" if cost is not None else "")
    )
    if report.ended:
        ends = sorted(report.ended.items(), key=lambda item: -item[1])
        click.echo("episodes ended: " + ", ".join(f"{count:,} {why}" for why, count in ends))
    if scores is not None:
        print_report(scores, str(out), results_console())
    else:
        click.echo(f"written: {out}; next: rewardkit score {out}")
