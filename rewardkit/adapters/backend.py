"""Scoring for the adapters: one Scorer, or one client of each server, per process. No signatures here.

Made when first used, shared by all callers, closed when the process ends. A forked child makes its own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from rewardkit.client import AsyncClient, Client
from rewardkit.composition import load_compositions
from rewardkit.errors import OptionsError
from rewardkit.foreign import load_reward
from rewardkit.groups import LOOKS_AT_GROUPS
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score

URL_VARIABLE = "REWARDKIT_URL"
TOKEN_VARIABLE = "REWARDKIT_TOKEN"
REWARDS_VARIABLE = "REWARDKIT_REWARDS"

RewardFiles = str | Sequence[str] | None
"""Files of compositions (`rewards.yaml`) and of rewards (`path.py`, as for `--reward`); commas in a text."""


class _Backends:
    """The backends of this process."""

    def __init__(self) -> None:
        self.making = threading.Lock()
        self.scorers: dict[tuple[str, ...], Scorer] = {}
        """Scorers, by the files of rewards that were registered for them."""
        self.clients: dict[str, Client] = {}
        self.async_clients: dict[tuple[asyncio.AbstractEventLoop, str], AsyncClient] = {}

    def local(self, files: tuple[str, ...]) -> Scorer:
        with self.making:
            if files not in self.scorers:
                _register(files)
                self.scorers[files] = Scorer()
            return self.scorers[files]

    def remote(self, url: str) -> Client:
        with self.making:
            if url not in self.clients:
                self.clients[url] = Client(url, token=_token())
            return self.clients[url]

    def async_remote(self, url: str) -> AsyncClient:
        """A client's connections belong to the event loop that opened them, and end with it."""
        key = (asyncio.get_running_loop(), url)
        with self.making:
            if key not in self.async_clients:
                for ended in [known for known in self.async_clients if known[0].is_closed()]:
                    del self.async_clients[ended]
                self.async_clients[key] = AsyncClient(url, token=_token())
            return self.async_clients[key]

    def close(self) -> None:
        for scorer in self.scorers.values():
            scorer.close()
        for client in self.clients.values():
            client.close()


_backends = _Backends()
_of_parents: list[_Backends] = []
"""Scorer and clients that a forked child inherited: their workers and connections are the parent's, so they
are neither used nor closed, and are kept only so that nothing closes them by collecting them."""


def _forget() -> None:
    global _backends
    _of_parents.append(_backends)
    _backends = _Backends()


def close() -> None:
    """Stop the workers and close the connections; the next call starts anew."""
    global _backends
    closing, _backends = _backends, _Backends()
    closing.close()


os.register_at_fork(after_in_child=_forget)
atexit.register(close)


def score_batch(
    samples: Sequence[Sample], url: str | None = None, rewards: RewardFiles = None
) -> list[Score]:
    """Score samples here, or on the server at `url`, or at REWARDKIT_URL if that is set.

    Args:
        rewards: what to register before scoring here; None: what REWARDKIT_REWARDS names.

    Raises:
        InputError: a file of `rewards` that cannot be read.
        OptionsError: a composition that cannot be, or `rewards` for a server, which has its own.
        ServerError: the server cannot be reached, refused the request or failed.
    """
    address, files = _chosen(url, rewards)
    backend = _backends.remote(address) if address else _backends.local(files)
    return backend.score_batch(samples)


async def ascore_batch(
    samples: Sequence[Sample], url: str | None = None, rewards: RewardFiles = None
) -> list[Score]:
    """Score as `score_batch` does, without holding the event loop."""
    address, files = _chosen(url, rewards)
    backend = _backends.async_remote(address) if address else _backends.local(files)
    return await backend.ascore_batch(samples)


async def ascore(sample: Sample, url: str | None = None, rewards: RewardFiles = None) -> Score:
    """Score one sample, for callers that have many of them on the way at once.

    Raises:
        OptionsError: its reward looks at all responses to a prompt, which are not here.
    """
    address, files = _chosen(url, rewards)
    backend = _backends.async_remote(address) if address else _backends.local(files)
    return _unless_alone(sample, await backend.ascore(sample))


def score_one(sample: Sample, url: str | None = None, rewards: RewardFiles = None) -> Score:
    """Score as `ascore` does, from a thread."""
    address, files = _chosen(url, rewards)
    backend = _backends.remote(address) if address else _backends.local(files)
    return _unless_alone(sample, backend.score(sample))


def _unless_alone(sample: Sample, score: Score) -> Score:
    """Refuse what no sample of the run can be scored for: a number for each would hide it."""
    if score.ok or LOOKS_AT_GROUPS not in (score.detail or ""):
        return score
    raise OptionsError(
        f"the reward of '{sample.data_source}' {LOOKS_AT_GROUPS}, but this trainer passes one "
        "response at a time; use a trainer that passes groups (TRL, ms-swift, rewardkit)"
    )


def reward_files(rewards: RewardFiles) -> tuple[str, ...]:
    """Return files of rewards one by one, those that are there with their whole path: a reward function may
    be sent to a process that works in another folder."""
    several = rewards.split(",") if isinstance(rewards, str) else rewards or ()
    named = [file.strip() for file in several if file.strip()]
    return tuple(str(Path(file).resolve()) if Path(file).is_file() else file for file in named)


def _register(files: Sequence[str]) -> None:
    for file in files:
        if file.endswith((".yaml", ".yml")):
            load_compositions(file)
        else:
            load_reward(file)


def _token() -> str | None:
    """The first, where the variable lists all that a server accepts."""
    return next(iter(os.environ.get(TOKEN_VARIABLE, "").split()), None)


def _chosen(url: str | None, rewards: RewardFiles) -> tuple[str | None, tuple[str, ...]]:
    """The server that scores, or the files of rewards to score with here."""
    address = url or os.environ.get(URL_VARIABLE)
    files = reward_files(os.environ.get(REWARDS_VARIABLE) if rewards is None else rewards)
    if address and files:
        raise OptionsError(
            f"the server at {address} computes the scores, so the reward file {files[0]} has no effect here; "
            f"pass the file to `rewardkit serve` (--rewards or --reward), or unset url and {URL_VARIABLE}"
        )
    return address, files
