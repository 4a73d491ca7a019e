"""Implements `rewardkit.generate`, which writes a model's responses to prompts, optionally with scores.

This module reads and checks the prompts and writes the output. `answer_prompts.py` runs the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rewardkit.checks.first_look import look_at_prompts
from rewardkit.composition.given import GivenRewards
from rewardkit.errors import InputError, OptionsError, RequestsFailedError
from rewardkit.files.publishing import exists_already, sole_writer
from rewardkit.generation.answer_prompts import (
    GenerationReport,
    answer_prompts,
    check_columns,
    with_responses,
)
from rewardkit.generation.engines import ENGINES, require_engine
from rewardkit.generation.episodes import episode_rows
from rewardkit.generation.files import check_form, read_prompts_table, write_table
from rewardkit.generation.playing import check_episodes
from rewardkit.generation.prompts import messages_of
from rewardkit.generation.scoring_along import ScoringAlong, sources_to_answer
from rewardkit.generation.settings import checked, to_settings
from rewardkit.generation.types import Completion, EngineSettings, EpisodeSettings
from rewardkit.identity.reward_identity import Identity, identities, known_sources
from rewardkit.logs.reader import PLAIN
from rewardkit.offline import ReadOptions, Report
from rewardkit.offline.frame import as_file
from rewardkit.offline.on_ray import RaySettings
from rewardkit.offline.origins import generation_of
from rewardkit.offline.receipt import Receipt
from rewardkit.pictures import pictures_in
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.models.vision import why_no_pictures
from rewardkit.types import Message

OnUnused = Callable[[Iterable[str], str], None]
"""Callback that receives the names of settings without effect, and the reason."""
OnGenerated = Callable[[int, int, int], None]
"""Progress callback that receives the number of finished responses, the total number of responses, and the
number of tokens generated so far."""


@dataclass(frozen=True, slots=True)
class Generated:
    """Result of a finished run."""

    out: str
    report: GenerationReport
    scores: Report | None
    """Totals of the scores by data source, or None if the responses were not scored."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data."""
        scores = {} if self.scores is None else {"data_sources": self.scores.as_dict()}
        return {"out": self.out, **self.report.as_dict(), **scores}

    def __str__(self) -> str:
        return f"{self.report}\nwritten: {self.out}"


def generate(
    prompts: Any,
    out: str | Path,
    *,
    model: str,
    scorer: Scorer | None = None,
    options: ReadOptions = PLAIN,
    system: str = "",
    template: str = "",
    limit: int | None = None,
    resume: bool = False,
    restart: bool = False,
    force: bool = False,
    cluster: RaySettings | None = None,
    given: GivenRewards | None = None,
    on_unused: OnUnused | None = None,
    on_progress: OnGenerated = lambda done, total, tokens: None,
    on_note: Callable[[str], None] = lambda line: None,
    **settings: Any,
) -> Generated:
    """Write the rows of the prompts together with a model's responses, and return the totals.

    Args:
        prompts: File in any known format, folder, glob pattern, `pandas.DataFrame` or `pyarrow.Table`.
        out: Output file with the suffix .parquet or .jsonl.
        model: Model folder, hub ID, or name of the model at `url`.
        scorer: Scorer that scores each response as soon as it is finished, or None for no scores.
        options: Settings for reading the rows (see `rewardkit.offline.ReadOptions`).
        system: System prompt for rows without a system prompt.
        template: Template for prompts that are plain text, in which `{prompt}` stands for the row's prompt.
        limit: Maximum number of rows to use.
        resume: True to continue an interrupted run.
        restart: True to discard the partial output of an interrupted run.
        force: True to replace an existing output file.
        cluster: Ray cluster that generates the responses, or None for this machine.
        given: Rewards and options that the user specified for these rows, or None. Each of them must be used.
        on_unused: Callback that receives the names of settings without effect in this run, and the reason. It
            must raise an error if the user set one of them. By default, all names in `settings` are checked.
        on_progress: Progress callback (see `OnGenerated`).
        on_note: Callback that receives notes about the prompts, one line at a time.
        settings: Fields of `EngineSettings`, `GenerationSettings` and `EpisodeSettings` (in
            `rewardkit.generation.types`), such as `n=4`, `temperature=0.7`, `url=...`, and the name of the
            engine as `engine`.

    Raises:
        InputError: The prompts cannot be used, the output exists or cannot be written, or an interrupted run
            is neither resumed nor restarted.
        OptionsError: A setting is unknown, or a value is out of bounds.
        ConfigError: The engine cannot be started.
        RequestsFailedError: Some requests failed, and the output was not written. `resume` retries them.
    """
    out = Path(out)
    values = {**checked(settings), "model": model}
    unused = on_unused or partial(_refuse, values)
    run = _PromptsRun(scorer, resume, restart, force, cluster, given, unused, on_progress, on_note)
    if isinstance(prompts, str | Path):
        return _generate(_Prompts(prompts, options, system, template, limit), out, values, run)
    with as_file(prompts, on_note) as (path, noted):
        asked = _Prompts(path, options, system, template, limit)
        return _generate(asked, out, values, replace(run, on_note=noted))


def _refuse(given: Collection[str], names: Iterable[str], why: str) -> None:
    for name in sorted(names):
        if name in given:
            raise OptionsError(f"{name} has no effect: {why}")


@dataclass(frozen=True, slots=True)
class _Prompts:
    """File with prompts, and the settings for converting its rows to messages."""

    file: str | Path
    options: ReadOptions
    system: str
    template: str
    limit: int | None


@dataclass(frozen=True, slots=True)
class _PromptsRun:
    scorer: Scorer | None
    resume: bool
    restart: bool
    force: bool
    cluster: RaySettings | None
    given: GivenRewards | None
    on_unused: OnUnused
    on_progress: OnGenerated
    on_note: Callable[[str], None]


def _generate(asked: _Prompts, out: Path, values: dict[str, Any], run: _PromptsRun) -> Generated:
    check_form(out)
    if out.exists() and not run.force:
        raise exists_already(out)
    table = read_prompts_table(asked.file, asked.limit)
    check_columns(table.schema)
    engine, settings = to_settings(values)
    require_engine(engine.name)
    key = asked.options.names.prompt
    prompts = messages_of(table, asked.file, prompt_key=key, system=asked.system, template=asked.template)
    rows = episode_rows(table, prompts, asked.options.names)
    resolved = check_episodes(rows, settings, asked.file)
    _refuse_without_effect(engine.name, run.on_unused, multi_turn=resolved.multi_turn)
    if resolved.multi_turn and settings.episodes is None:
        settings = replace(settings, episodes=EpisodeSettings())
    _check_pictures(asked.file, prompts, engine, multi_turn=settings.episodes is not None)
    for line in resolved.notes:
        run.on_note(line)
    _look_at(asked, run)
    if run.given:
        run.given.saw(sources_to_answer(table, asked.options))
        run.given.refuse_unused()
    along: ScoringAlong | None = None
    if run.scorer is not None:
        along = ScoringAlong(run.scorer, table, asked.options, settings.n)
    with sole_writer(out):
        journal, found, report = answer_prompts(
            prompts,
            out,
            engine,
            settings,
            resume=run.resume,
            restart=run.restart,
            told=_teller(along, len(prompts) * settings.n, run.on_progress),
            cluster=run.cluster,
            episodes=rows if settings.episodes is not None else None,
        )
    if report.failed:
        raise RequestsFailedError(
            f"{report.failed} of {len(found)} requests failed (first: {report.first_failure}), so {out} is "
            "not written; pass --resume to retry the failed requests"
        )
    table = with_responses(table, found, settings)
    scores: Report | None = None
    rewards: dict[str, Identity] = {}
    if along is not None and run.scorer is not None:
        table, scores = along.into(table)
        rewards = identities(run.scorer, known_sources(scores.sources, run.scorer))
    sampling = {name: getattr(settings, name) for name in _RECORDED}
    generation = generation_of(engine.model, asked.system, sampling)
    write_table(table, out, Receipt(rewards, generated=[generation]))
    journal.remove()
    return Generated(str(out), report, scores)


_RECORDED = ("temperature", "top_p", "top_k", "max_tokens")
"""Settings of sampling that the receipt of the output contains."""
MULTI_TURN_ONLY = (
    "calls",
    "max_assistant_turns",
    "max_user_turns",
    "max_parallel_calls",
    "max_tool_response_length",
    "tool_seconds",
)
"""Settings that have no effect if every row is answered in a single turn."""


def _refuse_without_effect(engine: str, on_unused: OnUnused, *, multi_turn: bool) -> None:
    """Call `on_unused` with the settings that the engine or the rows in a run do not use."""
    others = {name for one in ENGINES.shipped for name in ENGINES[one].settings} - set(
        ENGINES[engine].settings
    )
    on_unused(others, f"the engine {engine} does not use it")
    if not multi_turn:
        on_unused(MULTI_TURN_ONLY, "no row has a multi-turn agent, and nothing else asks for one")


def _check_pictures(
    file: str | Path, prompts: Sequence[Sequence[Message]], engine: EngineSettings, *, multi_turn: bool
) -> None:
    """Refuse prompts with pictures if the agent, the engine or the model cannot be given pictures."""
    row = next((row for row, prompt in enumerate(prompts) if pictures_in(prompt)), None)
    if row is None:
        return
    why = None
    if multi_turn:
        why = "agents accept only text"
    elif not ENGINES[engine.name].vision:
        why = f"the engine {engine.name} accepts only text"
    elif ENGINES[engine.name].loads_model:
        why = why_no_pictures(engine.model)
    if why is not None:
        raise InputError(f"{file}, row {row}: the prompt has pictures, but {why}")


def _look_at(asked: _Prompts, run: _PromptsRun) -> None:
    """Report problems in the first rows as notes before a model is loaded."""
    with ExitStack() as stack:
        used = run.scorer or stack.enter_context(Scorer(workers=1))
        source = asked.options.data_source
        for finding in look_at_prompts([asked.file], asked.options.names, used, data_source=source):
            run.on_note(f"warning: {finding.line()}")


def _teller(along: ScoringAlong | None, total: int, on_progress: OnGenerated) -> Callable[[Completion], None]:
    done = tokens = 0

    def told(one: Completion) -> None:
        nonlocal done, tokens
        if along is not None:
            along.take(one)
        done += 1
        tokens += one.response_tokens or 0
        on_progress(done, total, tokens)

    return told
