"""Where rewards come from. When, and how they get into the batch, is in `steps/scoring.py`.

The scoring itself is the Scorer's (here, in its workers) or a reward server's (there, over HTTP).
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Protocol

import torch

from rewardkit.client import Client
from rewardkit.composition import load_compositions
from rewardkit.errors import RefusedError, RewardkitError, ServerError, UnknownDataSourceError
from rewardkit.groups import group_places
from rewardkit.registry import REGISTRY, load_reward_file
from rewardkit.rewards.model import register_reward_model
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.config.root import Config
from rewardkit.types import Sample, Score, failure

REQUEST_SAMPLES = 32
"""Samples in one request to a reward server: small enough that requests end at about the same time."""
REWARD_MODEL = "reward_model"
"""Name under which a run's reward model is registered."""
TRIES = 5
"""How often a reward server that fails is asked. One that is busy is asked until the step's deadline."""


class ScoreFuture(Protocol):
    """The scores of samples that are being scored."""

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        """Return the scores in order; what is not scored by then has the status `timeout`."""
        ...


class RewardSource(Protocol):
    """What the local Scorer and a reward server have in common."""

    def check(self, data_sources: Iterable[str]) -> None:
        """Raise UnknownDataSourceError for a data source that has no reward."""
        ...

    def submit(self, samples: Sequence[Sample]) -> ScoreFuture:
        """Start scoring and return at once."""
        ...

    def scores_by_group(self, data_source: str) -> bool:
        """Whether the responses to one prompt have to be submitted together."""
        ...

    def close(self) -> None:
        """Release workers or connections."""
        ...


class ServerRewards:
    """A reward server as a RewardSource: a few requests in flight, patient when it is busy."""

    def __init__(self, client: Client, in_flight: int) -> None:
        self._client = client
        self._by_group: frozenset[str] = frozenset()
        self._threads = ThreadPoolExecutor(in_flight, thread_name_prefix="rewards")

    def check(self, data_sources: Iterable[str]) -> None:
        """See `RewardSource.check`. The server says as well which rewards have to see whole groups."""
        self._by_group |= self._client.check(data_sources)

    def submit(self, samples: Sequence[Sample]) -> ScoreFuture:
        """See `RewardSource.submit`."""
        stop = threading.Event()
        pieces = self._pieces(samples)
        return _Requests(
            [(p, self._threads.submit(self._ask, [samples[i] for i in p], stop)) for p in pieces],
            len(samples),
            stop,
        )

    def _pieces(self, samples: Sequence[Sample]) -> list[list[int]]:
        """The places of the samples of each request: a few dozen, and of a group that has to be whole all."""
        pieces: list[list[int]] = [[]]
        for group in group_places(samples):
            whole = samples[group[0]].data_source in self._by_group
            for units in [group] if whole else [[place] for place in group]:
                if len(pieces[-1]) + len(units) > REQUEST_SAMPLES and pieces[-1]:
                    pieces.append([])
                pieces[-1] += units
        return pieces if samples else []

    def scores_by_group(self, data_source: str) -> bool:
        """See `RewardSource.scores_by_group`."""
        return data_source in self._by_group

    def _ask(self, samples: Sequence[Sample], stop: threading.Event) -> list[Score]:
        failed = 0
        pause = 0.0
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
        return _late(len(samples))

    def close(self) -> None:
        """Give up what is still asked for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()


class _Requests:
    """The requests that samples were divided into: the places of each one's samples, and its scores."""

    def __init__(
        self, pieces: list[tuple[list[int], Future[list[Score]]]], n: int, stop: threading.Event
    ) -> None:
        self._pieces = pieces
        self._n = n
        self._stop = stop

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        done, _ = wait_for([f for _, f in self._pieces], timeout_s, return_when=FIRST_EXCEPTION)
        self._stop.set()
        scores = _late(self._n)
        for places, future in self._pieces:
            if future in done:
                for place, score in zip(places, future.result(), strict=True):
                    scores[place] = score
        return scores


def _late(n: int) -> list[Score]:
    return [failure("timeout", "the reward server did not answer by reward.timeout_s")] * n


def open_rewards(config: Config, data_sources: Iterable[str], *, ready: bool = False) -> RewardSource:
    """Connect to `reward.url`, or make a Scorer here with this process's share of the cores.

    `custom_reward_function` takes every one of `data_sources`, also those that have a reward of ours; so does
    a reward model, unless `reward_model.scores` is `rest`.

    Args:
        ready: load the reward model now, and not with the first response; ask the server which rewards have
            to see whole groups.

    Raises:
        RewardkitError: no such reward file, no such reward model, or it does not load.
    """
    reward = config.reward
    if reward.url:
        client = Client(reward.url, token=os.environ.get("REWARDKIT_TOKEN"), timeout_s=reward.timeout_s)
        server = ServerRewards(client, reward.num_workers or 8)
        if ready:
            server.check(data_sources)
        return server
    if reward.compositions:
        load_compositions(reward.compositions)
    custom = config.custom_reward_function
    if custom.path:
        for source in sorted(set(data_sources)):
            load_reward_file(f"{source}={custom.path}:{custom.name}")
    if config.reward_model.enable:
        _register_reward_model(config, sorted(set(data_sources)))
    cores = max(1, (os.cpu_count() or 1) // config.trainer.n_gpus_per_node)
    scorer = Scorer(options=reward.options or None, workers=reward.num_workers or cores)
    if ready and config.reward_model.enable:
        try:
            scorer.warm_up()
        except RewardkitError:
            scorer.close()
            raise
    return scorer


def _register_reward_model(config: Config, data_sources: Sequence[str]) -> None:
    given = config.reward_model
    local = int(os.environ.get("LOCAL_RANK", "0"))
    on_cpu = config.trainer.device == "cpu" or not torch.cuda.is_available()
    known = [] if given.scores == "all" else [s for s in data_sources if _has_reward(s)]
    scored = [source for source in data_sources if source not in known]
    if scored:
        register_reward_model(
            str(given.model.path),
            scored,
            name=REWARD_MODEL,
            backend=given.backend,
            device="cpu" if on_cpu else f"cuda:{local}",
            max_length=given.max_length,
            batch_tokens=given.batch_tokens,
        )


def _has_reward(data_source: str) -> bool:
    try:
        return REGISTRY.resolve(data_source).name != REWARD_MODEL
    except UnknownDataSourceError:
        return False


def part_of(score: Score, key: str) -> float | None:
    """Return a part of a score by its name, `score` itself or `acc`; None where it has none."""
    if key == "score":
        return score.score
    if key == "acc" and score.correct is not None:
        return float(score.correct)
    return score.parts.get(key)


def why_no_parts(score: Score, keys: Sequence[str]) -> str | None:
    """Say which of the parts a score lacks, and which it has; None where it has all, as finite numbers."""
    values = {key: part_of(score, key) for key in keys}
    wrong = [key for key, value in values.items() if value is None or not math.isfinite(value)]
    if not wrong:
        return None
    there = ", ".join(["score", *(["acc"] if score.correct is not None else []), *sorted(score.parts)])
    return (
        f"algorithm.gdpo_reward_keys: {score.scorer or 'the reward'} gives no number for '{wrong[0]}'; "
        f"its parts are: {there}"
    )
