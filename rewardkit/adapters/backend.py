"""Scoring for the adapters, with one Scorer for each set of reward files and one client for each server.

Scorers and clients are created on first use, shared by all callers in the process and closed at exit. A
forked child creates its own scorers and clients.
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
"""Files with compositions (`rewards.yaml`) and rewards (`path.py`, as for `--reward`), as a list or a
comma-separated text."""


class _Backends:
    """Scorers and clients of this process."""

    def __init__(self) -> None:
        self.making = threading.Lock()
        self.scorers: dict[tuple[str, ...], Scorer] = {}
        """Scorers by reward files. Each Scorer has the rewards in its files."""
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
        """Return the client for the running event loop, which owns the client's connections."""
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
"""Scorers and clients that a forked child inherited.

The workers and connections of inherited objects belong to the parent process. The child process neither uses
nor closes these objects. It keeps references to them, because garbage collection would otherwise close them.
"""


def _forget() -> None:
    global _backends
    _of_parents.append(_backends)
    _backends = _Backends()


def close() -> None:
    """Stop the workers and close the connections. The next call starts new workers or connections."""
    global _backends
    closing, _backends = _backends, _Backends()
    closing.close()


os.register_at_fork(after_in_child=_forget)
atexit.register(close)


def score_batch(
    samples: Sequence[Sample], url: str | None = None, rewards: RewardFiles = None
) -> list[Score]:
    """Score samples in this process, or on a server if its address is given.

    Args:
        samples: Samples to score.
        url: Address of a reward server, by default REWARDKIT_URL. Without an address, this process scores.
        rewards: Files with rewards to register before scoring in this process, by default REWARDKIT_REWARDS.

    Raises:
        InputError: A file in `rewards` cannot be read.
        OptionsError: A composition is not valid, or `rewards` are given for a server, which has its own
            rewards.
        ServerError: The server cannot be reached, refused the request or failed.
    """
    address, files = _chosen(url, rewards)
    backend = _backends.remote(address) if address else _backends.local(files)
    return backend.score_batch(samples)


async def ascore_batch(
    samples: Sequence[Sample], url: str | None = None, rewards: RewardFiles = None
) -> list[Score]:
    """Score samples as `score_batch` does, without blocking the event loop."""
    address, files = _chosen(url, rewards)
    backend = _backends.async_remote(address) if address else _backends.local(files)
    return await backend.ascore_batch(samples)


async def ascore(sample: Sample, url: str | None = None, rewards: RewardFiles = None) -> Score:
    """Score one sample, for callers that score many samples concurrently.

    Raises:
        OptionsError: The reward needs all responses to a prompt.
    """
    address, files = _chosen(url, rewards)
    backend = _backends.async_remote(address) if address else _backends.local(files)
    return _unless_alone(sample, await backend.ascore(sample))


def score_one(sample: Sample, url: str | None = None, rewards: RewardFiles = None) -> Score:
    """Score one sample as `ascore` does, blocking the calling thread."""
    address, files = _chosen(url, rewards)
    backend = _backends.remote(address) if address else _backends.local(files)
    return _unless_alone(sample, backend.score(sample))


def _unless_alone(sample: Sample, score: Score) -> Score:
    """Return the Score, or raise an error if its reward needs groups.

    With such a reward, every sample in the run would fail. Replacing each failure by a number would hide the
    mistake.

    Raises:
        OptionsError: The reward needs all responses to a prompt.
    """
    if score.ok or LOOKS_AT_GROUPS not in (score.detail or ""):
        return score
    raise OptionsError(
        f"the reward of '{sample.data_source}' {LOOKS_AT_GROUPS}, but this trainer passes one "
        "response at a time; use a trainer that passes groups (TRL, ms-swift, rewardkit)"
    )


def reward_files(rewards: RewardFiles) -> tuple[str, ...]:
    """Return the reward files as a tuple, with absolute paths for existing files.

    Absolute paths are needed, because a reward function may be sent to a process with another working
    directory.
    """
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
    """Return the first token in the environment variable, which may list all tokens that a server accepts."""
    return next(iter(os.environ.get(TOKEN_VARIABLE, "").split()), None)


def _chosen(url: str | None, rewards: RewardFiles) -> tuple[str | None, tuple[str, ...]]:
    """Return the address of the server to use, or None, and the reward files to register in this process.

    Raises:
        OptionsError: Both a server and reward files are given.
    """
    address = url or os.environ.get(URL_VARIABLE)
    files = reward_files(os.environ.get(REWARDS_VARIABLE) if rewards is None else rewards)
    if address and files:
        raise OptionsError(
            f"the server at {address} computes the scores, so the reward file {files[0]} has no effect here; "
            f"pass the file to `rewardkit serve` (--rewards or --reward), or unset url and {URL_VARIABLE}"
        )
    return address, files
