"""`Pool` shares sandboxes among any number of threads and event loops.

Callers take turns, no matter how many runs each of them has queued. Cancelled runs are killed. Each sandbox
has its own thread, which blocks while it waits, so the pool never polls. There is one sandbox per core, and
one more for each run that sleeps or waits for its turn on the CPU.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from rewardkit.errors import RewardkitError
from rewardkit.sandbox import levels
from rewardkit.sandbox.box import Sandbox
from rewardkit.sandbox.building import Builds
from rewardkit.sandbox.outcome import IsolationLevel, Outcome
from rewardkit.sandbox.usual import UsualTime
from rewardkit.sandbox.worker import Job

T = TypeVar("T")


_MOST_PARKED = 96
"""Maximum number of additional sandboxes."""


class SandboxBusy(RewardkitError, RuntimeError):
    """Raised if the pool's queue is full and the caller does not want to wait."""


class Ticket(Future[T]):
    """Future for the result of one run. Cancelling the future kills the run if it has already started."""

    def __init__(self, work: Callable[[Sandbox], T]) -> None:
        super().__init__()
        self.work = work
        self.since = time.monotonic()
        self.sandbox: Sandbox | None = None
        self.parked = False
        """True if the run has slept or waited for its turn."""
        self.kill_it = False
        self.lock = threading.Lock()

    def cancel(self) -> bool:
        """Remove the run from the queue or, if it has started, kill it, so that its status is `cancelled`."""
        if super().cancel():
            return True
        with self.lock:
            self.kill_it = True
            if self.sandbox is not None:
                self.sandbox.cancel()
        return False


class Pool:
    """Sandboxes that run jobs in parallel. A pool can be used from any thread, and as a context manager.

    Args:
        size: Number of parallel runs, not counting runs that sleep or wait for their turn on the CPU. None
            means the number of cores that this process may use.
        level: Isolation level, as for `Sandbox`. The level is checked before the pool starts.
        queue_size: Maximum number of waiting runs. Callers wait while the queue is full.
        spare: Number of further parallel runs, for callers that run nothing while all others are busy.

    Raises:
        SandboxUnavailable: The level does not work on this host.
    """

    def __init__(
        self,
        size: int | None = None,
        level: levels.LevelChoice = "auto",
        *,
        queue_size: int = 10_000,
        spare: int = 0,
        allow_unsafe: bool = False,
    ) -> None:
        self.level: IsolationLevel = levels.choose(level, allow_unsafe=allow_unsafe)
        self.size = size or len(os.sched_getaffinity(0))
        self.queue_size = queue_size
        self._allow_unsafe = allow_unsafe
        self._builds = Builds()  # the sandboxes share their builds, so that a program is built only once
        self._usual = UsualTime()
        self._changed = threading.Condition()
        self._queues: dict[Hashable, deque[Ticket[Any]]] = {}
        self._turns: deque[Hashable] = deque()
        self._waiting = 0
        self._running: Counter[Hashable] = Counter()
        """Number of running jobs of each caller."""
        self.begun = 0
        self.waited_s = 0.0
        """Number of runs that were started, and total number of seconds that they waited."""
        self._closed = False
        self._sandboxes: set[Sandbox] = set()
        self._threads: set[threading.Thread] = set()
        self._lasting = self.size + spare
        """Number of threads that last until the pool is closed."""
        self._parked = 0
        """Number of runs that have slept or waited for their turn."""
        with self._changed:
            for _ in range(self._lasting):
                self._add_thread(lasting=True)

    def _add_thread(self, *, lasting: bool) -> None:
        thread = threading.Thread(target=self._serve, args=(lasting,), daemon=True)
        self._threads.add(thread)
        thread.start()

    def _park(self, ticket: Ticket[Any]) -> None:
        """Start another thread, because a run sleeps or waits for its turn."""
        with self._changed:
            if ticket.parked or self._parked >= _MOST_PARKED or self._closed:
                return
            ticket.parked = True
            self._parked += 1
            self._add_thread(lasting=False)

    def submit(self, job: Job, *, caller: Hashable = None, wait: bool = True) -> Ticket[Outcome]:
        """Queue a job, and return a ticket for its outcome.

        Args:
            job: Job to run.
            caller: Key that identifies the caller, because callers take turns. None means the current thread.
            wait: True to wait while the queue is full, False to raise SandboxBusy.

        Raises:
            SandboxBusy: The queue is full and `wait` is false.
        """
        return self._submit(lambda sandbox: sandbox.run_job(job), caller, wait)

    def _submit(self, work: Callable[[Sandbox], T], caller: Hashable, wait: bool) -> Ticket[T]:
        ticket = Ticket(work)
        caller = threading.get_ident() if caller is None else caller
        with self._changed:
            if self._waiting >= self.queue_size and not wait:
                raise SandboxBusy(
                    f"{self._waiting} runs are waiting for the sandbox; try again later or raise queue_size"
                )
            self._changed.wait_for(lambda: self._waiting < self.queue_size or self._closed)
            if self._closed:
                raise RuntimeError("the sandbox pool is closed")
            if caller not in self._queues:
                self._queues[caller] = deque()
                self._turns.append(caller)
            self._queues[caller].append(ticket)
            self._waiting += 1
            self._changed.notify_all()
        return ticket

    async def arun(self, job: Job, *, caller: Hashable = None) -> Outcome:
        """Run one job from an event loop. Cancelling the task kills the run.

        Raises:
            SandboxBusy: The queue is full.
        """
        return await self.awith(lambda sandbox: sandbox.run_job(job), caller=caller)

    async def awith(self, work: Callable[[Sandbox], T], *, caller: Hashable = None) -> T:
        """Call `work` with a sandbox in a thread of the pool. Cancelling the task kills the sandbox's runs.

        Raises:
            SandboxBusy: The queue is full.
        """
        task = asyncio.current_task()
        ticket = self._submit(work, id(task) if caller is None else caller, wait=False)
        try:
            return await asyncio.wrap_future(ticket)
        except asyncio.CancelledError:
            ticket.cancel()
            raise

    def _serve(self, lasting: bool) -> None:
        """Run tickets until the pool is closed. A temporary thread ends earlier if threads are too many."""
        sandbox = Sandbox(self.level, allow_unsafe=self._allow_unsafe, builds=self._builds, usual=self._usual)
        with self._changed:
            self._sandboxes.add(sandbox)
        with sandbox:
            while (taken := self._next(lasting)) is not None:
                caller, ticket = taken
                if ticket.set_running_or_notify_cancel():
                    self._run(sandbox, ticket)
                self._end(caller)
        with self._changed:
            self._sandboxes.discard(sandbox)

    def _run(self, sandbox: Sandbox, ticket: Ticket[Any]) -> None:
        with ticket.lock:
            sandbox.arm()
            sandbox.on_parked = partial(self._park, ticket)
            ticket.sandbox = sandbox
            if ticket.kill_it:
                sandbox.cancel()
        try:
            outcome = ticket.work(sandbox)
        except Exception as error:
            self._release(ticket)
            ticket.set_exception(error)
        else:
            self._release(ticket)
            ticket.set_result(outcome)

    def _release(self, ticket: Ticket[Any]) -> None:
        with ticket.lock:
            ticket.sandbox = None
        if ticket.parked:
            with self._changed:
                self._parked -= 1
                self._changed.notify_all()

    def _next(self, lasting: bool) -> tuple[Hashable, Ticket[Any]] | None:
        """Wait for a queued run and return it with its caller.

        Callers take turns. Only a caller that runs nothing may use a spare sandbox.

        Return None if the calling thread has to end, because the pool is closed or has too many threads.
        """

        def is_too_many() -> bool:
            return not lasting and len(self._threads) > self._lasting + self._parked

        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._has_turn() or is_too_many())
            if self._closed:
                return None
            if is_too_many():
                self._threads.discard(threading.current_thread())
                return None
            caller = next(caller for caller in self._turns if self._may_run(caller))
            self._turns.remove(caller)
            queue = self._queues[caller]
            ticket = queue.popleft()
            if queue:
                self._turns.append(caller)
            else:
                del self._queues[caller]
            self._waiting -= 1
            self._running[caller] += 1
            self.begun += 1
            self.waited_s += time.monotonic() - ticket.since
            self._changed.notify_all()
            return caller, ticket

    def _has_turn(self) -> bool:
        return any(map(self._may_run, self._turns))

    def _may_run(self, caller: Hashable) -> bool:
        return self._running.total() - self._parked < self.size or not self._running[caller]

    def _end(self, caller: Hashable) -> None:
        with self._changed:
            self._running[caller] -= 1
            if not self._running[caller]:
                del self._running[caller]
            self._changed.notify_all()

    def close(self) -> None:
        """Kill running jobs, cancel waiting jobs and stop all servers. Repeated calls have no effect."""
        with self._changed:
            self._closed = True
            waiting = [ticket for queue in self._queues.values() for ticket in queue]
            self._queues.clear()
            self._turns.clear()
            sandboxes = list(self._sandboxes)
            threads = list(self._threads)
            self._changed.notify_all()
        for ticket in waiting:
            ticket.cancel()
        for sandbox in sandboxes:
            sandbox.kill()
        for thread in threads:
            thread.join()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
