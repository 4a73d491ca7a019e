"""Where rewards come from, and how they are put onto the last token, failures masked. See `judging.py`.

The judging itself is the Scorer's (here, in its workers) or a reward server's (there, over HTTP).
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Protocol

import torch

from rewardkit.client import Client
from rewardkit.errors import RefusedError, ScoringError, ServerError
from rewardkit.registry import load_reward_file
from rewardkit.scorer import Scorer
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config import Config, RewardConfig
from rewardkit.trainer.distributed import World
from rewardkit.types import STATUSES, Sample, Score, failure

REQUEST_SAMPLES = 32
"""Samples in one request to a reward server: small enough that requests end at about the same time."""
TRIES = 5
"""How often a reward server that fails is asked. One that is busy is asked until the step's deadline."""


class OnTheWay(Protocol):
    """Samples that are being judged."""

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        """Return the scores in order; what is not judged by then has the status `timeout`."""
        ...


class RewardSource(Protocol):
    """What the local Scorer and a reward server have in common."""

    def check(self, data_sources: Iterable[str]) -> None:
        """Raise UnknownDataSourceError for a data source that has no reward."""
        ...

    def submit(self, samples: Sequence[Sample]) -> OnTheWay:
        """Start judging and return at once."""
        ...

    def close(self) -> None:
        """Release workers or connections."""
        ...


class ServerRewards:
    """A reward server as a RewardSource: a few requests in flight, patient when it is busy."""

    def __init__(self, client: Client, in_flight: int) -> None:
        self._client = client
        self._threads = ThreadPoolExecutor(in_flight, thread_name_prefix="rewards")

    def check(self, data_sources: Iterable[str]) -> None:
        """See `RewardSource.check`."""
        self._client.check(data_sources)

    def submit(self, samples: Sequence[Sample]) -> OnTheWay:
        """See `RewardSource.submit`."""
        stop = threading.Event()
        pieces = [samples[i : i + REQUEST_SAMPLES] for i in range(0, len(samples), REQUEST_SAMPLES)]
        return _Requests([(p, self._threads.submit(self._ask, p, stop)) for p in pieces], stop)

    def _ask(self, samples: Sequence[Sample], stop: threading.Event) -> list[Score]:
        failed, pause = 0, 0.0
        while not stop.wait(pause):
            try:
                return self._client.score_batch(samples)
            except RefusedError:
                raise
            except ServerError as error:
                busy_s: float | None = getattr(error, "retry_after_s", None)
                failed += busy_s is None
                if failed == TRIES:
                    raise
                pause = 0.25 * 2**failed if busy_s is None else busy_s
        return _late(samples)

    def close(self) -> None:
        """Give up what is still asked for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()


class _Requests:
    """The requests that samples were divided into."""

    def __init__(
        self, pieces: list[tuple[Sequence[Sample], Future[list[Score]]]], stop: threading.Event
    ) -> None:
        self._pieces, self._stop = pieces, stop

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        done, _ = wait_for([f for _, f in self._pieces], timeout_s, return_when=FIRST_EXCEPTION)
        self._stop.set()
        return [s for p, f in self._pieces for s in (f.result() if f in done else _late(p))]


def _late(samples: Sequence[Sample]) -> list[Score]:
    return [failure("timeout", "the reward server did not answer by reward.timeout_s")] * len(samples)


def open_rewards(config: Config, data_sources: Iterable[str]) -> RewardSource:
    """Connect to `reward.url`, or make a Scorer here with this process's share of the cores.

    `custom_reward_function` takes every one of `data_sources`, also those that have a reward of ours.
    """
    reward = config.reward
    if reward.url:
        client = Client(reward.url, token=os.environ.get("REWARDKIT_TOKEN"), timeout_s=reward.timeout_s)
        return ServerRewards(client, reward.num_workers or 8)
    custom = config.custom_reward_function
    if custom.path:
        for source in sorted(set(data_sources)):
            load_reward_file(f"{source}={custom.path}:{custom.name}")
    cores = max(1, (os.cpu_count() or 1) // config.trainer.n_gpus_per_node)
    return Scorer(options=reward.options or None, workers=reward.num_workers or cores)


def place_scores(
    batch: Batch, scores: Sequence[Score], world: World, config: RewardConfig
) -> dict[str, float]:
    """Put each score on the last token of its response; see to what could not be judged.

    Sets `token_level_scores` and `judged`. A response with a status other than `ok` gets
    `reward.error_value` where `reward.on_error` is `value`, and else has its `response_mask` cleared.

    Returns:
        over all processes, `reward/failed/<status>` for the statuses that occurred, and the time that the
        rewards took: `timing_s/reward_judging` for all responses together, `timing_s/reward_slowest` for one.

    Raises:
        ScoringError: a sample failed and `on_error` is `raise`, or all of them failed.
    """
    _refuse_failures(scores, world, config.on_error)
    mask = batch["response_mask"]
    last = mask.sum(dim=1).long().clamp(min=1) - 1
    values = [float(s.score) if s.ok else config.error_value for s in scores]
    placed = torch.zeros_like(mask)
    placed[torch.arange(len(batch), device=mask.device), last] = torch.tensor(values, device=mask.device)
    kept = torch.tensor([s.ok or config.on_error == "value" for s in scores], device=mask.device)
    batch["token_level_scores"] = placed * kept.unsqueeze(1)
    batch["response_mask"] = mask * kept.unsqueeze(1)
    batch["judged"] = kept
    return _judging_metrics(scores, world)


def _judging_metrics(scores: Sequence[Score], world: World) -> dict[str, float]:
    counts, seconds = Counter(s.status for s in scores), [s.seconds for s in scores]
    sums = torch.tensor([*(float(counts[s]) for s in STATUSES), sum(seconds)], dtype=torch.float64)
    *totals, judging_s = world.sum(sums).tolist()
    slowest = world.max(torch.tensor(max(seconds, default=0.0), dtype=torch.float64)).item()
    failed = {f"reward/failed/{s}": n for s, n in zip(STATUSES, totals, strict=True) if n and s != "ok"}
    return failed | {"timing_s/reward_judging": judging_s, "timing_s/reward_slowest": slowest}


def _refuse_failures(scores: Sequence[Score], world: World, on_error: str) -> None:
    failed = next((s for s in scores if not s.ok), None)
    summary = (sum(s.ok for s in scores), len(scores), failed)
    everywhere = world.gather(summary)
    first = next((f for _, _, f in everywhere if f is not None), None)
    n_ok, n = (sum(summary[i] for summary in everywhere) for i in (0, 1))
    if first is None or (on_error != "raise" and n_ok):
        return
    why = f"{first.scorer or 'the reward'} gave status '{first.status}': {first.detail}"
    if n_ok:
        raise ScoringError(
            f"{n - n_ok} of {n} responses could not be judged; {why}; reward.on_error=mask leaves them out"
        )
    raise ScoringError(f"none of the {n} responses could be judged; {why}")
