"""Computes metrics over all processes, such as means, maxima and minima, and times the phases of a step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil  # type: ignore[import-untyped]
import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import masked_moments
from rewardkit.trainer.batch import Batch, policy_lengths, whole_lengths
from rewardkit.trainer.distributed import World


class Clock:
    """Wall-clock time of each phase in one step, in seconds."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Add the time of the block to `phase`."""
        start = time.perf_counter()
        yield
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start

    def metrics(self) -> dict[str, float]:
        """Return `timing_s/<phase>` for each phase."""
        return {f"timing_s/{phase}": seconds for phase, seconds in self.seconds.items()}


def memory_metrics() -> dict[str, float]:
    """Return this process's peak GPU memory and current host memory, in GiB."""
    metrics = {"perf/cpu_memory_used_gb": psutil.Process().memory_info().rss / 2**30}
    if torch.cuda.is_available():
        metrics["perf/max_memory_allocated_gb"] = torch.cuda.max_memory_allocated() / 2**30
        metrics["perf/max_memory_reserved_gb"] = torch.cuda.max_memory_reserved() / 2**30
    return metrics


def explained_variance(values: Tensor, returns: Tensor, mask: Tensor, world: World) -> float:
    """Return 1 - var(returns - values) / var(returns) over the unmasked tokens in all processes.

    The result is 1 if the critic predicts the returns exactly, 0 if its prediction is no better than their
    mean, and NaN if the returns do not vary.
    """
    _, left = masked_moments(returns - values, mask, world.sum)
    _, whole = masked_moments(returns, mask, world.sum)
    return 1 - float(left) / float(whole) if float(whole) > 0 else float("nan")


def summarize(values: dict[str, Tensor], world: World) -> dict[str, float]:
    """Return `<name>/mean`, `/max` and `/min` for each non-empty 1-d tensor, over all processes."""
    names = list(values)
    sums = []
    extremes = []
    for name in names:
        v = values[name].detach().to(world.device, torch.float64)
        low = torch.tensor([-torch.inf, -torch.inf], dtype=torch.float64, device=world.device)
        sums.append(torch.stack([v.sum(), torch.tensor(float(len(v)), dtype=v.dtype, device=v.device)]))
        extremes.append(torch.stack([v.max(), (-v).max()]) if len(v) else low)
    all_sums = world.sum(torch.stack(sums)).tolist()
    all_extremes = world.max(torch.stack(extremes)).tolist()
    metrics: dict[str, float] = {}
    for name, (total, count), (high, minus_low) in zip(names, all_sums, all_extremes, strict=True):
        if count:
            metrics[f"{name}/mean"] = total / count
            metrics[f"{name}/max"] = high
            metrics[f"{name}/min"] = -minus_low
    return metrics


def batch_metrics(batch: Batch, world: World) -> dict[str, float]:
    """Return statistics on the scores, rewards, advantages, values, lengths and entropies in a step's batch.

    `critic/score` and `critic/rewards` are sums over a response. Responses that could not be scored are
    included only in the lengths. `response_length` counts only tokens from the policy. `clip_ratio`, the
    share of responses that fill the response length, also counts tokens from tools and users. The entropy is
    estimated from the rollout engine's log-probabilities if the policy's entropies were not computed.
    """
    kept = batch["response_mask"].bool()
    scored = batch["scored"]
    width = batch["responses"].shape[1]
    values = {"critic/values": batch["values"][kept]} if "values" in batch.tensors else {}
    metrics = summarize(
        {
            "critic/score": batch["token_level_scores"].sum(dim=1)[scored],
            "critic/rewards": torch.where(kept, batch["token_level_rewards"], 0.0).sum(dim=1)[scored],
            "critic/advantages": batch["advantages"][kept],
            "critic/returns": batch["returns"][kept],
            **values,
            "response_length": policy_lengths(batch),
            "prompt_length": batch["attention_mask"][:, :-width].sum(dim=1),
        },
        world,
    )
    # The mean of -log p over sampled tokens is an unbiased estimate of the entropy.
    entropies = batch["entropys"] if "entropys" in batch.tensors else -batch["rollout_log_probs"]
    full = (whole_lengths(batch) == width).float()
    means = summarize({"response_length/clip_ratio": full, "actor/entropy": entropies[kept]}, world)
    if "values" in batch.tensors:
        metrics["critic/vf_explained_var"] = explained_variance(
            batch["values"], batch["returns"], batch["response_mask"], world
        )
    metrics["perf/total_num_tokens"] = float(world.sum(batch["attention_mask"].sum()))
    return metrics | {k.removesuffix("/mean"): v for k, v in means.items() if k.endswith("/mean")}
