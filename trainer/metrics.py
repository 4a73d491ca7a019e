"""Means, maxima and minima over all processes, and the clock of a step's phases, under the field's names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.distributed import World


class Clock:
    """Wall seconds of each phase of one step."""

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
        """Return `timing_s/<phase>`."""
        return {f"timing_s/{phase}": seconds for phase, seconds in self.seconds.items()}


def summarize(values: dict[str, Tensor], world: World) -> dict[str, float]:
    """Return `<name>/mean`, `/max` and `/min` of each 1-d tensor over all processes; none for an empty."""
    names = list(values)
    sums, extremes = [], []
    for name in names:
        v = values[name].detach().double()
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
    """Return what a step's batch looks like: scores, rewards, advantages, values, lengths, entropy.

    `critic/score` and `critic/rewards` are sums over a response; responses that could not be judged count
    for the lengths only.
    """
    kept, judged = batch["response_mask"].bool(), batch["judged"]
    width = batch["responses"].shape[1]
    lengths = batch["attention_mask"][:, -width:].sum(dim=1)
    values = {"critic/values": batch["values"][kept]} if "values" in batch.tensors else {}
    metrics = summarize(
        {
            "critic/score": batch["token_level_scores"].sum(dim=1)[judged],
            "critic/rewards": torch.where(kept, batch["token_level_rewards"], 0.0).sum(dim=1)[judged],
            "critic/advantages": batch["advantages"][kept],
            "critic/returns": batch["returns"][kept],
            **values,
            "response_length": lengths,
            "prompt_length": batch["attention_mask"][:, :-width].sum(dim=1),
        },
        world,
    )
    entropies = {"actor/entropy": batch["entropys"][kept]} if "entropys" in batch.tensors else {}
    means = summarize({"response_length/clip_ratio": (lengths == width).float(), **entropies}, world)
    metrics["perf/total_num_tokens"] = float(world.sum(batch["attention_mask"].sum()))
    return metrics | {k.removesuffix("/mean"): v for k, v in means.items() if k.endswith("/mean")}
