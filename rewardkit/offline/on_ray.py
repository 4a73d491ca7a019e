"""Actors of Ray that score chunks of files, on this machine or many: what `file_workers` does with processes.

Each actor has a Scorer of its own, with killable workers. The caller reads and writes, so an output has the
same bytes as without Ray. An actor that dies is started again and its chunks are scored again, a few times;
then the caller scores them. Needs the extra `ray`; files of rewards must stand at the same path everywhere.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import cloudpickle
import msgspec

from rewardkit.errors import ConfigError, MissingDependencyError
from rewardkit.offline.chunk import ChunkResult, finish, usable
from rewardkit.offline.file_workers import FileSetup
from rewardkit.offline.records import Records
from rewardkit.offline.samples import columns_needed, to_batch
from rewardkit.scoring.scorer import Scorer
from rewardkit.user_files import UserFile, import_as_read

RESTARTS = 4
"""How often an actor is started again. Without an end, a row that kills its process is tried for ever."""
TRIES_AGAIN = 2
"""How often a chunk is given to an actor again after its death."""
EVENTS_S = 2.0
"""How long a timeline waits for the last events, which reach the cluster's store once a second."""
OBJECT_STORE_BYTES = 512 << 20
"""Of a cluster that is started here: some chunks are on their way at once."""

_results = msgspec.msgpack.Decoder(ChunkResult)


@dataclass(frozen=True, slots=True)
class RaySettings:
    """Which cluster."""

    address: str | None = None
    """Of a cluster that runs; None: `RAY_ADDRESS`, or one for this run alone."""
    num_cpus: int | None = None
    """Of a cluster that is started here."""
    timeline: str | None = None
    """File for a timeline of the run, in Chrome's trace format."""


@contextlib.contextmanager
def connected(settings: RaySettings) -> Iterator[Any]:
    """Connect to a cluster, or start one, for as long as the block lasts; give the module `ray`.

    Raises:
        MissingDependencyError: Ray is not installed.
        ConfigError: there is no cluster at the address.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(
            f"--engine ray needs Ray ({error}); install it with: pip install 'rewardkit[ray]'"
        ) from None
    if ray.is_initialized():  # by whoever calls us
        yield ray
        return
    address = settings.address or os.environ.get("RAY_ADDRESS")
    given: dict[str, Any] = {"address": address} if address else {"object_store_memory": OBJECT_STORE_BYTES}
    if not address:
        given |= {"num_cpus": settings.num_cpus, "include_dashboard": False}
    try:
        ray.init(**given, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ConfigError(f"no Ray at {address or 'this machine'}: {str(error).splitlines()[0]}") from None
    try:
        yield ray
        if settings.timeline is not None:
            time.sleep(EVENTS_S)
            ray.timeline(filename=settings.timeline)
    finally:
        ray.shutdown()


class RayWorkers:
    """One actor for each CPU of the cluster, or as many as were asked for. A context manager."""

    takes_all = True

    def __init__(self, settings: RaySettings, scorer: Scorer, actors: int | None = None) -> None:
        self._settings = settings
        self._scorer = scorer
        self._wanted = actors
        self._exit = contextlib.ExitStack()
        self._setups: dict[FileSetup, bytes] = {}
        self._busy: Counter[int] = Counter()

    def __enter__(self) -> RayWorkers:
        ray = self._ray = self._exit.enter_context(connected(self._settings))
        count = self._wanted or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.size = 2 * count
        """Chunks on their way at once: one that is scored and one that waits for each actor."""
        files, arguments = self._scorer.for_another_process()
        pickled = cloudpickle.dumps(arguments)
        remote = ray.remote(num_cpus=1, max_restarts=RESTARTS, max_task_retries=TRIES_AGAIN)(_ScoringActor)
        self.actors = [remote.remote(files, pickled) for _ in range(count)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for actor in self.actors:
            self._ray.kill(actor)
        self._exit.__exit__(kind, error, trace)

    def submit(self, setup: FileSetup, records: Records) -> Future[ChunkResult | None]:
        """Score a chunk; the future has its result, or None where the caller must score it."""
        if setup not in self._setups:
            self._setups[setup] = cloudpickle.dumps((setup.layout, setup.reads, setup.output))
        if records.table is not None:
            table = columns_needed(records.table, setup.layout, setup.reads)
            records = Records(records.first_row, records.count, table)
        actor = min(range(len(self.actors)), key=self._busy.__getitem__)
        self._busy[actor] += 1
        asked = self.actors[actor].score.remote(self._setups[setup], records)
        found: Future[ChunkResult | None] = Future()
        asked.future().add_done_callback(lambda answer: self._done(actor, answer, found))
        return found

    def _done(self, actor: int, answer: Future[bytes], found: Future[ChunkResult | None]) -> None:
        self._busy[actor] -= 1
        try:
            found.set_result(_results.decode(answer.result()))
        except self._ray.exceptions.RayError:  # died too often, or its machine has gone
            found.set_result(None)


class _ScoringActor:
    """What runs on the cluster."""

    def __init__(self, files: list[UserFile], arguments: bytes) -> None:
        import_as_read(files)
        self._scorer = Scorer(**cloudpickle.loads(arguments), workers=1)

    def score(self, setup: bytes, records: Records) -> bytes:
        layout, reads, output = cloudpickle.loads(setup)
        batch = to_batch(records, layout, reads)
        scores = self._scorer.score_batch(usable(batch))
        return msgspec.msgpack.encode(finish(batch, scores, layout, output))
