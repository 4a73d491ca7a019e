"""Makes rows in several processes, in order and with bounded memory."""

from __future__ import annotations

import collections
import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

import cloudpickle

from rewardkit.datasets_prep.common.sources import Record

T = TypeVar("T")

_CHUNK = 64
_AHEAD = 4
"""Chunks in flight for each process."""


def in_processes(make: Callable[[Record], T], records: Iterable[Record], processes: int) -> Iterator[T]:
    """Apply a function to each record, in order, with so many processes; with one, here.

    Raises:
        Exception: what the function raises.
    """
    if processes == 1:
        yield from map(make, records)
        return
    source = iter(records)
    context = multiprocessing.get_context("spawn")  # pyarrow's threads do not survive a fork
    packed = cloudpickle.dumps(make)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(packed,)) as pool:
        waiting: collections.deque[Future[list[T]]] = collections.deque()
        while chunk := list(itertools.islice(source, _CHUNK)):
            waiting.append(pool.submit(_run, chunk))
            if len(waiting) >= _AHEAD * processes:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


_made: list[Callable[[Record], Any]] = []
"""In a worker: the function."""


def _start(packed: bytes) -> None:
    _made.append(cloudpickle.loads(packed))


def _run(chunk: list[Record]) -> list[Any]:
    return [_made[0](record) for record in chunk]
