"""Ray tasks that score chunks of files on one or more machines, like the processes in `file_workers`.

Each Ray process has its own Scorer with killable workers. The caller reads and writes the files, so that
outputs have the same bytes as without Ray. Ray retries a task a few times if its process or machine dies.
After that, the caller scores the chunk. Ray Data is not used, because it accepts no rows while it runs and
does not work through `ray://`. The extra `ray` is required, and reward files must have the same path on all
machines.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import msgspec

from rewardkit import pickling
from rewardkit.errors import ConfigError, MissingDependencyError, reason_of
from rewardkit.files.records import Records
from rewardkit.logs.samples import columns_needed, to_batch
from rewardkit.offline.chunk import ChunkResult, finish, mark_unknown_sources
from rewardkit.offline.inline import FileSetup
from rewardkit.run_folder import VARIABLE
from rewardkit.scoring.scorer import Scorer
from rewardkit.user_files import UserFile, import_as_read

TRIES_AGAIN = 2
"""Number of retries after a process or a machine dies. It is limited because a row may kill every process
that scores it."""
EVENTS_S = 2.0
"""Delay in seconds before a timeline is written, since events reach the cluster's store once a second."""
OBJECT_STORE_BYTES = 512 << 20
"""Size in bytes of the object store in a local cluster, which must have room for all chunks in flight."""

_results = msgspec.msgpack.Decoder(ChunkResult)


@dataclass(frozen=True, slots=True)
class RaySettings:
    """Settings for connecting to a Ray cluster or starting a new cluster."""

    address: str | None = None
    """Address of a running cluster. The default is `RAY_ADDRESS` or, if it is unset, a new cluster."""
    num_cpus: int | None = None
    """Number of CPUs in a cluster that this run starts."""
    timeline: str | None = None
    """File for a timeline of the run, in Chrome's trace format."""


@contextlib.contextmanager
def connected(settings: RaySettings) -> Iterator[Any]:
    """Connect to a cluster or start one for the block, and yield the module `ray`.

    Raises:
        MissingDependencyError: Ray is not installed.
        ConfigError: No cluster is running at the address.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(
            f"--engine ray needs Ray ({error}); install it with: pip install 'rewardkit[ray]'"
        ) from None
    if ray.is_initialized():  # The caller has already connected.
        yield ray
        return
    address = settings.address or os.environ.get("RAY_ADDRESS")
    given: dict[str, Any] = {"address": address or "local"}  # Without "local", Ray may join a cluster.
    if not address:
        given |= {"object_store_memory": OBJECT_STORE_BYTES, "num_cpus": settings.num_cpus}
        given |= {"include_dashboard": False}
    try:
        ray.init(**given, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"cannot connect to Ray at {address or 'this machine'}: {reason_of(error)}"
        ) from None
    try:
        yield ray
        if settings.timeline is not None:
            time.sleep(EVENTS_S)
            ray.timeline(filename=settings.timeline)
    finally:
        ray.shutdown()


class RayWorkers:
    """Pool of Ray tasks that score chunks, to be used as a context manager."""

    takes_all = True

    def __init__(self, settings: RaySettings, scorer: Scorer, tasks: int | None = None) -> None:
        self._settings = settings
        self._scorer = scorer
        self._wanted = tasks
        self._exit = contextlib.ExitStack()
        self._setups: dict[FileSetup, bytes] = {}

    def __enter__(self) -> RayWorkers:
        ray = self._ray = self._exit.enter_context(connected(self._settings))
        self.size = self._wanted or 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        """Number of chunks in flight. By default, each CPU scores one chunk while the next chunk waits."""
        files, arguments = self._scorer.for_another_process()
        self._made_of = ray.put((files, pickling.dumps(arguments)))
        own = {"env_vars": {"REWARDKIT_RUN": uuid.uuid4().hex}}  # Processes are not shared with other runs.
        if VARIABLE in os.environ:  # Budgets are counted together. On another machine, they are refused.
            own["env_vars"][VARIABLE] = os.environ[VARIABLE]
        self._task = ray.remote(num_cpus=1, max_retries=TRIES_AGAIN, runtime_env=own)(_score)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.__exit__(kind, error, trace)

    def submit(self, setup: FileSetup, records: Records) -> Future[ChunkResult | None]:
        """Submit a chunk for scoring. The result of the future is None if the caller must score the chunk."""
        if setup not in self._setups:
            self._setups[setup] = pickling.dumps((setup.layout, setup.reads, setup.output))
        if records.table is not None:
            table = columns_needed(records.table, setup.layout, setup.reads)
            records = Records(records.first_row, records.count, table)
        asked = self._task.remote(self._made_of, self._setups[setup], records)
        found: Future[ChunkResult | None] = Future()
        asked.future().add_done_callback(lambda answer: self._done(answer, found))
        return found

    def _done(self, answer: Future[bytes], found: Future[ChunkResult | None]) -> None:
        try:
            found.set_result(_results.decode(answer.result()))
        except self._ray.exceptions.RayTaskError as error:  # A reward file cannot be imported on the cluster.
            found.set_exception(error.cause)
        except self._ray.exceptions.RayError:  # The process or the machine died too often.
            found.set_result(None)


def _score(made_of: tuple[list[UserFile], bytes], setup: bytes, records: Records) -> bytes:
    """Score a chunk in a process on the cluster, and return the encoded result."""
    layout, reads, output = pickling.loads(setup)
    files, arguments = made_of
    import_as_read(files)
    batch = to_batch(records, layout, reads)
    scorer = _scorer(arguments)
    mark_unknown_sources(batch, scorer.check)
    scores = scorer.score_batch(batch.usable)
    return msgspec.msgpack.encode(finish(batch, scores, layout, output))


@functools.lru_cache(maxsize=1)
def _scorer(arguments: bytes) -> Scorer:
    """Return the scorer of this process, which is shared by all tasks with these arguments."""
    return Scorer(**pickling.loads(arguments), workers=1)
