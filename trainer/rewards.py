"""Reward sources: a local Scorer with its own workers, or a reward server, which is called over HTTP.

`steps/scoring.py` submits responses and adds the scores to the batch. `reward_server.py` starts the server
for a run's reward model.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from rewardkit.client import Client
from rewardkit.composition import load_compositions
from rewardkit.composition.given import GivenRewards
from rewardkit.errors import ConfigError, RefusedError, ServerError, UnknownDataSourceError
from rewardkit.foreign import load_reward, verl_function
from rewardkit.groups import group_places
from rewardkit.identity.reward_identity import Identity, identities, identity
from rewardkit.registry import REGISTRY, Registry
from rewardkit.rewards.model import register_reward_model
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.config.root import Config
from rewardkit.types import Sample, Score, failure

REQUEST_SAMPLES = 32
"""Number of samples per request to a reward server. Small requests end at about the same time."""
PATIENCE_S = 180.0
"""Number of seconds for which a reward server may be unreachable, since it may be restarting and loading a
model. Requests to a busy server are retried until the step's deadline."""
LONGEST_PAUSE_S = 5.0
"""Maximum number of seconds between two attempts to reach a server."""


@dataclass(frozen=True)
class RewardServer:
    """Address and token of a reward server."""

    url: str
    token: str | None


class ScoreFuture(Protocol):
    """Scores that are still being computed."""

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        """Wait for the scores and return them in order. Samples that are late get the status `timeout`."""
        ...


class RewardSource(Protocol):
    """Common interface of a local Scorer and a reward server."""

    def check(self, data_sources: Iterable[str]) -> None:
        """Raise UnknownDataSourceError if a data source has no reward."""
        ...

    def submit(self, samples: Sequence[Sample]) -> ScoreFuture:
        """Start scoring samples, and return without waiting for the scores."""
        ...

    def scores_by_group(self, data_source: str) -> bool:
        """Return True if the responses to a prompt must be submitted together."""
        ...

    def close(self) -> None:
        """Release workers or connections."""
        ...


class ServerRewards:
    """RewardSource that sends requests to a reward server, a few at a time, and retries if it is busy."""

    def __init__(self, client: Client, in_flight: int) -> None:
        self._client = client
        self._by_group: frozenset[str] = frozenset()
        self._threads = ThreadPoolExecutor(in_flight, thread_name_prefix="rewards")

    def check(self, data_sources: Iterable[str]) -> None:
        """See `RewardSource.check`. The server also reports which rewards need whole groups."""
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
        """Divide samples into requests of about `REQUEST_SAMPLES`, keeping groups together where required.

        Returns:
            Indices of the samples in each request.
        """
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
        away_since: float | None = None
        pause = 0.0
        while not stop.wait(pause):
            try:
                return self._client.score_batch(samples)
            except RefusedError:
                raise
            except ServerError as error:
                busy_s: float | None = getattr(error, "retry_after_s", None)
                if busy_s is not None:
                    pause = busy_s
                    continue
                away_since = away_since or monotonic()
                if monotonic() - away_since >= PATIENCE_S:
                    return [failure("error", str(error))] * len(samples)
                pause = min(max(0.5, 2 * pause), LONGEST_PAUSE_S)
        return _late(len(samples))

    def close(self) -> None:
        """Abandon all pending requests and close the client."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()


class _Requests:
    """Pending requests for a batch of samples, each with the indices of its samples."""

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
    return [failure("timeout", "the reward server did not answer within reward.timeout_s")] * n


class DividedRewards:
    """RewardSource that scores some data sources with a server, and all others with a local Scorer."""

    def __init__(self, here: RewardSource, there: RewardSource, sources: Iterable[str]) -> None:
        """Create a source that scores `sources` with `there`, and all other data sources with `here`."""
        self.here = here
        self._there = there
        self.sources = frozenset(sources)

    def _of(self, data_source: str) -> RewardSource:
        return self._there if data_source in self.sources else self.here

    def check(self, data_sources: Iterable[str]) -> None:
        """See `RewardSource.check`."""
        for source in data_sources:
            self._of(source).check([source])

    def submit(self, samples: Sequence[Sample]) -> ScoreFuture:
        """See `RewardSource.submit`."""
        places: dict[bool, list[int]] = {False: [], True: []}
        for i, sample in enumerate(samples):
            places[sample.data_source in self.sources].append(i)
        return _Divided(
            [
                (p, self._of(samples[p[0]].data_source).submit([samples[i] for i in p]))
                for p in places.values()
                if p
            ],
        )

    def scores_by_group(self, data_source: str) -> bool:
        """See `RewardSource.scores_by_group`."""
        return self._of(data_source).scores_by_group(data_source)

    def close(self) -> None:
        """Close both reward sources."""
        self.here.close()
        self._there.close()


@dataclass(frozen=True)
class _Divided:
    """Scores of several submissions, each with the indices of its samples."""

    pieces: list[tuple[list[int], ScoreFuture]]

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        ends = None if timeout_s is None else monotonic() + timeout_s
        found: dict[int, Score] = {}
        for places, future in self.pieces:
            left = None if ends is None else max(0.0, ends - monotonic())
            found.update(zip(places, future.wait(left), strict=True))
        return [found[i] for i in range(len(found))]


def open_rewards(
    config: Config, data_sources: Iterable[str], *, server: RewardServer | None = None, ready: bool = False
) -> RewardSource:
    """Connect to `reward.url`, or create a Scorer with this process's share of the CPU cores.

    `custom_reward_function` scores all of `data_sources`, including those that have a built-in reward.

    Args:
        server: Reward model server, which scores the data sources in `model_sources`.
        ready: True to ask servers now if they know the data sources, and which rewards need whole groups.

    Raises:
        RewardkitError: A reward file does not exist, or a server does not know a data source.
    """
    reward = config.reward
    if reward.url:
        return _connected(
            config, RewardServer(reward.url, os.environ.get("REWARDKIT_TOKEN")), data_sources, ready
        )
    scored = model_sources(config, data_sources) if server else []
    if server and len(scored) == len(set(data_sources)):
        return _connected(config, server, scored, ready)
    if reward.compositions:
        load_compositions(reward.compositions)
    custom = config.custom_reward_function
    if custom.path:
        for source in sorted(set(data_sources)):
            load_reward(f"{source}={verl_function(custom.path, custom.name, custom.reward_kwargs)}")
    there = _connected(config, server, scored, ready) if server and scored else None
    cores = max(1, (os.cpu_count() or 1) // config.trainer.n_gpus_per_node)
    scorer = Scorer(options=reward.options or None, workers=reward.num_workers or cores)
    return scorer if there is None else DividedRewards(scorer, there, scored)


def refuse_unused_rewards(config: Config, data_sources: Collection[str], by_model: Collection[str]) -> None:
    """Refuse configured rewards and options that no row uses.

    Args:
        data_sources: Data sources of all rows. `open_rewards` must have registered their rewards.
        by_model: Data sources that the reward model scores.

    Raises:
        ConfigError: The reward model has nothing to score.
        OptionsError: No row uses one of the compositions or options.
    """
    reward = config.reward
    if config.reward_model.enable and not by_model:
        raise ConfigError(
            f"reward_model.scores={config.reward_model.scores} leaves the reward model nothing to score: "
            "every data source has another reward"
        )
    given = GivenRewards()
    for made in load_compositions(reward.compositions) if reward.compositions else ():
        given.add_reward(f"reward.compositions={reward.compositions}", made)
    for key, values in reward.options.items():
        given.add_options(f"reward.options.{key}", key, values)
    given.saw(sorted(set(data_sources) - set(by_model)))
    given.refuse_unused()


def _connected(
    config: Config, server: RewardServer, data_sources: Iterable[str], ready: bool
) -> RewardSource:
    client = Client(server.url, token=server.token, timeout_s=config.reward.timeout_s)
    connected = ServerRewards(client, config.reward.num_workers or 8)
    if ready:
        connected.check(data_sources)
    return connected


def model_sources(config: Config, data_sources: Iterable[str]) -> list[str]:
    """Return the data sources that the reward model scores: all, or only those without another reward."""
    given = config.reward_model
    if not given.enable:
        return []
    if config.reward.compositions:
        load_compositions(config.reward.compositions)
    return sorted(source for source in set(data_sources) if given.scores == "all" or not _has_reward(source))


def model_options(config: Config) -> dict[str, Any]:
    """Return the options of the reward model that the run serves, as in `ModelOptions`."""
    given = config.reward_model
    return {
        "head": given.model.head,
        "backend": given.backend,
        "dtype": given.dtype,
        "max_length": given.max_length,
        "batch_tokens": given.batch_tokens,
    }


def model_identities(config: Config, data_sources: Iterable[str]) -> dict[str, Identity]:
    """Return the identity of the reward model that the run serves, by the data sources that it scores."""
    if config.reward_model.url or not (scored := model_sources(config, data_sources)):
        return {}
    path = str(config.reward_model.model.path)
    made = register_reward_model(path, scored, registry=Registry(), **model_options(config))
    return dict.fromkeys(scored, identity(made, made.make_options({})))


def _has_reward(data_source: str) -> bool:
    try:
        REGISTRY.resolve(data_source)
    except UnknownDataSourceError:
        return False
    return True


def identities_here(rewards: RewardSource, data_sources: Iterable[str]) -> dict[str, Identity]:
    """Return the identity of each data source's reward, except for data sources that a server scores."""
    if isinstance(rewards, DividedRewards):
        return identities_here(rewards.here, set(data_sources) - rewards.sources)
    return identities(rewards, data_sources) if isinstance(rewards, Scorer) else {}


def part_of(score: Score, key: str) -> float | None:
    """Return a score's value with this name (`score`, `acc` or a part), or None if it is missing."""
    if key == "score":
        return score.score
    if key == "acc" and score.correct is not None:
        return float(score.correct)
    return score.parts.get(key)


def why_no_parts(score: Score, keys: Sequence[str]) -> str | None:
    """Return a message if one of these parts of a score is missing or not finite, else None."""
    values = {key: part_of(score, key) for key in keys}
    wrong = [key for key, value in values.items() if value is None or not math.isfinite(value)]
    if not wrong:
        return None
    there = ", ".join(["score", *(["acc"] if score.correct is not None else []), *sorted(score.parts)])
    return (
        f"algorithm.gdpo_reward_keys: the score of {score.scorer or 'the reward'} has no finite number for "
        f"'{wrong[0]}'; parts of this score: {there}"
    )
