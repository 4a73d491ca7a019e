"""Generates a batch of responses to prompts, and syncs the actor's weights to the engine.

This module also generates the greedy responses for ReMax. DAPO's dynamic sampling is in `dynamic.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rewardkit.trainer.agents import episode_row
from rewardkit.trainer.batch import Batch, PromptRow, join, make_batch, pad_prompts
from rewardkit.trainer.config.workers import RolloutConfig
from rewardkit.trainer.data import pictures_of
from rewardkit.trainer.feed import Group
from rewardkit.trainer.models.load import DTYPES
from rewardkit.trainer.models.lora import adapter_tensors
from rewardkit.trainer.models.routing import ROUTES, align_routes
from rewardkit.trainer.models.sharding import full_tensors
from rewardkit.trainer.models.vision import PICTURES
from rewardkit.trainer.rollout.base import Rollout, Sampling, as_rollout, row_seed
from rewardkit.trainer.rollout.conversing import single_turn
from rewardkit.trainer.rollout.journal import JournaledEngine, TurnJournal
from rewardkit.trainer.steps.episodes import Played, as_batch, play_rows, player
from rewardkit.trainer.steps.parity import begin_probe
from rewardkit.trainer.steps.scoring import PendingScores, collect_scores, start_scoring
from rewardkit.trainer.training_run import TrainingRun

TRAINING = 0
"""First part of the seed key for training responses. For validation responses, it is 1."""
FIRST_PROOFS = 2
"""Number of syncs that are verified at the start. The first sync is into a new engine, and the second sync is
into an engine that has been released."""
PROOF_EVERY = 20
"""Number of syncs after which a sync is verified again. Verification doubles the time for a sync."""


DrawnGroup = tuple[Batch, PendingScores]
"""Responses to one prompt, with their pending scores."""


def generate(
    run: TrainingRun, prompts: Sequence[PromptRow], step: int, first: int = 0
) -> tuple[Batch, PendingScores]:
    """Return this process's batch, with `rollout.n` responses to each of its prompts, and the pending scores.

    The batch contains `seeds` and `groups`. The latter numbers the step's prompts, starting at `first`.
    """
    rollout = run.config.actor_rollout_ref.rollout
    device = run.world.device
    numbered = run.world.shard(list(enumerate(prompts, first)))
    ids, mask = pad_prompts([row for _, row in numbered], rollout.prompt_length, run.tokenizer.pad_token_id)
    seeds = [row_seed(TRAINING, rollout.seed, step, i, j) for i, _ in numbered for j in range(rollout.n)]
    rows = [row for _, row in numbered for _ in range(rollout.n)]
    pending = start_scoring(run, rows)
    if run.agents is not None:
        batch = play(run, rows, training_sampling(rollout), seeds, pending)
        _number(batch, [i for i, _ in numbered], seeds, rollout.n)
        return batch, pending
    prompt_ids = ids.to(device)
    prompt_mask = mask.to(device)
    shown = pictures_of(run.book, [row for _, row in numbered])
    sampling = training_sampling(rollout)
    drawn = run.rollout.generate(prompt_ids, prompt_mask, sampling, seeds, pending.take, shown)
    pending.take_failed(drawn.failed)
    batch = _as_batch(run, rows, prompt_ids, prompt_mask, drawn, rollout.n)
    _number(batch, [i for i, _ in numbered], seeds, rollout.n)
    return batch, pending


def next_batch(run: TrainingRun, step: int) -> tuple[Batch, list[PendingScores]]:
    """Return this process's batch for a step, generated now or in the background, and the pending scores.

    The batch ends with the groups that dynamic sampling has rejected for the step (`feed.py`).
    """
    if not run.feed.background:
        batch, pending = generate(run, run.feed.rows(), step)
        return batch, [pending]
    batches, pendings = zip(*run.feed.take(step), *run.feed.take_rejected(), strict=True)
    whole = join(batches)
    # A process's k-th group gets the number of the k-th prompt that `World.shard` assigns to the process, so
    # that rejected groups have the highest numbers.
    places = torch.arange(len(batches), device=run.world.device) * run.world.size + run.world.rank
    whole["groups"] = places.repeat_interleave(run.config.actor_rollout_ref.rollout.n)
    return whole, list(pendings)


def draw(run: TrainingRun, groups: Sequence[Group[DrawnGroup]], journal: TurnJournal | None) -> None:
    """Generate groups for a feed, which may call this function from several threads at once."""
    rollout, n = run.config.actor_rollout_ref.rollout, run.config.actor_rollout_ref.rollout.n
    engine: Any = run.rollout
    if journal is not None:
        engine = JournaledEngine(engine, journal, rollout.response_length, run.tokenizer.pad_token_id)
    rows = [group.row for group in groups for _ in range(n)]
    seeds = [seed for group in groups for seed in _seeds(run, group.ordinal)]
    pending = [start_scoring(run, [group.row] * n) for group in groups]
    results: list[dict[int, Any]] = [{} for _ in groups]
    unfinished = set(range(len(groups)))

    def end(k: int) -> None:
        found = [results[k][j] for j in range(n)]
        batch = _group_batch(run, groups[k].row, found)
        batch["seeds"] = torch.tensor(seeds[k * n : (k + 1) * n], device=run.world.device)
        groups[k].tokens = int(batch["response_mask"].sum())
        groups[k].drawn.set_result((batch, pending[k]))

    def ended(place: int, result: Any) -> None:
        k, j = divmod(place, n)
        results[k][j] = result
        if run.agents is None and result.finish_reason == "aborted":
            pending[k].take_failed({j: result.text})
        elif run.agents is None:
            pending[k].take({j: list(result.token_ids)})
        else:
            pending[k].take_episode(j, result)
        if len(results[k]) == n and len(unfinished) > 1:
            unfinished.remove(k)
            end(k)

    sampling = training_sampling(rollout)
    if run.agents is None:
        pictures = pictures_of(run.book, rows)
        prompts = list(zip((row.token_ids for row in rows), seeds, pictures, strict=True))
        engine.converse(single_turn(rollout.response_length), prompts, sampling, ended)
    else:
        episodes = [(episode_row(row), seed) for row, seed in zip(rows, seeds, strict=True)]
        engine.converse(player(run.agents), episodes, sampling, ended)
    # The costs are known only for all groups together, so they are added to the group that ended last.
    (last,) = unfinished
    pending[last].costs = engine.turn_costs
    end(last)


def _seeds(run: TrainingRun, ordinal: int) -> list[int]:
    rollout = run.config.actor_rollout_ref.rollout
    before, i = divmod(ordinal, run.config.data.train_batch_size)
    return [row_seed(TRAINING, rollout.seed, before + 1, i, j) for j in range(rollout.n)]


def _group_batch(run: TrainingRun, row: PromptRow, found: Sequence[Any]) -> Batch:
    """Convert the replies or episodes of one group to rows."""
    rollout, device = run.config.actor_rollout_ref.rollout, run.world.device
    pad_id, n = run.tokenizer.pad_token_id, len(found)
    if run.agents is not None:
        return _episodes_batch(run, [row] * n, found, training_sampling(rollout))
    ids, mask = pad_prompts([row], rollout.prompt_length, pad_id)
    drawn = as_rollout(found, rollout.response_length, pad_id, device, log_probs=rollout.calculate_log_probs)
    return _as_batch(run, [row] * n, ids.to(device), mask.to(device), drawn, n)


def play(
    run: TrainingRun,
    rows: Sequence[PromptRow],
    sampling: Sampling,
    seeds: Sequence[int],
    pending: PendingScores,
) -> Batch:
    """Play an episode for each row and return the episodes as a batch. Score each episode when it ends."""
    assert run.agents is not None
    played, pending.costs = play_rows(run.rollout, run.agents, rows, sampling, seeds, pending.take_episode)
    return _episodes_batch(run, rows, played, sampling)


def _episodes_batch(
    run: TrainingRun, rows: Sequence[PromptRow], played: Sequence[Played], sampling: Sampling
) -> Batch:
    rollout = run.config.actor_rollout_ref.rollout
    batch = as_batch(
        rows,
        played,
        prompt_length=rollout.prompt_length,
        response_length=rollout.response_length,
        pad_id=run.tokenizer.pad_token_id,
        device=run.world.device,
    )
    if not sampling.log_probs:
        del batch.tensors["rollout_log_probs"]
    return batch


def _number(batch: Batch, groups: Sequence[int], seeds: Sequence[int], n: int) -> None:
    device = batch["responses"].device
    batch["groups"] = torch.tensor(groups, device=device).repeat_interleave(n)
    batch["seeds"] = torch.tensor(seeds, device=device)


def training_sampling(rollout: RolloutConfig) -> Sampling:
    """Return the sampling settings for training."""
    return Sampling(
        rollout.n,
        rollout.do_sample,
        rollout.temperature,
        rollout.top_k,
        rollout.top_p,
        rollout.calculate_log_probs,
        more=rollout.sampling_params,
    )


@dataclass(frozen=True)
class PolicyWeights:
    """Actor's weights, gathered one tensor at a time. All processes must iterate together."""

    model: nn.Module
    dtype: torch.dtype
    as_nan: bool = False
    """True to yield NaN instead of all numbers."""
    adapter: bool = False
    """True to yield only the adapter's tensors, named as in an adapter file."""

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        if self.adapter:
            yield from ((name, tensor.to(self.dtype)) for name, tensor in adapter_tensors(self.model))
            return
        for name, tensor in full_tensors(self.model, self.dtype):
            yield name, torch.full_like(tensor, torch.nan) if self.as_nan else tensor


def publish(run: TrainingRun, step: int) -> None:
    """Send a step's weights to the engine if they are due, and start generating responses with them."""
    run.feed.settle()
    if step % run.config.trainer.weight_sync_steps == 0 or step == run.total_steps:
        sync_weights(run, step)
    begin(run, step)


def begin(run: TrainingRun, step: int) -> None:
    """Start generating responses after a step, with the weights that the engine has received."""
    if step < run.total_steps and run.synced == step:
        begin_probe(run)
    run.feed.begin(step, partial(draw, run), run.synced)


def sync_weights(run: TrainingRun, step: int = 0) -> None:
    """Send the actor's weights to the rollout engine, one tensor at a time, in the engine's dtype.

    Some syncs are verified if no responses are being generated. In a verified sync, all weights are first set
    to NaN. If the sync then misses a tensor, or if a kernel keeps an old copy, all log-probabilities become
    NaN, and the next step's parity check stops the run.
    """
    rollout = run.config.actor_rollout_ref.rollout
    dtype = DTYPES[rollout.dtype]
    adapter = rollout.name == "vllm_server" and rollout.lora_sync == "adapter"
    # Each sync loads a new adapter, which cannot contain parts of an older adapter.
    due = not adapter and (run.syncs < FIRST_PROOFS or run.syncs % PROOF_EVERY == 0)
    if due and not any(run.world.gather(run.feed.in_flight)):
        run.rollout.sync_weights(PolicyWeights(run.actor.model, dtype, as_nan=True))
    run.rollout.sync_weights(PolicyWeights(run.actor.model, dtype, adapter=adapter), step)
    run.syncs += 1
    run.synced = step


def _as_batch(
    run: TrainingRun, rows: Sequence[PromptRow], ids: Tensor, mask: Tensor, drawn: Rollout, n: int
) -> Batch:
    batch = make_batch(
        rows,
        ids.repeat_interleave(n, dim=0),
        mask.repeat_interleave(n, dim=0),
        drawn.responses,
        drawn.response_mask,
    )
    if run.book is not None:
        batch[PICTURES] = run.book.numbers(rows).to(ids.device)
    if drawn.rollout_log_probs is not None:
        batch["rollout_log_probs"] = drawn.rollout_log_probs
    if drawn.weight_versions is not None:
        batch["weight_versions"] = drawn.weight_versions
    if drawn.routed_experts is not None:
        batch[ROUTES] = align_routes(drawn.routed_experts, batch["attention_mask"])
    return batch


@dataclass(frozen=True)
class GreedyResponses:
    """Greedy response to each prompt in a batch, and its pending score.

    ReMax uses these scores as its baseline (Li et al. 2024, arXiv:2310.10505).
    """

    batch: Batch
    pending: Sequence[PendingScores]


def start_greedy(run: TrainingRun, batch: Batch) -> GreedyResponses:
    """Generate the greedy response to each prompt, and start scoring the responses."""
    n = run.config.actor_rollout_ref.rollout.n
    ids, mask = (batch[name][::n, : batch.prompt_width] for name in ("input_ids", "attention_mask"))
    rows = batch.rows[::n]
    more = run.config.actor_rollout_ref.rollout.sampling_params
    sampling = Sampling(do_sample=False, log_probs=False, more=more)
    pending = start_scoring(run, rows)
    if run.agents is not None:
        return GreedyResponses(play(run, rows, sampling, [0] * len(rows), pending), [pending])
    shown = pictures_of(run.book, rows)
    drawn = run.rollout.generate(ids, mask, sampling, [0] * len(ids), pending.take, shown)
    pending.take_failed(drawn.failed)
    responses = {"responses": drawn.responses, "response_mask": drawn.response_mask.float()}
    return GreedyResponses(Batch(responses, rows), [pending])


def place_baselines(run: TrainingRun, batch: Batch, greedy: GreedyResponses) -> dict[str, float]:
    """Set `reward_baselines`, (B,), to the score of the greedy response to each row's prompt.

    If a greedy response could not be scored, the responses to its prompt are excluded from training.

    Returns:
        `reward_baseline/mean`, and the metrics from `collect_scores` with `reward/` replaced by
        `reward_baseline/`.
    """
    n = run.config.actor_rollout_ref.rollout.n
    _, found = collect_scores(run, greedy.batch, greedy.pending)
    scored = greedy.batch["scored"].repeat_interleave(n)
    baselines = greedy.batch["token_level_scores"].sum(dim=1)
    batch["reward_baselines"] = baselines.repeat_interleave(n)
    batch["scored"] = batch["scored"] & scored
    batch["response_mask"] = batch["response_mask"] * scored.unsqueeze(1)
    sums = torch.stack([baselines.sum(), greedy.batch["scored"].sum()])
    total, number = run.world.sum(sums).tolist()
    renamed = {k.replace("reward/", "reward_baseline/"): v for k, v in found.items()}
    return {"reward_baseline/mean": total / number, **renamed}
