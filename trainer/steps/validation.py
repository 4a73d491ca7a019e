"""Scores responses to held-out prompts, and averages the scores for each data source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import torch

from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.checks.which_reward import other_rewards
from rewardkit.errors import RewardkitError
from rewardkit.evaluation.metrics import group_metrics
from rewardkit.evaluation.overoptimization import group_truths, truth_metrics
from rewardkit.evaluation.reasons import reason_lines
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.batch import PromptRow, ScoredRollout, pad_prompts
from rewardkit.trainer.data import pictures_of
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import summarize
from rewardkit.trainer.models.vision import PictureBook
from rewardkit.trainer.rewards import RewardSource
from rewardkit.trainer.rollout.base import RolloutEngine, Sampling, row_seed
from rewardkit.trainer.steps.dumps import dump, earned, gather_rows, why_zeros
from rewardkit.trainer.steps.episodes import play_rows, reward_by_turn
from rewardkit.trainer.steps.failures import warn_of_failures
from rewardkit.trainer.steps.scoring import PendingScores, wait_for_scores
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.types import Sample, Score

VALIDATION = 1
"""First part of the seed key for validation responses. For training responses, it is 0."""


def validate(run: TrainingRun, step: int) -> dict[str, float]:
    """Return the policy's metrics on the validation prompts. Dump and log responses if configured."""
    config = run.config
    given = config.actor_rollout_ref.rollout.val_kwargs
    drawing = (given.n, given.do_sample, given.temperature, given.top_k, given.top_p)
    scored = respond(
        run.val_rows,
        run.rollout,
        run.rewards,
        run.tokenizer,
        run.world,
        sampling=Sampling(*drawing, log_probs=False, first=True, more=given.sampling_params),
        prompt_length=config.actor_rollout_ref.rollout.prompt_length,
        seed=config.actor_rollout_ref.rollout.seed,
        timeout_s=config.reward.timeout_s,
        agents=run.agents,
        book=run.book,
    )
    dump(run, config.trainer.validation_data_dir, scored, given.n, step)
    run.logger.reasons(why_zeros(scored))
    shown = config.trainer.log_val_generations
    # Each process sends at most as many rows as are shown.
    rows = gather_rows(scored[: shown * given.n], given.n, step, run.world) if shown else []
    run.logger.generations(rows[:shown], step)
    earning = {one.row.data_source for one in scored if one.score.ok and earned(one)}
    everywhere = set().union(*run.world.to_main(earning))
    if run.world.is_main:
        for line in why_nothing(scored, everywhere):
            run.logger.warn(line)
    warn_of_failures(run, scored, f"validation at step {step}")
    metrics = validation_metrics(scored, given.n, run.world)
    if run.scorers_without_verdict:
        found = truths(scored, given.n, run.world, run.scorers_without_verdict)
        run.alarms.truths.groups = {source: group_truths(prompts) for source, prompts in found.items()}
        for source, prompts in found.items():
            metrics |= truth_metrics(source, prompts)
    return metrics


def truths(
    scored: Sequence[ScoredRollout], n: int, world: World, training: Collection[str]
) -> dict[str, list[list[float]]]:
    """Return values of the responses to each prompt by data source, to compare them with the training scores.

    A value is 1 or 0 if the reward decides correctness, otherwise the score. Data sources are left out if
    their reward does not decide correctness and is used in training. Only the main process gets values.

    Args:
        scored: This process's responses. The n responses to one prompt are adjacent.
        training: Names and versions of the rewards that score training responses without a verdict.
    """
    found: dict[str, list[list[float]]] = {}
    for source, groups in _by_source(scored, n, world).items():
        judged = [
            [float(one.correct) for one in group if one.ok and one.correct is not None] for group in groups
        ]
        if any(judged):
            found[source] = judged
        elif all(one.scorer not in training for group in groups for one in group):
            found[source] = [[one.score for one in group if one.ok] for group in groups]
    return found


def _by_source(scored: Sequence[ScoredRollout], n: int, world: World) -> dict[str, list[list[Score]]]:
    """Return the scores of each prompt's n responses by data source, in the main process."""
    mine = [scored[i : i + n] for i in range(0, len(scored), n)]
    shared = [(group[0].row.data_source, [one.score for one in group]) for group in mine]
    groups: dict[str, list[list[Score]]] = defaultdict(list)
    for source, scores in (group for share in world.to_main(shared) for group in share):
        groups[source].append(scores)
    return dict(sorted(groups.items()))


def why_nothing(scored: Sequence[ScoredRollout], earning: Collection[str] = ()) -> list[str]:
    """Return lines of explanation for each data source without a single right response.

    The lines name the three most frequent reasons, and other rewards that score some of the responses as
    right. The result is empty for a data source without scored responses.

    Args:
        scored: This process's responses.
        earning: Data sources that have a right response in any process.
    """
    by_source: dict[str, list[ScoredRollout]] = defaultdict(list)
    for one in scored:
        if one.score.ok:
            by_source[one.row.data_source].append(one)
    lines = []
    for source, found in sorted(by_source.items()):
        if source in earning or any(map(earned, found)):
            continue
        said = "; ".join(reason_lines((one.score.detail for one in found), len(found)))
        lines.append(f"validation of {source}: no response is right. Most frequent reasons: {said}")
        lines += _other_rewards(found[:_LOOKED_AT])
    return lines


_LOOKED_AT = 32
"""Maximum number of responses that are scored with other rewards."""


def _other_rewards(found: Sequence[ScoredRollout]) -> list[str]:
    samples = [Sample(one.row.data_source, one.text, one.row.ground_truth, one.row.prompt) for one in found]
    try:
        with Scorer(workers=1) as scorer:
            offered = other_rewards(samples, scorer)
    # The data source is scored by a server, or by a file that this process has not loaded.
    except RewardkitError:
        return []
    return [f"of these responses, the reward {', '.join(offered)}"] if offered else []


def respond(
    rows: Sequence[PromptRow],
    rollout: RolloutEngine,
    rewards: RewardSource,
    tokenizer: Any,
    world: World,
    *,
    sampling: Sampling,
    prompt_length: int,
    seed: int,
    timeout_s: float = 600.0,
    agents: EpisodeSetup | None = None,
    book: PictureBook | None = None,
) -> list[ScoredRollout]:
    """Return `sampling.n` scored responses to each of this process's rows.

    Every validation uses the same seeds, so that only the weights differ.
    """
    places = world.shard(range(len(rows)))
    prompts = [rows[i] for i in places]
    mine = [row for row in prompts for _ in range(sampling.n)]
    ids, mask = pad_prompts(prompts, prompt_length, tokenizer.pad_token_id)
    seeds = [row_seed(VALIDATION, seed, i, j) for i in places for j in range(sampling.n)]
    pending = PendingScores(rewards, tokenizer, mine, timeout_s)
    if agents is not None:
        play_rows(rollout, agents, mine, sampling, seeds, pending.take_episode)
        return wait_for_scores([pending], world)
    # Call this even without prompts, because processes may share an engine.
    shown = pictures_of(book, prompts)
    pending.take_failed(rollout.generate(ids, mask, sampling, seeds, pending.take, shown).failed)
    return wait_for_scores([pending], world)


def validation_metrics(scored: Sequence[ScoredRollout], n: int, world: World) -> dict[str, float]:
    """Average the scores from all processes for each data source.

    See `rewardkit.evaluation.metrics.group_metrics`. Only the main process collects the scores, which contain
    texts, and returns their metrics.

    Args:
        scored: This process's responses. The n responses to one prompt are adjacent.

    Returns:
        `val-core/<data_source>/acc/mean@n`, the share of correct responses, and for n > 1 `acc/pass@n` and
        `acc/maj@n` (for a reward without correctness, `reward/mean@n` and `reward/best@n`). All other metrics
        are under `val-aux/<data_source>/`, including `failed`, the number of responses that could not be
        scored. No mean includes these responses. For episodes, there is `val-aux/num_turns/...` and, if turns
        have rewards, `val-aux/first_turn_reward/mean` and `val-aux/last_turn_reward/mean`.
    """
    metrics: dict[str, float] = {}
    for source, found in _by_source(scored, n, world).items():
        figures = group_metrics(found)
        core = "acc" if f"acc/mean@{n}" in figures else "reward"
        for name, value in figures.items():
            kind = "core" if name.startswith(f"{core}/") and name.endswith(f"@{n}") else "aux"
            metrics[f"val-{kind}/{source}/{name}"] = value
        metrics[f"val-aux/{source}/failed"] = float(sum(not s.ok for scores in found for s in scores))
    turns = [float(one.episode["num_turns"]) for one in scored if one.episode is not None]
    metrics |= summarize({"val-aux/num_turns": torch.tensor(turns)}, world)
    rewards = [one.episode["turn_rewards"] for one in scored if one.episode is not None and one.score.ok]
    return metrics | reward_by_turn("val-aux", rewards, world)
