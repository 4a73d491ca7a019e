"""`rewardkit train`: passes its arguments to the trainer."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from rewardkit.commands.options.files import hydra_options
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT_OR_0
from rewardkit.errors import MissingDependencyError

if TYPE_CHECKING:
    from rewardkit.trainer.config.root import RunConfig, StageConfig

NEEDED = ("torch", "transformers", "omegaconf", "peft")


def require_trainer() -> None:
    """Check that the trainer's packages are installed, without importing torch.

    Also configure OpenMP threads to sleep instead of spinning while they wait. On a busy machine, a step of
    the demo took 14 s with spinning threads and 2 s with sleeping threads. On an idle machine, there is no
    difference.

    Raises:
        MissingDependencyError: A package is not installed.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"training requires the packages {', '.join(missing)}: pip install 'rewardkit[train]'"
        )


config_option = click.option(
    "--config", metavar="RECIPE", help="YAML file with settings, or a built-in recipe (tiny-cpu)."
)
"""Option of the commands of all stages, before the options that some of them have."""


def _settings_beginning_with(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Return completions for a word: settings, or the values of a setting whose values have names."""
    from rewardkit.trainer.config.explain import explain
    from rewardkit.trainer.config.stages import SCHEMAS, schema_named

    name = context.info_name or ""
    found = explain(None, (), schema_named(name if name in SCHEMAS else "ppo"))
    key, is_value, _rest = begun.partition("=")
    if not is_value:
        return [f"{one.key}=" for one in found if one.key.startswith(begun)]
    values = next((one.allowed.split(", ") for one in found if one.key == key and one.kind == "text"), [])
    return [word for value in values if value and (word := f"{key}={value}").startswith(begun)]


def stage_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that the commands of all stages share, except `--config`."""
    options = (
        click.option(
            "--max-restarts", type=COUNT_OR_0, help="Shorthand for the setting trainer.max_restarts=N."
        ),
        click.option(
            "--explain",
            "explained",
            is_flag=True,
            help="Print every setting with its meaning and the origin of its value, and check the settings "
            "and files without training.",
        ),
        click.option("--json", "as_json", is_flag=True, help="With --explain, print JSON."),
        click.argument(
            "overrides", nargs=-1, metavar="[KEY=VALUE]...", shell_complete=_settings_beginning_with
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command(
    cls=GroupedCommand,
    shown=("config", "config_path", "config_name"),
    epilog="Example: rewardkit train --config tiny-cpu data.train_files=demo/data/train.parquet "
    "data.val_files=demo/data/test.parquet actor_rollout_ref.model.path=demo/model",
)
@config_option
@hydra_options("ppo_trainer")
@stage_options
def command(**given: Any) -> int:
    """Train a language model with PPO, GRPO and related algorithms.

    Pass settings as KEY=VALUE. They have the same names as in verl, such as data.train_files or
    actor_rollout_ref.model.path. Set algorithm.adv_estimator to choose the algorithm, and
    trainer.n_gpus_per_node to choose the number of processes. If a run is interrupted, run the same command
    again to resume from the last checkpoint (see trainer.resume_mode).
    """
    return run_stage("ppo", **given)


def run_stage(
    stage: str,
    config: str | Path | None,
    max_restarts: int | None,
    overrides: tuple[str, ...],
    explained: bool,
    as_json: bool,
) -> int:
    """Train, or show and check the settings if `explained`, and return the exit code."""
    require_trainer()
    config = None if config is None else str(config)
    if as_json and not explained:
        raise click.UsageError("--json needs --explain")
    if max_restarts is not None:
        overrides = (*overrides, f"trainer.max_restarts={max_restarts}")
    if explained:
        show_settings(config, overrides, as_json, stage)
        check_words(config, overrides, stage)
        return dry_run(config, overrides, stage)
    trainer = check_words(config, overrides, stage).trainer
    from rewardkit.trainer.run.main import run

    try:
        code = run(config, overrides, stage)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(how_to_go_on(trainer)) from None
    if not code:
        for line in results_of(Path(trainer.default_local_dir)):
            click.echo(line)
    return code


def check_words(config: str | None, overrides: Sequence[str], stage: str) -> RunConfig:
    """Read the settings before torch is imported, which takes seconds, so that a wrong setting is reported
    early."""
    from rewardkit.trainer.config.load import load_settings
    from rewardkit.trainer.config.stages import schema_named

    settings: RunConfig = load_settings(schema_named(stage), config, overrides)
    return settings


def how_to_go_on(trainer: StageConfig) -> str:
    """Return the advice for a run that was interrupted."""
    from rewardkit.trainer.checkpoint.find import latest

    found = latest(Path(trainer.default_local_dir))
    if found is None:
        return "there is no checkpoint yet, so the same command starts again (see trainer.save_freq)"
    again = "" if trainer.resume_mode == "auto" else " with trainer.resume_mode=auto"
    return f"to resume from {found}, run the same command again{again}"


def results_of(folder: Path) -> Iterator[str]:
    """Yield lines that describe the files that a run has written to its folder, and the next command."""
    from rewardkit.trainer.checkpoint.find import latest

    if (folder / "metrics.html").is_file():
        yield f"page        {folder / 'metrics.html'}"
    if (found := latest(folder)) is not None:
        yield f"checkpoint  {found}"
        yield f"next        rewardkit export {found} model"


def dry_run(config: str | None, overrides: tuple[str, ...], stage: str = "ppo") -> int:
    """Run all checks that training runs before it loads a model, with the same errors."""
    from rewardkit.trainer.run.process import read_and_check, stage_named

    stage_named(stage).rehearse(read_and_check(config, overrides, stage))
    return 0


def show_settings(config: str | None, overrides: tuple[str, ...], as_json: bool, stage: str = "ppo") -> None:
    """Print the resolved config, even if a required setting is missing."""
    from rewardkit.trainer.config.explain import explain
    from rewardkit.trainer.config.stages import schema_named

    settings = explain(config, overrides, schema_named(stage))
    if as_json:
        click.echo(json.dumps([asdict(setting) for setting in settings], indent=2))
        return
    console = Console()
    for setting in settings:
        style = "bold" if setting.origin in ("recipe", "command line") else ""
        value = json.dumps(setting.value, ensure_ascii=False)
        line = Text.assemble((f"{setting.key} = {value}", style), (f"  ({setting.origin})", "dim"))
        console.print(line, soft_wrap=True)
        if setting.meaning:
            indented = fill(setting.meaning, console.width, initial_indent="    ", subsequent_indent="    ")
            console.print(Text(indented), soft_wrap=True)
