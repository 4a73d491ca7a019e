"""Writes each step's responses and their scores to a file that people can read with `rewardkit view`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.evaluation.reasons import earns, reason_lines
from rewardkit.files.publishing import published
from rewardkit.messages import message_text
from rewardkit.trainer.batch import PromptRow, ScoredRollout
from rewardkit.trainer.distributed import World
from rewardkit.trainer.steps.failures import alarm_texts, warn_of_failures
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.types import Score

FORMATS = ("jsonl", "parquet")


def record(run: TrainingRun, scored: Sequence[ScoredRollout], step: int) -> dict[str, float]:
    """Write a training step's responses to a file if configured, and log a few of this process's responses.

    Returns:
        `reward/part/<name>`, the mean of each score component over the responses in all processes.
    """
    config = run.config
    dump(run, config.trainer.rollout_data_dir, scored, config.actor_rollout_ref.rollout.n, step)
    failed = warn_of_failures(run, scored, f"step {step}")
    missed = why_zeros(scored)
    run.alarms.texts = alarm_texts(failed, missed, config.reward)
    if run.world.is_main and has_samples(step):
        run.logger.reasons([*failed, *missed])
        chosen = few([one.score.score if one.score.ok else None for one in scored])
        run.logger.responses(
            [_with_pictures(_plain(scored[i], step), scored[i].row, run) for i in chosen], step
        )
    return part_means([one.score for one in scored], run.world)


def why_zeros(scored: Sequence[ScoredRollout]) -> list[str]:
    """Return lines with the most frequent reasons why scored responses are not right."""
    zeros = [one.score.detail for one in scored if one.score.ok and not earned(one)]
    return reason_lines(zeros, len(scored))


def earned(one: ScoredRollout) -> bool:
    """Return True if a response is right or, if correctness is not decided, has a score above 0."""
    return earns(one.score.correct, one.score.score)


def part_means(scores: Sequence[Score], world: World) -> dict[str, float]:
    """Return `reward/part/<name>`, the means over all processes' scored responses that have this part."""
    mine: dict[str, tuple[float, int]] = {}
    for score in scores:
        for name, value in score.parts.items() if score.ok else ():
            total, n = mine.get(name, (0.0, 0))
            mine[name] = (total + value, n + 1)
    sums: dict[str, tuple[float, int]] = {}
    for of_one in world.gather(mine):
        for name, (of_its, count) in of_one.items():
            total, n = sums.get(name, (0.0, 0))
            sums[name] = (total + of_its, n + count)
    return {f"reward/part/{name}": total / n for name, (total, n) in sorted(sums.items())}


def dump(run: TrainingRun, folder: str | None, scored: Sequence[ScoredRollout], n: int, step: int) -> None:
    """Write the responses from all processes to `folder` if it is not None. Warn if writing fails."""
    if folder is None:
        return
    rows = gather_rows(scored, n, step, run.world)
    if not run.world.is_main:
        return
    try:
        write_dump(Path(folder), step, rows, run.config.trainer.data_dir_format)
    except (OSError, ValueError) as error:
        run.logger.warn(f"the dump of step {step} was not written: {error}")


def gather_rows(scored: Sequence[ScoredRollout], n: int, step: int, world: World) -> list[dict[str, Any]]:
    """Return the responses from all processes as plain rows in the order of the prompts.

    Only the main process gets rows. A row contains `step` and the columns that `rewardkit score` reads and
    writes. A row for an episode also contains the turns and the reason why the episode ended.

    Args:
        scored: This process's responses. The n responses to one prompt are adjacent.
    """
    mine = [_plain(one, step) for one in scored]
    groups = [[rows[i : i + n] for i in range(0, len(rows), n)] for rows in world.to_main(mine)]
    # Prompts were assigned to the processes in turn, one at a time, and are collected in the same order.
    in_order: Iterator[list[dict[str, Any]]] = chain.from_iterable(zip_longest(*groups, fillvalue=[]))
    return list(chain.from_iterable(in_order))


def write_dump(folder: Path, step: int, rows: Sequence[dict[str, Any]], file_format: str) -> None:
    """Write the rows to `folder/<step>.jsonl` or `folder/<step>.parquet` atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    with published(folder / f"{step}.{file_format}") as file:
        if file_format == "parquet":
            pq.write_table(_table(rows), file, compression="zstd")
        else:
            file.writelines(msgspec.json.encode(row, enc_hook=str) + b"\n" for row in rows)


def _plain(scored: ScoredRollout, step: int) -> dict[str, Any]:
    row = scored.row
    turns = [{"role": "user", "content": row.prompt}] if isinstance(row.prompt, str) else row.prompt
    prompt = [{"role": turn["role"], "content": message_text(turn)} for turn in turns]
    source = {"data_source": row.data_source, "prompt": prompt, "ground_truth": row.ground_truth}
    episode = scored.episode or {}
    return {"step": step, **source, "response": scored.text, **scored.score.as_dict(), **episode}


def _with_pictures(plain: dict[str, Any], row: PromptRow, run: TrainingRun) -> dict[str, Any]:
    """Return a plain row with the pictures in its prompt."""
    if run.book is None or not row.pictures or isinstance(row.prompt, str):
        return plain
    pictures = iter([run.book[i] for i in row.pictures])

    def shown(part: Any) -> Any:
        return {**part, "image": next(pictures)} if part.get("type") == "image" else part

    contents = [turn["content"] for turn in row.prompt]
    parts = [one if isinstance(one, str) else list(map(shown, one)) for one in contents]
    prompt = [{"role": turn["role"], "content": one} for turn, one in zip(row.prompt, parts, strict=True)]
    return {**plain, "prompt": prompt}


def _table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Convert the rows to a table.

    Each row has the score parts of all data sources, with null for missing parts.
    """
    parts = sorted({part for row in rows for part in row["parts"]})
    full = [{**row, "parts": {part: row["parts"].get(part) for part in parts} or None} for row in rows]
    return pa.Table.from_pylist(full)


def has_samples(step: int) -> bool:
    """Return True if a step's responses are logged.

    Responses are logged for every step up to 100, every tenth step up to 1,000, and so on.
    """
    return step % 10 ** max(0, len(str(step - 1)) - 2) == 0 if step > 0 else True


def few(scores: Iterable[float | None], n: int = 4) -> list[int]:
    """Return the indices of up to `n` scores to show, with missing scores first and the best score last."""
    order = [i for i, _ in sorted(enumerate(scores), key=lambda one: (one[1] is not None, one[1] or 0.0))]
    if len(order) <= n:
        return order
    return [order[i * (len(order) - 1) // (n - 1)] for i in range(n)]
