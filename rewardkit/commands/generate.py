"""`rewardkit generate`: reads a prompt file and writes the same rows with a model's responses.

This module parses the options and prints the results of `rewardkit.generation`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import rewardkit
from rewardkit.checks.checked_scoring import RunOptions
from rewardkit.commands.options.files import files_and_settings, hydra_options, input_options
from rewardkit.commands.options.generation import generation_options
from rewardkit.commands.options.given import REWARDS, refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT, NOT_NEGATIVE
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.printing import err, results_console
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.options.run_options import note, on_ray, print_report, resuming_options
from rewardkit.generation.generate import Generated, OnGenerated
from rewardkit.generation.settings import NAMES, check_settings
from rewardkit.generation.verl_config import read_generation_config
from rewardkit.offline import ReadOptions
from rewardkit.offline.on_ray import RaySettings
from rewardkit.scoring.scorer import Scorer


@click.command(
    cls=GroupedCommand,
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
    key = read_options.names.prompt or values.get("prompt_key")
    with ExitStack() as stack:
        scorer: Scorer | None = None
        if with_scores:
            options = rewards.read()
            scorer = stack.enter_context(Scorer(options=options, timeout_s=rewards.timeout_s))
        else:
            refuse_given(REWARDS, "responses are scored only with --score")
        found = rewardkit.generate(
            file,
            out,
            model=values["model"],
            scorer=scorer,
            options=replace(read_options, names=replace(read_options.names, prompt=key)),
            system=system,
            template=template,
            limit=limit,
            resume=run.resume,
            restart=run.restart,
            force=run.force,
            cluster=run.ray,
            given=given_to_run(),
            on_unused=refuse_given,
            on_progress=stack.enter_context(_progress()),
            on_note=note,
            **{name: value for name, value in values.items() if name in NAMES},
        )
    _print(found, price_in, price_out, as_json)
    return 0 if found.scores is None or found.scores.scored else 1


def _with_options(values: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings in a file, overridden by the options. `--url` also removes the engine set in the
    file."""
    if "url" in given:
        return {name: value for name, value in values.items() if name != "engine"} | given
    model = {"model": _expanded(values["model"])} if "model" in values else {}
    return values | model | given


def _expanded(value: Any) -> str | None:
    return None if value is None else str(Path(str(value)).expanduser())


@contextmanager
def _progress() -> Iterator[OnGenerated]:
    """Show a progress bar with the number of tokens per second, and yield the callback that updates it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    speed = (TextColumn("{task.fields[speed]}"), TimeRemainingColumn())
    with Progress(*columns, *speed, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("generating", speed="")

        def progressed(done: int, total: int, tokens: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            speed = f"{tokens / elapsed:,.0f} tokens/s" if elapsed > 1 else ""
            bar.update(task, completed=done, total=total, speed=speed)

        yield progressed


def _print(found: Generated, price_in: float | None, price_out: float | None, as_json: bool) -> None:
    report = found.report
    cost = None
    if price_in is not None or price_out is not None:
        cost = (report.prompt_tokens * (price_in or 0) + report.response_tokens * (price_out or 0)) / 1e6
    if as_json:
        click.echo(json.dumps({"cost": cost, **found.as_dict()}, indent=2))
        return
    click.echo(str(report) + (f", cost {cost:.4f}" if cost is not None else ""))
    if report.ended:
        ends = sorted(report.ended.items(), key=lambda item: -item[1])
        click.echo("episodes ended: " + ", ".join(f"{count:,} {why}" for why, count in ends))
    if found.scores is not None:
        print_report(found.scores, found.out, results_console())
    else:
        click.echo(f"written: {found.out}; next: rewardkit score {found.out}")
