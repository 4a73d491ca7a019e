"""Generates responses to prompts in a run that can be resumed after an interruption.

The engines are in `engines/`. `journal.py` stores finished responses, and `generate.py` reads the prompts and
writes the output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from rewardkit.agents.environments.environment import read_spec
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.errors import InputError
from rewardkit.generation.engines import ENGINES, open_engine
from rewardkit.generation.episodes import EPISODE_COLUMNS, with_episodes
from rewardkit.generation.journal import Journal
from rewardkit.generation.types import (
    Completion,
    EngineSettings,
    GenerationEngine,
    GenerationRequest,
    GenerationSettings,
    request_seed,
)
from rewardkit.offline.on_ray import RaySettings
from rewardkit.pictures import with_digests
from rewardkit.rows import plain
from rewardkit.types import Message

COLUMNS = ("responses", "finish_reason", "prompt_tokens", "response_tokens", "log_probs", *EPISODE_COLUMNS)


@dataclass
class GenerationReport:
    """Counts of the responses in a run."""

    responses: int = 0
    prompt_tokens: int = 0
    response_tokens: int = 0
    truncated: int = 0
    """Number of responses cut off at `max_tokens`."""
    failed: int = 0
    """Number of requests that the engine could not answer."""
    first_failure: str | None = None
    resumed: int = 0
    """Number of responses from an interrupted run."""
    finish_reasons: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    """Number of episodes, by the reason why they ended."""

    def add(self, one: Completion) -> None:
        """Count a completion."""
        if one.error is not None:
            self.failed += 1
            self.first_failure = self.first_failure or f"row {one.row}: {one.error}"
            return
        self.responses += 1
        self.prompt_tokens += one.prompt_tokens or 0
        self.response_tokens += one.response_tokens or 0
        self.truncated += one.finish_reason == "length"
        self.finish_reasons[one.finish_reason] = self.finish_reasons.get(one.finish_reason, 0) + 1
        if one.episode is not None:
            self.ended[one.episode.ended] = self.ended.get(one.episode.ended, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return asdict(self)

    def __str__(self) -> str:
        resumed = f", {self.resumed:,} from the interrupted run" if self.resumed else ""
        counts = f"{self.responses:,} responses, {self.response_tokens:,} tokens, {self.truncated:,} cut off"
        return counts + resumed


Told = Callable[[Completion], None]


def answer_prompts(
    prompts: Sequence[Sequence[Message]],
    out: Path,
    engine: EngineSettings,
    settings: GenerationSettings,
    *,
    resume: bool = False,
    restart: bool = False,
    told: Told | None = None,
    cluster: RaySettings | None = None,
    episodes: Sequence[EpisodeRow] | None = None,
) -> tuple[Journal, dict[tuple[int, int], Completion], GenerationReport]:
    """Generate `settings.n` responses to each prompt.

    Return the journal, the completions by (row, sample), and a report. The caller writes the output and then
    removes the journal. An interrupted run can be resumed until the journal is removed.

    Args:
        prompts: Chat messages for each row.
        out: Output file. The journal is written next to it, but the output file itself is not written.
        engine: Engine and its settings.
        settings: Settings for sampling the responses.
        resume: True to continue from the journal of an interrupted run.
        restart: True to replace the journal of an interrupted run.
        told: Callback for each completion. It is called first with the completions from the interrupted run,
            and then with each new completion as soon as it is finished.
        cluster: Ray cluster with an engine in each actor, or None for one engine in this process.
        episodes: Rows of the episodes, one for each prompt, or None if responses are single turns.

    Raises:
        InputError: An interrupted run left a journal, and neither `resume` nor `restart` is given.
        ConfigError: The engine cannot be started.
    """
    about = _about(prompts, engine, settings, episodes)
    found: dict[tuple[int, int], Completion] = {}
    report = GenerationReport()
    with Journal.open(out, about, resume=resume, restart=restart) as journal:

        def done(one: Completion) -> None:
            journal.add(one)
            take(one)

        def take(one: Completion) -> None:
            found[one.row, one.sample] = one
            report.add(one)
            if told is not None:
                told(one)

        requests = [
            GenerationRequest(
                row,
                sample,
                list(messages),
                request_seed(settings.seed, row, sample),
                None if episodes is None else episodes[row],
            )
            for row, messages in enumerate(prompts)
            for sample in range(settings.n)
        ]
        slice_size = ENGINES[engine.name].slice_size
        missing = []
        for some in _slices(requests, slice_size):
            keys = [(one.row, one.sample) for one in some]
            if all(key in journal.found for key in keys):
                for key in keys:
                    take(journal.found[key])
            else:
                missing.append(some)
        report.resumed = report.responses
        if missing and cluster is not None:
            from rewardkit.generation.engines.ray import run_on_ray

            run_on_ray(cluster, engine, settings, missing, done)
        elif missing:
            _run(open_engine(engine, settings), missing, done)
    return journal, found, report


def _run(engine: GenerationEngine, missing: Sequence[Sequence[GenerationRequest]], done: Told) -> None:
    try:
        if all(len(some) == 1 for some in missing):  # the responses do not depend on each other
            engine.run([request for some in missing for request in some], done)
            return
        for some in missing:
            engine.run(some, done)
    finally:
        engine.close()


def _slices(requests: Sequence[GenerationRequest], size: int) -> Iterator[Sequence[GenerationRequest]]:
    for start in range(0, len(requests), size):
        yield requests[start : start + size]


def _about(
    prompts: Sequence[Sequence[Message]],
    engine: EngineSettings,
    settings: GenerationSettings,
    episodes: Sequence[EpisodeRow] | None,
) -> dict[str, Any]:
    """Return all values that affect the responses. Only a run with the same values may resume a journal."""
    digest = hashlib.blake2b(digest_size=16)
    for messages in prompts:
        digest.update(msgspec.json.encode(with_digests(messages), enc_hook=str))
    for row in episodes or ():
        about = (row.agent_name, row.ground_truth, row.data_source, plain(row.extra_info))
        digest.update(msgspec.json.encode(about, enc_hook=str))
    named = settings.episodes.env if settings.episodes is not None else None
    env = read_spec(named) if named else None
    chosen = ("name", "model", "dtype", "tensor_parallel_size", "max_model_len", "max_num_seqs")
    return {
        "prompts": digest.hexdigest(),
        **{name: getattr(engine, name) for name in chosen},
        **msgspec.json.decode(msgspec.json.encode(settings, enc_hook=str)),  # as read from a journal
        **({} if env is None else {"env": msgspec.to_builtins(env, enc_hook=str)}),
    }


def with_responses(
    table: pa.Table, found: dict[tuple[int, int], Completion], settings: GenerationSettings
) -> pa.Table:
    """Return the table with the response columns added, which contain lists of `n` values.

    The response to a failed request is null.

    Raises:
        InputError: The table already has a column with one of the names.
    """
    check_columns(table.schema)
    rows = [[found[row, sample] for sample in range(settings.n)] for row in range(len(table))]
    whole = pa.int64()
    columns: dict[str, tuple[str, pa.DataType]] = {
        "responses": ("text", pa.string()),
        "finish_reason": ("finish_reason", pa.string()),
        "prompt_tokens": ("prompt_tokens", whole),
        "response_tokens": ("response_tokens", whole),
    }
    if settings.log_probs:
        columns["log_probs"] = ("log_probs", pa.list_(pa.float32()))
    if settings.episodes is not None:
        table = with_episodes(table, rows)
    for name, (field_name, kind) in columns.items():
        values = [[getattr(one, field_name) for one in row] for row in rows]
        table = table.append_column(pa.field(name, pa.list_(kind)), pa.array(values, pa.list_(kind)))
    return table


def check_columns(schema: pa.Schema) -> None:
    """Check that the prompts do not have any of the columns that generation adds.

    Raises:
        InputError: One of the columns already exists.
    """
    taken = [name for name in COLUMNS if name in schema.names]
    if taken:
        raise InputError(
            f"the prompt file already has a column '{taken[0]}', which generation writes; remove or rename "
            "the column"
        )
