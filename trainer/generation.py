"""From prompts to a batch of responses, and from the actor's weights to the engine that draws them.

Also the responses that some algorithms ask for besides: ReMax's greedy ones, and DAPO's dynamic sampling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from rewardkit.errors import ScoringError
from rewardkit.trainer.batch import Batch, Judged, Row, join, make_batch, pad_prompts
from rewardkit.trainer.distributed import World
from rewardkit.trainer.dumps import dump
from rewardkit.trainer.judging import Judging, begin_judging, finish_judging
from rewardkit.trainer.metrics import Clock
from rewardkit.trainer.models import DTYPES, full_tensors
from rewardkit.trainer.rollout.base import Sampling, row_seed
from rewardkit.trainer.setup import Parts

TRAINING = 0
"""First part of the key of a training response's seed; validation's is 1."""


def generate(parts: Parts, prompts: Sequence[Row], step: int, first: int = 0) -> tuple[Batch, Judging]:
    """Return the batch of this process, `rollout.n` responses to each prompt of its share, and their judging.

    Sets `groups`, the number of the prompt within the step, counted from `first`, and `seeds`.
    """
    rollout, world = parts.config.actor_rollout_ref.rollout, parts.world
    sampling = Sampling(
        rollout.n,
        rollout.do_sample,
        rollout.temperature,
        rollout.top_k,
        rollout.top_p,
        rollout.calculate_log_probs,
    )
    numbered = world.shard(list(enumerate(prompts, first)))
    ids, mask = pad_prompts([row for _, row in numbered], rollout.prompt_length, parts.tokenizer.pad_token_id)
    ids, mask = ids.to(world.device), mask.to(world.device)
    seeds = [row_seed(TRAINING, rollout.seed, step, i, j) for i, _ in numbered for j in range(rollout.n)]
    rows = [row for _, row in numbered for _ in range(rollout.n)]
    judging = begin_judging(parts, rows)
    drawn = parts.rollout.generate(ids, mask, sampling, seeds, judging.take)
    batch = make_batch(
        rows,
        ids.repeat_interleave(rollout.n, dim=0),
        mask.repeat_interleave(rollout.n, dim=0),
        drawn.responses,
        drawn.response_mask,
    )
    if drawn.rollout_log_probs is not None:
        batch["rollout_log_probs"] = drawn.rollout_log_probs
    groups = torch.tensor([i for i, _ in numbered], device=world.device)
    batch["groups"] = groups.repeat_interleave(rollout.n)
    batch["seeds"] = torch.tensor(seeds, device=world.device)
    return batch, judging


def sync_weights(parts: Parts) -> None:
    """Give the rollout engine the actor's weights, tensor by tensor, in the engine's type."""
    dtype = DTYPES[parts.config.actor_rollout_ref.rollout.dtype]
    parts.rollout.sync_weights(full_tensors(parts.actor.model, dtype))


def begin_greedy(parts: Parts, batch: Batch) -> tuple[Batch, Judging]:
    """Draw the greedy response to each prompt (ReMax's baseline), to be judged meanwhile."""
    n = parts.config.actor_rollout_ref.rollout.n
    ids, mask = (batch[name][::n, : batch.prompt_width] for name in ("input_ids", "attention_mask"))
    rows, sampling = batch.rows[::n], Sampling(do_sample=False, log_probs=False)
    judging = begin_judging(parts, rows)
    drawn = parts.rollout.generate(ids, mask, sampling, [0] * len(ids), judging.take)
    responses = {"responses": drawn.responses, "response_mask": drawn.response_mask.float()}
    return Batch(responses, rows), judging


def finish_greedy(parts: Parts, batch: Batch, begun: tuple[Batch, Judging]) -> dict[str, float]:
    """Set `reward_baselines`, (B,): the score of the greedy response to each row's prompt.

    A prompt whose greedy response could not be judged has no baseline: its responses are left out.

    Returns:
        `reward_baseline/mean` and, as for the responses themselves, `reward_baseline/failed/<status>`.
    """
    n, world, greedy = parts.config.actor_rollout_ref.rollout.n, parts.world, begun[0]
    _, found = finish_judging(parts, *begun)
    judged = greedy["judged"].repeat_interleave(n)
    baselines = greedy["token_level_scores"].sum(dim=1)
    batch["reward_baselines"] = baselines.repeat_interleave(n)
    batch["judged"] = batch["judged"] & judged
    batch["response_mask"] = batch["response_mask"] * judged.unsqueeze(1)
    total, number = world.sum(torch.stack([baselines.sum(), greedy["judged"].sum()])).tolist()
    renamed = {k.replace("reward/", "reward_baseline/"): v for k, v in found.items()}
    return {"reward_baseline/mean": total / number, **renamed}


def sample_dynamically(
    parts: Parts, prompts: Sequence[Row], step: int, clock: Clock
) -> tuple[Batch, dict[str, float]]:
    """Return a judged batch in which the responses to each prompt differ in outcome.

    DAPO's dynamic sampling (Yu et al. 2025, arXiv:2503.14476, section 3.2). While the batch is not full,
    whole batches of further prompts are taken from the loader; of the groups that differ the first ones are
    used, in the order of the prompts, so that the number of processes has no say in it.

    Raises:
        ScoringError: `max_num_gen_batches` batches were not enough.
    """
    asked, world, wanted = parts.config.algorithm.filter_groups, parts.world, len(prompts)
    drawn: list[Batch] = []
    judged: list[Judged] = []
    found: list[int] = []
    metrics: Counter[str] = Counter()
    while len(found) < wanted:
        if drawn and len(drawn) == asked.max_num_gen_batches:
            raise ScoringError(
                f"expected {wanted} prompts whose responses differ in {asked.metric}, found {len(found)} in "
                f"{len(drawn)} batches; raise algorithm.filter_groups.max_num_gen_batches (0: no limit), or "
                "train on prompts that the policy solves sometimes"
            )
        batch_prompts = prompts if not drawn else parts.loader.take()
        with clock("gen"):
            batch, judging = generate(parts, batch_prompts, step, first=len(drawn) * wanted)
        with clock("reward"):
            here, of_batch = finish_judging(parts, batch, judging)
            metrics.update(of_batch)
        judged += here
        scores = [score for _, _, score in here]
        acc = [score.score if score.correct is None else float(score.correct) for score in scores]
        outcomes = [score.score for score in scores] if asked.metric == "reward" else acc
        mine = differing_groups(batch["groups"], outcomes, batch["judged"])
        found += sorted(group for share in world.gather(mine) for group in share)
        drawn.append(batch)
    dump(parts, parts.config.trainer.rollout_data_dir, judged, parts.config.actor_rollout_ref.rollout.n, step)
    metrics["training/filter_groups/num_gen_batches"] = len(drawn)
    metrics["training/filter_groups/dropped_groups"] = len(drawn) * wanted - len(found)
    return deal(join(drawn), found[:wanted], world), dict(metrics)


def differing_groups(groups: Tensor, outcomes: Sequence[float], judged: Tensor) -> list[int]:
    """Return the groups in which judged responses differ in outcome; all arguments are (B,)."""
    seen: dict[int, set[float]] = {}
    for group, outcome, ok in zip(groups.tolist(), outcomes, judged.tolist(), strict=True):
        if ok:
            seen.setdefault(group, set()).add(outcome)
    return [group for group, values in seen.items() if len(values) > 1]


def deal(batch: Batch, order: Sequence[int], world: World) -> Batch:
    """Give the k-th group of `order` to process k % size, as `World.shard` does with prompts.

    The groups of `batch` that are not in `order` are left out; `len(order)` is divisible by the world size.
    """
    place = {group: k for k, group in enumerate(order)}
    targets = torch.tensor([place[g] % world.size if g in place else -1 for g in batch["groups"].tolist()])
    share = [batch.select((targets == rank).nonzero().squeeze(1)) for rank in range(world.size)]
    sent = [piece.to(torch.device("cpu")) if rank != world.rank else None for rank, piece in enumerate(share)]
    received = [pieces[world.rank] for pieces in world.gather(sent)]
    mine = join([share[world.rank], *(piece.to(world.device) for piece in received if piece is not None)])
    places = torch.tensor([place[g] for g in mine["groups"].tolist()])
    return mine.select(places.argsort(stable=True))
