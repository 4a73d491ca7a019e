"""Checks at every step that the rollout engine and the policy agree, to detect stale weights.

With rollouts from old weights, a policy still learns a little, and nothing else reveals the error. Weights
that an engine did not load are NaN (see `sync_weights` in `generation.py`) and are detected at any precision.
Other wrong weights are detected by comparison, as far as rounding errors allow.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rewardkit.errors import ParityError
from rewardkit.threads import in_thread
from rewardkit.trainer.batch import Batch, PromptRow, make_batch, pad_prompts
from rewardkit.trainer.config.workers import ActorRolloutRefConfig
from rewardkit.trainer.data import pictures_of
from rewardkit.trainer.models.vision import PICTURES
from rewardkit.trainer.rollout.base import Sampling, row_seed
from rewardkit.trainer.rollout.conversing import respond_by_turns
from rewardkit.trainer.training_run import TrainingRun

N_PROBES = 2
"""Number of prompts per process in a probe."""
PROBE_TOKENS = 32
"""Number of tokens per response that is generated only for the probe. This is enough to detect
wrong weights."""
PROBE = 2
"""First part of the seed key for probes. It is 0 for training and 1 for validation."""
FLOAT32_LIMITS = (1e-7, 1e-5)
HALF_LIMITS = (1e-2, 0.2)
"""Limits on k3 for a warning and an error. With equal weights and a model with 135M parameters, k3 was 3e-9
in float32 and 4e-3 in bfloat16. A training step moves k3 by 1e-4 or more, and stale output heads move it by
whole nats."""
HALF_MULTIPLES = (4.0, 16.0)
"""Limits in half precision as multiples of the run's first k3, used if they are lower. For tiny models from
eight families, the first k3 was between 3e-5 and 1e-3, and later values were at most twice as high."""
HALF_FLOOR = 1e-5
"""Lower bound for the first k3, which may be too low by chance if its few tokens were certain."""


def draw_probe(run: TrainingRun, batch: Batch) -> Batch:
    """Return responses from the engine whose log-probabilities must equal the policy's, usually `batch`.

    With greedy, top_k or top_p sampling, log-probabilities are for another distribution. In a batch that was
    started before the last update, the log-probabilities are from older weights. In both cases, a few
    responses are generated for the probe. If the policy's log-probabilities are not needed for the whole
    batch, the probe is a part of the batch.
    """
    config = run.config.actor_rollout_ref.rollout
    if run.probe is not None:
        run.rollout.attend(run.probe)
        return run.probe.result()
    whole = config.calculate_log_probs and config.do_sample and not config.restricted
    if whole and run.needs_old_log_probs:
        return batch
    few = batch.select(slice(0, N_PROBES * config.n, config.n))
    return few if whole else _generated(run, few.rows)


def begin_probe(run: TrainingRun) -> None:
    """Start a probe of new weights if the next step's responses may be from older weights.

    A thread generates the probe before any response for a later step. The next step then need not wait for
    the probe.
    """
    if not run.feed.depth:
        return
    rows = run.feed.loader.rows
    few = [rows[i % len(rows)] for i in range(run.world.rank * N_PROBES, (run.world.rank + 1) * N_PROBES)]
    run.probe = in_thread(lambda: _generated(run, few), "probe")


def _generated(run: TrainingRun, rows: Sequence[PromptRow]) -> Batch:
    config = run.config.actor_rollout_ref.rollout
    pad_id = run.tokenizer.pad_token_id
    ids, mask = (one.to(run.world.device) for one in pad_prompts(rows, config.prompt_length, pad_id))
    seeds = [row_seed(PROBE, config.seed, run.world.rank, i) for i in range(len(rows))]
    sampling = Sampling(temperature=config.temperature, first=True)
    drawn = respond_by_turns(
        run.rollout,
        ids,
        mask,
        sampling,
        seeds,
        None,
        min(PROBE_TOKENS, config.response_length),
        pad_id,
        pictures_of(run.book, rows),
    )
    probe = make_batch(rows, ids, mask, drawn.responses, drawn.response_mask)
    if run.book is not None:
        probe[PICTURES] = run.book.numbers(rows).to(ids.device)
    assert drawn.rollout_log_probs is not None
    probe["rollout_log_probs"] = drawn.rollout_log_probs
    return probe


def check_parity(run: TrainingRun, probe: Batch, step: int) -> dict[str, float]:
    """Compare the engine's log-probabilities with the policy's before the policy changes.

    Returns:
        `training/rollout_actor_kl`, the k3 estimate of KL(rollout || actor), and
        `training/rollout_actor_diff_max`, the largest absolute difference between two log-probabilities.

    Raises:
        ParityError: k3 exceeds `rollout.parity_error` in a process. The error is raised in all processes.
    """
    world = run.world
    mine = probe["old_log_probs"] if "old_log_probs" in probe.tensors else run.actor.log_probs(probe)
    kept = probe["response_mask"].bool()
    drift = (mine - probe["rollout_log_probs"])[kept].double()
    k3 = drift.expm1() - drift
    total, count = world.sum(torch.stack([k3.sum(), k3.new_tensor(float(len(k3)))])).tolist()
    # The check uses the worst process, because a single stale engine would hardly change the mean.
    extremes = torch.stack([k3.mean(), drift.abs().max()]) if len(k3) else k3.new_zeros(2)
    worst, largest = world.max(extremes.nan_to_num(nan=torch.inf)).tolist()
    _check_limits(run, worst, step)
    return {
        "training/rollout_actor_kl": total / max(count, 1.0),
        "training/rollout_actor_diff_max": largest,
    }


def _check_limits(run: TrainingRun, worst: float, step: int) -> None:
    """Warn or raise ParityError if k3 exceeds a limit in the worst process."""
    config = run.config.actor_rollout_ref
    if run.first_kl is None and worst < torch.inf:
        run.first_kl = worst
    warn, error = limits(config, run.first_kl)
    found = f"step {step}: training/rollout_actor_kl = {worst:.2g} is above"
    first = "" if run.first_kl in (None, worst) else f" (the run's first was {run.first_kl:.2g})"
    if not worst < torch.inf:
        raise ParityError(
            f"step {step}: log-probabilities of the rollout engine or of the policy are not finite. Either "
            "some weights never reached the engine (its memory had NaN before the sync), or training diverged"
        )
    if worst > error:
        raise ParityError(
            f"{found} {error:.2g}{first}: the rollout engine does not have the policy's weights, because a "
            "weight sync was missed or was incomplete. If the kernels are noisy, raise "
            "actor_rollout_ref.rollout.parity_error"
        )
    if worst > warn and run.world.is_main:
        run.logger.say(f"{found} {warn:.2g}{first}")


def limits(config: ActorRolloutRefConfig, first: float | None = None) -> tuple[float, float]:
    """Return the limits on k3 for a warning and an error. By default, the limits depend on the dtype.

    Args:
        first: k3 from the run's first comparison, with newly loaded weights.
    """
    exact = {config.rollout.dtype, config.actor.fsdp_config.dtype} == {"float32"}
    warn, error = FLOAT32_LIMITS if exact else HALF_LIMITS
    if not exact and first is not None:
        shown = max(first, HALF_FLOOR)
        warn = min(warn, HALF_MULTIPLES[0] * shown)
        error = min(error, HALF_MULTIPLES[1] * shown)
    rollout = config.rollout
    return (
        warn if rollout.parity_warn is None else rollout.parity_warn,
        error if rollout.parity_error is None else rollout.parity_error,
    )
